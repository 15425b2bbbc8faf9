"""Read events from files: JSON lines, CSV, Parquet; in chunks, so that memory stays bounded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import orjson

from vedette.io.byte_sources import InputSource, source_of, split
from vedette.io.chunks import EventChunk, RejectedRow
from vedette.io.csv_events import CsvEvents
from vedette.io.jsonl_events import json_chunks, open_cloud_event
from vedette.io.parquet_events import ParquetEvents
from vedette.schema.arrow_types import infer_arrow
from vedette.schema.infer import SchemaInference
from vedette.schema.readings import EVERYTHING
from vedette.schema.schema import Schema

__all__ = ["EventChunk", "EventReader", "RejectedRow", "read_events"]

FORMATS = ("jsonl", "csv", "parquet")


def read_events(
    source: str | os.PathLike[str],
    *,
    format: str | None = None,
    chunk: int = 65_536,
    schema: Schema | None = None,
    paths: Iterable[str] | None = None,
    replayed: bool = False,
) -> EventReader:
    """Read events from a file, a folder of Parquet files, or standard input (`-`: JSON lines, or another `format`).

    An event's id is its `id` as text, or else its row number: from 0, counted over all rows of the source, including
    rejected ones; blank lines are not rows. A CloudEvent keeps its attributes as they are and has its data
    below `data`. With `paths`, the columns of a Parquet file that none of them leads to are not read. Standard input
    that is to be `replayed` is kept in memory after reading: to be cut into pieces, from the first event on.
    """
    place = source_of(source, format, FORMATS)
    place.replayed = replayed
    return EventReader(place, chunk, schema, paths)


class EventReader(Iterator[EventChunk]):
    """Yields chunks of events, once, from start to end; and knows their schema."""

    def __init__(self, source: InputSource, chunk: int, schema: Schema | None, paths: Iterable[str] | None) -> None:
        self.source = source
        self._schema = schema
        self._first: EventChunk | None = None
        self.parquet: ParquetEvents | None = None
        self.csv: CsvEvents | None = None
        if source.format == "parquet":
            self.parquet = ParquetEvents(source, _heads(paths))
            self._chunks = self.parquet.chunks(chunk)
        elif source.format == "csv":
            self.csv = CsvEvents(source, schema)
            self._chunks = self.csv.chunks(chunk)
        else:
            self._chunks = json_chunks(split(source.blocks()), chunk)

    @property
    def schema(self) -> Schema:
        """The given schema, or the (open) one inferred from the events.

        A Parquet file has its own. JSON and CSV files are read a first time for it, from start to end. For what can
        be read only once (standard input, a pipe) the first chunk decides; later events that break this
        schema are rejected.
        """
        if self._schema is None:
            if self.parquet is not None:
                self._schema = infer_arrow(self.parquet.schema)
            elif self.csv is not None:
                self._schema = self.csv.infer()
            else:
                self._schema = self._inferred()
        return self._schema

    @property
    def read_twice(self) -> bool:
        """Whether the source can be read again from its start, so that its schema comes from all events."""
        return self.source.read_twice

    @property
    def progress(self) -> float | None:
        """The part that has been read, from 0 to 1; None if unknown."""
        return self.parquet.progress if self.parquet is not None else self.source.progress

    def __next__(self) -> EventChunk:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        return next(self._chunks)

    def _inferred(self) -> Schema:
        inference = SchemaInference()
        if self.read_twice:
            for lines in split(InputSource(self.source.path, "jsonl").blocks()):
                inference.add(filter(None, map(_event, lines.lines)))
        else:
            self._first = next(self._chunks, None) if self._first is None else self._first
            if self._first is not None:
                assert isinstance(self._first.events, list)  # only Parquet has tables
                inference.add(self._first.events)
        return inference.schema()


def _event(line: bytes) -> dict[str, object] | None:
    try:
        event = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if type(event) is not dict:
        return None
    if "specversion" in event:
        open_cloud_event(event)
    return event


def _heads(paths: Iterable[str] | None) -> set[str] | None:
    """The columns of a table to which a path may lead: its whole name, and its part before the first dot; None: all."""
    heads = None if paths is None else {name for path in paths for name in (path, path.partition(".")[0])}
    return None if heads is None or EVERYTHING in heads else heads
