"""Survey of a whole file, made before the events of its pieces can be followed.

It has the number of the first row of every piece, the greatest time before it, which rows are rejected, and which have
an id that came before. A first pass over the file finds all but the last of these, together with the matches of
filters: these reject what breaks the schema, and what is left may still be of no use to patterns: an invalid time, or
values of attributes that the schema does not know.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from vedette.io.chunks import EventChunk, RejectedRow
from vedette.io.pieces import LineCount, ParquetPiece, Piece
from vedette.patterns.event_times import looked_at, times_of
from vedette.schema.columns import Column
from vedette.schema.encode import Reject, encode
from vedette.schema.schema import Schema
from vedette.spark.readers import ReadChunk, Reader
from vedette.spark.versions import from_arrow, to_arrow

CHUNK = 65_536  # rows that are read at a time
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Placed:
    """A piece with all that following its events needs; rows are numbered over the whole source."""

    piece: Piece
    row: int  # is added to the numbers that the piece gives,
    line: int  # ... and this to those of its lines
    begin: int  # its first row
    end: int
    latest: int | None = None  # the greatest time before it, in microseconds
    greatest: int | None = None  # the same of events that count, where that is asked for
    rejected: NDArray[np.int64] = field(default_factory=lambda: _NONE)  # rows that cannot be read, or not by patterns
    again: NDArray[np.int64] = field(default_factory=lambda: _NONE)  # rows with an id that was there before
    late: NDArray[np.int64] = field(default_factory=lambda: _NONE)  # rows that come too late

    def chunks(self) -> Iterator[EventChunk]:
        """Its events, without those that are rejected."""
        for chunk in self.piece.chunks(CHUNK, LineCount()):
            rows = chunk.rows + self.row
            lines = None if chunk.lines is None else chunk.lines + self.line
            placed = EventChunk(chunk.events, chunk.own_ids, rows, lines, [], chunk.raw)
            first, last = np.searchsorted(self.rejected, [rows[0], rows[-1] + 1]) if len(rows) else (0, 0)
            yield placed.without(self.rejected[first:last].tolist())


class Survey:
    """Collects what was found in each piece, in the order of pieces."""

    def __init__(self) -> None:
        self.placed: list[Placed] = []
        self.latest: int | None = None  # the greatest time; None: no event has one
        self.events = 0  # that patterns can read
        self.named = False  # some events have an id of their own
        self.repeated = 0  # events with an id that was there before
        self._rows = 0

    @property
    def timed(self) -> bool:
        """Whether some event has a time."""
        return self.latest is not None

    def add(self, piece: Piece, row: int, line: int, results: Iterable[Mapping[str, Any]]) -> None:
        """Add the results of a piece; `row` and `line` are to be added to its own numbers."""
        results = list(results)
        begin, self._rows = self._rows, self._rows + sum(result["read"] for result in results)
        rejected = np.concatenate([_NONE, *(np.frombuffer(result["out"], np.int64) for result in results)])
        self.placed.append(Placed(piece, row, line, begin, self._rows, self.latest, rejected=rejected + row))
        self.events += self._rows - begin - len(rejected)
        times = [result["latest"] for result in results if result["latest"] is not None]
        if times:
            self.latest = max(times) if self.latest is None else max(self.latest, *times)
        self.named |= any(result["named"] for result in results)

    def find_repeated(self, spark: SparkSession) -> None:
        """Find the events whose id came before: they do not count again."""
        if not self.named:
            return
        ids = frame_of(spark, [replace(one, piece=_only_ids(one.piece)) for one in self.placed])
        hashed = ids.mapInArrow(_ids, "id string, arrival bigint").withColumn("hash", F.xxhash64("id"))
        twice = hashed.groupBy("hash").count().where("count > 1").select("hash")
        if twice.isEmpty():
            return
        found = to_arrow(hashed.join(twice, "hash", "left_semi").select("id", "arrival"))
        found = found.sort_by([("id", "ascending"), ("arrival", "ascending")])
        id_ = found.column("id").combine_chunks().dictionary_encode().indices.to_numpy()
        again = np.sort(found.column("arrival").to_numpy()[1:][id_[1:] == id_[:-1]])
        self.repeated = len(again)
        for place, one in enumerate(self.placed):
            first, last = np.searchsorted(again, [one.begin, one.end])
            self.placed[place] = replace(one, again=again[first:last])


def frame_of(spark: SparkSession, placed: Sequence[Placed]) -> DataFrame:
    """A DataFrame with a row for every piece, which is read where the row is."""
    return from_arrow(spark, pa.table({"piece": pa.array(map(pickle.dumps, placed), pa.binary())}))


def placed_of(batch: pa.RecordBatch) -> Iterator[Placed]:
    """The pieces of some rows, in a worker."""
    for pickled in batch.column("piece").to_pylist():
        placed: Placed = pickle.loads(pickled)  # noqa: S301 - it comes from our own driver
        yield placed


def _ids(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for placed in placed_of(batch):
            for chunk in placed.chunks():
                found = pa.RecordBatch.from_arrays([chunk.own_ids, pa.array(chunk.rows)], ["id", "arrival"])
                yield found.filter(chunk.own_ids.is_valid())


def _only_ids(piece: Piece) -> Piece:
    """The same piece, of which only ids are read if it has columns."""
    return replace(piece, columns=["id"]) if isinstance(piece, ParquetPiece) else piece


class PieceReader(Reader):
    """Reads pieces of a file, in a worker, with what the survey knows of them."""

    def read(self, batch: pa.RecordBatch) -> Iterator[ReadChunk]:
        """The events of pieces; late ones and duplicates do not count."""
        for placed in placed_of(batch):
            begins: tuple[int | None] | None = (placed.latest,)
            out = np.concatenate([placed.again, placed.late])
            for chunk in placed.chunks():
                yield ReadChunk(chunk, None, str, (), chunk.rows, ~np.isin(chunk.rows, out), begins)
                begins = None


# ---------------------------------------------------------------- the first pass


class Looking(NamedTuple):
    """What the first pass looks for."""

    schema: Schema
    unknown: tuple[str, ...]  # `Engine.unknown_keys`


class Seen(NamedTuple):
    """What was found in a chunk."""

    rejects: list[RejectedRow]  # what only patterns cannot read
    latest: int | None  # the greatest time of the others, in microseconds; None: they have none
    named: bool  # some events have an id of their own


def look(chunk: EventChunk, at: Looking) -> Seen:
    """Examine the events of a chunk, without those that filters have rejected."""
    if not len(chunk):
        return Seen([], None, False)
    events = chunk.events
    found = looked_at(events, at.unknown) if at.unknown else {}
    columns = [
        Column(path, found[path])
        for path in at.unknown
        if path in found and not found[path].is_list and found[path].kind.ordered  # otherwise patterns cannot read it
    ]
    refused: list[Reject] = encode(events, columns, at.schema).rejects if columns else []
    times = times_of(events, at.schema)
    wrong = {each.row: each for each in (*refused, *times.rejects)}
    timed = times.known.copy()
    timed[list(wrong)] = False
    return Seen(
        chunk.rejected(wrong[row] for row in sorted(wrong)),
        int(times.microseconds[timed].max()) if timed.any() else None,
        chunk.own_ids.null_count < len(chunk),
    )


def rows_of(rejects: Iterable[RejectedRow]) -> bytes:
    """The numbers of rejected rows, as they are sent."""
    return np.array([one.row for one in rejects], np.int64).tobytes()
