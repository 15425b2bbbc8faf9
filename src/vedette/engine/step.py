"""The step: (set, state, batch) -> (outcomes, state). Every host decodes events, calls it, and hands outcomes on.

Its contract, which other parts of the code rely on:

(a) A batch may be empty and still move time: of the stream (`watermark`: what was held back until then is processed,
    and timers may fire) and of the host (`clock`: the time of events that have none). The `last` batch processes all
    that was held back.
(b) An outcome has a kind (`outcomes.KINDS`; kinds that are not used yet have reserved numbers) and may come in a
    later step than its event: a pattern that waits for the order of time reports when it is known. Every call of an
    operator ends in the step of its event, by its time limit at the latest. Calls that are to take longer become part
    of the state, by event, subscription and evaluation; their answers come in with a later batch, by this same step,
    which returns the outcome then, by the number of its event. Other events do not wait for them.
(c) A state belongs to one stream. It splits by key into shares, each of which gets every batch, here or
    elsewhere, and shares merge into the state of the whole (`StreamState.split`, `StreamState.merged`). It is
    versioned, and survives changes of the set: every subscription with the same text in both keeps its state
    (`StreamState.following`). What was learnt is part of it: counts of forecasts and statistics of operators are in
    `to_bytes`, and add up (`Model`, `Statistics`).
(d) A set may be segments side by side (a large one and small ones of later additions, as in `live`), or shards:
    outcomes are by subscription, and `united_outcomes` combines those of several sets, in any order and grouping.
(e) Events are read once, before anything is matched: every column that some part asks for, and all columns
    that the schema promises (`StreamOptions.promised`). A derived column (a function of an event, an embedding) is one
    of them: it is computed there, before values get ranks, so that indexes, operators and patterns use it like any
    other. Events that break the schema there match nothing; those that only patterns cannot read count for filters.
(f) Offers are added and withdrawn with a batch (`EventBatch.offers`, `.withdrawn`); wants are subscriptions like
    others, and open offers are part of the state.

The step is pure: its input is not changed, unless the caller owns the state and gives it up (`in_place`). The set
learns what operators cost; this decides the order of calls, and never the outcomes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.engine.outcomes import (
    MATCH,
    MEETING,
    PREDICTION,
    EventIds,
    EventNames,
    OfferNames,
    OutcomeRows,
    Outcomes,
    RangeNames,
    places_of,
    plain,
    texts_of,
)
from vedette.engine.state import StreamState
from vedette.errors import InputError
from vedette.filters.subscription_view import Events
from vedette.patterns.event_times import TIME, stamped
from vedette.schema.columns import Column
from vedette.schema.encode import EncodedEvents, Reject, check_batch

if TYPE_CHECKING:
    from vedette.engine.engine import Engine
    from vedette.engine.offers import RejectedOffers, StreamOffer
    from vedette.meeting.given import RejectedConstraint
    from vedette.operators.event_sources import EventSource
    from vedette.patterns.forecasts.forecast import Forecaster
    from vedette.patterns.matcher import PatternMatcher, PatternOutcome

_NONE: Final = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Some events of a stream, in the order of their arrival, and the time, if it is known.

    Events have `ids`, by which patterns recognise duplicates (None: it has none). In outcomes they have their `names`;
    without names their ids; without these their numbers, from 0 over the whole stream. An event without a time gets
    that of the one before it, or the `clock`; if the schema has no time, the time when it was `received`, which can be
    given for each of a list of dicts. Events held back are processed up to the `watermark`; later arrivals with an
    earlier time are late. After the `last` batch nothing comes. All times are in microseconds since 1970.

    Before its events, `withdrawn` offers are removed and `offers` added; offers expire by the clock, or without one by
    the watermark.
    """

    events: Events = ()
    ids: EventIds | None = None
    names: EventIds | None = None
    clock: int | None = None
    watermark: int | None = None
    last: bool = False
    received: Sequence[int] | None = None
    offers: Sequence[StreamOffer] = ()
    withdrawn: Sequence[str] = ()

    @property
    def called(self) -> EventIds | None:
        """The names of the events; None: their numbers."""
        return self.ids if self.names is None else self.names


class StepResult(NamedTuple):
    """The outcomes of a batch, and the new state of the stream."""

    outcomes: Outcomes
    state: StreamState
    late: NDArray[np.int64]  # the numbers of events that came too late for patterns
    refused: Sequence[RejectedConstraint] = ()  # offers and wants that are invalid
    rejected: NDArray[np.int64] = _NONE  # the numbers of events that break the schema, and match nothing


