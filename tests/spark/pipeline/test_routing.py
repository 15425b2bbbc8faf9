"""Ids are stable and told apart; routes take what fnmatch takes; nothing of an outcome is lost between the two."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.spark.pipeline.outcomes import KEPT, notification_id, outcomes
from vedette.errors import InputError
from vedette.spark.pipeline.routing import NOTIFICATION, REJECT, java_pattern, notifications, rejected, routed


@dataclass
class Wants:
    subscribers: tuple[str, ...] | None = None
    subscriptions: tuple[str, ...] | None = None


def test_a_notification_is_a_match_with_an_id(spark: SparkSession) -> None:
    told = notifications(outcomes(spark, 0, 10))
    kept = spark.createDataFrame([], KEPT).columns
    assert told.columns == [*NOTIFICATION, *kept]
    rows = told.collect()
    assert sorted(row.event for row in rows) == sorted(f"e{number}" for number in range(10))
    for row in rows:
        assert row.id == notification_id(row.event, row.subscription, row.kind)
    assert len({row.id for row in rows}) == 10


def test_ids_do_not_depend_on_versions_and_are_not_confused(spark: SparkSession) -> None:
    schema = (
        "event string, subscription string, subscriber string, kind string, version string, "
        "place string, reason string, raw string"
    )
    rows = [
        ("a", "bc", "x", "match", "v1", None, None, None),
        ("a", "bc", "y", "match", "v2", None, None, None),
        ("ab", "c", "x", "match", "v1", None, None, None),
        ("a", "bc", "x", "prediction", "v1", None, None, None),
        ("1:a", "2:bc", "x", "match", "v1", None, None, None),
        ("é😀", "b", None, "match", "v1", None, None, None),
    ]
    ids = [row.id for row in notifications(spark.createDataFrame(rows, schema)).collect()]
    assert ids == [notification_id(row[0], row[1], row[3]) for row in rows]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 5


def test_what_is_set_aside_has_its_place_reason_and_text(spark: SparkSession) -> None:
    aside = rejected(outcomes(spark, 0, 7))
    assert aside.columns == list(REJECT)
    rows = sorted(aside.collect(), key=lambda row: row.place)
    assert [row.place for row in rows] == ["events.jsonl:0", "events.jsonl:3", "events.jsonl:6"]
    assert {(row.event, row.reason, row.raw) for row in rows} == {(None, "is no JSON", "{x\n")}
    assert len({row.id for row in rows}) == 3
    again = sorted(rejected(outcomes(spark, 0, 7, partitions=1)).collect(), key=lambda row: row.place)
    assert [row.id for row in again] == [row.id for row in rows]


def test_attributes_named_as_columns_of_notifications_are_refused(spark: SparkSession) -> None:
    frame = outcomes(spark, 0, 2).withColumnRenamed("price", "Version")
    with pytest.raises(InputError, match=r"'Version' cannot be kept.*\nHint: take it out of `keep`"):
        notifications(frame)


@pytest.mark.parametrize(
    ("wants", "expected"),
    [
        (Wants(), {"e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7"}),
        (Wants(("alice",)), {"e1", "e3", "e5", "e7"}),
        (Wants(("ops-*",)), {"e0", "e2", "e4", "e6"}),
        (Wants(("bob", "op?-[0-9]")), {"e0", "e2", "e4", "e6"}),
        (Wants(("alice", "ops-*")), {"e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7"}),
        (Wants(("nobody",)), set()),
        (Wants(("*",), ("s0", "s[12]")), {"e0", "e1", "e2", "e4", "e5", "e6"}),
        (Wants(("alice",), ("s1",)), {"e1", "e5"}),
        (Wants(("al",)), set()),
        (Wants(("*lic",)), set()),
    ],
)
def test_routes(spark: SparkSession, wants: Wants, expected: set[str]) -> None:
    rows = routed(notifications(outcomes(spark, 0, 8)), wants).collect()
    assert {row.event for row in rows} == expected


def test_nobody_is_no_subscriber(spark: SparkSession) -> None:
    frame = notifications(outcomes(spark, 0, 4)).withColumn("subscriber", F.lit(None).cast("string"))
    assert routed(frame, Wants(("*",))).count() == 0
    assert routed(frame, Wants()).count() == 4


_ALPHABET = "ab*?[]!-^\\.&~|(){}$+\n #é😀"


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    globs=st.lists(st.text(_ALPHABET, min_size=1, max_size=8), min_size=60, max_size=60),
    texts=st.lists(st.text("ab-]!^\\&\n é😀", max_size=6), min_size=60, max_size=60),
)
def test_globs_mean_what_fnmatch_means(spark: SparkSession, globs: list[str], texts: list[str]) -> None:
    """In Java, by the expression that Spark runs: every glob against every text."""
    patterns = spark.createDataFrame([(glob, java_pattern([glob])) for glob in globs], "glob string, pattern string")
    values = spark.createDataFrame([(text,) for text in texts], "text string")
    pairs = patterns.crossJoin(values).select("glob", "text", F.expr("text rlike pattern").alias("found")).collect()
    wrong = [(row.glob, row.text) for row in pairs if row.found != fnmatchcase(row.text, row.glob)]
    assert wrong == []


def test_many_stars_cost_no_more_than_one(spark: SparkSession) -> None:
    """Without the atomic groups this would take longer than anybody waits."""
    pattern = java_pattern(["*a" * 30 + "*b"])
    frame = spark.createDataFrame([("a" * 3000,)], "text string")
    assert frame.where(F.col("text").rlike(pattern)).count() == 0


def test_the_pattern_is_one_for_all_globs() -> None:
    pattern = java_pattern(["a*", "?b"])
    assert pattern.startswith(r"(?s)\A(?:")
    assert pattern.endswith(r")\z")
    assert re.search(r"[^\\]\$", pattern) is None
