"""Explains why sample events match a subscription or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from vedette.engine.engine import Engine
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import InputError, NotSupported
from vedette.filters.explanation import Explanation
from vedette.operators.registry import Operators
from vedette.patterns.event_times import TIME, stamped, times_of
from vedette.schema.schema import Schema
from vedette.service import clock

Event = Mapping[str, Any]
_ID: Final = "trial"
_FOLLOWED: Final = 25  # events that are explained where others came before: each one follows all before it, one by one


def reasons(
    when: str, events: Sequence[Event], names: Sequence[str], schema: Schema, operators: Operators | None
) -> list[str | None]:
    """Why each event matches or not; None for events of a pattern beyond the first few."""
    alone = Subscriptions(schema)
    alone.add(_ID, when)
    with alone.compile(operators=operators) as engine:
        if engine.has_state:
            return _followed(engine, events, names)
        return [_said(partial(engine.explain, event, _ID)) for event in events]


def _followed(engine: Engine, events: Sequence[Event], names: Sequence[str]) -> list[str | None]:
    """The same for subscriptions with state: each event is explained after all earlier ones, in the order of time."""
    found: list[str | None] = [None] * len(events)
    timed = list(events)
    if engine.schema.type_of(TIME) is None:
        timed = stamped(timed, [clock.now()] * len(timed))
    try:
        times = times_of(timed, engine.schema)
    except (InputError, NotSupported) as error:
        return [str(error)] * len(events)
    rejected = {one.row: one.reason for one in times.rejects}
    moments = times.filled(None).tolist()
    places = sorted((place for place in range(len(timed)) if place not in rejected), key=lambda at: (moments[at], at))
    for at, place in enumerate(places[:_FOLLOWED]):
        before, called = [timed[each] for each in places[:at]], [names[each] for each in places[: at + 1]]
        found[place] = _said(partial(engine.explain, timed[place], _ID, before=before, names=called))
    return [rejected.get(place, text) for place, text in enumerate(found)]


def _said(explained: Callable[[], Explanation]) -> str:
    """The lines of an explanation without its verdict, or why there is none: the event may break the schema."""
    try:
        return "\n".join(explained().lines())
    except (InputError, NotSupported) as error:
        return str(error)
