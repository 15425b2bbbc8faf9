"""Typed columns of events: made once, when events enter, and read by all later stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.schema.types import Kind, Type


@dataclass(frozen=True, slots=True)
class Column:
    """What is read from an event: a path, as a type, possibly through a view or compared with another path.

    The same path may be read as several types (a string attribute as `ip`, where a filter tests for a
    network; a value that cannot be read so is missing). With `other` it is the comparison of two
    attributes: an int column of 0, 1, 2 for path <, =, > other, missing where one of them is.
    With a `reading` it is a view (`vedette.schema.readings`) of the path, or a comparison of two texts; the reading
    then is `text` for their order, or a relation (`vedette.schema.compare.RELATIONS`): a column of 0 and 1.
    """

    path: str
    type: Type
    other: str | None = None
    reading: str | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that the column is read from; `*` is the whole event."""
        return (self.path,) if self.other is None else (self.path, self.other)

    @property
    def settles(self) -> bool:
        """Whether every test of a present value is true or false: it is not a list, or has no null elements."""
        return not self.type.is_list or (self.reading == "items" and self.type.kind is Kind.STRING)

    @property
    def order(self) -> tuple[str, str, str, str]:
        """A key that columns are sorted by."""
        return self.path, self.other or "", str(self.type), self.reading or ""

    @property
    def name(self) -> str:
        """The column as written in a filter: `price`, `text(price)`."""
        return self.path if self.reading is None else f"{self.reading}({self.path})"


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """int, float, bool, timestamp, date: order-preserving int64 keys (see `vedette.schema.keys`)."""

    keys: NDArray[np.int64]
    present: NDArray[np.bool_]  # keys of missing values are 0
    rest: NDArray[np.int16] | None = None  # for floats: how many integers a number is above the key (None: 0)


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
    """Element i of event e is `elements[start[e] + i]`; a missing list has `present` False and no elements.

    Lists that all have one element may also be the `TextColumn` of these elements, if they are a view (`items`).
    """

    start: NDArray[np.int64]  # events + 1
    elements: KeyColumn | TextColumn | PointColumn | RegionColumn
    present: NDArray[np.bool_]


def as_lists(texts: TextColumn) -> ListColumn:
    """Texts as lists of one element; missing texts are missing lists."""
    present = texts.codes >= 0
    start = np.zeros(len(present) + 1, np.int64)
    np.cumsum(present, out=start[1:])
    return ListColumn(start, TextColumn(texts.codes[present], texts.values), present)


ColumnData: TypeAlias = KeyColumn | TextColumn | PointColumn | RegionColumn | ListColumn


def missing(type_: Type, size: int) -> ColumnData:
    """A column of this type in which every value is missing."""
    if type_.is_list:
        return ListColumn(np.zeros(size + 1, np.int64), missing_scalars(type_.kind, 0), np.zeros(size, np.bool_))
    return missing_scalars(type_.kind, size)


def missing_scalars(kind: Kind, size: int) -> KeyColumn | TextColumn | PointColumn | RegionColumn:
    """As `missing`, for a type that is not a list."""
    if kind.keyed:
        return KeyColumn(np.zeros(size, np.int64), np.zeros(size, np.bool_))
    if kind.textual:
        return TextColumn(np.full(size, -1, np.int32), [])
    if kind is Kind.POINT:
        return PointColumn(np.full(size, np.nan), np.full(size, np.nan))
    return RegionColumn(np.full(size, -1, np.int32), np.empty(0, np.object_))


def present_in(data: ColumnData) -> NDArray[np.bool_]:
    """The rows that have a value, as a mask."""
    if isinstance(data, KeyColumn | ListColumn):
        return data.present
    return ~np.isnan(data.x) if isinstance(data, PointColumn) else data.codes >= 0


def take_out(data: ColumnData, rows: NDArray[np.int64]) -> ColumnData:
    """The same column with the values of these rows missing."""
    if isinstance(data, ListColumn):
        return _take_out_lists(data, rows)
    if isinstance(data, KeyColumn):
        keys, present = data.keys.copy(), data.present.copy()
        keys[rows], present[rows] = 0, False
        rest = None if data.rest is None else data.rest.copy()
        if rest is not None:
            rest[rows] = 0
        return KeyColumn(keys, present, rest)
    if isinstance(data, PointColumn):
        x, y = data.x.copy(), data.y.copy()
        x[rows] = y[rows] = np.nan
        return PointColumn(x, y)
    codes = data.codes.copy()
    codes[rows] = -1
    return TextColumn(codes, data.values) if isinstance(data, TextColumn) else RegionColumn(codes, data.geometries)


def _take_out_lists(data: ListColumn, rows: NDArray[np.int64]) -> ListColumn:
    present = data.present.copy()
    present[rows] = False
    lengths = np.diff(data.start)
    kept = np.repeat(present, lengths)
    start = np.zeros(len(present) + 1, np.int64)
    np.cumsum(np.where(present, lengths, 0), out=start[1:])
    elements = data.elements
    chosen: KeyColumn | TextColumn | PointColumn | RegionColumn
    if isinstance(elements, KeyColumn):
        rest = None if elements.rest is None else elements.rest[kept]
        chosen = KeyColumn(elements.keys[kept], elements.present[kept], rest)
    elif isinstance(elements, PointColumn):
        chosen = PointColumn(elements.x[kept], elements.y[kept])
    elif isinstance(elements, TextColumn):
        chosen = TextColumn(elements.codes[kept], elements.values)
    else:
        chosen = RegionColumn(elements.codes[kept], elements.geometries)
    return ListColumn(start, chosen, present)
