"""The distinct values of a column, and which of them every row has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.codes import all_used
from vedette.matching.probes.geometry import Points
from vedette.schema.columns import KeyColumn, PointColumn, RegionColumn, TextColumn

Scalars: TypeAlias = KeyColumn | TextColumn | PointColumn | RegionColumn


@dataclass(frozen=True, slots=True)
class Keys:
    """Ascending int64 keys."""

    keys: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True)
class Texts:
    """Byte keys in any order."""

    texts: list[bytes]

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, slots=True)
class Places:
    """Points in any order."""

    points: Points

    def __len__(self) -> int:
        return len(self.points.x)


@dataclass(frozen=True, slots=True)
class Areas:
    """Shapely geometries in any order."""

    geometries: NDArray[Any]

    def __len__(self) -> int:
        return len(self.geometries)


Distinct: TypeAlias = Keys | Texts | Places | Areas


def distinct(data: Scalars) -> tuple[NDArray[np.int32], Distinct]:
    """The number of each row's value (-1: missing), and the values."""
    if isinstance(data, TextColumn):
        codes, used = _used(data.codes, len(data.values))
        return codes, Texts(data.values if used is None else [data.values[code] for code in used.tolist()])
    if isinstance(data, RegionColumn):
        codes, used = _used(data.codes, len(data.geometries))
        return codes, Areas(data.geometries if used is None else data.geometries[used])
    if isinstance(data, KeyColumn):
        codes = np.full(len(data.keys), -1, np.int32)
        keys, codes[data.present] = np.unique(data.keys[data.present], return_inverse=True)
        return codes, Keys(keys)
    present = ~(np.isnan(data.x) | np.isnan(data.y))
    codes = np.full(len(data.x), -1, np.int32)
    pairs = np.empty(int(present.sum()), np.complex128)
    pairs.real, pairs.imag = data.x[present], data.y[present]
    pairs, codes[present] = np.unique(pairs, return_inverse=True)
    return codes, Places(Points(pairs.real.copy(), pairs.imag.copy()))


def _used(codes: NDArray[np.int32], size: int) -> tuple[NDArray[np.int32], NDArray[np.int64] | None]:
    """The codes of the values that some row has, renumbered, and which these are (None: all)."""
    if all_used(codes, size):
        return codes, None
    used = np.zeros(size + 1, np.bool_)
    used[codes] = True  # -1 marks the place behind the last value
    number = np.cumsum(used, dtype=np.int32) - np.int32(1)
    number[size] = -1
    return number[codes], np.flatnonzero(used[:size])
