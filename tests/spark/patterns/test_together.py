"""Patterns over DataFrames tell what the local engine tells of the same events."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import PythonException

from tests.patterns.generate import SCHEMA, patterns, stream
from vedette.engine.stream_matcher import StreamMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import InputError, NotSupported, VedetteError
from vedette.patterns.forecasts.model import Model
from vedette.spark.dataframe_match import match

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COLUMNS = "id string, time timestamp, kind string, u int, v int, f double, s string, r string"
_NAMES = [each.split()[0] for each in _COLUMNS.split(", ")]
_TOLD = ("subscription", "kind", "steps", "bindings", "probability", "within")


def events_of(seed: int, count: int, *, timeless: bool = True) -> list[dict[str, Any]]:
    """Random events with ids, in the order of arrival."""
    made = [{"id": f"e{number}", **event} for number, event in enumerate(stream(Random(seed), count))]
    return made if timeless else [{"time": 0, **event} for event in made if event.get("time", 0) is not None]


def frame_of(spark: SparkSession, events: list[dict[str, Any]]) -> DataFrame:
    """The same as a DataFrame: texts of times are read by the schema."""
    text = _COLUMNS.replace("time timestamp", "time bigint")
    return spark.createDataFrame([tuple(event.get(name) for name in _NAMES) for event in events], text)


def subscribed(texts: list[str], **predict: Any) -> Subscriptions:
    """Those texts that are patterns over these attributes."""
    made = Subscriptions({**SCHEMA, "time": "float"})
    for number, text in enumerate(texts):
        try:
            made.add(f"p{number}", text, subscriber=f"who{number % 3}", predict=predict or None)
        except VedetteError:
            continue
    return made


def local(
    subscriptions: Subscriptions, events: list[dict[str, Any]], model: Model | None = None
) -> list[tuple[Any, ...]]:
    """What one process tells, once all events are there."""
    stream = StreamMatcher(subscriptions, lateness=None, model=model, learn=False)
    told = pa.concat_tables([stream.process(events, ids=[event["id"] for event in events]), stream.finish()])
    return sorted((row["event"], *_plain(row)) for row in told.to_pylist())


def on_spark(found: DataFrame) -> list[tuple[Any, ...]]:
    """The rows of a DataFrame, in the same order."""
    return sorted((row["id"], *_plain(row.asDict())) for row in found.collect())


def _plain(row: dict[str, Any]) -> tuple[Any, ...]:
    values = [row[name] for name in _TOLD]
    for place in (2, 3):
        values[place] = sorted(dict(values[place]).items()) if values[place] else []
    return tuple("" if value is None else value for value in values)


@pytest.mark.long
def test_random_patterns_over_random_events(spark: SparkSession) -> None:
    events = events_of(1, 500)
    subscriptions = subscribed(
        [*patterns(Random(2), 60, "6 s"), "kind = 'a' and u = 1", "[kind = 'a'] , [kind = 'b'] by s"]
    )
    assert len(subscriptions.patterns) > 40
    assert len(subscriptions.patterns) < len(subscriptions)
    expected = local(subscriptions, events)
    found = on_spark(match(frame_of(spark, events), subscriptions, keep="id", schema=subscriptions.schema))
    assert found == expected
    assert len(expected) > 500
    assert {row[2] for row in found} == {"match"}


def test_subscribers_duplicates_and_events_without_ids(spark: SparkSession) -> None:
    subscriptions = Subscriptions({"x": "int", "k": "string"})
    subscriptions.add("pair", "[x = 1] , [x = 2] by k", subscriber="ann")
    subscriptions.add("two", "x = 2", subscriber="bob")
    rows = [("a", 1, "m"), ("b", 1, "n"), ("a", 1, "m"), ("c", 2, "m"), ("d", 2, "n")]
    frame = spark.createDataFrame(rows, "name string, x int, k string").coalesce(1)
    found = match(frame, subscriptions, keep=["name"], subscribers=True, id="name")
    assert found.columns[:3] == ["name", "subscription", "subscriber"]
    told = {(row["name"], row["subscription"], row["subscriber"], str(row["steps"])) for row in found.collect()}
    assert told == {
        ("c", "pair", "ann", "{'1': 'a', '2': 'c'}"),
        ("d", "pair", "ann", "{'1': 'b', '2': 'd'}"),
        ("c", "two", "bob", "None"),
        ("d", "two", "bob", "None"),
    }
    unnamed = match(frame, subscriptions, keep=["name"]).where("subscription = 'pair'").collect()
    assert {(row["name"], str(row["steps"])) for row in unnamed} == {
        ("c", "{'1': '2', '2': '3'}"),
        ("d", "{'1': '1', '2': '4'}"),
    }


def test_an_event_without_a_time_has_the_greatest_of_all_before_it(spark: SparkSession) -> None:
    subscriptions = Subscriptions({"x": "int", "k": "string", "time": "float", "ok": "bool"})
    subscriptions.add("p", "[x = 1 and ok = $sure] ; [x = 2 and ok = $sure] by k")
    events = [
        {"id": "e0", "time": 100, "x": 9},  # of no partition
        {"id": "e1", "x": 1, "k": "m", "ok": True},
        {"id": "e2", "time": 50, "x": 2, "k": "m", "ok": True},
        {"id": "e3", "time": 200, "x": 2, "k": "m", "ok": True},
    ]
    names = ("id", "time", "x", "k", "ok")
    rows = [tuple(event.get(name) for name in names) for event in events]
    frame = spark.createDataFrame(rows, "id string, time bigint, x int, k string, ok boolean").coalesce(1)
    found = on_spark(match(frame, subscriptions, keep="id", schema=subscriptions.schema))
    assert found == local(subscriptions, events)
    assert [row[0] for row in found] == ["e3"]


def test_what_cannot_be_done_is_said(spark: SparkSession) -> None:
    subscriptions = Subscriptions({"value": "int", "timestamp": "timestamp"})
    subscriptions.add("p", "[value = 1] ; [value = 2]")
    rate = spark.readStream.format("rate").load()
    with pytest.raises(InputError, match="the stream has no `time`"):
        match(rate, subscriptions)
    table = spark.range(3).selectExpr("id as value", "id as name")
    with pytest.raises(NotSupported, match="rejects"):
        match(table, subscriptions, rejects="keep")
    with pytest.raises(InputError, match="no one column 'who'"):
        match(table, subscriptions, id="who")


def test_an_event_that_breaks_the_schema_is_an_error(spark: SparkSession) -> None:
    subscriptions = Subscriptions({"x": "int", "time": "timestamp"})
    subscriptions.add("p", "[x = 1] ; [x = 2] within 1 h")
    frame = spark.createDataFrame([("e1", 1, "yesterday")], "id string, x int, time string")
    with pytest.raises(PythonException, match="event 'e1' breaks the schema"):
        match(frame, subscriptions, schema={"time": "timestamp"}).collect()
