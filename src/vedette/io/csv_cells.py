"""Convert a cell of a CSV file to a value of its column's type."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.csv as pa_csv

from vedette.schema.keys import read, read_float
from vedette.schema.types import Kind, Type

# What Arrow's reader takes for a missing number, time or boolean.
_MISSING = frozenset(pa_csv.ConvertOptions().null_values)
_WHOLE = re.compile(r"[-+]?[0-9]+\Z")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\Z|[-+]?inf(inity)?\Z", re.IGNORECASE)
_WIDEST = 64  # characters of an integer of 64 bits, with room for spaces and zeros
_TRUTHS = {"1": True, "true": True, "0": False, "false": False}
_STORED = {Kind.INT: pa.int64(), Kind.FLOAT: pa.float64(), Kind.BOOL: pa.bool_()}


def arrow_type(type_: Type | None, takes_all: bool) -> Any:
    """The Arrow type of a column: what is not a number or boolean stays text, and is read when encoded."""
    if type_ is None or takes_all:
        return pa.string()
    stored = _STORED.get(type_.kind, pa.string())
    return pa.list_(stored) if type_.is_list else stored


def read_cell(cell: str, stored: Any) -> Any:
    """The value of a cell, None if it is missing; ValueError, with the reason, if it is not of the type."""
    text, types = cell.strip(), pa.types
    if text in _MISSING:
        return None
    if types.is_list(stored):
        return _read_list(text, stored)
    if types.is_integer(stored):
        return _read_int(text)
    if types.is_floating(stored):
        if _NUMBER.match(text) is None:
            raise ValueError(f"{cell!r} is not a number")
        return float(text)
    if types.is_boolean(stored):
        if text.lower() not in _TRUTHS:
            raise ValueError(f"{cell!r} is not true or false")
        return _TRUTHS[text.lower()]
    if types.is_date(stored):
        return read(Kind.DATE, text)
    if types.is_timestamp(stored):
        moment: dt.datetime = read(Kind.TIMESTAMP, text)
        return moment if stored.tz else moment.replace(tzinfo=None)
    return cell


def exact_cell(cell: str, value: Any) -> Any:
    """The number, or list of numbers, of a cell, with integers of 64 bits exactly; in `value` they are rounded."""
    if isinstance(value, list):
        return _read_list(cell.strip(), pa.list_(pa.float64()))
    return read_float(int(cell)) if len(cell) <= _WIDEST and _WHOLE.match(cell.strip()) else value


def rounded(value: Any) -> Any:
    """The value, with floats in lists instead of integers that no float64 represents."""
    if isinstance(value, list):
        return [float(each) if isinstance(each, int) and not isinstance(each, bool) else each for each in value]
    return value


def _read_int(text: str) -> int:
    number: int = read(Kind.INT, int(text) if _WHOLE.match(text) else _float(text))
    return number


def _float(text: str) -> float:
    if _NUMBER.match(text) is None:
        raise ValueError(f"{text!r} is not a whole number")
    return float(text)


def _read_list(text: str, stored: Any) -> list[Any]:
    kind = next((kind for kind, element in _STORED.items() if element == stored.value_type), Kind.STRING)
    try:
        values = orjson.loads(text)
        if isinstance(values, list):
            return [None if value is None else read(kind, value) for value in values]
    except ValueError:  # orjson's error is one, too
        pass
    raise ValueError(f"{text[:60]!r} is not a JSON list of {kind.value}")
