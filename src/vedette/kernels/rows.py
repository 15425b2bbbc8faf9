"""From (event, conjunction) pairs, in any order, to the subscriptions of each event.

The floor of matching is its output, so every pass here is a counting sort: a few nanoseconds a match.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.bundles import Pairs
from vedette.kernels.compile import kernel

_DIGIT_BITS = 11  # 2048 open places to write to: what the address translation of a core still holds
_DEAD = -1


class Rows(NamedTuple):
    """Event e matches `subscription[start[e] : start[e + 1]]`."""

    start: NDArray[np.int64]  # events + 1
    subscription: NDArray[np.int32]


@kernel
def _subscriptions(
    conjunction: NDArray[np.int32], owner: NDArray[np.int32], alive: NDArray[np.uint64]
) -> NDArray[np.int32]:
    """The subscription of each pair, or _DEAD; an empty `owner` is the identity, an empty `alive` everyone."""
    found = np.empty(conjunction.size, np.int32)
    for i in range(conjunction.size):
        subscription = owner[conjunction[i]] if owner.size > 0 else conjunction[i]
        if alive.size > 0:
            word = alive[subscription >> 6]
            if (word >> np.uint64(subscription & 63)) & np.uint64(1) == np.uint64(0):
                subscription = np.int32(_DEAD)
        found[i] = subscription
    return found


@kernel
def _pack(event: NDArray[np.int32], subscription: NDArray[np.int32]) -> NDArray[np.int64]:
    """Subscription above event in one word; dead pairs are left out."""
    packed = np.empty(event.size, np.int64)
    size = 0
    for i in range(event.size):
        if subscription[i] != _DEAD:
            packed[size] = (np.int64(subscription[i]) << 32) | np.int64(event[i])
            size += 1
    return packed[:size]


@kernel
def _sort_digit(packed: NDArray[np.int64], shift: int, bits: int) -> NDArray[np.int64]:
    """A stable counting sort by `bits` bits from `shift` on."""
    mask = (np.int64(1) << bits) - 1
    place = np.zeros(mask + 2, np.int64)
    for i in range(packed.size):
        place[((packed[i] >> shift) & mask) + 1] += 1
    for digit in range(mask + 1):
        place[digit + 1] += place[digit]
    out = np.empty_like(packed)
    for i in range(packed.size):
        digit = (packed[i] >> shift) & mask
        out[place[digit]] = packed[i]
        place[digit] += 1
    return out


@kernel
def _group(event: NDArray[np.int32], subscription: NDArray[np.int32], events: int) -> Rows:
    """Stably by event, without the dead pairs."""
    start = np.zeros(events + 2, np.int64)
    for i in range(event.size):
        start[event[i] + 2] += subscription[i] != _DEAD
    for e in range(events):
        start[e + 2] += start[e + 1]
    out = np.empty(start[events + 1], np.int32)
    for i in range(event.size):
        if subscription[i] != _DEAD:
            place = start[event[i] + 1]
            out[place] = subscription[i]
            start[event[i] + 1] = place + 1
    return Rows(start[: events + 1], out)


@kernel
def _group_packed(packed: NDArray[np.int64], events: int) -> Rows:
    """Stably by event, from packed words."""
    start = np.zeros(events + 2, np.int64)
    for i in range(packed.size):
        start[(packed[i] & 0xFFFFFFFF) + 2] += 1
    for e in range(events):
        start[e + 2] += start[e + 1]
    out = np.empty(packed.size, np.int32)
    for i in range(packed.size):
        event = packed[i] & 0xFFFFFFFF
        out[start[event + 1]] = packed[i] >> 32
        start[event + 1] += 1
    return Rows(start[: events + 1], out)


@kernel
def _without_repeats(rows: Rows) -> Rows:
    """Each subscription once per event; rows are in order."""
    start = np.zeros_like(rows.start)
    out = rows.subscription
    size = 0
    for e in range(rows.start.size - 1):
        for i in range(rows.start[e], rows.start[e + 1]):
            if i == rows.start[e] or rows.subscription[i] != out[size - 1]:
                out[size] = rows.subscription[i]
                size += 1
        start[e + 1] = size
    return Rows(start, out[:size])


def rows_of(
    pairs: Pairs,
    events: int,
    subscriptions: int,
    *,
    owner: NDArray[np.int32],
    alive: NDArray[np.uint64],
    repeats: bool,
    ordered: bool,
) -> Rows:
    """The living subscriptions of each event, once each; `ordered`: ascending within an event.

    `repeats` says that several conjunctions of one subscription may hold for the same event; the rows are then
    always in order, since repeats are found as neighbours.
    """
    found = pairs.conjunction
    if owner.size or alive.size:
        found = _subscriptions(pairs.conjunction, owner, alive)
    if not (ordered or repeats):
        return _group(pairs.event, found, events)
    packed = _pack(pairs.event, found)
    bits = max(1, (subscriptions - 1).bit_length())
    passes = -(-bits // _DIGIT_BITS)
    digit = -(-bits // passes)
    for number in range(passes):
        packed = _sort_digit(packed, 32 + number * digit, digit)
    rows = _group_packed(packed, events)
    return _without_repeats(rows) if repeats else rows


@kernel
def _interleave(first: Rows, second: Rows, shift: int) -> Rows:
    events = first.start.size - 1
    start = first.start + second.start
    out = np.empty(start[events], np.int32)
    for e in range(events):
        place = start[e]
        for i in range(first.start[e], first.start[e + 1]):
            out[place] = first.subscription[i]
            place += 1
        for i in range(second.start[e], second.start[e + 1]):
            out[place] = second.subscription[i] + shift
            place += 1
    return Rows(start, out)


def side_by_side(first: Rows, second: Rows, shift: int) -> Rows:
    """The rows of two sets for the same events; the subscriptions of the second are renumbered by `shift`."""
    return _interleave(first, second, shift)


@kernel
def events_of(rows: Rows, first: int) -> NDArray[np.int64]:
    """The event number of every match, counted from `first`."""
    out = np.empty(rows.subscription.size, np.int64)
    for e in range(rows.start.size - 1):
        for i in range(rows.start[e], rows.start[e + 1]):
            out[i] = first + e
    return out
