"""Formulas of the paper that no forecast uses, and their corrections (Muthusamy 2010, §5.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vedette.patterns.forecasts.part_completion import Curve, exactly
from vedette.patterns.forecasts.probability_table import Chain


def expiring(curve: Curve, left: Curve) -> Curve:
    """A match that expires with its window; `left[m]` is the probability that just m more events come before that."""
    within = np.arange(curve.size)
    reach = np.minimum(within[:, None], np.arange(left.size)[None, :])
    return np.asarray(curve[reach] @ left, np.float64)


def paper_both(one: Curve, other: Curve) -> Curve:
    """The paper's `and`: the product of "exactly at n", as if both had to complete at once."""
    return exactly(one) * exactly(other)


def paper_either(one: Curve, other: Curve) -> Curve:
    """The paper's `or`: the sum, which may be more than 1."""
    return one + other


def paper_then(one: Curve, other: Curve) -> Curve:
    """The paper's concatenation: the sum over p + q = n of exactly at p, and exactly at q after that."""
    return np.convolve(exactly(one), exactly(other))[: one.size]


def by_departures(chain: Chain) -> NDArray[np.float64]:
    """The probability of each move, without smoothing: every row sums to 1."""
    return chain.weight / chain.departures[chain.source]