@dataclass(slots=True)
class _StepOutcomes:
    """The outcomes collected within one step."""

    rows: list[OutcomeRows] = field(default_factory=list)
    late: list[NDArray[np.int64]] = field(default_factory=list)
    offers: dict[int, str] = field(default_factory=dict)  # number -> id of the offers in the outcomes
    refused: RejectedOffers = field(default_factory=list)
    rejected: NDArray[np.int64] = field(default_factory=lambda: _NONE)


def step(
    engine: Engine,
    state: StreamState,
    batch: EventBatch,
    *,
    in_place: bool = False,
    rejects: list[Reject] | None = None,
    threads: int = 1,
) -> StepResult:
    """Process a batch; return its outcomes and the new state.

    Events that break the schema are an error, or, if a list is given as `rejects`, are put there and match nothing.
    Without `in_place` the given state stays as it is.
    """
    if not in_place:
        state = state.copy()
    state = state.following(engine)
    first, told = state.events, _StepOutcomes()
    if state.tells_alone and (state.offers is not None or batch.offers or batch.withdrawn):
        _meet(engine, state, batch, rejects is None, told)
    if len(batch.events):
        _happen(engine, state, batch, rejects, threads, told)
    if batch.watermark is not None:
        _hear(engine, state, state.patterns.advance_to(batch.watermark), told)
    if batch.last and state.followed is not None:
        _hear(engine, state, state.patterns.finish(), told)
    naming: EventNames | None = None
    if state.named:
        naming = state.telling if engine.pattern_places else RangeNames(first, batch.called or ())
    if state.offers is not None:
        naming = OfferNames(told.offers, naming)
    outcomes = Outcomes(told.rows, engine.ids, naming, None if state.followed is None else state.telling)
    for kind, name in _COUNTED:
        state.counts[name] += outcomes.count(kind)
    late = np.concatenate([_NONE, *told.late]) if told.late else _NONE
    return StepResult(outcomes, state, late, told.refused, told.rejected)


_COUNTED: Final = ((MATCH, "matches"), (PREDICTION, "predictions"), (MEETING, "meetings"))


def _meet(engine: Engine, state: StreamState, batch: EventBatch, strict: bool, told: _StepOutcomes) -> None:
    """Expire, withdraw and add offers; add the outcomes of new offers, and of new wants with earlier offers."""
    offers = state.offered()
    now = batch.watermark if batch.clock is None else batch.clock
    found = offers.happen(batch.offers, batch.withdrawn, now, None if strict else told.refused)
    rows, told.offers = offers.rows(found, engine.want_places)
    told.rows += rows


def _happen(
    engine: Engine,
    state: StreamState,
    batch: EventBatch,
    rejects: list[Reject] | None,
    threads: int,
    told: _StepOutcomes,
) -> None:
    events, first, size = batch.events, state.events, len(batch.events)
    state.check_ids(size, batch.called)
    broken: list[Reject] | None = None if rejects is None else []
    followed = bool(engine.pattern_places)
    called = batch.called
    names: Sequence[Any] = ()
    if followed:
        called = names = range(first, first + size) if called is None else texts_of(called)
    source = _source(engine, events, called, first)
    promised = state.terms.promised
    if state.tells_alone:
        told.rows += filter_rows(
            engine, events, source, first=first, rejects=broken, threads=threads, promised=promised
        )
    else:  # for whichever part, events that break the schema match nothing
        engine.encode(events, rejects=broken, promised=promised)
    refused = {reject.row for reject in broken or ()}
    if refused:
        told.rejected = np.array(sorted(refused), np.int64) + first
    if followed:
        timed = _timed(engine, batch)
        if source is not None and timed is not events:  # events got times: earlier results may differ
            source = _source(engine, timed, called, first, shared=False)
        state.patterns.pass_by(first)
        outcome = state.patterns.process(
            timed, ids=plain(batch.ids), rejects=broken, source=source, refused=refused, clock=batch.clock
        )
        state.telling.keep(first, names, events)
        _hear(engine, state, outcome, told)
    state.named = batch.called is not None
    state.counts["events"] += size
    if rejects is not None and broken:
        rejects += sorted(broken, key=lambda reject: reject.row)


def _timed(engine: Engine, batch: EventBatch) -> Events:
    """The events with the times that patterns use."""
    events = batch.events
    if batch.received is None or not isinstance(events, list) or engine.schema.type_of(TIME) is not None:
        return events
    return stamped(events, batch.received)


