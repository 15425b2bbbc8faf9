"""Training on Spark: the model that patterns with `predict`, and operators, learn from a DataFrame of past events."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from vedette.engine.engine import Engine
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import InputError, NotSupported
from vedette.filters.matcher import Matcher
from vedette.filters.operator_records import OperatorRecord
from vedette.filters.pattern_records import PatternRecord
from vedette.io.operator_calls import patterns_call
from vedette.operators.calling import Calling
from vedette.patterns.forecasts.model import Model
from vedette.patterns.forecasts.probability_table import ForecastSettings
from vedette.patterns.matcher import PatternMatcher
from vedette.patterns.pattern_step import CAP
from vedette.patterns.witness_names import TIME
from vedette.schema.schema import Schema
from vedette.spark.compiled import Given, loaded
from vedette.spark.dataframe_match import match, read_by
from vedette.spark.operators.carried import Handed, caller, calling_of
from vedette.spark.patterns.coding import Reading
from vedette.spark.patterns.frames import has_untimed, sent_of
from vedette.spark.patterns.learning import PLACED, Lesson, placing
from vedette.spark.patterns.rows import columns_of
from vedette.spark.patterns.sets import PatternSet, pattern_set, shards_of
from vedette.spark.patterns.tables import in_time
from vedette.spark.patterns.training import learn, timed
from vedette.spark.readers import AGAIN, ARRIVAL, ID, TableReader, sent_as


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
    if not isinstance(history, DataFrame):
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
    patterns, calls = _learnt_of(given)
    records = [each for each in patterns if each.predict is not None or patterns_call([each], given.schema)]
    filters = Subscriptions(given.schema)
    for one in calls:
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
        coded, read = coded_history(history, records, given.schema, id_=name_of, cap=cap, calling=called)
        if called is not None:
            coded = coded.persist()  # operators are not to be called once more, whatever comes
        try:
            model = timed(records, given.schema, learn(coded, Lesson(read, settings), records)).model
        finally:
            if called is not None:
                coded.unpersist()
    return model.knowing(calling.known())


def _learnt_of(given: Subscriptions | Engine | Matcher) -> tuple[list[PatternRecord], list[OperatorRecord]]:
    """The patterns, and the filters that call operators."""
    if isinstance(given, Subscriptions):
        return list(given.patterns.values()), list(given.with_operators.values())
    if isinstance(given, Engine):
        return list(given.pattern_records.values()), list(given.operator_records.values())
    return [], []


def coded_history(
    history: DataFrame,
    records: Sequence[PatternRecord],
    schema: Schema,
    *,
    id_: Column | None,
    cap: int,
    calling: Calling | None = None,
) -> tuple[DataFrame, PatternSet]:
    """The coded events, PLACED, once for every group in which they have a partition; and the patterns."""
    stored, spark = history.schema, history.sparkSession
    numbered = history.select("*", *([] if id_ is None else [id_])).toDF(*_numbers(len(stored) + (id_ is not None)))
    sent = sent_of(PatternMatcher(records, schema, calling=calling), stored)
    name = F.lit(None) if id_ is None else F.col(f"_{len(stored)}")
    wide = numbered.select(
        *(each.column.alias(sent_as(number)) for number, each in enumerate(sent)),
        name.cast("string").alias(ID),
        F.monotonically_increasing_id().alias(ARRIVAL),
    )
    names = tuple(each.name for each in sent)
    untimed = TIME in names and has_untimed(wide, sent)
    if id_ is not None:
        wide = wide.withColumn(AGAIN, _again())
    patterns = pattern_set(records, schema, shards_of(spark), cap=cap)
    reading = Reading(
        functools.partial(TableReader, names),
        patterns=patterns,
        caller=None if calling is None else caller(calling, spark),
        strict=True,
        told=False,
        times=untimed,
    )
    coded = wide.mapInArrow(placing(reading), columns_of(PLACED))
    return in_time(coded) if untimed else coded, patterns


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
