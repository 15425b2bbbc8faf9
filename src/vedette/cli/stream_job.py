"""Matching a file where some subscriptions are patterns: filters and patterns side by side, told to one who hears.

Whoever writes rows holds them until the end: a pattern completes when its events have been put in the order of their
time, and rows are written in the order in which events stand in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.cli.job import Counted, Output
from vedette.composite.matcher import Counts, Outcome, PatternMatcher
from vedette.composite.outputs import PatternMatches
from vedette.composite.telling import Telling
from vedette.files.chunks import EventChunk, RejectedEvent
from vedette.files.matched import ChunkMatcher, MatchedSlice
from vedette.files.notices import MATCH, PREDICTION, Notice, Notices
from vedette.files.output import RejectWriter
from vedette.kernels.rows import events_of
from vedette.matching.subscriptions import Subscriptions
from vedette.operators.calling import Calling
from vedette.operators.sources import EventSource, Shared
from vedette.prediction.forecast import Forecaster, Predictions
from vedette.prediction.held_out import HeldOut
from vedette.prediction.model import Model
from vedette.schema.encode import Reject


class Found(NamedTuple):
    """Rows that were found: of each the number of its event, in the order of arrival, and its subscription's place."""

    numbers: NDArray[np.int64]
    places: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.numbers)


class Hearer(Protocol):
    """Hears what is found, as it is found."""

    def arrive(self, first: int, chunk: EventChunk) -> None:
        """These events may be spoken of from now on; they are numbered from `first`."""

    def filters(self, found: Found, ids: Any, notices: Notices | None) -> None:
        """Matches of filters; ids of their events, as an Arrow array."""

    def patterns(self, kind: str, found: Found, said: Callable[[int], tuple[str, Notice]]) -> None:
        """Matches or predictions of patterns; `said` gives the event's id and all else, by the place of a row."""

    def forget(self, but: NDArray[np.int64]) -> None:
        """Only these events, and those that are still to come, may be spoken of from now on."""

    def finish(self) -> None:
        """Nothing more will be found."""


class StreamJob:
    """Takes chunks of events in the order of their arrival."""

    def __init__(
        self,
        subscriptions: Subscriptions,
        filters: ChunkMatcher,
        *,
        lateness: int | None,
        cap: int,
        model: Model | None,
        late: RejectWriter | None,
        calling: Calling | None = None,
        train_until: int | None = None,
    ) -> None:
        self._filters = filters
        self._late = late
        records = list(subscriptions.patterns.values())
        self.matcher = PatternMatcher(records, subscriptions.schema, lateness=lateness, cap=cap, calling=calling)
        self.forecaster: Forecaster | HeldOut | None = None
        if any(each.predict is not None for each in records):
            self.forecaster = Forecaster(records, model) if train_until is None else HeldOut(records, train_until)
            self.matcher.expect(self.forecaster.expected())
        self._telling = Telling(self.matcher.patterns)
        place_of = {id_: place for place, id_ in enumerate(subscriptions)}
        self._pattern_places = {number: place_of[each.id] for number, each in self.matcher.patterns.items()}
        is_filter = np.array([id_ not in subscriptions.patterns for id_ in subscriptions], np.bool_)
        self._filter_places = np.flatnonzero(is_filter)
        self._calls_twice = bool(subscriptions.with_operators) and self.matcher.operators is not None
        self._arrived = 0

    @property
    def counts(self) -> Counts:
        """Events that did not count for patterns, and partial matches that were given up."""
        return self.matcher.counts

    @property
    def learnt(self) -> int | None:
        """Rows that forecasts have learnt from, where they learn only up to a moment."""
        return self.forecaster.learnt if isinstance(self.forecaster, HeldOut) else None

    def match(
        self, chunks: Iterator[EventChunk], progress: Any, counted: Counted, hearer: Hearer
    ) -> Iterator[float | None]:
        """Match all events and tell what was found; says from time to time how much of the source is done."""
        for chunk in chunks:
            self._take(chunk, counted, hearer)
            yield progress()
        self._tell(self.matcher.finish(), hearer)
        hearer.finish()
        yield progress()

    # ------------------------------------------------------------ one chunk

    def _take(self, chunk: EventChunk, counted: Counted, hearer: Hearer) -> None:
        ids = chunk.ids
        rejects: list[RejectedEvent] = []
        matched: list[MatchedSlice] = []
        shared = Shared(chunk.rows, {}) if self._calls_twice else None
        for found in self._filters.match(chunk, shared):
            counted.count(found.read, 0, ())
            rejects += found.rejects
            matched.append(found)
        fine = chunk.without({reject.row for reject in rejects})
        hearer.arrive(self._arrived, fine)
        numbers = self._arrived + np.searchsorted(fine.rows, chunk.rows)
        for found in matched:
            events = events_of(found.rows, found.begin).astype(np.int64)
            rows = Found(numbers[events], self._filter_places[found.rows.subscription])
            hearer.filters(rows, ids.take(pa.array(events)), found.notices)
        rejects += self._follow(fine, shared and shared._replace(numbers=fine.rows), hearer)
        rejects.sort(key=lambda reject: reject.row)
        counted.count(0, len(rejects), rejects)

    def _follow(self, chunk: EventChunk, shared: Shared | None, hearer: Hearer) -> list[RejectedEvent]:
        """Let patterns see the events; what only they cannot read is rejected for them alone."""
        rejects: list[Reject] = []
        source = None
        if self.matcher.operators is not None:
            source = EventSource(chunk.events, self.matcher.schema, chunk.ids, shared)
        self._telling.keep(self._arrived, chunk.ids.to_pylist(), chunk.events)
        outcome = self.matcher.process(chunk.events, ids=chunk.own_ids.to_pylist(), rejects=rejects, source=source)
        if self._late is not None:
            self._late.write(_late_events(chunk, outcome.late - self._arrived))
        self._arrived += len(chunk)
        self._tell(outcome, hearer)
        if self._telling.crowded:
            remembered = self.matcher.remembered()
            self._telling.forget(remembered)
            hearer.forget(remembered)
        return chunk.rejected(rejects)

    # ------------------------------------------------------------ what was found

    def _tell(self, outcome: Outcome, hearer: Hearer) -> None:
        matches = outcome.matches
        hearer.patterns(MATCH, self._rows(matches.event, matches.pattern), lambda row: self._said(matches, row))
        if self.forecaster is not None:
            made = self.forecaster.process(outcome.observations)
            self.matcher.expect(self.forecaster.expected())
            hearer.patterns(PREDICTION, self._rows(made.event, made.pattern), lambda row: self._said(made, row))

    def _rows(self, events: NDArray[np.int64], patterns: NDArray[Any]) -> Found:
        return Found(events, np.array([self._pattern_places[number] for number in patterns.tolist()], np.int64))

    def _said(self, told: PatternMatches | Predictions, row: int) -> tuple[str, Notice]:
        pattern, witness = int(told.pattern[row]), told.witness.of(row)
        steps, bindings = self._telling.steps(pattern, witness), self._telling.bindings(pattern, witness)
        notice = Notice(MATCH, steps, bindings)
        if isinstance(told, Predictions):
            probability, within = round(float(told.probability[row]), 6), int(told.within[row])
            notice = Notice(PREDICTION, steps, bindings, probability, within)
        return self._telling.id(int(told.event[row])), notice


