"""Groups (event, conjunction) pairs, which come in any order, into the subscriptions of each event.

The lower bound of matching is its output: pairs are grouped by event with a counting sort, and sorted within an
event while they are in the cache; a few nanoseconds a match each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.bundles import ConjunctionPairs
from vedette.kernels.compile import kernel

_DEAD = -1
_DIGIT_BITS, _DIGITS = 8, 256
_FEW = 32

NO_VETOES = np.zeros(0, np.bool_)


class MatchRows(NamedTuple):
    """Event e matches `subscription[start[e] : start[e + 1]]`."""

    start: NDArray[np.int64]  # events + 1
    subscription: NDArray[np.int32]


# Large arrays are made by NumPy, outside of the kernels: it uses huge pages, which makes fresh memory cheaper.


@kernel
def _subscriptions(
    conjunction: NDArray[np.int32], owner: NDArray[np.int32], alive: NDArray[np.uint64], found: NDArray[np.int32]
) -> None:
    """The subscription of each pair, or _DEAD; an empty `owner` is the identity, an empty `alive` means all live."""
    for i in range(conjunction.size):
        subscription = owner[conjunction[i]] if owner.size > 0 else conjunction[i]
        if alive.size > 0:
            word = alive[subscription >> 6]
            if (word >> np.uint64(subscription & 63)) & np.uint64(1) == np.uint64(0):
                subscription = np.int32(_DEAD)
        found[i] = subscription


@kernel
def _count(event: NDArray[np.int32], subscription: NDArray[np.int32], start: NDArray[np.int64]) -> None:
    """Set start[e + 1] to where the row of event e begins; the last is the end."""
    for i in range(event.size):
        start[event[i] + 2] += subscription[i] != _DEAD
    for e in range(start.size - 2):
        start[e + 2] += start[e + 1]


@kernel
def _place(
    event: NDArray[np.int32], subscription: NDArray[np.int32], start: NDArray[np.int64], out: NDArray[np.int32]
) -> None:
    """Write the live subscriptions to their rows; afterwards start[e] is where the row of event e begins."""
    for i in range(event.size):
        if subscription[i] != _DEAD:
            place = start[event[i] + 1]
            out[place] = subscription[i]
            start[event[i] + 1] = place + 1


def _group(event: NDArray[np.int32], subscription: NDArray[np.int32], events: int) -> MatchRows:
    """Group stably by event, without the dead pairs."""
    start = np.zeros(events + 2, np.int64)
    _count(event, subscription, start)
    out = np.empty(int(start[-1]), np.int32)
    _place(event, subscription, start, out)
    return MatchRows(start[:-1], out)


@kernel
def _sort(rows: MatchRows, bits: int) -> None:
    """Sort ascending within every event: short rows by counting smaller ones, long rows by radix."""
    start, subscription = rows.start, rows.subscription
    longest = np.int64(0)
    for e in range(start.size - 1):
        longest = max(longest, start[e + 1] - start[e])
    scratch = np.empty(longest, np.int32)
    place = np.empty(_DIGITS + 1, np.int64)
    for e in range(start.size - 1):
        row = subscription[start[e] : start[e + 1]]
        if row.size <= _FEW:
            for i in range(row.size):
                value, smaller = row[i], np.int32(0)
                for j in range(i):
                    smaller += np.int32(row[j] <= value)
                for j in range(i + 1, row.size):
                    smaller += np.int32(row[j] < value)
                scratch[smaller] = value
            for i in range(row.size):
                row[i] = scratch[i]
            continue
        for shift in range(0, bits, _DIGIT_BITS):
            place[:] = 0
            for i in range(row.size):
                place[((row[i] >> shift) & (_DIGITS - 1)) + 1] += 1
            for digit in range(_DIGITS):
                place[digit + 1] += place[digit]
            for i in range(row.size):
                digit = (row[i] >> shift) & (_DIGITS - 1)
                scratch[place[digit]] = row[i]
                place[digit] += 1
            for i in range(row.size):
                row[i] = scratch[i]


@kernel
def _without_repeats(rows: MatchRows) -> MatchRows:
    """Each subscription once per event; rows must be sorted."""
    before, found = rows.start, rows.subscription
    start = np.zeros_like(before)
    size = 0
    for e in range(before.size - 1):
        for i in range(before[e], before[e + 1]):
            if i == before[e] or found[i] != found[size - 1]:
                found[size] = found[i]
                size += 1
        start[e + 1] = size
    return MatchRows(start, found[:size])


@kernel
def _mark(conjunction: NDArray[np.int32], vetoes: NDArray[np.bool_], subscription: NDArray[np.int32]) -> None:
    """Mark vetoes: twice the number of each pair's subscription, plus one if it is a veto; dead pairs stay dead."""
    for i in range(conjunction.size):
        if subscription[i] != _DEAD:
            subscription[i] = np.int32(2) * subscription[i] + np.int32(vetoes[conjunction[i]])


