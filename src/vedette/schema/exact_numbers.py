"""Arrays of numbers, both floats and 64-bit integers, in one exact order.

A number is the key of the float64 at or below it and a rest: how many integers it is above that one, which is 0 for
nearly all. Tables of keys with rests are arrays of EXACT, which NumPy sorts and searches as pairs, others of int64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vedette.schema.columns import KeyColumn
from vedette.schema.keys import DENSE, INT_MIN, UINT_MAX, NumberKey, joined_key, number_key, split

EXACT: Final = np.dtype([("below", "<i8"), ("rest", "<i2")])

_SIGNLESS = np.int64(0x7FFF_FFFF_FFFF_FFFF)
_NAN_KEY = np.int64(0x7FF8_0000_0000_0000)


def float_keys(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """`vedette.schema.keys.float_key` of every number."""
    positive_zero = numbers + 0.0
    keys = positive_zero.view(np.int64)
    nan = np.isnan(positive_zero)
    keys ^= (keys >> 63) & _SIGNLESS
    if nan.any():
        keys[nan] = _NAN_KEY
    return keys


def floats_of(keys: NDArray[np.int64]) -> NDArray[np.float64]:
    """The float64 that have these keys."""
    return np.where(keys < 0, keys ^ _SIGNLESS, keys).view(np.float64)


def integer_keys(integers: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int16] | None]:
    """Keys and rests (None: all are 0) of integers of any width."""
    nearest = integers.astype(np.float64)
    keys = float_keys(nearest)
    if integers.itemsize < 8 or not integers.size or (integers.max() <= DENSE and integers.min() >= -DENSE):
        return keys, None
    limit = 2.0**64 if integers.dtype.kind == "u" else 2.0**63  # the only value for which the type has no integer
    rounded_up = (nearest >= limit) | (np.where(nearest < limit, nearest, 0.0).astype(integers.dtype) > integers)
    keys -= rounded_up
    rest = (integers - floats_of(keys).astype(integers.dtype)).astype(np.int16)
    return keys, rest if rest.any() else None


def integer_column(integers: NDArray[Any], present: NDArray[np.bool_]) -> KeyColumn:
    """Integers of any width as a column of numbers; missing ones are 0."""
    keys, rest = integer_keys(integers)
    return KeyColumn(keys, present, rest)


def number_column(values: Sequence[float | None], numbers: NDArray[np.float64]) -> KeyColumn:
    """Floats and integers as a column, given also as float64; OverflowError if one is beyond those."""
    present = np.array([value is not None for value in values], np.bool_)
    keys = float_keys(numbers)
    rest = np.zeros(len(keys), np.int16)
    for row in np.flatnonzero((np.abs(numbers) >= DENSE) & (np.abs(numbers) <= 2.0**64)).tolist():
        value = values[row]
        if isinstance(value, int) and INT_MIN <= value <= UINT_MAX:
            keys[row], rest[row] = split(number_key(value))
    return KeyColumn(keys, present, rest if rest.any() else None)


def column_of(keys: Sequence[NumberKey | None]) -> KeyColumn:
    """A column of keys, some of which may be fractions."""
    present = np.array([key is not None for key in keys], np.bool_)
    found = column_of_table(key_table([0 if key is None else key for key in keys]))
    return KeyColumn(found.keys, present, found.rest)


def column_of_table(table: NDArray[Any]) -> KeyColumn:
    """A table of keys as a column in which no value is missing."""
    present = np.ones(len(table), np.bool_)
    if table.dtype != EXACT:
        return KeyColumn(table, present)
    return KeyColumn(np.ascontiguousarray(table["below"]), present, np.ascontiguousarray(table["rest"]))


def key_table(keys: Sequence[NumberKey]) -> NDArray[Any]:
    """Keys as an array: of int64, or of EXACT if some are fractions."""
    if all(isinstance(key, int) for key in keys):
        return np.array(keys, np.int64)
    return np.array([split(key) for key in keys], EXACT)


def widened(keys: NDArray[Any]) -> NDArray[Any]:
    """A table of EXACT."""
    if keys.dtype == EXACT:
        return keys
    table = np.zeros(len(keys), EXACT)
    table["below"] = keys
    return table


def together(tables: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate tables; the result is EXACT if one of them is and has keys."""
    tables = [table for table in tables if len(table)]
    if any(table.dtype == EXACT for table in tables):
        return np.concatenate([widened(table) for table in tables])
    return np.concatenate([np.zeros(0, np.int64), *tables])


def exact_keys(column: KeyColumn) -> NDArray[Any]:
    """The keys of a column with their rests, as a table."""
    if column.rest is None:
        return column.keys
    table = widened(column.keys)
    table["rest"] = column.rest
    return table


def key_at(column: KeyColumn, row: int) -> NumberKey:
    """The key of one row, which must not be missing."""
    return joined_key(int(column.keys[row]), 0 if column.rest is None else int(column.rest[row]))
