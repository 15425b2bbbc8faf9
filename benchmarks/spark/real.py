"""(i) Real events end to end, with known answers: hot days of 324 cities, and logins; on Spark beside one process.

The data is not part of the project: where it is missing, nothing is measured, and that is said.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from benchmarks.spark import data
from benchmarks.spark.plan import Plan
from benchmarks.spark.result import Ratio, Result
from vedette.engine.stream_matcher import StreamMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.spark.dataframe_match import match
from vedette.spark.types import schema_of

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
_CITIES = "city_temperature_dayton/daily_1995_2014_324cities.parquet"
_LOGINS = "logins/ssh_events.parquet"
_FAILURES = {"loghub_openssh_2k": 440, "elastic_examples_auth": 361}
_SUCCESSES = {"loghub_openssh_2k": 0, "elastic_examples_auth": 10}


class Case(NamedTuple):
    """Events, patterns, and how often each completes."""

    name: str
    events: pa.Table
    known: dict[str, int]
    patterns: dict[str, str]


def measure(plan: Plan) -> Result:
    """Each case in one process, over a table, and over a stream of micro-batches."""
    result = Result("i", f"real events with known answers, streams in {plan.real_batches} micro-batches")
    missing = [name for name in (_CITIES, _LOGINS) if not (DATA / name).is_file()]
    if missing:
        result.notes.append(f"{DATA / missing[0]} is not there: nothing was measured")
        return result
    with data.started() as spark:
        for case in (_cities(), _logins()):
            with tempfile.TemporaryDirectory(prefix="vedette-bench-") as folder:
                _measure(spark, plan, case, Path(folder), result)
    return result


def _cities() -> Case:
    days = pq.read_table(DATA / _CITIES, columns=["date", "code", "temp_f"])
    events = days.set_column(0, "time", days["date"].cast(pa.timestamp("us", "UTC"))).sort_by("time")
    # Five days of one city, each after the other, are in a row if there are four days from the first to the last.
    patterns = {"heat": "[temp_f > 86.0]{5} by code within 4 d"}
    return Case("city temperatures", events, {"heat": 39_450}, patterns)


def _logins() -> Case:
    lines = pq.read_table(DATA / _LOGINS).rename_columns({"ts": "time"}).select(["time", "event", "src_ip", "source"])
    lines = lines.filter(pc.is_in(lines["source"], pa.array(list(_FAILURES)))).sort_by("time")
    patterns = {}
    for source in _FAILURES:
        failed, accepted = (f"[event = '{kind}' and source = '{source}']" for kind in ("failed", "accepted"))
        patterns[f"failures {source}"] = f"{' ; '.join([failed] * 5)} by src_ip within 60 s"
        patterns[f"successes {source}"] = f"{failed} ; {accepted} by src_ip within 600 s"
    known = {f"failures {name}": count for name, count in _FAILURES.items()}
    known |= {f"successes {name}": count for name, count in _SUCCESSES.items() if count}
    return Case("logins", lines, known, patterns)


def _measure(spark: SparkSession, plan: Plan, case: Case, folder: Path, result: Result) -> None:
    size = case.events.num_rows
    events = case.events.append_column("id", pa.array([str(row) for row in range(size)]))
    folder.joinpath("in").mkdir()
    step = -(-size // plan.real_batches)
    for number, begin in enumerate(range(0, size, step)):
        path = folder / "in" / f"{number:03}.parquet"
        pq.write_table(events.slice(begin, step), path)
        os.utime(path, (1 + number, 1 + number))  # Spark takes the oldest first
    table = spark.read.parquet(str(folder / "in"))
    subscriptions = Subscriptions(schema_of(table.schema))
    for id_, text in case.patterns.items():
        subscriptions.add(id_, text)
    seconds = {
        "one process": _timed(lambda: _local(subscriptions, events), case),
        "a table": _timed(lambda: _counted(match(table, subscriptions, keep=[])), case),
        "a stream": _timed(lambda: _streamed(spark, table, subscriptions, folder), case),
    }
    matches = sum(case.known.values())
    figures = {f"{name}, s": value for name, value in seconds.items()}
    result.rows.append({"events": case.name, "count": size, "matches": matches, **figures})
    for name in ("a table", "a stream"):
        ratio = seconds["one process"] / seconds[name]
        result.ratios.append(Ratio(f"{case.name}: Spark over {name}, times as fast as one process", ratio))


def _timed(way: Callable[[], dict[str, int]], case: Case) -> float:
    begin = time.perf_counter()
    found = way()
    seconds = time.perf_counter() - begin
    if found != case.known:
        raise ArithmeticError(f"{case.name}: {found} is found, and {case.known} is known")
    return seconds


def _local(subscriptions: Subscriptions, events: pa.Table) -> dict[str, int]:
    matcher = StreamMatcher(subscriptions)
    ids = events.column("id").to_pylist()
    told = [matcher.process(events, ids=ids), matcher.finish()]
    counts = pa.concat_tables(told).group_by("subscription").aggregate([([], "count_all")])
    return dict(zip(counts["subscription"].to_pylist(), counts["count_all"].to_pylist(), strict=True))


def _counted(found: DataFrame) -> dict[str, int]:
    return {row["subscription"]: row["count"] for row in found.groupBy("subscription").count().collect()}


def _streamed(spark: SparkSession, table: DataFrame, subscriptions: Subscriptions, folder: Path) -> dict[str, int]:
    stream = spark.readStream.schema(table.schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    counts: dict[str, int] = {}

    def take(batch: DataFrame, _: int) -> None:
        for id_, count in _counted(batch).items():
            counts[id_] = counts.get(id_, 0) + count

    query = (
        match(stream, subscriptions, keep=[])
        .writeStream.foreachBatch(take)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return counts
