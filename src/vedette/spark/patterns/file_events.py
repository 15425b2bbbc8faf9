"""The events of a file as patterns see them: pieces are read where they fall, and coded for every group of patterns."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from vedette.composite.batch import Batch
from vedette.composite.matcher import PatternMatcher
from vedette.composite.step import CAP
from vedette.composite.telling import bound_paths, values_at
from vedette.errors import VedetteError
from vedette.files.chunks import EventChunk
from vedette.files.notices import json_of
from vedette.matching.patterns import PatternRecord
from vedette.operators.calling import Calling
from vedette.operators.sources import EventSource, Shared
from vedette.prediction.model import Model
from vedette.schema.encode import Reject
from vedette.schema.schema import Schema
from vedette.spark.operators.hosted import host, hosted
from vedette.spark.operators.reports import Caller
from vedette.spark.patterns.coded import FIELDS, columns_of
from vedette.spark.patterns.file_survey import Placed, frame_of, placed_of
from vedette.spark.patterns.keeping import Beside
from vedette.spark.patterns.match import version_of
from vedette.spark.patterns.sharding import Filters, groups_of, shard_of
from vedette.spark.patterns.tasks import Task, sent_as

_KEPT = 2  # tasks whose patterns a process keeps ready
_EARLIEST = np.iinfo(np.int64).min


def pattern_task(
    records: Sequence[PatternRecord],
    schema: Schema,
    shards: int,
    *,
    model: Model | None = None,
    learn: bool = True,
    cap: int = CAP,
    told: bool = True,
    caller: Caller | None = None,
) -> Task:
    """What workers need for some patterns over a file; values of variables travel only if they are to be `told`.

    `caller` has the operators that steps call, if they do.
    """
    bound = tuple(sorted(bound_paths(records))) if told else ()
    return Task(
        f"{version_of(records, schema)}-{cap}-{learn}",
        groups_of(records, shards, learn=learn),
        schema,
        bound,
        tuple(range(len(bound))),
        0,
        cap,
        None if model is None else model.to_bytes(),
        learn,
        caller,
    )


def coded_events(spark: SparkSession, placed: Sequence[Placed], task: Task, filters: Filters = ()) -> DataFrame:
    """A row for every event and every group in which it has a partition: the columns of FIELDS, then what is bound.

    `arrival` is the row of the event in the source, and `id` its own id or null. What is rejected is left out, and so
    are events whose id was there before and those that come too late; an event without a time has the greatest before
    it. What variables are told by (`s0`, `s1`, …) is JSON. Filters are numbered in the order in which the patterns of a
    group have them, or as `filters` say: who follows the events needs the same numbers.
    """
    bound = [(sent_as(number), "string") for number in task.bound]
    columns = ", ".join(f"`{name}` {type_}" for name, type_ in (*FIELDS, *bound))
    return frame_of(spark, placed).mapInArrow(coding(task, filters), columns)


def coding(task: Task, filters: Filters = ()) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Pieces in, coded events out, in a worker."""

    def code(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            with nullcontext() if task.caller is None else hosted(task.caller):
                for batch in batches:
                    for placed in placed_of(batch):
                        yield from _coded(task, filters, placed)
        except VedetteError as error:
            # Spark shows the trace with the message, and the message says it all.
            raise error.with_traceback(None) from None

    return code


def _coded(task: Task, filters: Filters, placed: Placed) -> Iterator[pa.RecordBatch]:
    latest = placed.latest
    for chunk in placed.chunks():
        if not len(chunk):
            continue
        counts = ~np.isin(chunk.rows, np.concatenate([placed.again, placed.late]))
        before = latest
        source = None
        if task.caller is not None:  # what operators find for one group of patterns they find for all
            source = EventSource(chunk.events, task.schema, chunk.ids, Shared(chunk.rows, {}))
        for number, matcher in enumerate(_readers(task, filters)):
            rejects: list[Reject] = []
            batch, timed = matcher.read(chunk.events, rejects=rejects, source=source)
            batch, latest = _in_time(batch, timed, before)
            yield _group(task, number, chunk, batch, timed, counts)


def _in_time(batch: Batch, timed: NDArray[np.bool_], latest: int | None) -> tuple[Batch, int | None]:
    """An event without a time has the greatest before it, also of pieces before; and the greatest of all so far."""
    own = np.where(timed, batch.time, _EARLIEST)
    so_far = np.maximum.accumulate(np.maximum(own, _EARLIEST if latest is None else latest))
    if not batch.size or int(so_far[-1]) == _EARLIEST:
        return batch, latest
    filled = np.where(timed, batch.time, np.where(so_far == _EARLIEST, 0, so_far))
    return replace(batch, time=filled), int(so_far[-1])


def _group(
    task: Task, number: int, chunk: EventChunk, batch: Batch, timed: NDArray[np.bool_], counts: NDArray[np.bool_]
) -> pa.RecordBatch:
    """The rows of one group."""
    group = task.groups[number]
    wanted = counts[batch.number] & (batch.keyed[0] if group.keys else True)
    if not wanted.all():
        places = np.flatnonzero(wanted)
        batch, timed = batch.take(places), timed[places]
    shard = shard_of(batch.key[0], group.shards) if group.keys else np.zeros(batch.size, np.int32)
    rows = pa.array(batch.number)
    ids = chunk.own_ids.take(rows)
    columns = columns_of(batch, timed, ids, chunk.rows[batch.number], (number, shard))
    if task.bound:
        events = _taken(chunk.events, batch.number)
        for place in task.bound:
            values = values_at(events, task.sent[place])
            said = [None if value is None else json_of(value) for value in values]
            columns[sent_as(place)] = pa.array(said, pa.string())
    return pa.RecordBatch.from_pydict(columns)


def _taken(events: Any, rows: NDArray[np.int64]) -> Any:
    return [events[row] for row in rows.tolist()] if isinstance(events, list) else events.take(pa.array(rows))


# ---------------------------------------------------------------- patterns that a process keeps ready


def matchers_of(task: Task, filters: Filters = ()) -> tuple[PatternMatcher, ...]:
    """The patterns of every group, of which `again` gives one that follows events."""
    return _matchers(task.version, filters, Beside(task))


def _readers(task: Task, filters: Filters) -> tuple[PatternMatcher, ...]:
    """Those that read events; who follows them needs no operators."""
    if task.caller is None:
        return matchers_of(task, filters)
    return host(task.caller).kept((task.version, filters), lambda calling: _made(task, filters, calling))


@functools.lru_cache(maxsize=_KEPT)
def _matchers(version: str, filters: Filters, whole: Beside[Task]) -> tuple[PatternMatcher, ...]:
    return _made(whole.it, filters, None)


def _made(task: Task, filters: Filters, calling: Calling | None) -> tuple[PatternMatcher, ...]:
    reads = task.caller is None or calling is not None
    return tuple(
        PatternMatcher(
            group.records, task.schema, lateness=0, cap=task.cap, calling=calling, filters=order, reads=reads
        )
        for group, order in zip(task.groups, filters or [()] * len(task.groups), strict=True)
    )
