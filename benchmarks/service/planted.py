"""Faults are planted in every stage of matching; other tenants are told in the time that they are told in alone.

python -m benchmarks.service.planted

"In the time": within twice the time alone, or 250 ms if that is more. Others are on the same stream where operators
are at fault, and on another stream where plain matching is, whose lane a stream's plain subscriptions share.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import orjson

from vedette.meeting.live_meeting import Side
from vedette.service.incoming_events import EventLimits, read
from vedette.service.notification import NotificationTemplate
from vedette.service.service import Service
from vedette.service.settings import ServiceSettings
from vedette.service.stream_engine import StreamEngine
from vedette.service.subscription_registry import SubscriptionRequest
from vedette.service.tenants import Tenant

LEAST: Final = 0.25  # seconds
_MEASURES: Final = EventLimits(event_bytes=1 << 18, batch_events=1_000, depth=32)
_OPERATORS: Final = """
import time
from vedette import operator

@operator(reads=("x",))
def raises(event): raise RuntimeError("planted")

@operator(reads=("x",))
def ends(event): raise SystemExit(1)

@operator(reads=("x",))
def slow(event):
    time.sleep(2.0)
    return True

@operator(reads=("x",), time_limit=None)
def loops(event):
    while True: pass
"""


def _raises() -> None:
    raise RuntimeError("planted")


def _loops() -> None:
    while True:
        pass


FAULTS: Final[dict[str, Callable[[], None]]] = {"raises": _raises, "loops": _loops}
STAGES: Final[dict[str, tuple[Any, str, str]]] = {  # where it is planted, and what the subscription at fault says
    "filters": (StreamEngine, "match", "x > -7"),
    "patterns": (StreamEngine, "match", "[x > -7]"),
    "changes": (StreamEngine, "take", "x > -7"),
    "state": (StreamEngine, "to_bytes", "[x > -7]"),
    "notifications": (NotificationTemplate, "__init__", "x > -7"),
    "wants": (Side, "take", "x > -7"),
}


@contextmanager
def planted(where: Any, name: str, fault: Callable[[], None], text: str) -> Iterator[None]:
    """Let one function fail for whatever has to do with a subscription that says a text."""
    real = getattr(where, name)

    def failing(first: Any, *more: Any) -> Any:
        found = real(first, *more)
        if any(_says(each, text) for each in (first, *more)):
            fault()
        return found

    setattr(where, name, failing)
    try:
        yield
    finally:
        setattr(where, name, real)


def _says(one: Any, text: str) -> bool:
    if isinstance(one, StreamEngine):
        return any(one._live.text(each) == text for each in one)
    some = one if isinstance(one, list) else [one]
    return any(getattr(each, "when", each) == text for each in some)


def _told_in(service: Service, other: int, stream: str, streams: tuple[str, ...], count: int) -> float:
    """The longest time until another tenant was told, of so many events."""
    worst = 0.0
    for number in range(count):
        due = service.outbox.counts(other).due
        event = read(orjson.dumps({"x": number}), "application/json", {}, _MEASURES)
        for name in streams[:-1]:
            service.journal.publish(name, event, tenant="other").result(60)
        begun = time.monotonic()
        service.journal.publish(stream, event, tenant="other").result(60)
        while service.outbox.counts(other).due == due and time.monotonic() - begun < 60:
            time.sleep(0.002)
        worst = max(worst, time.monotonic() - begun)
    return worst


def measured(folder: Path, count: int) -> list[dict[str, Any]]:
    """How long others waited, by what was planted."""
    operators = folder / "planted_operators.py"
    operators.write_text(_OPERATORS)
    settings = ServiceSettings(
        store={"url": f"sqlite:///{folder}/service.db"},  # type: ignore[arg-type]
        operators=str(operators),
        streams={"default": {}, "calm": {}},  # type: ignore[dict-item]
        limits={"matching_seconds": 1.0, "operator_seconds": 1.0},  # type: ignore[arg-type]
    )
    found: list[dict[str, Any]] = []
    with Service(settings) as service:
        while not service.pump.warm:
            time.sleep(0.05)
        bad, good = service.tenants.add("bad"), service.tenants.add("other")
        number = {
            stream: service.registry.subscribe(good, SubscriptionRequest("x >= 0", stream=stream)).subscription.number
            for stream in ("default", "calm")
        }
        alone = {stream: _told_in(service, number[stream], stream, (stream,), count) for stream in number}

        def took(what: str, stream: str) -> None:
            streams = ("default",) if stream == "default" else ("default", stream)
            seconds = _told_in(service, number[stream], stream, streams, count)
            most = max(2 * alone[stream], LEAST)
            found.append({"planted": what, "told in": round(seconds, 3), "alone": round(alone[stream], 3)})
            found[-1]["in time"] = seconds <= most

        for text in ("raises()", "ends()", "slow()", "loops()"):
            made = service.registry.subscribe(bad, SubscriptionRequest(text))
            took(f"operator {text}", "default")
            service.registry.end(made.subscription.id)
        for stage, (where, name, text) in STAGES.items():
            for kind, fault in FAULTS.items():
                _stage(
                    service,
                    bad,
                    (where, name, text),
                    fault,
                    partial(lambda what: took(what, "calm"), f"{stage}: {kind}"),
                )
    return found


def _stage(
    service: Service, bad: Tenant, stage: tuple[Any, str, str], fault: Callable[[], None], measure: Callable[[], None]
) -> None:
    where, name, text = stage
    with planted(where, name, fault, text):
        made = service.registry.subscribe(bad, SubscriptionRequest(text, want=where is Side))
        measure()
        end = time.monotonic() + 20
        while not service.registry.page(bad, quarantined=True) and time.monotonic() < end:
            time.sleep(0.01)
        if not service.registry.page(bad, quarantined=True):
            raise RuntimeError(f"what was planted in {name} was not found")
    service.registry.end(made.subscription.id)


def main() -> None:
    """Plant, print, and end with 1 if somebody else waited too long."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.planted", description=__doc__)
    parser.add_argument("--events", type=int, default=20, help="that others are told of, for each fault")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        found = measured(Path(name), options.events)
    print(json.dumps(found, indent=2))
    raise SystemExit(0 if all(each["in time"] for each in found) else 1)


if __name__ == "__main__":
    main()
