"""Decide whether other boxes together cover a box: which of them, by which method, how certain.

A box has a half-open interval of int64 per dimension: `low` and `high` of the candidates are [k, m], those
of the box to be covered [m].

A point that is found is certain. That none is found is only probable, and less so than promised: the probability on
which the number of guesses rests is an estimate of the smallest gap, and no lower bound (see `witness_probability`).

`auto` never wrongly says "covered". It takes the paper's fast decisions (Ouksel 2006, algorithm 4) and MCS,
then decides exactly within a budget; over the budget it says "not covered", and that this is uncertain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from vedette.covering.kernels import cover_search as kernels
from vedette.covering.kernels.cover_paper import first_outside
from vedette.covering.kernels.cover_rows import ROW, DenseBox, DenseBoxes, extend, reduced, sift
from vedette.errors import InputError

ConflictTable = NDArray[np.int64]


def plain(bounds: ConflictTable) -> ConflictTable:
    """An array of the kind for which kernels are compiled: any other kind would compile them again."""
    laid_out = np.ascontiguousarray(bounds, np.int64)
    return laid_out if laid_out.flags.writeable else laid_out.copy()


def conflict_table(
    s_low: ConflictTable, s_high: ConflictTable, low: ConflictTable, high: ConflictTable
) -> NDArray[np.bool_]:
    """The defined entries, [k, 2 m]: whether the box has points below a candidate, and whether at or above its end."""
    table = np.empty((len(low), 2 * len(s_low)), np.bool_)
    table[:, 0::2] = low > s_low
    table[:, 1::2] = high < s_high
    return table


def covering_alone(table: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Corollary 1: the candidates that cover the box by themselves have no defined entry."""
    return np.flatnonzero(~table.any(axis=1))


def has_polyhedron_witness(table: NDArray[np.bool_]) -> bool:
    """Corollary 3: sorted by defined entries, the j-th row has at least j, so the box is not covered."""
    defined = np.sort(table.sum(axis=1))
    return bool((defined >= np.arange(1, len(defined) + 1)).all())


def minimized_cover_set(
    s_low: ConflictTable, s_high: ConflictTable, low: ConflictTable, high: ConflictTable
) -> NDArray[np.int64]:
    """Algorithm 3 with f >= 1: the candidates that decide whether the box is covered; the others change nothing."""
    box, boxes = DenseBox(plain(s_low), plain(s_high)), DenseBoxes(plain(low), plain(high))
    count = len(low)
    arena = np.empty((2 * count, 2), np.int32)
    arena[:count, ROW] = np.arange(count)
    end, _ = sift(box, boxes, arena, 0, count, count, np.zeros(count, np.bool_))
    kept = reduced(box, boxes, arena, count, end)
    return np.sort(arena[count:kept, ROW]).astype(np.int64)


def covered_by(
    s_low: ConflictTable, s_high: ConflictTable, low: ConflictTable, high: ConflictTable
) -> NDArray[np.int64]:
    """The candidates that the box covers by itself, the purpose of corollary 2.

    The corollary takes those of which every entry is defined. That is right for proper ranges only: one without an end
    is not covered because its one bound conflicts. And it misses those that share a bound. Comparing is exact.
    """
    return np.flatnonzero(((low >= s_low) & (high <= s_high)).all(axis=1))


_FIRST_GUESSES, _MOST_GUESSES = 16, 4096  # at a time


class SampledPoint(NamedTuple):
    """A point outside of all candidates, or None; with the number of guesses, and the remaining error."""

    point: ConflictTable | None
    guesses: int
    error: float  # by equation 1, where no point was found


def witness_probability(s_low: ConflictTable, s_high: ConflictTable, low: ConflictTable, high: ConflictTable) -> float:
    """Algorithm 2: the probability that a random point of the box is outside of all candidates, if any point is.

    The paper takes the smallest gap that one candidate leaves per dimension, and multiplies. That is not a lower bound:
    x > 50 and x < 60 of [0, 100] leave 50 and 60 each, and 10 together.
    """
    wide = _widths(s_low, s_high)
    below = np.where(low > s_low, _widths(s_low, low), wide)
    above = np.where(high < s_high, _widths(high, s_high), wide)
    smallest = np.minimum(below, above).min(axis=0, initial=np.inf)
    return float(np.prod(np.minimum(smallest, wide) / wide))


def _widths(low: ConflictTable, high: ConflictTable) -> np.ndarray:
    """The number of values between bounds; unsigned, since that may exceed an int64."""
    return (high.view(np.uint64) - low.view(np.uint64)).astype(np.float64)


def guesses_needed(probability: float, error: float) -> float:
    """Equation 1: the number of guesses that leave an error of at most this; infinite if the probability is 0."""
    if probability >= 1.0:
        return 1.0
    misses = math.log1p(-probability)
    return math.inf if misses == 0.0 else max(1.0, math.ceil(math.log(error) / misses))


def error_after(probability: float, guesses: int) -> float:
    """Equation 1: the probability that so many guesses find nothing although there is a point."""
    return 0.0 if probability >= 1.0 else math.exp(guesses * math.log1p(-probability))


def guess(
    s_low: ConflictTable,
    s_high: ConflictTable,
    low: ConflictTable,
    high: ConflictTable,
    *,
    error: float,
    most: int,
    seed: int,
) -> SampledPoint:
    """Algorithm 1 (RSPC): random points of the box, until one is outside of all candidates.

    There are as many guesses as the error requires, but not more than `most`, which may leave a larger one.
    """
    probability = witness_probability(s_low, s_high, low, high)
    needed = guesses_needed(probability, error)
    guesses = int(min(needed, most))
    boxes = DenseBoxes(low, high)
    random = np.random.default_rng(seed)
    made, at_once = 0, _FIRST_GUESSES
    while made < guesses:
        points = random.integers(s_low, s_high, (min(at_once, guesses - made), len(s_low)), np.int64)
        found = first_outside(points, boxes)
        if found >= 0:
            return SampledPoint(points[found], made + found + 1, 0.0)
        made += len(points)
        at_once = min(2 * at_once, _MOST_GUESSES)
    return SampledPoint(None, made, error if guesses >= needed else error_after(probability, guesses))


def found_along_path(publishing: float, probability: float, guesses: int, brokers: int) -> float:
    """Equation 2: the probability that an uncovered subscription meets a publication along a chain of brokers.

    Each broker has the publication with probability `publishing`. Else the subscription goes on to the next one if a
    guess finds that it is not covered, with `probability` each. The paper writes one rho for both.
    """
    goes_on = (1.0 - publishing) * (1.0 - error_after(probability, guesses))
    return publishing * sum(goes_on**distance for distance in range(brokers))


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
