"""Patterns over a streaming DataFrame: events in, a row for every match, forecast and late event out."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from vedette.composite.step import CAP
from vedette.composite.telling import TIME
from vedette.errors import InputError
from vedette.matching.patterns import PatternRecord
from vedette.operators.calling import Calling
from vedette.prediction.model import Model
from vedette.schema.schema import Schema
from vedette.spark.operators.reports import caller
from vedette.spark.patterns.coded import ID
from vedette.spark.patterns.match import TOLD, bound_in, fields_of, sent_of
from vedette.spark.patterns.packets import PACKETS
from vedette.spark.patterns.sets import pattern_set
from vedette.spark.patterns.streams import follow_packets, reading_tables
from vedette.spark.patterns.tasks import carried_as, sent_as

# The state in a checkpoint is of so many shards, and nothing there says how many: so it is always the same, whatever
# session goes on from it.
_SHARDS = 32


def follow_stream(
    events: DataFrame,
    stored: StructType,
    records: Sequence[PatternRecord],
    schema: Schema,
    carried: Sequence[Column],
    *,
    id_: Column | None = None,
    model: Model | None = None,
    cap: int = CAP,
    lateness: int = 0,
    late: bool = False,
    calling: Calling | None = None,
) -> DataFrame:
    """What comes of the events: as `vedette.spark.patterns.match.follow` does it for a table.

    Within `lateness` microseconds events may come in any order. One that comes later has a row of the kind `late`, if
    that is wanted, and does not count. `calling` has the operators that steps call, if they do: every worker goes on
    with what it learns by itself.
    """
    sent = sent_of(records, schema, stored, calling)
    if not any(each.name == TIME for each in sent):
        raise InputError(
            "the stream has no `time`, and patterns follow events in the order of their time\n"
            'Hint: give it one: events.withColumn("time", …), a timestamp; the order in which rows come is Spark\'s own'
        )
    patterns = pattern_set(records, schema, _SHARDS, cap=cap, model=None if model is None else model.to_bytes())
    names = [each.name for each in sent]
    wide = events.select(
        *(each.column.alias(sent_as(number)) for number, each in enumerate(sent)),
        (F.lit(None) if id_ is None else id_).cast("string").alias(ID),
        *(column.alias(carried_as(number)) for number, column in enumerate(carried)),
    )
    asked = None if calling is None else caller(calling, events.sparkSession)
    reading = reading_tables(patterns, names, bound_in(names, records), len(carried), asked)
    told = StructType([*(wide.schema[carried_as(number)] for number in range(len(carried))), *fields_of(TOLD)])
    found = follow_packets(wide.mapInArrow(reading, PACKETS), patterns, lateness, told)
    return found if late else found.where(F.col("kind") != F.lit("late"))
