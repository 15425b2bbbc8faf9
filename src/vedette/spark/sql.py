"""Subscriptions as a function of SQL, for whoever writes `spark.sql`, views and LATERAL instead of Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from pyspark.sql import SparkSession

from vedette.engine.engine import Engine
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import InputError, NotSupported
from vedette.filters.matcher import Matcher
from vedette.schema.schema import Schema
from vedette.spark.compiled import Given, loaded
from vedette.spark.dataframe_match import read_by
from vedette.spark.engines import Sent
from vedette.spark.operators.carried import Handed, calling_of
from vedette.spark.readers import TableReader, sent_as
from vedette.spark.spark_session import session
from vedette.spark.told import EventLists, telling
from vedette.spark.versions import arrow_function
from vedette.spark.worker import WorkerTask

_TOLD: Final = "array<struct<subscription: string, subscriber: string, bindings: map<string, string>>>"
_OPEN: Final = Schema({}, closed=False)


def register(
    subscriptions: Given,
    *,
    name: str = "vedette_match",
    schema: Schema | Mapping[str, Any] | None = None,
    operators: Handed = None,
    strict: bool = False,
    spark: SparkSession | None = None,
) -> None:
    """Register a function of SQL that gets an event, as a struct, and gives an array of those who hear of it.

        SELECT id, inline(vedette_match(struct(*))) FROM trades
        SELECT id, subscription FROM trades, LATERAL inline(vedette_match(struct(issue, price)))

    Its elements have `subscription`, `subscriber` and `bindings`; an event that matches nothing has an empty array. The
    subscriptions are those of now: register them again, under the same name, when they have changed. Without a
    `schema`, attributes have the types that subscriptions expect. An event that breaks it is an error.
    """
    running = spark or session()
    calling = calling_of(operators)
    known = _OPEN if schema is None else read_by(schema, _nothing(running))
    given = loaded(subscriptions, known, None if calling.installed else calling.operators, strict=strict)
    if isinstance(given, Subscriptions):
        given = Engine.of(given, given.compile_filters(), calling=calling)
    engine = Engine(given) if isinstance(given, Matcher) else given
    if engine.offered_to is not None or engine.has_state:
        raise NotSupported(
            "a function of SQL sees one event at a time, and some subscriptions are patterns, or ask for offers\n"
            "Hint: leave these out here; vedette.spark.match follows patterns, vedette.spark.meet meets offers"
        )
    if not name.isidentifier():
        raise InputError(f"{name!r} cannot be the name of a function\nHint: letters, digits and underscores")
    running.udf.register(name, arrow_function(_over(Sent.of(engine, running)), _TOLD))


def _nothing(spark: SparkSession) -> Any:
    return spark.range(0).select().schema


def _over(sent: Sent) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that a worker runs over all events: columns of structs in, of arrays out."""

    def over(batches: Iterator[Any]) -> Iterator[Any]:
        for events in batches:
            names = tuple(field.name for field in events.type)
            task = WorkerTask(sent, partial(TableReader, names), partial(EventLists, True))
            columns = [sent_as(number) for number in range(len(names))]
            for told in telling(task, columns)(iter([tuple(events.flatten())])):
                reason = next((one for one in told.field("reason").to_pylist() if one is not None), None)
                if reason is not None:
                    raise InputError(f"{reason}\nHint: cast it in the query, or register with another `schema`")
                yield told.field("found")

    return over
