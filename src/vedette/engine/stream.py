"""One stream of events matched with a set of subscriptions: filters, patterns and forecasts, with its state."""

from __future__ import annotations

import datetime as dt
import os
import reprlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from vedette.engine.offers import StreamOffer
from vedette.engine.outcomes import Outcomes
from vedette.engine.state import StreamOptions, StreamState
from vedette.engine.step import EventBatch, as_events, step
from vedette.errors import InputError, UnknownSubscription
from vedette.filters.subscription_records import CAP, PatternRecord
from vedette.filters.subscription_set import SubscriptionSet
from vedette.meeting.direction import Direction, check_direction
from vedette.operators.calling import Calling
from vedette.patterns.event_times import TIME, times_of
from vedette.patterns.forecasts.forecast_reasons import probability_by_depth
from vedette.patterns.forecasts.model import Model
from vedette.patterns.forecasts.score import Score
from vedette.patterns.machine_pictures import MachineProgress
from vedette.patterns.state_diagrams import Picture
from vedette.schema.encode import Reject
from vedette.schema.schema import Schema

if TYPE_CHECKING:
    from vedette.engine.engine import Engine

_MICROSECOND = dt.timedelta(microseconds=1)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class Stream:
    """Match a stream of events: process events in batches or one by one, get matches and predictions.

    Patterns see events in the order of their time: within `lateness` they may come in any order (None: all are held
    back until `finish`). Filters see them as they come. Use it from one thread at a time.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        lateness: dt.timedelta | None = dt.timedelta(0),
        learn: bool = True,
        cap: int = CAP,
        direction: Direction = "publication",
    ) -> None:
        self._engine = engine
        check_direction(direction)
        self._state = StreamState.begin(engine, StreamOptions(_microseconds(lateness), learn, cap, direction=direction))

    def _present(self) -> Engine:
        """The set that is matched now."""
        return self._engine

    def update(self, subscriptions: SubscriptionSet) -> None:
        """Switch to another set, or take up changes of this one: patterns that are in both keep their state."""
        check_set(subscriptions)
        self._follow(self._engine.changed(subscriptions))

    def _follow(self, engine: Engine) -> None:
        self._engine, self._state = engine, self._state.following(engine)

    # ------------------------------------------------------------ events

    def process(
        self, events: Any, *, ids: Sequence[Any] | None = None, rejects: list[Reject] | None = None
    ) -> pa.Table:
        """Process events; return the outcomes as a table, by event, then by subscription.

        Its columns are event, subscription, kind (match or prediction), steps (name -> event), bindings (variable ->
        value), probability, within.
        `event` is the event's entry in `ids`, by which patterns also recognise duplicates; without `ids` it is its
        number, from 0 over the whole stream. Events that break the schema are an error, or, if a list is given as
        `rejects`, are put there and match nothing.
        """
        return self._told(self.step(EventBatch(as_events(events), ids), rejects=rejects))

    def process_one(self, event: Mapping[str, Any], *, id: str | None = None) -> list[dict[str, Any]]:
        """Process one event; return the outcomes, by subscription, as dicts like the lines of an output file.

        Same as `process` with a list of that event, but faster: for hosts that cannot collect a batch.
        """
        told = self.step(EventBatch([event], None if id is None else [id])).dicts()
        self._state.forget()
        return told

    def step(self, batch: EventBatch, *, rejects: list[Reject] | None = None, threads: int = 1) -> Outcomes:
        """Process a batch; return the outcomes as columns."""
        stepped = step(self._present(), self._state, batch, in_place=True, rejects=rejects, threads=threads)
        self._state = stepped.state
        return stepped.outcomes

    def offer(self, id: str, when: str, *, expires: dt.datetime | str | None = None) -> pa.Table:
        """Add an offer, a publication that is itself a constraint; return the meetings, as `process` does.

        It is kept until it expires, by the clock of this machine, or is withdrawn: later subscriptions to offers meet
        it in the next call. In the outcomes of offers, `event` is a text.
        """
        return self._told(self.step(EventBatch(clock=_now(), offers=[StreamOffer(id, when, expires)])))

    def withdraw(self, id: str) -> pa.Table:
        """Withdraw an offer; UnknownSubscription if there is none of this id."""
        return self._told(self.step(EventBatch(clock=_now(), withdrawn=[id])))

    def forget(self) -> None:
        """Drop names of events that no later outcome can use; after `step`, once its outcomes have been read."""
        self._state.forget()

    @property
    def events(self) -> int:
        """The number of events so far, which is the number of the next one."""
        return self._state.events

    def advance(self, *, to: Any) -> pa.Table:
        """Advance the time, given as in an event: events held back until then are processed.

        Events that come after this and are earlier are late: patterns ignore them.
        """
        return self._told(self.step(EventBatch(watermark=_moment(to))))

    def finish(self) -> pa.Table:
        """Process the events that patterns still hold back; the stream ends."""
        return self._told(self.step(EventBatch(last=True)))

    def _told(self, outcomes: Outcomes) -> pa.Table:
        made = outcomes.table()
        self._state.forget()
        return made

    def pending(self, top: int = 20) -> list[dict[str, Any]]:
        """The partial matches that are most likely to complete; of equally likely ones, the latest first.

        Each has its subscription, the steps taken (name -> event), when it began and, if there is a window, until when
        it can complete; with a trained forecast, the probability of completion of patterns that are as far.
        """
        names = self._present().pattern_records
        state = self._state
        by_depth: dict[int, dict[int, float]] = {}
        found: list[tuple[float, int, dict[str, Any]]] = []
        for one in state.patterns.unfinished():
            record = state.patterns.patterns[one.pattern]
            if one.pattern not in by_depth:
                known = names[record.id].predict is not None
                by_depth[one.pattern] = probability_by_depth(state.forecaster.follower(one.pattern)) if known else {}
            likely = by_depth[one.pattern].get(len(one.witness))
            steps = state.telling.names(one.pattern)
            told: dict[str, Any] = {
                "subscription": record.id,
                "steps": {steps[at]: self._called(taken) for at, taken in one.witness},
                "since": _time(one.start),
                "until": None if one.deadline is None else _time(one.deadline),
                "probability": likely,
            }
            found.append((-1.0 if likely is None else likely, one.start, told))
        found.sort(key=lambda each: (-each[0], -each[1]))
        return [told for _, _, told in found[:top]]

    def _called(self, number: int) -> Any:
        return self._state.telling.called(number) if self._state.named else number

    def origin(self, id_: str) -> dict[str, Any]:
        """The origin of a subscription for notifications: title, level, author; empty if none of these is given."""
        return self._present().origin(id_)

    # ------------------------------------------------------------ metrics and progress

    @property
    def metrics(self) -> dict[str, Any]:
        """Counts of events, of evaluations and of failures; scores of forecasts, by subscription and in all."""
        counts, forecaster = self._state.patterns.counts, self._state.forecaster
        return {
            **self._state.counts,
            "late": counts.late,
            "duplicates": counts.duplicates,
            "shed": counts.shed,
            "operators": _called(self._present().calling),
            "forecasts": self.score.figures(),
            "by_subscription": {id_: score.figures() for id_, score in self.scores.items()},
            "by_parts": forecaster.by_parts,
            "drifts": {id_: [str(drift) for drift in drifts] for id_, drifts in forecaster.drifts.items()},
        }

    @property
    def score(self) -> Score:
        """The score of all forecasts together."""
        return self._state.forecaster.score

    @property
    def scores(self) -> dict[str, Score]:
        """The scores of forecasts, by subscription."""
        return self._state.forecaster.scores

    def progress(self, id_: str) -> MachineProgress:
        """The progress of a pattern, taken quickly: another thread or process can draw it later.

        InputError for a subscription that is none, UnknownSubscription if there is none of this id.
        """
        number, record = self._numbered(id_)
        standing = self._state.patterns.standing(number)
        if record.predict is None:
            return MachineProgress(record.text, standing)
        follower = self._state.forecaster.follower(number)
        return MachineProgress(record.text, standing, probability_by_depth(follower), follower.score.figures())

    def picture(self, id_: str) -> Picture:
        """A picture of a pattern's machine now: the number of partial matches by state, and their probabilities."""
        return self.progress(id_).picture()

    def _numbered(self, id_: str) -> tuple[int, PatternRecord]:
        present = self._present()  # the set may have changed since the last event
        for number, record in self._state.patterns.patterns.items():
            if record.id == id_:
                return number, record
        if id_ in present:
            raise no_machine(id_)
        raise UnknownSubscription(f"there is no pattern {id_!r}")

    def model(self) -> Model:
        """A model of patterns and operators as learned so far, to be saved and used elsewhere."""
        return self._state.forecaster.model().knowing(self._present().calling.statistics)

    # ------------------------------------------------------------ ending

    def close(self) -> None:
        """End the background work of operators."""
        self._present().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    # ------------------------------------------------------------ saving

    def to_bytes(self) -> bytes:
        """The state of all patterns and forecasts as bytes, without the subscriptions."""
        return self._state.to_bytes()

    @classmethod
    def at(cls, state: StreamState) -> Self:
        """A stream that continues from a state, under the state's set."""
        made = cls.__new__(cls)
        made._engine, made._state = state.engine, state
        return made

    def __repr__(self) -> str:
        engine = self._present()
        filters, patterns = len(engine) - len(engine.pattern_records), len(engine.pattern_records)
        return f"<{type(self).__name__}: {filters:,} filters, {patterns:,} patterns, {self._state.events:,} events>"


