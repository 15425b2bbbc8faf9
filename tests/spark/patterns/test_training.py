"""What is learnt on Spark is what one process learns from the same history: byte for byte."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests.patterns.generate import patterns, shuffled
from tests.spark.patterns.test_together import events_of, frame_of, subscribed
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import InputError, NotSupported
from vedette.operators.calling import Calling
from vedette.operators.operator import operator
from vedette.operators.registry import Operators
from vedette.patterns.forecasts.model import Model, Trainer
from vedette.patterns.forecasts.probability_table import ForecastSettings
from vedette.patterns.matcher import PatternMatcher
from vedette.spark import train

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# All of these that hold of an event make its symbol: more of them than can be told apart.
FEATURES = ["u = 0", "u = 1", "v = 0", "v = 1", "s = 'x'", "r = 'x'", "f > 1", "kind = 'a'", "kind = 'b'"]


def learnt(subscriptions: Subscriptions, events: list[dict[str, Any]], *, context: int = 6, cap: int = 10_000) -> Model:
    """What one process learns, whatever the chunks that it reads."""
    records = [record for record in subscriptions.patterns.values() if record.predict is not None]
    matcher = PatternMatcher(records, subscriptions.schema, lateness=None, cap=cap)
    trainer = Trainer(records, ForecastSettings(context=context))
    for begin in range(0, len(events), 100):
        some = events[begin : begin + 100]
        trainer.see(matcher.process(some, ids=[event.get("id") for event in some]).observations)
    trainer.see(matcher.finish().observations)
    return trainer.model()


def some_moves(model: Model) -> int:
    """How many moves were counted, of all patterns."""
    return sum(model.counts(name).events for name in model)


@pytest.mark.long
@pytest.mark.parametrize(("seed", "context"), [(1, 6), pytest.param(2, 2, marks=pytest.mark.thorough)])
def test_random_patterns_over_random_events(spark: SparkSession, seed: int, context: int) -> None:
    """Partitioned or not, out of order, with events that have no time, no partition, or an id that was there before."""
    random = Random(seed)
    events = shuffled(random, events_of(seed, 400))
    events += [{**random.choice(events), "kind": "b"} for _ in range(40)]
    subscriptions = subscribed(patterns(random, 30), within=5, features=["u = 2"])
    local = learnt(subscriptions, events, context=context)
    on_spark = train(frame_of(spark, events), subscriptions, schema=subscriptions.schema, context=context)
    assert on_spark.to_bytes() == local.to_bytes()
    assert len(local) > 20
    assert some_moves(local) > 5_000


def test_more_kinds_of_events_than_can_be_told_apart(spark: SparkSession) -> None:
    events = events_of(5, 1_500, timeless=False)
    subscriptions = subscribed(["[kind = 'a'] , [kind = 'b'] by s, r"], within=5, features=FEATURES)
    subscriptions.add("plain", "[u = 1] ; [u = 2] by r")
    local = learnt(subscriptions, events)
    assert local.exhausted
    spark.conf.set("spark.sql.shuffle.partitions", "20")
    try:
        on_spark = train(frame_of(spark, events), subscriptions, schema=subscriptions.schema)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert on_spark.to_bytes() == local.to_bytes()
    assert len(on_spark) == 1  # who asks for no forecast is not learnt


def test_columns_and_their_names(spark: SparkSession) -> None:
    """An id by another name, a time that is a text, a column that nobody reads."""
    rows = [(f"n{number % 30}", f"2024-05-01T12:00:{number % 60:02}Z", number % 3, [number]) for number in range(40)]
    frame = spark.createDataFrame(rows, "name string, time string, x int, other array<int>").coalesce(1)
    given = [{"id": "p", "when": "[x = 1] ; [x = 2] within 20 s", "predict": {"within": 3}}]
    model = train(frame, given, id="name", schema={"time": "timestamp"}, context=3)
    subscriptions = Subscriptions({"name": "string", "time": "timestamp", "x": "int", "other": "list of int"})
    subscriptions.add_many(given)
    events = [{"id": name, "time": time, "x": x} for name, time, x, _ in rows]
    assert model.to_bytes() == learnt(subscriptions, events, context=3).to_bytes()
    assert model.counts(next(iter(model))).events == 30
    unnamed = train(frame, given, schema={"time": "timestamp"})
    assert unnamed.counts(next(iter(unnamed))).events == 40


def test_what_cannot_be_learnt_is_said(spark: SparkSession) -> None:
    subscriptions = Subscriptions({"value": "int"})
    subscriptions.add("p", "[value = 1] ; [value = 2] within 1 h")
    table = spark.range(3).selectExpr("id as value", "id as name")
    with pytest.raises(InputError, match="no pattern that asks for forecasts"):
        train(table, subscriptions)
    subscriptions.add("q", "[value = 1] ; [value = 2] within 1 h", predict={"within": 3})
    with pytest.raises(InputError, match="'q' speaks of time, and the events have none"):
        train(table, subscriptions)
    with pytest.raises(InputError, match="no one column 'who'"):
        train(table, subscriptions, id="who")
    with pytest.raises(InputError, match="a context of 7 events"):
        train(table, subscriptions, context=7)
    with pytest.raises(InputError, match="not a DataFrame"):
        train([{"value": 1}], subscriptions)  # type: ignore[arg-type]
    with pytest.raises(NotSupported, match="a stream of events"):
        train(spark.readStream.format("rate").load(), subscriptions)


def test_nothing_that_a_pattern_sees(spark: SparkSession) -> None:
    subscriptions = Subscriptions({"value": "int", "k": "string"})
    subscriptions.add("p", "[value = 1] ; [value = 2] by k", predict={"within": 3})
    table = spark.range(3).selectExpr("id as value", "cast(null as string) as k")
    assert len(train(table, subscriptions)) == 0
    assert len(train(table.limit(0), subscriptions)) == 0


def test_operators_are_learnt_of_too(spark: SparkSession) -> None:
    @operator(reads=("u",), time_limit=None)
    def warm(event: Any, least: int) -> bool | None:
        return None if event["u"] is None else bool(event["u"] >= least)

    events = events_of(6, 300, timeless=False)
    called = subscribed(["[warm(1)] ; [kind = 'b'] by s", "[kind = 'a'] , [v = 1 and warm(2)]"], within=4)
    called.add("only", "[kind = 'c'] ; [warm(2)]")
    called.add("filter", "kind = 'a' and warm(1)")
    plain = subscribed(["[u >= 1] ; [kind = 'b'] by s", "[kind = 'a'] , [v = 1 and u >= 2]"], within=4)
    calling = Calling(Operators(warm))
    model = train(frame_of(spark, events), called, schema=called.schema, operators=calling)
    expected = learnt(plain, events)
    assert [model.counts(name).plain() for name in model] == [expected.counts(name).plain() for name in expected]
    for one, other in zip(model, expected, strict=True):
        for got, wanted in zip(model.counts(one).moves(), expected.counts(other).moves(), strict=True):
            assert (got == wanted).all()
    assert model.operators is not None
    observed = model.operators.plain()["observed"]
    assert {"warm(1) costs", "warm(2) costs"} <= observed.keys()
    assert calling.made["warm"] > 0
    only = train(frame_of(spark, events), [{"id": "f", "when": "u = 1 and warm(1)"}], operators=Operators(warm))
    assert len(only) == 0
    assert only.operators is not None
