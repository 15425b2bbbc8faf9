"""Filters and patterns over the same events: each in its own way, and all that they tell in one DataFrame."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from vedette.errors import InputError
from vedette.matching.subscriptions import Subscriptions
from vedette.operators.calling import Calling
from vedette.prediction.model import Model
from vedette.spark.patterns.match import follow, version_of
from vedette.spark.patterns.match_stream import follow_stream
from vedette.spark.patterns.tasks import TOLD as TOLD_NAMES
from vedette.spark.patterns.tasks import carried_as

_ID, _BINDINGS = "id", "bindings"
_BESIDE = TOLD_NAMES[1:]  # what stands behind the subscription


class Wanted(NamedTuple):
    """What is to be told of patterns."""

    kept: Sequence[str | Column]  # as `select` takes them
    subscribers: bool
    id: str | Column | None
    model: Model | None
    lateness: int = 0  # of a stream: how much later than others an event may come, in microseconds
    late: bool = False  # tell of events that came even later
    calling: Calling | None = None  # of the operators that steps call


def match_all(events: DataFrame, subscriptions: Subscriptions, filters: DataFrame, wanted: Wanted) -> DataFrame:
    """What filters found, and a row for every match and forecast of a pattern."""
    own = len(events.columns)
    wide = events.select("*", *wanted.kept, *_named(events, wanted.id))
    binding = bool(subscriptions.with_operators)  # filters tell bindings, too
    kept = filters.columns[: len(filters.columns) - 2 - wanted.subscribers - binding]
    numbers = range(own, own + len(kept))
    in_stream = functools.partial(follow_stream, lateness=wanted.lateness, late=wanted.late, calling=wanted.calling)
    in_table = functools.partial(follow, calling=wanted.calling)
    follow_events: Callable[..., DataFrame] = in_stream if events.isStreaming else in_table
    found = follow_events(
        wide.toDF(*(f"_{number}" for number in range(len(wide.columns)))),
        events.schema,
        list(subscriptions.patterns.values()),
        subscriptions.schema,
        [F.col(f"_{number}") for number in numbers],
        id_=F.col(f"_{own + len(kept)}") if len(wide.columns) > own + len(kept) else None,
        model=wanted.model,
    )
    if wanted.subscribers:
        who = [(id_, record.subscriber) for id_, record in subscriptions.patterns.items()]
        known = events.sparkSession.createDataFrame(who, "subscription string, subscriber string")
        found = found.join(F.broadcast(known), "subscription", "left")
    added = ["subscription", *(["subscriber"] if wanted.subscribers else [])]
    carried = [F.col(carried_as(number)).alias(name) for number, name in enumerate(kept)]
    told = found.select(*carried, *added, *_BESIDE)
    types = dict(told.dtypes)
    nothing = [F.lit(None).cast(types[name]).alias(name) for name in _BESIDE[1:]]
    if binding:
        nothing[_BESIDE[1:].index(_BINDINGS)] = filters[len(kept) + len(added)].alias(_BINDINGS)
    plain = filters.select(*_all(filters, len(kept) + len(added)), F.lit("match").alias("kind"), *nothing, "version")
    version = hashlib.blake2b(digest_size=16)
    version.update(version_of(subscriptions.patterns.values(), subscriptions.schema).encode())
    version.update(subscriptions.compile(filters_only=True).version.encode())
    version.update(repr([*subscriptions.with_operators.values()] or "").encode())
    told = told.withColumn("version", F.lit(version.hexdigest()))
    if len(subscriptions) == len(subscriptions.patterns):  # events need not be read once more for filters
        return told
    return plain.withColumn("version", F.lit(version.hexdigest())).union(told)


def _all(frame: DataFrame, count: int) -> list[Column]:
    return [frame[number] for number in range(count)]


def _named(events: DataFrame, given: str | Column | None) -> list[Column]:
    """What events are called, if they are."""
    if given is None:
        return [F.col(_ID)] if events.columns.count(_ID) == 1 else []
    if isinstance(given, str) and events.columns.count(given) != 1:
        raise InputError(
            f"the events have no one column {given!r}\nHint: `id` names the column that tells events apart"
        )
    return [F.col(given) if isinstance(given, str) else given]
