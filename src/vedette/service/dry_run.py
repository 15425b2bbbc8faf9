"""Dry run of a subscription on sample events and on recent traffic; nothing is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from vedette.filters.subscription_records import Predict
from vedette.service import clock
from vedette.service.check_context import CheckContext
from vedette.service.event_explanations import reasons
from vedette.service.stream_engine import EngineSubscription, JournalBatch, Notice, StreamEngine
from vedette.service.validation import schema_violations

if TYPE_CHECKING:
    from vedette.service.service import Service

_HOUR: Final = 3600 * clock.SECOND
_RECENT: Final = 10_000  # events of the last hour that are looked at
_SHOWN: Final = 20


class DryRunNotification(BaseModel):
    """A notification for a sample event: match or prediction, and which samples satisfied which steps."""

    kind: str
    steps: dict[str, str] | None
    bindings: dict[str, str] | None
    probability: float | None


class DryRunEvent(BaseModel):
    """Notifications of one sample event, and why it matches or not."""

    event: str
    matches: bool
    why: str | None = None
    told: list[DryRunNotification] = []


class DryRunReport(BaseModel):
    """Kind and cost of a subscription, and the notifications that it would have made."""

    kind: str
    cost: float
    when: str
    events: list[DryRunEvent]
    recent_events: int = 0
    recent_matches: int = 0
    recent_predictions: int = 0
    examples: list[dict[str, Any]] = []


def recent_traffic(service: Service, stream: str, by: str | None) -> JournalBatch:
    """Events of a stream in the last hour, or those that a tenant published (`by`): at most the newest 10,000."""
    return service.journal.recent(stream, service.now() - _HOUR, _RECENT, by=by)


def dry_run(
    grounds: CheckContext,
    when: str,
    predict: Mapping[str, Any] | None,
    samples: Sequence[Mapping[str, Any]],
    traffic: JournalBatch | None,
) -> DryRunReport:
    """Match samples and recent traffic with a subscription that is not registered."""
    kind, cost = grounds.checked(when, predict)
    told = _run(grounds, when, predict, _batch(samples))
    matched = {one.event for one in told if one.kind == "match"}
    names = [str(event.get("id", number)) for number, event in enumerate(samples)]
    whys = _whys(grounds, when, samples, names)
    made = [
        DryRunEvent(
            event=names[number],
            matches=number in matched,
            why=whys[number],
            told=[_told(one, names) for one in told if one.event == number],
        )
        for number in range(len(samples))
    ]
    found = DryRunReport(kind=kind, cost=cost, when=when, events=made)
    if traffic is None:
        return found
    told = _run(grounds, when, predict, traffic)
    found.recent_events = len(traffic)
    found.recent_matches = sum(one.kind == "match" for one in told)
    found.recent_predictions = len(told) - found.recent_matches
    found.examples = [{"kind": one.kind, "event": traffic.events[one.event]} for one in told[-_SHOWN:]]
    return found


def _batch(samples: Sequence[Mapping[str, Any]]) -> JournalBatch:
    """Samples as a batch, as if they were published now."""
    numbers = range(len(samples))
    return JournalBatch(numbers, [str(number) for number in numbers], samples, [clock.now()] * len(samples))


def _run(grounds: CheckContext, when: str, predict: Mapping[str, Any] | None, batch: JournalBatch) -> list[Notice]:
    if not len(batch):
        return []
    with StreamEngine(grounds.schema, operators=grounds.operators) as engine:
        engine.take([EngineSubscription("trial", when, None if predict is None else Predict.of(predict))])
        wrong = {one.row for one in schema_violations(batch.events, grounds.schema)}
        return list(engine.match(batch.only([row for row in range(len(batch)) if row not in wrong]), []))


def _whys(
    grounds: CheckContext, when: str, samples: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> dict[int, str | None]:
    """Why each sample matches or not. One that breaks the schema matches nothing."""
    found: dict[int, str | None] = {
        one.row: f"attribute {one.attribute!r}: {one.reason}" for one in schema_violations(samples, grounds.schema)
    }
    rows = [row for row in range(len(samples)) if row not in found]
    events, called = [samples[row] for row in rows], [names[row] for row in rows]
    whys = reasons(when, events, called, grounds.schema, grounds.operators)
    return found | dict(zip(rows, whys, strict=True))


def _told(one: Notice, names: Sequence[str]) -> DryRunNotification:
    steps = None if one.steps is None else {step: names[int(taken)] for step, taken in one.steps.items()}
    bindings = None if one.bindings is None else dict(one.bindings)
    return DryRunNotification(kind=one.kind, steps=steps, bindings=bindings, probability=one.probability)
