"""The events of a batch as operators read them: dicts or an Arrow table, read the same way.

Values are typed by the schema. In tables that operators get, an `ip` is text, a `region` its well-known text and
a `point` a struct of `lon` and `lat`; every other type is Arrow's own. An attribute that the schema does not know is
passed on unchanged.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vedette.errors import SchemaError
from vedette.language.evaluate import value_of
from vedette.schema.arrays import is_text, is_text_dictionary, plain
from vedette.schema.encode import check_batch
from vedette.schema.python_values import python_values
from vedette.schema.schema import Schema
from vedette.schema.types import Kind, Type

Rows: TypeAlias = NDArray[np.int64]

_ARROW: Final = {
    Kind.INT: pa.int64(),
    Kind.FLOAT: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.BOOL: pa.bool_(),
    Kind.TIMESTAMP: pa.timestamp("us", "UTC"),
    Kind.DATE: pa.date32(),
    Kind.IP: pa.string(),
    Kind.POINT: pa.struct([("lon", pa.float64()), ("lat", pa.float64())]),
    Kind.REGION: pa.string(),
}


class _SchemaViolation(NamedTuple):
    """Placeholder for a value that breaks the schema."""

    reason: str


class SharedResults(NamedTuple):
    """Results shared by several matchers of the same events: event numbers by row, and results by these numbers."""

    numbers: Rows
    found: dict[Hashable, dict[int, Any]]


class EventSource:
    """The events of a batch by row. Each value is read once, however many evaluations ask for it."""

    def __init__(
        self,
        events: Sequence[Mapping[str, Any]] | pa.Table | pa.RecordBatch,
        schema: Schema,
        ids: Sequence[str] | None = None,
        shared: SharedResults | None = None,
    ) -> None:
        check_batch(events)
        if isinstance(events, pa.RecordBatch):
            events = pa.Table.from_batches([events])
        self._stored: _StoredEvents = _TableEvents(events) if isinstance(events, pa.Table) else _DictRows(events)
        self._schema = schema
        self._ids = ids
        self.shared = shared
        self._values: dict[str, dict[int, Any]] = {}

    def __len__(self) -> int:
        return self._stored.size

    def name(self, row: int) -> str:
        """The event's name in messages: its id, or else its row."""
        return str(row if self._ids is None else self._ids[row])

    def event(self, row: int) -> Mapping[str, Any]:
        """The whole event, unchanged."""
        return self._stored.events(np.array([row], np.int64))[0]

    def events(self, rows: Rows) -> list[Mapping[str, Any]]:
        """Whole events, unchanged."""
        return self._stored.events(rows)

    def value(self, path: str, row: int) -> Any:
        """The value of an attribute; None if it is missing, SchemaError if it breaks the schema."""
        known: Mapping[int, Any] = self._values.get(path, {})
        if row not in known:
            known = self.load(path, np.array([row], np.int64))
        value = known[row]
        if isinstance(value, _SchemaViolation):
            raise SchemaError(value.reason)
        return value

    def values(self, paths: Iterable[str], row: int) -> dict[str, Any]:
        """The values of some attributes, by path."""
        return {path: self.value(path, row) for path in paths}

    def load(self, path: str, rows: Rows) -> Mapping[int, Any]:
        """Read an attribute of many events at once, which is faster than one by one."""
        known = self._values.setdefault(path, {})
        missing = [row for row in rows.tolist() if row not in known]
        if missing:
            parts = self._stored.parts(path, np.array(missing, np.int64))
            known.update(zip(missing, (self._read(path, part) for part in parts), strict=True))
        return known

    def refused(self, paths: Iterable[str] | None, rows: Rows) -> dict[int, str]:
        """The rows in which one of the attributes (None: any) breaks the schema, and why."""
        found: dict[int, str] = {}
        for path in self._stored.names(rows) if paths is None else paths:
            known = self.load(path, rows)
            found |= {row: value.reason for row in rows.tolist() if isinstance(value := known[row], _SchemaViolation)}
        return found

    def column(self, path: str, rows: Rows) -> pa.Array:
        """An attribute as an Arrow array; SchemaError if its values do not fit the schema, or each other."""
        type_ = self._schema.type_of(path)
        target = None if type_ is None else _arrow_type(type_)
        stored = self._stored.array(path)
        if stored is not None and (type_ is None or _is_quick(stored.type, type_)):
            taken = _simple(plain(stored.take(pa.array(rows))))
            return taken if target is None else taken.cast(target, safe=False)
        self.load(path, rows)
        values = [self.value(path, row) for row in rows.tolist()]
        if type_ is not None:
            values = [_arrow_value(value, type_) for value in values]
        try:
            return pa.array(values, target)
        except (pa.ArrowException, OverflowError) as error:
            raise SchemaError(
                f"attribute {path!r}: its values cannot be one Arrow column: {error}\n"
                "Hint: give it a type in the schema, or let the operator take one event at a time"
            ) from None

    def table(self, paths: Sequence[str] | None, rows: Rows) -> pa.Table:
        """Some attributes (None: all) of some events as an Arrow table, a column for each path."""
        names = self._stored.names(rows) if paths is None else paths
        # Arrow remembers how many rows there are only for what has been a column.
        made = pa.table([pa.nulls(len(rows)), *(self.column(name, rows) for name in names)], names=["", *names])
        return made.select(range(1, len(names) + 1))

    def _read(self, path: str, event: Mapping[str, Any]) -> Any:
        try:
            return value_of(path, None, event, self._schema)
        except SchemaError as error:
            return _SchemaViolation(str(error))


