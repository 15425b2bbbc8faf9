"""Finds late events of a file: those whose time is further below the greatest before them than is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from vedette.io.chunks import EventChunk, RejectedRow
from vedette.patterns.event_times import times_of
from vedette.schema.schema import Schema
from vedette.spark.patterns.survey import Placed, Survey, frame_of, placed_of
from vedette.spark.versions import to_arrow

REASON = "too late for patterns"
_EARLIEST = int(np.iinfo(np.int64).min)
_LATE = "row bigint, line bigint, raw string"
_SCHEMA = pa.schema([("row", pa.int64()), ("line", pa.int64()), ("raw", pa.string())])


def find_late(spark: SparkSession, survey: Survey, lateness: int, schema: Schema, *, told: bool) -> list[RejectedRow]:
    """The late events in the order of rows, with their texts if they are to be `told`; they are marked in the survey.

    An event with an id that came before is not late, and does not make others late.
    """
    if not survey.placed:
        return []
    greatest = _before(spark, survey, schema)
    pieces = [replace(one, greatest=before) for one, before in zip(survey.placed, greatest, strict=True)]
    look = partial(_late, lateness=lateness, schema=schema, told=told)
    found = to_arrow(frame_of(spark, pieces).mapInArrow(look, _LATE)).sort_by("row")
    rows = found.column("row").to_numpy()
    for place, one in enumerate(survey.placed):
        first, last = np.searchsorted(rows, [one.begin, one.end])
        survey.placed[place] = replace(one, late=rows[first:last])
    return [RejectedRow(row["row"], row["line"], REASON, row["raw"]) for row in found.to_pylist()]


def _before(spark: SparkSession, survey: Survey, schema: Schema) -> list[int | None]:
    """The greatest time before each piece, of events that count."""
    if not survey.repeated:
        return [one.latest for one in survey.placed]
    found = frame_of(spark, survey.placed).mapInArrow(partial(_greatest, schema=schema), "begin bigint, time bigint")
    times = {row["begin"]: row["time"] for row in to_arrow(found).to_pylist()}
    before: list[int | None] = [None]
    for one in survey.placed:
        mine, last = times.get(one.begin), before[-1]
        before.append(last if mine is None else mine if last is None else max(mine, last))
    return before[:-1]


def _greatest(batches: Iterator[pa.RecordBatch], schema: Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for placed in placed_of(batch):
            times = [int(time.max()) for _, time in _counted(placed, schema) if len(time)]
            if times:
                yield pa.RecordBatch.from_pylist([{"begin": placed.begin, "time": max(times)}])


def _late(batches: Iterator[pa.RecordBatch], lateness: int, schema: Schema, told: bool) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for placed in placed_of(batch):
            greatest = _EARLIEST if placed.greatest is None else placed.greatest
            for chunk, time in _counted(placed, schema):
                if not len(time):
                    continue
                so_far = np.maximum.accumulate(np.maximum(time, greatest))
                greatest = int(so_far[-1])
                places = np.flatnonzero(time < np.maximum(so_far, _EARLIEST + lateness) - lateness).tolist()
                rows = [
                    {
                        "row": int(chunk.rows[place]),
                        "line": None if chunk.lines is None else int(chunk.lines[place]),
                        "raw": chunk.raw(place) if told else "",
                    }
                    for place in places
                ]
                yield pa.RecordBatch.from_pylist(rows, _SCHEMA)


def _counted(placed: Placed, schema: Schema) -> Iterator[tuple[EventChunk, NDArray[np.int64]]]:
    """The events that count, and their times: one without a time has the greatest before it."""
    latest = placed.latest
    for chunk in placed.chunks():
        if not len(chunk):
            continue
        times = times_of(chunk.events, schema)
        filled = times.filled(latest)
        if times.known.any():
            seen = int(times.microseconds[times.known].max())
            latest = seen if latest is None else max(seen, latest)
        again = np.isin(chunk.rows, placed.again)
        yield chunk.without(chunk.rows[again].tolist()), filled[~again]
