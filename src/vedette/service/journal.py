"""How are events accepted? They are written down in one sequence, and on the disk before anybody is answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

import orjson
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vedette.service import clock
from vedette.service.engine import Batch
from vedette.service.incoming import Incoming
from vedette.service.storage.store import Store
from vedette.service.storage.tables import events

_AT_ONCE: Final = 500  # events that are deleted in one transaction: nobody who writes waits for long


class Accepted(NamedTuple):
    """What became of a batch of events."""

    numbers: tuple[int, ...]  # of those that are new, in order
    ids: tuple[str, ...]  # of all of them
    duplicates: int  # those whose id was there already count once


class Written(NamedTuple):
    """An event as it is written down."""

    body: bytes
    trace: str | None


class Journal:
    """The sequence of accepted events of all streams."""

    def __init__(self, store: Store, now: clock.Clock = clock.now) -> None:
        self._store = store
        self._now = now
        self._settled = 0  # up to here all changes of subscriptions that came before are known
        self._grown: Callable[[str], None] | None = None

    def start(self, grown: Callable[[str], None]) -> None:
        """Begin; `grown` hears which stream has new events, in the thread that writes."""
        last = sa.select(sa.func.coalesce(sa.func.max(events.c.number), 0))
        self._settled = int(self._store.read(lambda connection: connection.execute(last).scalar_one()))
        self._grown = grown

    @property
    def settled(self) -> int:
        """The newest event that may be matched: every change of subscriptions before it has been heard of."""
        return self._settled

    def publish(self, stream: str, incoming: Sequence[Incoming], trace: str | None = None) -> Future[Accepted]:
        """Write events down; the result is there once they are on the disk."""
        received = self._now()
        rows = [
            {
                "stream": stream,
                "source": one.source,
                "id": one.id,
                "received": received,
                "body": one.body,
                "trace": trace,
            }
            for one in incoming
        ]

        def work(connection: Connection) -> Accepted:
            numbers = _inserted(connection, rows)
            return Accepted(tuple(numbers), tuple(one.id for one in incoming), len(rows) - len(numbers))

        def then(accepted: Accepted) -> None:
            if accepted.numbers:
                self._settled = max(self._settled, accepted.numbers[-1])
                if self._grown is not None:
                    self._grown(stream)

        return self._store.submit(work, then)

    def after(self, stream: str, number: int, upto: int, limit: int) -> tuple[Batch, dict[int, Written]]:
        """The next events of a stream, of those that may be matched, and how they are written down, by number."""
        columns = sa.select(events.c.number, events.c.id, events.c.body, events.c.trace, events.c.received)
        wanted = columns.where(events.c.stream == stream, events.c.number > number, events.c.number <= upto)
        rows = self._store.read(lambda c: c.execute(wanted.order_by(events.c.number).limit(limit)).all())
        batch = Batch(
            [row.number for row in rows],
            [row.id for row in rows],
            [orjson.loads(row.body) for row in rows],
            [row.received for row in rows],
        )
        return batch, {row.number: Written(row.body, row.trace) for row in rows}

    def written(self, numbers: Sequence[int]) -> dict[int, Written]:
        """The events of these numbers, as far as they are still there."""
        wanted = sa.select(events.c.number, events.c.body, events.c.trace).where(events.c.number.in_(numbers))
        rows = self._store.read(lambda c: c.execute(wanted).all())
        return {row.number: Written(row.body, row.trace) for row in rows}

    def recent(self, stream: str, since: int, limit: int) -> Batch:
        """The latest events of a stream that came since a moment, numbered from 0: what dry runs are tried on."""
        wanted = sa.select(events.c.body, events.c.received).where(
            events.c.stream == stream, events.c.received >= since
        )
        rows = self._store.read(lambda c: c.execute(wanted.order_by(events.c.number.desc()).limit(limit)).all())
        rows = rows[::-1]
        numbers = range(len(rows))
        bodies, received = [orjson.loads(row.body) for row in rows], [row.received for row in rows]
        return Batch(numbers, [str(number) for number in numbers], bodies, received)

    def forget(self, before: int, least: int) -> int:
        """Delete events that came before a moment and that nobody needs: below the number `least`."""
        old = sa.select(events.c.number).where(events.c.received < before, events.c.number < least).limit(_AT_ONCE)
        done = 0
        while some := self._store.read(lambda c: c.execute(old).scalars().all()):
            gone = sa.delete(events).where(events.c.number.in_(some))
            done += self._store.write(lambda c, gone=gone: c.execute(gone).rowcount)  # type: ignore[misc]
        return done


def _inserted(connection: Connection, rows: list[dict[str, Any]]) -> list[int]:
    """The numbers of the rows that are new; SQL leaves out those whose id is there."""
    if not rows:
        return []
    before = int(connection.execute(sa.select(sa.func.coalesce(sa.func.max(events.c.number), 0))).scalar_one())
    name = connection.dialect.name
    if name == "sqlite":
        from sqlalchemy.dialects.sqlite import insert
    else:
        from sqlalchemy.dialects.postgresql import insert  # type: ignore[assignment]
    connection.execute(insert(events).on_conflict_do_nothing(), rows)
    new = sa.select(events.c.number).where(events.c.number > before).order_by(events.c.number)
    return [row.number for row in connection.execute(new)]
