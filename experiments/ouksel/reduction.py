"""Figures 6 to 10: what MCS drops, and how many guesses are needed before and after it; decisions per second beside."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from benchmarks.micro.covering import Question
from experiments.ouksel.paper_algorithm import algorithm_4
from experiments.ouksel.scenarios import ANYWHERE, FROM_A_SIDE, NON_COVER, REDUNDANT, Make, needed
from experiments.ouksel.timing import timed
from experiments.report.tables import clocked
from experiments.report.tracking import track
from vedette.covering.box_decision import decide, guesses_needed, minimized_cover_set, witness_probability

ERROR = 1e-10
REDUNDANT_COVERING, NON_COVERING = "redundant covering", "non-cover"
SCENARIOS = {REDUNDANT_COVERING: REDUNDANT, NON_COVERING: NON_COVER}


@dataclass(frozen=True)
class Sizes:
    """The points of the figures, and how many questions are asked at each of them."""

    attributes: tuple[int, ...]
    candidates: tuple[int, ...]
    runs: int
    timed: int  # of these, also decided in the paper's order


FULL = Sizes((10, 15, 20), tuple(range(10, 311, 30)), 1000, 20)
QUICK = Sizes((10, 20), (10, 100, 310), 50, 10)


@dataclass(frozen=True)
class Row:
    """One point. `log_before` and `log_after` are means of log10 d, without and with MCS; d = 0 counts as 1."""

    scenario: str
    candidates_lie: str
    attributes: int
    candidates: int
    runs: int
    removed: float  # of those that are redundant
    nothing_left: float  # of the runs
    log_before: float
    log_after: float
    guesses: float  # that sampling made, where the box is not covered
    sampling_wrong: int  # likewise: a box that is covered it never takes for another
    auto_wrong: int
    auto_uncertain: int
    auto_per_second: float = clocked()
    paper_per_second: float = clocked()  # the paper's order, on `timed` of the runs
    table_per_second: float = clocked()  # of it, without the guesses: the table of all pairs, and MCS


def measure(scenario: str, lie: str, attributes: int, candidates: int, runs: int, also_timed: int) -> Row:
    """Ask as many questions as there are runs."""
    make: Make = SCENARIOS[scenario][lie]
    covered = scenario == REDUNDANT_COVERING
    redundant = candidates - needed(candidates) if covered else candidates
    random = np.random.default_rng([attributes, candidates])
    asked = [make(random, candidates, attributes) for _ in range(runs)]
    kept = [minimized_cover_set(*question) for question in asked]
    left = [
        Question(*question[:2], question.low[rows], question.high[rows])
        for question, rows in zip(asked, kept, strict=True)
    ]
    per_second, answers = timed(lambda question: decide(*question), asked)
    paper_per_second, _ = timed(lambda question: algorithm_4(*question, error=ERROR), asked[:also_timed])
    table_per_second, _ = timed(lambda question: algorithm_4(*question, most=1), asked[:also_timed])
    sampled = [] if covered else [decide(*q, method="sampling", error=ERROR) for q in asked]
    return Row(
        scenario,
        lie,
        attributes,
        candidates,
        runs,
        float(np.mean([(candidates - len(rows)) / redundant for rows in kept])),
        float(np.mean([len(rows) == 0 for rows in kept])),
        float(np.mean([_log_guesses(question) for question in asked])),
        float(np.mean([_log_guesses(question) for question in left])),
        math.nan if covered else float(np.mean([answer.work for answer in sampled])),
        sum(answer.covered for answer in sampled),
        sum(answer.certain and answer.covered != covered for answer in answers),
        sum(not answer.certain for answer in answers),
        per_second,
        paper_per_second,
        table_per_second,
    )


def _log_guesses(question: Question) -> float:
    """log10 of d by equation 1, which algorithm 2 may make larger than any number; nobody to guess against: 0."""
    if not len(question.low):
        return 0.0
    probability = witness_probability(*question)
    guesses = guesses_needed(probability, ERROR)
    return math.log10(guesses if guesses < math.inf else -math.log(ERROR) / probability)


def all_rows(sizes: Sizes) -> list[Row]:
    """Both scenarios, with candidates that lie in both ways."""
    for scenario in SCENARIOS:
        measure(scenario, ANYWHERE, 10, 40, 5, 5)  # compiles all that is timed
    cases = product(SCENARIOS, (FROM_A_SIDE, ANYWHERE), sizes.attributes, sizes.candidates)
    return [
        measure(scenario, lie, attributes, candidates, sizes.runs if lie == FROM_A_SIDE else sizes.timed, sizes.timed)
        for scenario, lie, attributes, candidates in track("Figures 6 to 10", cases)
    ]
