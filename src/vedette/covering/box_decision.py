"""Decide whether other boxes together cover a box: which of them, by which method, how certain.

`auto` never wrongly says "covered". It takes the paper's fast decisions (Ouksel 2006, algorithm 4) and MCS,
then decides exactly within a budget; over the budget it says "not covered", and that this is uncertain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np

from vedette.covering.conflict_table import ConflictTable, plain
from vedette.covering.kernels import cover_search as kernels
from vedette.covering.kernels.cover_rows import ROW, DenseBox, DenseBoxes, extend
from vedette.covering.sampling import guess
from vedette.errors import InputError

DecisionMethod = Literal["auto", "pairwise", "sampling", "exact"]
Method = Literal["pairwise", "witness", "empty", "sampling", "exact", "budget"]
_ASKED: Final = get_args(DecisionMethod)


@dataclass(frozen=True, slots=True)
class BoxDecision:
    """Whether a box is covered, and how that was found."""

    covered: bool
    method: Method
    """pairwise: one candidate covers it, or none does and no more was asked for; witness: corollary 3; empty: nobody
    meets it, or nobody is left after MCS; sampling, exact: as they are called; budget: the exact search gave up."""
    certain: bool
    error: float = 0.0  # how probable it is that "covered" is wrong
    by: tuple[int, ...] = ()  # candidates that cover it together
    witness: tuple[int, ...] | None = None  # a point of it that no candidate has
    work: int = 0  # nodes searched, or points guessed


def decide(
    s_low: ConflictTable,
    s_high: ConflictTable,
    low: ConflictTable,
    high: ConflictTable,
    *,
    method: DecisionMethod = "auto",
    error: float = 1e-6,
    budget: int = 100_000,
    seed: int = 0,
) -> BoxDecision:
    """Decide whether the box [s_low, s_high) is covered by the candidates [low, high), a row each.

    `budget` limits the nodes that the exact search visits, and the points that sampling draws. `error` and
    `seed` are for sampling: the paper's algorithm 4, whose error is an estimate, and no guarantee.
    """
    box, boxes = DenseBox(plain(s_low), plain(s_high)), DenseBoxes(plain(low), plain(high))
    _check(box, boxes, method, error, budget)
    count, dimensions = boxes.low.shape
    used, point = np.zeros(count, np.bool_), np.empty(dimensions, np.int64)
    answer = kernels.CoverSearchResult(np.empty((2 * count, 2), np.int32), used, point)
    outcome, kept, end = kernels.settle(box, boxes, answer, method == "pairwise")
    if outcome == kernels.NO_BOX:
        raise InputError("the box in question has no points\nHint: every low has to be below its high")
    if outcome == kernels.PAIRWISE:
        return BoxDecision(True, "exact" if method == "exact" else "pairwise", True, by=_numbers(answer))
    if outcome != kernels.OPEN:
        fast: Method = "witness" if outcome == kernels.WITNESS else "empty"
        return BoxDecision(False, "exact" if method == "exact" else fast, True, witness=_point(answer))
    if method == "pairwise":
        return BoxDecision(False, "pairwise", False)
    if method == "sampling":
        return _sampled(box, boxes, answer, (kept, end), error, budget, seed)
    outcome, nodes = kernels.search(box, boxes, answer, kept, end, budget)
    if outcome == kernels.BUDGET:
        return BoxDecision(False, "budget", False, work=nodes)
    if outcome == kernels.COVERED:
        return BoxDecision(True, "exact", True, by=_numbers(answer), work=nodes)
    return BoxDecision(False, "exact", True, witness=_point(answer), work=nodes)


def _sampled(
    box: DenseBox,
    boxes: DenseBoxes,
    answer: kernels.CoverSearchResult,
    ends: tuple[int, int],
    error: float,
    budget: int,
    seed: int,
) -> BoxDecision:
    """Draw points and test them against the candidates that MCS kept."""
    kept, end = ends
    count = len(boxes.low)
    rows = answer.arena[count:kept, ROW]
    guessed = guess(box.low, box.high, boxes.low[rows], boxes.high[rows], error=error, most=budget, seed=seed)
    if guessed.point is None:
        by = tuple(sorted(rows.tolist()))
        return BoxDecision(True, "sampling", False, error=guessed.error, by=by, work=guessed.guesses)
    answer.point[:] = guessed.point
    extend(answer.point, box, boxes, answer.arena, count, kept, end)
    return BoxDecision(False, "sampling", True, witness=_point(answer), work=guessed.guesses)


def _check(box: DenseBox, boxes: DenseBoxes, method: str, error: float, budget: int) -> None:
    if not (box.low.shape == box.high.shape == boxes.low.shape[1:] and boxes.low.shape == boxes.high.shape):
        shapes = ", ".join(str(bounds.shape) for bounds in (*box, *boxes))
        raise InputError(f"bounds of shapes {shapes}\nHint: (m,), (m,) for the box, (k, m), (k, m) for the candidates")
    if method not in _ASKED:
        raise InputError(f"no method {method!r} to decide whether a box is covered\nHint: {', '.join(_ASKED)}")
    if not 0 < error < 1 or budget < 1:
        raise InputError(f"an error of {error!r}, a budget of {budget!r}\nHint: 0 < error < 1, and a budget from 1 on")


def _numbers(answer: kernels.CoverSearchResult) -> tuple[int, ...]:
    return tuple(np.flatnonzero(answer.used).tolist())


def _point(answer: kernels.CoverSearchResult) -> tuple[int, ...]:
    return tuple(answer.point.tolist())
