"""Spark SQL on one core, a batch at a time: pairs of events and rules."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from benchmarks.constants import Events
from benchmarks.peers import duckdb_join, query_each
from benchmarks.peers.protocol import CASE, EVENTS, Asked, Figures, write_matches
from benchmarks.workloads import WORKLOADS

_LEAST_S = 10.0  # that a join may take: jobs that are cancelled while rules are sent around leave a query waiting
_WIDE = 30  # attributes; a row of more would be mostly infinities
_TYPES = {"int": "BIGINT", "float": "DOUBLE", "string": "STRING", "strings": "ARRAY<STRING>"}
_SETTINGS: dict[str, bool | float | int | str | None] = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "4g",
    "spark.sql.broadcastTimeout": "30",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.autoBroadcastJoinThreshold": str(1 << 30),  # rules are sent to the events, never shuffled
}


def session(stack: ExitStack) -> SparkSession:
    """One core, no page of its own."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName("vedette-peers").master("local[1]")
    spark = builder.config(map=_SETTINGS).getOrCreate()
    stack.callback(spark.stop)
    spark.range(1).count()  # the first job loads classes, which is not to be anybody's time
    return spark


class Views:
    """Tables in Spark's memory that SQL calls by name."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.kept: dict[str, DataFrame] = {}

    def load(self, name: str, table: pa.Table) -> None:
        """From Arrow."""
        self.keep(name, self.spark.createDataFrame(table.drop_columns(["list"]) if name == "events" else table))

    def keep(self, name: str, frame: DataFrame) -> None:
        """Computed once, now."""
        if name in self.kept:
            self.kept[name].unpersist(blocking=True)
        self.kept[name] = frame.coalesce(1).cache()
        self.kept[name].count()
        self.kept[name].createOrReplaceTempView(name)


def joined(spark: SparkSession, asked: Asked, folder: Path, figures: Figures) -> None:
    """W1 - W4: a join of duckdb_join, `wide` where there are few attributes, else `count`; texts are numbers."""
    workload, views = WORKLOADS[asked.workload], Views(spark)
    constraints, events = workload.subscriptions(asked.size), workload.events(asked.events)
    name = "wide" if len(constraints.attributes) <= _WIDE else "count"
    begin = time.perf_counter()
    query = duckdb_join.FORMULATIONS[name](views, constraints)
    figures.build_s = time.perf_counter() - begin
    size = min(64, asked.events)
    took = _timed(views, query, events.head(size), asked.match_s)
    while took is not None and size < asked.events and 4 * took <= asked.match_s:
        more = _timed(views, query, events.head(min(asked.events, 4 * size)), asked.match_s)
        if more is None:
            break
        size, took = min(asked.events, 4 * size), more
    if took is None:
        figures.failed = "a join of 64 events did not end in time"
        return
    figures.checked = min(asked.checked, size)
    duckdb_join.load_events(views, events.head(figures.checked))
    found: list[list[int]] = [[] for _ in range(figures.checked)]
    for event, rule in spark.sql(query).collect():
        found[event].append(rule)
    write_matches(folder, found)
    figures.parsed_per_s = size / took
    one = _timed(views, query, events.head(1), asked.match_s)
    figures.parsed_us = None if one is None else (1e6 * one, 1e6 * one)
    figures.notes += [
        f"the join called {name}, {size:,} events at once, texts as numbers",
        "JSON is not counted; one event is the same query on a table of one",
    ]


def _timed(views: Views, query: str, events: Events, limit_s: float) -> float | None:
    """Seconds of a query the second time, after code was generated; None if it was stopped at four times the limit."""
    duckdb_join.load_events(views, events)
    took = None
    for _ in range(2):
        timer = threading.Timer(max(_LEAST_S, 4 * limit_s), views.spark.sparkContext.cancelAllJobs)
        timer.start()
        begin = time.perf_counter()
        try:
            views.spark.sql(query).write.format("noop").mode("overwrite").save()
        except (PySparkException, _java_error()):
            return None
        finally:
            timer.cancel()
        took = time.perf_counter() - begin
        if took > limit_s:
            break  # once is enough to see that
    return took


def _java_error() -> type[Exception]:
    from py4j.protocol import Py4JJavaError

    kind: type[Exception] = Py4JJavaError
    return kind


def queried(spark: SparkSession, asked: Asked, folder: Path, figures: Figures) -> None:
    """A query for each rule."""
    views = Views(spark)
    schema = ", ".join(f"{name} {_TYPES[kind]}" for name, kind in asked.kinds.items())

    def load() -> None:
        lines = spark.read.schema(schema).json(str(folder / EVENTS)).coalesce(1)
        views.keep("every", lines.selectExpr("monotonically_increasing_id() AS event", "*"))

    def asks(where: str, table: str) -> list[int]:
        return [row[0] for row in views.kept[table].where(where).select("event").collect()]

    load()
    views.keep("few", views.kept["every"].where(f"event < {asked.checked}"))
    query_each.measure(
        query_each.Tables(partial(asks, table="few"), partial(asks, table="every"), load), asked, folder, figures
    )


def main(folder: Path) -> None:
    """Drive."""
    said: dict[str, Any] = json.loads((folder / CASE).read_text())
    asked, figures = Asked(**said), Figures(pyspark.__version__)
    with ExitStack() as stack:
        way = joined if asked.workload in WORKLOADS else queried
        way(session(stack), asked, folder, figures)
        figures.write(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
