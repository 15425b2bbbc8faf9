"""What would a subscription have told? A dry run on sample events and on recent traffic; nothing is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from vedette.errors import InputError
from vedette.matching.patterns import Predict
from vedette.service import clock
from vedette.service.engine import Batch, Engine, Told
from vedette.service.explaining import reasons
from vedette.service.kinds import Standing
from vedette.service.registry import Wanted

if TYPE_CHECKING:
    from vedette.service.service import Service

_HOUR: Final = 3600 * clock.SECOND
_RECENT: Final = 10_000  # events of the last hour that are looked at
_SHOWN: Final = 20


class TriedTold(BaseModel):
    """What is told at a sample event: a match or a prediction, and which samples took which steps."""

    kind: str
    steps: dict[str, str] | None
    bindings: dict[str, str] | None
    probability: float | None


class TriedEvent(BaseModel):
    """What one sample event tells, and why or why not."""

    event: str
    matches: bool
    why: str | None = None
    told: list[TriedTold] = []


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
    told = _run(service, wanted, _batch(samples))
    matched = {one.event for one in told if one.kind == "match"}
    names = [str(event.get("id", number)) for number, event in enumerate(samples)]
    whys = reasons(wanted.when, kind, samples, names, stream.schema, service.operators)
    made = [
        TriedEvent(
            event=names[number],
            matches=number in matched,
            why=whys[number],
            told=[_told(one, names) for one in told if one.event == number],
        )
        for number in range(len(samples))
    ]
    found = Tried(kind=kind, cost=cost, when=wanted.when, events=made)
    if not recent:
        return found
    traffic = service.journal.recent(wanted.stream, clock.now() - _HOUR, _RECENT)
    told = _run(service, wanted, traffic)
    found.recent_events = len(traffic)
    found.recent_matches = sum(one.kind == "match" for one in told)
    found.recent_predictions = len(told) - found.recent_matches
    found.examples = [{"kind": one.kind, "event": traffic.events[one.event]} for one in told[-_SHOWN:]]
    return found


def _batch(samples: Sequence[Mapping[str, Any]]) -> Batch:
    """Samples as if they were published now."""
    numbers = range(len(samples))
    return Batch(numbers, [str(number) for number in numbers], samples, [clock.now()] * len(samples))


def _run(service: Service, wanted: Wanted, batch: Batch) -> list[Told]:
    if not len(batch) or wanted.want:
        return []
    stream = service.streams.get(wanted.stream)
    with Engine(stream.schema, operators=service.operators) as engine:
        engine.add(Standing("trial", wanted.when, None if wanted.predict is None else Predict.of(wanted.predict)))
        return engine.match(batch, [])


def _told(one: Told, names: Sequence[str]) -> TriedTold:
    steps = None if one.steps is None else {step: names[int(taken)] for step, taken in one.steps.items()}
    bindings = None if one.bindings is None else dict(one.bindings)
    return TriedTold(kind=one.kind, steps=steps, bindings=bindings, probability=one.probability)
