"""Patterns whose steps call operators, over DataFrames: what one process tells of the same events."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.operators.test_steps import OPERATORS, with_operators
from tests.patterns.generate import patterns
from tests.spark.patterns.test_together import events_of, frame_of, on_spark, subscribed
from vedette.engine.stream_matcher import StreamMatcher
from vedette.operators.calling import Calling
from vedette.spark.dataframe_match import match

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def local(subscriptions: Any, events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    matcher = StreamMatcher(subscriptions, lateness=None, learn=False, operators=OPERATORS)
    told = pa.concat_tables([matcher.process(events, ids=[event["id"] for event in events]), matcher.finish()])
    names = ("subscription", "kind", "steps", "bindings", "probability", "within")
    rows = []
    for row in told.to_pylist():
        values = [row[name] for name in names]
        for place in (2, 3):
            values[place] = sorted(dict(values[place]).items()) if values[place] else []
        rows.append((row["event"], *("" if value is None else value for value in values)))
    return sorted(rows)


@pytest.mark.thorough  # tests/contract/test_every_host.py has both in a mixture on every host of Spark
def test_random_patterns_and_filters_that_call_operators(spark: SparkSession) -> None:
    random = Random(5)
    events = events_of(4, 300, timeless=False)
    texts = [with_operators(random, text) for text in patterns(Random(6), 24, "6 s")]
    subscriptions = subscribed([*texts, "is_kind('a') and values(?x) and ?x > 0", "kind = 'b'"])
    assert subscriptions.patterns
    assert subscriptions.with_operators
    calling = Calling(OPERATORS)
    found = match(frame_of(spark, events), subscriptions, keep="id", schema=subscriptions.schema, operators=calling)
    expected = local(subscriptions, events)
    assert on_spark(found) == expected
    assert len(expected) > 100
    assert any(row[4] and not row[3] for row in expected)  # a filter with bindings
    assert set(calling.made) == {"is_kind", "at_most", "values"}


def test_what_several_groups_ask_is_asked_once(spark: SparkSession) -> None:
    events = events_of(4, 100, timeless=False)
    subscriptions = subscribed(["[is_kind('a')] , [is_kind('a')] by s", "[is_kind('a')] , [is_kind('a')] by r"])
    calling = Calling(OPERATORS)
    found = match(frame_of(spark, events), subscriptions, keep="id", schema=subscriptions.schema, operators=calling)
    assert on_spark(found) == local(subscriptions, events)
    assert calling.made == {"is_kind": len(events)}
