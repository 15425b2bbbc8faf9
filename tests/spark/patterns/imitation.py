"""A stream of Spark, without Spark: micro-batches, a watermark, timers, and state that a failed task does not change.

Everything else is what runs in Spark's workers: events are read into packets, and followed by the stateful operator.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, cast

import pandas as pd
import pyarrow as pa

from vedette.engine.engine import Engine
from vedette.engine.pattern_shards import PatternSet, ShardOptions
from vedette.engine.snapshot import SavedEngine
from vedette.engine.stream_matcher import StreamMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.operators.calling import Calling
from vedette.patterns.forecasts.model import Model
from vedette.patterns.witness_names import TIME
from vedette.spark.engines import Sent
from vedette.spark.patterns import streams
from vedette.spark.patterns.coded import AT, PACKET, PLACE, opened
from vedette.spark.patterns.coding import Reading, packing
from vedette.spark.readers import ID, TableReader, carried_as, sent_as
from vedette.spark.snapshots import ShippedSnapshot

Event = dict[str, Any]
Told = tuple[Any, ...]

TYPES = {
    TIME: pa.float64(),
    "kind": pa.string(),
    "u": pa.int32(),
    "v": pa.int32(),
    "f": pa.float64(),
    "s": pa.string(),
    "r": pa.string(),
}
_FOLDER = tempfile.TemporaryDirectory(prefix="vedette-tests-")  # of snapshots
_TOLD = ("subscription", "kind", "steps", "bindings", "probability", "within")


class Place(NamedTuple):
    """All that Spark keeps for one key."""

    values: dict[str, tuple[bytes]]
    timers: set[int]


class Value:
    """One value of the state of whatever key is being worked on."""

    def __init__(self, handle: Handle, name: str) -> None:
        self._handle, self._name = handle, name

    def get(self) -> tuple[bytes] | None:
        return self._handle.here.values.get(self._name)

    def update(self, value: tuple[bytes]) -> None:
        self._handle.here.values[self._name] = value

    def clear(self) -> None:
        self._handle.here.values.pop(self._name, None)


class Handle:
    """What the operator asks Spark for."""

    def __init__(self, state: dict[str, Place]) -> None:
        self.state, self.key = state, ""

    @property
    def here(self) -> Place:
        return self.state.setdefault(self.key, Place({}, set()))

    def getValueState(self, name: str, schema: str) -> Value:  # noqa: N802 - so it is called by Spark
        return Value(self, name)

    def registerTimer(self, moment: int) -> None:  # noqa: N802
        self.here.timers.add(moment)

    def deleteTimer(self, moment: int) -> None:  # noqa: N802
        self.here.timers.discard(moment)

    def listTimers(self) -> Iterator[int]:  # noqa: N802
        return iter(sorted(self.here.timers))


class Clock(NamedTuple):
    """What the operator asks Spark about time, and about a timer."""

    moment: int

    def getCurrentWatermarkInMs(self) -> int:  # noqa: N802
        return self.moment

    def getExpiryTimeInMs(self) -> int:  # noqa: N802
        return self.moment


class Query:
    """A stream that is followed by patterns, which may be others in every micro-batch."""

    def __init__(self, random: Random, lateness: int, types: Mapping[str, pa.DataType] = TYPES) -> None:
        self._random, self._types = random, types
        self._delay = 0 if lateness == 0 else -(-lateness // 1000) + 1  # as `follow_packets` has it
        self._latest = 0
        self.watermark = 0  # in milliseconds
        self.state: dict[str, Place] = {}
        self.told: list[tuple[int, dict[str, Any]]] = []  # what was told in which micro-batch
        self.watermarks: list[int] = []  # of each micro-batch
        streams._warm.clear()

    def micro_batch(self, events: Sequence[Event], patterns: PatternSet) -> None:
        """Events, then, if they moved the watermark, a micro-batch without any, as Spark begins one."""
        before = self.watermark
        self._run(events, patterns)
        self.watermark = max(self.watermark, self._latest - self._delay)
        if self.watermark > before and self._random.random() < 0.7:
            self._run([], patterns)

    @property
    def batches(self) -> int:
        """How many there have been."""
        return len(self.watermarks)

    def settle(self, patterns: PatternSet) -> None:
        """A micro-batch without events, so that nothing is held back that the watermark has passed."""
        self._run([], patterns)

    def end(self, patterns: PatternSet) -> None:
        """Something far in the future, so that nothing is held back any more."""
        self.watermark = 2**50
        self._run([], patterns)

    def _run(self, events: Sequence[Event], patterns: PatternSet) -> None:
        packets: dict[str, list[bytes]] = {}
        for batch in reading(patterns, list(self._types))(iter(self._batches(events))):
            for row in batch.to_pylist():
                packets.setdefault(row[PLACE], []).append(row[PACKET])
                if row[AT] is not None:
                    self._latest = max(self._latest, round(row[AT].timestamp() * 1_000_000) // 1000)
        if self._random.random() < 0.3:
            self._task(copy.deepcopy(self.state), packets, patterns)  # fails after all, and is run again
        if self._random.random() < 0.3:
            streams._warm.clear()  # the next task is another process's
        self.told += [(self.batches, row) for row in self._task(self.state, packets, patterns)]
        self.watermarks.append(self.watermark)

    def _task(
        self, state: dict[str, Place], packets: dict[str, list[bytes]], patterns: PatternSet
    ) -> Iterator[dict[str, Any]]:
        operator, handle, clock = streams.Following(sent(patterns), self._delay), Handle(state), Clock(self.watermark)
        operator.init(cast(Any, handle))
        found: list[pd.DataFrame] = []
        for key, values in packets.items():
            handle.key = key
            self._random.shuffle(values)  # a shuffle keeps no order
            frames = iter([pd.DataFrame({PACKET: pd.Series(values, dtype=object)})])
            found += operator.handleInputRows((key,), frames, cast(Any, clock))
        for key, place in list(state.items()):
            for moment in sorted(each for each in place.timers if each <= self.watermark):
                handle.key = key
                found += operator.handleExpiredTimer((key,), cast(Any, clock), cast(Any, Clock(moment)))
                place.timers.discard(moment)
        operator.close()
        return iter([row for frame in found for value in frame[PACKET] for row in opened(value).to_pylist()])

    def _batches(self, events: Sequence[Event]) -> list[pa.RecordBatch]:
        """The events of one partition of Spark, in the record batches that a worker gets."""
        batches, begin = [], 0
        while begin < len(events):
            end = min(len(events), begin + self._random.choice([1, 3, 1000]))
            batches.append(batch_of(events[begin:end], self._types))
            begin = end
        return batches


def reading(patterns: PatternSet, names: list[str]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What reads events in a worker: what they are called is kept of them."""
    return packing(Reading(partial(TableReader, tuple(names), 1), sent=sent(patterns), strict=True))


