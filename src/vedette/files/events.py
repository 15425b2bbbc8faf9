"""Events from files: JSON lines, CSV, Parquet; a chunk at a time, so that memory stays bounded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import orjson

from vedette.files.chunks import EventChunk, RejectedEvent
from vedette.files.csv_events import CsvEvents
from vedette.files.jsonl_events import json_chunks, open_cloud_event
from vedette.files.lines import split
from vedette.files.parquet_events import ParquetEvents
from vedette.files.sources import Source, source_of
from vedette.schema.arrow_types import infer_arrow
from vedette.schema.infer import Inference
from vedette.schema.readings import EVERYTHING
from vedette.schema.schema import Schema

__all__ = ["EventChunk", "Events", "RejectedEvent", "read_events"]

FORMATS = ("jsonl", "csv", "parquet")


def read_events(
    source: str | os.PathLike[str],
    *,
    format: str | None = None,
    chunk: int = 65_536,
    schema: Schema | None = None,
    paths: Iterable[str] | None = None,
    replayed: bool = False,
) -> Events:
    """The events of a file, a folder of Parquet files, or standard input (`-`: JSON lines unless `format` says else).

    An event's id is its `id` as text, or else its row number: from 0, counted over all rows of the source, also
    those that are rejected; blank lines are none. A CloudEvent keeps its attributes as they are and its data
    below `data`. With `paths`, the columns of a Parquet file that none of them leads to are not read. What was read
    of standard input stays in memory if it is to be `replayed`: to be cut into pieces, from the first event on.
    """
    place = source_of(source, format, FORMATS)
    place.replayed = replayed
    return Events(place, chunk, schema, paths)


class Events(Iterator[EventChunk]):
    """Chunks of events, once, from start to end; and the schema they have."""

    def __init__(self, source: Source, chunk: int, schema: Schema | None, paths: Iterable[str] | None) -> None:
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
        """The given schema, or the (open) one that the events suggest.

        A Parquet file says it itself. JSON and CSV files are read a first time for it, from start to end. What can
        be read only once (standard input, a pipe) is judged by its first chunk; later events that break this
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
        """The source can be read from its start again, so that its schema comes from all of it."""
        return self.source.read_twice

    @property
    def progress(self) -> float | None:
        """How much has been read, from 0 to 1; None if that cannot be told."""
        return self.parquet.progress if self.parquet is not None else self.source.progress

    def __next__(self) -> EventChunk:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        return next(self._chunks)

    def _inferred(self) -> Schema:
        inference = Inference()
        if self.read_twice:
            for lines in split(Source(self.source.path, "jsonl").blocks()):
                inference.add(filter(None, map(_event, lines.lines)))
        else:
            self._first = next(self._chunks, None) if self._first is None else self._first
            if self._first is not None:
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
    """The columns of a table that a path may lead to: itself, and what comes before its first dot; None: all."""
    heads = None if paths is None else {name for path in paths for name in (path, path.partition(".")[0])}
    return None if heads is None or EVERYTHING in heads else heads
