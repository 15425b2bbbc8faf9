"""Training on Spark: the model that patterns with `predict`, and operators, learn from a DataFrame of past events."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from vedette.engine.engine import Engine
from vedette.engine.pattern_shards import ShardOptions
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import InputError, NotSupported
from vedette.filters.matcher import Matcher
from vedette.patterns.forecasts.model import Model
from vedette.patterns.forecasts.probability_table import ForecastSettings
from vedette.patterns.pattern_step import CAP
from vedette.patterns.witness_names import TIME
from vedette.schema.schema import Schema
from vedette.spark.compiled import Given, loaded
from vedette.spark.dataframe_match import Wanted, matched, read_by
from vedette.spark.engines import Sent
from vedette.spark.operators.carried import Handed, calling_of
from vedette.spark.patterns.coding import Reading
from vedette.spark.patterns.frames import has_untimed, sent_of
from vedette.spark.patterns.learning import PLACED, Lesson, placing
from vedette.spark.patterns.rows import columns_of
from vedette.spark.patterns.tables import in_time
from vedette.spark.patterns.training import learn, timed
from vedette.spark.readers import AGAIN, ARRIVAL, ID, TableReader, sent_as
from vedette.spark.spark_session import shards_of
from vedette.spark.versions import is_frame
from vedette.spark.worker_check import in_worker


def train(
    history: DataFrame,
    subscriptions: Given,
    *,
    context: int = 6,
    id: str | None = None,
    schema: Schema | Mapping[str, Any] | None = None,
    cap: int = CAP,
    operators: Handed = None,
    strict: bool = False,
) -> Model:
    """Learn from a table of events how probably patterns complete: the model that `vedette train` makes of them.

    Of the `subscriptions` (as `match` takes them, `strict` or not) patterns with `predict` count, and whatever calls
    `operators`: how often these hold, and what they cost, is learnt, too. Events count in the order of their `time`,
    and of those with the same `id` (by default the column of that name) the one that comes first. `context` is how many
    of the last events refine a forecast, `schema` says how events are read where their own types do not, and at most
    `cap` partial matches are kept in a partition: which of them go first beyond it may differ from one process.
    """
    if not is_frame(history):
        name = type(history).__name__
        raise InputError(f"the history is a {name}, not a DataFrame of Spark\nHint: spark.createDataFrame makes one")
    if history.isStreaming:
        raise NotSupported("a stream of events has no end to learn until\nHint: read what has come as a table")
    if cap < 1:
        raise InputError(f"a cap of {cap} partial matches leaves none\nHint: it is a number from 1 on")
    settings = ForecastSettings(context=context)
    calling = calling_of(operators)
    known = read_by(schema, history.schema)
    given = loaded(subscriptions, known, None if calling.installed else calling.operators, strict=strict)
    if isinstance(given, Subscriptions):
        given = given.learning().compiled(calling)
    engine = Engine(given) if isinstance(given, Matcher) else given.learning(calling)
    if not engine.has_state and not engine.called_at_once:
        raise InputError(
            "the subscriptions have no pattern that asks for forecasts, and nothing in them calls operators\n"
            """Hint: give a pattern e.g. "predict": {"within": 10, "threshold": 0.8}"""
        )
    name_of = _named(history, id)
    if engine.called_at_once:
        wanted = Wanted([], subscribers=False, rejects=False, id=id)
        matched(history, engine, wanted).write.format("noop").mode("overwrite").save()
    model = Model(settings)
    if engine.has_state:
        calls = bool(engine.called_on_the_way)
        coded, sent = coded_history(history, engine, id_=name_of, cap=cap)
        if calls:
            coded = coded.persist()  # operators are not to be called once more, whatever comes
        try:
            records = sent.patterns().records
            model = timed(records, engine.schema, learn(coded, Lesson(sent, settings), records)).model
        finally:
            if calls:
                coded.unpersist()
    return model.knowing(calling.known())


def coded_history(history: DataFrame, engine: Engine, *, id_: Column | None, cap: int) -> tuple[DataFrame, Sent]:
    """The coded events, PLACED, once for every group in which they have a partition; and the engine as it was sent."""
    stored, spark = history.schema, history.sparkSession
    numbered = history.select("*", *([] if id_ is None else [id_])).toDF(*_numbers(len(stored) + (id_ is not None)))
    crossing = sent_of(engine.machines, stored)
    name = F.lit(None) if id_ is None else F.col(f"_{len(stored)}")
    wide = numbered.select(
        *(each.column.alias(sent_as(number)) for number, each in enumerate(crossing)),
        name.cast("string").alias(ID),
        F.monotonically_increasing_id().alias(ARRIVAL),
    )
    names = tuple(each.name for each in crossing)
    untimed = TIME in names and has_untimed(wide, crossing)
    if id_ is not None:
        wide = wide.withColumn(AGAIN, _again())
    sent = Sent.of(engine, spark, ShardOptions(shards_of(spark), cap))
    reading = Reading(functools.partial(TableReader, names), sent=sent, strict=True, told=False, times=untimed)
    coded = wide.mapInArrow(in_worker(placing(reading)), columns_of(PLACED))
    return in_time(coded) if untimed else coded, sent


def _again() -> Column:
    """Whether an event with the same id came before."""
    alike = Window.partitionBy(F.coalesce(F.col(ID), F.col(ARRIVAL).cast("string")), F.col(ID).isNull())
    return F.col(ARRIVAL) > F.min(ARRIVAL).over(alike)


def _named(history: DataFrame, given: str | None) -> Column | None:
    """The column of events' names, if there is one."""
    name = "id" if given is None else given
    if history.columns.count(name) == 1:
        return F.col("`" + name.replace("`", "``") + "`")
    if given is None:
        return None
    raise InputError(f"the events have no one column {given!r}\nHint: `id` names the column that tells events apart")


def _numbers(count: int) -> list[str]:
    return [f"_{number}" for number in range(count)]
