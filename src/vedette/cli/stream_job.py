"""Matching a file where some subscriptions are patterns: filters and patterns side by side, told in one order.

What is found is held until the end: a pattern completes when its events have been put in the order of their time, and
rows are written in the order in which events stand in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.cli.job import Output
from vedette.composite.matcher import Outcome, PatternMatcher
from vedette.composite.telling import Telling
from vedette.files.chunks import EventChunk, RejectedEvent
from vedette.files.matched import ChunkMatcher, MatchedSlice
from vedette.files.notices import MATCH, PREDICTION, Notice, Notices
from vedette.files.output import RejectWriter
from vedette.kernels.rows import events_of
from vedette.matching.subscriptions import Subscriptions
from vedette.operators.calling import Calling
from vedette.operators.sources import EventSource, Shared
from vedette.prediction.forecast import Forecaster
from vedette.prediction.model import Model
from vedette.schema.encode import Reject


@dataclass(slots=True)
class _Found:
    """Rows in the order in which they were found."""

    numbers: list[NDArray[np.int64]] = field(default_factory=list)  # of events, in the order of arrival
    places: list[NDArray[np.int64]] = field(default_factory=list)  # of subscriptions, in the order of addition
    ids: list[Any] = field(default_factory=list)  # of the events, Arrow arrays
    # Of patterns, and of filters with variables: number, place, id, the rest.
    told: list[tuple[int, int, str, Notice]] = field(default_factory=list)


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
    ) -> None:
        self._ids = list(subscriptions)
        self._filters = filters
        self._late = late
        records = list(subscriptions.patterns.values())
        self.matcher = PatternMatcher(records, subscriptions.schema, lateness=lateness, cap=cap, calling=calling)
        self._forecaster = None if all(each.predict is None for each in records) else Forecaster(records, model)
        if self._forecaster is not None:
            self.matcher.expect(self._forecaster.expected())
        self._telling = Telling(self.matcher.patterns)
        place_of = {id_: place for place, id_ in enumerate(self._ids)}
        self._pattern_places = {number: place_of[each.id] for number, each in self.matcher.patterns.items()}
        is_filter = np.array([id_ not in subscriptions.patterns for id_ in self._ids], np.bool_)
        self._filter_places = np.flatnonzero(is_filter)
        self._calls_twice = bool(subscriptions.with_operators) and self.matcher.operators is not None
        self._arrived = 0
        self._found = _Found()

    def match(self, chunks: Iterator[EventChunk], progress: Any, output: Output) -> Iterator[float | None]:
        """Match all events and tell what was found; says from time to time how much of the source is done."""
        for chunk in chunks:
            self._take(chunk, output)
            yield progress()
        self._hear(self.matcher.finish())
        self._tell(output)
        yield progress()

    # ------------------------------------------------------------ one chunk

    def _take(self, chunk: EventChunk, output: Output) -> None:
        ids = chunk.ids
        rejected: set[int] = set()
        matched: list[MatchedSlice] = []
        shared = Shared(chunk.rows, {}) if self._calls_twice else None
        for found in self._filters.match(chunk, shared):
            output.count(found.read, len(found.rejects), found.rejects)
            rejected.update(reject.row for reject in found.rejects)
            matched.append(found)
        fine = chunk.without(rejected)
        numbers = self._arrived + np.searchsorted(fine.rows, chunk.rows)
        for found in matched:
            self._keep_filters(found, ids, numbers)
        self._follow(fine, output, shared and shared._replace(numbers=fine.rows))

    def _keep_filters(self, found: MatchedSlice, ids: Any, numbers: NDArray[np.int64]) -> None:
        """What filters found; ids and numbers are those of the chunk's events."""
        events = events_of(found.rows, found.begin).astype(np.int64)
        places = self._filter_places[found.rows.subscription]
        plain = np.ones(len(events), np.bool_)
        if found.notices is not None:
            plain[found.notices.rows] = False
            for row, notice in zip(found.notices.rows.tolist(), found.notices.notices, strict=True):
                event = int(events[row])
                self._found.told.append((int(numbers[event]), int(places[row]), ids[event].as_py(), notice))
        self._found.numbers.append(numbers[events[plain]])
        self._found.places.append(places[plain])
        self._found.ids.append(ids.take(pa.array(events[plain])))

    def _follow(self, chunk: EventChunk, output: Output, shared: Shared | None) -> None:
        """Let patterns see the events; what only they cannot read is rejected for them alone."""
        rejects: list[Reject] = []
        source = None
        if self.matcher.operators is not None:
            source = EventSource(chunk.events, self.matcher.schema, chunk.ids, shared)
        self._telling.keep(self._arrived, chunk.ids.to_pylist(), chunk.events)
        outcome = self.matcher.process(chunk.events, ids=chunk.own_ids.to_pylist(), rejects=rejects, source=source)
        output.count(0, len(rejects), chunk.rejected(rejects))
        if self._late is not None:
            self._late.write(_late_events(chunk, outcome.late - self._arrived))
        self._arrived += len(chunk)
        self._hear(outcome)
        if self._telling.crowded:
            self._telling.forget(self.matcher.remembered())

    # ------------------------------------------------------------ what was found

    def _hear(self, outcome: Outcome) -> None:
        matches = outcome.matches
        for row, (number, pattern) in enumerate(zip(matches.event.tolist(), matches.pattern.tolist(), strict=True)):
            self._keep(MATCH, number, pattern, matches.witness.of(row))
        if self._forecaster is None:
            return
        made = self._forecaster.process(outcome.observations)
        self.matcher.expect(self._forecaster.expected())
        for row in range(len(made)):
            about = round(float(made.probability[row]), 6), int(made.within[row])
            self._keep(PREDICTION, int(made.event[row]), int(made.pattern[row]), made.witness.of(row), *about)

    def _keep(
        self,
        kind: str,
        number: int,
        pattern: int,
        witness: Sequence[tuple[int, int]],
        probability: float | None = None,
        within: int | None = None,
    ) -> None:
        steps, bindings = self._telling.steps(pattern, witness), self._telling.bindings(pattern, witness)
        notice = Notice(kind, steps, bindings, probability, within)
        self._found.told.append((number, self._pattern_places[pattern], self._telling.id(number), notice))

    def _tell(self, output: Output) -> None:
        """By event, then by subscription; of one pattern matches come before predictions."""
        found = self._found
        told = sorted(found.told, key=lambda one: (one[0], one[1], one[3].kind))
        none = np.zeros(0, np.int64)
        numbers = np.concatenate([none, *found.numbers, np.array([one[0] for one in told], np.int64)])
        places = np.concatenate([none, *found.places, np.array([one[1] for one in told], np.int64)])
        ids = pa.chunked_array([*found.ids, pa.array([one[2] for one in told], pa.string())], pa.string())
        order = np.lexsort((np.arange(len(numbers)), places, numbers))
        is_told = order >= len(numbers) - len(told)
        output.tell(
            ids.combine_chunks().take(pa.array(order)),
            pa.DictionaryArray.from_arrays(pa.array(places[order].astype(np.int32)), pa.array(self._ids, pa.string())),
            Notices(np.flatnonzero(is_told), [one[3] for one in told]),
        )


def _late_events(chunk: EventChunk, places: NDArray[np.int64]) -> Iterator[RejectedEvent]:
    for place in places.tolist():
        line = None if chunk.lines is None else int(chunk.lines[place])
        yield RejectedEvent(int(chunk.rows[place]), line, "too late for patterns", chunk.raw(place))