@lru_cache(maxsize=64)
def sent(patterns: PatternSet) -> Sent:
    """Patterns as workers get them: in a snapshot that they map."""
    model = None if patterns.model is None else Model.from_bytes(patterns.model)
    places = {id_: place for place, id_ in enumerate(patterns.ids)}
    nothing = SavedEngine(Subscriptions(patterns.schema).compile_filters()).without_filters()
    saved = replace(nothing, patterns=patterns.records, places=places, model=model)
    engine = Engine.restored(saved, Calling())
    folder = Path(_FOLDER.name) / f"{patterns.version}"
    engine.save(folder)
    options = ShardOptions(patterns.shards, patterns.cap, patterns.learn, patterns.since)
    return Sent(ShippedSnapshot(patterns.version, str(folder), None), options)


def batch_of(events: Sequence[Event], attributes: Mapping[str, pa.DataType]) -> pa.RecordBatch:
    """Events as a worker gets them."""
    columns = {sent_as(number): [event.get(name) for event in events] for number, name in enumerate(attributes)}
    types = {sent_as(number): type_ for number, type_ in enumerate(attributes.values())}
    columns |= {ID: [event.get("id") for event in events], carried_as(0): [event.get("name") for event in events]}
    types |= {ID: pa.string(), carried_as(0): pa.string()}
    return pa.RecordBatch.from_pydict(columns, pa.schema(list(types.items())))


def plain(row: dict[str, Any], event: str) -> Told:
    """A row that was told, so that it can be compared and sorted."""
    values = [row[name] for name in _TOLD]
    for place in (2, 3):
        values[place] = sorted(dict(values[place]).items()) if values[place] else []
    return (event, *("" if value is None else value for value in values))


def local(subscriptions: Subscriptions, events: Sequence[Event], model: Model | None = None) -> list[Told]:
    """What one process tells of the patterns, once all events are there."""
    stream = StreamMatcher(subscriptions, lateness=None, model=model, learn=False)
    told = pa.concat_tables([stream.process(list(events), ids=[event["id"] for event in events]), stream.finish()])
    return sorted(plain(row, row["event"]) for row in told.to_pylist())
