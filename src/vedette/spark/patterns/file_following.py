"""Following the events of a file, in a worker: the patterns of one shard after the other, heard by whoever asks.

What forecasts learn from comes to them at once, when all events of their shard have been there: as in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from vedette.composite.outputs import Observations, PatternMatches, joined_observations
from vedette.composite.telling import Telling
from vedette.errors import VedetteError
from vedette.files.backtest_counts import UNTIMED
from vedette.files.notices import MATCH, PREDICTION, Notice
from vedette.prediction.forecast import Forecaster, Predictions
from vedette.prediction.held_out import HeldOut
from vedette.prediction.model import Model
from vedette.prediction.score import Score
from vedette.spark.patterns.coded import ARRIVAL, GROUP, ID, SHARD, TIME, batch_of, places_of
from vedette.spark.patterns.file_events import matchers_of
from vedette.spark.patterns.file_named import NamedEvents
from vedette.spark.patterns.sharding import Filters
from vedette.spark.patterns.tasks import Task, sent_as

_Batches = Iterator[pa.RecordBatch]


class How(NamedTuple):
    """How a file is followed."""

    timed: bool  # some of its events have a time
    filters: Filters = ()  # of steps, in the order that decides which of several partial matches is told
    train_until: int | None = None  # forecasts learn up to this moment (microseconds), and are made after it


class Heard(NamedTuple):
    """Matches or predictions: of each its subscription, the row of its event, and when that was."""

    kind: str
    subscription: list[str]
    row: NDArray[np.int64]
    time: NDArray[np.int64]  # UNTIMED: it has none
    said: Callable[[int], tuple[str, Notice]]  # the event's id, and all else, until the next ones are heard


class Ended(NamedTuple):
    """The end of a shard: partial matches that were given up, scores of forecasts, and rows they have learnt from."""

    shed: int
    scores: dict[str, Score]
    learnt: int | None  # None: forecasts were not to be held out


def followed(coded: DataFrame, task: Task, host: Callable[[_Batches], _Batches], columns: str) -> DataFrame:
    """What `host` makes of coded events, which come to it shard by shard, each in the order of time."""
    shards = sum(group.shards for group in task.groups)
    placed = coded.repartition(shards, GROUP, SHARD).sortWithinPartitions(GROUP, SHARD, TIME, ARRIVAL)
    return placed.mapInArrow(host, columns)


def hear(batches: _Batches, task: Task, how: How) -> Iterator[Heard | Ended]:
    """What is found in the events of some shards."""
    place: tuple[int, int] | None = None
    shard: _Shard | None = None
    for batch in batches:
        for begin, end, here in places_of(batch):
            if shard is None or here != place:
                if shard is not None:
                    yield from shard.finish()
                place, shard = here, _Shard(task, here[0], how)
            yield from shard.follow(batch.slice(begin, end - begin))
    if shard is not None:
        yield from shard.finish()


def plainly(host: Callable[[_Batches], _Batches]) -> Callable[[_Batches], _Batches]:
    """The same; what it raises is shown without a trace of ours, since Spark adds its own."""

    def run(batches: _Batches) -> _Batches:
        try:
            yield from host(batches)
        except VedetteError as error:
            raise error.with_traceback(None) from None

    return run


class _Shard:
    """Events of one shard, in the order of their time."""

    def __init__(self, task: Task, group: int, how: How) -> None:
        self._task, self._how = task, how
        self._matcher = matchers_of(task, how.filters)[group].again()
        records = self._matcher.patterns
        self._ids = {number: record.id for number, record in records.items()}
        self._telling = Telling(records)
        self._forecaster: Forecaster | HeldOut | None = None
        if any(record.predict is not None for record in records.values()):
            model = None if task.model is None else Model.from_bytes(task.model)
            until = how.train_until
            self._forecaster = (
                Forecaster(records, model, learn=task.learn) if until is None else HeldOut(records, until)
            )
            self._matcher.expect(self._forecaster.expected())
        self._observed: list[Observations] = []
        self._events = NamedEvents(ARRIVAL)

    def follow(self, events: pa.RecordBatch) -> Iterator[Heard]:
        """Let events happen. They are known by their rows, since of several partial matches the older ones stay."""
        rows = events.column(ARRIVAL).to_numpy()
        batch, timed = batch_of(events, 0)
        batch = replace(batch, number=rows)
        own = pa.array(np.where(timed, batch.time, UNTIMED))
        named = events.select([ARRIVAL, ID, *map(sent_as, self._task.bound)])
        self._events.add(named.append_column(TIME, own))
        # That an event has no time is no matter where others have one.
        outcome = self._matcher.follow(batch, np.full(batch.size, self._how.timed))
        yield self._heard(outcome.matches)
        if self._forecaster is not None:
            self._observed.append(outcome.observations)
        elif self._events.crowded:
            self._events.forget(self._matcher.remembered())

    def finish(self) -> Iterator[Heard | Ended]:
        """All events have been there."""
        if self._forecaster is not None:
            yield self._heard(self._forecaster.process(joined_observations(self._observed)))
        learnt = self._forecaster.learnt if isinstance(self._forecaster, HeldOut) else None
        scores = {} if self._forecaster is None else self._forecaster.scores
        yield Ended(self._matcher.counts.shed, scores, learnt)

    # ------------------------------------------------------------ what was found

    def _heard(self, told: PatternMatches | Predictions) -> Heard:
        kind = PREDICTION if isinstance(told, Predictions) else MATCH
        if not len(told):
            return Heard(kind, [], told.event, told.event, lambda row: self._said(told, told.event, row))
        rows = np.unique(np.concatenate([told.event, told.taken]))
        events = self._events.find(rows)
        self._tell_of(events)
        times = events.column(TIME).to_numpy()[np.searchsorted(rows, told.event)]
        subscriptions = [self._ids[number] for number in told.pattern.tolist()]
        return Heard(kind, subscriptions, told.event, times, lambda row: self._said(told, rows, row))

    def _tell_of(self, events: pa.Table) -> None:
        """Speak of these events from now on, which are known by their places, and of no others."""
        ids, rows = events.column(ID).to_pylist(), events.column(ARRIVAL).to_pylist()
        called = [str(row) if id_ is None else id_ for id_, row in zip(ids, rows, strict=True)]
        bound = events.select([sent_as(number) for number in self._task.bound] or [ARRIVAL])
        names = [self._task.sent[number] for number in self._task.bound] or [""]
        self._telling.forget(np.zeros(0, np.int64))
        self._telling.keep(0, called, bound.rename_columns(names))

    def _said(self, told: PatternMatches | Predictions, rows: NDArray[np.int64], row: int) -> tuple[str, Notice]:
        pattern = int(told.pattern[row])
        begin, end = told.start[row], told.start[row + 1]
        places = np.searchsorted(rows, told.taken[begin:end]).tolist()
        witness = list(zip(told.position[begin:end].tolist(), places, strict=True))
        steps = self._telling.steps(pattern, witness)
        bindings = {name: _read(value) for name, value in self._telling.bindings(pattern, witness).items()}
        notice = Notice(MATCH, steps, bindings)
        if isinstance(told, Predictions):
            probability, within = round(float(told.probability[row]), 6), int(told.within[row])
            notice = Notice(PREDICTION, steps, bindings, probability, within)
        return self._telling.id(int(np.searchsorted(rows, told.event[row]))), notice


def _read(value: str | None) -> Any:
    return None if value is None else orjson.loads(value)
