"""Filters and patterns over the events of one DataFrame, a table or a stream: all outcomes in another one."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from vedette.engine.engine import Engine
from vedette.engine.pattern_shards import ShardOptions
from vedette.errors import InputError
from vedette.patterns.matcher import PatternMatcher
from vedette.patterns.witness_names import TIME, asked_columns
from vedette.schema.columns import Column as Read
from vedette.spark.engines import Sent
from vedette.spark.operators.attributes import sent_for
from vedette.spark.patterns.coded import PACKETS
from vedette.spark.patterns.coding import Reading, packing
from vedette.spark.patterns.rows import LATE, SUBSCRIBER, told_schema
from vedette.spark.patterns.streams import follow_packets
from vedette.spark.patterns.tables import follow_table
from vedette.spark.readers import ID, TableReader, carried_as, sent_as
from vedette.spark.spark_session import shards_of
from vedette.spark.versions import to_arrow_type
from vedette.spark.worker_check import in_worker
from vedette.spark.worker_columns import WorkerColumn

_BINDINGS = "bindings"
_BESIDE = ("kind", "steps", "bindings", "probability", "within")  # the columns after the subscription
# The state in a checkpoint is of so many shards, and nothing there says how many: so it is always the same, whatever
# session goes on from it.
_SHARDS_OF_A_STREAM = 32


class Wanted(NamedTuple):
    """Columns that the outcomes of patterns shall have, and how late events may be."""

    kept: Sequence[str | Column]  # as `select` takes them
    subscribers: bool
    id: str | Column | None
    lateness: int = 0  # of a stream: how much later than others an event may come, in microseconds
    late: bool = False  # give rows for events that came even later


def match_all(events: DataFrame, engine: Engine, filters: DataFrame, wanted: Wanted) -> DataFrame:
    """The outcomes of filters, and a row for every match and forecast of a pattern."""
    added = ["subscription", *([SUBSCRIBER] if wanted.subscribers else [])]
    binding = filters.columns[-2] == _BINDINGS  # filters have them, too
    kept = filters.columns[: len(filters.columns) - 1 - len(added) - binding]
    found = _followed(events, engine, wanted, len(kept))
    carried = [F.col(carried_as(number)).alias(name) for number, name in enumerate(kept)]
    told = found.select(*carried, *added, *_BESIDE)
    types = dict(told.dtypes)
    nothing = [F.lit(None).cast(types[name]).alias(name) for name in _BESIDE[1:]]
    own = [filters[number] for number in range(len(kept) + len(added))]
    if binding:
        nothing[_BESIDE[1:].index(_BINDINGS)] = filters[len(own)].alias(_BINDINGS)
    plain = filters.select(*own, F.lit("match").alias("kind"), *nothing, "version")
    version = F.lit(engine.version)
    told = told.withColumn("version", version)
    if not engine.stateless_places.size:  # events need not be read once more for filters
        return told
    return plain.withColumn("version", version).union(told)


def _followed(events: DataFrame, engine: Engine, wanted: Wanted, kept: int) -> DataFrame:
    """Outcomes of patterns, with the columns of `told_schema`; columns go by numbers until then."""
    own, streaming = len(events.columns), events.isStreaming
    wide = events.select("*", *wanted.kept, *_named(events, wanted.id))
    wide = wide.toDF(*(f"_{number}" for number in range(len(wide.columns))))
    crossing = sent_of(engine.machines, events.schema)
    timed = any(each.name == TIME for each in crossing)
    if streaming and not timed:
        raise InputError(
            "the stream has no `time`, and patterns follow events in the order of their time\n"
            'Hint: give it one: events.withColumn("time", …), a timestamp; the order in which rows come is Spark\'s own'
        )
    rows = wide.select(
        *(each.column.alias(sent_as(number)) for number, each in enumerate(crossing)),
        (F.col(f"_{own + kept}") if len(wide.columns) > own + kept else F.lit(None)).cast("string").alias(ID),
        *(F.col(f"_{own + number}").alias(carried_as(number)) for number in range(kept)),
    )
    types = [rows.schema[carried_as(number)].dataType for number in range(kept)]
    shards = _SHARDS_OF_A_STREAM if streaming else shards_of(events.sparkSession)
    sent = Sent.of(engine, events.sparkSession, ShardOptions(shards))
    reading = Reading(
        functools.partial(TableReader, tuple(each.name for each in crossing), kept),
        types=tuple(to_arrow_type(type_) for type_ in types),
        sent=sent,
        strict=True,
        times=timed and not streaming and has_untimed(rows, crossing),
    )
    if not streaming:
        return follow_table(rows, reading, types, timed=timed)
    read = rows.mapInArrow(in_worker(packing(reading)), PACKETS)
    found = follow_packets(read, sent, wanted.lateness, told_schema(types))
    return found if wanted.late else found.where(F.col("kind") != F.lit(LATE))


def sent_of(patterns: PatternMatcher, stored: StructType) -> list[WorkerColumn]:
    """The columns that patterns read, of a DataFrame whose columns go by their numbers."""
    read = asked_columns(patterns.patterns.values(), patterns.schema)
    typed = {path: patterns.schema.type_of(path) for path in read.paths}
    wanted = {*read.columns, *(Read(path, type_) for path, type_ in typed.items() if type_ is not None)}
    callers = [] if patterns.operators is None else [patterns.operators]
    return sent_for(callers, sorted(wanted, key=str), patterns.schema, stored, lambda number: F.col(f"_{number}")).sent


def has_untimed(rows: DataFrame, sent: Sequence[WorkerColumn]) -> bool:
    """Whether some event has no time."""
    name = sent_as(next(number for number, each in enumerate(sent) if each.name == TIME))
    return rows.schema[name].nullable and not rows.where(F.col(name).isNull()).isEmpty()


def _named(events: DataFrame, given: str | Column | None) -> list[Column]:
    """The column of events' names, if there is one."""
    if given is None:
        return [F.col(ID)] if events.columns.count(ID) == 1 else []
    if isinstance(given, str) and events.columns.count(given) != 1:
        raise InputError(
            f"the events have no one column {given!r}\nHint: `id` names the column that tells events apart"
        )
    return [F.col(given) if isinstance(given, str) else given]
