"""Figures 13 and 14: how many of the subscriptions that arrive are active, with no, pairwise and group covering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.muthusamy.output import axes, finish
from experiments.ouksel.arrivals import ERROR, GUESSES, Growing, covering_set, questions
from experiments.ouksel.output import save, timed, write
from experiments.ouksel.workload import SETTINGS, Setting, subscriptions
from vedette.covering.decide import decide
from vedette.covering.paper import algorithm_4

PRINTED = {10: ("15 %", "< 10 %"), 15: ("15 %", "< 10 %"), 20: ("< 50 %", "33 %")}  # pairwise and group, at 5,000


@dataclass(frozen=True)
class Sizes:
    """How many arrive, after how many each they are counted and timed, and how many seeds there are."""

    arrivals: int
    counted: int
    timed: int
    seeds: int


FULL, QUICK = Sizes(5_000, 250, 50, 8), Sizes(1_000, 250, 100, 3)
LARGE = 100_000


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
    decisions_per_second: float  # exact, all active ones as candidates
    paper_per_second: float  # the paper's order, the same questions
    table_per_second: float  # of it, without the guesses: the table of all pairs, and MCS
    set_active: float  # the covering set of the product: candidates from an index, filters read from text
    set_per_second: float


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
        per_second,
        paper_per_second,
        table_per_second,
        active / many,
        many / seconds,
    )
    return rows, total


def other_seeds(sizes: Sizes) -> list[Seed]:
    """The first seed is that of the figures."""
    rows = []
    for setting in SETTINGS:
        for seed in range(1, sizes.seeds + 1):
            low, high = subscriptions(setting, sizes.arrivals, seed)
            pairwise, exact = (Growing(method, low, high).run().active[-1] for method in ("pairwise", "auto"))
            shares = pairwise / sizes.arrivals, exact / sizes.arrivals
            rows.append(Seed(setting.attributes, setting.draws, seed, sizes.arrivals, *shares))
    return rows


def run(out: Path, quick: bool) -> str:
    """Write data and plots; what the paper says of them, beside ours."""
    sizes = QUICK if quick else FULL
    compared = [compare(setting, sizes) for setting in SETTINGS]
    rows = [row for curve, _ in compared for row in curve]
    totals = [total for _, total in compared]
    write(out, "figures13-14", rows)
    write(out, "comparison", totals)
    seeds = other_seeds(sizes)
    write(out, "seeds", seeds)
    plot(rows, out)
    return f"{told(totals)} {told_ratios(rows)} {told_seeds(seeds)}"


def plot(rows: Sequence[Row], out: Path) -> None:
    """A panel of active subscriptions for each setting, and one of ratios."""
    kinds = list(dict.fromkeys((row.attributes, row.draws) for row in rows))
    picture, panels = axes(1, len(kinds) + 1)
    for number, (panel, (attributes, draws)) in enumerate(zip(panels, kinds, strict=False)):
        own = [row for row in rows if (row.attributes, row.draws) == (attributes, draws)]
        arrivals = [row.arrivals for row in own]
        panel.plot(arrivals, arrivals, linestyle=":", color="gray", label="none")
        for way, style in (("pairwise", "-"), ("exact", "-"), ("sampling", "--")):
            panel.plot(arrivals, [getattr(row, way) for row in own], linestyle=style, label=way)
        panel.set(ylim=(0, 1.1 * own[-1].pairwise))
        finish(panel, f"Figure 13: m = {attributes}, {draws} draws", "arrivals", "active")
        _ratios(panels[-1], own, f"m = {attributes}, {draws} draws", f"C{number}")
    panels[-1].set(ylim=(0, 1.05))
    finish(panels[-1], "Figure 14: exact, by pairwise", "arrivals", "ratio of active ones")
    picture.suptitle("Ouksel 2006: active subscriptions with no, pairwise and group covering")
    save(picture, out, "figures13-14")


def _ratios(panel: Any, rows: Sequence[Row], label: str, color: str) -> None:
    panel.plot(
        [row.arrivals for row in rows], [row.exact / row.pairwise for row in rows], marker=".", color=color, label=label
    )


def told(totals: Sequence[Total]) -> str:
    """Sizes of the active sets beside the paper's, and speed."""
    sets = "; ".join(
        f"m = {one.attributes} ({one.draws} draws) pairwise {one.pairwise:.1%} (paper {one.printed_pairwise}), "
        f"sampling {one.sampling:.1%} (paper {one.printed_group}; {one.sampling_wrong} wrongly covered), exact "
        f"{one.exact:.1%}"
        for one in totals
    )
    ratios = {
        "exact": [one.decisions_per_second / one.paper_per_second for one in totals],
        "exact, table": [one.decisions_per_second / one.table_per_second for one in totals],
        "set": [one.set_per_second / one.paper_per_second for one in totals],
        "set, table": [one.set_per_second / one.table_per_second for one in totals],
    }
    times = {name: f"{min(each):.1f} - {max(each):.1f}" for name, each in ratios.items()}
    through = [one.set_per_second for one in totals]
    left = ", ".join(f"{one.set_active:.1%}" for one in totals)
    return (
        f"Figures 13 and 14: of {totals[0].arrivals:,} subscriptions (paper: 5,000) are active: {sets}; "
        f"{sum(one.exact_uncertain for one in totals)} uncertain. With all active ones as candidates the exact "
        f"decision is {times['exact']} times as fast as the paper's order, {times['exact, table']} times as fast as "
        f"its table and MCS alone; the covering set, which reads filters too, takes {min(through):,.0f} - "
        f"{max(through):,.0f} a second, {times['set']} and {times['set, table']} times as many, and leaves {left}."
    )


