"""Combine forecasts of parts: and, or, sequence, and a match that expires.

A curve is an array whose n-th number is the probability of completing within n events; the 0-th is 0. The chain of a
whole pattern knows how its parts depend on each other. If it is too large, only the parts are known, and the result
is the figure for independent ones, with the bounds that hold whatever their dependence (Fréchet). `paper_…` are
the paper's own formulas (Muthusamy 2010, §5.2.3), for comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Curve: TypeAlias = NDArray[np.float64]


class CombinedProbability(NamedTuple):
    """The probability for independent parts, and the bounds of the true one."""

    independent: Curve
    low: Curve
    high: Curve


def both(one: Curve, other: Curve) -> CombinedProbability:
    """`p and q`: both within n events."""
    return CombinedProbability(one * other, np.maximum(0.0, one + other - 1.0), np.minimum(one, other))


def either(one: Curve, other: Curve) -> CombinedProbability:
    """`p or q`: at least one within n events."""
    return CombinedProbability(1.0 - (1.0 - one) * (1.0 - other), np.maximum(one, other), np.minimum(1.0, one + other))


def then(one: Curve, other: Curve) -> Curve:
    """`p ; q`: p within some of the n events, q within the rest, which begins anew after p."""
    return np.convolve(exactly(one), other)[: one.size]


def expiring(curve: Curve, left: Curve) -> Curve:
    """A match that expires with its window; `left[m]` is the probability that just m more events come before that."""
    within = np.arange(curve.size)
    reach = np.minimum(within[:, None], np.arange(left.size)[None, :])
    return np.asarray(curve[reach] @ left, np.float64)


def single_part_curve(curve: Curve) -> CombinedProbability:
    """The curve of a single part."""
    return CombinedProbability(curve, curve, curve)


def all_of(parts: Sequence[CombinedProbability]) -> CombinedProbability:
    """All of them within n events."""
    return reduce(lambda one, other: _fieldwise(both, one, other), parts)


def any_of(parts: Sequence[CombinedProbability]) -> CombinedProbability:
    """At least one of them within n events."""
    return reduce(lambda one, other: _fieldwise(either, one, other), parts)


def together(parts: Sequence[CombinedProbability], done: Sequence[bool]) -> CombinedProbability:
    """`and`, if some parts are complete already: the others have to complete; if there are none, any has to again."""
    missing = [part for part, complete in zip(parts, done, strict=True) if not complete]
    return all_of(missing) if missing else any_of(parts)


def completion_curve(curve: Curve, left: int, last: int) -> Curve:
    """The probability that a part is complete, and not too old, after n events.

    For `last` more events it is complete by past events. A part still to complete has to do so within n, and its past
    events become too old after `left`.
    """
    n = np.arange(curve.size)
    stands = np.where(n <= left, curve, curve - curve[min(max(left, 0), curve.size - 1)])
    return np.asarray(np.where(n <= last, 1.0, stands))


def together_while(parts: Sequence[Curve], stands: Sequence[Curve], done: Sequence[bool]) -> Curve:
    """`and` of independent parts that expire: at some of the n events the last completes while all others are complete.

    Each is assumed to complete once, so that they are complete together for one stretch of time at most.
    """
    every = np.prod(stands, axis=0)
    if all(done):
        anew = [np.cumsum(exactly(part) * _others(stands, number)) for number, part in enumerate(parts)]
        return np.asarray(1.0 - np.prod([1.0 - each for each in anew], axis=0))
    before = [
        stand if complete else np.maximum(0.0, stand - exactly(part))
        for part, stand, complete in zip(parts, stands, done, strict=True)
    ]
    return np.asarray(np.minimum(1.0, np.cumsum(every - np.prod(before, axis=0))))


def _others(stands: Sequence[Curve], number: int) -> Curve:
    """The probability that all but one of them are complete."""
    others = [stand for each, stand in enumerate(stands) if each != number]
    return np.asarray(np.prod(others, axis=0)) if others else np.ones_like(stands[number])


def in_turn(first: CombinedProbability, rest: Sequence[Curve]) -> CombinedProbability:
    """A sequence of parts. Whatever their dependence, the first leaves each of the rest at least one event."""
    if not rest:
        return first
    independent = reduce(then, rest, first.independent)
    late = np.zeros(min(len(rest), first.high.size))
    return CombinedProbability(
        independent, np.zeros_like(independent), np.concatenate([late, first.high])[: first.high.size]
    )


def _fieldwise(
    formula: Callable[[Curve, Curve], CombinedProbability], one: CombinedProbability, other: CombinedProbability
) -> CombinedProbability:
    """Apply a formula to figures and bounds; formulas rise with their arguments, so bounds stay bounds."""
    return CombinedProbability(
        formula(one.independent, other.independent).independent,
        formula(one.low, other.low).low,
        formula(one.high, other.high).high,
    )


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