def _source(
    engine: Engine, events: Events, called: EventIds | None, first: int, *, shared: bool = True
) -> EventSource | None:
    """The events as operators read them, with results that filters and patterns may share. None without operators."""
    if not engine.calls_operators:
        return None
    from vedette.operators.event_sources import EventSource, SharedResults

    shared = shared and engine.calls is not None and engine.machines.operators is not None
    names = range(first, first + len(events)) if called is None else called
    found = SharedResults(np.arange(len(events)), {}) if shared else None
    return EventSource(events, engine.schema, texts_of(names), found)


def filter_rows(
    engine: Engine,
    events: Events,
    source: EventSource | None = None,
    *,
    first: int = 0,
    rejects: list[Reject] | None = None,
    threads: int = 1,
    promised: Collection[Column] = (),
) -> list[OutcomeRows]:
    """Match filters, with and without operators, which need no state: any host may ask for them alone.

    Events are numbered from `first`, and checked against all `promised` columns, even those that nobody asks for.
    """
    if engine.calls is None and not promised:
        return _plain(engine, events, first, rejects, threads) if len(engine.filters) or rejects is not None else []
    if len(events) == 1 and not promised and engine.calls is not None:
        broken = 0 if rejects is None else len(rejects)
        plain = _plain(engine, events, first, rejects, threads)
        if rejects is not None and len(rejects) > broken:
            return []
        found = engine.calls.matches(events, source=source, rejects=rejects)
        if rejects is not None and len(rejects) > broken:
            return []
    else:
        encoded = engine.encode(events, rejects=rejects, promised=promised)
        plain = _plain(engine, encoded, first, None, threads)
        if engine.calls is None:
            return plain
        if source is None:
            source = _source(engine, events, None, first)
        found = engine.calls.matches(encoded, source=source)
    return [*plain, OutcomeRows(found.event + first, engine.call_places[found.subscription], bound=found.bindings)]


def _plain(
    engine: Engine, events: Events | EncodedEvents, first: int, rejects: list[Reject] | None, threads: int
) -> list[OutcomeRows]:
    places = engine.filter_places
    if isinstance(events, list) and len(events) == 1:
        with contextlib.suppress(AttributeError, InputError, TypeError):  # what is wrong is reported below
            numbers = np.array(engine.filters.match_numbers(events[0]), np.int64)
            return [OutcomeRows(np.full(numbers.size, first, np.int64), numbers if places is None else places[numbers])]
    pairs = engine.filters.match_pairs(events, ordered=True, rejects=rejects, threads=threads)
    found = pairs.subscription.astype(np.int64) if places is None else places[pairs.subscription]
    return [OutcomeRows(pairs.event + first if first else pairs.event, found)]


def _hear(engine: Engine, state: StreamState, outcome: PatternOutcome, told: _StepOutcomes) -> None:
    told.rows += pattern_rows(outcome, state.patterns, state.forecaster, engine.pattern_places)
    if outcome.late.size:
        told.late.append(outcome.late)


def pattern_rows(
    outcome: PatternOutcome, patterns: PatternMatcher, forecaster: Forecaster | None, places: Mapping[int, int]
) -> list[OutcomeRows]:
    """Outcomes of patterns: matches and predictions; `places` are the places of the patterns in a set."""
    matches = outcome.matches
    rows = []
    if len(matches):
        rows.append(
            OutcomeRows(
                matches.event,
                places_of(matches.pattern, places),
                MATCH,
                pattern=matches.pattern.astype(np.int64),
                witness=matches.witness,
            )
        )
    if forecaster is not None and len(outcome.observations):  # else nothing that is forecast has changed
        made = forecaster.process(outcome.observations)
        patterns.expect(forecaster.expected())
        if len(made):
            rows.append(
                OutcomeRows(
                    made.event,
                    places_of(made.pattern, places),
                    PREDICTION,
                    pattern=made.pattern.astype(np.int64),
                    witness=made.witness,
                    probability=made.probability,
                    within=made.within,
                )
            )
    return rows


def as_events(events: Any) -> Events:
    """Events in an accepted form: dicts, Arrow tables and batches, or any object that exports an Arrow stream."""
    if isinstance(events, list | pa.Table | pa.RecordBatch):
        return events
    if hasattr(events, "__arrow_c_stream__"):
        return pa.table(events)
    if isinstance(events, Iterator):
        return list(events)
    check_batch(events)
    return list(events)
