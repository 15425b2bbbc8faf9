"""The breakpoints of one column, made from its constants, and the ranks of events' values among them."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vedette.filters.kernels.ranks import RankSteps, rank_steps, ranks_of
from vedette.kernels.bundles import MISSING
from vedette.kernels.codes import taken
from vedette.lazy import once
from vedette.schema.columns import (
    Column,
    ColumnData,
    KeyColumn,
    ListColumn,
    PointColumn,
    RegionColumn,
    TextColumn,
)
from vedette.schema.exact_numbers import EXACT, widened
from vedette.schema.keys import NumberKey, split

_REST = 12  # bits
_MOST_REST = (1 << _REST) - 1  # more than there are integers between two floats
_SLICE = 8192  # texts that are read before other threads get a turn


@dataclass(frozen=True)
class KeyRanks:
    """Ranks of numbers, times, booleans; without breakpoints, just whether there is a value.

    If constants are integers that no float64 equals, `finer` are the breakpoints: number i is `finer[i] % 2**12`
    integers above the key `steps.breakpoints[finer[i] >> 12]`.
    """

    column: Column
    steps: RankSteps
    finer: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, column: Column, keys: NDArray[Any]) -> KeyRanks:
        """Make the ranks from breakpoints, ascending and distinct: a table of int64, or of EXACT."""
        if keys.dtype != EXACT or not len(keys):
            return cls(column, rank_steps(keys if len(keys) else np.zeros(0, np.int64)))
        below, number = np.unique(keys["below"], return_inverse=True)
        return cls(column, rank_steps(below), (number.astype(np.int64) << _REST) | keys["rest"])

    @once
    def keys(self) -> NDArray[Any]:
        """The breakpoints."""
        if self.finer is None:
            return self.steps.breakpoints
        table = widened(self.steps.breakpoints[self.finer >> _REST])
        table["rest"] = self.finer & _MOST_REST
        return table

    @property
    def highest(self) -> int:
        """The highest rank."""
        return len(self.steps.breakpoints if self.finer is None else self.finer)

    @property
    def nbytes(self) -> int:
        """The size of the breakpoints and their buckets, in bytes."""
        return sum(array.nbytes for array in self.steps) + (0 if self.finer is None else self.finer.nbytes)

    def fill(self, keys: NDArray[np.int64], rest: NDArray[np.int16] | None, out: NDArray[np.int32]) -> None:
        """Replace the ranks in `out`, which are among `steps`, by ranks among `finer`."""
        if self.finer is None:
            return
        place = np.maximum(out, 1) - 1
        there = (out > 0) & (self.steps.breakpoints[place] == keys)
        among = np.where(there, 0 if rest is None else rest, _MOST_REST).astype(np.int64)
        found = np.searchsorted(self.finer, (place.astype(np.int64) << _REST) | among, "right")
        np.copyto(out, np.where(out > 0, found, out), casting="same_kind")

    def rank_one(self, key: NumberKey) -> int:
        """The rank of one key."""
        below, finer = self._lists
        own, rest = split(key)
        place = bisect_right(below, own) - 1
        if place < 0:
            return 0
        return bisect_right(finer, place << _REST | (rest if below[place] == own else _MOST_REST))

    @once
    def _lists(self) -> tuple[list[int], list[int]]:
        return self.steps.breakpoints.tolist(), [] if self.finer is None else self.finer.tolist()

    @property
    def has_keys(self) -> bool:
        """Whether values have 64-bit keys; of lists, points and regions only the presence is ranked."""
        return self.finer is None and self.column.type.kind.keyed and not self.column.type.is_list


@dataclass(frozen=True)
class TextRanks:
    """Ranks of strings and addresses, by distinct value.

    `values` is sorted. If all tests are equality, `codes` is None and value i has rank i + 1, everything
    else 0. Otherwise the breakpoints are `codes`, ascending: 2i for value i, 2i + 1 for the next text after it.
    """

    column: Column
    values: pa.LargeBinaryArray
    codes: NDArray[np.int32] | None

    @property
    def highest(self) -> int:
        """The highest rank."""
        return len(self.values) if self.codes is None else len(self.codes)

    @property
    def nbytes(self) -> int:
        """The size of the constants, in bytes."""
        texts = pc.sum(pc.binary_length(self.values)).as_py() or 0
        return int(texts) + 8 * (len(self.values) + 1) + (0 if self.codes is None else self.codes.nbytes)

    @once
    def _ranks(self) -> Mapping[bytes, int]:
        found: dict[bytes, int] = {}
        for begin in range(0, len(self.values), _SLICE):
            found.update(zip(self.values[begin : begin + _SLICE].to_pylist(), itertools.count(begin + 1), strict=False))
        return found

    @once
    def _breakpoints(self) -> list[bytes]:
        keys: list[bytes] = []
        codes = self.codes if self.codes is not None else np.zeros(0, np.int32)
        for begin in range(0, len(codes), _SLICE):
            part = codes[begin : begin + _SLICE]
            texts = self.values.take(pa.array(part >> 1)).to_pylist()
            keys.extend(t + b"\0" if c & 1 else t for t, c in zip(texts, part.tolist(), strict=True))
        return keys

    def rank_one(self, key: bytes) -> int:
        """The rank of one key."""
        return self._ranks.get(key, 0) if self.codes is None else bisect_right(self._breakpoints, key)

    def ranks_by_code(self, texts: list[bytes]) -> NDArray[np.int32]:
        """The rank of each distinct text; the last entry is MISSING, for code -1."""
        ranks: Iterable[int]
        if self.codes is None:
            ranks = map(self._ranks.get, texts, itertools.repeat(0))
        else:
            breakpoints = self._breakpoints
            ranks = (bisect_right(breakpoints, text) for text in texts)
        return np.fromiter(itertools.chain(ranks, (MISSING,)), np.int32, len(texts) + 1)


RankColumn: TypeAlias = KeyRanks | TextRanks


def is_fine(ranks: RankColumn) -> bool:
    """Whether some breakpoint lies between two floats."""
    return isinstance(ranks, KeyRanks) and ranks.finer is not None


class RankSource:
    """A column of a batch, ready to be ranked slice by slice."""

    def __init__(self, ranks: RankColumn, data: ColumnData) -> None:
        self._ranks: KeyRanks | None = None
        self._rest: NDArray[np.int16] | None = None
        self._by_code = self._codes = np.zeros(0, np.int32)
        self._keys = np.zeros(0, np.int64)
        self._present = np.zeros(0, np.bool_)
        match ranks, data:
            case TextRanks(), TextColumn():
                self._by_code, self._codes = ranks.ranks_by_code(data.values), data.codes
            case KeyRanks(), KeyColumn():
                self._ranks, self._keys, self._present = ranks, data.keys, data.present
                self._rest = data.rest
            case _:
                self._by_code, self._codes = np.array([0, MISSING], np.int32), _presence(data)

    def fill(self, start: int, stop: int, out: NDArray[np.int32]) -> None:
        """Write the ranks of events start .. stop to `out`."""
        if self._ranks is not None:
            ranks_of(self._ranks.steps, self._keys[start:stop], self._present[start:stop], out)
            if self._ranks.finer is not None:
                rest = None if self._rest is None else self._rest[start:stop]
                self._ranks.fill(self._keys[start:stop], rest, out)
        else:
            taken(self._by_code, self._codes[start:stop], out)


def _presence(data: ColumnData) -> NDArray[np.int32]:
    """0 where there is a value, -1 where there is none."""
    match data:
        case PointColumn():
            missing = np.isnan(data.x)
        case RegionColumn() | TextColumn():
            missing = data.codes < 0
        case KeyColumn() | ListColumn():
            missing = ~data.present
    return -missing.astype(np.int32)
