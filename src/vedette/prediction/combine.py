"""Forecasts of parts put together: and, or, one after the other, and a match that expires.

A curve is an array whose n-th number is the probability of completing within n events; the 0-th is 0. The engine trains
the chain of a whole pattern, in which the parts are not independent; these figures are for parts that were trained
apart. Where only the parts are known, what is given is the figure for independent ones, with the bounds that hold
whatever their dependence (Fréchet). `paper_…` are the paper's own formulas (Muthusamy 2010, §5.2.3), for comparison.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Curve: TypeAlias = NDArray[np.float64]


class Combined(NamedTuple):
    """A figure for independent parts, and the bounds of the true one."""

    independent: Curve
    low: Curve
    high: Curve


def both(one: Curve, other: Curve) -> Combined:
    """`p and q`: both within n events."""
    return Combined(one * other, np.maximum(0.0, one + other - 1.0), np.minimum(one, other))


def either(one: Curve, other: Curve) -> Combined:
    """`p or q`: at least one within n events."""
    return Combined(1.0 - (1.0 - one) * (1.0 - other), np.maximum(one, other), np.minimum(1.0, one + other))


def then(one: Curve, other: Curve) -> Curve:
    """`p ; q`: p within some of the n events, q within the rest, which begins anew after p."""
    return np.convolve(exactly(one), other)[: one.size]


def expiring(curve: Curve, left: Curve) -> Curve:
    """A match that dies when its window ends; `left[m]` is the probability that just m more events come before that."""
    within = np.arange(curve.size)
    reach = np.minimum(within[:, None], np.arange(left.size)[None, :])
    return np.asarray(curve[reach] @ left, np.float64)


def exactly(curve: Curve) -> Curve:
    """The probability of completing for the first time at the n-th event."""
    return np.diff(curve, prepend=0.0)


def paper_both(one: Curve, other: Curve) -> Curve:
    """The paper's `and`: the product of "exactly at n", as if both had to complete at once."""
    return exactly(one) * exactly(other)


def paper_either(one: Curve, other: Curve) -> Curve:
    """The paper's `or`: the sum, which may be more than 1."""
    return one + other


def paper_then(one: Curve, other: Curve) -> Curve:
    """The paper's concatenation: the sum over p + q = n of exactly at p, and exactly at q after that."""
    return np.convolve(exactly(one), exactly(other))[: one.size]
