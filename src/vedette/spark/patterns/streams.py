"""Patterns over a stream of Spark: events are read where they are, and followed by an operator that keeps state.

Reading makes packets, one for every shard in a batch of events. The operator gets them by shard, and hands back packets
of what is to be told. Nothing else crosses between Spark and Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from vedette.errors import InputError, VedetteError
from vedette.spark.operators.hosted import hosted
from vedette.spark.operators.reports import Caller
from vedette.spark.patterns.coded import ARRIVAL, ID
from vedette.spark.patterns.live import Ready, ready
from vedette.spark.patterns.packets import AT, CLOCK, PACKET, PLACE, by_shard, opened, packets, told_once, written
from vedette.spark.patterns.processor import Following
from vedette.spark.patterns.sets import PatternSet
from vedette.spark.patterns.shard import BOUND, CARRIED
from vedette.spark.patterns.tasks import carried_as, coded_rows, sent_as, source_of

Packets = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

_STORE = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_TASK = 33  # bits for the number of an event within its task


def follow_packets(read: DataFrame, patterns: PatternSet | None, lateness: int, told: StructType) -> DataFrame:
    """What comes of packets of events: rows with the columns of `told`. `lateness` is in microseconds."""
    check_store(read.sparkSession)
    # Spark's watermark is a whole millisecond, rounded down: one more, so that nothing that is in time is behind it.
    delay = 0 if lateness == 0 else -(-lateness // 1000) + 1
    # Without the column of the watermark Spark does not throw away what it takes to be late: here it is told.
    timed = read.withWatermark(AT, f"{delay} milliseconds").select(PLACE, PACKET)
    followed = timed.groupBy(PLACE).transformWithStateInPandas(
        Following(patterns, delay), f"`{PACKET}` binary", "Append", "EventTime"
    )
    return followed.mapInArrow(_unpacking(to_arrow_schema(told, timezone="UTC")), told)


def check_store(spark: SparkSession) -> None:
    """InputError if the session keeps state in a way that patterns cannot use."""
    if spark.conf.get(_STORE, None) != _ROCKSDB:
        raise InputError(
            "patterns over a stream need Spark's state store RocksDB\n"
            f'Hint: spark.conf.set("{_STORE}", "{_ROCKSDB}"), or let vedette.spark.session() set it'
        )


def reading_tables(
    patterns: PatternSet, sent: Sequence[str], bound: Sequence[int], carried: int, caller: Caller | None = None
) -> Packets:
    """Events as columns s0, s1, … (`sent` are their names), an id and c0, c1, … in; packets out.

    Where steps call operators, `caller` has them.
    """

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            with nullcontext() if caller is None else hosted(caller):
                yield from _read(batches)
        except VedetteError as error:
            # Spark shows the trace with the message, and the message says it all.
            raise error.with_traceback(None) from None

    def _read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arrivals = Arrivals()
        latest: int | None = None
        for batch in batches:
            if not batch.num_rows:
                continue
            beside = {ID: batch.column(ID), ARRIVAL: arrivals.of(batch.num_rows)}
            beside |= {f"{BOUND}{sent[number]}": batch.column(sent_as(number)) for number in bound}
            beside |= {f"{CARRIED}{carried_as(each)}": batch.column(carried_as(each)) for each in range(carried)}
            events = batch.select([sent_as(number) for number in range(len(sent))] or [ID])
            renamed = events.rename_columns(list(sent) or [""])
            named = pa.RecordBatch.from_pydict(beside)
            packed, latest = packed_events(ready(patterns), renamed, named, latest, caller)
            yield packed

    return read


class Arrivals:
    """Numbers the events of a task in the order in which it reads them, unlike those of any other task."""

    def __init__(self) -> None:
        context = TaskContext.get()
        self._next = (0 if context is None else context.partitionId()) << _TASK

    def of(self, count: int) -> pa.Array:
        """The next ones."""
        first = self._next
        self._next += count
        return pa.array(np.arange(first, self._next))


def packed_events(
    now: Ready, events: pa.RecordBatch, beside: pa.RecordBatch, before: int | None, caller: Caller | None = None
) -> tuple[pa.RecordBatch, int | None]:
    """The packets of some events, for all groups of patterns; and the greatest time, also of those `before`."""
    readers = now.readers(caller)
    source = source_of(events, beside, now.patterns.schema) if now.calls else None
    coded = [
        coded_rows(readers[number], number, group, events, beside, source, latest=before)
        for number, group in enumerate(now.groups)
    ]
    latest = coded[0].latest if coded else before  # the same for all groups: it is of all events
    found = [
        (now.place(number, shard), written(rows))
        for number, group in enumerate(told_once(each.rows for each in coded))
        for shard, rows in by_shard(group)
    ]
    return packets(found or [(CLOCK, b"")], latest), latest


def _unpacking(schema: pa.Schema) -> Packets:
    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for value in batch.column(PACKET).to_pylist():
                found = opened(value)
                columns = [
                    found.column(field.name).cast(field.type)
                    if field.name in found.column_names
                    else pa.nulls(found.num_rows, field.type)
                    for field in schema
                ]
                yield from pa.table(columns, schema=schema).to_batches()

    return unpack
