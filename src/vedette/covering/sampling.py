"""Is a box covered? Guessing points of it until one is outside of all candidates (Ouksel 2006, sections 4.1 and 5).

What is found is certain. That nothing is found is only probable, and not even that as promised: the probability that
the number of guesses rests on is an estimate of the smallest gap, and no lower bound (see `witness_probability`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from vedette.covering.conflict import Bounds
from vedette.kernels.cover_paper import first_outside
from vedette.kernels.cover_rows import Boxes

_FIRST_GUESSES, _MOST_GUESSES = 16, 4096  # at a time


class Guessed(NamedTuple):
    """A point outside of all candidates, or None; how many guesses were made, and what error they leave."""

    point: Bounds | None
    guesses: int
    error: float  # by equation 1, where no point was found


def witness_probability(s_low: Bounds, s_high: Bounds, low: Bounds, high: Bounds) -> float:
    """Algorithm 2: the probability that a random point of the box is outside of all candidates, if any point is.

    The paper takes the smallest gap that one candidate leaves per dimension, and multiplies. That is not a lower bound:
    x > 50 and x < 60 of [0, 100] leave 50 and 60 each, and 10 together.
    """
    wide = _widths(s_low, s_high)
    below = np.where(low > s_low, _widths(s_low, low), wide)
    above = np.where(high < s_high, _widths(high, s_high), wide)
    smallest = np.minimum(below, above).min(axis=0, initial=np.inf)
    return float(np.prod(np.minimum(smallest, wide) / wide))


def _widths(low: Bounds, high: Bounds) -> np.ndarray:
    """How many values lie between; unsigned, since that may be more than an int64 can say."""
    return (high.view(np.uint64) - low.view(np.uint64)).astype(np.float64)


def guesses_needed(probability: float, error: float) -> float:
    """Equation 1: how many guesses leave an error of at most this; infinitely many if the probability is nothing."""
    if probability >= 1.0:
        return 1.0
    misses = math.log1p(-probability)
    return math.inf if misses == 0.0 else max(1.0, math.ceil(math.log(error) / misses))


def error_after(probability: float, guesses: int) -> float:
    """Equation 1: the probability that so many guesses find nothing although there is something."""
    return 0.0 if probability >= 1.0 else math.exp(guesses * math.log1p(-probability))


def guess(s_low: Bounds, s_high: Bounds, low: Bounds, high: Bounds, *, error: float, most: int, seed: int) -> Guessed:
    """Algorithm 1 (RSPC): random points of the box, until one is outside of all candidates.

    There are as many guesses as the error asks for, but not more than `most`, which may leave a larger one.
    """
    probability = witness_probability(s_low, s_high, low, high)
    needed = guesses_needed(probability, error)
    guesses = int(min(needed, most))
    boxes = Boxes(low, high)
    random = np.random.default_rng(seed)
    made, at_once = 0, _FIRST_GUESSES
    while made < guesses:
        points = random.integers(s_low, s_high, (min(at_once, guesses - made), len(s_low)), np.int64)
        found = first_outside(points, boxes)
        if found >= 0:
            return Guessed(points[found], made + found + 1, 0.0)
        made += len(points)
        at_once = min(2 * at_once, _MOST_GUESSES)
    return Guessed(None, made, error if guesses >= needed else error_after(probability, guesses))


def found_along_path(publishing: float, probability: float, guesses: int, brokers: int) -> float:
    """Equation 2: how probably a subscription that is not covered meets a publication along a chain of brokers.

    Each broker has the publication with probability `publishing`. Else the subscription goes on to the next one if a
    guess finds that it is not covered, with `probability` each. The paper writes one rho for both.
    """
    goes_on = (1.0 - publishing) * (1.0 - error_after(probability, guesses))
    return publishing * sum(goes_on**distance for distance in range(brokers))
