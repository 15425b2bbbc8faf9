"""Reads a column of one type as another: a string as an address, a date as a time."""

from __future__ import annotations

import numpy as np

from vedette.schema.columns import ColumnData, KeyColumn, ListColumn, TextColumn
from vedette.schema.exact_numbers import integer_column
from vedette.schema.missing_values import missing, missing_scalars
from vedette.schema.parsed_texts import Scalars, read_texts
from vedette.schema.types import Kind, Type

_DAY = 86_400_000_000  # in microseconds


def seen_as(data: ColumnData, type_: Type, wanted: Type) -> ColumnData:
    """The column (of `type_`) read as the wanted type; values that cannot be read so are missing."""
    if isinstance(data, ListColumn):
        if not wanted.is_list:
            return missing(wanted, len(data.present))
        return ListColumn(data.start, _scalars(data.elements, type_.kind, wanted.kind), data.present)
    if wanted.is_list:
        return missing(wanted, _size(data))
    return _scalars(data, type_.kind, wanted.kind)


def _scalars(data: Scalars, kind: Kind, wanted: Kind) -> Scalars:
    if kind is wanted:
        return data
    if isinstance(data, TextColumn) and kind is Kind.STRING and not (wanted.numeric or wanted is Kind.BOOL):
        return read_texts(data, wanted, None)
    if isinstance(data, KeyColumn):
        if (kind, wanted) == (Kind.INT, Kind.FLOAT):
            return integer_column(data.keys, data.present)
        if (kind, wanted) == (Kind.DATE, Kind.TIMESTAMP):
            return KeyColumn(data.keys * _DAY, data.present)
        if (kind, wanted) == (Kind.TIMESTAMP, Kind.DATE):
            days = data.keys // _DAY
            present = data.present & (days * _DAY == data.keys)
            return KeyColumn(np.where(present, days, 0), present)
    return missing_scalars(wanted, _size(data))


def _size(data: Scalars) -> int:
    if isinstance(data, KeyColumn):
        return len(data.keys)
    return len(data.codes) if hasattr(data, "codes") else len(data.x)