def told_ratios(rows: Sequence[Row]) -> str:
    """Group covering beside pairwise covering, as the paper reads Figure 14."""
    last = max(row.arrivals for row in rows)
    at = {
        arrivals: [row.exact / row.pairwise for row in rows if row.arrivals == arrivals]
        for arrivals in (min(1_000, last), last)
    }
    parts = (f"{min(ratios):.0%} - {max(ratios):.0%} after {arrivals:,}" for arrivals, ratios in at.items())
    return f"Group covering leaves {', '.join(parts)} of what pairwise covering does (paper 70 - 80 % after 1,000)."


def told_seeds(rows: Sequence[Seed]) -> str:
    """From where to where active sets go if only the seed changes."""
    kinds: dict[tuple[int, int], list[Seed]] = {}
    for row in rows:
        kinds.setdefault((row.attributes, row.draws), []).append(row)
    each = "; ".join(
        f"m = {attributes} ({draws} draws) pairwise {_spread([row.pairwise for row in own])}, exact "
        f"{_spread([row.exact for row in own])}"
        for (attributes, draws), own in kinds.items()
    )
    return f"Over {max(row.seed for row in rows)} seeds: {each}."


def _spread(shares: Sequence[float]) -> str:
    return f"{min(shares):.1%} - {max(shares):.1%}, on average {np.mean(shares):.1%}"


@dataclass(frozen=True)
class Many:
    """Many subscriptions through the product's covering set."""

    attributes: int
    draws: int
    arrivals: int
    active: int
    uncertain: int
    cpu_seconds: float


def run_large(out: Path) -> str:
    """Many subscriptions, as no table of all pairs could hold them."""
    rows = []
    for setting in SETTINGS:
        rows.append(Many(setting.attributes, setting.draws, LARGE, *covering_set(*subscriptions(setting, LARGE))))
    write(out, "large", rows)
    each = ", ".join(
        f"{row.active:,} active after {row.cpu_seconds:.0f} s (m = {row.attributes}, {row.draws} draws)" for row in rows
    )
    uncertain = sum(row.uncertain for row in rows)
    return f"{LARGE:,} subscriptions through the covering set: {each}; {uncertain} uncertain."
