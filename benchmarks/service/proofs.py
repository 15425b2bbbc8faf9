"""Is everything there that was promised? What the database has is held against what publishers and readers remember."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from functools import partial
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from benchmarks.service.load import FILTER, PATTERN, Promises
from vedette.service.service import Service
from vedette.service.storage.tables import (
    DEAD,
    DELIVERED,
    DROPPED,
    PENDING,
    counters,
    events,
    notifications,
    subscriptions,
)


def caught_up(service: Service, seconds: float = 120.0) -> None:
    """Wait until all that was accepted is matched."""
    end = time.monotonic() + seconds
    while service.pump.behind > 0:
        if service.pump.failure is not None or time.monotonic() > end:
            raise RuntimeError(f"matching does not get on: {service.pump.failure}")
        time.sleep(0.005)


def broken(service: Service, promises: Promises, until: int | None = None) -> list[str]:
    """Every promise that was heard until a moment and that is not kept, in words; matching has caught up."""
    if service.store.is_sqlite:
        sound = service.store.read(lambda c: c.exec_driver_sql("PRAGMA integrity_check").scalar())
        if sound != "ok":
            return [f"the database is broken: {sound}"]
    return service.store.read(lambda connection: [*_lost(connection, promises, until), *_miscounted(connection)])


def _heard(promised: list[tuple[int, str]], until: int | None) -> set[str]:
    return {id_ for moment, id_ in promised if until is None or moment <= until}


def _lost(connection: Connection, promises: Promises, until: int | None) -> list[str]:
    """What was acknowledged and is not there."""
    there = set(connection.execute(sa.select(events.c.id)).scalars())
    standing = set(connection.execute(sa.select(subscriptions.c.id)).scalars())
    done = sa.select(notifications.c.id).where(notifications.c.state == DELIVERED)
    delivered = set(connection.execute(done).scalars())
    found = []
    for what, missing in (
        ("events", _heard(promises.events, until) - there),
        ("subscriptions", _heard(promises.subscriptions, until) - standing),
        ("acknowledgements of readers", _heard(promises.taken, until) - delivered),
    ):
        if missing:
            found.append(f"{len(missing)} {what} were acknowledged and are lost")
    return found


def _miscounted(connection: Connection) -> list[str]:
    """Subscriptions of which not every match is told once, and counted once."""
    rows = connection.execute(sa.select(events.c.number, events.c.body).order_by(events.c.number)).all()
    stream = [(row.number, orjson.loads(row.body).get("x")) for row in rows]
    states: dict[int, Counter[int]] = {}
    per = sa.select(notifications.c.subscription, notifications.c.state, sa.func.count())
    for number, state, count_ in connection.execute(per.group_by(notifications.c.subscription, notifications.c.state)):
        states.setdefault(number, Counter())[state] = count_
    counted = {row.subscription: row for row in connection.execute(sa.select(counters))}
    found = []
    for one in connection.execute(sa.select(subscriptions)).all():
        expected = _expected(one.when, [x for number, x in stream if number > one.since])
        count, there = counted[one.number], states.get(one.number, Counter())
        pending = count.due - count.delivered - count.dead - count.dropped
        kept = (count.delivered, count.dead, count.dropped, pending)
        if count.due != expected or kept != tuple(there[state] for state in (DELIVERED, DEAD, DROPPED, PENDING)):
            found.append(f"{one.when}: {expected} are due, counted are {count.due} {kept}, there are {dict(there)}")
    return found


def _expected(when: str, stream: list[Any]) -> int:
    """How many notifications a subscription should have had, by looking at every event."""
    if when == FILTER:
        return sum(x == 1 for x in stream)
    if when == PATTERN:
        return sum(one == 1 and other == 2 for one, other in itertools.pairwise(stream))
    raise ValueError(when)


def counts(service: Service) -> dict[str, int]:
    """What became of all notifications of all subscriptions."""
    names = ("due", "delivered", "dead", "dropped")
    row = service.store.read(lambda c: c.execute(sa.select(*(sa.func.sum(counters.c[name]) for name in names))).one())
    found = {name: int(value or 0) for name, value in zip(names, row, strict=True)}
    return found | {"pending": found["due"] - found["delivered"] - found["dead"] - found["dropped"]}


def untold(service: Service, promises: Promises) -> list[str]:
    """Readers who were not told of all that was delivered to them, or not in order."""
    found = []
    for id_, told in promises.told.items():
        rows = service.store.read(partial(lambda id_, c: c.execute(_delivered(id_)).all(), id_))
        if not rows:
            continue
        due = [row.id for row in rows]
        if rows[0].subscriber == "sse":  # handed over, and not read any more when it ended
            due = due[: max((n for n, one in enumerate(due, 1) if one in set(told[-100:])), default=0)]
        wanted = set(due)
        came = [one for one in dict.fromkeys(told) if one in wanted]  # what came again counts as it came first
        if came != due:
            missing = len(wanted - set(came))
            found.append(f"{rows[0].subscriber}: of {len(due)} delivered {missing} did not come, or in disorder")
    return found


def _delivered(id_: str) -> sa.Select[Any]:
    columns = sa.select(notifications.c.id, subscriptions.c.subscriber)
    joined = columns.join(subscriptions, subscriptions.c.number == notifications.c.subscription)
    wanted = joined.where(subscriptions.c.id == id_, notifications.c.state == DELIVERED)
    return wanted.order_by(notifications.c.number)
