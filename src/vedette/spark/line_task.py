"""What a worker does with raw rows: read them as the local engine does, match them, and hand back outcomes.

Raw rows are lines of JSON with the place they come from, values of Kafka's records, or whole CSV files.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlparse

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.accumulators import Accumulator

from vedette.errors import InputError
from vedette.files.chunks import EventChunk, RejectedEvent
from vedette.files.csv_events import CsvEvents
from vedette.files.jsonl_events import json_chunks
from vedette.files.lines import Lines, split
from vedette.files.matched import ChunkMatcher, MatchedSlice, columns_read
from vedette.files.sources import BytesSource
from vedette.kernels.rows import events_of
from vedette.matching.matcher import Matcher
from vedette.schema.schema import Schema
from vedette.spark.kept import kept_columns
from vedette.spark.operators.lines import LineFilters, bindings_of, filters_beside, named
from vedette.spark.snapshots import Shipped, opened

WHOLE = -1  # the block of a file that is one row
_CHUNK = 65_536
_SHOWN = 10_000  # bytes of a file that is set aside as a whole


@dataclass(frozen=True, slots=True)
class LineTask:
    """All that travels to a worker."""

    shipped: Shipped | None  # None: rows are only read
    keep: tuple[str, ...]
    schema: Schema | None  # a given one: every event is held against all of it
    numbers: bool = False  # of rows alone are ids: there is only one file
    before: dict[tuple[str, int], tuple[int, int]] | None = None  # rows and lines before each block of a file
    read: Accumulator[int] | None = None  # hears how many rows there were, good and bad
    operators: LineFilters | None = None  # the filters that call some: then outcomes have bindings, too


class Reader(ABC):
    """Batches of raw rows, as chunks of events, each with the names of its places."""

    @abstractmethod
    def read(self, batch: Any) -> Iterator[tuple[EventChunk, Any, Any]]:
        """Chunks; for each, the id of its n-th event if it has none of its own; and the place of a reject."""


class LineReader(Reader):
    """Lines of files: `value`, `path`, `block` (where Spark began to read)."""

    def __init__(self, task: LineTask) -> None:
        self._task = task
        self._seen: dict[tuple[str, int], tuple[int, int]] = {}

    def read(self, batch: Any) -> Iterator[tuple[EventChunk, Any, Any]]:
        """Rows of one block follow one another, and blocks do too."""
        for begin, end in _runs(batch.column("path"), batch.column("block")):
            key = batch.column("path")[begin].as_py(), batch.column("block")[begin].as_py()
            if key[1] == WHOLE:
                for number in range(begin, end):
                    yield from self._whole_file(key[0], batch.column("value")[number].as_py())
                continue
            row, line = self._seen.get(key) or (self._task.before or {}).get(key, (0, 0))
            lines = batch.column("value").slice(begin, end - begin).to_pylist()
            if line == 0:
                lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
            name, rows = _file_name(key[0]), 0
            if self._task.before is None and key[1] > 0:  # it is not known how many rows come before
                name = f"{name}+{key[1]}"
            for chunk in json_chunks([Lines(1, lines)], _CHUNK):
                yield chunk, *self._names(name, row, line)  # its rows and lines are counted over the whole run
                rows = max(rows, _last_row(chunk) + 1)
            self._seen[key] = row + rows, line + len(lines)

    def _whole_file(self, path: str, content: bytes) -> Iterator[tuple[EventChunk, Any, Any]]:
        name = _file_name(path)
        names = self._names(name, 0, 0)
        try:
            for chunk in json_chunks(split(BytesSource(name, content).blocks()), _CHUNK):
                yield chunk, *names
        except InputError as error:
            yield _unreadable(error), *names

    def _names(self, name: str, row: int, line: int) -> tuple[Any, Any]:
        def id_of(chunk: EventChunk, place: int) -> str:
            number = row + int(chunk.rows[place])
            return str(number) if self._task.numbers else f"{name}:{number}"

        def place_of(reject: RejectedEvent) -> str:
            return name if reject.line is None else f"{name}:{line + reject.line}"

        return id_of, place_of


def _last_row(chunk: EventChunk) -> int:
    return max([*chunk.rows[-1:].tolist(), *(reject.row for reject in chunk.rejects[-1:])], default=-1)


def _unreadable(error: InputError, beginning: str = "") -> EventChunk:
    """No event, and one reject: a file that cannot be read, or no further."""
    broken = RejectedEvent(0, None, str(error), beginning)
    return EventChunk([], pa.array([], pa.string()), np.zeros(0, np.int64), None, [broken], str)


class RecordReader(Reader):
    """Records of Kafka: `value`, `topic`, `partition`, `offset`."""

    def read(self, batch: Any) -> Iterator[tuple[EventChunk, Any, Any]]:
        """All of a batch; records without a value are rejected, too."""
        values = batch.column("value").to_pylist()
        topics, partitions, offsets = (batch.column(name) for name in ("topic", "partition", "offset"))

        def where(line: int) -> str:
            return f"{topics[line - 1].as_py()}/{partitions[line - 1].as_py()}/{offsets[line - 1].as_py()}"

        def id_of(chunk: EventChunk, place: int) -> str:
            assert chunk.lines is not None
            return where(int(chunk.lines[place]))

        def place_of(reject: RejectedEvent) -> str:
            return where(reject.line or 0)

        empty = [
            RejectedEvent(number, number + 1, "the record has no value", "")
            for number, value in enumerate(values)
            if value is None or not value.strip()
        ]
        if empty:
            yield EventChunk([], pa.array([], pa.string()), np.zeros(0, np.int64), None, empty, str), id_of, place_of
        for chunk in json_chunks([Lines(1, [value or b"" for value in values])], _CHUNK):
            yield chunk, id_of, place_of


class CsvReader(Reader):
    """Whole CSV files: `content`, `path`."""

    def __init__(self, task: LineTask) -> None:
        self._task = task

    def read(self, batch: Any) -> Iterator[tuple[EventChunk, Any, Any]]:
        """One file after another; one that cannot be read at all is one reject."""
        for number in range(batch.num_rows):
            name = _file_name(batch.column("path")[number].as_py())
            content = batch.column("content")[number].as_py()

            def id_of(chunk: EventChunk, place: int, name: str = name) -> str:
                row = int(chunk.rows[place])
                return str(row) if self._task.numbers else f"{name}:{row}"

            def place_of(reject: RejectedEvent, name: str = name) -> str:
                return f"{name}:{reject.line}" if reject.line is not None else name

            try:
                for chunk in CsvEvents(BytesSource(name, content), self._task.schema).chunks(_CHUNK):
                    yield chunk, id_of, place_of
            except InputError as error:
                yield _unreadable(error, content[:_SHOWN].decode("utf-8", "replace")), id_of, place_of


def match_rows(batches: Iterator[Any], task: LineTask, reader: Reader, schema: Any) -> Iterator[Any]:
    """Batches of raw rows in, batches of outcomes (with this Arrow schema) out."""
    if task.shipped is None:
        raise ValueError("nothing to match with")
    matcher = opened(task.shipped)
    subscribed = _Subscribed(matcher, task.operators)
    columns = columns_read(matcher, task.schema)
    with filters_beside(matcher, task.operators) as operators:
        if operators is not None:
            columns = tuple(dict.fromkeys((*columns, *operators.matcher.columns)))
        chunks = ChunkMatcher(matcher, columns, operators=operators)
        for batch in batches:
            for chunk, id_of, place_of in reader.read(batch):
                called = chunk if operators is None else named(chunk, id_of)
                for found in chunks.match(called):
                    if task.read is not None:
                        task.read.add(found.read)
                    if len(found.rows.subscription):
                        yield _matches(called, found, id_of, task, subscribed, schema)
                    if found.rejects:
                        yield _rejects(found.rejects, place_of, schema)


class _Subscribed:
    """What subscriptions are called, and whose they are, by their numbers: those that call operators come last."""

    def __init__(self, plain: Matcher, operators: LineFilters | None) -> None:
        self.version = plain.version
        self._plain, self._size = (plain.ids, plain.segment.records.table.column(2)), len(plain)
        records = () if operators is None else operators.filters.records
        given = ([each.id for each in records], [each.subscriber for each in records])
        self._own = [pa.array(each, pa.string()) for each in given] if records else None

    def names(self, numbers: NDArray[np.int32]) -> list[Any]:
        """Ids and subscribers."""
        if self._own is None:
            return [column.take(pa.array(numbers)).cast(pa.string()) for column in self._plain]
        own = numbers >= self._size
        return [
            pc.coalesce(
                plain.take(pa.array(numbers, mask=own)).cast(pa.string()),
                mine.take(pa.array(numbers - self._size, mask=~own)),
            )
            for plain, mine in zip(self._plain, self._own, strict=True)
        ]


def _matches(
    chunk: EventChunk, found: MatchedSlice, id_of: Any, task: LineTask, subscribed: _Subscribed, schema: Any
) -> Any:
    events = np.flatnonzero(np.diff(found.rows.start)) + found.begin
    own = chunk.own_ids.take(pa.array(events))
    if own.null_count:
        missing = np.flatnonzero(own.is_null())
        named = np.array(own.to_pylist(), object)
        named[missing] = [id_of(chunk, int(events[place])) for place in missing]
        own = pa.array(named, pa.string())
    # Which of the events that match anything each match is of.
    number = np.searchsorted(events - found.begin, events_of(found.rows))
    take = pa.array(number)
    size = len(number)
    types = [field.type for field in schema][len(schema) - 3 - len(task.keep) : len(schema) - 3]
    columns = [
        own.take(take),
        *subscribed.names(found.rows.subscription),
        pa.repeat(pa.scalar("match"), size),
        pa.repeat(pa.scalar(subscribed.version), size),
        *([] if task.operators is None else [bindings_of(size, found.notices)]),
        *(column.take(take) for column in kept_columns(chunk, events, task.keep, task.schema, types)),
        *(pa.nulls(size, pa.string()) for _ in range(3)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _rejects(rejects: list[RejectedEvent], place_of: Any, schema: Any) -> Any:
    size = len(rejects)
    told = {
        "place": [place_of(reject) for reject in rejects],
        "reason": [reject.reason for reject in rejects],
        "raw": [reject.raw for reject in rejects],
    }
    columns = [
        pa.array(told[field.name], pa.string()) if field.name in told else pa.nulls(size, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _runs(*columns: Any) -> Iterator[tuple[int, int]]:
    """Where rows with the same values in all columns begin and end."""
    size = len(columns[0])
    if not size:
        return
    changes = np.zeros(max(0, size - 1), np.bool_)
    for column in columns:
        changes |= pc.not_equal(column.slice(1), column.slice(0, size - 1)).to_numpy(zero_copy_only=False)
    bounds = [0, *(np.flatnonzero(changes) + 1).tolist(), size]
    yield from itertools.pairwise(bounds)


def _file_name(path: str) -> str:
    return PurePosixPath(unquote(urlparse(path).path)).name or path