class Held:
    """Holds all that is found, and tells it by event, then by subscription; matches of a pattern before predictions."""

    def __init__(self, subscriptions: Sequence[str], output: Output) -> None:
        self._subscriptions, self._output = list(subscriptions), output
        self._plain: list[Found] = []
        self._ids: list[Any] = []  # of the events of these, Arrow arrays
        # Of patterns, and of filters with variables: number, place, id, the rest.
        self._told: list[tuple[int, int, str, Notice]] = []

    def arrive(self, first: int, chunk: EventChunk) -> None:
        """Nothing more is to be known of events than what is told of them."""

    def filters(self, found: Found, ids: Any, notices: Notices | None) -> None:
        """Keep matches of filters, with all that is said of them."""
        plain = np.ones(len(found), np.bool_)
        if notices is not None:
            plain[notices.rows] = False
            for row, notice in zip(notices.rows.tolist(), notices.notices, strict=True):
                self._told.append((int(found.numbers[row]), int(found.places[row]), ids[row].as_py(), notice))
        self._plain.append(Found(found.numbers[plain], found.places[plain]))
        self._ids.append(ids if notices is None else ids.filter(pa.array(plain)))

    def patterns(self, kind: str, found: Found, said: Callable[[int], tuple[str, Notice]]) -> None:
        """Keep matches or predictions, with all that is said of them."""
        for row, (number, place) in enumerate(zip(found.numbers.tolist(), found.places.tolist(), strict=True)):
            self._told.append((number, place, *said(row)))

    def told(self, number: int, place: int, id_: str, notice: Notice) -> None:
        """Keep one match or prediction."""
        self._told.append((number, place, id_, notice))

    def forget(self, but: NDArray[np.int64]) -> None:
        """Nothing is kept of events alone."""

    def finish(self) -> None:
        """Tell everything."""
        told = sorted(self._told, key=lambda one: (one[0], one[1], one[3].kind))
        none = np.zeros(0, np.int64)
        numbers = np.concatenate([none, *(one.numbers for one in self._plain), np.array([one[0] for one in told], int)])
        places = np.concatenate([none, *(one.places for one in self._plain), np.array([one[1] for one in told], int)])
        ids = pa.chunked_array([*self._ids, pa.array([one[2] for one in told], pa.string())], pa.string())
        order = np.lexsort((np.arange(len(numbers)), places, numbers))
        is_told = order >= len(numbers) - len(told)
        subscriptions = pa.array(self._subscriptions, pa.string())
        self._output.tell(
            ids.combine_chunks().take(pa.array(order)),
            pa.DictionaryArray.from_arrays(pa.array(places[order].astype(np.int32)), subscriptions),
            Notices(np.flatnonzero(is_told), [one[3] for one in told]),
        )


def _late_events(chunk: EventChunk, places: NDArray[np.int64]) -> Iterator[RejectedEvent]:
    for place in places.tolist():
        line = None if chunk.lines is None else int(chunk.lines[place])
        yield RejectedEvent(int(chunk.rows[place]), line, "too late for patterns", chunk.raw(place))