@kernel
def _without_vetoed(rows: MatchRows) -> MatchRows:
    """Each subscription without a veto once per event; rows must be marked and sorted."""
    before, found = rows.start, rows.subscription
    start = np.zeros_like(before)
    size = 0
    for e in range(before.size - 1):
        for i in range(before[e], before[e + 1]):
            subscription = found[i] >> 1
            # A veto comes last among the pairs of its subscription.
            if found[i] & 1 == 0 and (i + 1 == before[e + 1] or found[i + 1] >> 1 != subscription):
                found[size] = subscription
                size += 1
        start[e + 1] = size
    return MatchRows(start, found[:size])


def rows_of(
    pairs: ConjunctionPairs,
    events: int,
    subscriptions: int,
    *,
    owner: NDArray[np.int32],
    alive: NDArray[np.uint64],
    repeats: bool,
    ordered: bool,
    vetoes: NDArray[np.bool_] = NO_VETOES,
) -> MatchRows:
    """The live subscriptions of each event, once each; `ordered`: ascending within an event.

    `repeats` says that several conjunctions of one subscription may hold for the same event; the rows are then
    always in order, since repeats are found as neighbours. `vetoes` marks the conjunctions that exclude their
    subscription (empty: there are none).
    """
    found = pairs.conjunction
    if owner.size or alive.size:
        found = np.empty(len(pairs.conjunction), np.int32)
        _subscriptions(pairs.conjunction, owner, alive, found)
    if vetoes.size:
        _mark(pairs.conjunction, vetoes, found)
        rows = _group(pairs.event, found, events)
        _sort(rows, (2 * subscriptions - 1).bit_length())
        return _without_vetoed(rows)
    rows = _group(pairs.event, found, events)
    if ordered or repeats:
        _sort(rows, max(1, (subscriptions - 1).bit_length()))
    return _without_repeats(rows) if repeats else rows


@kernel
def _interleave(first: MatchRows, second: MatchRows, shift: int, both: MatchRows) -> None:
    start_1, found_1, start_2, found_2 = first.start, first.subscription, second.start, second.subscription
    start, out = both.start, both.subscription
    for e in range(start.size - 1):
        place = start[e]
        for i in range(start_1[e], start_1[e + 1]):
            out[place] = found_1[i]
            place += 1
        for i in range(start_2[e], start_2[e + 1]):
            out[place] = found_2[i] + shift
            place += 1


def side_by_side(first: MatchRows, second: MatchRows, shift: int) -> MatchRows:
    """The rows of two sets of subscriptions for the same events; those of the second are renumbered by `shift`."""
    both = MatchRows(first.start + second.start, np.empty(len(first.subscription) + len(second.subscription), np.int32))
    _interleave(first, second, shift, both)
    return both


def events_of(rows: MatchRows, first: int = 0) -> NDArray[np.int64]:
    """The event number of every match, counted from `first`."""
    out = np.empty(len(rows.subscription), np.int64)
    _number(rows.start, first, out)
    return out


@kernel
def _number(start: NDArray[np.int64], first: int, out: NDArray[np.int64]) -> None:
    for e in range(start.size - 1):
        for i in range(start[e], start[e + 1]):
            out[i] = first + e


def joined(parts: Sequence[MatchRows]) -> MatchRows:
    """The rows of all parts, one after another."""
    if len(parts) == 1:
        return parts[0]
    first = np.cumsum([0, *(len(rows.subscription) for rows in parts)])
    starts = [rows.start[:-1] + first[i] for i, rows in enumerate(parts)]
    subscriptions = [rows.subscription for rows in parts]
    return MatchRows(np.concatenate([*starts, first[-1:]]), np.concatenate([np.zeros(0, np.int32), *subscriptions]))
