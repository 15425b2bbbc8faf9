"""Learning from history on Spark: the same model that one process makes of the same events, to the last count.

Events are read where they are, shuffled by their partitions, sorted, followed and counted there, all in one pass. The
models of neighbouring shards are summed by other tasks, eight at a time, and one model of each group comes to the
driver. Where a pattern has more states or kinds of events than can be distinguished, the first to come are: which these
are is known after the first pass, and a second one counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from vedette.errors import InputError
from vedette.filters.subscription_records import PatternRecord
from vedette.patterns.forecasts.model import Model
from vedette.patterns.matcher import PatternMatcher
from vedette.schema.schema import Schema
from vedette.spark.patterns.coded import GROUP, SHARD
from vedette.spark.patterns.coded import TIME as MOMENT
from vedette.spark.patterns.learning import (
    EVENTS,
    HAVE_TIME,
    LEARNT,
    MODEL,
    PARTITION,
    SHED,
    Lesson,
    learning,
    summing,
)
from vedette.spark.patterns.rows import columns_of
from vedette.spark.readers import ARRIVAL
from vedette.spark.versions import apply_in_arrow, to_arrow

_TOGETHER: Final = 8  # models that are summed at a time


@dataclass(frozen=True, slots=True)
class Learnt:
    """A model, and what came of learning it."""

    model: Model
    events: int  # that have a partition, once for every way in which patterns are partitioned
    have_time: int  # among these
    shed: int  # partial matches that were given up


class _Sums(NamedTuple):
    model: Model
    events: int
    have_time: int
    shed: int


def learn(placed: DataFrame, lesson: Lesson, records: Sequence[PatternRecord]) -> Learnt:
    """Learn from PLACED events, each of which counts, and has a time.

    The `records` of the lesson are in the order in which the model is to have them.
    """
    groups = lesson.sent.patterns().groups()
    shards = max((group.shards for group in groups), default=1)
    placed = placed.repartition(max(1, sum(group.shards for group in groups)), GROUP, SHARD)
    placed = placed.sortWithinPartitions(GROUP, SHARD, PARTITION, MOMENT, ARRIVAL)
    sums = _counted(placed, shards, lesson)
    if sums.model.exhausted:
        sums = _counted(placed, shards, replace(lesson, numbering=sums.model.numbering().to_bytes()))
    return Learnt(sums.model.whole(records), *sums[1:])


def _counted(placed: DataFrame, shards: int, lesson: Lesson) -> _Sums:
    """One pass over the events: the summed model and counts."""
    columns = columns_of((name, type_) for name, type_, _ in LEARNT)
    rows = placed.mapInArrow(learning(lesson), columns)
    while shards > 1:
        together = (F.col(SHARD) / _TOGETHER).cast("int")
        rows = apply_in_arrow(rows.groupBy(GROUP, together), summing(_TOGETHER), columns)
        shards = -(-shards // _TOGETHER)
    found = sorted(to_arrow(rows).to_pylist(), key=lambda row: int(row[GROUP]))
    model = reduce(Model.__add__, (Model.from_bytes(row[MODEL]) for row in found), Model(lesson.settings))
    return _Sums(model, *(sum(int(row[name]) for row in found) for name in (EVENTS, HAVE_TIME, SHED)))


def timed(records: Sequence[PatternRecord], schema: Schema, learnt: Learnt) -> Learnt:
    """Check that events have times if patterns need these, else InputError; returns the same."""
    if learnt.events and not learnt.have_time:
        refuse_timeless(records, schema)
    return learnt


def refuse_timeless(records: Sequence[PatternRecord], schema: Schema) -> None:
    """InputError if one of the patterns needs times, which the events do not have."""
    for each in PatternMatcher(records, schema, reads=False).drafts().values():
        if each.speaks_of_time:
            raise InputError(
                f"subscription {each.record.id!r} speaks of time, and the events have none\n"
                "Hint: give events an attribute `time`, such as '2024-05-01T12:30:00Z' or seconds since 1970"
            )
