"""Adds subscriptions to an engine, and finds those that it cannot compile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from vedette.service.fault_isolation import FAULTS, sound
from vedette.service.stream_engine import StreamEngine
from vedette.service.subscription_registry import Subscription


def add_all(engine: StreamEngine, some: Sequence[Subscription]) -> list[tuple[str, Exception]]:
    """Add subscriptions to an engine; returns those that cannot be added, and why."""
    refused: list[tuple[str, Exception]] = []
    standings = []
    for one in some:
        try:
            standings.append(one.standing())
        except Exception as error:
            refused.append((one.id, error))
    return refused + engine.add_many(standings)


def those_refused(
    some: Sequence[Subscription],
    make: Callable[[], StreamEngine],
    run: Callable[[Sequence[Subscription], Callable[[], Any]], Any],
) -> list[tuple[Subscription, BaseException]]:
    """The subscriptions that a new engine cannot take, found by halving; `run` interrupts what takes too long.

    If not even the built-in test subscriptions can be matched, no subscription is at fault, and the error is raised.
    """
    try:
        with make() as engine:
            refused: list[tuple[str, Exception]] = run(some, partial(add_all, engine, some))
    except FAULTS as error:
        if len(some) == 1:
            if not sound(make, partial(run, some)):
                raise
            return [(some[0], error)]
        half = len(some) // 2
        return those_refused(some[:half], make, run) + those_refused(some[half:], make, run)
    known = {one.id: one for one in some}
    return [(known[id_], why) for id_, why in refused]
