"""(h) Patterns over a stream and over a table of Spark, beside one process and beside what crossing alone costs.

A hundred patterns of three steps, within ten minutes, partitioned by a key; events come in micro-batches. What crossing
costs is a stream that sends the same columns to Python, which only counts them; what a micro-batch costs at least, is
Spark's own aggregate by the key.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.spark import data
from benchmarks.spark.plan import Plan
from benchmarks.spark.result import Ratio, Result
from benchmarks.spark.spent import spent
from vedette.engine.stream_matcher import StreamMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.spark.dataframe_match import match

_KINDS = 50
_SECOND = 1_000_000
_BEGIN = 1_700_000_000 * _SECOND
_SPREAD = 100 * _SECOND  # that a micro-batch covers


class Rate(NamedTuple):
    """How fast a way is: events a second, and CPU seconds an event, of all processes together."""

    events: float
    cpu: float


def measure(plan: Plan) -> Result:
    """All ways at every number of keys; the first micro-batch of a stream counts for nothing."""
    result = Result("h", f"{plan.patterns} patterns, micro-batches of {plan.micro_batch:,} events, on all cores")
    with data.started(**{"spark.sql.streaming.numRecentProgressUpdates": "1000"}) as spark:
        for keys in plan.keys:
            with tempfile.TemporaryDirectory(prefix="vedette-bench-") as folder:
                _measure(spark, plan, keys, Path(folder), result)
    result.notes.append("events/s by the median of micro-batches; of one process and of a table, by the whole")
    return result


def _measure(spark: SparkSession, plan: Plan, keys: int, folder: Path, result: Result) -> None:
    subscriptions = subscribed(plan.patterns)
    batches = [_events(plan, keys, number) for number in range(plan.micro_batches)]
    (folder / "in").mkdir()
    for number, batch in enumerate(batches):
        path = folder / "in" / f"{number:03}.parquet"
        pq.write_table(batch, path)
        os.utime(path, (1 + number, 1 + number))  # Spark takes the oldest first
    stream = spark.readStream.schema(spark.read.parquet(str(folder / "in")).schema).option("maxFilesPerTrigger", 1)
    events = stream.parquet(str(folder / "in"))
    here, wanted = _in_one_process(subscriptions, batches)
    size = plan.micro_batch * plan.micro_batches
    told: list[int] = []
    ways: dict[str, DataFrame] = {
        "crossing alone": events.mapInArrow(_count, "events bigint"),
        "Spark's aggregate": events.groupBy("key").agg(F.count(F.lit(1)), F.max("value")),
        "patterns, a stream": match(events, subscriptions, keep="id"),
    }
    found_by = {name: _streamed(frame, folder, number, plan, told) for number, (name, frame) in enumerate(ways.items())}
    if sum(told) != wanted:
        raise ArithmeticError(f"{keys} keys: a stream of Spark finds {sum(told)} matches, one process {wanted}")
    table = spark.read.parquet(str(folder / "in"))
    match(table.limit(1000), subscriptions, keep="id").count()
    begin, before = time.perf_counter(), spent()
    found = match(table, subscriptions, keep="id").count()
    found_by["patterns, a table"] = Rate(size / (time.perf_counter() - begin), (spent() - before) / size)
    if found != wanted:
        raise ArithmeticError(f"{keys} keys: a table of Spark finds {found} matches, one process {wanted}")
    found_by["one process"] = here
    for name, rate in found_by.items():
        costs = {"events/s": rate.events, "CPU s for 100,000 events": 1e5 * rate.cpu}
        result.rows.append({"keys": keys, "matches": wanted, "way": name, **costs})
    crossing = found_by["crossing alone"].events
    for name in ("patterns, a stream", "patterns, a table"):
        by_spark = found_by[name].events
        result.ratios.append(Ratio(f"{keys:,} keys: {name}, times as fast as one process", by_spark / here.events))
        result.ratios.append(Ratio(f"{keys:,} keys: {name}, of crossing alone", by_spark / crossing))


def subscribed(count: int) -> Subscriptions:
    """So many patterns."""
    made = Subscriptions({"id": "string", "key": "int", "kind": "int", "value": "int", "time": "timestamp"})
    for number in range(count):
        first, second, third = number % _KINDS, number * 7 % _KINDS, number * 13 % _KINDS
        steps = f"[kind = {first} and value > {number % 7}] ; [kind = {second}] ; [kind = {third} and value < 5]"
        made.add(f"p{number}", f"{steps} within 10 min by key")
    return made


def _events(plan: Plan, keys: int, number: int) -> pa.Table:
    random = np.random.default_rng(2010 + number)
    size = plan.micro_batch
    times = _BEGIN + number * _SPREAD + np.sort(random.integers(0, _SPREAD, size))
    return pa.table(
        {
            "id": pa.array([f"e{number * size + row}" for row in range(size)]),
            "key": pa.array(random.integers(0, keys, size)),
            "kind": pa.array(random.integers(0, _KINDS, size)),
            "value": pa.array(random.integers(0, 10, size)),
            "time": pa.array(times, pa.timestamp("us", "UTC")),
        }
    )


def _in_one_process(subscriptions: Subscriptions, batches: list[pa.Table]) -> tuple[Rate, int]:
    """How fast it is after the first batch, and all matches."""
    matcher = StreamMatcher(subscriptions)
    matches, begin, before = 0, 0.0, 0.0
    for number, batch in enumerate(batches):
        if number == 1:
            begin, before = time.perf_counter(), time.process_time()
        matches += matcher.process(batch, ids=batch.column("id").to_pylist()).num_rows
    seconds, cpu = time.perf_counter() - begin, time.process_time() - before
    size = sum(batch.num_rows for batch in batches[1:])
    return Rate(size / seconds, cpu / size), matches + matcher.finish().num_rows


def _streamed(frame: DataFrame, folder: Path, number: int, plan: Plan, told: list[int]) -> Rate:
    """How fast it is by the median micro-batch."""
    spark = frame.sparkSession
    is_matching = "subscription" in frame.columns
    marks: list[float] = []  # CPU seconds, when a micro-batch comes to its sink

    def take(batch: DataFrame, _: int) -> None:
        marks.append(spent())
        if is_matching:
            told.append(batch.count())
        else:
            data.to_nowhere(batch)

    mode = "update" if "key" in frame.columns and not is_matching else "append"
    query = (
        frame.writeStream.foreachBatch(take)
        .outputMode(mode)
        .option("checkpointLocation", str(folder / f"checkpoint-{number}"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    progress: list[dict[str, Any]] = [orjson.loads(each.json) for each in query.recentProgress]
    spark.catalog.clearCache()
    seconds = [each["durationMs"]["triggerExecution"] / 1000 for each in progress if each["numInputRows"]]
    marks.append(spent())
    used = np.diff(marks[1:] if len(marks) > 2 else marks)
    return Rate(plan.micro_batch / float(np.median(seconds[1:] or seconds)), float(np.median(used)) / plan.micro_batch)


def _count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"events": pa.array([batch.num_rows])})
