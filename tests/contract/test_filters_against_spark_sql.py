"""The same random filters against Spark SQL's WHERE: wherever the languages overlap, its answer is ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.contract.engines import Engine
from tests.contract.random_filters import AT_ONCE, SCHEMA, Filter, events, random_filters
from vedette.engine.subscriptions import Subscriptions
from vedette.schema.schema import Schema


@pytest.fixture(scope="module")
def filters() -> list[Filter]:
    """Every second one: Spark takes its time to read and check them."""
    return random_filters()[::2]


@contextmanager
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Compiling an expression to Java costs more than computing it for so few rows."""
    settings = {"spark.sql.codegen.factoryMode": "NO_CODEGEN", "spark.sql.codegen.wholeStage": "false"}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name in settings:
        spark.conf.unset(name)


@pytest.fixture(scope="module")
def wanted(spark: SparkSession, filters: list[Filter]) -> np.ndarray:
    """[event, filter]: what Spark SQL says."""
    table = events()
    numbered = table.append_column("event", pa.array(range(len(table)), pa.int64()))
    frame = spark.createDataFrame(numbered).coalesce(1)
    parts = []
    with interpreted(spark):
        for first in range(0, len(filters), AT_ONCE):
            chosen = filters[first : first + AT_ONCE]
            found = frame.selectExpr("event", *(f"({one.spark}) IS TRUE AS c{n}" for n, one in enumerate(chosen)))
            parts += [column.to_numpy() for column in found.toArrow().sort_by("event").columns[1:]]
    return np.stack(parts, axis=1)


def test_filters_match_what_spark_sql_selects(engine: Engine, filters: list[Filter], wanted: np.ndarray) -> None:
    subscriptions = Subscriptions(SCHEMA)
    for number, one in enumerate(filters):
        subscriptions.add(str(number), one.ours)
    table = events()
    found = np.zeros_like(wanted)
    for event, name in engine.match(table, subscriptions):
        found[event, int(name)] = True
    wrong = np.argwhere(found != wanted)
    if len(wrong):
        event, number = wrong[0]
        pytest.fail(
            f"{len(wrong)} of {found.size} differ, e.g. {filters[number].ours}\n(Spark: {filters[number].spark})\n"
            f"on {table.slice(event, 1).to_pylist()[0]}: we say {found[event, number]}"
        )


# any and all are Spark's exists and forall, in its three-valued logic.
_LISTS = {
    "any(a) = 'x'": "exists(a, e -> e = 'x')",
    "not any(a) = 'x'": "not exists(a, e -> e = 'x')",
    "all(a) = 'x'": "forall(a, e -> e = 'x')",
    "not all(a) = 'x'": "not forall(a, e -> e = 'x')",
    "any(a) not in ('x', 'y')": "exists(a, e -> e not in ('x', 'y'))",
    "any(a) in ('x', null)": "exists(a, e -> e in ('x', null))",
    "all(a) is not null": "forall(a, e -> e is not null)",
    "any(a) is null": "exists(a, e -> e is null)",
    "all(a) like 'x%'": "forall(a, e -> e like 'x%')",
    "a contains 'y'": "array_contains(a, 'y')",
    "a is null": "a is null",
    "any(n) > 1": "exists(n, e -> e > 1)",
    "all(n) between 1 and 2": "forall(n, e -> e between 1 and 2)",
    "not all(n) between 1 and 2": "not forall(n, e -> e between 1 and 2)",
    "any(n) = float 'nan'": "exists(n, e -> e = CAST('nan' AS DOUBLE))",
    "all(n) >= 2": "forall(n, e -> e >= 2)",
}


def test_quantifiers_say_what_spark_sql_says(engine: Engine, spark: SparkSession) -> None:
    texts = [None, [], ["x"], ["x", None], ["y", None], ["x", "y"], [None], ["xy", "x"], ["z"]]
    numbers = [[1.0, 2.0], None, [], [None], [2.0, None], [0.5], [float("nan")], [3.0, float("nan")], [1.0]]
    table = pa.table({"a": pa.array(texts, pa.list_(pa.string())), "n": pa.array(numbers, pa.list_(pa.float64()))})
    subscriptions = Subscriptions(Schema.of({"a": "list of string", "n": "list of float"}))
    for ours in _LISTS:
        subscriptions.add(ours, ours)
    frame = spark.createDataFrame(table.append_column("event", pa.array(range(len(table)), pa.int64())))
    rows = frame.selectExpr("event", *(f"({sql}) IS TRUE AS `{ours}`" for ours, sql in _LISTS.items())).collect()
    wanted = {(row["event"], ours) for row in rows for ours in _LISTS if row[ours]}
    assert engine.match(table, subscriptions) == wanted
