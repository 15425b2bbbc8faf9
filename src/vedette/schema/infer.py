"""Infers a schema from events.

As Spark infers JSON: integers and floats together are float, integers beyond 64 bits are float, other mixtures
are string (`Schema.mixed`: other values are read as their JSON text, so that no event breaks the schema inferred
from it). Objects give dotted paths; below a list they give lists. An object that is a place is also a point.
Attributes that are always null, or always an empty list, are left out. Texts stay texts: `2024-05-01` is a string.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from vedette.schema.keys import INT_MAX, INT_MIN, read
from vedette.schema.paths import PARTS, over_limit
from vedette.schema.schema import Schema
from vedette.schema.types import POINT, REGION, STRING, Kind, Type


class _Shape(enum.Enum):
    """Shapes of values for which there is no attribute type."""

    OBJECT = "object"
    EMPTY_LIST = "list, perhaps empty"
    NESTED_LIST = "list of lists"
    OTHER = "other"


_InferredType: TypeAlias = Type | _Shape

_SCALARS: dict[type, Kind] = {
    bool: Kind.BOOL,
    int: Kind.INT,
    float: Kind.FLOAT,
    str: Kind.STRING,
    dt.datetime: Kind.TIMESTAMP,
    dt.date: Kind.DATE,
    ipaddress.IPv4Address: Kind.IP,
    ipaddress.IPv6Address: Kind.IP,
    decimal.Decimal: Kind.FLOAT,
}
_BASES: tuple[tuple[Any, Kind], ...] = (
    ((bool, np.bool_), Kind.BOOL),
    ((int, np.integer), Kind.INT),
    ((float, np.floating), Kind.FLOAT),
    (str, Kind.STRING),
    ((dt.datetime, np.datetime64), Kind.TIMESTAMP),
    (dt.date, Kind.DATE),
)
_PLACES = (("lon", "lat"), ("longitude", "latitude"), ("x", "y"))
_MOST_SHAPES = 10_000
_DEEPEST = 64  # levels of lists in lists that are examined


def infer(events: Iterable[Mapping[str, Any]]) -> Schema:
    """The (open) schema of these events."""
    inference = SchemaInference()
    inference.add(events)
    return inference.schema()


class SchemaInference:
    """Incremental inference: collects the types seen of every attribute."""

    def __init__(self) -> None:
        self._seen: dict[str, set[_InferredType]] = {}
        # Many events have the same shape: of those with known names and types only the parts listed here,
        # integers and values with parts of their own, are examined.
        self._shapes: dict[tuple[object, ...], tuple[str, ...]] = {}

    def add(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Take these events into account."""
        shapes = self._shapes
        for event in events:
            shape = (*event, *map(type, event.values()))
            watched = shapes.get(shape)
            if watched is None:
                self._add_object(event, "", in_list=False)
                if len(shapes) >= _MOST_SHAPES:
                    shapes.clear()
                shapes[shape] = tuple(name for name, value in event.items() if _is_watched(value))
                continue
            for name in watched:
                value = event[name]
                if type(value) is not int or not INT_MIN <= value <= INT_MAX:
                    self._add_value(value, name, in_list=False)

    def schema(self) -> Schema:
        """The schema of the events so far; open, since later events may have more attributes."""
        types: dict[str, Type] = {}
        mixed = set()
        for path, seen in self._seen.items():
            settled = _settled(seen)
            if settled is None:
                continue
            types[path], takes_all = settled
            if not types[path].is_list and self._through_list(path):
                types[path], takes_all = STRING, True
            if takes_all:
                mixed.add(path)
        return Schema(types, closed=False, mixed=frozenset(mixed))

    def _add_object(self, value: Mapping[str, Any], prefix: str, *, in_list: bool) -> None:
        if prefix.count(".") >= PARTS:  # deeper attributes have no path that a filter could name
            return
        for name, part in value.items():
            if isinstance(name, str) and name and over_limit(prefix + name) is None:
                self._add_value(part, prefix + name, in_list=in_list)

    def _add_value(self, value: Any, path: str, *, in_list: bool) -> None:
        if value is None:
            return
        if isinstance(value, list | tuple | set | frozenset | np.ndarray):
            self._add_list(value, path)
            return
        self._seen.setdefault(path, set()).add(_seen(value, in_list))
        if isinstance(value, Mapping):
            self._add_object(value, f"{path}.", in_list=in_list)

    def _add_list(self, values: Iterable[Any], path: str) -> None:
        seen = self._seen.setdefault(path, set())
        seen.add(_Shape.EMPTY_LIST)
        for value in values:
            if isinstance(value, list | tuple | np.ndarray):
                seen.add(_Shape.NESTED_LIST)
                self._add_nested(value, path)
            else:
                self._add_value(value, path, in_list=True)

    def _add_nested(self, values: Iterable[Any], path: str, depth: int = 0) -> None:
        """Lists in lists have no type, but paths lead through them to the objects there."""
        for value in values:
            if isinstance(value, Mapping):
                self._add_object(value, f"{path}.", in_list=True)
            elif isinstance(value, list | tuple | np.ndarray) and depth < _DEEPEST:
                self._add_nested(value, path, depth + 1)

    def _through_list(self, path: str) -> bool:
        """Whether some event has a list on the way to this path."""
        while "." in path:
            path = path.rpartition(".")[0]
            if _Shape.EMPTY_LIST in self._seen.get(path, ()):
                return True
        return False


