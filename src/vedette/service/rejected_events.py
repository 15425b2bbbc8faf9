"""Rejected events, kept for their publishers: how many there were, why, and the latest of them.

An event that breaks the schema of its stream was accepted, and is visible nowhere else. Of every stream and publisher
the latest are kept, and all are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vedette.service import clock
from vedette.service.storage import bulk_insert
from vedette.service.storage.store import Store
from vedette.service.storage.tables import set_aside, set_aside_counts

FaultKind = Literal["schema", "matching"]
KEPT: Final = 100  # events of a stream and publisher
_BODY: Final = 16 * 1024  # bytes of an event that is kept
_REASON: Final = 2_000  # characters
_AT_ONCE: Final = 500


class EventFault(NamedTuple):
    """A rejected event, and why."""

    stream: str
    tenant: str  # who published it; empty: somebody without a key
    event: int  # its number
    id: str
    kind: FaultKind
    attribute: str  # the first that is wrong; empty: the event as a whole
    reason: str
    body: bytes | None
    moment: int = 0


class RejectedEventCount(NamedTuple):
    """How many events were rejected, of one publisher and for one kind of reason."""

    stream: str
    tenant: str
    kind: str
    rejected: int
    last: int


class RejectedEvents:
    """The rejected events of all streams."""

    def __init__(self, store: Store, now: clock.Clock = clock.now) -> None:
        self._store, self._now = store, now

    def put(self, connection: Connection, faults: Sequence[EventFault]) -> None:
        """Within a transaction: count rejected events, and keep the latest."""
        moment = self._now()
        for (stream, tenant, kind), count in Counter((one.stream, one.tenant, one.kind) for one in faults).items():
            _add(connection, RejectedEventCount(stream, tenant, kind, count, moment))
        for stream, tenant in {(one.stream, one.tenant) for one in faults}:
            some = [one for one in faults if (one.stream, one.tenant) == (stream, tenant)][-KEPT:]
            bulk_insert.insert(
                connection, set_aside, EventFault._fields, [_row(one, moment) for one in some], new_only=False
            )
            mine = sa.and_(set_aside.c.stream == stream, set_aside.c.tenant == tenant)
            newest = sa.select(set_aside.c.number).where(mine).order_by(set_aside.c.number.desc())
            first_over = connection.execute(newest.offset(KEPT).limit(1)).scalar()
            if first_over is not None:
                connection.execute(sa.delete(set_aside).where(mine, set_aside.c.number <= first_over))

    def counts(self, stream: str | None = None, tenant: str | None = None) -> list[RejectedEventCount]:
        """The counts: all, or those of a stream, of a publisher."""
        wanted = sa.select(set_aside_counts).where(*_of(set_aside_counts, stream, tenant))
        order = [set_aside_counts.c[name] for name in ("stream", "tenant", "kind")]
        return [
            RejectedEventCount(*row) for row in self._store.read(lambda c: c.execute(wanted.order_by(*order)).all())
        ]

    def latest(self, stream: str, tenant: str | None = None, limit: int = 20) -> list[EventFault]:
        """The latest of a stream, or of one publisher on it, the newest first."""
        wanted = sa.select(*(set_aside.c[name] for name in EventFault._fields)).where(*_of(set_aside, stream, tenant))
        newest = wanted.order_by(set_aside.c.number.desc()).limit(limit)
        return [EventFault(*row) for row in self._store.read(lambda c: c.execute(newest).all())]

    def forget(self, before: int) -> int:
        """Delete events rejected before a moment, which still count; returns how many."""
        old = sa.select(set_aside.c.number).where(set_aside.c.moment < before).limit(_AT_ONCE)
        done = 0
        while some := self._store.read(lambda c: c.execute(old).scalars().all()):
            gone = sa.delete(set_aside).where(set_aside.c.number.in_(some))
            done += self._store.write(lambda c, gone=gone: c.execute(gone).rowcount)  # type: ignore[misc]
        return done


def _of(table: sa.Table, stream: str | None, tenant: str | None) -> list[sa.ColumnElement[bool]]:
    named = {"stream": stream, "tenant": tenant}
    return [table.c[name] == value for name, value in named.items() if value is not None]


def _add(connection: Connection, more: RejectedEventCount) -> None:
    columns = set_aside_counts.c
    mine = sa.and_(columns.stream == more.stream, columns.tenant == more.tenant, columns.kind == more.kind)
    changed = sa.update(set_aside_counts).where(mine).values(rejected=columns.rejected + more.rejected, last=more.last)
    if not connection.execute(changed).rowcount:
        connection.execute(sa.insert(set_aside_counts).values(**more._asdict()))


def _row(one: EventFault, moment: int) -> EventFault:
    body = None if one.body is None or len(one.body) > _BODY else one.body
    return one._replace(reason=one.reason[:_REASON], body=body, moment=moment)
