"""Ranks int64 keys among sorted breakpoints, exactly, in a few nanoseconds a value.

A binary search over a million breakpoints is twenty steps that miss the cache. Instead the range of the keys
is cut into coarse buckets, and each of those into fine ones of its own width, about two for a breakpoint: the
top bits of a key lead to a bucket that holds one or two breakpoints. Keys that crowd together (exponents of
floats, one outlier far away) only crowd their coarse bucket; what is left in a fine one is searched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.bundles import MISSING
from vedette.kernels.compile import inlined, kernel

_SIGN = np.uint64(1 << 63)
_COARSE_MOST = 4096
_PER_COARSE = 16


class RankSteps(NamedTuple):
    """Sorted distinct breakpoints, and the buckets that lead to them."""

    breakpoints: NDArray[np.int64]
    coarse_shift: np.uint64
    coarse_origin: NDArray[np.uint64]  # of each coarse bucket: its first breakpoint, as unsigned
    fine_shift: NDArray[np.uint8]  # of each coarse bucket
    fine_base: NDArray[np.int32]  # coarse buckets + 1: where the fine buckets of each begin
    fine: NDArray[np.int32]  # fine bucket -> its first breakpoint; an entry more for the end of a coarse one


@inlined
def _unsigned(key: np.int64) -> np.uint64:
    """A key as unsigned, in the same order, so that differences never overflow."""
    return np.uint64(key) ^ _SIGN


@inlined
def _bits(span: np.uint64) -> np.int64:
    bits = np.int64(0)
    while span > np.uint64(0):
        span = span >> np.uint64(1)
        bits += 1
    return bits


@kernel
def _coarse_first(breakpoints: NDArray[np.int64], shift: np.uint64, first: NDArray[np.int32]) -> None:
    """The first breakpoint of every coarse bucket, and the end."""
    origin = _unsigned(breakpoints[0])
    bucket = 0
    for i in range(breakpoints.size):
        own = np.int64((_unsigned(breakpoints[i]) - origin) >> shift)
        while bucket <= own:
            first[bucket] = i
            bucket += 1
    first[bucket:] = breakpoints.size


@kernel
def _layout(breakpoints: NDArray[np.int64], first: NDArray[np.int32], steps: RankSteps) -> None:
    """Set origin, shift and position of the fine buckets of every coarse one."""
    for j in range(first.size - 1):
        count = first[j + 1] - first[j]
        buckets = np.int64(1)
        if count > 0:
            steps.coarse_origin[j] = _unsigned(breakpoints[first[j]])
            span = _unsigned(breakpoints[first[j + 1] - 1]) - steps.coarse_origin[j]
            steps.fine_shift[j] = max(np.int64(0), _bits(span) - _bits(np.uint64(count)) - 1)
            buckets = np.int64(span >> np.uint64(steps.fine_shift[j])) + 1
        steps.fine_base[j + 1] = steps.fine_base[j] + buckets + 1


@kernel
def _fill(first: NDArray[np.int32], steps: RankSteps) -> None:
    """The first breakpoint of every fine bucket."""
    for j in range(first.size - 1):
        base, shift = steps.fine_base[j], np.uint64(steps.fine_shift[j])
        bucket = base
        for i in range(first[j], first[j + 1]):
            own = base + np.int64((_unsigned(steps.breakpoints[i]) - steps.coarse_origin[j]) >> shift)
            while bucket <= own:
                steps.fine[bucket] = i
                bucket += 1
        while bucket < steps.fine_base[j + 1]:
            steps.fine[bucket] = first[j + 1]
            bucket += 1


def rank_steps(breakpoints: NDArray[np.int64]) -> RankSteps:
    """Prepare sorted distinct breakpoints for `ranks_of`."""
    size = breakpoints.size
    span = int(breakpoints[-1]) - int(breakpoints[0]) if size else 0
    most = max(1, min(_COARSE_MOST, size // _PER_COARSE))
    shift = np.uint64(min(63, max(0, span.bit_length() - (most.bit_length() - 1))))  # shifting by 64 would do nothing
    coarse = (span >> int(shift)) + 1
    first = np.zeros(coarse + 1, np.int32)
    origin, fine_shift, base = np.zeros(coarse, np.uint64), np.zeros(coarse, np.uint8), np.zeros(coarse + 1, np.int32)
    if size:
        _coarse_first(breakpoints, shift, first)
    _layout(breakpoints, first, RankSteps(breakpoints, shift, origin, fine_shift, base, first))
    steps = RankSteps(breakpoints, shift, origin, fine_shift, base, np.zeros(base[-1], np.int32))
    _fill(first, steps)
    return steps


@kernel
def ranks_of(steps: RankSteps, keys: NDArray[np.int64], present: NDArray[np.bool_], out: NDArray[np.int32]) -> None:
    """Set out[i] to the number of breakpoints <= keys[i]; MISSING where there is no value."""
    breakpoints = steps.breakpoints
    size = breakpoints.size
    if size == 0:
        for i in range(keys.size):
            out[i] = 0 if present[i] else MISSING
        return
    coarse_origin, fine_shift, fine_base, fine = steps.coarse_origin, steps.fine_shift, steps.fine_base, steps.fine
    shift, one, two = steps.coarse_shift, np.uint64(1), np.uint64(2)
    lowest, last = breakpoints[0], breakpoints[size - 1]
    origin = _unsigned(lowest)
    for i in range(keys.size):
        key = keys[i]
        if not present[i]:
            out[i] = MISSING
        elif key < lowest:
            out[i] = 0
        elif key >= last:
            out[i] = size
        else:
            # No branch depends on where in its bucket a key falls: a misprediction would cost more than the search.
            value = _unsigned(key)
            j = (value - origin) >> shift
            own = (max(value, coarse_origin[j]) - coarse_origin[j]) >> np.uint64(fine_shift[j])
            place = min(np.uint64(fine_base[j]) + own, np.uint64(fine_base[j + one]) - two)
            left, right = np.uint64(fine[place]), np.uint64(fine[place + one])
            while right - left > two:
                middle = (left + right) >> one
                if breakpoints[middle] <= key:
                    left = middle + one
                else:
                    right = middle
            final = right - np.uint64(right > left)
            left += np.uint64((left < right) & (breakpoints[left] <= key))
            left += np.uint64((left < right) & (breakpoints[final] <= key))
            out[i] = np.int32(left)


@kernel
def ranks_of_one(
    breakpoints: NDArray[np.int64], first: NDArray[np.int64], keys: NDArray[np.int64], ranks: NDArray[np.int32]
) -> None:
    """Rank one event: the breakpoints of column c begin at `first[c]`; where `ranks` is MISSING, it stays so."""
    for c in range(keys.size):
        if ranks[c] != MISSING:
            left, right = first[c], first[c + 1]
            while left < right:
                middle = (left + right) >> 1
                if breakpoints[middle] <= keys[c]:
                    left = middle + 1
                else:
                    right = middle
            ranks[c] = left - first[c]
