"""Statements and commits of a database that fail when they are told to, and what a service remembers of the database.

What a service has in memory has to be what one that begins anew would read: `compared` says where it is not.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import OperationalError

from vedette.service.lane import Lane
from vedette.service.notification import meeting_id
from vedette.service.service import Service
from vedette.service.storage.tables import counters, events, grants, notifications, offers, streams, subscriptions
from vedette.service.subscription_registry import Subscription, of_row

# A statement that fails alone; with the connection; a commit that fails; one that takes effect, and is not answered;
# one of which the database says nothing until the fault is over.
KINDS: Final = ("statement", "connection", "commit", "unanswered", "silent")
_KEEPER: Final = "vedette-keeper"
_WRITER: Final = "vedette-store"
_WHY: Final = "made to fail"


class Faults:
    """Lets the statement or commit of a number fail, once; those of housekeeping do not count."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._kind = ""
        self._left = 0
        self._silent = False
        self.fired = False
        self._error: type[Exception] = engine.dialect.loaded_dbapi.OperationalError
        self._do_commit = engine.dialect.do_commit
        engine.dialect.do_commit = self._commit  # type: ignore[method-assign]
        sa.event.listen(engine, "before_cursor_execute", self._statement)

    def remove(self) -> None:
        """Let nothing fail any more."""
        self._kind, self._silent = "", False
        self._engine.dialect.do_commit = self._do_commit  # type: ignore[method-assign]
        sa.event.remove(self._engine, "before_cursor_execute", self._statement)

    @contextmanager
    def at(self, kind: str, number: int) -> Iterator[None]:
        """Let the one of this number fail, counted from 1."""
        with self._lock:
            self._kind, self._left, self.fired = kind, number, False
        try:
            yield
        finally:
            with self._lock:
                self._kind, self._silent = "", False

    def _due(self, *kinds: str) -> bool:
        if self._kind not in kinds or threading.current_thread().name == _KEEPER:
            return False
        with self._lock:
            self._left -= 1
            if self._left != 0:
                return False
            self.fired = True
            return True

    def _statement(self, connection: Connection, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if self._silent:
            raise OperationalError(statement, parameters, self._error(_WHY))
        if self._due("statement", "connection"):
            gone = self._kind == "connection"
            if gone:
                connection.invalidate()
            raise OperationalError(statement, parameters, self._error(_WHY), connection_invalidated=gone)

    def _commit(self, dbapi_connection: Any) -> None:
        if self._due("commit"):
            raise self._error(_WHY)
        self._do_commit(dbapi_connection)
        if threading.current_thread().name == _WRITER and self._due("unanswered", "silent"):
            self._silent = self._kind == "silent"
            raise self._error(_WHY)


# ---------------------------------------------------------------- memory


def remembered(service: Service) -> dict[str, Any]:
    """What a service has in memory of the database. Until when something stands is asked of the database alone."""
    market, pump = service.market, service.pump
    return {
        "streams": {stream.name: (stream.anonymous, stream.lateness) for stream in service.streams.all()},
        "granted": dict(service.rights._granted),
        "settled": service.journal.settled,
        "offers": {
            id_: (one.number, one.when) for each in market._meetings.values() for id_, one in each.offers.items()
        },
        "wants": {id_: _said(one) for each in market._meetings.values() for id_, one in each.wants.items()},
        "publications": {
            name: {id_: each.meeting.publications.text(id_) for id_ in each.meeting.publications}
            for name, each in market._meetings.items()
        },
        "subscriptions": {
            name: {id_: each.meeting.subscriptions.text(id_) for id_ in each.meeting.subscriptions}
            for name, each in market._meetings.items()
        },
        "matched": _standing(pump.lanes()),
    }


def _said(one: Subscription) -> tuple[Any, ...]:
    return one.number, one.version, one.when


def _standing(lanes: Iterable[Lane]) -> dict[str, dict[str, Any]]:
    """Whom the engines of a stream know, or will when they come to what changed."""
    found: dict[str, dict[str, Any]] = {}
    for lane in lanes:
        mine = {id_: _said(one) for id_, one in lane.standing.items()}
        for change in list(lane.changes):
            mine.pop(change.id, None)
            if change.now is not None and change.now.kind != "want":
                mine[change.id] = _said(change.now)
        found.setdefault(lane.stream.name, {}).update(mine)
    return found


def stored(connection: Connection) -> dict[str, Any]:
    """The same, as the database has it."""
    rows = [of_row(row) for row in connection.execute(sa.select(subscriptions))]
    there = connection.execute(sa.select(offers)).all()
    names = connection.execute(sa.select(streams)).all()
    granted: dict[tuple[str, str], frozenset[str]] = {}
    for row in connection.execute(sa.select(grants)):
        granted[row.stream, row.right] = granted.get((row.stream, row.right), frozenset()) | {row.tenant}
    return {
        "streams": {row.name: (row.anonymous, row.lateness) for row in names},
        "granted": granted,
        "settled": connection.execute(sa.select(sa.func.coalesce(sa.func.max(events.c.number), 0))).scalar_one(),
        "offers": {row.id: (row.number, row.when) for row in there},
        "wants": {one.id: _said(one) for one in rows if one.kind == "want"},
        "publications": {name.name: {row.id: row.when for row in there if row.stream == name.name} for name in names},
        "subscriptions": {
            name.name: {one.id: one.when for one in rows if one.kind == "want" and one.stream == name.name}
            for name in names
        },
        "matched": {
            name.name: {one.id: _said(one) for one in rows if one.kind != "want" and one.stream == name.name}
            for name in names
        },
    }


def read_anew(service: Service) -> dict[str, Any]:
    """What a service has in memory that has read the same database, and does nothing else."""
    fresh = Service(service.settings, now=lambda: 0)  # nothing has run out
    try:
        fresh.streams.load()
        fresh.rights.load()
        for stream in fresh.streams.all():
            fresh.pump.open(stream, fresh.registry)
            fresh.market.open(stream)
        fresh.market.carry_out()
        fresh.journal.start(lambda _: None)
        return remembered(fresh)
    finally:
        fresh.store.engine.dispose()


def compared(service: Service, *, anew: bool = False) -> list[str]:
    """Where memory and database differ, in words; or memory and that of a service that begins `anew`.

    All that was accepted is matched, and nothing else is going on.
    """
    mine = remembered(service)
    theirs = read_anew(service) if anew else service.store.read(stored)
    wrong = [f"{name}: {_difference(mine[name], theirs[name])}" for name in mine if mine[name] != theirs[name]]
    for lane in service.pump.lanes():
        if not lane.changes and set(lane.engine) != set(lane.standing):
            wrong.append(f"an engine of {lane.stream.name} has {set(lane.engine) ^ set(lane.standing)} wrongly")
    return wrong + service.store.read(lambda connection: _untold(service, connection))


def _difference(mine: Any, theirs: Any) -> str:
    if not isinstance(mine, dict):
        return f"{mine} in memory, not {theirs}"
    names = [name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name)]
    return "; ".join(f"{name}: {_difference(mine.get(name), theirs.get(name))}" for name in names)


def _untold(service: Service, connection: Connection) -> list[str]:
    """Matches and meetings of what stands that were not told, or counted twice."""
    wrong = []
    rows = [of_row(row) for row in connection.execute(sa.select(subscriptions))]
    told = connection.execute(sa.select(notifications.c.id)).all()
    counted = {row.subscription: row.due for row in connection.execute(sa.select(counters))}
    for one in rows:
        if one.kind != "filter":
            continue
        since = sa.select(sa.func.count()).where(events.c.stream == one.stream, events.c.number > one.since)
        due, expected = counted[one.number], connection.execute(since).scalar_one()
        if due < expected or (one.version == 1 and due > expected):
            wrong.append(f"{one.id} was told of {due} events, of {expected}")
    ids = {row.id for row in told}
    standing = connection.execute(sa.select(offers.c.id, offers.c.stream)).all()
    for one in rows:
        if one.kind == "want" and one.stream in service.market._meetings:
            meeting = service.market._meetings[one.stream].meeting
            met = set(meeting.publications) if one.id in meeting.subscriptions else set()
            pairs = {row.id for row in standing if row.id in met}
            wrong += [f"{one.id} was not told of {id_}" for id_ in pairs if meeting_id(one, id_) not in ids]
    return wrong
