"""The leaves of Arrow arrays as columns of lists, without a step of Python per row.

A null column, field or entry of a map is nothing there; a null among the elements of a list is a leaf, as in JSON.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vedette.schema.arrays import (
    Array,
    array_column,
    float_keys,
    is_list,
    is_text,
    is_text_dictionary,
    list_parts,
    plain,
    validity,
)
from vedette.schema.columns import KeyColumn, ListColumn, TextColumn
from vedette.schema.python_values import python_values
from vedette.schema.readings import figure_of, json_leaf, leaf, leaf_text
from vedette.schema.texts import merged
from vedette.schema.types import FLOAT

Rows: TypeAlias = NDArray[np.int64]
# Times that Python's datetime can hold.
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
_FLAGS = 1 << 26  # bytes to spend on finding out quickly that no map has a key twice


@dataclass(frozen=True, slots=True)
class Scalars:
    """Values, none of them null, and the row that each belongs to."""

    rows: Rows
    values: Array


@dataclass(slots=True)
class Leaves:
    """All leaves of some places: scalars by type, and the rows of nulls."""

    scalars: list[Scalars] = field(default_factory=list)
    nulls: list[Rows] = field(default_factory=list)

    def add(self, array: Array, rows: Rows, *, objects: bool, in_list: bool = False) -> None:
        """The leaves of an array whose element i belongs to `rows[i]`; `objects`: also those inside of objects."""
        array = decoded(plain(array))
        stored = array.type
        there = validity(array) if array.null_count else None
        if there is not None and in_list:
            self.nulls.append(rows[~there])
        if array.null_count == len(array):
            return
        if is_list(stored):
            start, elements, _ = list_parts(array)
            self.add(elements, np.repeat(rows, np.diff(start)), objects=objects, in_list=True)
        elif pa.types.is_struct(stored):
            for number in range(stored.num_fields if objects else 0):
                self.add(pc.struct_field(array, number), rows, objects=True)
        elif pa.types.is_map(stored):
            if objects:
                items, owners = _items(array)
                self.add(items, rows[owners], objects=True)
        else:
            kept = (rows, array) if there is None else (rows[there], array.filter(pa.array(there)))
            self.scalars.append(Scalars(*kept))

    def present(self, size: int) -> NDArray[np.bool_]:
        """Which rows have a leaf."""
        present = np.zeros(size, np.bool_)
        for rows in (*(each.rows for each in self.scalars), *self.nulls):
            present[rows] = True
        return present

    def lists(self, reading: str, size: int) -> ListColumn:
        """What the leaves are to a view, as a list of each row."""
        if reading in ("numbers", "figures"):
            return self._numbers(size, in_texts=reading == "figures")
        rows, codes, distinct = [], [], _Distinct()
        for each in self.scalars:
            if reading != "strings" or _is_string(each.values.type):
                rows.append(each.rows)
                codes.append(distinct.add(texts(each.values, as_json=reading == "leaves")))
        if reading == "leaves":
            for nulls in self.nulls:
                rows.append(nulls)
                codes.append(distinct.add(TextColumn(np.zeros(len(nulls), np.int32), [b"null"])))
        order, start = _by_row(rows, size)
        joined = np.concatenate([np.zeros(0, np.int32), *codes])
        elements = TextColumn(joined if order is None else joined[order], distinct.values)
        return ListColumn(start, elements, self.present(size))

    def _numbers(self, size: int, *, in_texts: bool) -> ListColumn:
        rows, keys = [], []
        for each in self.scalars:
            if _is_number(each.values.type):
                column = array_column(each.values, FLOAT, None)
                assert isinstance(column, KeyColumn)
                rows.append(each.rows)
                keys.append(column.keys)
            elif in_texts and _is_string(each.values.type):
                found = texts(each.values)
                figures = [figure_of(value.decode()) for value in found.values]
                written = np.array([figure is not None for figure in figures], np.bool_)[found.codes]
                rows.append(each.rows[written])
                keys.append(float_keys(np.array([figure or 0.0 for figure in figures]))[found.codes[written]])
        order, start = _by_row(rows, size)
        joined = np.concatenate([np.zeros(0, np.int64), *keys])
        joined = joined if order is None else joined[order]
        return ListColumn(start, KeyColumn(joined, np.ones(len(joined), np.bool_)), self.present(size))


def decoded(array: Array) -> Array:
    """The array, without a dictionary that holds a null."""
    return array.dictionary_decode() if is_text_dictionary(array.type) and array.dictionary.null_count else array


def texts(array: Array, *, as_json: bool = False) -> TextColumn:
    """Scalars, none of them null, as their texts or as canonical JSON: the work is done once per distinct value."""
    if is_text(array.type) or is_text_dictionary(array.type):
        return _of_texts(array, as_json)
    written = _written(array)
    if written is not None:
        return _of_texts(written, as_json and pa.types.is_timestamp(array.type))
    try:
        encoded = array.dictionary_encode()
        codes, values = encoded.indices.cast(pa.int32()).to_numpy(zero_copy_only=False), encoded.dictionary
    except pa.ArrowNotImplementedError:
        codes, values = np.arange(len(array), dtype=np.int32), array
    leaves = [leaf(value) for value in python_values(plain(values))]
    found = [json_leaf(each) if as_json else leaf_text(each) for each in leaves]
    return TextColumn(*merged(codes, [None if text is None else text.encode() for text in found]))


def _written(array: Array) -> Array | None:
    """The texts of whole numbers and of times, by Arrow; None where it would write them in another way."""
    stored = array.type
    if pa.types.is_integer(stored):
        return array.cast(pa.string())
    if not pa.types.is_timestamp(stored) or not len(array):
        return None
    moments = array.cast(pa.timestamp("us"), safe=False)
    first, last = pc.min_max(moments.cast(pa.int64())).values()
    if first.as_py() < _FIRST or last.as_py() > _LAST:
        return None
    texts = pc.replace_substring(pc.replace_substring(moments.cast(pa.string()), " ", "T"), ".000000", "")
    return pc.binary_join_element_wise(texts, "Z", "")


def _of_texts(array: Array, as_json: bool) -> TextColumn:
    own = is_text(array.type)  # a dictionary that came with the data may hold a text twice, or null
    encoded = array.dictionary_encode() if own else array
    codes = encoded.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
    dictionary = encoded.dictionary
    if len(dictionary) > 2 * len(codes) + 64:  # a slice of something larger: keep what is used
        used, codes = np.unique(codes, return_inverse=True)
        dictionary, codes = dictionary.take(pa.array(used)), codes.astype(np.int32)
    binary = pa.binary() if pa.types.is_string(dictionary.type) else pa.large_binary()
    if dictionary.type == pa.string_view():
        dictionary = dictionary.cast(pa.large_string())
    values: list[Any] = dictionary.view(binary).to_numpy(zero_copy_only=False).tolist()
    try:
        dictionary.validate(full=True)
    except pa.ArrowInvalid:
        values, own = [None if value is None else str(leaf(value)).encode() for value in values], False
    if as_json:
        values = [None if value is None else json_leaf(value.decode()).encode() for value in values]
    return TextColumn(codes, values) if own else TextColumn(*merged(codes, values))


class _Distinct:
    """Texts of several columns, each once."""

    def __init__(self) -> None:
        self._codes: dict[bytes, int] = {}
        self._only: list[bytes] | None = None  # the texts of the only column so far, as they are

    @property
    def values(self) -> list[bytes]:
        return list(self._codes) if self._only is None else self._only

    def add(self, column: TextColumn) -> NDArray[np.int32]:
        """The codes of the column among all texts so far."""
        if not self._codes and self._only is None:
            self._only = column.values
            return column.codes
        if self._only is not None:
            self._codes, self._only = {value: code for code, value in enumerate(self._only)}, None
        known = self._codes
        places = np.array([known.setdefault(value, len(known)) for value in column.values] or [0], np.int32)
        return places[column.codes]


def _by_row(rows: list[Rows], size: int) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]]:
    """The order that brings elements together by row (None: they are), and where each row's begin."""
    joined = np.concatenate([np.zeros(0, np.int64), *rows])
    start = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(joined, minlength=size), out=start[1:])
    if np.all(joined[1:] >= joined[:-1]):
        return None, start
    return np.argsort(joined, kind="stable"), start


