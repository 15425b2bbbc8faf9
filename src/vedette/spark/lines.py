"""Raw rows in, outcomes out: what is read by Vedette's own readers, on Spark.

The bytes cross to Python as they are; there they are parsed, matched and answered in one go, by the same code as in
the local engine. So answers are the same, and so are the reasons why a row is set aside.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import MapType, StringType, StructField, StructType

from vedette.schema.schema import Schema
from vedette.spark.kept import kept_type
from vedette.spark.line_task import WHOLE, CsvReader, LineReader, LineTask, RecordReader, match_rows
from vedette.spark.operators.lines import LineFilters
from vedette.spark.snapshots import Shipped

# What outcomes are made of: these, the attributes that are kept, and those. Behind the head of those of filters that
# call operators stand the bindings.
HEAD = ("event", "subscription", "subscriber", "kind", "version")
TAIL = ("place", "reason", "raw")
BINDINGS = "bindings"
LINES = ("value", "path", "block")
RECORDS = ("value", "topic", "partition", "offset")
FILES = ("content", "path")


def match_lines(
    lines: DataFrame,
    shipped: Shipped,
    *,
    keep: Sequence[str] = (),
    schema: Schema | None = None,
    numbers: bool = False,
    read: Accumulator[int] | None = None,
    operators: LineFilters | None = None,
) -> DataFrame:
    """Outcomes of lines of JSON: `value` (binary), `path` and `block`, the place where Spark began to read the file.

    Where `block` is WHOLE, `value` is not a line but all of a file, gzipped or not.

    An event without an id is called by its file and row, or, with `numbers`, by its row alone. `schema` is a given
    one: whatever breaks it is set aside. `read` hears how many rows there were. `operators` are the filters that call
    some: then outcomes have bindings. Lines are counted first, because Spark cuts files anywhere.
    """
    task = LineTask(shipped, tuple(keep), schema, numbers, _before(lines), read, operators)
    return _outcomes(lines.select(*LINES), task, functools.partial(LineReader, task))


def match_records(
    records: DataFrame,
    shipped: Shipped,
    *,
    keep: Sequence[str] = (),
    schema: Schema | None = None,
    read: Accumulator[int] | None = None,
    operators: LineFilters | None = None,
) -> DataFrame:
    """Outcomes of records of Kafka: `value`, `topic`, `partition`, `offset`."""
    task = LineTask(shipped, tuple(keep), schema, read=read, operators=operators)
    return _outcomes(records.select(*RECORDS), task, RecordReader)


def match_csv(
    files: DataFrame,
    shipped: Shipped,
    *,
    keep: Sequence[str] = (),
    schema: Schema | None = None,
    numbers: bool = False,
    read: Accumulator[int] | None = None,
    operators: LineFilters | None = None,
) -> DataFrame:
    """Outcomes of whole CSV files: `content` and `path`."""
    task = LineTask(shipped, tuple(keep), schema, numbers, read=read, operators=operators)
    return _outcomes(files.select(*FILES), task, functools.partial(CsvReader, task))


def outcome_schema(keep: Sequence[str], schema: Schema | None, *, binding: bool = False) -> StructType:
    """The columns of outcomes, with bindings or without."""
    bound = [StructField(BINDINGS, MapType(StringType(), StringType()))] if binding else []
    kept = [StructField(path, kept_type(path, schema)) for path in keep]
    return StructType([_text(name) for name in HEAD] + bound + kept + [_text(name) for name in TAIL])


def _text(name: str) -> StructField:
    return StructField(name, StringType())


def _outcomes(rows: DataFrame, task: LineTask, reader: Callable[[], Any]) -> DataFrame:
    made = outcome_schema(task.keep, task.schema, binding=task.operators is not None)
    arrow = to_arrow_schema(made, timezone="UTC")

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        return match_rows(batches, task, reader(), arrow)

    return rows.mapInArrow(run, made)


def _before(lines: DataFrame) -> dict[tuple[str, int], tuple[int, int]]:
    """How many rows (blank lines are none) and lines come before each block of a file; nothing for the first."""
    lines = lines.where(F.col("block") != WHOLE)
    blank = F.trim(F.col("value").cast("string"), F.lit(" \t\r\x0b\x0c")) == ""
    counted = (
        lines.groupBy("path", "block")
        .agg(F.count_if(~F.coalesce(blank, F.lit(False))).alias("rows"), F.count(F.lit(1)).alias("lines"))
        .orderBy("path", "block")
        .collect()
    )
    before: dict[tuple[str, int], tuple[int, int]] = {}
    path, rows, seen = "", 0, 0
    for block in counted:
        if block["path"] != path:
            path, rows, seen = block["path"], 0, 0
        if rows or seen:
            before[path, block["block"]] = rows, seen
        rows, seen = rows + block["rows"], seen + block["lines"]
    return before
