"""What runs in Spark's Python workers: events are read where they are, then followed where their key is.

Reading is done once for every group of patterns, in parallel, whatever the keys: it finds which filters of steps an
event satisfies, its partition, its time, and the values that variables are compared with. Only that is shuffled, with
the columns that are to be told. Following takes the events of one shard after the other, each in the order of time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.composite.batch import Batch
from vedette.composite.matcher import PatternMatcher
from vedette.composite.step import CAP
from vedette.composite.telling import TIME
from vedette.errors import InputError, VedetteError
from vedette.matching.view import Events
from vedette.operators.calling import Calling
from vedette.operators.sources import EventSource, Shared
from vedette.prediction.model import Model
from vedette.schema.encode import Reject
from vedette.schema.schema import Schema
from vedette.spark.operators.hosted import host, hosted
from vedette.spark.operators.reports import Caller
from vedette.spark.patterns.coded import ARRIVAL, CALLED, ID, batch_of, columns_of, places_of
from vedette.spark.patterns.following import Follower, Forecasts, Names
from vedette.spark.patterns.keeping import Beside
from vedette.spark.patterns.sharding import Filters, PatternGroup, shard_of

TOLD = "subscription", "kind", "steps", "bindings", "probability", "within"
_KEPT = 64  # groups whose patterns a process keeps ready


def sent_as(number: int) -> str:
    """The name under which a column that is read travels: its own may be that of something else."""
    return f"s{number}"


def carried_as(number: int) -> str:
    """... and one that is told."""
    return f"c{number}"


@dataclass(frozen=True)
class Task:
    """All that travels to a worker."""

    version: str  # the same for the same patterns and schema, followed in the same way
    groups: tuple[PatternGroup, ...]
    schema: Schema
    sent: tuple[str, ...]  # the columns that are read, which travel by their numbers
    bound: tuple[int, ...]  # the numbers of those that variables are told by
    carried: int  # so many columns of events are told
    cap: int = CAP
    model: bytes | None = None
    learn: bool = False
    caller: Caller | None = None  # of the operators that steps call
    filters: Filters = ()  # of steps, in the order that decides which of two equal partial matches is told


def reading(task: Task) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Events in, coded events out: a row for every group in which an event has a partition."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            with nullcontext() if task.caller is None else hosted(task.caller):
                for batch in batches:
                    source = None if task.caller is None else source_of(_sent(task, batch), batch, task.schema)
                    for number, group in enumerate(task.groups):
                        yield _read(task, number, group, batch, source)
        except VedetteError as error:
            # Spark shows the trace with the message, and the message says it all.
            raise error.with_traceback(None) from None

    return read


def _read(
    task: Task, number: int, group: PatternGroup, events: pa.RecordBatch, source: EventSource | None
) -> pa.RecordBatch:
    matcher = _matcher(task, number)
    names = (ID, ARRIVAL, *map(sent_as, task.bound), *map(carried_as, range(task.carried)))
    return coded_rows(matcher, number, group, _sent(task, events), events.select(names), source).rows


def source_of(events: pa.RecordBatch, beside: pa.RecordBatch, schema: Schema) -> EventSource:
    """What operators see of the events: what they find for one group of patterns they find for all."""
    given = zip(beside.column(ID).to_pylist(), beside.column(ARRIVAL).to_pylist(), strict=True)
    called = [str(arrival if id_ is None else id_) for id_, arrival in given]
    return EventSource(events, schema, called, Shared(np.arange(events.num_rows), {}))


class Coded(NamedTuple):
    """Coded events of one group, and the greatest time of all so far; None: none has one."""

    rows: pa.RecordBatch
    latest: int | None


def coded_rows(
    matcher: PatternMatcher,
    number: int,
    group: PatternGroup,
    events: Events,
    beside: pa.RecordBatch,
    source: EventSource | None = None,
    latest: int | None = None,
) -> Coded:
    """Those events that have a partition in a group; `beside` has their ids and arrivals, and what is to be told.

    `source` is what operators see of them, `latest` the greatest time before.
    """
    rejects: list[Reject] = []
    batch, timed = matcher.read(events, rejects=rejects, source=source, latest=latest)
    if rejects:
        first = min(rejects, key=lambda reject: reject.row)
        name = beside.column(ID)[first.row].as_py()
        called = f"event {beside.column(ARRIVAL)[first.row].as_py() if name is None else name!r}"
        raise InputError(f"{called} breaks the schema: attribute {first.attribute!r}: {first.reason}")
    if timed.any():
        seen = int(batch.time[timed].max())
        latest = seen if latest is None else max(seen, latest)
    batch, timed, shard = placed(batch, timed, group)
    mine = beside.take(pa.array(batch.number))
    columns = columns_of(batch, timed, mine.column(ID), mine.column(ARRIVAL).to_numpy(), (number, shard))
    told = {name: mine.column(name) for name in mine.schema.names if name not in columns}
    return Coded(pa.RecordBatch.from_pydict(columns | told), latest)


def placed(
    batch: Batch, timed: NDArray[np.bool_], group: PatternGroup
) -> tuple[Batch, NDArray[np.bool_], NDArray[np.int32]]:
    """Those events that have a partition in a group, and the shard of each."""
    if not group.keys:
        return batch, timed, np.zeros(batch.size, np.int32)
    keyed = np.flatnonzero(batch.keyed[0])
    if len(keyed) < batch.size:
        batch, timed = batch.take(keyed), timed[keyed]
    return batch, timed, shard_of(batch.key[0], group.shards)


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
                for begin, end, here in places_of(batch):
                    if here != place or follower is None:
                        place, follower = here, _follower(task, here[0])
                    yield from _told(task, follower, batch.slice(begin, end - begin))
        except VedetteError as error:
            raise error.with_traceback(None) from None

    return follow


def _follower(task: Task, group: int) -> Follower:
    model = None if task.model is None else Model.from_bytes(task.model)
    matcher = _follows(task.version, group, Beside(task)).again()
    return Follower(matcher, task.groups[group].records, Forecasts(model, task.learn))


def _told(task: Task, follower: Follower, events: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    batch, timed = batch_of(events, 0)
    # Of several partial matches that are worth the same the older one stays: so events go by their arrival.
    arrived = events.column(ARRIVAL).to_numpy()
    batch = replace(batch, number=arrived)
    if TIME in task.sent:  # that an event has no time is no matter where others have one
        timed = np.ones(batch.size, np.bool_)
    ids = events.column(ID).to_pylist()
    arrivals = events.column(ARRIVAL).to_pylist()
    if CALLED in events.schema.names:
        called = events.column(CALLED).to_pylist()
    else:
        called = [str(arrival) if id_ is None else id_ for id_, arrival in zip(ids, arrivals, strict=True)]
    bound = events.select([sent_as(number) for number in task.bound] or [ARRIVAL])
    bound = bound.rename_columns([task.sent[number] for number in task.bound] or [""])
    told = follower.follow(batch, timed, Names(called, ids), bound)
    if not told.num_rows:
        return
    # Events come in the order of their time, so that whatever completes or is forecast, is so by one of these.
    order = np.argsort(arrived)
    rows = pa.array(order[np.searchsorted(arrived, told.column("number").to_numpy(), sorter=order)])
    columns = {name: events.column(name).take(rows) for name in map(carried_as, range(task.carried))}
    columns |= {name: told.column(name).combine_chunks() for name in TOLD}
    yield pa.RecordBatch.from_pydict(columns)


# ---------------------------------------------------------------- patterns that a process keeps ready


def _matcher(task: Task, group: int) -> PatternMatcher:
    if task.caller is None:
        return _plain(task.version, group, Beside(task))
    return host(task.caller).kept((task.version, group), lambda calling: _made(task, group, calling))


@functools.lru_cache(maxsize=_KEPT)
def _follows(version: str, group: int, whole: Beside[Task]) -> PatternMatcher:
    return _made(whole.it, group, None, reads=False)  # whoever follows needs no operators


@functools.lru_cache(maxsize=_KEPT)
def _plain(version: str, group: int, whole: Beside[Task]) -> PatternMatcher:
    return _made(whole.it, group, None)


def _made(task: Task, group: int, calling: Calling | None, *, reads: bool = True) -> PatternMatcher:
    order = task.filters[group] if task.filters else ()
    return PatternMatcher(
        task.groups[group].records, task.schema, lateness=0, cap=task.cap, calling=calling, filters=order, reads=reads
    )
