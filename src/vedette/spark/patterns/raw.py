"""Events of a pipeline's source as patterns see them, in a worker: read, held against the schema, coded.

An event that filters refuse is refused here, too, without a word: they tell it. What only patterns cannot read is told
from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.composite.batch import Batch
from vedette.composite.telling import bound_paths, values_at
from vedette.errors import VedetteError
from vedette.files.chunks import EventChunk, RejectedEvent
from vedette.files.matched import columns_read
from vedette.operators.sources import EventSource, Shared
from vedette.schema.columns import Column
from vedette.schema.encode import Reject, encode
from vedette.schema.schema import Schema
from vedette.spark.kept import kept_columns
from vedette.spark.operators.hosted import hosted
from vedette.spark.operators.lines import named
from vedette.spark.operators.reports import Caller
from vedette.spark.patterns.coded import CALLED, columns_of
from vedette.spark.patterns.live import Ready, caller_now, now, ready
from vedette.spark.patterns.packets import CLOCK, REJECTED, by_shard, packets, told_once, written
from vedette.spark.patterns.sets import PatternSet
from vedette.spark.patterns.shard import BOUND, CARRIED
from vedette.spark.patterns.streams import Arrivals, Packets
from vedette.spark.patterns.tasks import carried_as, placed
from vedette.spark.snapshots import Shipped, opened

EVENT, PLACE, REASON, RAW = "event", "place", "reason", "raw"  # of what is set aside


class ReadChunk(NamedTuple):
    """Some events, what they are called, where what is set aside stood, and what is kept of them."""

    chunk: EventChunk
    id_of: Callable[[EventChunk, int], str]  # of the n-th event, where it has no id of its own
    place_of: Callable[[RejectedEvent], str]
    kept: dict[str, Any] | None = None  # columns of all events; None: they are looked up


@dataclass(frozen=True, slots=True)
class RawTask:
    """All that travels to a worker."""

    reader: Callable[[], Callable[[Any], Iterator[ReadChunk]]]
    keep: tuple[str, ...]
    types: tuple[pa.DataType, ...]  # of what is kept
    given: Schema | None  # a schema that every event is held against
    patterns: PatternSet | None = None  # None: every micro-batch brings its own
    filters: Shipped | None = None  # the same
    columns: tuple[Column, ...] = ()  # the same: what filters read that call operators
    caller: Caller | None = None  # of the operators that steps call


class CodedChunk(NamedTuple):
    """The coded events of every group, the greatest time so far, and what was set aside."""

    now: Ready
    groups: list[pa.RecordBatch]
    latest: int | None
    rejects: pa.Table | None


def packing(task: RawTask) -> Packets:
    """Raw rows in, packets out."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            for coded in coded_chunks(batches, task):
                found = [
                    (coded.now.place(number, shard), written(rows))
                    for number, group in enumerate(told_once(coded.groups))
                    for shard, rows in by_shard(group)
                ]
                if coded.rejects is not None:
                    found.append((REJECTED, written(coded.rejects)))
                yield packets(found or [(CLOCK, b"")], coded.latest)
        except VedetteError as error:
            # Spark shows the trace with the message, and the message says it all.
            raise error.with_traceback(None) from None

    return read


def coded_chunks(batches: Iterator[pa.RecordBatch], task: RawTask) -> Iterator[CodedChunk]:
    """What is read of raw rows, chunk after chunk."""
    read, arrivals = task.reader(), Arrivals()
    patterns, current, caller = ready(task.patterns), now(), caller_now(task.caller)
    shipped, more = (task.filters, task.columns) if current is None else (current.filters, current.columns)
    filters = None if shipped is None else opened(shipped)
    columns = () if filters is None else tuple(dict.fromkeys((*columns_read(filters, task.given), *more)))
    told_by_filters = {path for column in columns if column.reading is None for path in column.paths}
    latest: int | None = None
    with nullcontext() if caller is None or not patterns.calls else hosted(caller):
        for batch in batches:
            for each in read(batch):
                if len(each.chunk):
                    arrival = arrivals.of(len(each.chunk)).to_numpy()
                    coded = _coded(each, arrival, patterns, task, columns, told_by_filters, latest, caller)
                    latest = coded.latest
                    yield coded


