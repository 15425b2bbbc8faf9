"""Encodes events as typed columns, once, when they enter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.errors import InputError
from vedette.schema.columns import (
    Column,
    ColumnData,
    KeyColumn,
    ListColumn,
    TextColumn,
    as_lists,
    missing,
    missing_scalars,
    present_in,
    take_out,
)
from vedette.schema.compare import RELATIONS, compared, compared_as, related
from vedette.schema.exact_numbers import integer_column
from vedette.schema.parsed_texts import Refuse, Scalars, read_texts
from vedette.schema.paths import finder
from vedette.schema.readings import EVERYTHING, TYPES, view_values
from vedette.schema.schema import Schema
from vedette.schema.table_paths import TableEvents
from vedette.schema.types import FLOAT, STRING, TIMESTAMP, Kind, Type
from vedette.schema.values import values_column

_DAY = 86_400_000_000  # in microseconds


def seen_as(data: ColumnData, type_: Type, wanted: Type) -> ColumnData:
    """The column (of `type_`) read as the wanted type; values that cannot be read so are missing."""
    if isinstance(data, ListColumn):
        if not wanted.is_list:
            return missing(wanted, len(data.present))
        return ListColumn(data.start, _scalars(data.elements, type_.kind, wanted.kind), data.present)
    if wanted.is_list:
        return missing(wanted, _size(data))
    return _scalars(data, type_.kind, wanted.kind)


def _scalars(data: Scalars, kind: Kind, wanted: Kind) -> Scalars:
    if kind is wanted:
        return data
    if isinstance(data, TextColumn) and kind is Kind.STRING and not (wanted.numeric or wanted is Kind.BOOL):
        return read_texts(data, wanted, None)
    if isinstance(data, KeyColumn):
        if (kind, wanted) == (Kind.INT, Kind.FLOAT):
            return integer_column(data.keys, data.present)
        if (kind, wanted) == (Kind.DATE, Kind.TIMESTAMP):
            return KeyColumn(data.keys * _DAY, data.present)
        if (kind, wanted) == (Kind.TIMESTAMP, Kind.DATE):
            days = data.keys // _DAY
            present = data.present & (days * _DAY == data.keys)
            return KeyColumn(np.where(present, days, 0), present)
    return missing_scalars(wanted, _size(data))


def _size(data: Scalars) -> int:
    if isinstance(data, KeyColumn):
        return len(data.keys)
    return len(data.codes) if hasattr(data, "codes") else len(data.x)


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that is rejected because one of its values breaks the schema."""

    row: int
    attribute: str
    reason: str


@dataclass(frozen=True, slots=True)
class EncodedEvents:
    """The columns of some events. A rejected row keeps its place, with every value missing."""

    size: int
    data: dict[Column, ColumnData]
    rejects: list[Reject]  # in the order of rows, at most one per row

    @property
    def accepted(self) -> NDArray[np.bool_]:
        """The rows that are not rejected, as a mask."""
        accepted = np.ones(self.size, np.bool_)
        accepted[[reject.row for reject in self.rejects]] = False
        return accepted


class _Events(Protocol):
    size: int

    def column(self, path: str, type_: Type, refuse: Refuse, *, takes_all: bool = False) -> ColumnData: ...

    def present(self, path: str) -> NDArray[np.bool_]: ...

    def view(self, path: str, reading: str) -> ColumnData: ...


def encode(
    events: Sequence[Mapping[str, Any]] | pa.Table | pa.RecordBatch, columns: Sequence[Column], schema: Schema
) -> EncodedEvents:
    """Encode the given columns of events: a sequence of dicts, or an Arrow table or record batch.

    A value that breaks the type its attribute has in the schema rejects its row. If a column reads a string
    as another type, or the attribute is not in the schema, such a value is just missing.
    """
    check_batch(events)
    if isinstance(events, pa.Table | pa.RecordBatch):
        whole = any(EVERYTHING in column.paths for column in columns)
        encoder = _Encoder(TableEvents(events, whole=whole), schema)
    else:
        encoder = _Encoder(_DictEvents(events), schema)
        for row, event in enumerate(() if columns else events):  # no column reads them
            check_event(event, row)
    data = {column: encoder.column(column) for column in columns}
    rejects = [encoder.rejects[row] for row in sorted(encoder.rejects)]
    if rejects:
        rows = np.array([reject.row for reject in rejects], np.int64)
        data = {column: take_out(one, rows) for column, one in data.items()}
    return EncodedEvents(encoder.size, data, rejects)


def check_batch(events: object) -> None:
    """InputError if the argument is not a sequence or table of events, saying what to pass instead."""
    if isinstance(events, list | pa.Table | pa.RecordBatch):
        return
    name = type(events).__name__
    if isinstance(events, Mapping):
        hint = "hand in a list of events; match() takes a single one"
    elif type(events).__module__.partition(".")[0] == "pandas":
        hint = "pyarrow.Table.from_pandas(events) is a table"
    elif callable(getattr(events, "to_arrow", None)):
        hint = "events.to_arrow() is a table"
    elif isinstance(events, Iterator):
        hint = "list(events) is a list"
    elif isinstance(events, str | bytes) or not isinstance(events, Sized) or not isinstance(events, Iterable):
        hint = "hand in a list of dicts, an Arrow table or a record batch"
    else:
        return
    raise InputError(f"the events are a {name}, not a list of events or an Arrow table\nHint: {hint}")


