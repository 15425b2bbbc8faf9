"""Patterns over the events of a file: what they find, row by row, as the driver takes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import orjson
import pyarrow as pa
from pyspark.sql import SparkSession

from vedette.files.notices import Notice
from vedette.spark.patterns.file_events import coded_events
from vedette.spark.patterns.file_following import Ended, How, followed, hear, plainly
from vedette.spark.patterns.file_survey import Placed
from vedette.spark.patterns.tasks import Task

_COLUMNS = "row bigint, id string, subscription string, said binary, shed bigint"
_SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        ("id", pa.string()),
        ("subscription", pa.string()),
        ("said", pa.binary()),
        ("shed", pa.int64()),
    ]
)


class FoundPattern(NamedTuple):
    """A match or a prediction: the row of its event, its subscription, the event's id, and all else."""

    row: int
    subscription: str
    id: str
    notice: Notice


def match_patterns(
    spark: SparkSession, placed: Sequence[Placed], task: Task, how: How
) -> tuple[list[FoundPattern], int]:
    """All matches and predictions, those of one event and pattern in their order; and the partial matches given up."""
    coded = coded_events(spark, placed, task, how.filters)
    found = followed(coded, task, plainly(partial(_rows, task=task, how=how)), _COLUMNS)
    shed = 0
    made: list[FoundPattern] = []
    for batch in found.toArrow().to_batches():
        shed += sum(filter(None, batch.column("shed").to_pylist()))
        columns = (batch.column(name).to_pylist() for name in ("row", "subscription", "id", "said"))
        for row, subscription, id_, said in zip(*columns, strict=True):
            if said is not None:
                made.append(FoundPattern(row, subscription, id_, Notice(*orjson.loads(said))))
    return made, shed


def _rows(batches: Iterator[pa.RecordBatch], task: Task, how: How) -> Iterator[pa.RecordBatch]:
    for one in hear(batches, task, how):
        if isinstance(one, Ended):
            yield pa.RecordBatch.from_pylist([{"shed": one.shed}], _SCHEMA)
            continue
        told = [one.said(row) for row in range(len(one.row))]
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(one.row),
                pa.array([id_ for id_, _ in told], pa.string()),
                pa.array(one.subscription, pa.string()),
                pa.array([orjson.dumps(list(notice)) for _, notice in told], pa.binary()),
                pa.nulls(len(told), pa.int64()),
            ],
            schema=_SCHEMA,
        )
