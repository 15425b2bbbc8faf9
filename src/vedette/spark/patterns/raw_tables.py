"""Patterns over all events of a pipeline's source: read, shuffled by partition, sorted by time, followed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, LongType, StringType, StructField, StructType

from vedette.composite.telling import TIME as CLOCK
from vedette.composite.telling import bound_paths
from vedette.errors import VedetteError
from vedette.spark.patterns.coded import ARRIVAL, CALLED, FIELDS, GROUP, SHARD, TIME
from vedette.spark.patterns.match import TOLD, fields_of
from vedette.spark.patterns.raw import EVENT, RAW, REASON, RawTask, coded_chunks
from vedette.spark.patterns.sets import PatternSet
from vedette.spark.patterns.shard import BOUND, CARRIED
from vedette.spark.patterns.sharding import filters_of
from vedette.spark.patterns.tasks import Task, carried_as, following, sent_as
from vedette.spark.snapshots import Shipped

SUBSCRIBER, MOMENT = "subscriber", "time"
_ASIDE = -1  # the group of rows that are handed on as they are


def told_schema(kept: Sequence[DataType]) -> StructType:
    """The columns of what is told: those that are kept, those of a match, and of what is set aside."""
    text = [StructField(name, StringType()) for name in (SUBSCRIBER, EVENT, REASON, RAW)]
    carried = [StructField(carried_as(number), type_) for number, type_ in enumerate(kept)]
    return StructType([*carried, *fields_of(TOLD), *text, StructField(MOMENT, LongType())])


def follow_raw(
    raw: DataFrame, task: RawTask, patterns: PatternSet, filters: Shipped, kept: Sequence[DataType]
) -> DataFrame:
    """What comes of all events: rows with the columns of `told_schema`, in any order."""
    whole = replace(task, patterns=patterns, filters=filters)
    bound = sorted({path for group in patterns.groups() for path in bound_paths(group.records)})
    carried = [*(StructField(carried_as(number), type_) for number, type_ in enumerate(kept))]
    names = StructField(carried_as(len(kept)), StringType())  # what the event is called that a row is of
    texts = [StructField(name, StringType()) for name in (CALLED, *map(sent_as, range(len(bound))))]
    aside = [StructField(name, StringType()) for name in (EVENT, REASON, RAW)]
    ddl = ", ".join(f"`{name}` {type_}" for name, type_ in FIELDS)
    schema = StructType([*fields_of(ddl), *texts, *carried, names, *aside])
    # Spark reads a plan once for every use of it: what is set aside and what is followed are read together.
    coded = raw.mapInArrow(_coding(whole, tuple(bound), to_arrow_schema(schema, timezone="UTC")), schema)
    groups = patterns.groups()
    follow = Task(
        patterns.version,
        groups,
        patterns.schema,
        (*bound, CLOCK),
        tuple(range(len(bound))),
        len(kept) + 1,
        patterns.cap,
        patterns.model,
        patterns.learn,
        filters=filters_of(patterns.records, patterns.schema, groups),
    )
    told = StructType([*carried, names, *fields_of(TOLD), *aside])
    shards = max((group.shards for group in groups), default=1) * max(1, len(groups))
    placed = coded.repartition(shards, GROUP, SHARD).sortWithinPartitions(GROUP, SHARD, TIME, ARRIVAL)
    found = placed.mapInArrow(_followed(follow, to_arrow_schema(told, timezone="UTC")), told)
    who = [(record.id, record.subscriber) for record in patterns.records]
    known = raw.sparkSession.createDataFrame(who, f"subscription string, {SUBSCRIBER} string")
    called = F.coalesce(F.col(names.name), F.col(EVENT)).alias(EVENT)
    joined = found.join(F.broadcast(known), "subscription", "left")
    columns = {EVENT: called, MOMENT: F.lit(None).cast("bigint").alias(MOMENT)}
    return joined.select(*(columns.get(name, F.col(name)) for name in told_schema(kept).names))


def _coding(
    task: RawTask, bound: Sequence[str], schema: pa.Schema
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def code(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            for coded in coded_chunks(batches, task):
                for group in coded.groups:
                    named = {f"{BOUND}{path}": sent_as(number) for number, path in enumerate(bound)}
                    names = [named.get(name, name.removeprefix(CARRIED)) for name in group.schema.names]
                    yield _filled(group.rename_columns(names), schema, len(task.keep))
                if coded.rejects is not None:
                    aside = coded.rejects.append_column(
                        GROUP, pa.array([_ASIDE] * coded.rejects.num_rows, pa.int32())
                    ).append_column(SHARD, pa.array([0] * coded.rejects.num_rows, pa.int32()))
                    yield _filled(aside.combine_chunks().to_batches()[0], schema, None)
        except VedetteError as error:
            raise error.with_traceback(None) from None

    return code


def _filled(rows: pa.RecordBatch, schema: pa.Schema, name_at: int | None) -> pa.RecordBatch:
    """The rows with all columns; those that they lack are null, and the one at `name_at` is what events are called."""
    have = dict(zip(rows.schema.names, rows.columns, strict=True))
    if name_at is not None:
        have[carried_as(name_at)] = have[CALLED]
    columns = [
        have[field.name].cast(field.type) if field.name in have else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _followed(task: Task, schema: pa.Schema) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What is set aside goes through as it is; the rest is followed."""
    follow = following(task)

    def events(batches: Iterator[pa.RecordBatch], aside: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            kept = pa.compute.equal(batch.column(GROUP), _ASIDE)
            if pa.compute.any(kept).as_py():
                aside.append(batch.filter(kept).select([EVENT, REASON, RAW]))
                batch = batch.filter(pa.compute.invert(kept))
            yield batch

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        aside: list[pa.RecordBatch] = []
        for found in follow(events(batches, aside)):
            yield _filled(found, schema, None)
        for rows in aside:
            yield _filled(rows, schema, None)

    return run
