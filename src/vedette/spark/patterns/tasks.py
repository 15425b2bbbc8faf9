"""What runs in Spark's Python workers: events are read where they are, then followed where their key is.

Reading is done once for every group of patterns, in parallel, whatever the keys: it finds which filters of steps an
event satisfies, its partition, its time, and the values that variables are compared with. Only that is shuffled, with
the columns that are to be told. Following takes the events of one shard after the other, each in the order of time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.composite.matcher import PatternMatcher
from vedette.composite.step import CAP
from vedette.errors import InputError, VedetteError
from vedette.prediction.model import Model
from vedette.schema.encode import Reject
from vedette.schema.schema import Schema
from vedette.spark.patterns.coded import ARRIVAL, GROUP, ID, SHARD, batch_of, columns_of
from vedette.spark.patterns.following import Follower, Forecasts, Names
from vedette.spark.patterns.sharding import PatternGroup, shard_of

TOLD = "subscription", "kind", "steps", "bindings", "probability", "within"
_KEPT = 4  # groups whose patterns a process keeps ready


def sent_as(number: int) -> str:
    """The name under which a column that is read travels: its own may be that of something else."""
    return f"s{number}"


def carried_as(number: int) -> str:
    """... and one that is told."""
    return f"c{number}"


@dataclass(frozen=True)
class Task:
    """All that travels to a worker."""

    version: str  # the same for the same patterns and schema
    groups: tuple[PatternGroup, ...]
    schema: Schema
    sent: tuple[str, ...]  # the columns that are read, which travel by their numbers
    bound: tuple[int, ...]  # the numbers of those that variables are told by
    carried: int  # so many columns of events are told
    cap: int = CAP
    model: bytes | None = None
    learn: bool = False


def reading(task: Task) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Events in, coded events out: a row for every group in which an event has a partition."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            for batch in batches:
                for number, group in enumerate(task.groups):
                    yield _read(task, number, group, batch)
        except VedetteError as error:
            # Spark shows the trace with the message, and the message says it all.
            raise error.with_traceback(None) from None

    return read


def _read(task: Task, number: int, group: PatternGroup, events: pa.RecordBatch) -> pa.RecordBatch:
    rejects: list[Reject] = []
    batch, timed = _matcher(task.version, number, _Whole(task)).read(_sent(task, events), rejects=rejects)
    if rejects:
        first = min(rejects, key=lambda reject: reject.row)
        name = events.column(ID)[first.row].as_py()
        called = f"event {events.column(ARRIVAL)[first.row].as_py() if name is None else name!r}"
        raise InputError(f"{called} breaks the schema: attribute {first.attribute!r}: {first.reason}")
    if group.keys:
        keyed = np.flatnonzero(batch.keyed[0])
        if len(keyed) < batch.size:
            batch, timed = batch.take(keyed), timed[keyed]
        shard = shard_of(batch.key[0], group.shards)
    else:
        shard = np.zeros(batch.size, np.int32)
    rows = pa.array(batch.number)
    arrival = events.column(ARRIVAL).take(rows)
    columns = columns_of(batch, timed, events.column(ID).take(rows), arrival.to_numpy(), (number, shard))
    for name in (*map(sent_as, task.bound), *map(carried_as, range(task.carried))):
        columns[name] = events.column(name).take(rows)
    return pa.RecordBatch.from_pydict(columns)


def _sent(task: Task, events: pa.RecordBatch) -> pa.RecordBatch:
    chosen = events.select([sent_as(number) for number in range(len(task.sent))] or [ARRIVAL])
    return chosen.rename_columns(list(task.sent) or [""])


def following(task: Task) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Coded events in, ordered by group, shard, time and arrival; what is to be told of them out."""

    def follow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            place: tuple[int, int] | None = None
            follower: Follower | None = None
            for batch in batches:
                for begin, end, here in _places(batch):
                    if here != place or follower is None:
                        place, follower = here, _follower(task, here[0])
                    yield from _told(task, follower, batch.slice(begin, end - begin))
        except VedetteError as error:
            raise error.with_traceback(None) from None

    return follow


def _places(batch: pa.RecordBatch) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Where the rows of each shard begin and end."""
    group, shard = (batch.column(name).to_numpy() for name in (GROUP, SHARD))
    if not len(group):
        return
    changes = np.flatnonzero((group[1:] != group[:-1]) | (shard[1:] != shard[:-1])) + 1
    ends: NDArray[np.int64] = np.concatenate([[0], changes, [len(group)]])
    for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        yield begin, end, (int(group[begin]), int(shard[begin]))


def _follower(task: Task, group: int) -> Follower:
    model = None if task.model is None else Model.from_bytes(task.model)
    matcher = _matcher(task.version, group, _Whole(task)).again()
    return Follower(matcher, task.groups[group].records, Forecasts(model, task.learn))


def _told(task: Task, follower: Follower, events: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    first = follower.arrived
    batch, timed = batch_of(events, first)
    ids = events.column(ID).to_pylist()
    arrivals = events.column(ARRIVAL).to_pylist()
    called = [str(arrival) if id_ is None else id_ for id_, arrival in zip(ids, arrivals, strict=True)]
    bound = events.select([sent_as(number) for number in task.bound] or [ARRIVAL])
    bound = bound.rename_columns([task.sent[number] for number in task.bound] or [""])
    told = follower.follow(batch, timed, Names(called, ids), bound)
    if not told.num_rows:
        return
    # Events come in the order of their time, so that whatever completes or is forecast, is so by one of these.
    rows = pa.array(told.column("number").to_numpy() - first)
    columns = {name: events.column(name).take(rows) for name in map(carried_as, range(task.carried))}
    columns |= {name: told.column(name).combine_chunks() for name in TOLD}
    yield pa.RecordBatch.from_pydict(columns)


# ---------------------------------------------------------------- patterns that a process keeps ready


class _Whole:
    """A task that counts for nothing when calls are compared: its version says which it is."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Whole)

    def __hash__(self) -> int:
        return 0


@functools.lru_cache(maxsize=_KEPT)
def _matcher(version: str, group: int, whole: _Whole) -> PatternMatcher:
    task = whole.task
    return PatternMatcher(task.groups[group].records, task.schema, lateness=0, cap=task.cap)
