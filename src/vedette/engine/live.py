"""A live engine: it takes changes while it matches.

Plain filters, of which there may be millions, are in a live matcher, which shows every change at once. Filters with
operators, and patterns, are few: their engine is rebuilt when they change, and unchanged patterns keep their
state. Readers use the current immutable engine, and never wait.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.covering.cover_set import CoverAnswer
from vedette.covering.live import LiveCoveringMatcher
from vedette.covering.matcher import CoveringMatcher, Savings
from vedette.dialects.rule_results import Rule
from vedette.engine.mixed_set import MixedSet
from vedette.engine.state import StreamOptions, StreamState
from vedette.engine.stream import Stream
from vedette.errors import InputError, UnknownSubscription
from vedette.filters.kernels.match_rows import MatchRows as RowsOfEvents
from vedette.filters.live import LiveMatcher
from vedette.filters.matcher import Matcher, MatchPairs, counted
from vedette.filters.origins import Origin
from vedette.filters.segment import Segment
from vedette.filters.subscription_input import id_exists_message
from vedette.filters.subscription_records import CAP, EVENTS, OFFERS, Predict, WantTarget
from vedette.filters.subscription_set import SubscriptionSet
from vedette.filters.subscription_view import Events, SubscriptionView
from vedette.filters.templates import HasOperators, IsPattern
from vedette.meeting.direction import Direction
from vedette.schema.encode import EncodedEvents, Reject
from vedette.schema.schema import Schema

if TYPE_CHECKING:
    from vedette.engine.engine import Engine
    from vedette.filters.explanation import Explanation
    from vedette.operators.evaluation_rounds import EvaluationCounts
    from vedette.operators.failures import FailureKind
    from vedette.operators.statistics import Statistics


class _CurrentEngine(NamedTuple):
    """The current engine, and the parts it was built from."""

    view: SubscriptionView
    others: Engine
    engine: Engine


class LiveEngine:
    """A changing engine: add, remove and replace by id, at any time; every change is atomic and visible at once."""

    def __init__(self, engine: Engine, *, sample: Events | None = None) -> None:
        self._lock = threading.RLock()
        filters = engine.filters
        self._filters: LiveMatcher = (
            LiveCoveringMatcher.of(filters, sample=sample)
            if isinstance(filters, CoveringMatcher)
            else LiveMatcher(filters, sample=sample)
        )
        self._beside = MixedSet(engine.schema)
        for id_ in engine if not engine.is_plain else ():
            self._keep(engine, id_)
        self._others = engine.changed(self._beside)  # all but the plain filters
        # Ids by order of addition, unless all are plain filters, which are in order anyway.
        self._order: dict[str, int] | None = None if engine.is_plain else {id_: at for at, id_ in enumerate(engine)}
        self._added = len(engine)
        self._ordered: dict[int, tuple[Segment, NDArray[np.int64]]] = {}  # order of addition of each segment's filters
        self._now: _CurrentEngine | None = None

    def _keep(self, engine: Engine, id_: str) -> None:
        pattern = engine.pattern_records.get(id_)
        want = engine.wants.get(id_)
        one = engine.operator_records.get(id_) or pattern or want
        if one is not None:
            predict = None if pattern is None else pattern.predict
            to: WantTarget = EVENTS if want is None else OFFERS
            self._beside.take(id_, one.text, subscriber=one.subscriber, predict=predict, source=one.origin, to=to)

    # ------------------------------------------------------------ the current engine

    @property
    def now(self) -> Engine:
        """The current set as an immutable engine."""
        shown, view, others = self._now, self._filters.view, self._others
        if shown is None or shown.view is not view or shown.others is not others:
            with self._lock:
                view, others = self._filters.view, self._others
                shown = self._now = _CurrentEngine(view, others, self._put_together(view, others))
        return shown.engine

    def _put_together(self, view: SubscriptionView, others: Engine) -> Engine:
        filters = Matcher(view)
        if self._order is None or others.is_plain:
            return others.filtering(filters)
        beside = list(self._beside)
        added = np.concatenate([*self._added_when(view), [self._order[id_] for id_ in beside]]).astype(np.int64)
        order = np.argsort(added, kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        ids = pa.concat_arrays([view.ids, pa.array(beside, pa.large_string())]).take(pa.array(order))
        first = len(order) - len(beside)
        places = dict(zip(beside, place[first:].tolist(), strict=True))
        return others.placed(filters, ids, place[:first], places)

    def _added_when(self, view: SubscriptionView) -> list[NDArray[np.int64]]:
        """The plain filters' order of addition, part by part; undefined for those that were removed."""
        order = self._order or {}
        known, found = self._ordered, {}
        for part in view.parts:
            key = id(part.segment)
            if key not in known:
                ids = part.segment.records.ids.to_pylist()
                known[key] = part.segment, np.array([order.get(id_, -1) for id_ in ids], np.int64)
            found[key] = known[key]
        self._ordered = found
        return [found[id(part.segment)][1] for part in view.parts]

    # ------------------------------------------------------------ changes

    def add(
        self,
        id_: str,
        when: Rule,
        *,
        subscriber: str | None = None,
        predict: Predict | Mapping[str, Any] | None = None,
        dialect: str | None = None,
        origin: Mapping[str, Any] | None = None,
        to: WantTarget = EVENTS,
    ) -> None:
        """Add a subscription; InputError if the id is taken, FilterError if the text makes no sense."""
        with self._lock:
            if id_ in self._beside:
                raise InputError(id_exists_message(id_))
            try:
                if predict is not None or to != EVENTS:
                    raise NotPlainFilter
                self._filters.add(id_, when, subscriber=subscriber, dialect=dialect, origin=origin)
            except (HasOperators, IsPattern, NotPlainFilter):
                self._filters.check_open()
                if id_ in self._filters:
                    raise InputError(id_exists_message(id_)) from None
                changed = self._beside.copy_beside()
                changed.add(id_, when, subscriber=subscriber, predict=predict, dialect=dialect, origin=origin, to=to)
                self._become(changed)
            self._number(id_)

    def remove(self, id_: str) -> None:
        """Remove a subscription; UnknownSubscription if there is none."""
        with self._lock:
            if id_ not in self._beside:
                self._filters.remove(id_)
            else:
                self._filters.check_open()
                changed = self._beside.copy_beside()
                changed.remove(id_)
                self._become(changed)
            if self._order is not None:
                self._order.pop(id_, None)

    def remove_many(self, ids: Iterable[str]) -> None:
        """Remove several, all or none; UnknownSubscription if one of them does not exist."""
        gone = list(dict.fromkeys(ids))
        with self._lock:
            for id_ in gone:
                if id_ not in self:
                    raise UnknownSubscription(f"there is no subscription {id_!r}")
            self._filters.check_open()
            beside = [id_ for id_ in gone if id_ in self._beside]
            if beside:
                changed = self._beside.copy_beside()
                for id_ in beside:
                    changed.remove(id_)
                self._become(changed)
            self._filters.remove_many(id_ for id_ in gone if id_ not in beside)
            if self._order is not None:
                for id_ in gone:
                    self._order.pop(id_, None)

    def replace(
        self,
        id_: str,
        when: Rule,
        *,
        subscriber: str | None = None,
        predict: Predict | Mapping[str, Any] | None = None,
        dialect: str | None = None,
        origin: Mapping[str, Any] | None = None,
        to: WantTarget = EVENTS,
    ) -> None:
        """Replace the text of an id; it moves to the end of the order of addition."""
        with self._lock:
            if id_ not in self:
                raise UnknownSubscription(f"there is no subscription {id_!r}")
            made = MixedSet(self.schema)
            made.add(id_, when, subscriber=subscriber, predict=predict, dialect=dialect, origin=origin, to=to)
            if id_ not in self._beside and made.is_plain().all():
                self._filters.replace(id_, when, subscriber=subscriber, dialect=dialect, origin=origin)
                self._number(id_)
                return
            before = self._beside
            self.remove(id_)
            try:
                self.add(id_, when, subscriber=subscriber, predict=predict, dialect=dialect, origin=origin, to=to)
            except BaseException:
                if id_ in before:
                    self._become(before)
                raise

    def add_many(self, records: Iterable[Mapping[str, Any]]) -> int:
        """Add records in the form of `Subscriptions.add_many`, all at once; return how many."""
        given = list(records)
        with self._lock:
            try:
                if any(isinstance(one, Mapping) and _is_beside(one) for one in given):
                    raise NotPlainFilter
                size = self._filters.add_many(given)
                ids: Sequence[str] = [] if self._order is None else [one["id"] for one in given]
            except (HasOperators, IsPattern, NotPlainFilter):
                made = MixedSet(self.schema)
                size = made.add_many(given)
                ids = list(made)
                for id_ in ids:
                    if id_ in self:
                        raise InputError(id_exists_message(id_)) from None
                self._take_in(made)
            for id_ in ids:
                if id_ in self:  # not if it had expired
                    self._number(id_)
        return size

    def _take_in(self, made: MixedSet) -> None:
        """Add all subscriptions of another set, none of whose ids is in use here."""
        changed = self._beside.copy_beside()
        changed.take_beside(made)
        others = self._others.changed(changed)
        plain = [
            {"id": id_, "when": made.text(id_), "subscriber": made.subscriber(id_), "source": made.origin_of(id_)}
            for id_, is_plain in zip(made, made.is_plain().tolist(), strict=True)
            if is_plain
        ]
        self._filters.take_many(plain)
        self._beside, self._others = changed, others
        self._begin_order()

    def _become(self, changed: MixedSet) -> None:
        """Switch to another set of subscriptions that are not plain filters."""
        others = self._others.changed(changed)
        self._begin_order()
        self._beside, self._others = changed, others

    def _begin_order(self) -> None:
        if self._order is None:  # so far there were only plain filters
            self._order = {id_: at for at, id_ in enumerate(self._filters)}
            self._added = len(self._order)

    def _number(self, id_: str) -> None:
        """Put an id at the end of the order of addition."""
        if self._order is not None:
            self._order.pop(id_, None)
            self._order[id_] = self._added
            self._added += 1

    # ------------------------------------------------------------ reading

    def __len__(self) -> int:
        return len(self._filters) + len(self._beside)

    def __contains__(self, id_: object) -> bool:
        return isinstance(id_, str) and (id_ in self._beside or id_ in self._filters)

    def __iter__(self) -> Iterator[str]:
        """The ids of the subscriptions, in the order of addition."""
        if self._order is None:
            return iter(self._filters)
        with self._lock:
            return iter(list(self._order))

    @property
    def schema(self) -> Schema:
        """The schema by which events are read."""
        return self._filters.schema

    @property
    def has_state(self) -> bool:
        """Whether earlier events matter for later ones: whether some subscriptions are patterns."""
        return self._others.has_state

    @property
    def index(self) -> str:
        """The name of the index."""
        return self._others.index

    @property
    def ids(self) -> pa.LargeStringArray:
        """The ids that the numbers of `match_pairs` stand for."""
        return self.now.ids

    def text(self, id_: str) -> str | None:
        """The text of a subscription."""
        return self.now.text(id_)

    def subscriber(self, id_: str) -> str | None:
        """The subscriber of a subscription, where one is given."""
        return self.now.subscriber(id_)

    def origin(self, id_: str) -> dict[str, Any]:
        """The origin of a subscription for notifications: title, level, author; empty if none of these is given."""
        return self.now.origin(id_)

    def origin_of(self, id_: str) -> Origin:
        """The origin with the dialect and the original rule."""
        return self.now.origin_of(id_)

    def told(self) -> dict[str, str]:
        """Id -> origin as JSON, for notifications; only subscriptions that have one."""
        return self.now.told()

    # ------------------------------------------------------------ matching

    def match(self, event: Mapping[str, Any]) -> list[str]:
        """The ids of the subscriptions that a single event matches, in the order of addition."""
        if self._order is None:
            return self._filters.match(event)
        return self.now.match(event)

    def match_numbers(self, event: Mapping[str, Any]) -> list[int]:
        """As `match`, but as numbers: indexes into `ids`, ascending."""
        return self.now.match_numbers(event)

    def match_batch(
        self,
        events: Any,
        *,
        threads: int = 1,
        id_column: str | None = None,
        ids: Sequence[Any] | None = None,
        rejects: list[Reject] | None = None,
    ) -> pa.Table:
        """Match a batch, as `Engine.match_batch` does."""
        return self.now.match_batch(events, threads=threads, id_column=id_column, ids=ids, rejects=rejects)

    def match_pairs(
        self, events: Any, *, threads: int = 1, ordered: bool = False, rejects: list[Reject] | None = None
    ) -> MatchPairs:
        """As `match_batch`, but as numbers, for speed; within an event in any order, unless `ordered`."""
        return self.now.match_pairs(events, threads=threads, ordered=ordered, rejects=rejects)

    def match_offer(self, when: str) -> list[str]:
        """The ids of the subscriptions to offers that this offer would meet, in the order of addition."""
        return self.now.match_offer(when)

    def match_rows(
        self, events: Any, *, threads: int = 1, ordered: bool = False, rejects: list[Reject] | None = None
    ) -> RowsOfEvents:
        """As `match_pairs`, by event: the subscriptions of event e are `subscription[start[e] : start[e + 1]]`."""
        return self.now.match_rows(events, threads=threads, ordered=ordered, rejects=rejects)

    def encode(self, events: Any, *, rejects: list[Reject] | None = None) -> EncodedEvents:
        """Encode events as typed columns, for matching filters more than once."""
        return self.now.encode(events, rejects=rejects)

    def explain(
        self,
        event: Mapping[str, Any],
        id_: str,
        *,
        before: Iterable[Mapping[str, Any]] = (),
        names: Sequence[str] | None = None,
        times: Sequence[int] | None = None,
    ) -> Explanation:
        """Explain why an event matches a subscription or not, as `Engine.explain` does."""
        return self.now.explain(event, id_, before=before, names=names, times=times)

    def failing(self, events: Any, id_: str) -> list[tuple[str, int]]:
        """The tests that kept events from matching a filter, each with its number of events; most frequent first."""
        return self.now.failing(events, id_)

    def stream(
        self,
        *,
        lateness: dt.timedelta | None = dt.timedelta(0),
        learn: bool = True,
        cap: int = CAP,
        direction: Direction = "publication",
    ) -> LiveStream:
        """Start a stream that follows the changes of the set: unchanged patterns keep their state."""
        return LiveStream(self, lateness=lateness, learn=learn, cap=cap, direction=direction)

    def resume(self, data: bytes, *, learn: bool = True, knowing: bool = True) -> LiveStream:
        """Resume a stream from its `to_bytes`, perhaps under a changed set.

        The saved statistics of operators are added only if `knowing`: this engine may have them already.
        """
        state = StreamState.from_bytes(data, self.now, learn=learn, knowing=knowing)
        made = LiveStream.at(state)
        made._live = self
        return made

    def begin(self, terms: StreamOptions | None = None) -> StreamState:
        """The state before the first event of a stream."""
        return self.now.begin(terms)

    @property
    def counts(self) -> EvaluationCounts:
        """Counts of the evaluations that were asked for, made and saved so far."""
        return self._others.counts

    @property
    def statistics(self) -> Statistics:
        """Statistics of operators, learned so far."""
        return self._others.statistics

    @property
    def failures(self) -> Mapping[str, Mapping[FailureKind, int]]:
        """Failures of operators: by name, then by kind."""
        return self._others.failures

    # ------------------------------------------------------------ covering

    @property
    def covered(self) -> Mapping[str, CoverAnswer]:
        """The filters that others cover, and how; empty without covering."""
        return self._filters.covered if isinstance(self._filters, LiveCoveringMatcher) else {}

    @property
    def savings(self) -> Savings | None:
        """The savings by covering; None without covering."""
        return self._filters.savings if isinstance(self._filters, LiveCoveringMatcher) else None

    # ------------------------------------------------------------ life

    @property
    def merging(self) -> bool:
        """Whether a merge of plain filters is under way."""
        return self._filters.merging

    def merge(self) -> None:
        """Merge all plain filters into one segment now, and wait for it."""
        self._filters.merge()

    def frozen(self) -> Engine:
        """The current set as an immutable engine, e.g. to save it."""
        with self._lock:
            filters, others = self._filters.frozen(), self._others
            if self._order is None or others.is_plain:
                return others.filtering(filters)
            ids, beside = list(self._order), self._beside
            places = {id_: at for at, id_ in enumerate(ids)}
        where = np.array([places[id_] for id_ in filters], np.int64)
        return others.placed(filters, pa.array(ids, pa.large_string()), where, {id_: places[id_] for id_ in beside})

    def save(self, folder: str | Path) -> None:
        """Write a snapshot of the current set."""
        self.frozen().save(folder)

    def close(self) -> None:
        """Stop changes, wait for a merge in progress, end the background work of operators; matching still works."""
        self._filters.close()
        self._others.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        parts = [f"{part.living:,}" for part in self._filters.view.parts]
        if len(self._beside):
            parts.append(f"{len(self._beside):,} no plain filters")
        return f"<LiveEngine: {counted(len(self), 'subscription')} ({' + '.join(parts)}), index {self.index}>"


class LiveStream(Stream):
    """A stream of a set that changes."""

    def __init__(
        self, live: LiveEngine, *, lateness: dt.timedelta | None, learn: bool, cap: int, direction: Direction
    ) -> None:
        self._live = live
        super().__init__(live.now, lateness=lateness, learn=learn, cap=cap, direction=direction)

    def _present(self) -> Engine:
        self._follow(self._live.now)
        return self._engine

    def update(self, subscriptions: SubscriptionSet) -> None:
        """Not supported: change the live set itself."""
        raise InputError("this stream follows a set that takes changes\nHint: add, remove and replace them there")


class NotPlainFilter(Exception):
    """A subscription that is not a plain filter."""


def _is_beside(record: Mapping[str, Any]) -> bool:
    """Whether a record is recognisably not a plain filter."""
    return record.get("predict") is not None or record.get("to", EVENTS) != EVENTS
