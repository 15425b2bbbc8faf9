"""Readers of a worker, which give chunks of events: lines of JSON, Kafka records, whole CSV files, columns of a table.

All knowledge of sources is here, and for pieces of files in `vedette.spark.patterns.survey`: matching gets chunks.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote, urlparse

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vedette.errors import InputError
from vedette.io.byte_sources import BytesSource, Lines, split
from vedette.io.chunks import EventChunk, RejectedRow
from vedette.io.csv_events import CsvEvents
from vedette.io.jsonl_events import json_chunks
from vedette.schema.schema import Schema

Before: TypeAlias = dict[tuple[str, int], tuple[int, int]]  # rows and lines before each block of a file

ID, CALLED, ARRIVAL, AGAIN = "id", "called", "arrival", "again"  # columns of a table that are none of an event
WHOLE = -1  # the block of a file that is one row
_CHUNK = 65_536
_SHOWN = 10_000  # bytes of a file that is set aside as a whole


def sent_as(number: int) -> str:
    """The name under which a column is sent to be read: its own name may be taken."""
    return f"s{number}"


def carried_as(number: int) -> str:
    """The name under which a column is sent to be kept in outcomes."""
    return f"c{number}"


class PiecePart(NamedTuple):
    """The piece that a chunk is of, and how that ended if the chunk is its last one, which has no events."""

    number: int
    lines: int | None = None  # of the whole piece
    error: str | None = None  # why it cannot be read, or no further


class ReadChunk(NamedTuple):
    """Some events, and all that their source knows of them."""

    chunk: EventChunk
    names: pa.Array | None  # their ids, or else their places; None: or else the numbers of their arrival
    place_of: Callable[[RejectedRow], str]
    kept: Sequence[Any] | None = None  # columns kept for outcomes, of all events; None: they are looked up
    arrival: NDArray[np.int64] | None = None  # in which order they came; None: as a task reads them
    counts: NDArray[np.bool_] | None = None  # which of them count for patterns; None: all
    begins: tuple[int | None] | None = None  # a piece begins here: the greatest time before it
    part: PiecePart | None = None  # of the pieces of a file: which one it is of


class Reader(ABC):
    """Reads batches of raw rows into chunks of events."""

    @abstractmethod
    def read(self, batch: pa.RecordBatch) -> Iterator[ReadChunk]:
        """All rows, in their order."""


class LineReader(Reader):
    """Lines of files: `value`, `path`, `block` (where Spark began to read)."""

    def __init__(self, numbers: bool = False, before: Before | None = None) -> None:
        """`before` says how many rows and lines come before each block; with `numbers`, rows alone are ids."""
        self._numbers, self._before = numbers, before
        self._seen: dict[tuple[str, int], tuple[int, int]] = {}

    def read(self, batch: pa.RecordBatch) -> Iterator[ReadChunk]:
        """Read lines; rows of one block are consecutive, and so are the blocks."""
        for begin, end in _runs(batch.column("path"), batch.column("block")):
            key = batch.column("path")[begin].as_py(), batch.column("block")[begin].as_py()
            if key[1] == WHOLE:
                for number in range(begin, end):
                    yield from self._whole_file(key[0], batch.column("value")[number].as_py())
                continue
            row, line = self._seen.get(key) or (self._before or {}).get(key, (0, 0))
            lines = batch.column("value").slice(begin, end - begin).to_pylist()
            if line == 0:
                lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
            name, rows = _file_name(key[0]), 0
            if self._before is None and key[1] > 0:  # it is not known how many rows come before
                name = f"{name}+{key[1]}"
            for chunk in json_chunks([Lines(1, lines)], _CHUNK):
                yield self._named(chunk, name, row, line)  # its rows and lines are counted over the whole run
                rows = max(rows, _last_row(chunk) + 1)
            self._seen[key] = row + rows, line + len(lines)

    def _whole_file(self, path: str, content: bytes) -> Iterator[ReadChunk]:
        name = _file_name(path)
        try:
            for chunk in json_chunks(split(BytesSource(name, content).blocks()), _CHUNK):
                yield self._named(chunk, name, 0, 0)
        except InputError as error:
            yield self._named(_unreadable(error), name, 0, 0)

    def _named(self, chunk: EventChunk, name: str, row: int, line: int) -> ReadChunk:
        def place_of(reject: RejectedRow) -> str:
            return name if reject.line is None else f"{name}:{line + reject.line}"

        return ReadChunk(chunk, _names(chunk, None if self._numbers else name, row), place_of)


def _names(chunk: EventChunk, file: str | None, first: int = 0) -> pa.Array:
    """The ids of events; those without an id are named by their row, with the `file` if there are several."""
    if not chunk.own_ids.null_count:
        return chunk.own_ids
    rows = pa.array(chunk.rows + first).cast(pa.string())
    return pc.coalesce(chunk.own_ids, rows if file is None else pc.binary_join_element_wise(file, rows, ":"))


def _last_row(chunk: EventChunk) -> int:
    return max([*chunk.rows[-1:].tolist(), *(reject.row for reject in chunk.rejects[-1:])], default=-1)


def _unreadable(error: InputError, beginning: str = "") -> EventChunk:
    """A chunk without events and with one reject: the file cannot be read, or no further."""
    return without_events([RejectedRow(0, None, str(error), beginning)])


def without_events(rejects: list[RejectedRow]) -> EventChunk:
    """A chunk of rejects alone."""
    return EventChunk([], pa.array([], pa.string()), np.zeros(0, np.int64), None, rejects, str)


class RecordReader(Reader):
    """Records of Kafka: `value`, `topic`, `partition`, `offset`."""

    def read(self, batch: pa.RecordBatch) -> Iterator[ReadChunk]:
        """Read records; those without a value are rejected, too."""
        values = batch.column("value").to_pylist()
        parts = [batch.column(name).cast(pa.string()) for name in ("topic", "partition", "offset")]
        places = pc.binary_join_element_wise(*parts, "/")

        def place_of(reject: RejectedRow) -> str:
            return str(places[(reject.line or 0) - 1].as_py())

        empty = [
            RejectedRow(number, number + 1, "the record has no value", "")
            for number, value in enumerate(values)
            if value is None or not value.strip()
        ]
        if empty:
            yield ReadChunk(without_events(empty), pa.array([], pa.string()), place_of)
        for chunk in json_chunks([Lines(1, [value or b"" for value in values])], _CHUNK):
            assert chunk.lines is not None  # as of all lines
            names = pc.coalesce(chunk.own_ids, places.take(pa.array(chunk.lines - 1)))
            yield ReadChunk(chunk, names, place_of)


class CsvReader(Reader):
    """Whole CSV files: `content`, `path`."""

    def __init__(self, schema: Schema | None, numbers: bool = False) -> None:
        self._schema, self._numbers = schema, numbers

    def read(self, batch: pa.RecordBatch) -> Iterator[ReadChunk]:
        """Read one file after another; one that cannot be read at all is one reject."""
        for number in range(batch.num_rows):
            name = _file_name(batch.column("path")[number].as_py())
            content = batch.column("content")[number].as_py()

            def place_of(reject: RejectedRow, name: str = name) -> str:
                return f"{name}:{reject.line}" if reject.line is not None else name

            try:
                for chunk in CsvEvents(BytesSource(name, content), self._schema).chunks(_CHUNK):
                    yield ReadChunk(chunk, _names(chunk, None if self._numbers else name), place_of)
            except InputError as error:
                chunk = _unreadable(error, content[:_SHOWN].decode("utf-8", "replace"))
                yield ReadChunk(chunk, chunk.own_ids, place_of)


class TableReader(Reader):
    """Columns of a table: s0, s1, … of these names, or an ID, perhaps CALLED, ARRIVAL and AGAIN, and c0, c1, …"""

    def __init__(self, names: tuple[str, ...], carried: int = 0) -> None:
        self._names, self._carried = names, carried

    def read(self, batch: pa.RecordBatch) -> Iterator[ReadChunk]:
        """The whole batch as one chunk."""
        sent = batch.select([sent_as(number) for number in range(len(self._names))] or [ID])
        events = pa.Table.from_batches([sent.rename_columns(list(self._names) or [""])])
        there = dict(zip(batch.schema.names, batch.columns, strict=True))
        own, called, arrival, again = there.get(ID), there.get(CALLED), there.get(ARRIVAL), there.get(AGAIN)

        if own is None:
            own = pa.nulls(batch.num_rows, pa.string())

        def raw(row: int) -> str:
            return orjson.dumps(events.slice(row, 1).to_pylist()[0], default=str).decode()

        def place_of(reject: RejectedRow) -> str:
            return str((own if called is None else called)[reject.row].as_py())

        yield ReadChunk(
            EventChunk(events, own, np.arange(batch.num_rows), None, [], raw),
            called,
            place_of,
            [there[carried_as(number)] for number in range(self._carried)],
            None if arrival is None else arrival.to_numpy(),
            None if again is None else ~again.to_numpy(zero_copy_only=False),
        )


def _runs(*columns: Any) -> Iterator[tuple[int, int]]:
    """Begin and end of the runs of rows with the same values in all columns."""
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
