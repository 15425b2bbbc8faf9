"""The engine: a compiled set of subscriptions of any kind, made by `Subscriptions.compile()`, called by every host."""

from __future__ import annotations

import copy
import datetime as dt
import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.engine.outcomes import DETAILS
from vedette.engine.state import StreamOptions, StreamState
from vedette.engine.step import EventBatch, as_events, step
from vedette.errors import InputError, SnapshotError
from vedette.filters.kernels.match_rows import MatchRows as RowsOfEvents
from vedette.filters.matcher import Matcher, MatchPairs, counted, event_ids
from vedette.filters.origins import NO_ORIGIN, Origin
from vedette.filters.segment import Segment
from vedette.filters.subscription_records import CAP, OperatorRecord, PatternRecord, WantRecord
from vedette.filters.subscription_view import Events, LiveSegment, SubscriptionView
from vedette.language.ast import Composite
from vedette.language.parser import parse
from vedette.meeting.direction import Direction
from vedette.operators.calling import Calling
from vedette.schema.columns import Column
from vedette.schema.encode import EncodedEvents, Reject, check_event
from vedette.schema.readings import EVERYTHING
from vedette.schema.schema import Schema
from vedette.schema.table_paths import TableEvents

if TYPE_CHECKING:
    from vedette.covering.cover_set import CoverAnswer
    from vedette.covering.matcher import Savings
    from vedette.engine.live import LiveEngine
    from vedette.engine.offers import OfferBook
    from vedette.engine.pattern_shards import PatternSet, ShardOptions
    from vedette.engine.snapshot import SavedEngine
    from vedette.engine.stream import Stream
    from vedette.filters.explanation import Explanation
    from vedette.filters.subscription_set import SpecialRecord, SubscriptionKind, SubscriptionSet
    from vedette.operators.evaluation_rounds import EvaluationCounts
    from vedette.operators.failures import FailureKind as Failure
    from vedette.operators.matcher import OperatorMatcher
    from vedette.operators.registry import Operators
    from vedette.operators.statistics import Statistics
    from vedette.patterns.forecasts.model import Model
    from vedette.patterns.matcher import PatternMatcher
    from vedette.patterns.witness_names import PatternColumns, WitnessNames

# Some sets need patterns, forecasts or operators: these are imported only where they are used.

_PLURALS: Final = {"filter": "filters", "operators": "with operators", "pattern": "patterns", "want": "of offers"}
_AT_ONCE: Final = StreamOptions(lateness=None, offers=False)  # one batch as a stream, its events in any order


