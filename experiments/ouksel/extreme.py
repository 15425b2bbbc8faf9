"""Figures 11 and 12: a box that is covered but for a narrow gap; how many guesses find it, how many runs miss it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.micro.covering import Question
from experiments.muthusamy.output import axes, finish
from experiments.ouksel.output import save, write
from experiments.ouksel.scenarios import EXTREME
from vedette.covering.decide import Decision, decide

CANDIDATES, ATTRIBUTES = 50, 5
ERRORS = (1e-3, 1e-6, 1e-10)
AUTO = "auto"
THE_PAPERS = "one attribute"


@dataclass(frozen=True)
class Sizes:
    """The gaps, and how many questions are asked of each."""

    gaps: tuple[float, ...]
    runs: dict[str, int]


FULL = Sizes(tuple(0.005 * step for step in range(1, 10)), {THE_PAPERS: 3000, "all attributes": 300})
QUICK = Sizes((0.005, 0.02, 0.045), {THE_PAPERS: 300, "all attributes": 20})


@dataclass(frozen=True)
class Row:
    """One method on the same questions as the others. `proved`: not covered, with a point that shows it."""

    cut_along: str
    gap: float
    method: str
    error: float
    runs: int
    work: float  # guesses, or nodes of the search, on average
    false_covered: int
    proved: int


def outside(question: Question, decision: Decision) -> bool:
    """Whether the witness is a point of the box that no candidate has."""
    if decision.witness is None:
        return False
    point = np.array(decision.witness)
    inside = bool(((question.s_low <= point) & (point < question.s_high)).all())
    return inside and not ((question.low <= point) & (point < question.high)).all(axis=1).any()


def measure(cut_along: str, gap: float, runs: int) -> list[Row]:
    """Sampling with each error, and the exact decision."""
    random = np.random.default_rng([round(1000 * gap), runs])
    asked = [EXTREME[cut_along](random, CANDIDATES, ATTRIBUTES, gap) for _ in range(runs)]
    answers = {("sampling", error): _sampled(asked, error) for error in ERRORS}
    answers[AUTO, 0.0] = [decide(*question) for question in asked]
    return [
        Row(
            cut_along,
            gap,
            method,
            error,
            runs,
            float(np.mean([one.work for one in given])),
            sum(one.covered for one in given),
            sum(outside(question, one) for question, one in zip(asked, given, strict=True)),
        )
        for (method, error), given in answers.items()
    ]


def _sampled(asked: Sequence[Question], error: float) -> list[Decision]:
    return [decide(*question, method="sampling", error=error, seed=seed) for seed, question in enumerate(asked)]


def run(out: Path, quick: bool) -> str:
    """Write data and plots; what the paper says of them, beside ours."""
    sizes = QUICK if quick else FULL
    rows = [
        row for cut_along, runs in sizes.runs.items() for gap in sizes.gaps for row in measure(cut_along, gap, runs)
    ]
    write(out, "figures11-12", rows)
    plot(rows, out)
    return told(rows)


def plot(rows: Sequence[Row], out: Path) -> None:
    """Guesses, and wrong answers."""
    picture, panels = axes(1, 2)
    for method, error in dict.fromkeys((row.method, row.error) for row in rows):
        own = [row for row in rows if (row.cut_along, row.method, row.error) == (THE_PAPERS, method, error)]
        label = f"sampling, δ = {error:.0e}" if error else "exact"
        gaps = [100 * row.gap for row in own]
        if error:
            panels[0].plot(gaps, [row.work for row in own], marker="o", label=label)
        panels[1].plot(gaps, [100 * row.false_covered / row.runs for row in own], marker="o", label=label)
    finish(panels[0], "Figure 11: guesses made", "gap, % of the attribute", "guesses")
    finish(panels[1], "Figure 12: wrongly said to be covered", "gap, % of the attribute", "% of the runs")
    picture.suptitle(f"Ouksel 2006: extreme non-cover, k = {CANDIDATES}, m = {ATTRIBUTES}")
    save(picture, out, "figures11-12")


def told(rows: Sequence[Row]) -> str:
    """What the text of the paper says of its figures, and what is here."""
    sampled = [row for row in rows if row.cut_along == THE_PAPERS and row.method != AUTO]
    exact = [row for row in rows if row.method == AUTO]
    smallest, widest = (pick(row.gap for row in rows) for pick in (min, max))
    wrong = {error: _false(row for row in sampled if row.error == error and row.gap == smallest) for error in ERRORS}
    strict = _false(row for row in sampled if row.error < 1e-6 and row.gap > 0.01)
    loose = _false(row for row in sampled if row.error == max(ERRORS) and row.gap >= 0.02)
    beside = _false(row for row in rows if row.cut_along != THE_PAPERS and row.method != AUTO)
    work = {gap: [row.work for row in sampled if row.gap == gap] for gap in (smallest, widest)}
    return (
        f"Figures 11 and 12: {_range(work[smallest])} guesses at a gap of {smallest:.1%}, {_range(work[widest])} at "
        f"{widest:.1%}, nearly whatever δ is, as in the paper; sampling says covered of what is not in "
        f"{' / '.join(wrong.values())} runs at {smallest:.1%} (δ = 1e-3 / 1e-6 / 1e-10), in {loose} at δ = 1e-3 from "
        f"2 % on (paper: few), in {strict} at δ < 1e-6 above 1 % (paper: none), and in {beside} if the cover is cut "
        f"along all attributes. The exact decision does so in {_false(exact)}, and shows a point in "
        f"{sum(row.proved for row in exact):,}."
    )


def _false(rows: Iterable[Row]) -> str:
    own = list(rows)
    return f"{sum(row.false_covered for row in own):,} of {sum(row.runs for row in own):,}"


def _range(numbers: Sequence[float]) -> str:
    return f"{min(numbers):.0f} - {max(numbers):.0f}"
