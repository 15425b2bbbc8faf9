"""W2 in the forms that Spark reads, and Spark as the benchmarks start it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from benchmarks import bulk, forms
from benchmarks.constants import Constraints, Op
from benchmarks.workloads import WORKLOADS
from vedette.engine.engine import Engine
from vedette.spark.spark_session import session

W2 = WORKLOADS["W2"]
COLUMNS = ("id", "symbol", "price", "volume")
_SAMPLE = 4096
_FILES = 16  # so that cores end together


@contextmanager
def started(master: str = "local[*]", **conf: str) -> Iterator[SparkSession]:
    """A session with the product's settings, for the time of the block; or the one that is running anyway."""
    if SparkSession.getActiveSession() is not None:
        yield session()
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Workers of clusters start elsewhere, and unpickle functions of these modules.
    root = str(Path(__file__).resolve().parents[2])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    settings = {"spark.ui.enabled": "false", "spark.driver.memory": "3g"}
    spark = session(app="vedette-bench", master=master, conf={**settings, **conf})
    try:
        yield spark
    finally:
        spark.stop()


def events_table(count: int) -> pa.Table:
    """The events, numbered."""
    return forms.arrow(W2.events(count)).add_column(0, "id", pa.array(np.arange(count)))


def write_events(folder: Path, count: int) -> Path:
    """Parquet files of equal size."""
    folder.mkdir(parents=True)
    table = events_table(count)
    edges = np.linspace(0, count, _FILES + 1).astype(int).tolist()
    for number, (begin, end) in enumerate(pairwise(edges)):
        pq.write_table(table.slice(begin, end - begin), folder / f"{number:03}.parquet")
    return folder


def write_lines(folder: Path, count: int) -> Path:
    """The same as JSON lines."""
    import orjson

    folder.mkdir(parents=True)
    table = events_table(count)
    edges = np.linspace(0, count, _FILES + 1).astype(int).tolist()
    for number, (begin, end) in enumerate(pairwise(edges)):
        with (folder / f"{number:03}.jsonl").open("wb") as file:
            file.writelines(orjson.dumps(row) + b"\n" for row in table.slice(begin, end - begin).to_pylist())
    return folder


def engine(filters: int) -> Engine:
    """Compiled; ids are s0, s1, …"""
    return Engine(bulk.matcher(W2.subscriptions(filters), W2.events(_SAMPLE, seed=77)))


def bounds_table(constraints: Constraints) -> pa.Table:
    """Subscriptions as a Spark user would keep them: a symbol, and the least and the greatest price and volume.

    Bounds are all inside, so that two comparisons do for each: an open one is the next number of its type.
    """
    count = len(constraints)
    op, low, high = (column.reshape(count, 3) for column in (constraints.op, constraints.low, constraints.high))
    words = pa.array(constraints.attributes[0].vocabulary, pa.string())
    made = {"subscription": pa.array([f"s{number}" for number in range(count)])}
    made["wanted_symbol"] = words.take(pa.array(low[:, 0].astype(np.int64)))
    for place, name in ((1, "price"), (2, "volume")):
        above, below = op[:, place] == Op.ABOVE, op[:, place] == Op.BELOW
        whole = name == "volume"
        least = np.where(above, low[:, place] + 1 if whole else np.nextafter(low[:, place], np.inf), low[:, place])
        most = np.where(below, high[:, place] - 1 if whole else np.nextafter(high[:, place], -np.inf), high[:, place])
        least, most = np.where(below, -np.inf, least), np.where(above, np.inf, most)
        if whole:
            ends = np.iinfo(np.int64)
            least = np.where(below, ends.min, np.nan_to_num(least, neginf=0.0).astype(np.int64))
            most = np.where(above, ends.max, np.nan_to_num(most, posinf=0.0).astype(np.int64))
        made[f"least_{name}"], made[f"most_{name}"] = pa.array(least), pa.array(most)
    return pa.table(made)


def to_nowhere(frame: DataFrame) -> None:
    """Compute all of it and keep nothing."""
    frame.write.format("noop").mode("overwrite").save()
