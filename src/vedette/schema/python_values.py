"""Converts Arrow arrays to Python values."""

from __future__ import annotations

import decimal
import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vedette.schema.arrays import is_list, is_text, list_parts, plain, validity


def python_values(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The array as Python values: maps as dicts, times in microseconds, decimals as numbers.

    Text that is not UTF-8 has lone surrogates, which `read` refuses.
    """
    # Level by level, because Arrow's casts of nested types fail on parts that are all null.
    array = plain(array)
    if is_list(array.type):
        start, elements, present = list_parts(array)
        found = python_values(elements)
        bounds = zip(start[:-1].tolist(), start[1:].tolist(), present.tolist(), strict=True)
        return [found[first:last] if there else None for first, last, there in bounds]
    if isinstance(array, pa.StructArray):
        return _structs(array)
    return _maps(array) if isinstance(array, pa.MapArray) else _scalars(array)


def _structs(array: pa.StructArray) -> list[Any]:
    names = [field.name for field in array.type]
    numbers = [number for number, name in enumerate(names) if names.count(name) == 1]
    there = validity(array).tolist()
    if not numbers:
        return [{} if present else None for present in there]
    named = [names[number] for number in numbers]
    columns = [python_values(pc.struct_field(array, number)) for number in numbers]
    rows = zip(there, zip(*columns, strict=True), strict=True)
    return [dict(zip(named, row, strict=True)) if present else None for present, row in rows]


def _maps(array: pa.MapArray) -> list[Any]:
    offsets = array.offsets.to_numpy().astype(np.int64)
    first, size = int(offsets[0]), int(offsets[-1] - offsets[0])
    keys = array.keys.slice(first, size).to_pylist()
    items = python_values(array.items.slice(first, size))
    bounds = itertools.pairwise((offsets - first).tolist())
    return [
        dict(zip(keys[low:high], items[low:high], strict=True)) if there else None
        for (low, high), there in zip(bounds, validity(array).tolist(), strict=True)
    ]


def _scalars(array: pa.Array) -> list[Any]:
    stored = array.type
    if pa.types.is_timestamp(stored) and stored.unit == "ns":
        return list(array.cast(pa.timestamp("us", stored.tz), safe=False).to_pylist())
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    if is_text(array.type):
        return [None if value is None else _decoded(value) for value in array.cast(pa.large_binary()).to_pylist()]
    if pa.types.is_decimal(stored):
        return [_number(value) for value in array.to_pylist()]
    return [_decoded(value) if isinstance(value, bytes) else value for value in array.to_pylist()]


def _decoded(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def _number(value: decimal.Decimal | None) -> int | float | None:
    if value is None:
        return None
    return int(value) if value == value.to_integral_value() else float(value)


def without_nulls(value: Any) -> Any:
    """The value without attributes that are null; a null among the elements of a list stays."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value
