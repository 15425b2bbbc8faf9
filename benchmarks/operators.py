"""Filters that call operators: what planners save, on real places, aircraft and a model.

Planners take turns on the same flights, having learned from others. Beside them stands what is left if every outcome is
known in advance: reading events, the index, and joins.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.table import Table

from benchmarks import clock
from benchmarks.operator_workloads import SHIPPED, WORKLOADS, Flights
from benchmarks.tables import short, table
from vedette.filters.kernels.match_rows import events_of, joined
from vedette.filters.subscription_view import LiveSegment, SubscriptionView
from vedette.operators.bindings import Row
from vedette.operators.evaluation import Evaluation
from vedette.operators.event_sources import EventSource
from vedette.operators.matcher import OperatorMatcher
from vedette.operators.operator_plan import PLANNERS
from vedette.operators.operator_runner import OperatorRunner
from vedette.operators.registry import Operators

_LEARNERS = ("suborder", "adaptive")
Told = list[tuple[int, int, dict[str, Any] | None]]  # event, subscription, bindings


@dataclass(frozen=True)
class Sizes:
    """What is measured."""

    subscriptions: int
    events: int  # matched together
    turns: int

    @staticmethod
    def of(*, quick: bool) -> Sizes:
        """As many as take less than a minute, or some seconds."""
        return Sizes(200, 60, 1) if quick else Sizes(2_000, 250, 2)


@dataclass(frozen=True)
class OperatorRow:
    """One planner on one workload."""

    workload: str
    planner: str
    subscriptions: int
    events: int
    asked: float  # evaluations that the subscriptions of an event speak of, past the index
    made: float
    lookups: float  # of these
    matches: float
    us_per_event: float
    us_known: float  # if every outcome were known
    of_naive: float  # the naive planner takes so many times as long

    @property
    def of_known(self) -> float:
        """So many times as long as if every outcome were known."""
        return self.us_per_event / self.us_known


@dataclass
class OperatorFigures:
    """All that was measured of operators."""

    planners: list[OperatorRow] = field(default_factory=list)

    def tables(self) -> Iterable[Table]:
        """For a person."""
        yield table(
            "Operators: places, aircraft and a model, asked about flights; no caches",
            self.planners,
            _COLUMNS,
            lambda row: row.workload,
        )


_COLUMNS: dict[str, Callable[[OperatorRow], str]] = {
    "workload": lambda r: r.workload,
    "planner": lambda r: r.planner,
    "subscriptions": lambda r: f"{r.subscriptions:,}",
    "at a time": lambda r: f"{r.events:,}",
    "evaluations asked/event": lambda r: short(r.asked),
    "made/event": lambda r: short(r.made),
    "of these lookups": lambda r: short(r.lookups),
    "matches/event": lambda r: short(r.matches),
    "us/event": lambda r: short(r.us_per_event),
    "x naive": lambda r: short(r.of_naive),
    "all known us": lambda r: short(r.us_known),
    "x all known": lambda r: short(r.of_known),
}


class Known:
    """What every predicate of a matcher says of some events, if operators that answer the same are asked before."""

    def __init__(self, matcher: OperatorMatcher, events: pa.Table, operators: Operators) -> None:
        asked = matcher.plan.asked
        self._matcher, self._events = matcher, events
        self._view = SubscriptionView(matcher.schema, (LiveSegment(matcher.plan.segment),))
        self._predicates = [np.array(one.predicates, np.int64) for one in asked.alternatives]
        self._size = np.array([len(each) for each in self._predicates])
        self._first = np.cumsum(self._size) - self._size
        self._flat = np.concatenate(self._predicates)
        self.truth = np.zeros((len(events), len(asked.predicates)), np.bool_)
        self._rows: dict[tuple[int, int], Sequence[Row]] = {}
        self._source = EventSource(events, matcher.schema)
        with OperatorRunner() as runner:
            answers = [
                runner.run(Evaluation(operators[each.operator.name], each.inputs), self._source, np.arange(len(events)))
                for each in asked.evaluations
            ]
        for number, predicate in enumerate(asked.predicates):
            found = answers[predicate.evaluation]
            for event, truth in enumerate(found.truth.tolist()):
                rows = found.bindings[event] if found.bindings is not None else None if truth == 1 else []
                selected = predicate.selected(rows, partial(lambda event, path: self._source.value(path, event), event))
                self.truth[event, number] = predicate.holds(truth, selected)
                self._rows[event, number] = selected

    def matches(self) -> Told:
        """What matches, without asking any operator."""
        asked, place = self._matcher.plan.asked, self._matcher.plan.place
        rows = joined(self._view.match(self._view.encode(self._events, None), ordered=True))
        event, alternative = events_of(rows), rows.subscription
        told: Told = []
        for at in np.flatnonzero(self._all_hold(event, alternative)).tolist():
            number, here = int(alternative[at]), int(event[at])
            planned, bindings = asked.alternatives[number], None
            if planned.join is not None:
                parts = [self._rows[here, part] for part in planned.parts]
                found = planned.join.substitutions(
                    parts, partial(lambda here, path: self._source.value(path, here), here)
                )
                bindings = next(found, None)
                if bindings is None:
                    continue
            told.append((here, int(place[number]), bindings))
        return told

    def _all_hold(self, event: NDArray[np.int64], alternative: NDArray[np.int32]) -> NDArray[np.bool_]:
        if not len(event):
            return np.zeros(0, np.bool_)
        size = self._size[alternative]
        start = np.cumsum(size) - size
        entry = np.repeat(self._first[alternative] - start, size) + np.arange(size.sum())
        holds: NDArray[np.bool_] = np.logical_and.reduceat(self.truth[np.repeat(event, size), self._flat[entry]], start)
        return holds


class _Turn(NamedTuple):
    """One planner on some events."""

    told: Told
    seconds: float
    asked: int
    made: int
    lookups: int


def _timed(matcher: OperatorMatcher, events: pa.Table) -> _Turn:
    before = _counted(matcher)
    begin = clock.now()
    found = matcher.matches(events)
    took = clock.now() - begin
    told = list(zip(found.event.tolist(), found.subscription.tolist(), found.bindings, strict=True))
    return _Turn(told, took, *(now - then for now, then in zip(_counted(matcher), before, strict=True)))


def _counted(matcher: OperatorMatcher) -> tuple[int, int, int]:
    counts = matcher.counts
    return counts.asked, counts.made, counts.by_operator.get("lookup", 0)


def measure(
    flights: Flights, workload: str, sizes: Sizes, planners: Sequence[str] = tuple(PLANNERS)
) -> list[OperatorRow]:
    """All planners on one workload; ArithmeticError if they do not find the same."""
    events = sizes.events
    subscriptions = flights.subscriptions(sizes.subscriptions, workload)
    matchers = {name: OperatorMatcher(subscriptions, flights.operators(workload), planner=name) for name in planners}
    for name, matcher in matchers.items():  # it learns, if it can, and kernels are loaded
        matcher.matches(flights.events.slice(0, events if name in _LEARNERS else 10))
    quick = flights.operators(SHIPPED)
    turns: dict[str, list[_Turn]] = {name: [] for name in planners}
    known_s: list[float] = []
    for turn in range(1, sizes.turns + 1):
        some = flights.events.slice(turn * events, events)
        known = Known(matchers[planners[0]], some, quick)
        expected = known.matches()
        begin = clock.now()
        known.matches()
        known_s.append(clock.now() - begin)
        for name, matcher in matchers.items():
            turns[name].append(_timed(matcher, some))
            if turns[name][-1].told != expected:
                raise ArithmeticError(f"{workload}: the planner {name!r} finds other matches than there are")
    for matcher in matchers.values():
        matcher.close()
    per_event = 1e6 / events
    all_events = events * sizes.turns
    return [
        OperatorRow(
            workload,
            name,
            sizes.subscriptions,
            events,
            sum(each.asked for each in turns[name]) / all_events,
            sum(each.made for each in turns[name]) / all_events,
            sum(each.lookups for each in turns[name]) / all_events,
            sum(len(each.told) for each in turns[name]) / all_events,
            per_event * statistics.median(each.seconds for each in turns[name]),
            per_event * statistics.median(known_s),
            statistics.median(
                first.seconds / own.seconds for first, own in zip(turns[planners[0]], turns[name], strict=True)
            ),
        )
        for name in planners
    ]


def measure_operators(into: OperatorFigures, sizes: Sizes) -> None:
    """All workloads; their files are in a folder that goes away again."""
    with tempfile.TemporaryDirectory() as folder:
        flights = Flights.prepared(Path(folder))
        for workload in WORKLOADS:
            into.planners += measure(flights, workload, sizes)
