"""Collects the leaves of Arrow arrays as columns of lists, without Python code per row.

A null column, field or entry of a map counts as absent; a null among the elements of a list is a leaf, as in JSON.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vedette.schema.arrays import array_column, is_list, is_text, is_text_dictionary, list_parts, plain, validity
from vedette.schema.columns import KeyColumn, ListColumn, TextColumn
from vedette.schema.exact_numbers import column_of_table, exact_keys, key_table, together
from vedette.schema.keys import number_key
from vedette.schema.map_columns import MapTexts, map_items
from vedette.schema.parsed_texts import merged
from vedette.schema.python_values import python_values
from vedette.schema.readings import figure_of, json_leaf, leaf, leaf_text
from vedette.schema.types import FLOAT
from vedette.schema.values import values_column

Rows: TypeAlias = NDArray[np.int64]
# Times that Python's datetime can hold.
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999


@dataclass(frozen=True, slots=True)
class ScalarLeaves:
    """Values, none of them null, and the row that each belongs to."""

    rows: Rows
    values: pa.Array
    known: TextColumn | None = None  # their texts, if they have been read before

    def texts(self, *, as_json: bool = False) -> TextColumn:
        """The values as texts, or as canonical JSON."""
        return texts(self.values, as_json=as_json) if as_json or self.known is None else self.known


@dataclass(slots=True)
class Leaves:
    """All leaves found at some paths: scalars by type, and the rows of nulls."""

    scalars: list[ScalarLeaves] = field(default_factory=list)
    nulls: list[Rows] = field(default_factory=list)

    def add(self, array: pa.Array, rows: Rows, *, objects: bool, in_list: bool = False) -> None:
        """Add the leaves of an array whose element i belongs to `rows[i]`; `objects`: also those inside of objects."""
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
        elif isinstance(array, pa.StructArray):
            for number in range(array.type.num_fields if objects else 0):
                self.add(pc.struct_field(array, number), rows, objects=True)
        elif isinstance(array, pa.MapArray):
            if objects:
                own = map_items(array)
                self.add(own.items, rows[own.owners], objects=True)
        else:
            kept = (rows, array) if there is None else (rows[there], array.filter(pa.array(there)))
            self.scalars.append(ScalarLeaves(*kept))

    def add_texts(self, own: MapTexts, rows: Rows) -> None:
        """Add the texts in maps, where map i belongs to `rows[i]`."""
        self.scalars.append(ScalarLeaves(rows[own.rows], own.items, own.texts))

    def present(self, size: int) -> NDArray[np.bool_]:
        """The rows that have a leaf, as a mask."""
        present = np.zeros(size, np.bool_)
        for rows in (*(each.rows for each in self.scalars), *self.nulls):
            present[rows] = True
        return present

    def lists(self, reading: str, size: int) -> ListColumn:
        """The leaves as a view reads them, as a list for each row."""
        if reading in ("numbers", "figures"):
            return self._numbers(size, in_texts=reading == "figures")
        rows, columns = [], []
        for each in self.scalars:
            if reading != "strings" or _is_string(each.values.type):
                rows.append(each.rows)
                columns.append(each.texts(as_json=reading == "leaves"))
        if reading == "leaves":
            for nulls in self.nulls:
                rows.append(nulls)
                columns.append(TextColumn(np.zeros(len(nulls), np.int32), [b"null"]))
        order, start = _by_row(rows, size)
        codes, values = _together(columns)
        joined = np.concatenate([np.zeros(0, np.int32), *codes])
        elements = TextColumn(joined if order is None else joined[order], values)
        return ListColumn(start, elements, self.present(size))

    def _numbers(self, size: int, *, in_texts: bool) -> ListColumn:
        rows, keys = [], []
        for each in self.scalars:
            if _is_number(each.values.type):
                column = array_column(each.values, FLOAT, None)
                if column is None:
                    column = values_column(python_values(each.values), FLOAT, None)
                assert isinstance(column, KeyColumn)
                rows.append(each.rows)
                keys.append(exact_keys(column))
            elif in_texts and _is_string(each.values.type):
                found = each.texts()
                figures = [figure_of(value.decode()) for value in found.values]
                written = np.array([figure is not None for figure in figures], np.bool_)[found.codes]
                rows.append(each.rows[written])
                keys.append(key_table([number_key(figure or 0.0) for figure in figures])[found.codes[written]])
        order, start = _by_row(rows, size)
        joined = together(keys)
        joined = joined if order is None else joined[order]
        return ListColumn(start, column_of_table(joined), self.present(size))


def decoded(array: pa.Array) -> pa.Array:
    """The array, without a dictionary that holds a null."""
    if isinstance(array, pa.DictionaryArray) and array.dictionary.null_count:
        return array.dictionary_decode()
    return array


def texts(array: pa.Array, *, as_json: bool = False) -> TextColumn:
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


def _written(array: pa.Array) -> pa.Array | None:
    """The texts of whole numbers and of times, written by Arrow; None for types that it would write differently."""
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


def _of_texts(array: pa.Array, as_json: bool) -> TextColumn:
    own = not isinstance(array, pa.DictionaryArray)  # a dictionary in the input may hold a text twice, or null
    encoded = array if isinstance(array, pa.DictionaryArray) else array.dictionary_encode()
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


def _together(columns: list[TextColumn]) -> tuple[list[NDArray[np.int32]], list[bytes]]:
    """The codes of all columns among the distinct texts of all of them, and these texts."""
    if len(columns) == 1:
        return [columns[0].codes], columns[0].values
    known: dict[bytes, int] = {}
    more: list[bytes] = []  # the rest of the largest column, which comes last: they are never looked up
    codes = [column.codes for column in columns]
    largest_last = sorted(range(len(columns)), key=lambda number: len(columns[number].values))
    for number in largest_last:
        values = columns[number].values
        if number != largest_last[-1]:
            places = [known.setdefault(value, len(known)) for value in values]
        else:
            # Texts longer than all known ones need no lookup, not even a hash.
            longest = max(map(len, known), default=-1)
            places, first = [], len(known)
            for value in values:
                place = known.get(value) if len(value) <= longest else None
                if place is None:
                    place = first + len(more)
                    more.append(value)
                places.append(place)
        codes[number] = np.array(places or [0], np.int32)[codes[number]]
    return codes, [*known, *more]


def _by_row(rows: list[Rows], size: int) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]]:
    """The order that groups elements by row (None: they are grouped), and where each row's elements begin."""
    joined = np.concatenate([np.zeros(0, np.int64), *rows])
    start = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(joined, minlength=size), out=start[1:])
    if np.all(joined[1:] >= joined[:-1]):
        return None, start
    return np.argsort(joined, kind="stable"), start


def _is_string(stored: pa.DataType) -> bool:
    """Whether an Arrow type is a text in JSON: texts, and all types that JSON lacks."""
    return not _is_number(stored) and not pa.types.is_boolean(stored)


def _is_number(stored: pa.DataType) -> bool:
    return bool(pa.types.is_integer(stored) or pa.types.is_floating(stored) or pa.types.is_decimal(stored))
