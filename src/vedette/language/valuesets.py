"""Value sets: subsets of one attribute's values, null included.

All ordered types are mapped to keys whose order is the values' order: int64 for numbers, times and
booleans, bytes for strings and addresses. Every interval is half open, `[low, high)`, because both kinds
of keys have a successor: an integer's is `k + 1`, a byte string's is `k + b"\\0"`. So open and closed
bounds need no flags. Sets are canonical: equal sets are equal objects. Between the keys of two floats there may be
those of integers, as fractions (see `vedette.schema.keys`).
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeAlias, TypeVar

from vedette.schema.keys import NumberKey, among_integers, is_one_number
from vedette.schema.types import Kind

Key = TypeVar("Key", NumberKey, bytes)
AnyKey: TypeAlias = NumberKey | bytes


def next_key(key: AnyKey) -> AnyKey:
    """The smallest key above this one."""
    return key + b"\0" if isinstance(key, bytes) else key + 1


@dataclass(frozen=True, slots=True)
class Interval(Generic[Key]):
    """`[low, high)`; None is unbounded. Never empty."""

    low: Key | None
    high: Key | None

    @property
    def point(self) -> Key | None:
        """The only key inside, if there is just one, not counting fractions."""
        if self.low is None or self.high is None or isinstance(self.low, Fraction) or next_key(self.low) != self.high:
            return None
        return self.low


@dataclass(frozen=True, slots=True)
class ValueSet(Generic[Key]):
    """Disjoint, non-touching intervals in ascending order, and whether null belongs to it."""

    intervals: tuple[Interval[Key], ...] = ()
    null: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether the set is empty, without null."""
        return not self.intervals and not self.null

    @property
    def is_everything(self) -> bool:
        """Whether every value and null are in the set."""
        return self.null and self.is_all_values

    @property
    def is_all_values(self) -> bool:
        """Whether every value is in the set; null may or may not be."""
        return len(self.intervals) == 1 and self.intervals[0] == _WHOLE

    def contains(self, key: Key | None) -> bool:
        """Whether the value with this key (None: null) is in the set."""
        if key is None:
            return self.null
        if not self.intervals:
            return False
        # Only the first interval may be unbounded below, so it is handled before the search.
        place = bisect_right(self.intervals, key, lo=1, key=_low) - 1
        found = self.intervals[place]
        return (found.low is None or found.low <= key) and (found.high is None or key < found.high)


AnySet: TypeAlias = ValueSet[NumberKey] | ValueSet[bytes]

_WHOLE: Interval[Any] = Interval(None, None)
NOTHING: ValueSet[Any] = ValueSet()
NULL: ValueSet[Any] = ValueSet((), True)
PRESENT: ValueSet[Any] = ValueSet((_WHOLE,))
EVERYTHING: ValueSet[Any] = ValueSet((_WHOLE,), True)


def _low(interval: Interval[Any]) -> Any:
    return interval.low


def single(kind: Kind, one: Interval[Any]) -> Any:
    """The key of the only value of the kind that is inside, if there is just one."""
    if kind is Kind.FLOAT and one.low is not None and among_integers(one.low):
        return one.low if is_one_number(one.low, one.high) else None
    return one.point


def has_fractions(values: ValueSet[Any]) -> bool:
    """Whether some interval begins or ends between the keys of two floats."""
    return any(isinstance(end, Fraction) for one in values.intervals for end in (one.low, one.high))


def between(low: Key | None, high: Key | None) -> ValueSet[Key]:
    """The values in `[low, high)`; nothing if that is empty."""
    if low is not None and high is not None and low >= high:
        return NOTHING
    return ValueSet((Interval(low, high),))


def of_intervals(bounds: Iterable[tuple[Key | None, Key | None]], null: bool = False) -> ValueSet[Key]:
    """The union of any half-open intervals, empty and overlapping ones too, in any order."""
    proper = [(low, high) for low, high in bounds if low is None or high is None or low < high]
    proper.sort(key=_by_low)
    return ValueSet(_joined(proper), null)


