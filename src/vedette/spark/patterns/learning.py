"""Learning in Spark's Python workers: events of a shard are followed and counted, and counts are summed.

Partitions come one after the other, in the order in which one process takes them up. So states and symbols get the same
numbers as there, and a worker keeps no more in memory than one batch of events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.engine.pattern_shards import PatternGroup
from vedette.patterns.event_batch import PatternBatch
from vedette.patterns.forecasts.model import Model, Trainer
from vedette.patterns.forecasts.partition_tracks import partition_order
from vedette.patterns.forecasts.probability_table import ForecastSettings
from vedette.patterns.matcher import PatternMatcher
from vedette.spark.engines import Sent
from vedette.spark.patterns.coded import CODED, FIELDS, GROUP, READ, SHARD, batch_of, keys_of
from vedette.spark.patterns.coding import Reading, Step, coding, plainly
from vedette.spark.patterns.live import ready
from vedette.spark.readers import ARRIVAL, ID

PARTITION: Final = "partition"  # by which the partitions of a shard come in order
PLACED: Final = (*((name, type_) for name, type_ in FIELDS if name != ID), (PARTITION, "bigint"))
MODEL, EVENTS, HAVE_TIME, SHED = "model", "events", "have_time", "shed"
LEARNT: Final = (
    (GROUP, "int", pa.int32()),
    (SHARD, "int", pa.int32()),
    (MODEL, "binary", pa.binary()),
    (EVENTS, "bigint", pa.int64()),
    (HAVE_TIME, "bigint", pa.int64()),
    (SHED, "bigint", pa.int64()),
)
# Distinct moves of a pattern that a part of a history may have; which of them are the rarest is known of the whole.
_MOST_MOVES = 1 << 23
_SCHEMA = pa.schema([(name, type_) for name, _, type_ in LEARNT])


@dataclass(frozen=True)
class Lesson:
    """All that is sent to a worker."""

    sent: Sent
    settings: ForecastSettings
    numbering: bytes | None = None  # states and symbols that are distinguished, where one worker cannot know that


def placing(reading: Reading) -> Step:
    """Rows of a source in, PLACED events out: shards are ranges of partitions, and each event names its partition."""
    assert reading.sent is not None  # a history has always the same
    groups = reading.sent.patterns().groups()

    def place(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in coding(reading, CODED)(batches):
            order, shard = _placed(batch, groups)
            columns = {name: batch.column(name) for name in batch.schema.names}
            columns |= {PARTITION: pa.array(order), SHARD: pa.array(shard)}
            yield pa.RecordBatch.from_pydict({name: columns[name] for name, _ in PLACED})

    return place


def _placed(batch: pa.RecordBatch, groups: tuple[PatternGroup, ...]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    keyed, keys = keys_of(batch.column(READ))
    order = np.zeros(batch.num_rows, np.int64)
    order[keyed] = partition_order(keys)
    # The upper half of the bits says where in the whole range a partition is.
    high = (order.view(np.uint64) ^ np.uint64(1 << 63)) >> np.uint64(32)
    shards = np.array([group.shards for group in groups], np.uint64)[batch.column(GROUP).to_numpy()]
    return order, np.where(keyed, high * shards >> np.uint64(32), 0).astype(np.int32)


def learning(lesson: Lesson) -> Step:
    """Coded events in, ordered by group, shard, partition, time and arrival; a model of each shard out."""

    def learn(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        learner: Learner | None = None
        for batch in batches:
            for begin, end in _runs(batch, (GROUP, SHARD)):
                some = batch.slice(begin, end - begin)
                place = int(some.column(GROUP)[0].as_py()), int(some.column(SHARD)[0].as_py())
                if learner is None or learner.place != place:
                    if learner is not None:
                        yield learner.learnt()
                    learner = Learner(lesson, place, ready(lesson.sent).matchers[place[0]])
                learner.see(some)
        if learner is not None:
            yield learner.learnt()

    return plainly(learn)


class Learner:
    """Learns from one shard, partition after partition."""

    def __init__(self, lesson: Lesson, place: tuple[int, int], ready: PatternMatcher) -> None:
        self.place = place
        self._ready, self._matcher = ready, ready.again(lateness=None)
        told = None if lesson.numbering is None else Model.from_bytes(lesson.numbering, _MOST_MOVES)
        self._trainer = Trainer(self._ready.patterns, lesson.settings, most=_MOST_MOVES, numbering=told)
        self._events = self._timed = self._shed = 0

    def see(self, events: pa.RecordBatch) -> None:
        """Learn from some events; the last partition may go on in the next ones, and all others end here."""
        batch, timed = batch_of(events, 0)
        batch = replace(batch, number=events.column(ARRIVAL).to_numpy(zero_copy_only=False))
        self._events += batch.size
        self._timed += int(timed.sum())
        last = _runs(events, (PARTITION,))[-1][0]
        if last:
            self._follow(batch.slice(0, last))
            self._shed += self._matcher.counts.shed
            self._matcher = self._ready.again(lateness=None)
        self._follow(batch.slice(last, batch.size))

    def _follow(self, batch: PatternBatch) -> None:
        # Whether events have times is asked of all of them together: here they may all be of one partition.
        self._matcher.follow(batch, np.ones(batch.size, np.bool_))
        self._trainer.see(self._matcher.finish().observations)

    def learnt(self) -> pa.RecordBatch:
        """The model and the counts of the shard, as one row."""
        shed = self._shed + self._matcher.counts.shed
        return _row(*self.place, self._trainer.model(), self._events, self._timed, shed)


def summing(shards: int) -> Callable[[pa.Table], pa.Table]:
    """A function that sums the models of so many neighbouring shards into one row."""

    def summed(rows: pa.Table) -> pa.Table:
        found = sorted(rows.to_pylist(), key=lambda row: int(row[SHARD]))
        first = found[0]
        total = Model.from_bytes(first[MODEL], _MOST_MOVES)
        for row in found[1:]:
            total += Model.from_bytes(row[MODEL], _MOST_MOVES)
        counts = (sum(row[name] for row in found) for name in (EVENTS, HAVE_TIME, SHED))
        return pa.Table.from_batches([_row(first[GROUP], first[SHARD] // shards, total, *counts)])

    return summed


def _row(group: int, shard: int, model: Model, *counts: int) -> pa.RecordBatch:
    values: tuple[Any, ...] = (group, shard, model.to_bytes(), *counts)
    return pa.RecordBatch.from_arrays(
        [pa.array([value], field.type) for value, field in zip(values, _SCHEMA, strict=True)], schema=_SCHEMA
    )


def _runs(batch: pa.RecordBatch, names: tuple[str, ...]) -> list[tuple[int, int]]:
    """Begin and end of the rows with the same values in these columns."""
    if not batch.num_rows:
        return []
    changes = np.zeros(batch.num_rows - 1, np.bool_)
    for name in names:
        values = batch.column(name).to_numpy()
        changes |= values[1:] != values[:-1]
    ends = [0, *(np.flatnonzero(changes) + 1).tolist(), batch.num_rows]
    return list(pairwise(ends))
