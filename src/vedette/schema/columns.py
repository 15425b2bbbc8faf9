"""Events as typed columns: made once, at the edge, and read by everything behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.schema.types import Type


@dataclass(frozen=True, slots=True)
class Column:
    """What is read from an event: a path, as a type.

    The same path may be read as several types (a string attribute as `ip`, where a filter asks for a
    network; a value that cannot be read so is missing). With `other` it is the comparison of two
    attributes: an int column of 0, 1, 2 for path <, =, > other, missing where one of them is.
    With a `reading` it is a view (`vedette.schema.readings`) of the path, or two texts compared; the reading then is
    `text` for their order, or how one is in the other (`vedette.schema.compare.RELATIONS`): a column of 0 and 1.
    """

    path: str
    type: Type
    other: str | None = None
    reading: str | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """The attributes that it is read from; `*` is the whole event."""
        return (self.path,) if self.other is None else (self.path, self.other)

    @property
    def order(self) -> tuple[str, str, str, str]:
        """A key that columns are sorted by."""
        return self.path, self.other or "", str(self.type), self.reading or ""

    @property
    def name(self) -> str:
        """What is read, as a filter says it: `price`, `text(price)`."""
        return self.path if self.reading is None else f"{self.reading}({self.path})"


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """int, float, bool, timestamp, date: order-preserving int64 keys (see `vedette.schema.keys`)."""

    keys: NDArray[np.int64]
    present: NDArray[np.bool_]  # keys of missing values are 0


@dataclass(frozen=True, slots=True)
class TextColumn:
    """string, ip: dictionary-encoded; `values` are distinct order-preserving byte keys."""

    codes: NDArray[np.int32]  # -1: missing
    values: list[bytes]


@dataclass(frozen=True, slots=True)
class PointColumn:
    """Longitude and latitude; NaN in both where missing."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RegionColumn:
    """Distinct Shapely geometries, by code."""

    codes: NDArray[np.int32]  # -1: missing
    geometries: NDArray[Any]


@dataclass(frozen=True, slots=True)
class ListColumn:
    """Element i of event e is `elements[start[e] + i]`; a missing list has `present` False and no elements."""

    start: NDArray[np.int64]  # events + 1
    elements: KeyColumn | TextColumn | PointColumn | RegionColumn
    present: NDArray[np.bool_]


ColumnData: TypeAlias = KeyColumn | TextColumn | PointColumn | RegionColumn | ListColumn
