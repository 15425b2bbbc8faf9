"""How many of the subscriptions that arrive are active, with no, pairwise and group covering (Figures 13 and 14)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from experiments.ouksel.arrivals import ERROR, GUESSES, Growing, covering_set, questions
from experiments.ouksel.paper_algorithm import algorithm_4
from experiments.ouksel.timing import timed
from experiments.ouksel.workload import SETTINGS, Setting, subscriptions
from experiments.report.tables import clocked
from experiments.report.tracking import track
from vedette.covering.box_decision import decide

PRINTED = {10: ("15 %", "< 10 %"), 15: ("15 %", "< 10 %"), 20: ("< 50 %", "33 %")}  # pairwise and group, at 5,000


@dataclass(frozen=True)
class Sizes:
    """How many arrive, after how many each they are counted and timed, and how many seeds there are."""

    arrivals: int
    counted: int
    timed: int
    seeds: int


FULL, QUICK = Sizes(5_000, 250, 50, 8), Sizes(1_000, 250, 100, 3)


@dataclass(frozen=True)
class Row:
    """Active subscriptions after so many arrivals."""

    attributes: int
    draws: int
    arrivals: int
    pairwise: int
    sampling: int
    exact: int


@dataclass(frozen=True)
class Total:
    """All arrivals. Sampling is wrong where it says "covered" and the exact decision, on the same candidates, not."""

    attributes: int
    draws: int
    arrivals: int
    pairwise: float
    sampling: float
    exact: float
    printed_pairwise: str
    printed_group: str
    sampling_wrong: int
    exact_uncertain: int  # with the covering set
    set_active: float  # the covering set of the product: candidates from an index, filters read from text
    decisions_per_second: float = clocked()  # exact, all active ones as candidates
    paper_per_second: float = clocked()  # the paper's order, the same questions
    table_per_second: float = clocked()  # of it, without the guesses: the table of all pairs, and MCS
    set_per_second: float = clocked()


@dataclass(frozen=True)
class Seed:
    """The same with other random numbers: how much of Figure 13, a single run, is chance."""

    attributes: int
    draws: int
    seed: int
    arrivals: int
    pairwise: float
    exact: float


def compare(setting: Setting, sizes: Sizes) -> tuple[list[Row], Total]:
    """All ways on the same arrivals."""
    low, high = subscriptions(setting, sizes.arrivals)
    pairwise = Growing("pairwise", low, high).run()
    sampled = Growing("sampling", low, high).run()
    exact = Growing("auto", low, high).run()
    rows = [
        Row(
            setting.attributes,
            setting.draws,
            at,
            pairwise.active[at - 1],
            sampled.active[at - 1],
            exact.active[at - 1],
        )
        for at in range(sizes.counted, sizes.arrivals + 1, sizes.counted)
    ]
    asked = questions(low, high, exact.active, sizes.timed)
    algorithm_4(*asked[0])  # compiles it
    covering_set(low[:20], high[:20])  # as well
    paper_per_second, _ = timed(lambda question: algorithm_4(*question, error=ERROR, most=GUESSES), asked)
    table_per_second, _ = timed(lambda question: algorithm_4(*question, most=1), asked)
    per_second, _ = timed(lambda question: decide(*question), asked)
    active, set_uncertain, seconds = covering_set(low, high)
    many = sizes.arrivals
    total = Total(
        setting.attributes,
        setting.draws,
        many,
        pairwise.active[-1] / many,
        sampled.active[-1] / many,
        exact.active[-1] / many,
        *PRINTED[setting.attributes],
        sampled.wrong,
        exact.uncertain + set_uncertain,
        active / many,
        per_second,
        paper_per_second,
        table_per_second,
        many / seconds,
    )
    return rows, total


def other_seeds(sizes: Sizes) -> list[Seed]:
    """The first seed is that of the figures."""
    rows = []
    for setting, seed in track("Figure 13, other seeds", product(SETTINGS, range(1, sizes.seeds + 1))):
        low, high = subscriptions(setting, sizes.arrivals, seed)
        pairwise, exact = (Growing(method, low, high).run().active[-1] for method in ("pairwise", "auto"))
        shares = pairwise / sizes.arrivals, exact / sizes.arrivals
        rows.append(Seed(setting.attributes, setting.draws, seed, sizes.arrivals, *shares))
    return rows
