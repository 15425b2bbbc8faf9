"""Matches the events of a file on Spark: tasks read and match pieces of it, the driver gets the results in order.

Pieces go out in rounds, two of which run at a time, so that the memory of the driver stays bounded: a match takes four
bytes, beside the ids of the events, and pieces are cut so that there are not too many results at once.
"""

from __future__ import annotations

import pickle
import secrets
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from vedette.engine.outcomes import OutcomeDetails
from vedette.errors import FileError
from vedette.filters.kernels.match_rows import MatchRows, events_of
from vedette.io.byte_sources import numbered as lines_of
from vedette.io.byte_sources import whole_lines
from vedette.io.chunks import EventChunk, RejectedRow, filled
from vedette.io.pieces import CutPiece, FileRange, LineCount, LinesPiece, Piece, PieceSizes
from vedette.schema.columns import Column
from vedette.spark.engines import Sent
from vedette.spark.file_task import COLUMNS, Tallying, TaskOptions, heard, match_pieces
from vedette.spark.patterns.survey import Looking, Survey
from vedette.spark.versions import from_arrow, interrupt, tagged, to_arrow
from vedette.spark.worker_check import in_worker

_A_CORE = 2  # pieces of one round
_ROUNDS = 2  # under way at a time
_IN_FLIGHT = 64_000_000  # matches, about


class Found(NamedTuple):
    """Results of some rows, in the order of the source."""

    ids: pa.Array  # of events that match something
    rows: NDArray[np.int64]  # the rows of the source that these are
    event: NDArray[np.int64]  # for every match, the number of its event among those
    subscription: Any  # for every match, the number of its subscription
    read: int  # rows, good and bad
    rejected: int
    rejects: list[RejectedRow]  # all, or the first few
    done: float | None  # of the source, from 0 to 1
    details: OutcomeDetails | None = None  # bindings of some of the matches
    tally: bytes | None = None  # of matches that are counted where they are found


def sizes(spark: SparkSession, matches_per_event: float) -> PieceSizes:
    """How large pieces should be in this session, for this number of matches per event."""
    in_flight = _A_CORE * _ROUNDS * cores(spark)
    return PieceSizes(in_flight, max(64, min(1 << 17, int(_IN_FLIGHT / in_flight / max(0.01, matches_per_event)))))