def _coded(
    read: ReadChunk,
    arrival: NDArray[np.int64],
    patterns: Ready,
    task: RawTask,
    columns: tuple[Column, ...],
    told_by_filters: set[str],
    latest: int | None,
    caller: Caller | None,
) -> CodedChunk:
    events = read.chunk.events
    source = _source(read, patterns.patterns.schema) if patterns.calls else None
    refused = {one.row for one in encode(events, columns, patterns.patterns.schema).rejects} if columns else set()
    wrong: list[Reject] = []
    readers = patterns.readers(caller)
    seen = [matcher.read(events, rejects=wrong, source=source, latest=latest) for matcher in readers]
    rejects: dict[int, Reject] = {}
    for one in wrong:
        if one.row not in refused and one.attribute not in told_by_filters:
            rejects.setdefault(one.row, one)
    # As in one process: what some pattern cannot read counts for none.
    out = np.array(sorted(refused | {one.row for one in wrong}), np.int64)
    groups: list[pa.RecordBatch] = []
    for number, (batch, timed) in enumerate(seen):
        if out.size:
            fine = np.flatnonzero(~np.isin(batch.number, out))
            batch, timed = batch.take(fine), timed[fine]
        if timed.any():
            greatest = int(batch.time[timed].max())
            latest = greatest if latest is None else max(latest, greatest)
        groups.append(_rows(read, arrival, task, patterns, number, batch, timed))
    return CodedChunk(patterns, groups, latest, _set_aside(read, rejects) if rejects else None)


def _source(read: ReadChunk, schema: Schema) -> EventSource:
    """What operators see of the events: what they find for one group of patterns they find for all."""
    called = named(read.chunk, read.id_of).own_ids.to_pylist()
    return EventSource(read.chunk.events, schema, called, Shared(np.arange(len(read.chunk)), {}))


def _rows(
    read: ReadChunk,
    arrival: NDArray[np.int64],
    task: RawTask,
    patterns: Ready,
    number: int,
    batch: Batch,
    timed: NDArray[np.bool_],
) -> pa.RecordBatch:
    """The coded rows of one group."""
    group = patterns.groups[number]
    batch, timed, shard = placed(batch, timed, group)
    rows = pa.array(batch.number)
    chunk = read.chunk
    ids = chunk.own_ids.take(rows)
    columns = columns_of(batch, timed, ids, arrival[batch.number], (number, shard))
    names = ids.to_pylist()
    if ids.null_count:
        names = [
            read.id_of(chunk, row) if name is None else name for name, row in zip(names, rows.to_pylist(), strict=True)
        ]
    columns[CALLED] = pa.array(names, pa.string())
    bound = bound_paths(group.records)
    if bound:
        taken = (
            chunk.events.take(rows)
            if isinstance(chunk.events, pa.Table)
            else [chunk.events[row] for row in rows.to_pylist()]
        )
        for path in sorted(bound):
            said = [None if value is None else str(value) for value in values_at(taken, path)]
            columns[f"{BOUND}{path}"] = pa.array(said, pa.string())
    kept = read.kept
    if kept is not None:
        mine = [kept[name].take(rows) for name in task.keep]
    else:
        mine = kept_columns(chunk, batch.number, task.keep, task.given, task.types)
    columns |= {f"{CARRIED}{carried_as(place)}": column for place, column in enumerate(mine)}
    return pa.RecordBatch.from_pydict(columns)


def _set_aside(read: ReadChunk, rejects: dict[int, Reject]) -> pa.Table:
    told = read.chunk.rejected([rejects[row] for row in sorted(rejects)])
    return pa.table(
        {
            EVENT: pa.array([read.place_of(one) for one in told], pa.string()),
            REASON: pa.array([one.reason for one in told], pa.string()),
            RAW: pa.array([one.raw for one in told], pa.string()),
        }
    )
