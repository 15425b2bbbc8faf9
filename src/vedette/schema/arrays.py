"""Converts Arrow arrays to column data, without Python code per row.

Where that is impossible - a value that does not fit, a type that has no plain form - the result is None, and the
values are then read one by one (`vedette.schema.values`).
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import DTypeLike, NDArray

from vedette.schema.columns import ColumnData, KeyColumn, ListColumn, PointColumn, TextColumn
from vedette.schema.exact_numbers import float_keys, integer_column
from vedette.schema.keys import DENSE, INT_MAX, INT_MIN
from vedette.schema.parsed_texts import Refuse, merged, read_texts, refuse_codes
from vedette.schema.types import Kind, Type

ListTypes: TypeAlias = (
    pa.ListType | pa.LargeListType | pa.FixedSizeListType | pa.ListViewType | pa.LargeListViewType  # of Arrow
)

_DAY = 86_400_000_000  # in microseconds
# Times that Python's datetime can hold: times read from text must be in this range.
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
_FIRST_DAY = _FIRST // _DAY
_DIGITS = 18  # of integers that surely have 64 bits
_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_POINT_NAMES = (("lon", "lat"), ("longitude", "latitude"), ("x", "y"))


def array_column(array: pa.Array | pa.ChunkedArray, type_: Type, refuse: Refuse) -> ColumnData | None:
    """Convert an array to a column of the type; None if it has to be read value by value."""
    array = plain(array)
    if type_.is_list:
        return _lists(array, type_.kind, refuse)
    kind, stored = type_.kind, array.type
    if is_text(stored) or is_text_dictionary(stored):
        if kind in (Kind.TIMESTAMP, Kind.DATE):
            quick = _parsed(array, kind)
            if quick is not None:
                return quick
        return read_texts(_texts(array, refuse), kind, refuse)
    if kind is Kind.POINT:
        return _points(array)
    present = validity(array)
    if kind is Kind.FLOAT and (pa.types.is_integer(stored) or _is_integer_decimal(stored)):
        integers = _integers(array)
        return integer_column(integers if present.all() else np.where(present, integers, 0), present)
    keys = _KEYS[kind](array) if kind in _KEYS else None
    if keys is None:
        return None
    if array.null_count:
        keys[~present] = 0
    return KeyColumn(keys, present)


def plain(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The array as one chunk, without extension types, run ends, views, and dictionaries of anything but text."""
    if isinstance(array, pa.ChunkedArray):
        array = _one_chunk(array)
    if isinstance(array, pa.ExtensionArray):
        return plain(array.storage)
    if isinstance(array, pa.RunEndEncodedArray):
        return plain(pc.run_end_decode(array))
    if isinstance(array, pa.DictionaryArray) and not is_text(array.type.value_type):
        return plain(array.dictionary_decode())
    if array.type == pa.string_view():
        return array.cast(pa.large_string())
    return array


def _one_chunk(chunked: pa.ChunkedArray) -> pa.Array:
    stored = chunked.type
    if is_text_dictionary(stored):
        try:
            chunked = chunked.unify_dictionaries()
        except pa.ArrowInvalid:  # Arrow does not unify dictionaries that hold a null
            chunked = chunked.cast(stored.value_type)
    joined = chunked.chunk(0) if chunked.num_chunks == 1 else chunked.combine_chunks()
    if isinstance(joined, pa.ChunkedArray):  # more text than one array holds
        return joined.cast(_large(joined.type)).combine_chunks()
    return joined


def is_text(stored: pa.DataType) -> bool:
    """Whether an Arrow type is text."""
    return bool(pa.types.is_string(stored) or pa.types.is_large_string(stored) or stored == pa.string_view())


def is_text_dictionary(stored: pa.DataType) -> TypeGuard[pa.DictionaryType]:
    """Whether an Arrow type is a dictionary of texts."""
    return bool(pa.types.is_dictionary(stored) and is_text(stored.value_type))


def validity(array: pa.Array) -> NDArray[np.bool_]:
    """Which values of the array are not null."""
    if array.null_count == 0:
        return np.ones(len(array), np.bool_)
    present: NDArray[np.bool_] = pc.is_valid(array).to_numpy(zero_copy_only=False)
    return present


def _large(stored: pa.DataType) -> pa.DataType:
    return pa.dictionary(stored.index_type, pa.large_string()) if pa.types.is_dictionary(stored) else pa.large_string()


def _numpy(array: pa.Array, dtype: DTypeLike) -> NDArray[Any]:
    """The values without a copy (arbitrary where null)."""
    size = np.dtype(dtype).itemsize
    buffer = array.buffers()[1]
    if buffer is None or len(array) == 0:
        return np.zeros(len(array), dtype)
    return np.frombuffer(memoryview(buffer), dtype, len(array), array.offset * size)