def _by_low(bounds: tuple[Any, Any]) -> Any:
    return (bounds[0] is not None, bounds[0])


def _joined(ascending: list[tuple[Key | None, Key | None]]) -> tuple[Interval[Key], ...]:
    """Merge overlapping and touching intervals, which are non-empty and ascending by their low ends."""
    made: list[Interval[Key]] = []
    begin: Key | None = None
    end: Key | None = None
    started = False
    for low, high in ascending:
        if started and (end is None or low is None or low <= end):
            end = None if end is None or high is None else max(end, high)
            continue
        if started:
            made.append(Interval(begin, end))
        begin, end, started = low, high, True
    if started:
        made.append(Interval(begin, end))
    return tuple(made)


def union(left: ValueSet[Key], right: ValueSet[Key]) -> ValueSet[Key]:
    """The union of two sets."""
    null = left.null or right.null
    if not left.intervals:
        return right if right.null == null else ValueSet(right.intervals, null)
    if not right.intervals:
        return left if left.null == null else ValueSet(left.intervals, null)
    return of_intervals([(one.low, one.high) for one in left.intervals + right.intervals], null)


def union_all(sets: Iterable[ValueSet[Key]]) -> ValueSet[Key]:
    """The union of all sets, in one pass."""
    several = list(sets)
    if len(several) == 1:
        return several[0]
    null = any(one.null for one in several)
    return of_intervals([(each.low, each.high) for one in several for each in one.intervals], null)


def intersection(left: ValueSet[Key], right: ValueSet[Key]) -> ValueSet[Key]:
    """The intersection of two sets."""
    made: list[Interval[Key]] = []
    mine, others = left.intervals, right.intervals
    i = j = 0
    while i < len(mine) and j < len(others):
        a, b = mine[i], others[j]
        low = b.low if a.low is None else a.low if b.low is None else max(a.low, b.low)
        high = b.high if a.high is None else a.high if b.high is None else min(a.high, b.high)
        if low is None or high is None or low < high:
            made.append(Interval(low, high))
        if high == a.high:
            i += 1
        else:
            j += 1
    return ValueSet(tuple(made), left.null and right.null)


def intersection_all(sets: Iterable[ValueSet[Key]]) -> ValueSet[Key]:
    """The intersection of all sets (at least one), in one pass if there are many."""
    several = list(sets)
    if len(several) <= 3:
        return functools.reduce(intersection, several)
    outside = union_all(map(complement, several))
    return ValueSet(complement(outside).intervals, all(one.null for one in several))


def complement(one: ValueSet[Key]) -> ValueSet[Key]:
    """The values that are not in the set, without null."""
    made: list[Interval[Key]] = []
    low: Key | None = None
    for each in one.intervals:
        if each.low is not None:
            made.append(Interval(low, each.low))
        if each.high is None:
            return ValueSet(tuple(made))
        low = each.high
    made.append(Interval(low, None))
    return ValueSet(tuple(made))


def is_subset(left: ValueSet[Key], right: ValueSet[Key]) -> bool:
    """Whether the left set is a subset of the right one."""
    if left is right:
        return True
    if left.null and not right.null:
        return False
    others, at = right.intervals, 0
    for one in left.intervals:  # intervals of a set do not touch, so a single one of the right set must contain it
        while at < len(others) and _ends_before(others[at], one):
            at += 1
        if at == len(others) or not _holds(others[at], one):
            return False
    return True


def _ends_before(left: Interval[Key], right: Interval[Key]) -> bool:
    return left.high is not None and right.low is not None and left.high <= right.low


def _holds(outer: Interval[Key], inner: Interval[Key]) -> bool:
    begins = outer.low is None or (inner.low is not None and outer.low <= inner.low)
    return begins and (outer.high is None or (inner.high is not None and inner.high <= outer.high))