def cores(spark: SparkSession) -> int:
    """How many tasks run at a time."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except PySparkException:  # a client of Spark Connect cannot know
        return 8


def match_cuts(
    spark: SparkSession,
    cuts: Iterator[CutPiece],
    sending: Callable[[], Sent],
    columns: tuple[Column, ...],
    *,
    rejects: int | None,
    looking: Looking | None = None,
    survey: Survey | None = None,
    tallying: Tallying | None = None,
) -> Iterator[Found]:
    """Results of all pieces; `rejects` limits the rejected rows of a chunk that are returned.

    Every round of tasks gets its engine by `sending`: with the statistics of operators by then.

    Where patterns follow the same events, tasks are `looking` at what these need, and a `survey` collects it.

    With `tallying`, matches are only counted; all pieces know the numbers of their rows then.

    FileError if a piece cannot be read; the results before it have been returned then.
    """
    tag = f"vedette-{secrets.token_hex(4)}"

    def task() -> Any:  # as it is when a round begins
        options = TaskOptions(sending(), columns, rejects, looking, tallying)
        return partial(match_pieces, options=options)

    rows = lines = 0
    pool = ThreadPoolExecutor(_ROUNDS)
    try:
        for piece, done, found in _in_order(spark, cuts, task, tag, pool):
            first_row, first_line = (0, 0) if piece.counted else (rows, lines)
            for result in found:
                if result["error"] is not None:
                    raise FileError(result["error"])
                yield _found(result, first_row, first_line, done)
                rows += result["read"]
                lines += result["lines"]
            if survey is not None:
                survey.add(piece, first_row, first_line, found)
    except BaseException:
        interrupt(spark, tag)
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _in_order(
    spark: SparkSession, cuts: Iterator[CutPiece], task: Any, tag: str, pool: ThreadPoolExecutor
) -> Iterator[tuple[Piece, float | None, list[dict[str, Any]]]]:
    """Every piece with its results; while the caller handles them, the next ones are matched."""
    under_way: deque[tuple[list[CutPiece], Future[list[list[dict[str, Any]]]]]] = deque()
    size = _A_CORE * cores(spark)
    while True:
        some = list(islice(cuts, size))
        if some:
            under_way.append((some, pool.submit(_round, spark, [one.piece for one in some], task(), tag)))
        if not under_way:
            return
        if len(under_way) >= _ROUNDS or not some:
            taken, future = under_way.popleft()
            for one, results in zip(taken, future.result(), strict=True):
                yield one.piece, one.done, results


def _round(spark: SparkSession, pieces: Sequence[Piece], task: Any, tag: str) -> list[list[dict[str, Any]]]:
    """Run one job; returns the results of each piece."""
    with tagged(spark, tag):
        table = pa.table({"number": pa.array(range(len(pieces)), pa.int64()), "piece": list(map(pickle.dumps, pieces))})
        found = to_arrow(from_arrow(spark, table).mapInArrow(in_worker(task), COLUMNS))
    results: list[list[dict[str, Any]]] = [[] for _ in pieces]
    for result in sorted(found.to_pylist(), key=lambda row: (row["number"], row["slice"])):
        results[result["number"]].append(result)
    return results


def _found(result: dict[str, Any], first_row: int, first_line: int, done: float | None) -> Found:
    with pa.ipc.open_stream(result["matches"]) as stream:
        batch = stream.read_next_batch()
    lists = batch["subscriptions"]
    assert isinstance(lists, pa.ListArray)
    starts, subscriptions = lists.offsets.to_numpy(), lists.values
    numbers = batch["row"].to_numpy() + first_row
    ids = filled(batch["id"], numbers)
    event = events_of(MatchRows(starts.astype(np.int64), subscriptions.to_numpy()), 0)
    rejects = [
        RejectedRow(row + first_row, None if line is None else line + first_line, reason, raw)
        for row, line, reason, raw in orjson.loads(result["rejects"])
    ]
    details = heard(result["said"])
    read, rejected, tally = (result[name] for name in ("read", "rejected", "tally"))
    return Found(ids, numbers, event, subscriptions, read, rejected, rejects, done, details, tally)


_COUNTED = "number bigint, rows bigint, lines bigint"


@dataclass(frozen=True, slots=True)
class Numbered:
    """A piece, with the numbers of rows and lines before it."""

    piece: Piece
    row: int
    line: int
    counted: bool = True

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that it reads."""
        return self.piece.paths

    def chunks(self, chunk: int, lines: LineCount) -> Iterator[EventChunk]:
        """Its chunks, with the row and line numbers of the whole source."""
        for read in self.piece.chunks(chunk, lines):
            rejects = [
                replace(one, row=one.row + self.row, line=None if one.line is None else one.line + self.line)
                for one in read.rejects
            ]
            numbers = None if read.lines is None else read.lines + self.line
            yield EventChunk(read.events, read.own_ids, read.rows + self.row, numbers, rejects, read.raw)


def numbered(spark: SparkSession, cuts: Sequence[CutPiece]) -> list[CutPiece]:
    """The pieces, all of which know their row numbers; tasks count rows where that is needed."""
    unknown = {place: one.piece for place, one in enumerate(cuts) if not one.piece.counted}
    if not unknown:
        return list(cuts)
    table = pa.table(
        {
            "number": pa.array(unknown, pa.int64()),
            "piece": pa.array([pickle.dumps(piece) for piece in unknown.values()], pa.binary()),
        }
    )
    found = to_arrow(from_arrow(spark, table).mapInArrow(_count, _COUNTED)).sort_by("number")
    rows, lines = (np.concatenate([[0], np.cumsum(found.column(name).to_numpy())]) for name in ("rows", "lines"))
    pieces = {
        place: Numbered(piece, int(rows[number]), int(lines[number]))
        for number, (place, piece) in enumerate(unknown.items())
    }
    return [one._replace(piece=pieces.get(place, one.piece)) for place, one in enumerate(cuts)]


def _count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number, pickled in zip(batch["number"].to_pylist(), batch["piece"].to_pylist(), strict=True):
            piece: LinesPiece = pickle.loads(pickled)  # noqa: S301 - it comes from our own driver
            content = piece.content
            rows = lines = 0
            for some in lines_of(whole_lines(content.blocks()) if isinstance(content, FileRange) else content):
                lines += len(some.lines)
                rows += sum(1 for line in some.lines if line.strip())  # a blank line is no row
            yield pa.RecordBatch.from_pylist([{"number": number, "rows": rows, "lines": lines}])
