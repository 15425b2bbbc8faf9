"""A job whose snapshot has to travel, run in a process of its own: `python -m tests.spark.journey MASTER ANSWERS`.

It writes what the session matched, and what each worker saw of the snapshot, for the test to compare.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from vedette.engine.engine import Engine
from vedette.engine.subscriptions import Subscriptions
from vedette.schema.schema import Schema

EVENTS, PARTS = 400, 8
SCHEMA = Schema.of({"n": "int", "issue": "string", "price": "float"})
FILTERS = {
    "all": "n >= 0",
    "few": "n in (3, 5, 8, 399)",
    "hp": "issue = 'HP' and price between 10 and 20.5",
    "some": "issue like 'I%' or not (price < 30)",
    "text": "issue contains 'B' and n > 100",
}


def events() -> pa.Table:
    """Some trades, among them ones without a price."""
    rows = range(EVENTS)
    return pa.table(
        {
            "n": pa.array(rows, pa.int64()),
            "issue": pa.array([("HP", "IBM", "Ib", None)[n % 4] for n in rows], pa.string()),
            "price": pa.array([None if n % 7 == 0 else n % 41 / 1.0 for n in rows], pa.float64()),
        }
    )


def compiled() -> Engine:
    """The subscriptions."""
    subscriptions = Subscriptions(SCHEMA)
    for name, text in FILTERS.items():
        subscriptions.add(name, text)
    return subscriptions.compile()


def matched_here() -> list[list[object]]:
    """What the local engine says."""
    table = compiled().match_batch(events(), id_column="n")
    return sorted([row["event"], row["subscription"]] for row in table.to_pylist())


def seen_by_workers(spark: SparkSession, frame: DataFrame) -> list[list[object]]:
    """Of each task: the folder that it runs in, its process, and the inode of the snapshot that it has mapped."""
    from vedette.spark.snapshots import opened, ship

    shipped = ship(compiled(), spark)

    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        matcher = opened(shipped).filters
        for batch in batches:
            matcher.match_rows(batch)
        lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
        mapped = {(f"{line[3]} {line[4]}", line[5]) for line in lines if line[-1].endswith("records.arrow")}
        for inode, path in mapped:
            values = [os.getcwd(), str(os.getpid()), inode, path]
            yield pa.RecordBatch.from_arrays([pa.array([value]) for value in values], list("rpif"))

    found = frame.mapInArrow(look, "r string, p string, i string, f string").collect()
    return [list(row) for row in found]


def main(master: str, answers: str) -> None:
    """Match on a cluster or through Connect."""
    from vedette.spark.dataframe_match import match
    from vedette.spark.spark_session import session

    conf = {}
    if master.startswith("spark://"):
        conf = {
            "spark.driver.memory": "1g",
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executorEnv.VEDETTE_CACHE_DIR": os.environ["EXECUTORS_CACHE"],
            # Tasks are short: without this one executor would do them all before the other is there.
            "spark.cores.max": "2",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.locality.wait": "0s",
        }
    spark = session(master=master, conf=conf)
    frame = spark.createDataFrame(events().to_pandas()).repartition(PARTS)
    matched = match(frame, compiled(), keep=["n"]).collect()
    found = {
        "matched": sorted([row["n"], row["subscription"]] for row in matched),
        "workers": seen_by_workers(spark, frame),
    }
    Path(answers).write_text(json.dumps(found), encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