def check_event(event: object, row: int | None = None) -> None:
    """InputError if the argument is not an event."""
    if isinstance(event, Mapping):
        return
    which = "the event" if row is None else f"event {row}"
    name = type(event).__name__
    what = "None" if event is None else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
    several = isinstance(event, list | tuple | pa.Table | pa.RecordBatch) and row is None
    hint = "match_batch() takes several events" if several else 'an event is a mapping, such as {"price": 119.5}'
    raise InputError(f"{which} is {what}, not a mapping of attributes to values\nHint: {hint}")


class _DictEvents:
    """Events given as dicts; every path is looked up once."""

    def __init__(self, events: Sequence[Mapping[str, Any]]) -> None:
        self.events = events
        self.size = len(events)
        self._found: dict[tuple[str, bool], list[Any]] = {}

    def column(self, path: str, type_: Type, refuse: Refuse, *, takes_all: bool = False) -> ColumnData:
        return values_column(self._values(path, type_.kind), type_, refuse, takes_all=takes_all)

    def present(self, path: str) -> NDArray[np.bool_]:
        return np.array([value is not None for value in self._values(path, Kind.STRING)], np.bool_)

    def view(self, path: str, reading: str) -> ColumnData:
        try:
            values = view_values(reading, path, self.events)
        except (AttributeError, TypeError):
            self._check()
            raise
        if reading == "items":
            return _items(values)
        return values_column(values, TYPES[reading], None)

    def _check(self) -> None:
        for row, event in enumerate(self.events):
            check_event(event, row)

    def _values(self, path: str, kind: Kind) -> list[Any]:
        flat = kind is not Kind.POINT or "." not in path
        values = self._found.get((path, flat))
        if values is None:
            try:
                if "." in path:
                    values = list(map(finder(path, flat=flat), self.events))
                else:
                    values = [event.get(path) for event in self.events]
            except (AttributeError, TypeError):
                self._check()
                raise
            self._found[path, flat] = values
        return values


def _items(values: list[Any]) -> ColumnData:
    """Values of `items`, each one text or a list of texts: as texts if all are, else as lists, which is slower."""
    if any(type(value) is list for value in values):
        return values_column([[value] if type(value) is str else value for value in values], TYPES["items"], None)
    return values_column(values, STRING, None)


class _Encoder:
    """Encodes the columns of one batch of events; values shared by several columns are read once."""

    def __init__(self, events: _Events, schema: Schema) -> None:
        self.events = events
        self.size = events.size
        self.schema = schema
        self.rejects: dict[int, Reject] = {}
        self._made: dict[tuple[str, Type], ColumnData] = {}
        self._views: dict[tuple[str, str], ColumnData] = {}

    def column(self, column: Column) -> ColumnData:
        if column.reading is not None:
            return self._viewed(column, column.reading)
        if column.other is not None:
            return self._comparison(column.path, column.other)
        return self._as(column.path, column.type)

    def _as(self, path: str, wanted: Type) -> ColumnData:
        made = self._made.get((path, wanted))
        if made is None:
            declared = self.schema.type_of(path)
            if declared is None:
                made = self.events.column(path, wanted, None)
            elif declared == wanted:
                takes_all = self.schema.takes_all(path)
                made = self.events.column(path, wanted, self._refuse(path), takes_all=takes_all)
            else:
                made = seen_as(self._as(path, declared), declared, wanted)
            self._made[path, wanted] = made
        return made

    def _viewed(self, column: Column, reading: str) -> ColumnData:
        if column.other is not None:
            left, right = self._view(column.path, "text"), self._view(column.other, "text")
            if reading in RELATIONS and isinstance(left, TextColumn) and isinstance(right, TextColumn):
                return related(left, reading, right)
            return compared(left, Kind.STRING, right, Kind.STRING)
        data = self._view(column.path, reading)
        if isinstance(data, TextColumn) and column.type.is_list:
            if column.type == TYPES[reading]:
                return data
            data = as_lists(data)
        return seen_as(data, TYPES[reading], column.type)

    def _view(self, path: str, reading: str) -> ColumnData:
        made = self._views.get((path, reading))
        if made is None:
            made = self._views[path, reading] = self.events.view(path, reading)
        return made

    def _refuse(self, path: str) -> Refuse:
        def refuse(row: int, reason: str) -> None:
            if row not in self.rejects:
                self.rejects[row] = Reject(row, path, reason)

        return refuse

    def _comparison(self, path: str, other: str) -> KeyColumn:
        declared, against = self.schema.type_of(path), self.schema.type_of(other)
        if path == other:  # a present value equals itself
            there = self.events.present(path) if declared is None else present_in(self._as(path, declared))
            return KeyColumn(there.astype(np.int64), there)
        keys, present = np.zeros(self.size, np.int64), np.zeros(self.size, np.bool_)
        for left, right in compared_as(declared, against):
            found = compared(self._as(path, left), left.kind, self._as(other, right), right.kind)
            fresh = found.present & ~present
            if left == TIMESTAMP and declared is against is None:  # a number may be read as a time, but is not one
                for number in (self._as(path, FLOAT), self._as(other, FLOAT)):
                    fresh &= ~number.present if isinstance(number, KeyColumn) else True
            keys[fresh], present[fresh] = found.keys[fresh], True
            if present.all():
                break
        return KeyColumn(keys, present)
