"""Patterns over events that end: coded where they are, shuffled by shard, sorted by time, and followed.

No state is kept. It is the same for tables, for raw rows and for pieces of files: only the reader differs, and the use
of the outcomes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructField, StructType

from vedette.engine.outcomes import Outcomes
from vedette.patterns.witness_names import bound_paths
from vedette.spark.engines import Sent
from vedette.spark.patterns.coded import FIELDS, GROUP, SHARD, TIME, TIMED, batch_of, places_of
from vedette.spark.patterns.coding import ASIDE, Reading, Step, coding, plainly
from vedette.spark.patterns.following import Follower, Forecasts, named_of
from vedette.spark.patterns.live import ready
from vedette.spark.patterns.rows import BOUND, CARRIED, EVENT, RAW, REASON, chosen, fields_of, filled, told_schema
from vedette.spark.patterns.rows import columns_of as ddl_of
from vedette.spark.readers import ARRIVAL, CALLED, ID, carried_as
from vedette.spark.versions import to_arrow_schema
from vedette.spark.worker_check import in_worker

WHEN = " "  # the column of when events were; null where they do not say. No attribute is called so


@dataclass(frozen=True, slots=True)
class Course:
    """How coded events are followed."""

    sent: Sent
    timed: bool = True  # some event has a time
    counts_once: bool = True  # duplicates are found here: of several events with the same id one counts
    forecasts: Forecasts = Forecasts()


def coded_events(rows: DataFrame, reading: Reading, kept: Sequence[DataType] = ()) -> DataFrame:
    """A row for every event and every group in which it has a partition, and for what is set aside.

    Where the `times` of all events are read, an event without one has the greatest of those before it, as in one
    process.
    """
    assert reading.sent is not None  # those of a stream change, and are followed in another way
    bound = sorted(bound_paths(reading.sent.patterns().records)) if reading.told else []
    texts = [CALLED, *(f"{BOUND}{path}" for path in bound)]
    carried = [StructField(f"{CARRIED}{carried_as(number)}", type_) for number, type_ in enumerate(kept)]
    more = [StructField(name, StringType()) for name in (*texts, EVENT, REASON, RAW)]
    schema = StructType([*fields_of(ddl_of(FIELDS)), *carried, *more])
    coded = rows.mapInArrow(in_worker(coding(reading, to_arrow_schema(schema))), schema)
    return in_time(coded) if reading.times else coded


def in_time(coded: DataFrame) -> DataFrame:
    """Give an event without a time the greatest of those before it, of whatever partition they are."""
    before = Window.orderBy(ARRIVAL).rangeBetween(Window.unboundedPreceding, Window.currentRow)
    greatest = F.max(F.when(F.col(TIMED), F.col(TIME))).over(before)
    time = F.when(F.col(TIMED), F.col(TIME)).otherwise(F.coalesce(greatest, F.lit(0)))
    return coded.withColumn(TIME, time).where(F.col(GROUP) >= ASIDE)


def followed(coded: DataFrame, sent: Sent, host: Step, columns: StructType | str) -> DataFrame:
    """Results of `host` for coded events, which come to it shard by shard, each in the order of time."""
    shards = max(1, sum(group.shards for group in sent.patterns().groups()))
    placed = coded.repartition(shards, GROUP, SHARD).sortWithinPartitions(GROUP, SHARD, TIME, ARRIVAL)
    return placed.mapInArrow(plainly(host), columns)


def follow_table(rows: DataFrame, reading: Reading, kept: Sequence[DataType], *, timed: bool = True) -> DataFrame:
    """Outcomes of all events: rows with the columns of `told_schema`, in any order."""
    assert reading.sent is not None
    course, told = Course(reading.sent, timed), told_schema(kept)
    host = telling(course, to_arrow_schema(told))
    return followed(coded_events(rows, reading, kept), reading.sent, host, told)


class Heard(NamedTuple):
    """Outcomes of some events of a shard, which have just been followed."""

    outcomes: Outcomes
    follower: Follower
    events: pa.RecordBatch | None  # None: there are no more of the shard


def hear(batches: Iterator[pa.RecordBatch], course: Course) -> Iterator[Heard]:
    """Follow coded events, ordered by group, shard, time and arrival."""
    place: tuple[int, int] | None = None
    follower: Follower | None = None
    for batch in batches:
        for begin, end, here in places_of(batch):
            if here != place or follower is None:
                if follower is not None:
                    yield Heard(follower.finish(), follower, None)
                place, follower = here, ready(course.sent).follower(here[0], course.forecasts, in_order=True)
            events = batch.slice(begin, end - begin)
            yield Heard(_follow(course, follower, events), follower, events)
    if follower is not None:
        yield Heard(follower.finish(), follower, None)


def _follow(course: Course, follower: Follower, events: pa.RecordBatch) -> Outcomes:
    batch, timed = batch_of(events, 0)
    known = pa.array(batch.time, mask=~timed)
    # Of several partial matches that are worth the same the older one stays: so events go by their arrival.
    batch = replace(batch, number=events.column(ARRIVAL).to_numpy())
    if course.timed:  # that one has no time is no matter where others have
        timed = np.ones(batch.size, np.bool_)
    ids = events.column(ID).to_pylist() if course.counts_once else None
    return follower.follow(batch, timed, pa.table({**named_of(events), WHEN: known}), ids)


def telling(course: Course, schema: pa.Schema) -> Step:
    """The function that follows: coded events in, rows with these columns out; rows set aside pass through."""

    def events(batches: Iterator[pa.RecordBatch], aside: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            kept = pc.equal(batch.column(GROUP), ASIDE)
            if pc.any(kept).as_py():
                aside.append(batch.filter(kept).select([EVENT, REASON, RAW]))
                batch = batch.filter(pc.invert(kept))
            yield batch

    def tell(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        aside: list[pa.RecordBatch] = []
        for one in hear(events(batches, aside), course):
            if one.events is not None and len(one.outcomes):
                # Events come in the order of their time, so that whatever completes or is forecast, is so by one of
                # these.
                arrived = one.events.column(ARRIVAL).to_numpy()
                order = np.argsort(arrived)
                rows = pa.array(order[np.searchsorted(arrived, one.outcomes.event, sorter=order)])
                carried = {name: column.take(rows) for name, column in chosen(one.events, CARRIED).items()}
                yield filled(one.follower.table(one.outcomes, carried), schema)
        yield from (filled(rows, schema) for rows in aside)

    return tell
