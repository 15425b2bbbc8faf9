"""Matches raw rows on Spark, by Vedette's own readers: rows in, outcomes out.

The bytes cross to Python as they are; there they are parsed and matched in one go, by the same code as in the local
engine. So outcomes are the same, and so are the reasons why a row is set aside.
"""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, MapType, StringType, StructField, StructType

from vedette.io.chunk_stepper import ChunkStepper, SliceOutcome, promised_columns
from vedette.io.chunks import EventChunk, RejectedRow
from vedette.schema.keys import read
from vedette.schema.paths import finder
from vedette.schema.schema import Schema
from vedette.schema.table_paths import TableEvents
from vedette.schema.types import Kind, Type
from vedette.schema.values import json_text
from vedette.spark.engines import Sent
from vedette.spark.readers import WHOLE, Before, ReadChunk, Reader
from vedette.spark.types import spark_type
from vedette.spark.versions import to_arrow_schema
from vedette.spark.worker import WorkerTask, Writer
from vedette.spark.worker_check import in_worker

_AS_TEXT = (Kind.STRING, Kind.IP, Kind.REGION)


def kept_type(path: str, schema: Schema | None) -> DataType:
    """The Spark type of a kept attribute: that of the schema; string if the schema does not have it."""
    type_ = None if schema is None else schema.type_of(path)
    return StringType() if type_ is None else spark_type(type_)


def kept_columns(
    chunk: EventChunk, events: NDArray[Any], paths: Sequence[str], schema: Schema | None, types: Sequence[Any]
) -> list[Any]:
    """One Arrow array for each path, of some events of a chunk; values that do not fit the type are null."""
    if not paths:
        return []
    if isinstance(chunk.events, pa.Table):
        found: Sequence[Any] = TableEvents(chunk.events.take(pa.array(events))).dicts(paths)
    else:
        found = [chunk.events[place] for place in events.tolist()]
    return [
        pa.array([_value(find(event), type_) for event in found], stored)
        for find, type_, stored in zip(
            map(finder, paths), [None if schema is None else schema.type_of(path) for path in paths], types, strict=True
        )
    ]


def _value(value: Any, type_: Type | None) -> Any:
    if value is None:
        return None
    if type_ is None:
        return value if isinstance(value, str) else json_text(value)
    if not type_.is_list:
        return _scalar(value, type_.kind)
    return [_scalar(each, type_.kind) for each in value] if isinstance(value, list | tuple) else None


def _scalar(value: Any, kind: Kind) -> Any:
    if value is None:
        return None
    if kind in _AS_TEXT:
        return value if isinstance(value, str) else json_text(value)
    try:
        found = read(kind, value)
    except ValueError:
        return None
    if kind is Kind.POINT:
        return {"lon": found[0], "lat": found[1]}
    if kind is Kind.TIMESTAMP and isinstance(found, dt.datetime) and found.tzinfo is None:
        return found.replace(tzinfo=dt.UTC)
    return found


# What outcomes are made of: these, the attributes that are kept, and those. Behind the head of those of filters that
# call operators stand the bindings.
HEAD = ("event", "subscription", "subscriber", "kind", "version")
TAIL = ("place", "reason", "raw")
BINDINGS = "bindings"


def match_rows(
    rows: DataFrame,
    reader: Callable[[], Reader],
    sent: Sent,
    *,
    keep: Sequence[str] = (),
    schema: Schema | None = None,
    read: Accumulator[int] | None = None,
) -> DataFrame:
    """Outcomes of raw rows, which the `reader` parses.

    An event that breaks the given `schema` is set aside. `read` counts the rows.
    """
    made = outcome_schema(keep, schema, binding=sent.binds)
    facts = _Facts(sent.version, tuple(keep), schema, to_arrow_schema(made), read)
    task = WorkerTask(sent, reader, functools.partial(_OutcomeRows, facts), promised_columns(schema))
    return rows.mapInArrow(in_worker(task.run), made)


