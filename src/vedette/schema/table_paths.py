"""Finds the values of a dotted path in an Arrow table, by the same rules as `vedette.schema.paths`, by column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.errors import SchemaError
from vedette.schema.arrays import array_column, is_list, is_text, list_parts, plain, validity
from vedette.schema.columns import ColumnData, KeyColumn, ListColumn, PointColumn, RegionColumn, TextColumn, missing
from vedette.schema.map_columns import MapEntries, MapIndex, MapTexts
from vedette.schema.parsed_texts import Refuse, Scalars
from vedette.schema.paths import finder
from vedette.schema.python_values import python_values, without_nulls
from vedette.schema.readings import EVERYTHING
from vedette.schema.table_views import ArrayFinder, NotPlain, TableViews, struct_field
from vedette.schema.types import Kind, Type
from vedette.schema.values import values_column


@dataclass(frozen=True, slots=True)
class _ListElements:
    """Values below a list of objects."""

    start: NDArray[np.int64]
    values: pa.Array
    present: NDArray[np.bool_]


_PathArray: TypeAlias = "pa.Array | MapEntries | _ListElements"


class TableEvents:
    """A table of events, with access to paths as columns."""

    def __init__(self, table: pa.Table | pa.RecordBatch, *, whole: bool = False) -> None:
        """`whole`: every text of the table will be read."""
        self.table = table if isinstance(table, pa.Table) else pa.Table.from_batches([table])
        self.size: int = self.table.num_rows
        self._plain: dict[str, pa.Array | None] = {}
        self._maps: dict[str, MapIndex] = {}
        self._whole = whole
        self._texts_in_maps: dict[str, MapTexts | None] = {}
        self._views = TableViews(self)

    @property
    def names(self) -> list[str]:
        """The names of the table's columns."""
        return list(self.table.column_names)

    def column(self, path: str, type_: Type, refuse: Refuse, *, takes_all: bool = False) -> ColumnData:
        """The values of a path as a column of the type."""
        try:
            found = [reached for reached in self._reach(self.field, path, "") if not _is_empty(reached)]
            if not found:
                return missing(type_, self.size)
            if len(found) == 1 and not takes_all:
                column = self._converted(found[0], path, type_, refuse)
                if column is not None:
                    return column
        except NotPlain:
            pass
        return values_column(self._values(path, type_.kind), type_, refuse, takes_all=takes_all)

    def present(self, path: str) -> NDArray[np.bool_]:
        """The rows that have a value of any type at the path, as a mask."""
        there = np.zeros(self.size, np.bool_)
        try:
            for reached in self._reach(self.field, path, ""):
                if isinstance(reached, MapEntries):
                    there[reached.rows] |= validity(reached.values)
                else:
                    there |= reached.present if isinstance(reached, _ListElements) else validity(reached)
        except NotPlain:
            return np.array([value is not None for value in self._values(path, Kind.STRING)], np.bool_)
        return there

    def view(self, path: str, reading: str) -> ColumnData:
        """The values of a view, for every event."""
        return self._views.column(path, reading)

    def dicts(self, paths: Iterable[str]) -> list[dict[str, Any]]:
        """The events as dicts with the values of the paths (`*`: everything); nulls are left out."""
        sought = dict.fromkeys(name for path in paths for name in (path, path.partition(".")[0]))
        columns = self._python_columns(self.names if EVERYTHING in sought else sought)
        if not columns:
            return [{} for _ in range(self.size)]
        rows = zip(*columns.values(), strict=True)
        return [without_nulls(dict(zip(columns, row, strict=True))) for row in rows]

    def entries(self, place: str, maps: pa.MapArray, key: str) -> MapEntries:
        """The values under a key in the maps of a column or field."""
        if place not in self._maps:
            self._maps[place] = MapIndex(maps)
        return self._maps[place].find(key)

    def texts_in_maps(self, name: str) -> MapTexts | None:
        """The texts in the maps of a column; None if there are none, or if reading all of them does not pay."""
        if name not in self._texts_in_maps:
            maps = self.field(name) if self._whole else None
            self._texts_in_maps[name] = MapTexts.of(maps) if isinstance(maps, pa.MapArray) else None
        return self._texts_in_maps[name]

    def map_texts(self, path: str) -> TextColumn | None:
        """The texts that `texts_in_maps` found at a path; None if the path may lead elsewhere."""
        head, dot, key = path.partition(".")
        own = self.texts_in_maps(head) if dot and self.field(path) is None else None
        return None if own is None else own.under(key, self.size)

    def field(self, name: str) -> pa.Array | None:
        """The column of a name, if there is one."""
        if name not in self._plain:
            positions = self.table.schema.get_all_field_indices(name)
            if len(positions) > 1:
                raise SchemaError(f"the table has {len(positions)} columns named {name!r}\nHint: rename all but one")
            self._plain[name] = plain(self.table.column(positions[0])) if positions else None
        return self._plain[name]

    def _reach(self, field: ArrayFinder, path: str, above: str) -> Iterable[_PathArray]:
        """Everything that the path may lead to, in order of precedence."""
        whole = field(path)
        if whole is not None:
            yield whole
        head, dot, rest = path.partition(".")
        below = field(head) if dot else None
        if below is None:
            return
        if isinstance(below, pa.StructArray):
            yield from self._reach(struct_field(below), rest, f"{above}{head}.")
        elif isinstance(below, pa.MapArray):
            if not pa.types.is_string(below.type.key_type) or pa.types.is_nested(below.type.item_type):
                raise NotPlain
            yield self.entries(above + head, below, rest)
        elif is_list(below.type) and pa.types.is_nested(below.type.value_type):
            start, elements, present = list_parts(below)
            if not isinstance(elements, pa.StructArray):
                raise NotPlain
            for reached in self._reach(struct_field(elements), rest, f"{above}{head}[]."):
                if isinstance(reached, MapEntries | _ListElements) or is_list(reached.type):
                    raise NotPlain
                yield _ListElements(start, reached, present)

    def _converted(self, reached: _PathArray, path: str, type_: Type, refuse: Refuse) -> ColumnData | None:
        if isinstance(reached, MapEntries):
            rows = reached.rows

            def refuse_row(entry: int, reason: str) -> None:
                if refuse is not None:
                    refuse(int(rows[entry]), reason)

            column = _typed(reached.values, path, type_, refuse_row if refuse else None)
            return None if column is None else _scattered(column, rows, self.size)
        if isinstance(reached, _ListElements):
            if not type_.is_list:
                return None
            start = reached.start

            def refuse_list(element: int, reason: str) -> None:
                if refuse is not None:
                    refuse(int(np.searchsorted(start, element, "right")) - 1, reason)

            column = _typed(reached.values, path, type_.element, refuse_list if refuse else None)
            if column is None or isinstance(column, ListColumn):
                return None
            return ListColumn(start, column, reached.present)
        return _typed(reached, path, type_, refuse)

    def _values(self, path: str, kind: Kind) -> list[Any]:
        """The values of a path, found by Python code."""
        head = path.partition(".")[0]
        columns = self._python_columns((path, head))
        find = finder(path, flat=kind is not Kind.POINT)
        return [find(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]

    def _python_columns(self, names: Iterable[str]) -> dict[str, list[Any]]:
        """The columns that there are, as Python values by name."""
        found = ((name, self.field(name)) for name in dict.fromkeys(names))
        return {name: python_values(array) for name, array in found if array is not None}


def _is_empty(reached: _PathArray) -> bool:
    values = reached.values if isinstance(reached, MapEntries) else reached
    return not isinstance(values, _ListElements) and values.null_count == len(values)


def _typed(array: pa.Array, path: str, type_: Type, refuse: Refuse) -> ColumnData | None:
    stored = array.type
    if pa.types.is_null(stored):
        return missing(type_, len(array))
    fits = check_stored(stored, path, type_, refuse is not None)
    return array_column(array, type_, refuse) if fits else missing(type_, len(array))


def check_stored(stored: pa.DataType, path: str, type_: Type, declared: bool) -> bool:
    """Whether values of an Arrow type may be of the attribute type; SchemaError if they cannot be matched at all.

    If the schema has `declared` the type, it is also an error if no value can fit.
    """
    if _unreadable(stored):
        raise SchemaError(
            f"attribute {path!r} is of Arrow type {stored}, which cannot be matched\n"
            f"Hint: cast the column to string, or to a number or time, before"
        )
    fits = pa.types.is_null(stored) or _fits(stored, type_)
    if not fits and declared:
        raise SchemaError(
            f"attribute {path!r} is {type_} by the schema, but of Arrow type {stored} in the table\n"
            f"Hint: cast the column, or change the schema"
        )
    return fits


def _unreadable(stored: pa.DataType) -> bool:
    types = pa.types
    if is_list(stored):
        return _unreadable(stored.value_type)
    return bool(
        types.is_binary(stored)
        or types.is_large_binary(stored)
        or types.is_fixed_size_binary(stored)
        or stored == pa.binary_view()
        or types.is_time(stored)
        or types.is_duration(stored)
        or types.is_interval(stored)
        or types.is_union(stored)
    )


def _fits(stored: pa.DataType, type_: Type) -> bool:
    """Whether some value of this Arrow type may be of the attribute type."""
    types, kind = pa.types, type_.kind
    if types.is_dictionary(stored):
        stored = stored.value_type
    if is_list(stored):
        if type_.is_list:
            return types.is_null(stored.value_type) or _fits(stored.value_type, type_.element)
        return kind is Kind.POINT
    if type_.is_list:
        return False
    if is_text(stored):
        return kind.textual or kind in (Kind.TIMESTAMP, Kind.DATE, Kind.POINT, Kind.REGION)
    if types.is_integer(stored) or types.is_floating(stored) or types.is_decimal(stored):
        return kind.numeric or kind is Kind.TIMESTAMP
    if types.is_timestamp(stored) or types.is_date(stored):
        return kind in (Kind.TIMESTAMP, Kind.DATE)
    if types.is_boolean(stored):
        return kind is Kind.BOOL
    return types.is_struct(stored) and kind in (Kind.POINT, Kind.REGION)


def _scattered(column: ColumnData, rows: NDArray[np.int64], size: int) -> ColumnData | None:
    """Values of some rows as a column of all rows."""
    if isinstance(column, KeyColumn):
        keys, present = np.zeros(size, np.int64), np.zeros(size, np.bool_)
        keys[rows], present[rows] = column.keys, column.present
        if column.rest is None:
            return KeyColumn(keys, present)
        rest = np.zeros(size, np.int16)
        rest[rows] = column.rest
        return KeyColumn(keys, present, rest)
    if isinstance(column, PointColumn):
        x, y = np.full(size, np.nan), np.full(size, np.nan)
        x[rows], y[rows] = column.x, column.y
        return PointColumn(x, y)
    if isinstance(column, ListColumn):
        return None
    codes = np.full(size, -1, np.int32)
    codes[rows] = column.codes
    scattered: Scalars = (
        TextColumn(codes, column.values) if isinstance(column, TextColumn) else RegionColumn(codes, column.geometries)
    )
    return scattered
