"""Encodes one event as the values of its columns, in about a microsecond.

The same results as `vedette.schema.encode` for a batch of one, as plain Python values: an ordered value is its key
(an int or bytes, or a fraction), a missing one is None, and a list, a point or a region is the column data of a
single event.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from vedette.errors import SchemaError
from vedette.schema.columns import Column, ColumnData, KeyColumn, ListColumn, TextColumn, present_in
from vedette.schema.encode import encode
from vedette.schema.exact_numbers import column_of, key_at
from vedette.schema.keys import DENSE, INT_MAX, INT_MIN, UINT_MAX, NumberKey, key, number_key, read_string
from vedette.schema.paths import finder
from vedette.schema.readings import TYPES, viewer
from vedette.schema.schema import Schema
from vedette.schema.types import Kind, Type
from vedette.schema.values import json_text, read_value

OneValue: TypeAlias = NumberKey | bytes | ColumnData | None
_Convert: TypeAlias = Callable[[Any], NumberKey | bytes | None]
_ToValue: TypeAlias = Callable[[Any], OneValue]

_TEXTS = Type(Kind.STRING, is_list=True)
_THERE = np.ones(1, np.bool_)
_SIGNLESS = 0x7FFF_FFFF_FFFF_FFFF
_NAN_KEY = 0x7FF8_0000_0000_0000
_pack, _unpack = struct.Struct("<d").pack, struct.Struct("<q").unpack


def prepare_one(
    columns: Sequence[Column], schema: Schema, coarse: Collection[Column] = ()
) -> Callable[[Mapping[str, Any]], list[OneValue]]:
    """A function that encodes one event; SchemaError if one of its values breaks the schema.

    In `coarse` columns an integer that no float64 equals has the key of the float64 below it: no constant lies between.
    """
    blank: list[OneValue] = [None] * len(columns)
    named: dict[str, list[tuple[int, _ToValue]]] = {}  # columns that are a plain key of the event
    sought: list[tuple[int, Callable[[Mapping[str, Any]], Any], _ToValue]] = []  # dotted paths, views
    others: list[tuple[int, Column]] = []  # comparisons, lists, points, regions
    for position, column in enumerate(columns):
        reading = column.reading
        if reading is not None and column.type.is_list and column.type == TYPES.get(reading):
            made: _ToValue = _one_list_of_texts if column.type.kind is Kind.STRING else _one_list_of_floats
            if reading == "items":
                made = _text_or_list
            sought.append((position, viewer(reading, column.path), made))
        elif _is_list_of_texts(column, schema):
            named.setdefault(column.path, []).append((position, _list_converter(column, schema)))
        elif column.other is not None or column.type.is_list or not column.type.kind.ordered:
            others.append((position, column))
        elif reading is not None:
            sought.append((position, viewer(reading, column.path), _lenient(_exact(column.type.kind))))
        elif "." in column.path:
            sought.append((position, finder(column.path), _converter(column, schema, column in coarse)))
        else:
            named.setdefault(column.path, []).append((position, _converter(column, schema, column in coarse)))
    flat = [(position, name, convert) for name, parts in named.items() for position, convert in parts]
    in_order = [(name, convert) for position, name, convert in sorted(flat, key=lambda part: part[0])]
    only_flat = len(flat) == len(columns)

    def encode_one(event: Mapping[str, Any]) -> list[OneValue]:
        try:
            if only_flat and len(event) >= len(in_order):
                get = event.get
                return [None if (value := get(name)) is None else convert(value) for name, convert in in_order]
            found = blank.copy()
            if len(event) < len(flat):  # iterate over whichever is shorter
                for name, value in event.items():
                    if value is not None:
                        for position, convert in named.get(name, ()):
                            found[position] = convert(value)
            else:
                for position, name, convert in flat:
                    if (value := event.get(name)) is not None:
                        found[position] = convert(value)
            for position, find, as_value in sought:
                if (value := find(event)) is not None:
                    found[position] = as_value(value)
        except ValueError:
            raise _explained(event, columns, schema) from None
        if others:
            _add_others(found, event, others, schema)
        return found

    return encode_one


def _one_list_of_texts(texts: Sequence[str]) -> ListColumn:
    """The list of one event, made without Arrow."""
    distinct: dict[bytes, int] = {}
    codes = [distinct.setdefault(text.encode(), len(distinct)) for text in texts]
    elements = TextColumn(np.array(codes, np.int32), list(distinct))
    return ListColumn(np.array((0, len(codes)), np.int64), elements, _THERE)


def _text_or_list(texts: Sequence[str]) -> bytes | ListColumn:
    """The `items` of one event: usually one text, which stays a text."""
    return texts[0].encode() if len(texts) == 1 else _one_list_of_texts(texts)


def _is_list_of_texts(column: Column, schema: Schema) -> bool:
    """Whether a column is a plain attribute that is a list of texts in the schema, such as tags or groups."""
    plain = column.reading is None and column.other is None and "." not in column.path
    as_it_is = schema.type_of(column.path) in (None, column.type) and not schema.takes_all(column.path)
    return plain and as_it_is and column.type == _TEXTS


def _list_converter(column: Column, schema: Schema) -> _ToValue:
    """A converter that handles lists of only texts without Arrow, and everything else through `encode`."""

    def convert(raw: Any) -> OneValue:
        if type(raw) is list and set(map(type, raw)) <= {str}:
            try:
                return _one_list_of_texts(raw)
            except UnicodeEncodeError:  # half a character: `encode` has the error message
                pass
        encoded = encode([{column.path: raw}], [column], schema)
        if encoded.rejects:
            raise ValueError(encoded.rejects[0].reason)  # the whole event is checked again to report the first error
        data = encoded.data[column]
        return data if present_in(data)[0] else None

    return convert


def _one_list_of_floats(numbers: Sequence[float]) -> ListColumn:
    elements = column_of([_float(number) for number in numbers])
    return ListColumn(np.array((0, len(elements.keys)), np.int64), elements, _THERE)


def _add_others(
    found: list[OneValue], event: Mapping[str, Any], others: Sequence[tuple[int, Column]], schema: Schema
) -> None:
    columns = [column for _, column in others]
    encoded = encode([event], columns, schema)
    if encoded.rejects:
        raise _explained(event, columns, schema)
    for position, column in others:
        data = encoded.data[column]
        if present_in(data)[0]:
            found[position] = key_at(data, 0) if isinstance(data, KeyColumn) else data


def _explained(event: Mapping[str, Any], columns: Sequence[Column], schema: Schema) -> SchemaError:
    rejects = encode([event], columns, schema).rejects
    if not rejects:
        return SchemaError("an event's value breaks the schema")
    return SchemaError(f"attribute {rejects[0].attribute!r}: {rejects[0].reason}")


def _converter(column: Column, schema: Schema, coarse: bool) -> _Convert:
    """A function from a raw value (not None) to its key; ValueError if it breaks the schema."""
    declared, wanted = schema.type_of(column.path), column.type
    exact = _float_below if coarse and wanted.kind is Kind.FLOAT else _exact(wanted.kind)
    if declared is None:
        return _lenient(exact)
    if declared == wanted:
        return (lambda raw: exact(json_text(raw))) if schema.takes_all(column.path) else exact
    return _view(column, declared, schema)


def _view(column: Column, declared: Type, schema: Schema) -> _Convert:
    """A converter that reads a value of one type as another; all but the common case goes through `encode`."""
    exact = _exact(column.type.kind)
    from_text = declared == Type(Kind.STRING) and not column.type.kind.numeric and column.type.kind is not Kind.BOOL
    bare = Column("value", column.type)
    value_schema = Schema({"value": declared})

    def convert(raw: Any) -> NumberKey | bytes | None:
        if from_text and type(raw) is str:
            try:
                return exact(raw)
            except ValueError:
                read_string(raw)  # a text, but not one of this kind
                return None
        encoded = encode([{"value": raw}], [bare], value_schema)
        if encoded.rejects:
            raise ValueError(encoded.rejects[0].reason)
        data: Any = encoded.data[bare]
        if not present_in(data)[0]:
            return None
        return key_at(data, 0) if isinstance(data, KeyColumn) else data.values[data.codes[0]]

    if schema.takes_all(column.path):
        return lambda raw: convert(json_text(raw))
    return convert


def _lenient(exact: _Convert) -> _Convert:
    def convert(raw: Any) -> NumberKey | bytes | None:
        try:
            return exact(raw)
        except ValueError:
            return None

    return convert


def _exact(kind: Kind) -> _Convert:
    if kind in _QUICK:
        return _QUICK[kind]
    return lambda raw: key(kind, read_value(kind, raw))


def _int(raw: Any) -> int:
    return raw if type(raw) is int and INT_MIN <= raw <= INT_MAX else int(read_value(Kind.INT, raw))


def _float(raw: Any) -> NumberKey:
    if type(raw) is float:
        number = raw
    elif type(raw) is int and -DENSE <= raw <= DENSE:
        number = float(raw)
    else:
        number = raw if type(raw) is int and INT_MIN <= raw <= UINT_MAX else read_value(Kind.FLOAT, raw)
        if type(number) is int:
            return number_key(number)
    if number != number:  # noqa: PLR0124 - the quickest test for NaN
        return _NAN_KEY
    bits: int = _unpack(_pack(number + 0.0))[0]
    return bits if bits >= 0 else bits ^ _SIGNLESS


def _float_below(raw: Any) -> NumberKey:
    if type(raw) is not int or -DENSE <= raw <= DENSE or not INT_MIN <= raw <= UINT_MAX:
        return _float(raw)
    below = float(raw)
    if below > raw:
        below = math.nextafter(below, -math.inf)
    bits: int = _unpack(_pack(below))[0]
    return bits if bits >= 0 else bits ^ _SIGNLESS


def _text(raw: Any) -> bytes:
    return raw.encode() if type(raw) is str else read_string(raw).encode()


_QUICK: dict[Kind, _Convert] = {Kind.INT: _int, Kind.FLOAT: _float, Kind.STRING: _text}
