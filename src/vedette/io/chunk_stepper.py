"""Process chunks of events with the engine, slice by slice, with bounded memory; used by every host."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.engine.engine import Engine
from vedette.engine.outcomes import Outcomes
from vedette.engine.slicing import FIRST, Slicer, part_of
from vedette.engine.state import StreamOptions, StreamState
from vedette.engine.step import EventBatch, StepResult, step
from vedette.io.chunks import EventChunk, RejectedRow
from vedette.schema.columns import Column
from vedette.schema.encode import Reject
from vedette.schema.schema import Schema

_NONE: Final = np.zeros(0, np.int64)


def promised_columns(given: Schema | None) -> tuple[Column, ...]:
    """The columns that a given schema promises of every event, whoever subscribes."""
    return () if given is None else tuple(Column(path, given[path]) for path in given if not path.endswith(".*"))


def columns_read(engine: Engine, terms: StreamOptions) -> tuple[Column, ...]:
    """The columns that subscriptions read of every event, and the promised ones."""
    return tuple(dict.fromkeys((*engine.columns, *terms.promised, *engine.pattern_columns)))


class SliceOutcome(NamedTuple):
    """The outcome of some events of a chunk, with the rejected rows around them."""

    begin: int  # the first event's place in its chunk
    size: int  # events
    outcomes: Outcomes  # those of patterns may be of earlier events
    first: int  # the number in the stream of the first event
    rejects: list[RejectedRow]  # of the reader and of the schema, in the order of rows
    read: int  # rows, good and bad
    late: NDArray[np.int64]  # places in the chunk of events that came too late for patterns
    rejected: NDArray[np.int64] = _NONE  # places in the chunk of events that break the schema, and match nothing

    def events(self) -> NDArray[np.int64]:
        """The place in the chunk of each outcome's event, if it is of this chunk."""
        return self.outcomes.event - self.first + self.begin


class ChunkStepper:
    """Processes chunk after chunk of one stream, in slices whose size adapts to their matches."""

    def __init__(
        self, engine: Engine, terms: StreamOptions | None = None, *, threads: int = 1, first: int = FIRST
    ) -> None:
        self.engine = engine
        self.state: StreamState = engine.begin(terms)
        self._threads = threads
        self._slicer = Slicer(first)

    def warm_up(self, chunk: EventChunk) -> float:
        """Match the first few events without effect, to compile and load everything; return their matches per event.

        Operators are not called: they may be expensive, and their calls are counted.
        """
        events = part_of(chunk.events, 0, min(self._slicer.size, len(chunk)))
        if not len(events):
            return 0.0
        encoded = self.engine.encode(events, rejects=[], promised=self.state.terms.promised)
        self._slicer.expect(self.engine.undecided(encoded) / len(events))
        found = len(self.engine.filters.match_rows(encoded, threads=self._threads).subscription)
        self.engine.count_anew()
        return found / len(events)

    def step(self, chunk: EventChunk) -> Iterator[SliceOutcome]:
        """Process a chunk in slices, in the order of the events, at least one."""
        size, seen = len(chunk), 0
        ids, names = chunk.own_ids, chunk.ids
        if not size:
            read = chunk.rejects
            yield SliceOutcome(0, 0, self._happen(EventBatch()).outcomes, self.state.events, read, len(read), _NONE)
        for begin, events in self._slicer.cut(chunk.events):
            count, first = len(events), self.state.events
            broken: list[Reject] = []
            batch = EventBatch(events, ids.slice(begin, count), names.slice(begin, count))
            stepped = self._happen(batch, broken)
            self._slicer.learn(count, len(stepped.outcomes))
            upto = len(chunk.rejects)
            if begin + count < size:
                upto = bisect_left(chunk.rejects, int(chunk.rows[begin + count]), key=lambda reject: reject.row)
            rejects, read_here = chunk.rejects[seen:upto], count + upto - seen
            if broken:
                rejects = rejects + chunk.rejected(replace(one, row=one.row + begin) for one in broken)
                rejects.sort(key=lambda reject: reject.row)
            late, broke = stepped.late - first + begin, stepped.rejected - first + begin
            yield SliceOutcome(begin, count, stepped.outcomes, first, rejects, read_here, late, broke)
            self.state.forget()
            seen = upto

    def finish(self) -> Outcomes:
        """Process the events that patterns still hold back."""
        return self._happen(EventBatch(last=True)).outcomes

    def _happen(self, batch: EventBatch, rejects: list[Reject] | None = None) -> StepResult:
        stepped = step(self.engine, self.state, batch, in_place=True, rejects=rejects, threads=self._threads)
        self.state = stepped.state
        return stepped


class OutcomeOrder:
    """Passes outcomes on in the order of the events: holds them while earlier events may still have some."""

    def __init__(self, tell: Callable[[Outcomes], None]) -> None:
        self._tell = tell
        self._held: list[Outcomes] = []

    def take(self, outcomes: Outcomes, *, waiting: bool) -> None:
        """Add a step's outcomes; `waiting` says whether a later step may have some of the same or earlier events."""
        if waiting or self._held:
            if len(outcomes):
                self._held.append(outcomes.settled())
            if waiting or not self._held:
                return
            outcomes = Outcomes.joined(self._held)
            self._held = []
        self._tell(outcomes)
