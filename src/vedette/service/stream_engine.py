"""The service's host of the engine: the subscriptions of one stream, and the step that matches batches of its journal.

It decodes what the journal has numbered, calls the step, and hands its outcomes on as columns. The kind of a
subscription does not matter here. One thread at a time uses an engine.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.engine import step
from vedette.engine.live import LiveEngine, LiveStream
from vedette.engine.outcomes import KINDS, OutcomeDetail, Outcomes, detail_fields
from vedette.engine.subscriptions import Subscriptions
from vedette.filters.subscription_records import Predict
from vedette.operators.registry import Operators
from vedette.patterns.machine_pictures import MachineProgress
from vedette.schema.encode import Reject
from vedette.schema.schema import Schema


class EngineSubscription(NamedTuple):
    """A subscription as the engine knows it."""

    id: str
    when: str
    predict: Predict | None = None


@dataclass(frozen=True, slots=True)
class JournalBatch:
    """Events of one stream in the order in which they were accepted."""

    numbers: Sequence[int]
    ids: Sequence[str]
    events: Sequence[Mapping[str, Any]]
    received: Sequence[int]  # when each was accepted
    tenants: Sequence[str] = ()  # who published each, where that matters
    damaged: Mapping[int, str] = field(default_factory=dict)  # numbers of events that cannot be read, and why

    def __len__(self) -> int:
        return len(self.numbers)

    def part(self, begin: int, end: int) -> JournalBatch:
        """The events from one position up to another."""
        return self._each(lambda column: column[begin:end])

    def only(self, places: Sequence[int]) -> JournalBatch:
        """The events at some positions."""
        return self._each(lambda column: [column[place] for place in places] if column else ())

    def _each(self, of: Callable[[Sequence[Any]], Sequence[Any]]) -> JournalBatch:
        numbers, ids, tenants = of(self.numbers), of(self.ids), of(self.tenants)
        return JournalBatch(numbers, ids, of(self.events), of(self.received), tenants, self.damaged)


class Notice(NamedTuple):
    """One outcome: a subscription and an event."""

    event: int  # its number
    subscription: str
    kind: str = "match"  # or prediction
    steps: Mapping[str, str] | None = None  # name of a step -> id of the event that took it
    bindings: Mapping[str, str] | None = None
    probability: float | None = None
    within: int | None = None


@dataclass(frozen=True, slots=True)
class Notices:
    """Outcomes as columns: row `i` is of the event with number `event[i]` and the subscription `ids[place[i]]`.

    Rows are ordered by event, then by subscription. `details` has more of some rows; steps are named by the ids of
    their events.
    """

    ids: pa.LargeStringArray
    event: NDArray[np.int64]
    place: NDArray[np.int64]
    kind: NDArray[np.int8]  # by its number in `KINDS`
    details: Mapping[int, OutcomeDetail] = field(default_factory=dict)  # by row

    def __len__(self) -> int:
        return len(self.event)

    def subscriptions(self) -> dict[int, str]:
        """The ids of the subscriptions that have outcomes, by place."""
        places = np.unique(self.place)
        return dict(zip(places.tolist(), self.ids.take(pa.array(places)).to_pylist(), strict=True))

    def counts(self) -> dict[str, int]:
        """Number of outcomes, by subscription."""
        places, counts = np.unique(self.place, return_counts=True)
        return dict(zip(self.ids.take(pa.array(places)).to_pylist(), counts.tolist(), strict=True))

    def only(self, which: NDArray[np.bool_]) -> Notices:
        """The rows where `which` is true."""
        if which.all():
            return self
        rows = np.flatnonzero(which)
        place = {row: new for new, row in enumerate(rows.tolist())} if self.details else {}
        details = {place[row]: detail for row, detail in self.details.items() if row in place}
        return Notices(self.ids, self.event[rows], self.place[rows], self.kind[rows], details)

    def at(self, row: int) -> Notices:
        """One row, as columns."""
        one = slice(row, row + 1)
        details = {0: self.details[row]} if row in self.details else {}
        return Notices(self.ids, self.event[one], self.place[one], self.kind[one], details)

    def __iter__(self) -> Iterator[Notice]:
        """Row by row, for code that handles a few."""
        names = self.subscriptions()
        columns = zip(self.event.tolist(), self.place.tolist(), self.kind.tolist(), strict=True)
        for row, (event, place, kind) in enumerate(columns):
            detail = self.details.get(row)
            if detail is None:
                yield Notice(event, names[place], KINDS[kind])
            else:
                said = detail.steps or None, detail.bindings or None, detail.probability, detail.within
                yield Notice(event, names[place], KINDS[kind], *said)


class StreamEngine:
    """The subscriptions of a stream, which change, and the matching of its events."""

    def __init__(
        self, schema: Schema, *, operators: Operators | None = None, lateness: dt.timedelta = dt.timedelta(0)
    ) -> None:
        self.schema = schema
        self._lateness = lateness
        self._live: LiveEngine = Subscriptions(schema).live(operators=operators)
        self._stream: LiveStream | None = None
        self._restored: bytes | None = None
        self._knowing = True  # what operators cost is in what is restored, and nowhere else

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._live

    def __iter__(self) -> Iterator[str]:
        """The ids of the subscriptions, in the order of addition."""
        return iter(self._live)

    @property
    def has_state(self) -> bool:
        """Whether earlier events may matter to later ones."""
        return self._live.has_state

    # ------------------------------------------------------------ changes

    def add_many(self, some: Iterable[EngineSubscription]) -> list[tuple[str, Exception]]:
        """Add subscriptions from the next event on; returns those that cannot be added, and why."""
        left = [list(some)]
        refused: list[tuple[str, Exception]] = []
        while left:
            part = left.pop()
            try:
                self.take(part)
            except Exception as error:
                if len(part) == 1:
                    refused.append((part[0].id, error))
                else:
                    half = len(part) // 2
                    left += [part[half:], part[:half]]
        return refused

    def take(self, some: Sequence[EngineSubscription]) -> None:
        """Add subscriptions from the next event on: all of them, or an error and none."""
        if len(some) == 1:
            self._live.add(some[0].id, some[0].when, predict=some[0].predict)
        elif some:
            self._live.add_many([one._asdict() for one in some])

    def remove_many(self, ids: Iterable[str]) -> None:
        """Remove subscriptions; UnknownSubscription if one of them does not exist."""
        self._live.remove_many(ids)

    # ------------------------------------------------------------ events

    def match(self, batch: JournalBatch, rejects: list[Reject] | None = None) -> Notices:
        """Outcomes of a batch; events that cannot be read go to `rejects`, and match nothing that reads them."""
        stream = self._followed()
        first = stream.events
        names = [f"{number} {id_}" for number, id_ in zip(batch.numbers, batch.ids, strict=True)]
        given = step.EventBatch(list(batch.events), names=names, received=batch.received)
        outcomes = stream.step(given, rejects=[] if rejects is None else rejects)
        details = {row: _by_id(detail) for row, detail in outcomes.details()}
        found = Notices(outcomes.ids, _numbers(outcomes, first, batch.numbers), outcomes.place, outcomes.kind, details)
        stream.forget()
        return found

    def _followed(self) -> LiveStream:
        if self._stream is None:
            if self._restored is not None:
                self._stream = self._live.resume(self._restored, knowing=self._knowing)
            else:
                self._stream = self._live.stream(lateness=self._lateness)
            self._restored, self._knowing = None, False
        return self._stream

    # ------------------------------------------------------------ kept

    def to_bytes(self) -> bytes | None:
        """The state of patterns and forecasts; None if there is none."""
        if self._stream is None:
            return self._restored
        return self._stream.to_bytes() if self.has_state else None

    def restore(self, state: bytes | None) -> None:
        """Replace the state, by that of another engine or of an earlier time; later events are forgotten."""
        self._stream, self._restored = None, state

    def progress(self, id_: str) -> MachineProgress:
        """The machine of a pattern with its partial matches now; UnknownSubscription if it does not exist."""
        return self._followed().progress(id_)

    def close(self) -> None:
        """End what operators left running."""
        self._live.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def _numbers(outcomes: Outcomes, first: int, numbers: Sequence[int]) -> NDArray[np.int64]:
    """Journal numbers of the outcomes' events; `numbers` begin with event `first` of the stream."""
    event = outcomes.event - first
    earlier = event < 0
    found: NDArray[np.int64] = np.array(numbers, np.int64)[np.where(earlier, 0, event)]
    if earlier.any():  # patterns waited for late events, and match events of earlier batches
        distinct, which = np.unique(outcomes.event[earlier], return_inverse=True)
        known = [int(str(outcomes.called(number)).partition(" ")[0]) for number in distinct.tolist()]
        found[earlier] = np.array(known, np.int64)[which]
    return found


def _by_id(detail: OutcomeDetail) -> OutcomeDetail:
    """The details of a row, with events by their ids, without the number in their names, and values as texts."""
    steps = {name: str(taken).partition(" ")[2] for name, taken in detail.steps.items()}
    bindings = detail_fields(detail)["bindings"] if detail.bindings else {}
    return OutcomeDetail(detail.kind, steps, bindings, detail.probability, detail.within)
