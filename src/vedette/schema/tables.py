"""How a dotted path finds its values in an Arrow table: the same rules as `vedette.schema.paths`, by column."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vedette.errors import SchemaError
from vedette.schema.arrays import Array, array_column, is_list, is_text, is_text_dictionary, list_parts, plain, validity
from vedette.schema.columns import ColumnData, KeyColumn, ListColumn, PointColumn, RegionColumn, TextColumn
from vedette.schema.missing import missing
from vedette.schema.paths import finder
from vedette.schema.texts import Refuse, Scalars
from vedette.schema.types import Kind, Type
from vedette.schema.values import values_column

# From so many keys on it pays to bring all items of a map into order, unless that takes too much memory.
_SEVERAL = 5
_TOO_LARGE = 1 << 30

Field: TypeAlias = Callable[[str], Array | None]  # the array of a name, if there is one


@dataclass(frozen=True, slots=True)
class _Entries:
    """Values of some rows only: what a map holds under one key."""

    rows: NDArray[np.int64]
    values: Array


@dataclass(frozen=True, slots=True)
class _Elements:
    """Values below a list of objects."""

    start: NDArray[np.int64]
    values: Array
    present: NDArray[np.bool_]


_Reached: TypeAlias = "Array | _Entries | _Elements"


class _NotPlain(Exception):
    """The path leads through something that is easier to walk in Python."""


class _MapIndex:
    """The entries of a map column by key, so that many keys cost one pass over it."""

    def __init__(self, array: Array) -> None:
        offsets = array.offsets.to_numpy()
        lengths = np.where(validity(array), np.diff(offsets), 0)
        entries = np.repeat(offsets[:-1] - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
        encoded = array.keys.take(pa.array(entries)).dictionary_encode()
        codes = encoded.indices.to_numpy()
        names = encoded.dictionary.to_pylist()
        # Few distinct keys sort by radix, in one pass.
        order = np.argsort(codes.astype(np.uint16) if len(names) < 2**16 else codes, kind="stable")
        self._numbers = {name: number for number, name in enumerate(names)}
        self._bounds = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(names)))])
        self._entries = entries[order]
        self._rows = np.repeat(np.arange(len(array)), lengths)[order]
        self._items = array.items
        self._in_order: Array | None = None  # the items by key, once several keys have been asked for
        self._asked = 0

    def find(self, name: str) -> _Entries:
        """What the maps hold under this key, in the order of rows (a key twice in a map: the last one counts)."""
        number = self._numbers.get(name)
        first, last = (0, 0) if number is None else self._bounds[number : number + 2].tolist()
        self._asked += 1
        if self._asked == _SEVERAL and self._items.nbytes < _TOO_LARGE:
            self._in_order = self._items.take(pa.array(self._entries))
        if self._in_order is not None:
            values = self._in_order.slice(first, last - first)
        else:
            values = self._items.take(pa.array(self._entries[first:last]))
        return _Entries(self._rows[first:last], values)


class TableEvents:
    """A table of events whose paths can be read as columns."""

    def __init__(self, table: Any) -> None:
        self.table = table if isinstance(table, pa.Table) else pa.Table.from_batches([table])
        self.size: int = self.table.num_rows
        self._plain: dict[str, Array] = {}
        self._maps: dict[str, _MapIndex] = {}

    def column(self, path: str, type_: Type, refuse: Refuse, *, takes_all: bool = False) -> ColumnData:
        """The values of a path as a column of the type."""
        try:
            found = [reached for reached in self._reach(self._field, path, "") if not _is_empty(reached)]
            if not found:
                return missing(type_, self.size)
            if len(found) == 1 and not takes_all:
                column = self._converted(found[0], path, type_, refuse)
                if column is not None:
                    return column
        except _NotPlain:
            pass
        return values_column(self._values(path, type_.kind), type_, refuse, takes_all=takes_all)

    def present(self, path: str) -> NDArray[np.bool_]:
        """Which rows have a value of any type at the path."""
        there = np.zeros(self.size, np.bool_)
        try:
            for reached in self._reach(self._field, path, ""):
                if isinstance(reached, _Entries):
                    there[reached.rows] |= validity(reached.values)
                else:
                    there |= reached.present if isinstance(reached, _Elements) else validity(reached)
        except _NotPlain:
            return np.array([value is not None for value in self._values(path, Kind.STRING)], np.bool_)
        return there

    def dicts(self, paths: Iterable[str]) -> list[dict[str, Any]]:
        """The events as dicts that hold what the paths lead to."""
        sought = dict.fromkeys(name for path in paths for name in (path, path.partition(".")[0]))
        names = [name for name in sought if self._field(name) is not None]
        if not names:
            return [{} for _ in range(self.size)]
        columns = [python_values(self._field(name)) for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def _field(self, name: str) -> Array | None:
        if name not in self._plain:
            positions = self.table.schema.get_all_field_indices(name)
            if len(positions) > 1:
                raise SchemaError(f"the table has {len(positions)} columns named {name!r}\nHint: rename all but one")
            self._plain[name] = plain(self.table.column(positions[0])) if positions else None
        return self._plain[name]

    def _reach(self, field: Field, path: str, above: str) -> Iterable[_Reached]:
        """Every place where the path leads, the first one first."""
        whole = field(path)
        if whole is not None:
            yield whole
        head, dot, rest = path.partition(".")
        below = field(head) if dot else None
        if below is None:
            return
        if pa.types.is_struct(below.type):
            yield from self._reach(_struct_field(below), rest, f"{above}{head}.")
        elif pa.types.is_map(below.type):
            if not pa.types.is_string(below.type.key_type) or pa.types.is_nested(below.type.item_type):
                raise _NotPlain
            place = above + head
            if place not in self._maps:
                self._maps[place] = _MapIndex(below)
            yield self._maps[place].find(rest)
        elif is_list(below.type) and pa.types.is_nested(below.type.value_type):
            start, elements, present = list_parts(below)
            if not pa.types.is_struct(elements.type):
                raise _NotPlain
            for reached in self._reach(_struct_field(plain(elements)), rest, f"{above}{head}[]."):
                if isinstance(reached, _Entries | _Elements) or is_list(reached.type):
                    raise _NotPlain
                yield _Elements(start, reached, present)

    def _converted(self, reached: _Reached, path: str, type_: Type, refuse: Refuse) -> ColumnData | None:
        if isinstance(reached, _Entries):
            rows = reached.rows

            def refuse_row(entry: int, reason: str) -> None:
                if refuse is not None:
                    refuse(int(rows[entry]), reason)

            column = _typed(reached.values, path, type_, refuse_row if refuse else None)
            return None if column is None else _scattered(column, rows, self.size)
        if isinstance(reached, _Elements):
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
        """The values of a path, found in Python."""
        head = path.partition(".")[0]
        names = [name for name in dict.fromkeys((path, head)) if self._field(name) is not None]
        columns = [python_values(self._field(name)) for name in names]
        find = finder(path, flat=kind is not Kind.POINT)
        return [find(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]


def _struct_field(array: Array) -> Field:
    stored = array.type

    def field(name: str) -> Array | None:
        position = stored.get_field_index(name)  # -1 also for a name that is there twice
        return plain(pc.struct_field(array, position)) if position >= 0 else None

    return field


def _is_empty(reached: _Reached) -> bool:
    values = reached.values if isinstance(reached, _Entries) else reached
    return not isinstance(values, _Elements) and values.null_count == len(values)


def _typed(array: Array, path: str, type_: Type, refuse: Refuse) -> ColumnData | None:
    stored = array.type
    if pa.types.is_null(stored):
        return missing(type_, len(array))
    fits = check_stored(stored, path, type_, refuse is not None)
    return array_column(array, type_, refuse) if fits else missing(type_, len(array))


def check_stored(stored: Any, path: str, type_: Type, declared: bool) -> bool:
    """Whether values of an Arrow type may be ones of the type; SchemaError if none can be matched at all.

    That the schema has `declared` the type makes it an error too if none fits.
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


def _unreadable(stored: Any) -> bool:
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


def _fits(stored: Any, type_: Type) -> bool:
    """Some value of this Arrow type may be one of the type."""
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
        return KeyColumn(keys, present)
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
