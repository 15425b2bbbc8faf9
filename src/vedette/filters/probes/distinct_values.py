"""The distinct values of a column, and the number of each row's value among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.filters.probes.geometry import Points
from vedette.kernels.codes import all_used
from vedette.schema.columns import KeyColumn, PointColumn, RegionColumn, TextColumn
from vedette.schema.exact_numbers import exact_keys

ScalarColumn: TypeAlias = KeyColumn | TextColumn | PointColumn | RegionColumn


@dataclass(frozen=True, slots=True)
class DistinctKeys:
    """Ascending keys: a table of int64 or EXACT."""

    keys: NDArray[Any]

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True)
class DistinctTexts:
    """Byte keys in any order."""

    texts: list[bytes]

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, slots=True)
class DistinctPoints:
    """Points in any order."""

    points: Points

    def __len__(self) -> int:
        return len(self.points.x)


@dataclass(frozen=True, slots=True)
class DistinctAreas:
    """Shapely geometries in any order."""

    geometries: NDArray[Any]

    def __len__(self) -> int:
        return len(self.geometries)


Distinct: TypeAlias = DistinctKeys | DistinctTexts | DistinctPoints | DistinctAreas


def distinct(data: ScalarColumn) -> tuple[NDArray[np.int32], Distinct]:
    """The number of each row's value (-1: missing), and the values."""
    if isinstance(data, TextColumn):
        codes, used = _used(data.codes, len(data.values))
        return codes, DistinctTexts(data.values if used is None else [data.values[code] for code in used.tolist()])
    if isinstance(data, RegionColumn):
        codes, used = _used(data.codes, len(data.geometries))
        return codes, DistinctAreas(data.geometries if used is None else data.geometries[used])
    if isinstance(data, KeyColumn):
        codes = np.full(len(data.keys), -1, np.int32)
        keys, codes[data.present] = np.unique(exact_keys(data)[data.present], return_inverse=True)
        return codes, DistinctKeys(keys)
    present = ~(np.isnan(data.x) | np.isnan(data.y))
    codes = np.full(len(data.x), -1, np.int32)
    pairs = np.empty(int(present.sum()), np.complex128)
    pairs.real, pairs.imag = data.x[present], data.y[present]
    pairs, codes[present] = np.unique(pairs, return_inverse=True)
    return codes, DistinctPoints(Points(pairs.real.copy(), pairs.imag.copy()))


def _used(codes: NDArray[np.int32], size: int) -> tuple[NDArray[np.int32], NDArray[np.int64] | None]:
    """The codes of the values that some row has, renumbered, and which these are (None: all)."""
    if all_used(codes, size):
        return codes, None
    used = np.zeros(size + 1, np.bool_)
    used[codes] = True  # -1 indexes the element behind the last value
    number = np.cumsum(used, dtype=np.int32) - np.int32(1)
    number[size] = -1
    return number[codes], np.flatnonzero(used[:size])
