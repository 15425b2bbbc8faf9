"""Delta tables as sources of events and of subscriptions: `make test-tables`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.connectors import pipelines, trades
from tests.connectors.maven import classpath

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUBSCRIPTIONS = trades.subscriptions()


@pytest.fixture(scope="module")
def spark(delta_jars: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """What the tables are written with."""
    from vedette.spark.spark_session import session

    home = tmp_path_factory.mktemp("spark")
    started = session(
        master="local[2]",
        conf={
            "spark.driver.memory": "1g",
            "spark.ui.enabled": "false",
            "spark.jars": ",".join(map(str, delta_jars)),
            "spark.driver.extraClassPath": classpath(delta_jars),
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.warehouse.dir": str(home / "warehouse"),
            "spark.local.dir": str(home / "local"),
        },
    )
    yield started
    started.stop()


def _append(spark: SparkSession, path: Path, rows: list[dict[str, Any]], types: str) -> None:
    spark.createDataFrame([tuple(row.values()) for row in rows], types).write.format("delta").mode("append").save(
        str(path)
    )


def _append_events(spark: SparkSession, path: Path, events: list[trades.Event]) -> None:
    _append(spark, path, events, "id string, symbol string, price double, volume long")


def _told(folder: Path) -> list[trades.Pair]:
    return [(row["event"], row["subscription"]) for row in pipelines.rows_of(folder)]


def test_events_and_subscriptions_from_delta_tables(
    tmp_path: Path, spark: SparkSession, delta_jars: list[Path]
) -> None:
    events = trades.trades(300)
    _append_events(spark, tmp_path / "events", events)
    _append(spark, tmp_path / "wanted", list(SUBSCRIPTIONS), "id string, subscriber string, `when` string")
    pipeline = pipelines.write(
        tmp_path,
        delta_jars,
        keep=["volume"],
        subscriptions={"path": "wanted", "format": "delta"},
        source={"type": "delta", "path": "events"},
        sinks=[{"type": "jsonl", "path": "told"}],
    )
    pipelines.run(pipeline)
    assert sorted(_told(tmp_path / "told")) == sorted(trades.pairs(events, SUBSCRIPTIONS))
    volume = {event["id"]: event["volume"] for event in events}
    assert all(row["volume"] == volume[row["event"]] for row in pipelines.rows_of(tmp_path / "told"))


def test_each_run_takes_the_rows_that_are_new(tmp_path: Path, spark: SparkSession, delta_jars: list[Path]) -> None:
    first, second = trades.trades(100), trades.trades(60, first=100)
    trades.write_lines(tmp_path / "subscriptions.jsonl", SUBSCRIPTIONS)
    pipeline = pipelines.write(
        tmp_path,
        delta_jars,
        mode="available-now",
        checkpoint="state",
        subscriptions={"file": "subscriptions.jsonl"},
        source={"type": "delta", "path": "events"},
        sinks=[{"type": "jsonl", "path": "told"}],
    )
    _append_events(spark, tmp_path / "events", first)
    pipelines.run(pipeline)
    assert sorted(_told(tmp_path / "told")) == sorted(trades.pairs(first, SUBSCRIPTIONS))
    _append_events(spark, tmp_path / "events", second)
    pipelines.run(pipeline)
    assert sorted(_told(tmp_path / "told")) == sorted(trades.pairs(first + second, SUBSCRIPTIONS))
