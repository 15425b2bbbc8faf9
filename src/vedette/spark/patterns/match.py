"""Patterns over a DataFrame that ends: events in, a row for every match and forecast out.

Events are read where they are, shuffled by their partitions, sorted by time, and followed: no state is kept anywhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from vedette.composite.matcher import PatternMatcher
from vedette.composite.step import CAP
from vedette.composite.telling import TIME, asked, bound_paths
from vedette.matching.patterns import PatternRecord
from vedette.operators.calling import Calling
from vedette.prediction.model import Model
from vedette.schema.columns import Column as Read
from vedette.schema.schema import Schema
from vedette.spark.columns import Sent
from vedette.spark.operators.attributes import sent_for
from vedette.spark.operators.reports import caller
from vedette.spark.patterns.coded import ARRIVAL, FIELDS, GROUP, ID, SHARD, TIMED
from vedette.spark.patterns.coded import TIME as MOMENT
from vedette.spark.patterns.sharding import filters_of, groups_of
from vedette.spark.patterns.tasks import Task, carried_as, following, reading, sent_as

TOLD = (
    "`subscription` string, `kind` string, `steps` map<string, string>, `bindings` map<string, string>, "
    "`probability` double, `within` bigint"
)
_MOST_SHARDS = 64


def follow(
    events: DataFrame,
    stored: StructType,
    records: Sequence[PatternRecord],
    schema: Schema,
    carried: Sequence[Column],
    *,
    id_: Column | None = None,
    arrival: Column | None = None,
    model: Model | None = None,
    learn: bool = False,
    cap: int = CAP,
    calling: Calling | None = None,
) -> DataFrame:
    """What comes of the events: the `carried` columns of each, named c0, c1, …, then those of TOLD, in any order.

    The columns of `events` go by their numbers, _0, _1, …; the first of them are those of `stored`. `id_` is what an
    event is called (else the number of its arrival), `arrival` in which order events came that have the same time
    (else as Spark reads them). `calling` has the operators that steps call, if they do.
    """
    spark = events.sparkSession
    sent = sent_of(records, schema, stored, calling)
    task = _task(records, schema, sent, len(carried), spark, model=model, learn=learn, cap=cap)
    task = task if calling is None else replace(task, caller=caller(calling, spark))
    wide = events.select(
        *(each.column.alias(sent_as(number)) for number, each in enumerate(sent)),
        (F.lit(None) if id_ is None else id_).cast("string").alias(ID),
        (F.monotonically_increasing_id() if arrival is None else arrival).cast("bigint").alias(ARRIVAL),
        *(column.alias(carried_as(number)) for number, column in enumerate(carried)),
    )
    coded = _in_time(wide, wide.mapInArrow(reading(task), _coded(wide.schema, task)), sent)
    shards = max(group.shards for group in task.groups) * len(task.groups)
    placed = coded.repartition(shards, GROUP, SHARD).sortWithinPartitions(GROUP, SHARD, MOMENT, ARRIVAL)
    return placed.mapInArrow(following(task), _told(wide.schema, task))


def sent_of(
    records: Sequence[PatternRecord], schema: Schema, stored: StructType, calling: Calling | None = None
) -> list[Sent]:
    """The columns that patterns read, of a DataFrame whose columns go by their numbers."""
    read = asked(records, schema)
    wanted = {*read.columns, *(Read(path, type_) for path in read.paths if (type_ := schema.type_of(path)) is not None)}
    matcher = None if calling is None else PatternMatcher(records, schema, calling=calling).operators
    callers = [] if matcher is None else [matcher]
    return sent_for(callers, sorted(wanted, key=str), schema, stored, lambda number: F.col(f"_{number}")).sent


def bound_in(names: Sequence[str], records: Sequence[PatternRecord]) -> tuple[int, ...]:
    """The numbers of the columns that variables are told by."""
    bound = bound_paths(records)
    return tuple(number for number, name in enumerate(names) if any(_holds(name, path) for path in bound))


def _task(
    records: Sequence[PatternRecord],
    schema: Schema,
    sent: Sequence[Sent],
    carried: int,
    spark: SparkSession,
    *,
    model: Model | None,
    learn: bool,
    cap: int,
) -> Task:
    names = [each.name for each in sent]
    groups = groups_of(records, shards_of(spark), learn=learn)
    return Task(
        f"{version_of(records, schema)}-{cap}-{learn}",
        groups,
        schema,
        tuple(names),
        bound_in(names, records),
        carried,
        cap,
        None if model is None else model.to_bytes(),
        learn,
        filters=filters_of(records, schema, groups),
    )


def _holds(name: str, path: str) -> bool:
    """Whether the value of a path is in the column of this name."""
    return name == path or path.startswith(f"{name}.")


def version_of(records: Iterable[PatternRecord], schema: Schema) -> str:
    """A name that the same patterns have, over the same attributes, and no others."""
    said = {
        "patterns": [record.plain() for record in records],
        "schema": {path: schema.spelling(path) for path in schema},
        "closed": schema.closed,
    }
    return hashlib.blake2b(json.dumps(said, sort_keys=True, default=str).encode(), digest_size=16).hexdigest()


def shards_of(spark: SparkSession) -> int:
    """As many as Spark makes of a shuffle: a few per core, where a session is set up as `session` does it."""
    return max(1, min(_MOST_SHARDS, int(str(spark.conf.get("spark.sql.shuffle.partitions")))))


def _coded(wide: StructType, task: Task) -> StructType:
    beside = (*map(sent_as, task.bound), *map(carried_as, range(task.carried)))
    return StructType(
        [*fields_of(", ".join(f"`{name}` {type_}" for name, type_ in FIELDS)), *(wide[name] for name in beside)]
    )


def _told(wide: StructType, task: Task) -> StructType:
    return StructType([*(wide[carried_as(number)] for number in range(task.carried)), *fields_of(TOLD)])


def fields_of(ddl: str) -> list[StructField]:
    """The fields that a text of SQL says."""
    made = StructType.fromDDL(ddl)
    if not isinstance(made, StructType):
        raise TypeError(f"no columns: {ddl}")
    return made.fields


def _in_time(wide: DataFrame, coded: DataFrame, sent: Sequence[Sent]) -> DataFrame:
    """An event without a time has the greatest of those before it, as in one process."""
    place = next((number for number, each in enumerate(sent) if each.name == TIME), None)
    if (
        place is None
        or not wide.schema[sent_as(place)].nullable
        or wide.where(F.col(sent_as(place)).isNull()).isEmpty()
    ):
        return coded
    before = Window.orderBy(ARRIVAL).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    greatest = F.max(F.when(F.col(TIMED), F.col(MOMENT))).over(before)
    return coded.withColumn(MOMENT, F.when(F.col(TIMED), F.col(MOMENT)).otherwise(F.coalesce(greatest, F.lit(0))))
