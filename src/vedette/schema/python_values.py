"""Arrow arrays as Python values."""

from __future__ import annotations

import decimal
from typing import Any

import pyarrow as pa

from vedette.schema.arrays import Array, is_list, is_text, is_text_dictionary


def python_values(array: Array) -> list[Any]:
    """The array as Python values: maps as dicts, times in microseconds, decimals as numbers.

    Text that is not UTF-8 comes with lone surrogates, which `read` refuses.
    """
    stored = _python_type(array.type)
    if stored != array.type:
        array = array.cast(stored, safe=False)
    return [_tidied(value, stored) for value in array.to_pylist()]


def _python_type(stored: Any) -> Any:
    types = pa.types
    if types.is_timestamp(stored) and stored.unit == "ns":
        return pa.timestamp("us", stored.tz)
    if is_text(stored) or is_text_dictionary(stored):
        return pa.large_binary()
    if types.is_struct(stored):
        return pa.struct([field.with_type(_python_type(field.type)) for field in stored])
    if types.is_map(stored):
        return pa.map_(stored.key_type, _python_type(stored.item_type))
    if types.is_list(stored) or types.is_large_list(stored):
        return pa.large_list(_python_type(stored.value_type))
    return stored


def _tidied(value: Any, stored: Any) -> Any:
    types = pa.types
    if value is None:
        return None
    if types.is_struct(stored):
        return {field.name: _tidied(value[field.name], field.type) for field in stored}
    if types.is_map(stored):
        return {key: _tidied(item, stored.item_type) for key, item in value}
    if is_list(stored):
        return [_tidied(item, stored.value_type) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def without_nulls(value: Any) -> Any:
    """The value without attributes that are null; a null among the elements of a list stays."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value
