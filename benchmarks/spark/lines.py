"""(a, too) JSON lines: matching beside pipelines that only read the lines, cross with them, and parse them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.spark import data
from benchmarks.spark.plan import Plan
from benchmarks.spark.result import Ratio, Result
from benchmarks.spark.timing import in_turns
from vedette.io.byte_sources import Lines
from vedette.io.jsonl_events import json_chunks
from vedette.spark.engines import Sent
from vedette.spark.lines import match_rows, rows_before
from vedette.spark.readers import LineReader
from vedette.spark.snapshots import ShippedSnapshot

MATCH, PARSED, CROSSED = "lines: match", "lines: there, parsed, ids back", "lines: there and back"


def compare(plan: Plan, spark: SparkSession, shipped: ShippedSnapshot, result: Result) -> None:
    """Rows and a ratio more for the result."""
    with tempfile.TemporaryDirectory(prefix="vedette-bench-") as folder:
        lines = _read(spark, data.write_lines(Path(folder) / "lines", plan.lines))
        seconds = in_turns(
            {
                MATCH: lambda: data.to_nowhere(
                    match_rows(lines, partial(LineReader, before=rows_before(lines)), Sent(shipped))
                ),  # which counts the lines first
                PARSED: partial(data.to_nowhere, _parsed(lines)),
                CROSSED: partial(data.to_nowhere, _crossed(lines)),
            },
            plan.repetitions,
        )
    for name, took in seconds.items():
        share = took / seconds[MATCH]
        result.rows.append(
            {"pipeline": name, "events": plan.lines, "s": took, "events/s": plan.lines / took, "match is": share}
        )
    result.ratios.append(
        Ratio("lines/s of match, to one that only crosses and parses", seconds[PARSED] / seconds[MATCH])
    )


def _read(spark: SparkSession, folder: Path) -> DataFrame:
    """As a pipeline reads them."""
    return spark.read.text(str(folder), lineSep="\n").select(
        F.col("value").cast("binary").alias("value"),
        F.col("_metadata.file_path").alias("path"),
        F.col("_metadata.file_block_start").alias("block"),
    )


def _parsed(lines: DataFrame) -> DataFrame:
    def parsed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for chunk in json_chunks([Lines(1, batch.column("value").to_pylist())], 65_536):
                yield pa.RecordBatch.from_arrays([chunk.ids], ["event"])

    return lines.mapInArrow(parsed, "event string")


def _crossed(lines: DataFrame) -> DataFrame:
    def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    return lines.mapInArrow(same, lines.schema)
