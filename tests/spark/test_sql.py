"""Subscriptions in SQL: a function that queries, views and LATERAL call."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PythonException

import vedette as vd
from vedette.errors import InputError, NotSupported
from vedette.spark.dataframe_match import match
from vedette.spark.sql import register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUBSCRIPTIONS = [
    {"id": "cheap", "subscriber": "ann", "when": "price < 120 and issue = 'IBM'"},
    {"id": "large", "subscriber": "bob", "when": "sizes.total > 5"},
    {"id": "nameless", "when": "issue is null"},
    {"id": "late", "when": "sent >= timestamp '2024-05-01T00:00:00Z'"},
]


@pytest.fixture
def trades(spark: SparkSession) -> Iterator[str]:
    """A view of some events."""
    sent = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    rows = [(1, "IBM", 119.5, (3,), None), (2, "IBM", 121.0, (9,), sent), (3, None, None, None, None)]
    frame = spark.createDataFrame(rows, "id int, issue string, price double, sizes struct<total int>, sent timestamp")
    frame.createOrReplaceTempView("trades")
    yield "trades"
    spark.catalog.dropTempView("trades")


def test_queries_lateral_joins_and_views_tell_what_match_tells(spark: SparkSession, trades: str) -> None:
    register(SUBSCRIPTIONS, spark=spark)
    expected = sorted(
        (row.id, row.subscription, row.subscriber)
        for row in match(spark.table(trades), SUBSCRIPTIONS, keep="id", subscribers=True).collect()
    )
    assert len(expected) == 4
    query = (
        "SELECT id, subscription, subscriber FROM trades, "
        "LATERAL inline(vedette_match(struct(issue, price, sizes, sent)))"
    )
    listed = spark.sql("SELECT id, inline(vedette_match(struct(*))) FROM trades")
    assert sorted(tuple(row)[:3] for row in listed.collect()) == expected
    assert sorted(map(tuple, spark.sql(query).collect())) == expected
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW alerts AS {query}")
    assert sorted(map(tuple, spark.sql("SELECT * FROM alerts").collect())) == expected
    counted = spark.sql("SELECT id, size(vedette_match(struct(*))) AS n FROM trades ORDER BY id").collect()
    assert [row.n for row in counted] == [1, 2, 1]


def test_the_same_name_takes_new_subscriptions(spark: SparkSession, trades: str) -> None:
    query = "SELECT id FROM trades, LATERAL inline(heard(struct(id)))"
    register([{"id": "a", "when": "id = 1"}], name="heard", spark=spark)
    assert [row.id for row in spark.sql(query).collect()] == [1]
    register([{"id": "a", "when": "id = 3"}], name="heard", spark=spark)
    assert [row.id for row in spark.sql(query).collect()] == [3]


def test_operators_are_called_and_bind(spark: SparkSession, trades: str) -> None:
    half = vd.operator("half", outputs=1, reads=("id",))(lambda event: event["id"] // 2)
    register([{"id": "s", "when": "half(?h) and ?h = 1"}], operators=vd.Operators(half), spark=spark)
    found = spark.sql("SELECT id, bindings['h'] h FROM trades, LATERAL inline(vedette_match(struct(id)))")
    assert sorted(map(tuple, found.collect())) == [(2, "1"), (3, "1")]


def test_what_cannot_be_is_said(spark: SparkSession, trades: str) -> None:
    with pytest.raises(NotSupported, match="sees one event at a time"):
        register([{"id": "p", "when": "[id = 1] ; [id = 2]"}], spark=spark)
    with pytest.raises(InputError, match="'a b' cannot be the name of a function"):
        register(SUBSCRIPTIONS, name="a b", spark=spark)
    times = [{"id": "s", "when": "issue > timestamp '2024-01-01T00:00:00Z'"}]
    register(times, schema={"issue": "timestamp"}, spark=spark)
    with pytest.raises(PythonException, match="attribute 'issue'"):
        spark.sql("SELECT vedette_match(struct(*)) FROM trades").collect()
