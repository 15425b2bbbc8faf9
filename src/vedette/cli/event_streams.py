"""The events of one source as commands need them: with a schema, a first chunk to look at, and only needed columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vedette.cli.type_conflicts import doubtful_attributes, held_by, wanted_types
from vedette.io.chunks import EventChunk
from vedette.io.events import read_events
from vedette.io.pieces import CutPiece, PieceSizes, cut
from vedette.io.subscription_rows import SubscriptionRecord
from vedette.schema.columns import Column
from vedette.schema.schema import Schema
from vedette.schema.types import Type


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
