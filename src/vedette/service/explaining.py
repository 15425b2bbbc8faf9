"""Why does a sample event match, or why not? For filters, filters that call operators, and patterns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from vedette.composite.explain import explain_pattern
from vedette.composite.standing import Seen
from vedette.composite.times import TIME, times_of
from vedette.errors import InputError, NotSupported
from vedette.language import ast
from vedette.language.check import check
from vedette.language.checked import Checked
from vedette.language.parser import parse
from vedette.matching.explain import explain
from vedette.matching.subscriptions import Subscriptions
from vedette.operators.calling import Calling
from vedette.operators.registry import Operators
from vedette.schema.schema import Schema
from vedette.service import clock
from vedette.service.times import with_times

Event = Mapping[str, Any]
_MATCHES, _DIFFERS = "The event matches.\n", "The event does not match.\n"  # which stands beside it anyway
_FOLLOWED: Final = 25  # events of a pattern that are explained: each one follows all before it, one by one


def reasons(
    when: str, kind: str, events: Sequence[Event], names: Sequence[str], schema: Schema, operators: Operators | None
) -> list[str | None]:
    """Why each event matches or does not; None for events of a pattern beyond the first few."""
    expression = parse(when)
    if isinstance(expression, ast.Composite):
        return _of_pattern(expression, when, events, names, schema, operators)
    if kind == "operators":
        return _of_operators(when, events, schema, operators)
    checked = check(expression, schema, when)
    return [_said(partial(_lines, checked, event)) for event in events]


def _lines(checked: Checked, event: Event) -> str:
    return "\n".join(explain(checked, event).lines())


def _of_operators(when: str, events: Sequence[Event], schema: Schema, operators: Operators | None) -> list[str | None]:
    alone = Subscriptions(schema)
    alone.add("trial", when)
    with Calling(operators) as calling, calling.matcher(alone) as matcher:
        whole = [_said(partial(matcher.explain, event, "trial")) for event in events]
        return [text.removeprefix(_MATCHES).removeprefix(_DIFFERS) for text in whole]


def _of_pattern(
    pattern: ast.Composite,
    when: str,
    events: Sequence[Event],
    names: Sequence[str],
    schema: Schema,
    operators: Operators | None,
) -> list[str | None]:
    found: list[str | None] = [None] * len(events)
    timed = events if schema.type_of(TIME) else with_times(events, [clock.now()] * len(events))
    try:
        times = times_of(list(timed), schema)
    except (InputError, NotSupported) as error:
        return [str(error)] * len(events)
    rejected = {one.row: one.reason for one in times.rejects}
    moments = times.filled(None).tolist()
    seen = [
        (moments[place], place, Seen(names[place], moments[place], event))
        for place, event in enumerate(timed)
        if place not in rejected
    ]
    seen.sort(key=lambda each: each[:2])
    history = [each[2] for each in seen]
    with Calling(operators) as calling:
        for at, (_, place, _) in enumerate(seen[:_FOLLOWED]):
            found[place] = _said(partial(explain_pattern, pattern, history, at, schema, when, calling))
    return [rejected.get(place, text) for place, text in enumerate(found)]


def _said(explained: Callable[[], object]) -> str:
    """What is explained, or why it cannot be: the event may break the schema."""
    try:
        return str(explained())
    except (InputError, NotSupported) as error:
        return str(error)