# ---------------------------------------------------------------- numbers and times


def _int_keys(array: pa.Array) -> NDArray[np.int64] | None:
    stored = array.type
    if pa.types.is_uint64(stored):
        values = _numpy(array.fill_null(0), np.uint64)
        return values.astype(np.int64) if values.size == 0 or int(values.max()) <= INT_MAX else None
    if pa.types.is_integer(stored):
        return _numpy(array, stored.to_pandas_dtype()).astype(np.int64)
    if pa.types.is_floating(stored):
        numbers = _numpy(array.fill_null(0.0), stored.to_pandas_dtype()).astype(np.float64)
        # 2**63 is the first float beyond int64.
        whole = np.all((numbers == np.floor(numbers)) & (numbers >= INT_MIN) & (numbers < 2.0**63))
        return numbers.astype(np.int64) if whole else None
    return None


def _float_keys(array: pa.Array) -> NDArray[np.int64] | None:
    stored = array.type
    if pa.types.is_floating(stored):
        return float_keys(_numpy(array, stored.to_pandas_dtype()).astype(np.float64, copy=False))
    if pa.types.is_decimal(stored):
        numbers = _decimals(array)
        dense = np.abs(np.where(validity(array), numbers, 0.0)).max(initial=0.0) >= DENSE
        return None if dense else float_keys(numbers)  # some of the integers may not be float64
    return None


def _is_integer_decimal(stored: pa.DataType) -> bool:
    """Whether an Arrow type is a decimal without fraction digits that fits into 64 bits."""
    return bool(pa.types.is_decimal128(stored) and stored.scale == 0 and stored.precision <= _DIGITS)


def _integers(array: pa.Array) -> NDArray[Any]:
    """Integers without a copy (arbitrary where null)."""
    if pa.types.is_integer(array.type):
        return _numpy(array, array.type.to_pandas_dtype())
    return _numpy(array, np.dtype([("low", np.int64), ("high", np.int64)]))["low"]


def _decimals(array: pa.Array) -> NDArray[np.float64]:
    """The nearest float64 of each decimal (Arrow's own cast may be off by one bit)."""
    stored = array.type
    if pa.types.is_decimal128(stored) and stored.precision <= _DIGITS and 0 <= stored.scale <= 22:
        unscaled = _numpy(array, np.dtype([("low", np.int64), ("high", np.int64)]))["low"]
        unscaled = np.where(validity(array), unscaled, 0)
        if np.all(np.abs(unscaled) < 2**53):  # both sides of the division are exact
            quotients: NDArray[np.float64] = unscaled / 10.0**stored.scale
            return quotients
    texts = array.cast(pa.string())
    return np.array(_numpy(texts.cast(pa.float64()).fill_null(0.0), np.float64))


def _bool_keys(array: pa.Array) -> NDArray[np.int64] | None:
    if not pa.types.is_boolean(array.type):
        return None
    return _numpy(array.cast(pa.uint8()), np.uint8).astype(np.int64)