def _is_watched(value: Any) -> bool:
    return value is not None and type(value) not in (bool, float, str)


def _seen(value: Any, in_list: bool) -> _InferredType:
    kind = _SCALARS.get(type(value)) or next((kind for base, kind in _BASES if isinstance(value, base)), None)
    if kind is Kind.INT and not INT_MIN <= value <= INT_MAX:
        kind = Kind.FLOAT
    if isinstance(value, Mapping):
        kind = _place(value)
        if kind is None:
            return _Shape.OBJECT
    return _Shape.OTHER if kind is None else Type(kind, in_list)


def _place(value: Mapping[str, Any]) -> Kind | None:
    """The kind of an object that is two coordinates or a GeoJSON geometry."""
    for kind, is_candidate in ((Kind.POINT, _is_pointlike), (Kind.REGION, _is_regionlike)):
        if is_candidate(value):
            try:
                read(kind, value)
            except ValueError:
                return None
            return kind
    return None


def _is_pointlike(value: Mapping[str, Any]) -> bool:
    return value.get("type") == "Point" or any(x in value and y in value for x, y in _PLACES)


def _is_regionlike(value: Mapping[str, Any]) -> bool:
    return value.get("type") in ("Polygon", "MultiPolygon") and "coordinates" in value


def _settled(seen: set[_InferredType]) -> tuple[Type, bool] | None:
    """The type that covers everything seen of an attribute, and whether it is mixed; None: no type at all."""
    if _Shape.OTHER in seen:
        return None
    types = {one for one in seen if isinstance(one, Type)}
    if _Shape.OBJECT in seen:
        types -= {POINT, REGION, Type(Kind.POINT, True), Type(Kind.REGION, True)}
    shapes = seen - types - {POINT, REGION}
    kinds = {type_.kind for type_ in types}
    if not kinds:
        return None
    lists = any(type_.is_list for type_ in types)
    scalars = any(not type_.is_list for type_ in types)
    stray = _Shape.OBJECT in shapes or _Shape.NESTED_LIST in shapes
    kind = _common(kinds)
    if kind is None or stray or (scalars and (lists or _Shape.EMPTY_LIST in shapes)):
        # Lists mixed with single values are not a list; a list of elements of several types still is one.
        return Type(Kind.STRING, lists and not scalars), True
    return Type(kind, lists), False


def _common(kinds: set[Kind]) -> Kind | None:
    if len(kinds) == 1:
        return next(iter(kinds))
    if kinds == {Kind.INT, Kind.FLOAT}:
        return Kind.FLOAT
    if kinds == {Kind.DATE, Kind.TIMESTAMP}:
        return Kind.TIMESTAMP
    return None
