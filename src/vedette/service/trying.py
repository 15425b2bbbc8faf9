"""What would a subscription have told? A dry run on sample events and on recent traffic; nothing is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from vedette.errors import InputError
from vedette.language.check import check
from vedette.language.parser import parse
from vedette.matching.explain import explain
from vedette.service import clock
from vedette.service.engine import Batch, Engine, Told
from vedette.service.registry import Wanted

if TYPE_CHECKING:
    from vedette.service.service import Service

_HOUR: Final = 3600 * clock.SECOND
_RECENT: Final = 10_000  # events of the last hour that are looked at
_SHOWN: Final = 20


class TriedEvent(BaseModel):
    """What one sample event tells, and why or why not."""

    event: str
    matches: bool
    why: str | None = None


class Tried(BaseModel):
    """What a subscription is and costs, and what it would have told."""

    kind: str
    cost: float
    when: str
    events: list[TriedEvent]
    recent_events: int = 0
    recent_matches: int = 0
    recent_predictions: int = 0
    examples: list[dict[str, Any]] = []


def tried(service: Service, wanted: Wanted, samples: Sequence[Mapping[str, Any]], *, recent: bool) -> Tried:
    """Try a subscription that stands nowhere."""
    most = service.settings.limits.test_events
    if len(samples) > most:
        raise InputError(f"{len(samples):,} sample events: the limit is {most:,}\nHint: try fewer")
    kind, cost = service.registry.check(wanted)
    stream = service.streams.get(wanted.stream)
    told = _run(service, wanted, samples)
    matched = {one.event for one in told if one.kind == "match"}
    made = [
        TriedEvent(
            event=str(event.get("id", number)),
            matches=number in matched,
            why=_why(wanted.when, event, stream.schema) if kind == "filter" else None,
        )
        for number, event in enumerate(samples)
    ]
    found = Tried(kind=kind, cost=cost, when=wanted.when, events=made)
    if not recent:
        return found
    traffic = service.journal.recent(wanted.stream, clock.now() - _HOUR, _RECENT)[::-1]
    told = _run(service, wanted, traffic)
    found.recent_events = len(traffic)
    found.recent_matches = sum(one.kind == "match" for one in told)
    found.recent_predictions = len(told) - found.recent_matches
    found.examples = [{"kind": one.kind, "event": traffic[one.event]} for one in told[-_SHOWN:]]
    return found


def _run(service: Service, wanted: Wanted, events: Sequence[Mapping[str, Any]]) -> list[Told]:
    if not events or wanted.want:
        return []
    stream = service.streams.get(wanted.stream)
    with Engine(stream.schema, operators=service.operators) as engine:
        from vedette.matching.patterns import Predict
        from vedette.service.engine import Standing

        engine.add(Standing("trial", wanted.when, None if wanted.predict is None else Predict.of(wanted.predict)))
        numbers = range(len(events))
        return engine.match(Batch(numbers, [str(number) for number in numbers], events), [])


def _why(text: str, event: Mapping[str, Any], schema: Any) -> str:
    return "\n".join(explain(check(parse(text), schema, text), event).lines())
