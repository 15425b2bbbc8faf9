"""(d) How long from an event's time until its matches are there, in micro-batches of a steady stream."""

from __future__ import annotations

import tempfile
import threading
import time
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks import forms
from benchmarks.spark import data
from benchmarks.spark.plan import Plan
from benchmarks.spark.result import Result
from vedette.spark.dataframe_match import match
from vedette.spark.snapshots import ship

DISTINCT = 4096  # events; the stream repeats them


def measure(plan: Plan) -> Result:
    """Percentiles over all events after the warm-up."""
    with data.started(**{"spark.sql.streaming.numRecentProgressUpdates": "10000"}) as spark:
        progress, done, begin, end = _streamed(spark, plan)
    latency = np.concatenate([_latencies(p, done[p["batchId"]]) for p in progress])
    durations = np.array([p["durationMs"]["triggerExecution"] for p in progress], np.float64)
    events = sum(p["numInputRows"] for p in progress)
    result = Result("d", f"W2, {plan.filters:,} filters, {plan.rows_per_second:,} events/s, on all cores")
    for name, values in (
        ("from an event's time to its matches", latency),
        ("from when Spark has an event to its matches", latency - _waits(progress)),
        ("a micro-batch from start to end", durations),
    ):
        p50, p99 = np.percentile(values, [50, 99])
        result.rows.append({"ms": name, "p50": float(p50), "p99": float(p99), "most": float(values.max())})
    result.notes += [
        f"{len(progress):,} micro-batches with {events:,} events in {end - begin:.1f} s: "
        f"{events / (end - begin):,.0f} events/s",
        "Spark's rate source hands out the events of a second when the second is over: half a second of the first line "
        "is this waiting, and the second line is without it",
    ]
    return result


def _streamed(spark: SparkSession, plan: Plan) -> tuple[list[Any], dict[int, float], float, float]:
    """What Spark says of every measured micro-batch, when it was done, and from when to when was measured."""
    shipped = ship(data.engine(plan.filters), spark)
    done: dict[int, float] = {}
    enough = threading.Event()

    def matched(batch: DataFrame, number: int) -> None:
        if not enough.is_set():
            data.to_nowhere(match(batch, shipped))
            done[number] = time.time()

    rate = spark.readStream.format("rate").option("rowsPerSecond", plan.rows_per_second)
    rate = rate.option("numPartitions", spark.sparkContext.defaultParallelism)
    # The watermark is there for its statistics: the first and the last time of every micro-batch's events.
    stream = _events(rate.load()).withWatermark("timestamp", "0 seconds")
    with tempfile.TemporaryDirectory(prefix="vedette-bench-", ignore_cleanup_errors=True) as folder:
        query = stream.writeStream.foreachBatch(matched).option("checkpointLocation", folder).start()
        begin, end = _measured(query, plan, done)
        enough.set()  # before the query is stopped, so that no micro-batch is torn
        while _last_batch(query) < max(done):
            time.sleep(0.005)
        query.stop()
    progress = [p for p in query.recentProgress if p["numInputRows"] and begin < done.get(p["batchId"], 0) <= end]
    return progress, done, begin, end


def _last_batch(query: StreamingQuery) -> int:
    """The number of the last micro-batch that is reported; -1 before the first."""
    last = query.lastProgress
    return -1 if last is None else last.batchId


def _measured(query: StreamingQuery, plan: Plan, done: dict[int, float]) -> tuple[float, float]:
    """From one end of a micro-batch, after the warm-up, to another."""
    query.awaitTermination(plan.warm_up_s)
    ends = []
    for least in (0.0, plan.measured_s):
        begin, before = time.time(), len(done)
        while query.isActive and (len(done) == before or time.time() - begin < least):
            time.sleep(0.005)
        ends.append(max(done.values(), default=0.0))
    if not query.isActive:
        raise RuntimeError(f"the stream ended by itself: {query.exception()}")
    return ends[0], ends[1]


def _events(rate: DataFrame) -> DataFrame:
    """The numbers of the rate source as events of W2, without anything to read."""
    table = forms.arrow(data.W2.events(DISTINCT))
    place = (F.col("value") % DISTINCT + 1).cast("int")
    columns = [
        F.element_at(F.lit(table.column(name).to_pylist()), place).alias(name) for name in ("symbol", "price", "volume")
    ]
    return rate.select("timestamp", F.col("value").alias("id"), *columns)


def _times(progress: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """When its events happened, in seconds: the rate source spreads them evenly."""
    ends = [np.datetime64(progress["eventTime"][end].rstrip("Z")).astype("datetime64[ms]") for end in ("min", "max")]
    first, last = (end.astype(np.int64) / 1000 for end in ends)
    return np.linspace(first, last, progress["numInputRows"])


def _latencies(progress: Any, done: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    return (done - _times(progress)) * 1000


def _waits(progress: list[Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """How long each event waits for the end of its second."""
    found = []
    for one in progress:
        times = _times(one)
        start = times[0]
        found.append((np.floor(times - start) + 1 - (times - start)) * 1000)
    return np.concatenate(found)