# ---------------------------------------------------------------- how events are stored


class _StoredEvents(Protocol):
    size: int

    def events(self, rows: Rows) -> list[Mapping[str, Any]]: ...

    def parts(self, path: str, rows: Rows) -> list[Mapping[str, Any]]:
        """Those parts of the events that a path leads through."""

    def array(self, path: str) -> Any | None:
        """All values of a path, if they are in one column already."""

    def names(self, rows: Rows) -> list[str]: ...


class _DictRows:
    def __init__(self, events: Sequence[Mapping[str, Any]]) -> None:
        self._events = events
        self.size = len(events)

    def events(self, rows: Rows) -> list[Mapping[str, Any]]:
        return [self._events[row] for row in rows.tolist()]

    def parts(self, path: str, rows: Rows) -> list[Mapping[str, Any]]:
        return self.events(rows)

    def array(self, path: str) -> None:
        return None

    def names(self, rows: Rows) -> list[str]:
        return list(dict.fromkeys(name for event in self.events(rows) for name in event))


class _TableEvents:
    def __init__(self, table: pa.Table | pa.RecordBatch) -> None:
        names = table.column_names
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise SchemaError(f"the table has several columns named {twice!r}\nHint: rename all but one")
        self._table = table
        self.size: int = table.num_rows

    def events(self, rows: Rows) -> list[Mapping[str, Any]]:
        return self._dicts(self._table.column_names, rows)

    def parts(self, path: str, rows: Rows) -> list[Mapping[str, Any]]:
        wanted = dict.fromkeys((path, path.partition(".")[0]))
        return self._dicts([name for name in wanted if name in self._table.column_names], rows)

    def _dicts(self, names: Sequence[str], rows: Rows) -> list[Mapping[str, Any]]:
        if not names:
            return [{} for _ in rows]
        taken = self._table.select(names).take(pa.array(rows))
        columns = [python_values(plain(column)) for column in taken.columns]
        return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]

    def array(self, path: str) -> pa.Array | pa.ChunkedArray | None:
        names = self._table.column_names
        head, _, rest = path.partition(".")
        if path in names:
            # A null under the whole name would have to be looked for below the head.
            return self._table.column(path) if not rest or head not in names else None
        below = self._table.column(head) if head in names else None
        while below is not None and rest:
            name, _, rest = rest.partition(".")
            stored = below.type
            position = stored.get_field_index(name) if pa.types.is_struct(stored) else -1
            dotted = rest and pa.types.is_struct(stored) and f"{name}.{rest}" in stored.names
            below = None if position < 0 or dotted else pc.struct_field(below, position)
        return below

    def names(self, rows: Rows) -> list[str]:
        return list(self._table.column_names)


# ---------------------------------------------------------------- types and values in Arrow


def _arrow_type(type_: Type) -> pa.DataType:
    return pa.list_(_ARROW[type_.kind]) if type_.is_list else _ARROW[type_.kind]


def _is_quick(stored: pa.DataType, type_: Type) -> bool:
    """Whether an Arrow cast gives the same as reading value by value."""
    types, kind = pa.types, type_.kind
    if type_.is_list:
        return (types.is_list(stored) or types.is_large_list(stored)) and _is_quick(stored.value_type, type_.element)
    if kind is Kind.INT:
        return bool(types.is_integer(stored) and not types.is_uint64(stored))
    if kind is Kind.FLOAT:
        return bool(types.is_floating(stored) or types.is_integer(stored))
    if kind is Kind.STRING:
        return is_text(stored) or is_text_dictionary(stored)
    if kind is Kind.BOOL:
        return bool(types.is_boolean(stored))
    if kind is Kind.TIMESTAMP:
        return bool(types.is_timestamp(stored))
    return bool(kind is Kind.DATE and types.is_date(stored))


def _simple(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array


def _arrow_value(value: Any, type_: Type) -> Any:
    if value is None:
        return None
    if type_.is_list:
        return [_arrow_value(each, type_.element) for each in value]
    if type_.kind is Kind.POINT:
        return {"lon": value[0], "lat": value[1]}
    if type_.kind is Kind.IP:
        return str(value)
    if type_.kind is Kind.FLOAT:
        return float(value)  # an integer of 64 bits may be none
    return value.wkt if type_.kind is Kind.REGION else value
