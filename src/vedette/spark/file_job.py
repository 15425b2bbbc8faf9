"""Matching the events of a file on Spark: tasks read and match pieces of it, the driver gets what they found, in order.

Pieces go out in rounds, two of which are under way at a time, so that the memory of the driver stays bounded: what is
found is four bytes a match and the ids of the events, and pieces are cut so that not too much of it is on its way.
"""

from __future__ import annotations

import pickle
import secrets
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from vedette.errors import FileError
from vedette.files.chunks import RejectedEvent, filled
from vedette.files.notices import Notices
from vedette.files.pieces import Cut, Piece, Sizes
from vedette.kernels.rows import Rows, events_of
from vedette.schema.columns import Column
from vedette.spark.file_task import COLUMNS, Tallying, TaskOptions, match_pieces
from vedette.spark.operators.files import FileFilters, heard
from vedette.spark.patterns.file_survey import Survey
from vedette.spark.patterns.looking import Looking
from vedette.spark.snapshots import Shipped

_A_CORE = 2  # pieces of one round
_ROUNDS = 2  # under way at a time
_IN_FLIGHT = 64_000_000  # matches, about


class Found(NamedTuple):
    """What came of some rows, in the order of the source."""

    ids: Any  # of events that match something: a pyarrow.StringArray
    rows: NDArray[np.int64]  # the rows of the source that these are
    event: NDArray[np.int64]  # for every match, the number of its event among those
    subscription: Any  # for every match, the number of its subscription
    read: int  # rows, good and bad
    rejected: int
    rejects: list[RejectedEvent]  # all, or the first few
    done: float | None  # of the source, from 0 to 1
    notices: Notices | None = None  # what some of the matches say beyond it
    tally: bytes | None = None  # of matches that are counted where they are found


def sizes(spark: SparkSession, matches_per_event: float) -> Sizes:
    """How large pieces should be for this session, and for events that match so much."""
    in_flight = _A_CORE * _ROUNDS * cores(spark)
    return Sizes(in_flight, max(64, min(1 << 17, int(_IN_FLIGHT / in_flight / max(0.01, matches_per_event)))))


def cores(spark: SparkSession) -> int:
    """How many tasks run at a time."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except PySparkException:  # a client of Spark Connect is not told
        return 8


def match_cuts(
    spark: SparkSession,
    cuts: Iterator[Cut],
    shipped: Shipped,
    columns: tuple[Column, ...],
    *,
    rejects: int | None,
    looking: Looking | None = None,
    survey: Survey | None = None,
    operators: FileFilters | None = None,
    tallying: Tallying | None = None,
) -> Iterator[Found]:
    """What is found in all pieces; of the rejected rows of a chunk only so many, if that is enough.

    Where patterns are to follow the same events, they are `looking` at them, and a `survey` takes in what they see.
    With `tallying`, matches are only counted; all pieces know the numbers of their rows then.
    FileError if a piece cannot be read: what comes before it has been handed out then.
    """
    tag = f"vedette-{secrets.token_hex(4)}"

    def task() -> Any:
        """As it is when a round begins: operators are planned with what has been learned of them."""
        calling = None if operators is None else operators.now(spark)
        return partial(match_pieces, options=TaskOptions(shipped, columns, rejects, looking, calling, tallying))

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
        spark.interruptTag(tag)
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _in_order(
    spark: SparkSession, cuts: Iterator[Cut], task: Any, tag: str, pool: ThreadPoolExecutor
) -> Iterator[tuple[Piece, float | None, list[dict[str, Any]]]]:
    """Every piece with its results; while they are taken, the next ones are worked on."""
    under_way: deque[tuple[list[Cut], Future[list[list[dict[str, Any]]]]]] = deque()
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
    """One job: the results of each piece."""
    spark.addTag(tag)
    try:
        table = pa.table({"number": pa.array(range(len(pieces)), pa.int64()), "piece": list(map(pickle.dumps, pieces))})
        found = spark.createDataFrame(table).mapInArrow(task, COLUMNS).toArrow()
    finally:
        spark.removeTag(tag)
    results: list[list[dict[str, Any]]] = [[] for _ in pieces]
    for result in sorted(found.to_pylist(), key=lambda row: (row["number"], row["slice"])):
        results[result["number"]].append(result)
    return results


def _found(result: dict[str, Any], first_row: int, first_line: int, done: float | None) -> Found:
    with pa.ipc.open_stream(result["matches"]) as stream:
        batch = stream.read_next_batch()
    starts = batch["subscriptions"].offsets.to_numpy()
    subscriptions = batch["subscriptions"].values
    numbers = batch["row"].to_numpy() + first_row
    ids = filled(batch["id"], numbers)
    event = events_of(Rows(starts.astype(np.int64), subscriptions.to_numpy()), 0)
    rejects = [
        RejectedEvent(row + first_row, None if line is None else line + first_line, reason, raw)
        for row, line, reason, raw in orjson.loads(result["rejects"])
    ]
    notices = heard(result["said"])
    read, rejected, tally = (result[name] for name in ("read", "rejected", "tally"))
    return Found(ids, numbers, event, subscriptions, read, rejected, rejects, done, notices, tally)