def _timestamp_keys(array: pa.Array) -> NDArray[np.int64] | None:
    stored = array.type
    if pa.types.is_timestamp(stored):
        values = _numpy(array, np.int64)
        if stored.unit == "ns":
            return values // 1000
        factor = _MICROSECONDS[stored.unit]
        values = np.where(validity(array), values, 0)
        limit = INT_MAX // factor
        return values * factor if np.all((values <= limit) & (values >= -limit)) else None
    if pa.types.is_integer(stored) and not pa.types.is_uint64(stored):  # seconds, as in `read_timestamp`
        seconds = np.where(validity(array), _numpy(array, stored.to_pandas_dtype()), 0).astype(np.int64)
        within = np.all((seconds >= _FIRST // 1_000_000) & (seconds <= _LAST // 1_000_000))
        return seconds * 1_000_000 if within else None
    days = _days(array)
    return None if days is None else days * _DAY


def _date_keys(array: pa.Array) -> NDArray[np.int64] | None:
    if pa.types.is_timestamp(array.type):
        times = _timestamp_keys(array)
        if times is None:
            return None
        days = times // _DAY
        return days if np.all((days * _DAY == times) | ~validity(array)) else None
    return _days(array)


def _days(array: pa.Array) -> NDArray[np.int64] | None:
    if pa.types.is_date32(array.type):
        return _numpy(array, np.int32).astype(np.int64)
    if pa.types.is_date64(array.type):
        return _numpy(array, np.int64) // 86_400_000
    return None


_KEYS = {
    Kind.INT: _int_keys,
    Kind.FLOAT: _float_keys,
    Kind.BOOL: _bool_keys,
    Kind.TIMESTAMP: _timestamp_keys,
    Kind.DATE: _date_keys,
}

# ---------------------------------------------------------------- texts


def _parsed(array: pa.Array, kind: Kind) -> KeyColumn | None:
    """Texts of one ISO 8601 form parsed by Arrow, which accepts fewer forms than `read` but with the same meaning."""
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    targets = [pa.date32()] if kind is Kind.DATE else [pa.timestamp("us", "UTC"), pa.timestamp("us")]
    for target in targets:
        try:
            parsed = array.cast(target)
        except pa.ArrowInvalid:
            continue
        keys = _days(parsed) if kind is Kind.DATE else np.array(_numpy(parsed, np.int64))
        present = validity(parsed)
        if keys is None:
            return None
        if parsed.null_count:
            keys[~present] = 0
        first, last = (_FIRST_DAY, _LAST // _DAY) if kind is Kind.DATE else (_FIRST, _LAST)
        return KeyColumn(keys, present) if np.all((keys >= first) & (keys <= last)) else None
    return None


def _texts(array: pa.Array, refuse: Refuse) -> TextColumn:
    encoded = array if isinstance(array, pa.DictionaryArray) else array.dictionary_encode()
    codes = encoded.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
    dictionary = encoded.dictionary
    if len(dictionary) > 2 * len(codes) + 64:  # a slice of something larger: keep what is used
        used, codes = np.unique(codes, return_inverse=True)
        missing = int(used.size > 0 and used[0] < 0)
        dictionary, codes = dictionary.take(pa.array(used[missing:])), codes.astype(np.int32) - np.int32(missing)
    if dictionary.type == pa.string_view():
        dictionary = dictionary.cast(pa.large_string())
    binary = pa.large_binary() if pa.types.is_large_string(dictionary.type) else pa.binary()
    values: list[bytes | None] = dictionary.view(binary).to_numpy(zero_copy_only=False).tolist()
    try:
        dictionary.validate(full=True)
        broken = {}
    except pa.ArrowInvalid:
        broken = _not_utf8(values)
    refuse_codes(codes, broken, refuse)
    for code in broken:
        values[code] = None
    foreign = encoded is array  # a dictionary in the input may hold a text twice
    if dictionary.null_count or broken or (foreign and len(set(values)) < len(values)):
        return TextColumn(*merged(codes, values))
    return TextColumn(codes, values)  # type: ignore[arg-type]


def _not_utf8(values: list[bytes | None]) -> dict[int, str]:
    broken = {}
    for code, value in enumerate(values):
        try:
            if value is not None:
                value.decode()
        except UnicodeDecodeError:
            broken[code] = f"{value[:40]!r} is not UTF-8 text" if value is not None else ""
    return broken


# ---------------------------------------------------------------- points and lists


def _points(array: pa.Array) -> PointColumn | None:
    """Points from a struct of two numbers; None for a GeoJSON object or a pair, which is read value by value."""
    stored = array.type
    if not pa.types.is_struct(stored):
        return None
    names = {field.name for field in stored}
    pair = next((pair for pair in _POINT_NAMES if names.issuperset(pair)), None)
    if pair is None or "type" in names:
        return None
    present = validity(array)
    halves = []
    for name in pair:
        half = plain(pc.struct_field(array, name))
        if not (pa.types.is_floating(half.type) or pa.types.is_integer(half.type)):
            return None
        half = half.cast(pa.float64(), safe=False)
        halves.append(np.where(validity(half), _numpy(half, np.float64), np.nan))
    x, y = halves
    if not np.all(np.isfinite(x) & np.isfinite(y) | ~present):
        return None
    x[~present] = y[~present] = np.nan
    return PointColumn(x, y)


def is_list(stored: pa.DataType) -> TypeGuard[ListTypes]:
    """Whether an Arrow type is a list."""
    types = pa.types
    return bool(
        types.is_list(stored)
        or types.is_large_list(stored)
        or types.is_fixed_size_list(stored)
        or types.is_list_view(stored)
        or types.is_large_list_view(stored)
    )


def list_parts(array: pa.Array) -> tuple[NDArray[np.int64], pa.Array, NDArray[np.bool_]]:
    """Where each list starts among the elements (one more for the end), the elements, and which lists are not null."""
    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    start = np.zeros(len(array) + 1, np.int64)
    np.cumsum(lengths, out=start[1:])
    return start, pc.list_flatten(array), validity(array)


def _lists(array: pa.Array, kind: Kind, refuse: Refuse) -> ListColumn | None:
    if not is_list(array.type):
        return None
    start, elements, present = list_parts(array)

    def refuse_element(index: int, reason: str) -> None:
        if refuse is not None:
            refuse(int(np.searchsorted(start, index, "right")) - 1, reason)

    column = array_column(elements, Type(kind), refuse_element)
    if column is None or isinstance(column, ListColumn):
        return None
    return ListColumn(start, column, present)
