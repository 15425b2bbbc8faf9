"""Converts Python values of one attribute to column data.

If all values have exactly the type that JSON gives them they go through NumPy and Arrow at once; else one by
one through `vedette.schema.keys`, which says what is wrong with a value.
"""

from __future__ import annotations

import decimal
import itertools
import json
import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from vedette.schema.arrays import array_column
from vedette.schema.columns import ColumnData, KeyColumn, ListColumn, PointColumn, RegionColumn, TextColumn
from vedette.schema.exact_numbers import column_of, float_keys, integer_column, number_column
from vedette.schema.keys import DENSE, key, read
from vedette.schema.parsed_texts import Refuse, Scalars, merged, objects
from vedette.schema.types import Kind, Type

_NONE = type(None)


def values_column(values: Sequence[Any], type_: Type, refuse: Refuse, *, takes_all: bool = False) -> ColumnData:
    """One value (None: missing) per event as a column; `takes_all` reads other types than text as their JSON text."""
    if type_.is_list:
        return _lists(values, type_, refuse, takes_all)
    return _scalars(values, type_.kind, refuse, takes_all)


def json_text(value: Any) -> str:
    """A value of any type as text: texts unchanged, everything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode()
    except TypeError:  # integers beyond 64 bits, texts without a UTF-8 form, other types, deep nesting
        try:
            return json.dumps(value, default=str)
        except (RecursionError, ValueError, TypeError):
            return reprlib.repr(value)


def read_value(kind: Kind, raw: Any) -> Any:
    """As `read`, but decimals are accepted too."""
    if isinstance(raw, decimal.Decimal) and raw.is_finite():
        raw = int(raw) if raw == raw.to_integral_value() else float(raw)
    return read(kind, raw)


def _scalars(values: Sequence[Any], kind: Kind, refuse: Refuse, takes_all: bool) -> Scalars:
    types = set(map(type, values))
    if types <= {_NONE}:
        values = [None] * len(values)
    elif takes_all and not types <= {str, _NONE}:
        values, types = [None if value is None else json_text(value) for value in values], {str, _NONE}
    quick = _quick(values, types, kind, refuse)
    if quick is not None:
        return quick
    found = _read(values, kind, refuse)
    if kind.keyed:
        return column_of(found)
    if kind is Kind.POINT:
        return _points(found)
    codes, distinct = merged(np.arange(len(found), dtype=np.int32), found)
    return TextColumn(codes, distinct) if kind.textual else RegionColumn(codes, objects(distinct))


def _quick(values: Sequence[Any], types: set[type], kind: Kind, refuse: Refuse) -> Scalars | None:
    """The column, made without Python code per value; None if that is impossible."""
    present_types = types - {_NONE}
    try:
        if kind is Kind.INT and present_types <= {int}:
            return KeyColumn(*_numbers(values, types, np.int64))
        if kind is Kind.FLOAT and present_types <= {float, int}:
            return _quick_numbers(values, types)
        if kind is Kind.BOOL and present_types <= {bool}:
            return KeyColumn(*_numbers(values, types, np.int64))
        if present_types <= {str}:
            return array_column(pa.array(values, pa.string()), Type(kind), refuse)  # type: ignore[return-value]
    except (OverflowError, UnicodeEncodeError, pa.ArrowInvalid):  # one is out of range: the slow way finds it
        return None
    return None


def _quick_numbers(values: Sequence[Any], types: set[type]) -> KeyColumn:
    if float not in types:
        try:
            return integer_column(*_numbers(values, types, np.int64))
        except OverflowError:  # some have more than 63 bits
            pass
    numbers, present = _numbers(values, types, np.float64)
    if int in types and ((numbers >= DENSE) | (numbers <= -DENSE)).any():  # they are found despite rounding
        return number_column(values, numbers)
    return KeyColumn(float_keys(numbers), present)


def _numbers(values: Sequence[Any], types: set[type], dtype: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    if _NONE not in types:
        return np.array(values, dtype), np.ones(len(values), np.bool_)
    present = np.array([value is not None for value in values], np.bool_)
    return np.array([0 if value is None else value for value in values], dtype), present


def _read(values: Sequence[Any], kind: Kind, refuse: Refuse) -> list[Any]:
    """Read keys, points or geometries value by value."""
    found: list[Any] = [None] * len(values)
    for row, raw in enumerate(values):
        if raw is None:
            continue
        try:
            value = read_value(kind, raw)
            found[row] = key(kind, value) if kind.ordered else value
        except ValueError as error:
            if refuse is not None:
                refuse(row, str(error))
    return found


def _points(found: Sequence[tuple[float, float] | None]) -> PointColumn:
    pairs = np.array([(np.nan, np.nan) if pair is None else pair for pair in found], np.float64).reshape(-1, 2)
    return PointColumn(np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]))


def _lists(values: Sequence[Any], type_: Type, refuse: Refuse, takes_all: bool) -> ListColumn:
    start = np.zeros(len(values) + 1, np.int64)
    if set(map(type, values)) <= {list, _NONE}:
        present = np.fromiter((value is not None for value in values), np.bool_, len(values))
        np.cumsum(np.fromiter((0 if value is None else len(value) for value in values), np.int64), out=start[1:])
        elements = list(itertools.chain.from_iterable(value for value in values if value))
    else:
        present, elements = _gathered(values, start, refuse, takes_all)

    def refuse_element(index: int, reason: str) -> None:
        if refuse is not None:
            refuse(int(np.searchsorted(start, index, "right")) - 1, reason)

    return ListColumn(start, _scalars(elements, type_.kind, refuse_element, takes_all), present)


def _gathered(
    values: Sequence[Any], start: NDArray[np.int64], refuse: Refuse, takes_all: bool
) -> tuple[NDArray[np.bool_], list[Any]]:
    """A mask of the values that are lists of any type, and their elements; writes their begins to `start`."""
    present = np.zeros(len(values), np.bool_)
    elements: list[Any] = []
    for row, value in enumerate(values):
        if isinstance(value, list | tuple | set | frozenset | np.ndarray):
            elements.extend(value)
            present[row] = True
        elif value is not None:
            if takes_all:
                elements.append(value)
                present[row] = True
            elif refuse is not None:
                refuse(row, f"{json_text(value)[:60]} is not a list")
        start[row + 1] = len(elements)
    return present, elements
