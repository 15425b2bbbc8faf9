"""Codes events for patterns, in a worker: reads them from any source, and checks them against the schema.

Reading is done where events are, once for every group of patterns: it finds which filters of steps an event satisfies,
its partition, its time, and the values that variables are compared with. Only that is shuffled, with the columns that
outcomes need. An event that filters reject is rejected here, too, without a row: the filters report it. What only
patterns cannot read is reported from here, or, where it is `strict`, is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark import TaskContext

from vedette.errors import InputError, VedetteError
from vedette.filters.subscription_view import Events
from vedette.io.chunk_stepper import promised_columns
from vedette.io.row_details import json_of
from vedette.operators.event_sources import EventSource, SharedResults
from vedette.patterns.event_batch import PatternBatch
from vedette.patterns.matcher import PatternMatcher
from vedette.patterns.shares import shard_of
from vedette.patterns.witness_names import values_at
from vedette.schema.columns import Column
from vedette.schema.encode import Reject, encode
from vedette.schema.schema import Schema
from vedette.spark.engines import Sent
from vedette.spark.lines import kept_columns
from vedette.spark.operators.carried import Caller
from vedette.spark.operators.hosted import hosted
from vedette.spark.patterns.coded import (
    CLOCK,
    GROUP,
    READ,
    REJECTED,
    SHARD,
    TIME,
    TIMED,
    by_shard,
    columns_of,
    packets,
    told_once,
    written,
)
from vedette.spark.patterns.live import Ready, now, ready
from vedette.spark.patterns.rows import BOUND, CARRIED, EVENT, RAW, REASON, filled
from vedette.spark.readers import ARRIVAL, CALLED, ReadChunk, Reader, carried_as
from vedette.spark.snapshots import opened

Step: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

ASIDE: Final = -1  # the group of rows that are handed on as they are
TIMES: Final = -2  # ... and of events that are there for their times alone
_NO_PARTITION: Final = b"\0\0\0\0"  # and no value, of what was read of such an event
_TASK: Final = 33  # bits for the number of an event within its task


@dataclass(frozen=True, slots=True)
class Reading:
    """All that is sent to a worker that reads."""

    reader: Callable[[], Reader]
    keep: tuple[str, ...] = ()
    types: tuple[pa.DataType, ...] = ()  # of what is kept
    given: Schema | None = None  # a schema that every event is held against
    sent: Sent | None = None  # None: every micro-batch brings its own
    caller: Caller | None = None  # of the operators that steps of these call
    refusing: bool = False  # what filters cannot read is refused, and it is not said here: they say it
    strict: bool = False  # what patterns cannot read is an error
    in_json: bool = False  # values of variables are sent as JSON, else as the texts in outcomes
    told: bool = True  # these are wanted
    times: bool = False  # the time of every event is wanted, of whatever partition it is


class CodedChunk(NamedTuple):
    """The coded events of every group, the greatest time so far, and what was set aside."""

    now: Ready
    groups: list[pa.RecordBatch]
    latest: int | None
    rejects: pa.Table | None
    times: pa.RecordBatch | None = None


def plainly(run: Step) -> Step:
    """The same function, whose errors have no traceback of ours: Spark adds its own, and the message says all."""

    def plain(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from run(batches)
        except VedetteError as error:
            raise error.with_traceback(None) from None

    return plain


def packing(task: Reading) -> Step:
    """The function for a stream: rows of a source in, packets of coded events out."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for coded in coded_chunks(batches, task):
            found = [
                (coded.now.place(number, shard), written(rows))
                for number, group in enumerate(told_once(coded.groups))
                for shard, rows in by_shard(group)
            ]
            if coded.rejects is not None:
                found.append((REJECTED, written(coded.rejects)))
            yield packets(found or [(CLOCK, b"")], coded.latest)

    return plainly(read)


