"""Infers the schema of an Arrow table from its column types alone."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from vedette.schema.arrays import is_list, is_text
from vedette.schema.paths import over_limit
from vedette.schema.schema import Schema
from vedette.schema.types import Kind, Type

_PLACES = ({"lon", "lat"}, {"longitude", "latitude"}, {"x", "y"})


def infer_arrow(schema: pa.Schema, *, closed: bool = False) -> Schema:
    """The schema of a `pyarrow.Schema`: structs as dotted paths, a map as `name.*`, lists of structs as lists.

    Decimals are float, and so is uint64, whose upper half no int64 holds (as integers that large are in JSON).
    Types that no filter can test - binary, times of day, durations, unions, lists of lists - are left out;
    filters that use such an attribute get an error (`vedette.schema.encode`).
    """
    return Schema({path: type_ for field in schema for path, type_ in _paths(field.name, field.type, False)}, closed)


def _paths(path: str, stored: pa.DataType, in_list: bool) -> Iterator[tuple[str, Type]]:
    if over_limit(path) is not None:  # no filter can name such an attribute
        return
    types = pa.types
    stored = _unwrapped(stored)
    kind = _kind(stored)
    if kind is not None:
        yield path, Type(kind, in_list)
    if types.is_struct(stored):
        for field in stored:
            yield from _paths(f"{path}.{field.name}", field.type, in_list)
    elif types.is_map(stored):
        items = _unwrapped(stored.item_type)
        if is_text(_unwrapped(stored.key_type)) and not types.is_nested(items):
            yield from _paths(f"{path}.*", items, in_list)
    elif is_list(stored):
        elements = _unwrapped(stored.value_type)
        if not is_list(elements) or in_list:
            yield from _paths(path, elements, True)


def _unwrapped(stored: pa.DataType) -> pa.DataType:
    if isinstance(stored, pa.BaseExtensionType):
        return _unwrapped(stored.storage_type)
    if pa.types.is_dictionary(stored) or pa.types.is_run_end_encoded(stored):
        return _unwrapped(stored.value_type)
    return stored


def _kind(stored: pa.DataType) -> Kind | None:
    types = pa.types
    if types.is_boolean(stored):
        return Kind.BOOL
    if types.is_uint64(stored) or types.is_floating(stored) or types.is_decimal(stored):
        return Kind.FLOAT
    if types.is_integer(stored):
        return Kind.INT
    if is_text(stored):
        return Kind.STRING
    if types.is_timestamp(stored):
        return Kind.TIMESTAMP
    if types.is_date(stored):
        return Kind.DATE
    return Kind.POINT if types.is_struct(stored) and _is_place(stored) else None


def _is_place(stored: pa.StructType) -> bool:
    numeric = {field.name for field in stored if _kind(_unwrapped(field.type)) in (Kind.INT, Kind.FLOAT)}
    if any(numeric >= names for names in _PLACES):
        return True
    fields = {field.name: _unwrapped(field.type) for field in stored}
    if fields.keys() != {"type", "coordinates"} or not is_list(fields["coordinates"]):
        return False
    # A GeoJSON Point; lines and polygons have lists of lists.
    return bool(pa.types.is_floating(fields["coordinates"].value_type))
