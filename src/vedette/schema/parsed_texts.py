"""Reads texts as other types - addresses, times, regions - once per distinct text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.schema.columns import KeyColumn, PointColumn, RegionColumn, TextColumn
from vedette.schema.keys import key, read
from vedette.schema.types import Kind

# Called with a row whose value breaks the schema, and the reason; None: such a value is just missing.
Refuse: TypeAlias = Callable[[int, str], None] | None
Scalars: TypeAlias = KeyColumn | TextColumn | PointColumn | RegionColumn


def read_texts(texts: TextColumn, kind: Kind, refuse: Refuse) -> Scalars:
    """Every text as a value of the kind; invalid ones are refused, and missing."""
    if kind is Kind.STRING:
        return texts
    found: list[Any] = [None] * len(texts.values)
    reasons: dict[int, str] = {}
    for code, text in enumerate(texts.values):
        try:
            found[code] = read(kind, text.decode())
        except ValueError as error:
            reasons[code] = str(error)
    refuse_codes(texts.codes, reasons, refuse)
    if kind.keyed:
        return _keys(texts.codes, found, kind)
    if kind is Kind.POINT:
        return _points(texts.codes, found)
    if kind is Kind.IP:
        codes, values = merged(texts.codes, [None if value is None else key(kind, value) for value in found])
        return TextColumn(codes, values)
    codes, values = merged(texts.codes, found)
    return RegionColumn(codes, objects(values))


def refuse_codes(codes: NDArray[np.int32], reasons: dict[int, str], refuse: Refuse) -> None:
    """Refuse every row whose code has a reason."""
    if refuse is None or not reasons:
        return
    for row in np.flatnonzero(np.isin(codes, list(reasons))).tolist():
        refuse(row, reasons[int(codes[row])])


def merged(codes: NDArray[np.int32], values: list[Any]) -> tuple[NDArray[np.int32], list[Any]]:
    """The codes over distinct values only; a value of None is missing."""
    renumbered = np.full(len(values) + 1, -1, np.int32)  # the last one is for code -1
    distinct: dict[Any, int] = {}
    for code, value in enumerate(values):
        if value is not None:
            renumbered[code] = distinct.setdefault(value, len(distinct))
    return renumbered[codes], list(distinct)


def objects(values: list[Any]) -> NDArray[Any]:
    """An array of Python objects."""
    array = np.empty(len(values), np.object_)
    array[:] = values
    return array


def _keys(codes: NDArray[np.int32], found: list[Any], kind: Kind) -> KeyColumn:
    keys = np.array([0 if value is None else key(kind, value) for value in found] + [0], np.int64)
    present = np.array([value is not None for value in found] + [False], np.bool_)
    return KeyColumn(keys[codes], present[codes])


def _points(codes: NDArray[np.int32], found: list[Any]) -> PointColumn:
    nowhere = (np.nan, np.nan)
    points = np.array([nowhere if value is None else value for value in found] + [nowhere], np.float64)
    return PointColumn(points[codes, 0], points[codes, 1])