def coding(task: Reading, schema: pa.Schema) -> Step:
    """The function for a table: rows of a source in, coded events with these columns out."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for coded in coded_chunks(batches, task):
            yield from (filled(group, schema) for group in coded.groups)
            if coded.times is not None:
                yield filled(coded.times, schema)
            if coded.rejects is not None:
                size = coded.rejects.num_rows
                aside = coded.rejects.append_column(GROUP, pa.repeat(ASIDE, size))
                yield filled(aside.append_column(SHARD, pa.repeat(0, size)), schema)

    return plainly(read)


class _Task:
    """What is the same for all chunks of a task."""

    def __init__(self, task: Reading) -> None:
        self.task, sent = task, now(task.sent, task.caller)
        self.patterns, self.caller = ready(sent), sent.caller
        self.columns: tuple[Column, ...] = ()  # that filters read
        if task.refusing:
            filters = opened(sent.snapshot).filters.view.columns
            self.columns = tuple(dict.fromkeys((*filters, *promised_columns(task.given), *sent.columns)))
        self.told_by_filters = {path for one in self.columns if one.reading is None for path in one.paths}
        self.bound = [sorted(telling.paths) if task.told else [] for telling in self.patterns.tellings]
        self.readers: tuple[PatternMatcher, ...] = ()


def coded_chunks(batches: Iterator[pa.RecordBatch], task: Reading) -> Iterator[CodedChunk]:
    """Code the rows of a source, chunk after chunk."""
    here, reader, latest = _Task(task), task.reader(), None
    context = TaskContext.get()
    arrived = (0 if context is None else context.partitionId()) << _TASK  # unlike the numbers of any other task
    caller = here.caller
    with nullcontext() if caller is None or not here.patterns.calls else hosted(caller):
        here.readers = here.patterns.readers(caller)
        for batch in batches:
            for read in reader.read(batch):
                if read.begins is not None:
                    (latest,) = read.begins
                size = len(read.chunk)
                if size:
                    arrival = np.arange(arrived, arrived + size) if read.arrival is None else read.arrival
                    arrived += size
                    coded = _coded(here, read, arrival, latest)
                    latest = coded.latest
                    yield coded


def _coded(here: _Task, read: ReadChunk, arrival: NDArray[np.int64], latest: int | None) -> CodedChunk:
    events, schema = read.chunk.events, here.patterns.patterns.schema
    source = None
    if here.patterns.calls:  # what operators find for one group of patterns they find for all
        source = EventSource(
            events, schema, _names(read, arrival).to_pylist(), SharedResults(np.arange(len(arrival)), {})
        )
    refused = {one.row for one in encode(events, here.columns, schema).rejects} if here.columns else set()
    wrong: list[Reject] = []
    seen = [matcher.read(events, rejects=wrong, source=source, latest=latest) for matcher in here.readers]
    if wrong and here.task.strict:
        raise _broken(min(wrong, key=lambda each: each.row), read, arrival)
    rejects: dict[int, Reject] = {}
    for one in wrong:
        if one.row not in refused and one.attribute not in here.told_by_filters:
            rejects.setdefault(one.row, one)
    # As in one process: what some pattern cannot read counts for none.
    out = np.array(sorted(refused | {one.row for one in wrong}), np.int64)
    groups: list[pa.RecordBatch] = []
    times: pa.RecordBatch | None = None
    for number, (batch, timed) in enumerate(seen):
        if out.size:
            batch, timed = _some(batch, timed, ~np.isin(batch.number, out))
        if timed.any():
            greatest = int(batch.time[timed].max())
            latest = greatest if latest is None else max(latest, greatest)
        if here.task.times and times is None:
            times = _times(batch, timed, arrival)
        groups.append(_rows(here, read, arrival, number, batch, timed))
    return CodedChunk(here.patterns, groups, latest, _set_aside(read, rejects) if rejects else None, times)


def _names(read: ReadChunk, arrival: NDArray[np.int64]) -> pa.Array:
    """The names of events: those of their source, or their ids, or numbers of arrival."""
    return pc.coalesce(read.chunk.own_ids, pa.array(arrival).cast(pa.string())) if read.names is None else read.names


def _broken(reject: Reject, read: ReadChunk, arrival: NDArray[np.int64]) -> InputError:
    name = read.chunk.own_ids[reject.row].as_py()
    called = f"event {int(arrival[reject.row]) if name is None else repr(name)}"
    return InputError(f"{called} breaks the schema: attribute {reject.attribute!r}: {reject.reason}")


def _some(
    batch: PatternBatch, timed: NDArray[np.bool_], wanted: NDArray[np.bool_]
) -> tuple[PatternBatch, NDArray[np.bool_]]:
    if wanted.all():
        return batch, timed
    places = np.flatnonzero(wanted)
    return batch.take(places), timed[places]


def _times(batch: PatternBatch, timed: NDArray[np.bool_], arrival: NDArray[np.int64]) -> pa.RecordBatch:
    columns = {GROUP: pa.repeat(TIMES, batch.size), SHARD: pa.repeat(0, batch.size)}
    columns |= {TIME: pa.array(batch.time), ARRIVAL: pa.array(arrival[batch.number]), TIMED: pa.array(timed)}
    return pa.RecordBatch.from_pydict(columns | {READ: pa.repeat(pa.scalar(_NO_PARTITION), batch.size)})


def _rows(
    here: _Task, read: ReadChunk, arrival: NDArray[np.int64], number: int, batch: PatternBatch, timed: NDArray[np.bool_]
) -> pa.RecordBatch:
    """The coded rows of one group: of the events that count and have a partition in it."""
    group, chunk, task = here.patterns.groups[number], read.chunk, here.task
    wanted = np.ones(batch.size, np.bool_) if read.counts is None else read.counts[batch.number]
    if group.keys:
        wanted = wanted & batch.keyed[0]
    batch, timed = _some(batch, timed, wanted)
    shard = shard_of(batch.key[0], group.shards) if group.keys else np.zeros(batch.size, np.int32)
    rows = pa.array(batch.number)
    columns = columns_of(batch, timed, chunk.own_ids.take(rows), arrival[batch.number], (number, shard))
    if read.names is not None:
        columns[CALLED] = read.names.take(rows)
    if here.bound[number]:
        events = chunk.events
        taken = events.take(rows) if isinstance(events, pa.Table) else [events[row] for row in batch.number.tolist()]
        for path in here.bound[number]:
            columns[f"{BOUND}{path}"] = _said(taken, path, task.in_json)
    if read.kept is None:
        mine = kept_columns(chunk, batch.number, task.keep, task.given, task.types)
    else:
        mine = [column.take(rows) for column in read.kept]
    columns |= {f"{CARRIED}{carried_as(place)}": column for place, column in enumerate(mine)}
    return pa.RecordBatch.from_pydict(columns)


def _said(events: Events, path: str, in_json: bool) -> pa.Array:
    """The values of a variable, as they are sent."""
    if not in_json and isinstance(events, pa.Table) and path in events.column_names:
        column = events.column(path)
        if pa.types.is_string(column.type):
            return column.combine_chunks()
    said = json_of if in_json else str  # as in one process
    return pa.array([None if value is None else said(value) for value in values_at(events, path)], pa.string())


def _set_aside(read: ReadChunk, rejects: dict[int, Reject]) -> pa.Table:
    told = read.chunk.rejected([rejects[row] for row in sorted(rejects)])
    return pa.table(
        {
            EVENT: pa.array([read.place_of(one) for one in told], pa.string()),
            REASON: pa.array([one.reason for one in told], pa.string()),
            RAW: pa.array([one.raw for one in told], pa.string()),
        }
    )
