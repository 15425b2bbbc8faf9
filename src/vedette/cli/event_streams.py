"""The events of one source as commands need them: with a schema, a first chunk to look at, and only needed columns.

One bad value among many makes an attribute a mixture in JSON, and a text in CSV. If subscriptions compare it with
numbers, say, and most events hold numbers there, it is a number, and the others are rejected with their reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from vedette.errors import FilterError
from vedette.io.chunks import EventChunk
from vedette.io.events import read_events
from vedette.io.pieces import CutPiece, PieceSizes, cut
from vedette.io.subscription_rows import SubscriptionRecord
from vedette.language.ast import Expression
from vedette.language.check import check
from vedette.language.checked_tree import CheckedExpression
from vedette.language.parser import parse
from vedette.schema.columns import Column
from vedette.schema.encode import encode
from vedette.schema.schema import Schema
from vedette.schema.types import STRING, Type

_MOST = 0.5  # of the first events, at least, must hold what subscriptions expect


def doubtful_attributes(schema: Schema, *, of_texts: bool) -> frozenset[str]:
    """The attributes whose inferred type may result only from disagreeing values."""
    candidates = schema if of_texts else schema.mixed
    return frozenset(path for path in candidates if schema[path] == STRING)


def wanted_types(records: Iterable[SubscriptionRecord], schema: Schema, paths: frozenset[str]) -> dict[str, Type]:
    """Attribute -> type, from subscriptions that are valid only with it; empty if they contradict each other."""
    sure = {path: type_ for path, type_ in schema.items() if path not in paths}
    loose = Schema(sure, closed=False, mixed=schema.mixed - paths)
    wanted: dict[str, Type] = {}
    for record in records:
        try:
            expression = parse(record.when)
        except FilterError:
            continue
        if _checked(expression, schema, record.when) is not None:
            continue
        checked = _checked(expression, loose, record.when)
        for column in () if checked is None else checked.columns():
            plain = column.other is None and column.reading is None
            if column.path not in paths or not plain or column.type == STRING:
                continue
            if wanted.setdefault(column.path, column.type) != column.type:
                return {}
    return wanted


def held_by(before: EventChunk, after: EventChunk, wanted: Mapping[str, Type], schema: Schema) -> bool:
    """Whether most of the events that could be read `before` have the expected types: they are not rejected `after`."""
    encoded = encode(after.events, [Column(path, type_) for path, type_ in wanted.items()], schema)
    return len(after) - len(encoded.rejects) >= _MOST * len(before)


def _checked(expression: Expression, schema: Schema, text: str) -> CheckedExpression | None:
    try:
        return check(expression, schema, text)
    except FilterError:
        return None


def paths_of(columns: Iterable[Column]) -> set[str]:
    """The attributes from which columns are read."""
    return {path for column in columns for path in column.paths}


class EventStream(Iterator[EventChunk]):
    """Chunks of events from a file or standard input."""

    def __init__(self, place: str, format: str | None, given: Schema | None, *, replayed: bool = False) -> None:
        self._place, self._format, self._given = place, format, given
        self._events = read_events(place, format=format, schema=given, replayed=replayed)
        self._settled: Schema | None = None
        self._held: EventChunk | None = None

    @property
    def name(self) -> str:
        """The name in messages."""
        return self._events.source.name

    @property
    def schema(self) -> Schema:
        """The given schema, or the inferred one; that may mean reading a file once."""
        return self._events.schema if self._settled is None else self._settled

    @property
    def progress(self) -> float | None:
        """The part that has been read, from 0 to 1; None if unknown."""
        return self._events.progress

    def pieces(self, sizes: PieceSizes) -> Iterator[CutPiece]:
        """All events from the first one, in pieces that can be read elsewhere; standard input has to be `replayed`."""
        self._held = None
        return cut(self._events, sizes)

    def __next__(self) -> EventChunk:
        if self._held is None:
            return next(self._events)
        held, self._held = self._held, None
        return held

    def peek(self) -> EventChunk | None:
        """The first chunk, without consuming it; None if there are no events."""
        if self._held is None:
            self._held = next(self._events, None)
        return self._held

    @property
    def can_settle(self) -> bool:
        """Whether some attributes have a type only because their values disagree."""
        return self._given is None and bool(self._doubtful())

    def settle(self, records: Iterable[SubscriptionRecord]) -> dict[str, Type]:
        """Give doubtful attributes the types that subscriptions expect, if most events agree; return the changes."""
        wanted = wanted_types(records, self.schema, self._doubtful()) if self.can_settle else {}
        if not wanted:
            return {}
        schema = self.schema
        settled = Schema({**schema.attributes, **wanted}, closed=False, mixed=schema.mixed - wanted.keys())
        events, before = self._events, self.peek()
        after = before
        if events.source.format == "csv":
            events = read_events(self._place, format=self._format, schema=settled)
            after = next(events, None)
        if before is not None and after is not None and not held_by(before, after, wanted, settled):
            return {}
        self._events, self._held, self._settled = events, after, settled
        return wanted

    def only(self, paths: Iterable[str]) -> None:
        """Read only these attributes from now on, if a file has columns; starts from the beginning."""
        if self._events.source.format == "parquet" and self._events.read_twice:
            self._events = read_events(self._place, format=self._format, schema=self._given, paths=paths)
            self._held = None

    def _doubtful(self) -> frozenset[str]:
        if self._events.source.format == "csv" and not self._events.read_twice:
            return frozenset()
        return doubtful_attributes(self.schema, of_texts=self._events.source.format == "csv")
