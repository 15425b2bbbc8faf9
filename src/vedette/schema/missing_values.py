"""Makes values missing: whole columns, or single rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vedette.schema.columns import ColumnData, KeyColumn, ListColumn, PointColumn, RegionColumn, TextColumn
from vedette.schema.types import Kind, Type


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
