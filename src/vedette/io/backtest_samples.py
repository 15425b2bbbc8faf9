"""Samples of each group: the first, the last, and some at random, independent of how the rows were divided.

Every row has a rank that only its event, its group and a seed decide, and those of the lowest ranks are kept: an
unbiased sample, which depends neither on the order of the rows nor on how they were divided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_FEW = 1 << 16  # rows that are kept before it is worth letting go of some
_TOP = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


@dataclass(frozen=True, slots=True)
class BacktestSample:
    """A sampled row: the event, its time in microseconds, and the other details."""

    event: str
    time: int
    said: dict[str, Any]


class _Pool(NamedTuple):
    group: NDArray[np.int64]
    time: NDArray[np.int64]
    number: NDArray[np.int64]  # of the event in its history
    rank: NDArray[np.uint64]
    sample: NDArray[np.object_]

    def take(self, rows: NDArray[Any]) -> _Pool:
        return _Pool(*(column[rows] for column in self))

    @staticmethod
    def joined(parts: Sequence[_Pool]) -> _Pool:
        return _Pool(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


_NONE = _Pool(
    np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.uint64), np.zeros(0, object)
)


class BacktestSamples:
    """Up to `most` rows of each group; groups are known by their seeds."""

    def __init__(self, most: int, seeds: NDArray[np.uint64]) -> None:
        self._most, self._seeds = most, seeds
        self._pool = _NONE
        self._more: list[_Pool] = []
        self._crowded = _FEW
        self._bar = np.full(len(seeds), _TOP)  # ranks above it are of no use
        self._scratch = np.zeros(len(seeds), np.int64)

    def add(
        self,
        group: NDArray[Any],
        time: NDArray[np.int64],
        number: NDArray[np.int64],
        told: Callable[[NDArray[np.int64]], Sequence[BacktestSample]],
    ) -> None:
        """Add rows with the times and numbers of their events; `told` returns the details of rows, by their places."""
        if not self._most or not len(group):
            return
        group = group.astype(np.int64)
        rank = _mixed(number.astype(np.uint64) ^ self._seeds[group])
        low = np.flatnonzero(rank <= self._bar[group])
        wanted = self._outermost(group, time, number)
        wanted[low[self._lowest(group[low], rank[low])]] = True
        rows = np.flatnonzero(wanted)
        self._more.append(_Pool(group[rows], time[rows], number[rows], rank[rows], _objects(told(rows))))
        if sum(len(part.group) for part in self._more) > self._crowded:
            self._settle()
            self._crowded = max(_FEW, len(self._pool.group))

    def _outermost(
        self, group: NDArray[np.int64], time: NDArray[np.int64], number: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """The first and the last row of every group."""
        order = np.arange(len(group))
        if (time[1:] < time[:-1]).any() or (number[1:] < number[:-1]).any():
            order = np.lexsort((number, time))
        found = np.zeros(len(group), np.bool_)
        for each in (order, order[::-1]):
            self._scratch[group[each]] = each  # of several with one index, the last one stays
            found |= self._scratch[group] == np.arange(len(group))
        return found

    def _lowest(self, group: NDArray[np.int64], rank: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The rows of the lowest ranks of every group; ranks above those of a full sample are skipped."""
        order = np.lexsort((rank, group))
        place = np.arange(len(order))
        within = place - np.maximum.accumulate(np.where(_begins(group[order]), place, 0))
        full = order[within == self._most - 1]
        self._bar[group[full]] = np.minimum(self._bar[group[full]], rank[full])
        return order[within < self._most]

    def _settle(self) -> None:
        """Keep the first and last rows of each group, and those of low rank."""
        pool = _Pool.joined([self._pool, *self._more])
        self._more = []
        kept = np.zeros(len(pool.group), np.bool_)
        order = np.lexsort((pool.number, pool.time, pool.group))
        begins = _begins(pool.group[order])
        kept[order[begins]] = True
        kept[order[np.roll(begins, -1)]] = True
        kept[self._lowest(pool.group, pool.rank)] = True
        self._pool = pool.take(np.flatnonzero(kept))

    def __add__(self, other: BacktestSamples) -> BacktestSamples:
        """The samples of the rows of both."""
        both = BacktestSamples(self._most, self._seeds)
        both._more = [self._pool, *self._more, other._pool, *other._more]
        both._settle()
        return both

    def of(self) -> dict[int, list[BacktestSample]]:
        """The samples of each group that has any, by time: the first, the last, and of the others the lowest ranks."""
        self._settle()
        pool = self._pool
        order = np.lexsort((pool.number, pool.time, pool.group))
        found: dict[int, list[BacktestSample]] = {}
        if not len(order):
            return found
        for rows in np.split(order, np.flatnonzero(_begins(pool.group[order]))[1:]):
            inner = rows[1:-1]
            drawn = inner[np.argsort(pool.rank[inner], kind="stable")][: max(0, self._most - 2)]
            chosen = {int(rows[0]), *([int(rows[-1])] if self._most > 1 else []), *drawn.tolist()}
            found[int(pool.group[rows[0]])] = [pool.sample[row] for row in rows.tolist() if row in chosen]
        return found

    def arrays(self) -> tuple[dict[str, NDArray[Any]], list[BacktestSample]]:
        """All samples: numbers as named arrays, and the details beside them."""
        self._settle()
        numbers = self._pool._asdict()
        return numbers, numbers.pop("sample").tolist()

    def restore(self, arrays: dict[str, NDArray[Any]], samples: Sequence[BacktestSample]) -> None:
        """Restore what `arrays` returned."""
        self._more = [_Pool(**arrays, sample=_objects(samples))]
        self._settle()


def _objects(samples: Sequence[BacktestSample]) -> NDArray[np.object_]:
    found = np.empty(len(samples), object)
    found[:] = samples
    return found


def _begins(groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where each group begins, in ascending groups."""
    begins = np.ones(len(groups), np.bool_)
    begins[1:] = groups[1:] != groups[:-1]
    return begins


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Pseudo-random numbers from numbers (the finaliser of SplitMix64)."""
    keys = keys + np.uint64(0x9E37_79B9_7F4A_7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
    return keys ^ (keys >> np.uint64(31))