def _called(calling: Calling) -> dict[str, Any]:
    """Counts of operators: evaluations asked for and made, failures, joins given up."""
    counts, made = calling.counts, calling.made
    return {
        "asked": counts.asked,
        "made": sum(made.values()),
        "by_operator": made,
        "failures": {name: dict(kinds) for name, kinds in calling.failures.items()},
        "joins_given_up": counts.joins_given_up,
    }


def check_set(subscriptions: object) -> None:
    """Raise InputError unless this is a set of subscriptions."""
    if not isinstance(subscriptions, SubscriptionSet):
        raise InputError(
            f"{_shown(subscriptions)} is no set of subscriptions\n"
            """Hint: subscriptions = vedette.Subscriptions(); subscriptions.add("s1", "[x = 1] ; [x = 2] within 1 h")"""
        )


def check_model(model: object) -> None:
    """Raise InputError unless this is a model or None."""
    if model is not None and not isinstance(model, Model):
        is_path = isinstance(model, str | os.PathLike)
        hint = f"read it first: vedette.Model.load({str(model)!r})" if is_path else "vedette.Model.load reads one"
        raise InputError(f"{_shown(model)} is no model\nHint: {hint}")


def _microseconds(lateness: dt.timedelta | None) -> int | None:
    if lateness is not None and (not isinstance(lateness, dt.timedelta) or lateness < dt.timedelta(0)):
        raise InputError(
            f"a lateness of {_shown(lateness)}\n"
            "Hint: a length of time from 0 on, such as timedelta(minutes=5), or None to sort everything"
        )
    return None if lateness is None else lateness // _MICROSECOND


def _now() -> int:
    """The clock of this machine, in microseconds since 1970."""
    return (dt.datetime.now(dt.UTC) - _EPOCH) // _MICROSECOND


def _moment(to: Any) -> int:
    """A time given as in events, in microseconds since 1970."""
    times = times_of([{TIME: to}], Schema({}, closed=False))
    if times.rejects or not times.known.all():
        why = times.rejects[0].reason if times.rejects else f"{to!r} is no time"
        raise InputError(f"{why}\nHint: a text such as '2024-05-01T12:30:00Z', a datetime, or seconds since 1970")
    return int(times.microseconds[0])


def _time(microseconds: int) -> dt.datetime | None:
    try:
        return _EPOCH + microseconds * _MICROSECOND
    except OverflowError:
        return None


def _shown(value: object) -> str:
    return str(value) if isinstance(value, dt.timedelta) else reprlib.repr(value)


def no_machine(id_: str) -> InputError:
    """The error for a subscription whose machine is asked for, and that is not a pattern."""
    return InputError(
        f"{id_!r} is not a pattern, and only a pattern has a machine\nHint: a pattern has steps: [a = 1] ; [b = 2]"
    )