def outcome_schema(keep: Sequence[str], schema: Schema | None, *, binding: bool = False) -> StructType:
    """The columns of outcomes, with bindings or without."""
    bound = [StructField(BINDINGS, MapType(StringType(), StringType()))] if binding else []
    kept = [StructField(path, kept_type(path, schema)) for path in keep]
    return StructType([_text(name) for name in HEAD] + bound + kept + [_text(name) for name in TAIL])


def _text(name: str) -> StructField:
    return StructField(name, StringType())


@dataclass(frozen=True, slots=True)
class _Facts:
    """What outcomes are made of."""

    version: str
    keep: tuple[str, ...]
    given: Schema | None  # every event is held against all of it
    schema: pa.Schema  # of outcomes
    read: Accumulator[int] | None


class _OutcomeRows(Writer):
    """A row for every outcome, and for every row that is set aside."""

    def __init__(self, facts: _Facts, stepper: ChunkStepper) -> None:
        self._facts, self._whose = facts, stepper.engine.subscribers

    def write(self, read: ReadChunk, found: SliceOutcome) -> Iterator[pa.RecordBatch]:
        """Matches, then rejects."""
        if self._facts.read is not None:
            self._facts.read.add(found.read)
        if len(found.outcomes):
            yield self._matches(read.chunk, found)
        if found.rejects:
            yield self._rejects(read, found.rejects)

    def _matches(self, chunk: EventChunk, found: SliceOutcome) -> pa.RecordBatch:
        facts, schema = self._facts, self._facts.schema
        told, event, size = found.outcomes.table(), found.events(), len(found.outcomes)
        is_new = np.ones(size, np.bool_)
        np.not_equal(event[1:], event[:-1], out=is_new[1:])
        which = pa.array(np.cumsum(is_new) - 1)  # of the events that match anything each match is of
        # By their places: an attribute that is kept may have the name of another column.
        begin, end = len(schema) - len(facts.keep) - len(TAIL), len(schema) - len(TAIL)
        types = [field.type for field in schema][begin:end]
        head = {
            "subscriber": self._whose.take(pa.array(found.outcomes.place)).cast(pa.string()),
            "version": pa.repeat(pa.scalar(facts.version), size),
        }
        columns = [
            *(head[name] if name in head else told.column(name).combine_chunks() for name in schema.names[:begin]),
            *(column.take(which) for column in kept_columns(chunk, event[is_new], facts.keep, facts.given, types)),
            *(pa.nulls(size, pa.string()) for _ in range(len(TAIL))),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _rejects(self, read: ReadChunk, rejects: list[RejectedRow]) -> pa.RecordBatch:
        schema = self._facts.schema
        columns = [pa.nulls(len(rejects), field.type) for field in schema]
        columns[-len(TAIL) :] = [
            pa.array(values, pa.string())
            for values in (
                [read.place_of(reject) for reject in rejects],
                [reject.reason for reject in rejects],
                [reject.raw for reject in rejects],
            )
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)


def rows_before(lines: DataFrame) -> Before:
    """Numbers of rows (blank lines are none) and lines before each block of a file; none for the first block."""
    lines = lines.where(F.col("block") != WHOLE)
    blank = F.btrim(F.col("value").cast("string"), F.lit(" \t\r\x0b\x0c")) == ""
    counted = (
        lines.groupBy("path", "block")
        .agg(F.count_if(~F.coalesce(blank, F.lit(False))).alias("rows"), F.count(F.lit(1)).alias("lines"))
        .orderBy("path", "block")
        .collect()
    )
    before: Before = {}
    path, rows, seen = "", 0, 0
    for block in counted:
        if block["path"] != path:
            path, rows, seen = block["path"], 0, 0
        if rows or seen:
            before[path, block["block"]] = rows, seen
        rows, seen = rows + block["rows"], seen + block["lines"]
    return before
