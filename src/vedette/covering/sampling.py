"""Random points of a box, until one is outside of all candidates (Ouksel 2006, sections 4.1 and 5).

A point that is found is certain. That none is found is only probable, and less so than promised: the probability on
which the number of guesses rests is an estimate of the smallest gap, and no lower bound (see `witness_probability`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from vedette.covering.conflict_table import ConflictTable
from vedette.covering.kernels.cover_paper import first_outside
from vedette.covering.kernels.cover_rows import DenseBoxes

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
