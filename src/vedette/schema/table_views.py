"""Views of an Arrow table: the same results as `vedette.schema.readings` of its events, by column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vedette.schema.arrays import is_list, list_parts, plain, validity
from vedette.schema.columns import ColumnData, KeyColumn, TextColumn, missing
from vedette.schema.leaf_arrays import Leaves, decoded, texts
from vedette.schema.map_columns import MapEntries, MapTexts
from vedette.schema.readings import EVERYTHING, TYPES, integer_of, viewer
from vedette.schema.values import values_column

ArrayFinder: TypeAlias = Callable[[str], pa.Array | None]  # the array of a name, if there is one


class NotPlain(Exception):
    """Raised if a path leads through values that only Python code can walk."""


class _TableSource(Protocol):
    size: int

    @property
    def names(self) -> list[str]: ...

    def field(self, name: str) -> pa.Array | None: ...

    def entries(self, place: str, maps: pa.MapArray, key: str) -> MapEntries: ...

    def texts_in_maps(self, name: str) -> MapTexts | None: ...

    def map_texts(self, path: str) -> TextColumn | None: ...

    def dicts(self, paths: Iterable[str]) -> list[dict[str, Any]]: ...


@dataclass(frozen=True, slots=True)
class _PathValues:
    """The values that a path leads to, with their rows."""

    rows: NDArray[np.int64]
    values: pa.Array
    through_list: bool = False


class TableViews:
    """Reads views from a table."""

    def __init__(self, table: _TableSource) -> None:
        self._table = table
        self._leaves: dict[str, Leaves] = {}

    def column(self, path: str, reading: str) -> ColumnData:
        """One view of all events."""
        try:
            if reading in _ONE_VALUE:
                return _ONE_VALUE[reading](self, path)
            return self._leaves_at(path).lists(reading, self._table.size)
        except (NotPlain, pa.ArrowNotImplementedError):  # Arrow cannot take elements of everything
            read = viewer(reading, path)
            return values_column([read(event) for event in self._table.dicts((path,))], TYPES[reading], None)

    def _text(self, path: str) -> TextColumn:
        if path == EVERYTHING:
            raise NotPlain
        known = self._table.map_texts(path)
        if known is not None:
            return known
        places = self._places(path)
        codes = np.full(self._table.size, -1, np.int32)
        if not places:
            return TextColumn(codes, [])
        (place,) = places
        if place.through_list or _has_parts(place.values.type):
            raise NotPlain
        values, rows = decoded(place.values), place.rows
        if values.null_count:
            there = validity(values)
            values, rows = values.filter(pa.array(there)), rows[there]
        found = texts(values)
        codes[rows] = found.codes
        return TextColumn(codes, found.values)

    def _items(self, path: str) -> ColumnData:
        places = [] if path == EVERYTHING or self._table.map_texts(path) is not None else self._places(path)
        if len(places) != 1 or places[0].through_list or not is_list(stored := places[0].values.type):
            return self._text(path)  # it raises if there are parts after all
        (place,) = places
        if _has_parts(stored.value_type):
            raise NotPlain
        found = self._leaves_at(path).lists("texts", self._table.size)
        present = np.zeros(self._table.size, np.bool_)
        present[place.rows[validity(place.values)]] = True
        return replace(found, present=present)

    def _integer(self, path: str) -> KeyColumn:
        found = self._text(path)
        numbers = [integer_of(text.decode("utf-8", "replace")) for text in found.values]
        # Missing values have code -1, which indexes the last of these.
        there = np.array([*(number is not None for number in numbers), False], np.bool_)
        keys = np.array([*(number or 0 for number in numbers), 0], np.int64)
        return KeyColumn(keys[found.codes], there[found.codes])

    def _nested(self, path: str) -> ColumnData:
        if any(place.through_list or _may_nest(place.values.type) for place in self._places(path)):
            raise NotPlain
        return missing(TYPES["nested"], self._table.size)

    def _leaves_at(self, path: str) -> Leaves:
        found = self._leaves.get(path)
        if found is None:
            found = Leaves()
            if path == EVERYTHING:
                self._add_everything(found)
            else:
                for place in self._places(path):
                    found.add(place.values, place.rows, objects=False)
            self._leaves[path] = found
        return found

    def _add_everything(self, found: Leaves) -> None:
        rows = np.arange(self._table.size)
        for name in self._table.names:
            array, own = self._table.field(name), self._table.texts_in_maps(name)
            if own is not None:
                found.add_texts(own, rows)
            elif array is not None:
                found.add(array, rows, objects=True)

    # ------------------------------------------------------------ where a path leads

    def _places(self, path: str) -> list[_PathValues]:
        """The values of a path (all columns for `*`); NotPlain if it depends on the event which of several counts."""
        rows = np.arange(self._table.size)
        if path == EVERYTHING:
            arrays = [self._table.field(name) for name in self._table.names]
            return [_PathValues(rows, array) for array in arrays if array is not None]
        found = [
            place for place in self._reach(self._table.field, path, _PathCursor(rows)) if not _is_empty(place.values)
        ]
        if len(found) > 1:
            raise NotPlain
        return found

    def _reach(self, field: ArrayFinder, path: str, way: _PathCursor) -> Iterable[_PathValues]:
        whole = field(path)
        if whole is not None:
            yield _PathValues(way.rows, whole, way.through_list)
        head, dot, rest = path.partition(".")
        below = field(head) if dot else None
        if below is not None:
            yield from self._inside(below, rest, _PathCursor(way.rows, f"{way.name}{head}", way.through_list))

    def _inside(self, below: pa.Array, path: str, way: _PathCursor) -> Iterable[_PathValues]:
        if isinstance(below, pa.StructArray):
            yield from self._reach(struct_field(below), path, _PathCursor(way.rows, f"{way.name}.", way.through_list))
        elif isinstance(below, pa.MapArray):
            keys, items = below.type.key_type, below.type.item_type
            if way.through_list or not pa.types.is_string(keys) or pa.types.is_nested(items):
                raise NotPlain
            found = self._table.entries(way.name, below, path)
            yield _PathValues(found.rows, plain(found.values))
        elif is_list(below.type) and pa.types.is_nested(below.type.value_type):
            start, elements, _ = list_parts(below)
            rows = np.repeat(way.rows, np.diff(start))
            yield from self._inside(plain(elements), path, _PathCursor(rows, f"{way.name}[]", through_list=True))


_ONE_VALUE: Final[Mapping[str, Callable[[TableViews, str], ColumnData]]] = {
    "text": TableViews._text,
    "items": TableViews._items,
    "integer": TableViews._integer,
    "nested": TableViews._nested,
}


@dataclass(frozen=True, slots=True)
class _PathCursor:
    """The state of following a path: the rows and the name of what was reached."""

    rows: NDArray[np.int64]
    name: str = ""
    through_list: bool = False


def struct_field(array: pa.StructArray) -> ArrayFinder:
    """The fields of a struct array by name."""
    stored = array.type

    def field(name: str) -> pa.Array | None:
        position = stored.get_field_index(name)  # -1 also for a name that is there twice
        return plain(pc.struct_field(array, position)) if position >= 0 else None

    return field


def _is_empty(array: pa.Array) -> bool:
    return bool(array.null_count == len(array))


def _has_parts(stored: pa.DataType) -> bool:
    """Whether values of an Arrow type are written as JSON: lists, structs, maps."""
    return is_list(stored) or bool(pa.types.is_struct(stored) or pa.types.is_map(stored))


def _may_nest(stored: pa.DataType) -> bool:
    """Whether values of the type can contain a list with an object."""
    if is_list(stored):
        inside = stored.value_type
        return bool(pa.types.is_struct(inside) or pa.types.is_map(inside)) or _may_nest(inside)
    if pa.types.is_map(stored):
        return _may_nest(stored.item_type)
    return pa.types.is_struct(stored) and any(_may_nest(each.type) for each in stored)
