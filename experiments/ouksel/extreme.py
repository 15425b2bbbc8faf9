"""Figures 11 and 12: a box that is covered but for a narrow gap; how many guesses find it, how many runs miss it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from benchmarks.micro.covering import Question
from experiments.ouksel.scenarios import EXTREME
from experiments.report.findings import Figure, Finding, beyond, compared, partly
from experiments.report.plots import finish, panels
from experiments.report.tables import only
from experiments.report.tracking import gather
from vedette.covering.box_decision import BoxDecision, decide

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


def outside(question: Question, decision: BoxDecision) -> bool:
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


def _sampled(asked: Sequence[Question], error: float) -> list[BoxDecision]:
    return [decide(*question, method="sampling", error=error, seed=seed) for seed, question in enumerate(asked)]


def figures(quick: bool) -> Iterator[Figure]:
    """Both figures, of the same questions."""
    sizes = QUICK if quick else FULL
    cases = product(sizes.runs, sizes.gaps)
    rows = gather("Figures 11 and 12", cases, lambda case: measure(*case, sizes.runs[case[0]]))
    point = ("cut_along", "gap", "method", "error", "runs")
    yield Figure(
        "figure11",
        "Figure 11",
        f"{CANDIDATES} candidates cover a box over {ATTRIBUTES} attributes entirely, but for a gap in one of them; "
        f"{sizes.runs[THE_PAPERS]:,} questions for each gap.",
        {"": only(rows, *point, "work")},
        guesses_plot(rows),
        guesses(rows),
    )
    yield Figure(
        "figure12",
        "Figure 12",
        "The same questions as in Figure 11, and as many answers that are wrong: covered, where there is a gap. Beside "
        "it another reading: the union covers the box entirely but for the gap, and is cut along all attributes.",
        {"": only(rows, *point, "false_covered", "proved")},
        wrong_plot(rows),
        wrong(rows),
    )


def _papers(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.cut_along == THE_PAPERS and row.method != AUTO]


def guesses(rows: Sequence[Row]) -> list[Finding]:
    """§6.3 of Figure 11."""
    sampled = _papers(rows)
    gaps = sorted({row.gap for row in sampled})
    work = {gap: [row.work for row in sampled if row.gap == gap] for gap in gaps}
    apart = max(max(each) / min(each) for each in work.values())
    expected = max(abs(np.mean(each) * gap - 1) for gap, each in work.items())
    return [
        compared(
            "§6.3",
            "the average number of guesses is similar for all error probabilities",
            f"{_range(work[gaps[0]])} at a gap of {gaps[0]:.1%}, {_range(work[gaps[-1]])} at {gaps[-1]:.1%}; for the "
            f"same gap they differ by a factor of {apart:.2f} at most",
            apart < 1.5,
        ),
        compared(
            "§6.3",
            "it depends on the gap's share of the attribute's range",
            f"it is 1 / gap, within {expected:.0%} at every gap",
            bool(expected < 0.2),
        ),
    ]


def wrong(rows: Sequence[Row]) -> list[Finding]:
    """§6.3 of Figure 12."""
    sampled, exact = _papers(rows), [row for row in rows if row.method == AUTO]
    smallest = min(row.gap for row in rows)
    by_error = {error: [row for row in sampled if row.error == error] for error in ERRORS}
    strict = [row for row in by_error[min(ERRORS)] if row.gap > 0.01]
    loose = [row for row in by_error[max(ERRORS)] if row.gap >= 0.02]
    totals = [sum(row.false_covered for row in by_error[error]) for error in sorted(ERRORS)]
    at = " / ".join(_false(row for row in by_error[error] if row.gap == smallest) for error in ERRORS)
    beside = [row for row in rows if row.cut_along != THE_PAPERS and row.method != AUTO]
    falling = all(own[0].false_covered >= own[-1].false_covered for own in by_error.values())
    return [
        compared(
            "§6.3",
            "always right for δ < 1e-6 and gaps of more than 1 %",
            f"wrong in {_false(strict)} at δ = 1e-10 above 1 %",
            sum(row.false_covered for row in strict) == 0,
            why="the number of guesses comes from algorithm 2, whose estimate of the gap is no lower bound: a δ of "
            "1e-10 is not what it delivers",
        ),
        compared(
            "§6.3",
            "few wrong answers at δ = 1e-3 from a gap of 2 % on",
            f"wrong in {_false(loose)}, {_share(loose):.1%}",
            _share(loose) < 0.05,
        ),
        compared(
            "§6.3",
            "more of them with a larger δ, fewer with a larger gap",
            f"{' / '.join(f'{total:,}' for total in totals)} over all gaps at δ = 1e-10 / 1e-6 / 1e-3; {at} at "
            f"{smallest:.1%}, δ = 1e-3 / 1e-6 / 1e-10",
            partly(totals == sorted(totals), falling),
        ),
        beyond(f"if the cover is cut along all attributes, sampling is wrong in {_false(beside)}"),
        beyond(
            f"the exact decision is wrong in {_false(exact)}, and shows a point that no candidate has in "
            f"{sum(row.proved for row in exact):,}"
        ),
    ]


def _curves(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    for method, error in dict.fromkeys((row.method, row.error) for row in rows):
        own = [row for row in rows if (row.cut_along, row.method, row.error) == (THE_PAPERS, method, error)]
        yield f"sampling, δ = {error:.0e}" if error else "exact", own


def guesses_plot(rows: Sequence[Row]) -> Any:
    """Guesses by gap."""
    figure, (panel,) = panels(1, 1, 6.0, 3.6)
    for label, own in _curves(rows):
        if own[0].error:
            panel.plot([100 * row.gap for row in own], [row.work for row in own], label=label)
    finish(panel, "gap, % of the attribute's range", "guesses made, on average")
    return figure


def wrong_plot(rows: Sequence[Row]) -> Any:
    """Wrong answers by gap."""
    figure, (panel,) = panels(1, 1, 6.0, 3.6)
    for label, own in _curves(rows):
        panel.plot([100 * row.gap for row in own], [row.false_covered for row in own], label=label)
    finish(panel, "gap, % of the attribute's range", f"wrongly covered, of {own[0].runs:,}")
    return figure


def _share(rows: Sequence[Row]) -> float:
    return sum(row.false_covered for row in rows) / sum(row.runs for row in rows)


def _false(rows: Iterable[Row]) -> str:
    own = list(rows)
    return f"{sum(row.false_covered for row in own):,} of {sum(row.runs for row in own):,}"


def _range(numbers: Sequence[float]) -> str:
    return f"{min(numbers):.0f} - {max(numbers):.0f}"
