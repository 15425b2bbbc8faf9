"""A DataFrame as a history: its events coded for the patterns that learn from them, each id once, each with a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from vedette.composite.step import CAP
from vedette.composite.telling import TIME
from vedette.errors import InputError, NotSupported
from vedette.files.operator_calls import patterns_call
from vedette.matching.patterns import PatternRecord
from vedette.matching.subscriptions import Subscriptions
from vedette.operators.calling import Calling
from vedette.prediction.context import Settings
from vedette.prediction.model import Model
from vedette.schema.schema import Schema
from vedette.spark.compiled import Given, loaded
from vedette.spark.match import match, read_by
from vedette.spark.operators.carried import Handed, calling_of
from vedette.spark.operators.reports import caller
from vedette.spark.patterns.coded import ARRIVAL, GROUP, ID, TIMED
from vedette.spark.patterns.coded import TIME as MOMENT
from vedette.spark.patterns.learning import PLACED, Lesson, placing
from vedette.spark.patterns.match import sent_of, shards_of, version_of
from vedette.spark.patterns.sharding import PatternGroup, filters_of, groups_of
from vedette.spark.patterns.tasks import Task, carried_as, reading, sent_as
from vedette.spark.patterns.training import columns_of, learn, timed

_AGAIN: Final = carried_as(0)  # whether the id was there before


def train(
    history: DataFrame,
    subscriptions: Given,
    *,
    context: int = 6,
    id: str | None = None,
    schema: Schema | Mapping[str, Any] | None = None,
    cap: int = CAP,
    operators: Handed = None,
) -> Model:
    """Learn from a table of events how probably patterns complete: the model that `vedette train` makes of them.

    Of the `subscriptions` (as `match` takes them) patterns with `predict` count, and whatever calls `operators`: how
    often these hold, and what they cost, is learnt, too. Events count in the order of their `time`, and of those with
    the same `id` (by default the column of that name) the one that comes first. `context` is how many of the last
    events refine a forecast, `schema` says how events are read where their own types do not, and at most `cap` partial
    matches are kept in a partition: which of them go first beyond it may differ from one process.
    """
    if not isinstance(history, DataFrame):
        name = type(history).__name__
        raise InputError(f"the history is a {name}, not a DataFrame of Spark\nHint: spark.createDataFrame makes one")
    if history.isStreaming:
        raise NotSupported("a stream of events has no end to learn until\nHint: read what has come as a table")
    if cap < 1:
        raise InputError(f"a cap of {cap} partial matches leaves none\nHint: it is a number from 1 on")
    settings = Settings(context=context)
    calling = calling_of(operators)
    known = read_by(schema, history.schema)
    given = loaded(subscriptions, known, None if calling.installed else calling.operators)
    patterns = list(given.patterns.values()) if isinstance(given, Subscriptions) else []
    records = [each for each in patterns if each.predict is not None or patterns_call([each], given.schema)]
    filters = Subscriptions(given.schema)
    if isinstance(given, Subscriptions):
        for one in given.with_operators.values():
            filters.add(one.id, one.text)
    if not records and not len(filters):
        raise InputError(
            "the subscriptions have no pattern that asks for forecasts, and nothing in them calls operators\n"
            """Hint: give a pattern e.g. "predict": {"within": 10, "threshold": 0.8}"""
        )
    name_of = _named(history, id)
    if len(filters):
        found = match(history, filters, keep=[], id=id, schema=given.schema, operators=calling)
        found.write.format("noop").mode("overwrite").save()
    model = Model(settings)
    if records:
        called = calling if patterns_call(records, given.schema) else None
        coded, task = coded_history(history, records, given.schema, id_=name_of, cap=cap, calling=called)
        if called is not None:
            coded = coded.persist()  # operators are not to be called once more, whatever comes
        try:
            model = timed(records, given.schema, learn(coded, Lesson(task, settings), records)).model
        finally:
            if called is not None:
                coded.unpersist()
    return model.knowing(calling.known())


def coded_history(
    history: DataFrame,
    records: Sequence[PatternRecord],
    schema: Schema,
    *,
    id_: Column | None,
    cap: int,
    calling: Calling | None = None,
) -> tuple[DataFrame, Task]:
    """The events as patterns read them, PLACED, once for every group in which they have a partition; and the groups."""
    stored, spark = history.schema, history.sparkSession
    numbered = history.select("*", *([] if id_ is None else [id_])).toDF(*_numbers(len(stored) + (id_ is not None)))
    sent = sent_of(records, schema, stored, calling)
    name = F.lit(None) if id_ is None else F.col(f"_{len(stored)}")
    wide = numbered.select(
        *(each.column.alias(sent_as(number)) for number, each in enumerate(sent)),
        name.cast("string").alias(ID),
        F.monotonically_increasing_id().alias(ARRIVAL),
    )
    names = tuple(each.name for each in sent)
    untimed = TIME in names and _has_untimed(wide, sent_as(names.index(TIME)))
    wide = wide.withColumn(_AGAIN, F.lit(False) if id_ is None else _again())
    groups = groups_of(records, shards_of(spark), learn=False)
    # All events are in a last group, which is there for their times alone.
    read_in = (*groups, PatternGroup((), (), 1)) if untimed else groups
    task = Task(
        f"{version_of(records, schema)}-{cap}-{untimed}",
        read_in,
        schema,
        names,
        (),
        1,
        cap,
        caller=None if calling is None else caller(calling, spark),
        filters=filters_of(records, schema, read_in),
    )
    columns = columns_of((*PLACED, (_AGAIN, "boolean")))
    coded = wide.mapInArrow(placing(reading(task), task, _AGAIN), columns)
    if untimed:
        coded = _in_time(coded).where(F.col(GROUP) < len(groups))
    return coded.where(~F.col(_AGAIN)).drop(_AGAIN), replace(task, groups=groups, carried=0)


def _again() -> Column:
    """Whether an event with the same id came before."""
    alike = Window.partitionBy(F.coalesce(F.col(ID), F.col(ARRIVAL).cast("string")), F.col(ID).isNull())
    return F.col(ARRIVAL) > F.min(ARRIVAL).over(alike)


def _has_untimed(wide: DataFrame, name: str) -> bool:
    return wide.schema[name].nullable and not wide.where(F.col(name).isNull()).isEmpty()


def _in_time(coded: DataFrame) -> DataFrame:
    """An event without a time has the greatest of those before it, as in one process."""
    before = Window.orderBy(ARRIVAL).rangeBetween(Window.unboundedPreceding, Window.currentRow)
    greatest = F.max(F.when(F.col(TIMED), F.col(MOMENT))).over(before)
    return coded.withColumn(MOMENT, F.when(F.col(TIMED), F.col(MOMENT)).otherwise(F.coalesce(greatest, F.lit(0))))


def _named(history: DataFrame, given: str | None) -> Column | None:
    """What events are called, if they are."""
    name = "id" if given is None else given
    if history.columns.count(name) == 1:
        return F.col("`" + name.replace("`", "``") + "`")
    if given is None:
        return None
    raise InputError(f"the events have no one column {given!r}\nHint: `id` names the column that tells events apart")


def _numbers(count: int) -> list[str]:
    return [f"_{number}" for number in range(count)]
