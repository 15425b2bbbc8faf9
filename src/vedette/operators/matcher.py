"""Filters, with and without operators, over single events: what people hold in their hands."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.errors import InputError
from vedette.filters.index import DEFAULT as DEFAULT_INDEX
from vedette.filters.kernels.match_rows import MatchRows, events_of, joined
from vedette.filters.origins import NO_ORIGIN
from vedette.filters.subscription_set import SubscriptionSet
from vedette.filters.subscription_view import Events, LiveSegment, SubscriptionView
from vedette.operators.evaluation_rounds import EvaluationCounts, EvaluationRecord, EvaluationRounds
from vedette.operators.event_sources import EventSource
from vedette.operators.failures import FailureKind
from vedette.operators.operator_plan import DEFAULT, BestMatches, Plan, planner_number
from vedette.operators.operator_runner import OperatorRunner
from vedette.operators.registry import Operators
from vedette.operators.statistics import Statistics, StatisticsView
from vedette.operators.values import as_text
from vedette.schema.columns import Column
from vedette.schema.encode import EncodedEvents, Reject, check_event
from vedette.schema.schema import Schema


class OperatorMatches(NamedTuple):
    """Match i: event number `event[i]`, the subscription at `subscription[i]` among all ids, and its bindings.

    By event, then by the order of addition; bindings are None where the subscription has no variables.
    """

    event: NDArray[np.int64]
    subscription: NDArray[np.int64]
    bindings: list[dict[str, Any] | None]


class OperatorTrace(NamedTuple):
    """One event: which alternatives passed the index, what was evaluated in order, and what matches, by place."""

    source: EventSource
    passed: frozenset[int]
    made: list[EvaluationRecord]
    counts: EvaluationCounts
    found: dict[int, dict[str, Any] | None]


class OperatorMatcher:
    """Matches events against filters, some of which call operators: cheap tests first, then as few calls as it can.

    It learns how often predicates hold and what evaluations cost. Any number of threads may use it; operators are
    called for one batch at a time, and events that no filter with operators may match do not wait for that. Several of
    them may share what is counted, and who calls operators.
    """

    def __init__(
        self,
        subscriptions: SubscriptionSet,
        operators: Operators | None = None,
        *,
        planner: str = DEFAULT,
        statistics: Statistics | None = None,
        learn: bool = True,
        index: str = DEFAULT_INDEX,
        sample: Events | None = None,
        counts: EvaluationCounts | None = None,
        runner: OperatorRunner | None = None,
    ) -> None:
        if not isinstance(subscriptions, SubscriptionSet):
            raise InputError(
                f"a {type(subscriptions).__name__} is no set of subscriptions\nHint: make one: vedette.Subscriptions()"
            )
        plain = subscriptions.compile_filters(index, sample=sample)
        records = list(subscriptions.with_operators.values())
        number = planner_number(planner)
        self.ids, self.planner = list(subscriptions), planner
        self.operators = Operators.of(operators)
        self.statistics = Statistics() if statistics is None else statistics
        self.counts = EvaluationCounts() if counts is None else counts
        self._learn = learn
        self._shared = runner is not None
        self._runner = OperatorRunner() if runner is None else runner
        self._lock = threading.Lock()
        place_of = {id_: place for place, id_ in enumerate(self.ids)}
        self._plain = plain
        self._plain_places = np.array([place_of[id_] for id_ in plain], np.int64)
        places = [place_of[each.id] for each in records]
        self.plan = Plan(records, places, plain.schema, self.operators, number, self.statistics, plain.index)
        self._view = SubscriptionView(plain.schema, (LiveSegment(plain.segment), LiveSegment(self.plan.segment)))

    @property
    def schema(self) -> Schema:
        """The schema that events are read by."""
        return self._view.schema

    @property
    def columns(self) -> tuple[Column, ...]:
        """What the index reads from events; operators read what they say."""
        return self._view.columns

    @property
    def paths(self) -> frozenset[str] | None:
        """The attributes that operators and value constraints look at; None: an operator sees whole events."""
        return self.plan.paths

    @property
    def named(self) -> frozenset[str]:
        """The attributes that calls and value constraints name, and those that operators say they read."""
        return self.plan.named

    @property
    def failures(self) -> Mapping[str, Mapping[FailureKind, int]]:
        """Failures of operators: by name, then by kind."""
        return self._runner.failures.counts

    def __len__(self) -> int:
        """How many filters there are, with and without operators."""
        return len(self._plain) + len(self.plan.records)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._plain or any(record.id == id_ for record in self.plan.records)

    def subscriber(self, id_: str) -> str | None:
        """Whose subscription it is, where that is known."""
        for record in self.plan.records:
            if record.id == id_:
                return record.subscriber
        return self._plain.subscriber(id_)

    def text(self, id_: str) -> str:
        """What the subscription says."""
        for record in self.plan.records:
            if record.id == id_:
                return record.text
        return self._plain.text(id_) or ""

    def origin(self, id_: str) -> dict[str, Any]:
        """What notifications say of where a subscription comes from: title, level, author; empty if that is nothing."""
        for record in self.plan.records:
            if record.id == id_:
                return (record.origin or NO_ORIGIN).told
        return self._plain.origin(id_)

    # ------------------------------------------------------------ matching

    def match(self, event: Mapping[str, Any]) -> list[str]:
        """The ids of the subscriptions that an event matches, in the order of addition."""
        check_event(event)
        return [self.ids[place] for place in self.matches([event]).subscription.tolist()]

    def match_batch(
        self, events: Events, *, ids: Sequence[str] | None = None, rejects: list[Reject] | None = None
    ) -> pa.Table:
        """Who should hear of what: a table (event, subscription, bindings), by event, then by the order of addition.

        `event` is the number of the row, or its id, if there are `ids`. Bindings are texts by the names of variables,
        null where there are none. Events that break the schema are an error, or, if a list is handed in as `rejects`,
        are put there and match nothing.
        """
        found = self.matches(events, ids=ids, rejects=rejects)
        names = pa.array(found.event) if ids is None else pa.array(list(ids), pa.string()).take(pa.array(found.event))
        return pa.table(
            {
                "event": names,
                "subscription": pa.array(self.ids, pa.string()).take(pa.array(found.subscription)),
                "bindings": pa.array(list(map(_texts, found.bindings)), pa.map_(pa.string(), pa.string())),
            }
        )

    def matches(
        self,
        events: Events | EncodedEvents,
        *,
        source: EventSource | None = None,
        ids: Sequence[str] | None = None,
        rejects: list[Reject] | None = None,
    ) -> OperatorMatches:
        """The same as numbers. Events that are encoded already come with the source that operators read them from."""
        encoded = events if isinstance(events, EncodedEvents) else self._view.encode(events, rejects)
        if ids is not None and len(ids) != encoded.size:
            raise InputError(f"there are {len(ids)} ids for {encoded.size} events")
        if source is None:
            if isinstance(events, EncodedEvents):
                raise InputError("encoded events come without what operators look at\nHint: hand in their `source`")
            source = EventSource(events, self.schema, ids)
        plain_event, plain, event, alternative = self._passed(encoded)
        found = self._found(source, event, alternative)
        event = np.concatenate([plain_event, [each[0] for each in found]]).astype(np.int64)
        place = np.concatenate([plain, [each[1] for each in found]]).astype(np.int64)
        bindings = [None] * len(plain) + [each[2] for each in found]
        order = np.lexsort((place, event))
        return OperatorMatches(event[order], place[order], [bindings[number] for number in order.tolist()])

    def undecided(self, encoded: EncodedEvents) -> int:
        """How many alternatives events leave to operators, which are not called."""
        return len(self._passed(encoded)[2])

    def _passed(
        self, encoded: EncodedEvents
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """What passes the index: events and places of plain filters; events and alternatives of the others."""
        rows = joined(self._view.match(encoded, ordered=True))
        event, of_plain = events_of(rows), rows.subscription < len(self._plain_places)
        alternative = rows.subscription[~of_plain] - np.int32(len(self._plain_places))
        return event[of_plain], self._plain_places[rows.subscription[of_plain]], event[~of_plain], alternative

    def _found(
        self, source: EventSource, event: NDArray[np.int64], alternative: NDArray[np.int32]
    ) -> list[tuple[int, int, dict[str, Any] | None]]:
        """Event, subscription and bindings of those that operators decide; where none has to, nobody is waited for."""
        plan = self.plan
        if not len(event):
            return []
        with self._lock:
            best = self._run(source, event, alternative, self.counts, plan.statistics if self._learn else None)
        return [(at, place, plan.told(number, bindings)) for (at, place), (number, bindings) in best.items()]

    def _run(
        self,
        source: EventSource,
        event: NDArray[np.int64],
        alternative: NDArray[np.int32],
        counts: EvaluationCounts,
        statistics: StatisticsView | None,
        heard: Callable[[EvaluationRecord], None] | None = None,
    ) -> BestMatches:
        plan, best = self.plan, BestMatches()
        if not len(event):
            return best
        decided = plan.decided[alternative]
        if decided.any():
            for at in np.flatnonzero(decided).tolist():
                plan.keep_first(best, int(event[at]), int(alternative[at]), {})
            undecided = ~decided
            undecided[undecided] = plan.open(event[undecided], alternative[undecided], best)
            event, alternative = event[undecided], alternative[undecided]
        events, sizes = np.unique(event, return_counts=True)
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        prepared = plan.prepared(self.counts.made)
        rounds = EvaluationRounds(plan.asked, prepared, source, self._runner, statistics, counts, heard)
        for found in rounds.run(events, start, alternative):
            plan.keep_first(best, found.event, found.alternative, found.bindings)
        return best

    def trace(self, event: Mapping[str, Any]) -> OperatorTrace:
        """What planning makes of one event, step by step; nothing is learned, and only failures are counted."""
        check_event(event)
        source = EventSource([event], self.schema, ["that is explained"])
        _, plain, at, alternative = self._passed(self._view.encode([event]))
        counts, made = EvaluationCounts(), list[EvaluationRecord]()
        with self._lock:
            best = self._run(source, at, alternative, counts, None, made.append)
        found = {place: self.plan.told(number, bindings) for (_, place), (number, bindings) in best.items()}
        return OperatorTrace(
            source, frozenset(alternative.tolist()), made, counts, dict.fromkeys(plain.tolist()) | found
        )

    def match_rows(self, encoded: EncodedEvents, source: EventSource) -> MatchRows:
        """The places of the subscriptions of each event; events are encoded, and operators read them from `source`."""
        found = self.matches(encoded, source=source)
        start = np.searchsorted(found.event, np.arange(encoded.size + 1)).astype(np.int64)
        return MatchRows(start, found.subscription.astype(np.int32))

    def encode(self, events: Events, *, rejects: list[Reject] | None = None) -> EncodedEvents:
        """Events as typed columns."""
        return self._view.encode(events, rejects)

    # ------------------------------------------------------------ ending

    def close(self) -> None:
        """End what operators left running in the background, unless others call them, too."""
        if not self._shared:
            self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"<OperatorMatcher: {len(self.ids):,} subscriptions, {len(self.plan.records):,} with operators, "
            f"{len(self.plan.asked.evaluations):,} evaluations, planner {self.planner}>"
        )


def _texts(bindings: Mapping[str, Any] | None) -> list[tuple[str, str]] | None:
    return [(name, as_text(value)) for name, value in bindings.items()] if bindings else None
