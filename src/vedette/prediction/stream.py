"""Filters, patterns and forecasts over one stream of events: what people hold in their hands."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.composite.machine_pictures import machine_picture
from vedette.composite.matcher import Outcome, PatternMatcher
from vedette.composite.packing import packed, unpacked
from vedette.composite.pictures import Picture
from vedette.composite.step import CAP
from vedette.composite.telling import Telling
from vedette.errors import InputError, UnknownSubscription
from vedette.matching.origins import NO_ORIGIN
from vedette.matching.patterns import PatternRecord
from vedette.matching.subscriptions import Subscriptions
from vedette.matching.view import Events
from vedette.operators.calling import Calling
from vedette.operators.matcher import OperatorMatcher
from vedette.operators.planners import DEFAULT as DEFAULT_PLANNER
from vedette.operators.registry import Operators
from vedette.operators.sources import EventSource, Shared
from vedette.prediction.forecast import Forecaster
from vedette.prediction.model import Model
from vedette.prediction.score import Score
from vedette.prediction.told import Rows, as_dicts, table
from vedette.prediction.why import probability_by_depth
from vedette.schema.encode import Reject

_KIND: Final = "stream matcher"


class StreamMatcher:
    """Subscriptions over a stream: tells which event matched which of them, and what will probably match soon.

    Patterns see events in the order of their time: within `lateness` they may come in any order (None: all are held
    back until `finish`). Filters see them as they come. What changes in the set later is seen after an `update`.
    """

    def __init__(
        self,
        subscriptions: Subscriptions,
        *,
        lateness: dt.timedelta | None = dt.timedelta(0),
        model: Model | None = None,
        learn: bool = True,
        cap: int = CAP,
        operators: Operators | None = None,
        planner: str = DEFAULT_PLANNER,
    ) -> None:
        _check_kinds(subscriptions, model)
        if lateness is not None and (not isinstance(lateness, dt.timedelta) or lateness < dt.timedelta(0)):
            raise InputError(
                f"a lateness of {_shown(lateness)}\n"
                "Hint: a length of time from 0 on, such as timedelta(minutes=5), or None to sort everything"
            )
        microseconds = None if lateness is None else lateness // dt.timedelta(microseconds=1)
        records = subscriptions.patterns.values()
        self._calling = Calling(operators, planner, None if model is None else model.operators)
        patterns = PatternMatcher(records, subscriptions.schema, lateness=microseconds, cap=cap, calling=self._calling)
        self._begin(subscriptions, patterns)
        self._forecaster = Forecaster(self._patterns.patterns, model, learn=learn)
        self._patterns.expect(self._forecaster.expected())
        self._telling = Telling(self._patterns.patterns)
        self._named: bool | None = None  # events have ids, or only numbers: the first ones decide
        self._told = {"events": 0, "matches": 0, "predictions": 0}

    def _begin(self, subscriptions: Subscriptions, patterns: PatternMatcher) -> None:
        self._ids = list(subscriptions)
        self._patterns = patterns
        self._origins = {id_: one.origin or NO_ORIGIN for id_, one in subscriptions.patterns.items()}
        self._filters = (
            self._calling.matcher(subscriptions)
            if subscriptions.with_operators
            else subscriptions.compile(filters_only=True)
        )
        is_filter = [id_ not in subscriptions.patterns for id_ in self._ids]
        self._filter_places = np.flatnonzero(np.asarray(is_filter, np.bool_))
        place_of = {id_: place for place, id_ in enumerate(self._ids)}
        self._pattern_places = {number: place_of[one.id] for number, one in patterns.patterns.items()}

    def update(self, subscriptions: Subscriptions) -> None:
        """Follow another set, or the same one as it is now: patterns that are in both go on where they stand."""
        _check_kinds(subscriptions, None)
        before = {record.id: number for number, record in self._patterns.patterns.items()}
        _follow(self._patterns, subscriptions)
        after = {record.id: number for number, record in self._patterns.patterns.items()}
        for id_, number in before.items():
            if after.get(id_) != number:
                self._forecaster.remove(number)
        for id_, number in after.items():
            if before.get(id_) != number:
                self._forecaster.add(number, subscriptions.patterns[id_])
        self._patterns.expect(self._forecaster.expected())
        self._begin(subscriptions, self._patterns)
        self._telling.follow(self._patterns.patterns)

    # ------------------------------------------------------------ events

    def process(
        self, events: Events, *, ids: Sequence[str] | None = None, rejects: list[Reject] | None = None
    ) -> pa.Table:
        """Let events happen; what came of them as a table, by event, then by subscription.

        Its columns are event, subscription, kind (match or prediction), steps (name -> event), bindings (variable ->
        value), probability, within.
        Events are named by their `ids`, of which patterns count each once; without them by their numbers, from 0 over
        the whole stream. Events that break the schema are an error, or, if a list is handed in as `rejects`, are put
        there and do not count.
        """
        rows = self._happened(events, ids, rejects)
        made = self._table(rows)
        self._forget()
        return made

    def process_one(self, event: Mapping[str, Any], *, id: str | None = None) -> list[dict[str, Any]]:
        """Let one event happen; what came of it, by subscription, each a dict as it would be written to a file.

        The same as `process` with a list of that event, and quicker: for those who cannot wait for a second one.
        """
        rows = self._happened([event], None if id is None else [id], None)
        self._count(rows)
        told = as_dicts(rows, self._ids, self._pattern_places, self._telling, named=bool(self._named))
        self._forget()
        return told

    def _happened(self, events: Events, ids: Sequence[str] | None, rejects: list[Reject] | None) -> list[Rows]:
        first = self._told["events"]
        self._check_ids(len(events), ids)
        broken: list[Reject] = []
        known = None if rejects is None else broken
        called = range(first, first + len(events)) if ids is None else [str(id_) for id_ in ids]
        source = self._source(events, called)
        rows = [self._filtered(events, source, first, known)] if self._filter_places.size else []
        outcome = self._patterns.process(events, ids=ids, rejects=known, source=source)
        self._telling.keep(first, called, events)
        self._named = ids is not None
        self._told["events"] += len(events)
        rows += self._heard(outcome)
        if rejects is not None:
            rejects += {reject.row: reject for reject in reversed(broken)}.values()
        return rows

    def _forget(self) -> None:
        if self._telling.crowded:
            self._telling.forget(self._patterns.remembered())

    def _check_ids(self, count: int, ids: Sequence[str] | None) -> None:
        if ids is not None and len(ids) != count:
            raise InputError(f"there are {len(ids)} ids for {count} {'event' if count == 1 else 'events'}")
        if self._named is not None and (ids is not None) != self._named:
            raise InputError("some events of the stream have ids, others none\nHint: hand in `ids` always, or never")

    def finish(self) -> pa.Table:
        """Let those events happen to patterns that were held back."""
        return self._table(self._heard(self._patterns.finish()))

    def _source(self, events: Events, called: Sequence[object]) -> EventSource | None:
        """What operators see of the events; filters and patterns share what these found. None without operators."""
        in_filters, in_patterns = isinstance(self._filters, OperatorMatcher), self._patterns.operators is not None
        if not in_filters and not in_patterns:
            return None
        shared = Shared(np.arange(len(events)), {}) if in_filters and in_patterns else None
        return EventSource(events, self._patterns.schema, list(map(str, called)), shared)

    def _filtered(self, events: Events, source: EventSource | None, first: int, rejects: list[Reject] | None) -> Rows:
        if isinstance(self._filters, OperatorMatcher):
            found = self._filters.matches(events, source=source, rejects=rejects)
            return Rows.of_filters(found.event + first, found.subscription, found.bindings)
        if len(events) == 1 and isinstance(events, list):
            with contextlib.suppress(AttributeError, InputError, TypeError):  # below it is said what is wrong
                places = self._filter_places[self._filters.match_numbers(events[0])]
                return Rows.of_filters(np.full(places.size, first, np.int64), places)
        pairs = self._filters.match_pairs(events, ordered=True, rejects=rejects)
        return Rows.of_filters(pairs.event + first, self._filter_places[pairs.subscription])

    def _heard(self, outcome: Outcome) -> list[Rows]:
        matches = outcome.matches
        completed = Rows.of_patterns(matches.event, matches.pattern, matches.witness)
        if not len(outcome.observations):  # nothing is forecast, or nothing of it was touched
            return [completed]
        predictions = self._forecaster.process(outcome.observations)
        self._patterns.expect(self._forecaster.expected())
        return [
            completed,
            Rows.of_patterns(
                predictions.event,
                predictions.pattern,
                predictions.witness,
                probability=predictions.probability,
                within=predictions.within,
            ),
        ]

    def _table(self, rows: Sequence[Rows]) -> pa.Table:
        self._count(rows)
        return table(rows, self._ids, self._pattern_places, self._telling, named=bool(self._named))

    def _count(self, rows: Sequence[Rows]) -> None:
        for one in rows:
            self._told["matches" if one.probability is None else "predictions"] += len(one.event)

    def origin(self, id_: str) -> dict[str, Any]:
        """What notifications say of where a subscription comes from: title, level, author; empty if that is nothing."""
        return self._origins[id_].told if id_ in self._origins else self._filters.origin(id_)

    # ------------------------------------------------------------ how it goes

    @property
    def metrics(self) -> dict[str, Any]:
        """What went through, what operators were spared, how good forecasts have been, by subscription and in all."""
        counts = self._patterns.counts
        return {
            **self._told,
            "late": counts.late,
            "duplicates": counts.duplicates,
            "shed": counts.shed,
            "operators": self._called(),
            "forecasts": self.score.figures(),
            "by_subscription": {id_: score.figures() for id_, score in self.scores.items()},
            "by_parts": self._forecaster.by_parts,
            "drifts": {id_: [str(drift) for drift in drifts] for id_, drifts in self._forecaster.drifts.items()},
        }

    def _called(self) -> dict[str, Any]:
        counts, made = self._calling.counts, self._calling.made
        return {
            "asked": counts.asked,
            "made": sum(made.values()),
            "by_operator": made,
            "failures": {name: dict(kinds) for name, kinds in self._calling.failures.items()},
            "joins_given_up": counts.joins_given_up,
        }

    @property
    def score(self) -> Score:
        """How good all forecasts have been together."""
        return self._forecaster.score

    @property
    def scores(self) -> dict[str, Score]:
        """How good forecasts have been, by subscription."""
        return self._forecaster.scores

    def picture(self, id_: str) -> Picture:
        """The machine of a pattern as it stands now: how many partial matches are where, how probably they complete."""
        number, record = self._numbered(id_)
        known = {} if record.predict is None else probability_by_depth(self._forecaster.follower(number))
        return machine_picture(record.text, probability=known.get, standing=self._patterns.standing(number))

    def _numbered(self, id_: str) -> tuple[int, PatternRecord]:
        for number, record in self._patterns.patterns.items():
            if record.id == id_:
                return number, record
        raise UnknownSubscription(f"there is no pattern {id_!r}")

    def model(self) -> Model:
        """What is known of patterns and operators now, to be saved and used elsewhere."""
        return self._forecaster.model().knowing(self._calling.statistics)

    # ------------------------------------------------------------ ending

    def close(self) -> None:
        """End what operators left running in the background."""
        self._calling.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    # ------------------------------------------------------------ kept

    def to_bytes(self) -> bytes:
        """Where all patterns and forecasts stand; the subscriptions themselves are kept elsewhere."""
        parts = {"patterns": self._patterns.to_bytes(), "forecaster": self._forecaster.to_bytes()}
        arrays: dict[str, NDArray[Any]] = {name: np.frombuffer(data, np.uint8) for name, data in parts.items()}
        self._telling.forget(self._patterns.remembered())
        facts = {
            "told": self._told,
            "named": self._named,
            "events": self._telling.plain(),
            "operators": self._calling.plain(),
        }
        return packed(_KIND, arrays, facts)

    @classmethod
    def from_bytes(
        cls,
        data: bytes,
        subscriptions: Subscriptions,
        *,
        model: Model | None = None,
        learn: bool = True,
        operators: Operators | None = None,
        planner: str = DEFAULT_PLANNER,
    ) -> StreamMatcher:
        """Go on where another stood; patterns that are new, changed or gone meanwhile leave the others as they were."""
        _check_kinds(subscriptions, model)
        arrays, facts = unpacked(_KIND, data)
        made = cls.__new__(cls)
        known = facts.get("operators")
        made._calling = (
            Calling(operators, planner, None if model is None else model.operators)
            if known is None
            else Calling.restored(known, operators, planner)
        )
        patterns = PatternMatcher.from_bytes(arrays["patterns"].tobytes(), calling=made._calling)
        _follow(patterns, subscriptions)
        made._begin(subscriptions, patterns)
        made._forecaster = Forecaster(patterns.patterns, model, learn=learn)
        made._forecaster.restore(arrays["forecaster"].tobytes())
        patterns.expect(made._forecaster.expected())
        made._telling = Telling(patterns.patterns)
        made._telling.restore(facts["events"])
        made._named, made._told = facts["named"], facts["told"]
        return made

    def __repr__(self) -> str:
        filters, patterns = self._filter_places.size, len(self._pattern_places)
        return f"<StreamMatcher: {filters:,} filters, {patterns:,} patterns, {self._told['events']:,} events>"


def _check_kinds(subscriptions: object, model: object) -> None:
    """InputError where something else is handed in than a set of subscriptions and a model."""
    if not isinstance(subscriptions, Subscriptions):
        raise InputError(
            f"{_shown(subscriptions)} is no set of subscriptions\n"
            """Hint: subscriptions = vedette.Subscriptions(); subscriptions.add("s1", "[x = 1] ; [x = 2] within 1 h")"""
        )
    if model is not None and not isinstance(model, Model):
        is_path = isinstance(model, str | os.PathLike)
        hint = f"read it first: vedette.Model.load({str(model)!r})" if is_path else "vedette.Model.load reads one"
        raise InputError(f"{_shown(model)} is no model\nHint: {hint}")


def _shown(value: object) -> str:
    return str(value) if isinstance(value, dt.timedelta) else reprlib.repr(value)


def _follow(patterns: PatternMatcher, subscriptions: Subscriptions) -> None:
    """Patterns that are new, changed or gone leave the others as they were."""
    before = {record.id: record for record in patterns.patterns.values()}
    patterns.change(
        gone=[id_ for id_, record in before.items() if subscriptions.patterns.get(id_) != record],
        new=[record for id_, record in subscriptions.patterns.items() if before.get(id_) != record],
    )