def _items(maps: Array) -> tuple[Array, NDArray[np.int64]]:
    """The items of maps, and which map each is of; of a key that is there twice the last one."""
    offsets = maps.offsets.to_numpy().astype(np.int64)
    lengths = np.diff(offsets)
    places, owners = np.arange(offsets[0], offsets[-1]), np.repeat(np.arange(len(maps)), lengths)
    items = maps.items.slice(offsets[0], len(places))
    kept = _kept(maps, places, owners)
    return (items, owners) if kept is None else (plain(items).take(pa.array(kept)), owners[kept])


def _kept(maps: Array, places: NDArray[np.int64], owners: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Which entries count: not those of maps that are null, nor of a key that comes again; None: all."""
    there = np.ones(len(owners), np.bool_)
    if maps.null_count:
        there = validity(maps)[owners]
    keys = plain(maps.keys.slice(int(places[0]) if len(places) else 0, len(places)))
    encoded = keys if pa.types.is_dictionary(keys.type) else keys.dictionary_encode()
    kinds = max(1, len(encoded.dictionary))
    numbers = owners * kinds + encoded.indices.to_numpy(zero_copy_only=False)
    if len(maps) * kinds <= _FLAGS:
        seen = np.zeros(len(maps) * kinds, np.bool_)
        seen[numbers] = True
        if int(np.count_nonzero(seen)) == len(numbers):
            return None if there.all() else np.flatnonzero(there)
    last = len(numbers) - 1 - np.unique(numbers[::-1], return_index=True)[1]
    last.sort()
    return last[there[last]]


def _is_string(stored: Any) -> bool:
    """What is a text in JSON: texts, and all that JSON has no type for."""
    return not _is_number(stored) and not pa.types.is_boolean(stored)


def _is_number(stored: Any) -> bool:
    return bool(pa.types.is_integer(stored) or pa.types.is_floating(stored) or pa.types.is_decimal(stored))