class Engine:
    """An immutable compiled set of subscriptions of any kind: filters, with and without operators, patterns, offers.

    Any number of threads may use it. The state of patterns is not here but in a `stream()`, of which there may be any
    number.
    """

    def __init__(
        self,
        filters: Matcher,
        calls: Sequence[OperatorRecord] = (),
        patterns: Sequence[PatternRecord] = (),
        wants: Sequence[WantRecord] = (),
        *,
        ids: pa.LargeStringArray | None = None,
        filter_places: NDArray[np.int64] | None = None,
        places: Mapping[str, int] | None = None,
        calling: Calling | None = None,
        model: Model | None = None,
        like: Engine | None = None,
    ) -> None:
        """With other kinds than plain filters, `ids` has all ids in the order of addition; an id's index is its place.

        `filter_places` are the places of the plain filters, `places` those of the others. Parts that are unchanged
        since `like` are shared with it.
        """
        self.filters = filters
        self.model = model
        self.calling = Calling() if calling is None else calling
        self._calls = {each.id: each for each in calls}
        self._patterns = {each.id: each for each in patterns}
        self.wants: Mapping[str, WantRecord] = {each.id: each for each in wants}
        if like is not None and like.wants == self.wants:
            self.wants = like.wants
        self._ids = ids
        self.filter_places = None if self.is_plain else filter_places
        self.call_places = self._none
        self.pattern_places: dict[int, int] = {}
        self.want_places: Mapping[str, int] = {}
        self.places: Mapping[str, int] = {} if places is None else places  # of all that are not plain filters
        self.calls: OperatorMatcher | None = None
        if self.is_plain:
            if like is not None and like.is_plain:
                self._machines = like.machines
            return
        assert places is not None  # as the docstring requires
        self.want_places = {id_: places[id_] for id_ in self.wants}
        if calls:
            same = like is not None and list(like._calls.values()) == list(calls)
            self.calls = like.calls if same and like else self.calling.of_records(calls, self.schema, self.index)
            self.call_places = np.array([places[each.id] for each in calls], np.int64)
        if patterns:
            self._machines = self._made_machines(like)
            self.pattern_places = {uid: places[one.id] for uid, one in self._machines.patterns.items()}

    _none: Final = np.zeros(0, np.int64)
    _machines: PatternMatcher | None = None

    def _made_machines(self, like: Engine | None) -> PatternMatcher:
        """Compile the patterns into machines; patterns that `like` has too are not parsed again."""
        from vedette.patterns.matcher import PatternMatcher

        before = {} if like is None else like._patterns
        if like is None or not before:
            return PatternMatcher(self._patterns.values(), self.schema, calling=self.calling)
        gone = [id_ for id_, record in before.items() if self._patterns.get(id_) != record]
        new = [record for id_, record in self._patterns.items() if before.get(id_) != record]
        if not gone and not new:
            return like.machines
        made = like.machines.again()
        made.change(gone=gone, new=new)
        return made

    @classmethod
    def of(
        cls,
        subscriptions: SubscriptionSet,
        filters: Matcher,
        *,
        calling: Calling | None = None,
        model: Model | None = None,
        like: Engine | None = None,
    ) -> Engine:
        """The engine of a set whose plain filters are already compiled; the other kinds are compiled here."""
        calls, patterns, wants = subscriptions.with_operators, subscriptions.patterns, subscriptions.wants
        if not calls and not patterns and not wants:
            return cls(filters, calling=calling, model=model)
        plain = subscriptions.is_plain()
        ids = pa.array(subscriptions, pa.large_string(), size=len(subscriptions))
        return cls(
            filters,
            list(calls.values()),
            list(patterns.values()),
            list(wants.values()),
            ids=ids,
            filter_places=np.flatnonzero(plain),
            places={ids[place].as_py(): place for place in np.flatnonzero(~plain).tolist()},
            calling=calling,
            model=model,
            like=like,
        )

    def changed(self, subscriptions: SubscriptionSet, *, index: str | None = None) -> Engine:
        """The engine of a changed set, or of another one; patterns that are in both are not parsed again."""
        filters = subscriptions.compile_filters(index or self.index)
        return Engine.of(subscriptions, filters, calling=self.calling, model=self.model, like=self)

    def filtering(self, filters: Matcher) -> Engine:
        """These plain filters alone, with the operators, statistics and model of this engine."""
        return Engine(filters, calling=self.calling, model=self.model, like=self)

    def placed(
        self,
        filters: Matcher,
        ids: pa.LargeStringArray,
        filter_places: NDArray[np.int64],
        places: Mapping[str, int],
    ) -> Engine:
        """The same subscriptions with other plain filters, which changes the places of all."""
        return Engine(
            filters,
            list(self._calls.values()),
            list(self._patterns.values()),
            list(self.wants.values()),
            ids=ids,
            filter_places=filter_places,
            places=places,
            calling=self.calling,
            model=self.model,
            like=self,
        )

    # ------------------------------------------------------------ contents

    @property
    def is_plain(self) -> bool:
        """Whether all are plain filters: no operator is called, and there is no state."""
        return not self._calls and not self._patterns and not self.wants

    @property
    def has_state(self) -> bool:
        """Whether earlier events matter for later ones: whether some subscriptions are patterns."""
        return bool(self._patterns)

    @property
    def schema(self) -> Schema:
        """The schema by which events are read."""
        return self.filters.schema

    @property
    def index(self) -> str:
        """The name of the index."""
        return self.filters.index

    @property
    def ids(self) -> pa.LargeStringArray:
        """The ids of all subscriptions, by place, i.e. in the order of addition."""
        return self.filters.ids if self._ids is None else self._ids

    @property
    def operator_records(self) -> Mapping[str, OperatorRecord]:
        """The filters that call operators, by id."""
        return self._calls

    @property
    def pattern_records(self) -> Mapping[str, PatternRecord]:
        """The patterns, by id."""
        return self._patterns

    @property
    def machines(self) -> PatternMatcher:
        """The machines of all patterns, in their initial state."""
        if self._machines is None:
            from vedette.patterns.matcher import PatternMatcher

            self._machines = PatternMatcher((), self.schema, calling=self.calling)
        return self._machines

    @cached_property
    def telling(self) -> WitnessNames:
        """The names that outcomes of patterns use: steps, variables and events."""
        from vedette.patterns.witness_names import WitnessNames

        return WitnessNames(self.machines.patterns)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of events that filters read, with and without operators."""
        return self._view.columns

    @property
    def columns_for_calls(self) -> tuple[Column, ...]:
        """Those that filters with operators read, and plain ones do not."""
        plain = set(self.filters.view.columns)
        return tuple(column for column in self.columns if column not in plain)

    @property
    def calls_operators(self) -> bool:
        """Whether some filter, or some step or feature of a pattern, calls operators."""
        return bool(self._callers)

    @property
    def _callers(self) -> list[OperatorMatcher]:
        return [*self.called_at_once, *self.called_on_the_way]

    @property
    def called_at_once(self) -> Sequence[OperatorMatcher]:
        """The matchers that call operators for filters, which need one event."""
        return () if self.calls is None else (self.calls,)

    @property
    def called_on_the_way(self) -> Sequence[OperatorMatcher]:
        """The matchers that call operators for patterns, which need several events."""
        found = None if self._machines is None else self._machines.operators
        return () if found is None else (found,)

    @cached_property
    def stateless_places(self) -> NDArray[np.int64]:
        """The places of the filters, which need no state; ascending."""
        if self.filter_places is None:
            return np.arange(len(self))
        return np.sort(np.concatenate([self.filter_places, self.call_places]))

    @cached_property
    def subscribers(self) -> pa.Array:
        """The subscriber of each subscription, by place; null where none is given."""
        plain = self.filters.segment.records.table.column(2)
        if self.filter_places is None:
            return plain
        others, places = self._all_beside, np.delete(np.arange(len(self)), self.filter_places)
        whose = [others[id_].subscriber for id_ in self.ids.take(pa.array(places)).to_pylist()]
        order = np.argsort(np.concatenate([self.filter_places, places]))
        return pa.concat_arrays([plain, pa.array(whose, plain.type)]).take(pa.array(order))

    @property
    def offered_to(self) -> str | None:
        """The id of a subscription to offers; None if there is none."""
        return next(iter(self.wants), None)

    def with_model(self, model: Model) -> Engine:
        """The same engine, with what another model has learned."""
        made = copy.copy(self)
        made.model = model
        return made

    def sharded(self, options: ShardOptions) -> PatternSet:
        """The patterns, as shards follow them that get events by their keys."""
        from vedette.engine.pattern_shards import PatternSet

        return PatternSet.of(self._patterns.values(), self.schema, options, self.model)

    @property
    def unknown_keys(self) -> tuple[str, ...]:
        """The attributes that patterns join or partition by, and that the schema does not have."""
        from vedette.engine.pattern_shards import unknown_keys

        return unknown_keys(self._patterns.values(), self.schema)

    def learning(self, calling: Calling) -> Engine:
        """The subscriptions that learn from history, those with forecasts or with calls of operators, as an engine."""
        from vedette.filters.subscription_set import SubscriptionSet

        records = [one for one in self._patterns.values() if one.predict or one.calls_operators(self.schema)]
        ids = [*self._calls, *(one.id for one in records)]
        return Engine(
            SubscriptionSet(self.schema).compile_filters(self.index),
            list(self._calls.values()),
            records,
            ids=pa.array(ids, pa.large_string()),
            filter_places=self._none,
            places={id_: place for place, id_ in enumerate(ids)},
            calling=calling,
        )

    @cached_property
    def _asked_of_patterns(self) -> PatternColumns | None:
        if not self._patterns:
            return None
        from vedette.patterns.witness_names import asked_columns

        return asked_columns(self._patterns.values(), self.schema)

    @property
    def pattern_columns(self) -> tuple[Column, ...]:
        """The columns of events that steps and features of patterns read; empty without patterns."""
        return () if self._asked_of_patterns is None else self._asked_of_patterns.columns

    @cached_property
    def paths(self) -> frozenset[str]:
        """The attributes that subscriptions use, and those that operators declare to read."""
        read = {path for column in self.columns for path in column.paths}
        if self._asked_of_patterns is not None:
            read |= self._asked_of_patterns.paths
        return frozenset(read).union(*(each.named for each in self._callers))

    @property
    def reads_whole_events(self) -> bool:
        """Whether some operator may read any attribute of an event."""
        return any(each.paths is None for each in self._callers)

    @cached_property
    def forecasts(self) -> tuple[str, ...]:
        """The ids of the patterns that ask for forecasts."""
        return tuple(id_ for id_, record in self._patterns.items() if record.predict is not None)

    def unknown_to(self, model: Model) -> list[str]:
        """The ids of the patterns that ask for forecasts and are not in a model."""
        return model.lacks(self._patterns.values())

    @property
    def kinds(self) -> Mapping[SubscriptionKind, int]:
        """How many there are of each kind, to be shown to people; hosts need not distinguish kinds."""
        return {
            "filter": len(self.filters),
            "operators": len(self._calls),
            "pattern": len(self._patterns),
            "want": len(self.wants),
        }

    @property
    def details(self) -> tuple[str, ...]:
        """The columns of details in a table of outcomes that some subscription may fill."""
        if self._patterns:
            return DETAILS
        return ("bindings",) if self.calls is not None and bool(self.calls.plan.asked.bound.any()) else ()

    @cached_property
    def _view(self) -> SubscriptionView:
        """A view of all subscriptions that are in an index."""
        parts = self.filters.view.parts
        return (
            self.filters.view
            if self.calls is None
            else SubscriptionView(self.schema, (*parts, LiveSegment(self.calls.plan.segment)))
        )

    def __len__(self) -> int:
        return len(self.filters) + len(self._calls) + len(self._patterns) + len(self.wants)

    def __contains__(self, id_: object) -> bool:
        return self._beside(id_) is not None or id_ in self.filters

    def __iter__(self) -> Iterator[str]:
        if self._ids is None:
            return iter(self.filters)
        return iter(self._ids.to_pylist())

    def _beside(self, id_: object) -> SpecialRecord | None:
        """The record of a subscription that is not a plain filter."""
        if not isinstance(id_, str):
            return None
        return self._calls.get(id_) or self._patterns.get(id_) or self.wants.get(id_)

    def text(self, id_: str) -> str | None:
        """The text of a subscription."""
        found = self._beside(id_)
        return self.filters.text(id_) if found is None else found.text

    def subscriber(self, id_: str) -> str | None:
        """The subscriber of a subscription, where one is given."""
        found = self._beside(id_)
        return self.filters.subscriber(id_) if found is None else found.subscriber

    def origin(self, id_: str) -> dict[str, Any]:
        """The origin of a subscription for notifications: title, level, author; empty if none of these is given."""
        return self.origin_of(id_).told

    def origin_of(self, id_: str) -> Origin:
        """The origin with the dialect and the original rule."""
        found = self._beside(id_)
        return self.filters.origin_of(id_) if found is None else found.origin or NO_ORIGIN

    def told(self) -> dict[str, str]:
        """Id -> origin as JSON, for notifications; only subscriptions that have one."""
        beside = {id_: (one.origin or NO_ORIGIN).facts for id_, one in self._all_beside.items()}
        return self.filters.told() | {id_: facts for id_, facts in beside.items() if facts is not None}

    @property
    def _all_beside(self) -> Mapping[str, SpecialRecord]:
        return {**self._calls, **self._patterns, **self.wants}

    @cached_property
    def version(self) -> str:
        """Twelve hexadecimal digits that identify the subscriptions, wherever and however they were compiled."""
        if self.is_plain:
            return self.filters.version
        found = hashlib.sha256(self.filters.version.encode())
        for id_ in self:
            one = self._beside(id_)
            found.update(repr(id_ if one is None else _said(one)).encode())
        return found.hexdigest()[:12]

    # ------------------------------------------------------------ matching

    def match(self, event: Mapping[str, Any]) -> list[str]:
        """The ids of the subscriptions that a single event matches, in the order of addition.

        Patterns that one event can complete are among them; longer ones need a `stream`.
        """
        if self._ids is None:
            return self.filters.match(event)
        check_event(event)
        state = StreamState.begin(self, StreamOptions()) if self._told_at_once else None
        found = self._matched(event, state)
        return [self._ids[place].as_py() for place in sorted(found)]

    def _matched(self, event: Mapping[str, Any], state: StreamState | None) -> set[int]:
        """The places of the subscriptions that a single event matches."""
        assert self.filter_places is not None  # as not all are plain
        found = set(self.filter_places[self.filters.match_numbers(event)].tolist())
        if self.calls is not None:
            found |= set(self.call_places[self.calls.matches([event]).subscription].tolist())
        if state is not None:
            told = state.patterns.process([event]).matches.pattern.tolist()
            found |= {self.pattern_places[number] for number in told}
        return found

    @cached_property
    def _told_at_once(self) -> bool:
        """Whether some pattern may be completed by a single event."""
        from vedette.patterns.minimum_length import fewest_events

        texts = (parse(one.text) for one in self._patterns.values())
        return any(fewest_events(tree.pattern) < 2 for tree in texts if isinstance(tree, Composite))

    def match_numbers(self, event: Mapping[str, Any]) -> list[int]:
        """As `match`, but as numbers: indexes into `ids`, ascending."""
        if self._ids is None:
            return self.filters.match_numbers(event)
        return sorted(self._matched(event, StreamState.begin(self, StreamOptions()) if self._told_at_once else None))

    def match_batch(
        self,
        events: Any,
        *,
        threads: int = 1,
        id_column: str | None = None,
        ids: Sequence[Any] | None = None,
        rejects: list[Reject] | None = None,
    ) -> pa.Table:
        """Match a batch; a table (event, subscription), ordered by event, then by the order of addition.

        If filters call operators there is also `bindings`; with patterns, all columns of a stream: the batch is then a
        stream of its own, and patterns see its events in the order of their time. `event` is the number of the row, or
        one of the `ids`, or, with `id_column`, the value of that attribute. Events that break the schema are an error,
        or, if a list is given as `rejects`, are put there and match nothing.
        """
        events = as_events(events)
        if self._ids is None and ids is None:
            return self.filters.match_batch(events, threads=threads, id_column=id_column, rejects=rejects)
        if id_column is not None:
            ids = event_ids(events, id_column).to_pylist()
        batch = EventBatch(events, ids, last=bool(self._patterns))
        outcomes = step(self, self.begin(_AT_ONCE), batch, in_place=True, rejects=rejects, threads=threads).outcomes
        return outcomes.table() if self._patterns else outcomes.pairs(bindings=self.calls is not None)

    def match_pairs(
        self, events: Any, *, threads: int = 1, ordered: bool = False, rejects: list[Reject] | None = None
    ) -> MatchPairs:
        """As `match_batch`, but as numbers, for speed; within an event in any order, unless `ordered`."""
        if self._ids is None:
            return self.filters.match_pairs(_given(events), threads=threads, ordered=ordered, rejects=rejects)
        batch = EventBatch(as_events(events), last=bool(self._patterns))
        outcomes = step(self, self.begin(_AT_ONCE), batch, in_place=True, rejects=rejects, threads=threads).outcomes
        return MatchPairs(outcomes.event, outcomes.place.astype(np.int32))

    def match_offer(self, when: str) -> list[str]:
        """The ids of the subscriptions to offers that this offer would meet, in the order of addition.

        In a `stream`, offers are kept until they expire or are withdrawn, and meet later subscriptions too.
        """
        found = self._asked.met(when)
        return sorted(found, key=self.want_places.__getitem__)

    @cached_property
    def _asked(self) -> OfferBook:
        """The wants of the set, with no offers yet."""
        from vedette.engine.offers import OfferBook

        made = OfferBook(self.schema)
        made.follow(self.wants)
        return made

    def match_rows(
        self, events: Any, *, threads: int = 1, ordered: bool = False, rejects: list[Reject] | None = None
    ) -> RowsOfEvents:
        """As `match_pairs`, by event: the subscriptions of event e are `subscription[start[e] : start[e + 1]]`."""
        events = _given(events)
        if self._ids is None:
            return self.filters.match_rows(events, threads=threads, ordered=ordered, rejects=rejects)
        pairs = self.match_pairs(events, threads=threads, ordered=True, rejects=rejects)
        start = np.searchsorted(pairs.event, np.arange(len(events) + 1)).astype(np.int64)
        return RowsOfEvents(start, pairs.subscription)

    def encode(
        self, events: Any, *, rejects: list[Reject] | None = None, promised: Collection[Column] = ()
    ) -> EncodedEvents:
        """Encode events as typed columns, for matching filters more than once; `promised` columns are encoded, too."""
        return self._view.encode(as_events(events), rejects, promised)

    def undecided(self, encoded: EncodedEvents) -> int:
        """How many pairs of event and filter are left to operators; no operator is called."""
        return 0 if self.calls is None else self.calls.undecided(encoded)

    # ------------------------------------------------------------ streams

    def begin(self, terms: StreamOptions | None = None) -> StreamState:
        """The state before the first event of a stream."""
        return StreamState.begin(self, StreamOptions() if terms is None else terms)

    def stream(
        self,
        *,
        lateness: dt.timedelta | None = dt.timedelta(0),
        learn: bool = True,
        cap: int = CAP,
        direction: Direction = "publication",
    ) -> Stream:
        """Start a stream with a state of its own: filters see events as they come, patterns in the order of their time.

        Within `lateness` events may come in any order (None: all are held back until `finish`). Of a partition at most
        `cap` partial matches are kept. Unless `learn` is false, forecasts learn from the events. Where offers meet
        subscriptions, all attributes of the side that `direction` names have to be met.
        """
        from vedette.engine.stream import Stream

        return Stream(self, lateness=lateness, learn=learn, cap=cap, direction=direction)

    def resume(self, data: bytes, *, learn: bool = True) -> Stream:
        """Resume a stream from its `to_bytes`, perhaps under a changed set."""
        from vedette.engine.stream import Stream

        return Stream.at(StreamState.from_bytes(data, self, learn=learn))

    def live(self, *, sample: Events | None = None) -> LiveEngine:
        """A live engine, which takes changes while it matches, starting from this one.

        Events given as `sample` steer how indexes are laid out, never what they answer.
        """
        from vedette.engine.live import LiveEngine

        return LiveEngine(self, sample=sample)

    # ------------------------------------------------------------ why

    def explain(
        self,
        event: Mapping[str, Any],
        id_: str,
        *,
        before: Iterable[Mapping[str, Any]] = (),
        names: Sequence[str] | None = None,
        times: Sequence[int] | None = None,
    ) -> Explanation:
        """Explain why an event matches a subscription or not: every part, the value seen, the nearest miss.

        For a filter that calls operators, also how the calls were planned; for a pattern, where it is after the events
        `before`, in the order of their time. These and the event are shown by their `names`, or by numbers, and are
        placed at `times` (microseconds since 1970), or at the times in the events.
        """
        check_event(event)
        if id_ in self._calls and self.calls is not None:
            from vedette.operators.explain import explain_operators

            return explain_operators(self.calls, event, id_)
        if id_ in self.wants:
            raise InputError(f"{id_!r} subscribes to offers, not to events\nHint: match_offer says who meets an offer")
        if id_ in self._patterns:
            return self._explained(self._patterns[id_], [*before, event], names, times)
        return self.filters.explain(event, id_)

    def _explained(
        self,
        record: PatternRecord,
        events: list[Mapping[str, Any]],
        names: Sequence[str] | None,
        times: Sequence[int] | None,
    ) -> Explanation:
        from vedette.patterns.event_times import times_of
        from vedette.patterns.explain import explain_pattern
        from vedette.patterns.partition_follower import NamedEvent

        tree = parse(record.text)
        assert isinstance(tree, Composite)  # as of every pattern
        if times is None:
            times = times_of(events, self.schema).filled(None).tolist()
        called = [str(number) for number in range(len(events))] if names is None else names
        seen = [NamedEvent(*each) for each in zip(called, times, events, strict=True)]
        return explain_pattern(tree, seen, len(seen) - 1, self.schema, record.text, self.calling)

    def failing(self, events: Any, id_: str) -> list[tuple[str, int]]:
        """The tests that kept events from matching a filter, each with its number of events; the most frequent first.

        If the filter calls operators, they are called for every event.
        """
        if not isinstance(events, Iterator) or hasattr(events, "__arrow_c_stream__"):
            events = as_events(events)
        if id_ in self._calls and self.calls is not None:
            from vedette.operators.explain import explain_operators

            if isinstance(events, pa.Table | pa.RecordBatch):
                events = iter(TableEvents(events).dicts([EVERYTHING]))
            blamed = Counter(text for event in events for text in explain_operators(self.calls, event, id_).blamed)
            return blamed.most_common()
        if self._beside(id_) is not None:
            raise InputError(f"{id_!r} is no filter\nHint: explain says of one event why it does not match")
        return self.filters.failing(events, id_)

    @property
    def counts(self) -> EvaluationCounts:
        """Counts of the evaluations that were asked for, made and saved so far."""
        return self.calling.counts

    @property
    def statistics(self) -> Statistics:
        """Statistics of operators, learned so far: `Model().knowing(statistics)` takes them to another set."""
        return self.calling.statistics

    @property
    def failures(self) -> Mapping[str, Mapping[Failure, int]]:
        """Failures of operators: by name, then by kind."""
        return self.calling.failures

    # ------------------------------------------------------------ covering, and memory

    @property
    def covered(self) -> Mapping[str, CoverAnswer]:
        """The filters that others cover, and how; empty unless the set was compiled with `covering`."""
        from vedette.covering.matcher import CoveringMatcher

        return self.filters.covered if isinstance(self.filters, CoveringMatcher) else {}

    @property
    def savings(self) -> Savings | None:
        """The savings by covering so far; None without covering."""
        from vedette.covering.matcher import CoveringMatcher

        return self.filters.savings if isinstance(self.filters, CoveringMatcher) else None

    def count_anew(self) -> None:
        """Reset the savings by covering, e.g. after warm-up events."""
        self.filters.count_anew()

    @property
    def segment(self) -> Segment:
        """The plain filters, compiled."""
        return self.filters.segment

    @property
    def nbytes(self) -> int:
        """The bytes of constants, predicates and index; without ids and texts."""
        machines = 0 if self._machines is None else self._machines.graph.nbytes
        return self.filters.nbytes + machines + (0 if self.calls is None else self.calls.plan.segment.nbytes)

    # ------------------------------------------------------------ saving

    def save(self, folder: str | Path) -> None:
        """Write a snapshot, a folder that `vedette.open` opens: arrays that are mapped, texts that are parsed again."""
        from vedette.engine.snapshot import save

        save(self, Path(folder))

    @classmethod
    def open(
        cls,
        folder: str | Path,
        *,
        operators: Operators | None = None,
        model: Model | None = None,
        verify: bool = True,
    ) -> Engine:
        """Open a snapshot of any kind of set; operators are code, so they are passed in.

        Every byte is compared with its checksum; DamageError says which file is damaged, and where. Without `verify`
        only samples are compared, in milliseconds: damage can then give wrong answers, or end the process.
        """
        from vedette.engine.snapshot import read, unfit

        saved = read(Path(folder), verify=verify, model=model)
        try:
            engine = Engine.restored(saved, Calling(operators, statistics=saved.statistics))
        except (KeyError, IndexError, TypeError, ValueError, pa.ArrowException) as error:
            raise unfit(Path(folder), error) from error
        if saved.version is not None and saved.version != engine.version:
            raise SnapshotError(f"{folder}: its parts were not saved together\nHint: save the subscriptions again")
        return engine

    @classmethod
    def restored(
        cls, saved: SavedEngine, calling: Calling, *, stateless: bool = False, like: Engine | None = None
    ) -> Engine:
        """The engine of a snapshot that was read; if `stateless`, of its filters alone, which need no state."""
        patterns, wants = ((), ()) if stateless else (saved.patterns, saved.wants)
        others: list[SpecialRecord] = [*saved.calls, *patterns, *wants]
        if saved.plain_places is None or not others:
            return Engine(saved.filters, calling=calling, model=saved.model)
        names = [one.id for one in others]
        order = np.argsort(np.concatenate([saved.plain_places, [saved.places[name] for name in names]]))
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return Engine(
            saved.filters,
            saved.calls,
            patterns,
            wants,
            ids=pa.concat_arrays([saved.filters.ids, pa.array(names, pa.large_string())]).take(pa.array(order)),
            filter_places=place[: len(saved.filters)],
            places=dict(zip(names, place[len(saved.filters) :].tolist(), strict=True)),
            calling=calling,
            model=saved.model,
            like=like,
        )

    # ------------------------------------------------------------ ending

    def close(self) -> None:
        """End the background work of operators."""
        self.calling.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        beside = [f"{count:,} {_PLURALS[kind]}" for kind, count in self.kinds.items() if count]
        more = f" ({', '.join(beside)})" if len(beside) > 1 or self._ids is not None else ""
        return f"<Engine: {counted(len(self), 'subscription')}{more}, index {self.index}, {self.nbytes:,} bytes>"

    def _repr_html_(self) -> str:
        facts = {
            "subscriptions": f"{len(self):,}",
            **{_PLURALS[kind]: f"{count:,}" for kind, count in self.kinds.items() if count and self._ids is not None},
            "conjunctions": f"{self.segment.conjunctions:,}",
            "index": self.index,
            "bytes": f"{self.nbytes:,}",
            "attributes": ", ".join(sorted({column.name for column in self.columns})),
        }
        rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(fact)}</td></tr>" for name, fact in facts.items())
        return f"<table><caption>Engine</caption>{rows}</table>"


def _given(events: Any) -> Any:
    """Events in any accepted form; events that are already encoded stay as they are."""
    return events if isinstance(events, EncodedEvents) else as_events(events)


def _said(one: SpecialRecord) -> tuple[Any, ...]:
    """The facts by which two subscriptions are the same."""
    if isinstance(one, WantRecord):
        return one.id, one.text, one.subscriber, None, "offers"
    return one.id, one.text, one.subscriber, one.predict if isinstance(one, PatternRecord) else None
