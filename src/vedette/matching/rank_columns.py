"""One column's constants as breakpoints, and the ranks of events' values among them."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vedette.kernels.bundles import MISSING
from vedette.kernels.codes import taken
from vedette.kernels.ranks import RankSteps, ranks_of
from vedette.matching.once import once
from vedette.schema.columns import (
    Column,
    ColumnData,
    KeyColumn,
    ListColumn,
    PointColumn,
    RegionColumn,
    TextColumn,
)

_SLICE = 8192  # texts that are read before other threads may have a turn


@dataclass(frozen=True)
class KeyRanks:
    """Numbers, times, booleans; with no breakpoints at all, just whether there is a value."""

    column: Column
    steps: RankSteps

    @property
    def highest(self) -> int:
        """The rank of the greatest values."""
        return len(self.steps.breakpoints)

    @property
    def nbytes(self) -> int:
        """The bytes of the breakpoints and what leads to them."""
        return sum(array.nbytes for array in self.steps)

    @property
    def has_keys(self) -> bool:
        """Values have keys; of lists, points and regions only the presence is ranked."""
        return self.column.type.kind.keyed and not self.column.type.is_list


@dataclass(frozen=True)
class TextRanks:
    """Strings and addresses, by distinct value.

    `values` is sorted. Where only equality was asked for, `codes` is None and value i has rank i + 1, everything
    else 0. Otherwise the breakpoints are `codes`, ascending: 2i for value i, 2i + 1 for the next text after it.
    """

    column: Column
    values: pa.LargeBinaryArray
    codes: NDArray[np.int32] | None

    @property
    def highest(self) -> int:
        """The rank of the greatest values."""
        return len(self.values) if self.codes is None else len(self.codes)

    @property
    def nbytes(self) -> int:
        """The bytes of the constants."""
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
        """The rank of each distinct text, and MISSING as the last, which code -1 picks."""
        ranks: Iterable[int]
        if self.codes is None:
            ranks = map(self._ranks.get, texts, itertools.repeat(0))
        else:
            breakpoints = self._breakpoints
            ranks = (bisect_right(breakpoints, text) for text in texts)
        return np.fromiter(itertools.chain(ranks, (MISSING,)), np.int32, len(texts) + 1)


RankColumn: TypeAlias = KeyRanks | TextRanks


class RankSource:
    """A column of a batch, ready to be ranked piece by piece."""

    def __init__(self, ranks: RankColumn, data: ColumnData) -> None:
        self._steps: RankSteps | None = None
        self._by_code = self._codes = np.zeros(0, np.int32)
        self._keys = np.zeros(0, np.int64)
        self._present = np.zeros(0, np.bool_)
        match ranks, data:
            case TextRanks(), TextColumn():
                self._by_code, self._codes = ranks.ranks_by_code(data.values), data.codes
            case KeyRanks(), KeyColumn():
                self._steps, self._keys, self._present = ranks.steps, data.keys, data.present
            case _:
                self._by_code, self._codes = np.array([0, MISSING], np.int32), _presence(data)

    def fill(self, start: int, stop: int, out: NDArray[np.int32]) -> None:
        """The ranks of events start .. stop."""
        if self._steps is not None:
            ranks_of(self._steps, self._keys[start:stop], self._present[start:stop], out)
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
