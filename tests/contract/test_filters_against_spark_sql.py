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
from vedette.matching.subscriptions import Subscriptions


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
