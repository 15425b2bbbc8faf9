"""Column data as plain lists, for comparison."""

from __future__ import annotations

from typing import Any

import numpy as np

from vedette.schema.columns import ColumnData, KeyColumn, ListColumn, PointColumn, TextColumn
from vedette.schema.exact_numbers import key_at


def unpack(data: ColumnData) -> list[Any]:
    """One entry an event: its key, point, geometry or list of them; None where missing."""
    if isinstance(data, ListColumn):
        elements = unpack(data.elements)
        assert data.start[0] == 0
        assert data.start[-1] == len(elements)
        assert np.all(np.diff(data.start)[~data.present] == 0)
        bounds = zip(data.start[:-1].tolist(), data.start[1:].tolist(), data.present.tolist(), strict=True)
        return [elements[first:last] if present else None for first, last, present in bounds]
    if isinstance(data, KeyColumn):
        assert data.keys.dtype == np.int64
        assert data.present.dtype == np.bool_
        assert np.all(data.keys[~data.present] == 0)
        assert data.rest is None or np.all(data.rest[~data.present] == 0)
        return [key_at(data, row) if here else None for row, here in enumerate(data.present.tolist())]
    if isinstance(data, PointColumn):
        assert np.array_equal(np.isnan(data.x), np.isnan(data.y))
        return [None if x != x else (x, y) for x, y in zip(data.x.tolist(), data.y.tolist(), strict=True)]  # noqa: PLR0124
    assert data.codes.dtype == np.int32
    values = list(data.values) if isinstance(data, TextColumn) else list(data.geometries)
    assert len(set(values)) == len(values)
    return [None if code < 0 else values[code] for code in data.codes.tolist()]
