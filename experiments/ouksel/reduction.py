"""Figures 6 to 10: what MCS drops, and how many guesses are needed before and after it; decisions per second beside."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.micro.covering import Question
from experiments.muthusamy.output import axes, finish
from experiments.ouksel.output import save, timed, write
from experiments.ouksel.scenarios import ANYWHERE, FROM_A_SIDE, NON_COVER, REDUNDANT, Make, needed
from vedette.covering.conflict import minimized_cover_set
from vedette.covering.decide import decide
from vedette.covering.paper import algorithm_4
from vedette.covering.sampling import guesses_needed, witness_probability

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
    auto_per_second: float
    paper_per_second: float  # the paper's order, on `timed` of the runs
    table_per_second: float  # of it, without the guesses: the table of all pairs, and MCS


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


def run(out: Path, quick: bool) -> str:
    """Write data and plots; what the paper says of them, beside ours."""
    sizes = QUICK if quick else FULL
    for scenario in SCENARIOS:
        measure(scenario, ANYWHERE, 10, 40, 5, 5)  # compiles all that is timed
    rows = [
        measure(scenario, lie, attributes, candidates, sizes.runs if lie == FROM_A_SIDE else sizes.timed, sizes.timed)
        for scenario in SCENARIOS
        for lie in (FROM_A_SIDE, ANYWHERE)
        for attributes in sizes.attributes
        for candidates in sizes.candidates
    ]
    write(out, "figures6-10", rows)
    plot(rows, out)
    return told(rows)


def _of(rows: Sequence[Row], scenario: str, lie: str) -> list[Row]:
    return [row for row in rows if (row.scenario, row.candidates_lie) == (scenario, lie)]


def plot(rows: Sequence[Row], out: Path) -> None:
    """Five panels for the paper's figures, and one for speed."""
    picture, panels = axes(2, 3)
    for panel, figure, scenario in ((panels[0], 6, REDUNDANT_COVERING), (panels[1], 8, NON_COVERING)):
        for lie, style in ((FROM_A_SIDE, "-"), (ANYWHERE, ":")):
            _lines(panel, _of(rows, scenario, lie), "removed", lie, style)
        finish(panel, f"Figure {figure}: {scenario}", "candidates", "dropped by MCS, of the redundant ones")
    for panel, figure, scenario in ((panels[3], 7, REDUNDANT_COVERING), (panels[4], 9, NON_COVERING)):
        for field, style in (("log_before", ":"), ("log_after", "-")):
            name = "all" if field == "log_before" else "after MCS"
            _lines(panel, _of(rows, scenario, FROM_A_SIDE), field, name, style)
        finish(panel, f"Figure {figure}: {scenario}", "candidates", "log10 of the guesses needed")
    _lines(panels[2], _of(rows, NON_COVERING, FROM_A_SIDE), "guesses", FROM_A_SIDE, "-")
    finish(panels[2], "Figure 10: non-cover", "candidates", "guesses made")
    for field, style in (("auto_per_second", "-"), ("paper_per_second", ":")):
        name = "exact" if field == "auto_per_second" else "the paper's order"
        _lines(panels[5], _of(rows, REDUNDANT_COVERING, FROM_A_SIDE), field, name, style)
    panels[5].set(yscale="log")
    finish(panels[5], "Redundant covering", "candidates", "decisions per second")
    picture.suptitle("Ouksel 2006: is a box covered by k candidates with m attributes?")
    save(picture, out, "figures6-10")


def _lines(panel: Any, rows: Sequence[Row], field: str, name: str, style: str) -> None:
    for number, attributes in enumerate(sorted({row.attributes for row in rows})):
        own = [row for row in rows if row.attributes == attributes]
        panel.plot(
            [row.candidates for row in own],
            [getattr(row, field) for row in own],
            marker="o",
            linestyle=style,
            color=f"C{number}",
            label=f"m = {attributes}, {name}",
        )


def told(rows: Sequence[Row]) -> str:
    """What the text of the paper says of its figures, and what is here."""
    redundant, free = (_of(rows, scenario, FROM_A_SIDE) for scenario in SCENARIOS)
    hard = [row for row in _of(rows, REDUNDANT_COVERING, ANYWHERE) if row.candidates >= 100]
    at = next(row for row in redundant if row.attributes == 10 and row.candidates == 100)
    faster = [row.auto_per_second / row.paper_per_second for row in rows]
    without = [row.auto_per_second / row.table_per_second for row in rows]
    sampled = [row for row in rows if row.scenario == NON_COVERING]
    return (
        f"Figures 6 - 10: MCS drops at least {min(row.removed for row in redundant):.1%} of redundant candidates "
        f"(paper 80 - 100 %) and {min(row.removed for row in free):.1%} where the box is not covered (paper: more); "
        f"d goes from 10^{at.log_before:.1f} to 10^{at.log_after:.1f} at k = 100, m = 10 (paper < 10^5); "
        f"{max(row.guesses for row in free):.2f} guesses at most in Figure 10 (paper < 0.5). If candidates may lie "
        f"anywhere, MCS drops {max(row.removed for row in hard):.0%} at most from k = 100 on, and d stays at "
        f"10^{min(row.log_after for row in hard):.0f} and more. The exact decision was wrong "
        f"{sum(row.auto_wrong for row in rows)} times and uncertain {sum(row.auto_uncertain for row in rows)} times "
        f"in {sum(row.runs for row in rows):,}, sampling wrong {sum(row.sampling_wrong for row in sampled)} times in "
        f"{sum(row.runs for row in sampled):,} where the box is not covered. The exact one makes "
        f"{min(row.auto_per_second for row in rows):,.0f} - {max(row.auto_per_second for row in rows):,.0f} decisions "
        f"a second, {min(faster):.1f} - {max(faster):,.0f} times as many as the paper's order, {min(without):.1f} - "
        f"{max(without):.1f} times as many as its table and MCS alone."
    )
