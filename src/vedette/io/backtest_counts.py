"""Counts by group and day that add up, in memory that depends on groups and days alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

UNTIMED = int(np.iinfo(np.int64).min)  # the time of an event that has none
NO_DAY = -(1 << 31)
_DAY = 86_400_000_000  # microseconds
_BITS = 32  # of a key, for the day
_DENSE = 1 << 20  # cells that are counted in a table, however few rows there are


def days_of(times: NDArray[np.int64]) -> NDArray[np.int64]:
    """The day (UTC) of times in microseconds, as days since 1970-01-01; NO_DAY without a time."""
    return np.where(times == UNTIMED, NO_DAY, times // _DAY)


def day_text(day: int) -> str:
    """A day as `2024-05-01`; empty for NO_DAY."""
    return "" if day == NO_DAY else str(np.datetime64(day, "D"))


class DayCells(NamedTuple):
    """Counts above 0, ordered by group, then by day."""

    group: NDArray[np.int64]
    day: NDArray[np.int64]
    counts: NDArray[np.int64]


class DayCounts:
    """Counts rows as they come; the sum of two is the count of both."""

    def __init__(self) -> None:
        self._keys = np.zeros(0, np.int64)  # ascending
        self._counts = np.zeros(0, np.int64)
        self._more: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []  # not merged yet
        self._size = 0  # of those

    def add(self, group: NDArray[Any], day: NDArray[np.int64]) -> None:
        """Count rows, given the group and day of each."""
        if not len(group):
            return
        found, cell = np.unique(day, return_inverse=True)
        span = int(group.max()) + 1
        if span * len(found) <= max(_DENSE, 4 * len(group)):
            counts = np.bincount(group.astype(np.int64) * len(found) + cell, minlength=span * len(found))
            places = np.flatnonzero(counts)
            self._put(_keys(places // len(found), found[places % len(found)]), counts[places])
        else:
            self._put(*np.unique(_keys(group, day), return_counts=True))

    def _put(self, keys: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        self._more.append((keys, counts))
        self._size += len(keys)
        if self._size > max(_DENSE, len(self._keys)):  # so that every count is moved a few times only
            self._merge()

    def _merge(self) -> None:
        if self._more:
            keys = np.concatenate([self._keys, *(keys for keys, _ in self._more)])
            counts = np.concatenate([self._counts, *(counts for _, counts in self._more)])
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
            self._keys, self._counts = keys[begins], np.add.reduceat(counts[order], begins)
            self._more, self._size = [], 0

    def __add__(self, other: DayCounts) -> DayCounts:
        """The sum of both."""
        both = DayCounts()
        for one in (self, other):
            one._merge()
            if len(one._keys):
                both._put(one._keys, one._counts)
        return both

    def cells(self) -> DayCells:
        """All counts."""
        self._merge()
        return DayCells(self._keys >> _BITS, (self._keys & ((1 << _BITS) - 1)) + NO_DAY, self._counts)

    @classmethod
    def of(cls, cells: DayCells) -> DayCounts:
        """Restore what `cells` returned."""
        made = cls()
        made._keys, made._counts = _keys(cells.group, cells.day), cells.counts.astype(np.int64)
        return made


def _keys(group: NDArray[Any], day: NDArray[np.int64]) -> NDArray[np.int64]:
    return (group.astype(np.int64) << _BITS) | (day - NO_DAY)
