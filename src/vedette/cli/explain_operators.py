"""`vedette explain` for a filter that calls operators: with the plan for all subscriptions of the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from vedette.cli.loading import load_by_events
from vedette.cli.lookup import find_event, python_events
from vedette.cli.streams import EventStream
from vedette.cli.terminal import Terminal
from vedette.errors import SchemaError
from vedette.files.subscriptions import SubscriptionRecord, SubscriptionRows
from vedette.language.checked import Residual
from vedette.matching.subscriptions import Subscriptions
from vedette.operators.calling import Calling
from vedette.operators.explanation import OperatorExplanation
from vedette.operators.matcher import OperatorMatcher

_EXPLAINED = 2_000  # events that did not match, whose reasons are looked into: each may call operators


def explained(
    record: SubscriptionRecord,
    file: SubscriptionRows,
    events: EventStream,
    event: str,
    calling: Calling,
    terminal: Terminal,
) -> OperatorExplanation:
    """One event, with the plan that all subscriptions of the file lead to."""
    subscriptions = load_by_events(file, events, terminal)
    if record.id not in subscriptions:  # it has expired
        subscriptions.add(record.id, record.when, subscriber=record.subscriber)
    with terminal.working(f"looking for event {event}", "events"):
        found = find_event(events, event)
    with calling.matcher(subscriptions) as matcher:
        try:
            return matcher.explain(found, record.id)
        except SchemaError as error:
            raise SchemaError(f"event {event!r} breaks the schema, so `match` rejects it: {error}") from None


def overview(record: SubscriptionRecord, events: EventStream, calling: Calling, terminal: Terminal) -> Iterator[str]:
    """What all events made of the subscription, and what kept them from matching."""
    alone = Subscriptions(events.schema)
    alone.add(record.id, record.when)
    total = matched = rejected = looked_into = 0
    blamed: Counter[str] = Counter()
    with calling.matcher(alone) as matcher, terminal.working("explaining", "events") as bar:
        for chunk in events:
            refused: list[Any] = []
            found = matcher.matches(chunk.events, ids=chunk.ids.to_pylist(), rejects=refused)
            missed = np.ones(len(chunk), np.bool_)
            missed[found.event] = False
            missed[[one.row for one in refused]] = False
            total += len(chunk) - len(refused)
            matched += len(found.event)
            rejected += len(refused) + len(chunk.rejects)
            places = np.flatnonzero(missed)[: _EXPLAINED - looked_into]
            looked_into += len(places)
            for one in python_events(chunk, places):
                blamed.update(_blamed(matcher, record.id, one))
            bar.show(events.progress, total)
    aside = f" {rejected:,} more cannot be read or break the schema." if rejected else ""
    yield f"{matched:,} match, {total - matched:,} do not.{aside}"
    if blamed:
        of = "" if looked_into == total - matched else f" (of the first {looked_into:,} that did not)"
        yield f"What kept them from matching, most often first{of}:"
    for text, count in blamed.most_common():
        yield f"{count:>12,}  {count / looked_into:>6.1%}  {text}"
    yield (
        f"Operators: {matcher.counts.made:,} evaluations made of {matcher.counts.asked:,} that were asked for, "
        f"for {matcher.counts.events:,} of {total:,} events."
    )


def _blamed(matcher: OperatorMatcher, id_: str, event: dict[str, Any]) -> list[str]:
    """What ruled one event out: a predicate, or the parts that failed; who was not asked is not to blame."""
    explanation = matcher.explain(event, id_)
    if explanation.ruled_out_by is not None:
        return [explanation.ruled_out_by]
    if explanation.parts.matched:
        return ["no values of the variables fit together"]
    failed = explanation.parts.failed
    asked = [each for each in failed if each.truth is False or not isinstance(each.part, Residual)]
    return list(dict.fromkeys(each.text for each in asked or failed))
