"""Queues of notifications, by subscription; each is pending, delivered, dead or dropped, and counted.

The queue of a subscription is bounded: beyond it the oldest are dropped and counted, and its readers learn how many. So
for every subscription: due = delivered + dead + dropped + pending.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vedette.service import clock
from vedette.service.storage import bulk_insert
from vedette.service.storage.row_checksums import notification_sum
from vedette.service.storage.store import Store
from vedette.service.storage.tables import (
    DEAD,
    DELIVERED,
    DROPPED,
    PENDING,
    attempts,
    counters,
    dead_letters,
    notifications,
    subscriptions,
)

T = TypeVar("T")
_AT_ONCE: Final = 500  # rows that are deleted in one transaction
_REPLAYED: Final = 10_000  # dead letters at a time
_MORE_DUE: Final = (
    sa.update(counters)
    .where(counters.c.subscription == sa.bindparam("of"))
    .values(due=counters.c.due + sa.bindparam("more"), last=sa.bindparam("moment"))
)
_PENDING_COUNT: Final = counters.c.due - counters.c.delivered - counters.c.dead - counters.c.dropped
_LONGER: Final = sa.select(counters.c.subscription, _PENDING_COUNT).where(
    counters.c.subscription.in_(sa.bindparam("some", expanding=True)), sa.bindparam("most") < _PENDING_COUNT
)
_GONE: Final = 0  # the number that counts all subscriptions that are gone


class NewNotification(NamedTuple):
    """A notification to be put into a queue; its fields are columns of the table, in the order of the checksum."""

    id: str
    subscription: int
    tenant: str
    event: int
    kind: str
    created: int
    trace: str | None
    body: bytes


_COLUMNS: Final = (*NewNotification._fields, "state", "sum")


class QueuedNotification(NamedTuple):
    """A notification of a queue."""

    number: int
    id: str
    subscription: int
    kind: str
    body: bytes
    created: int
    trace: str | None


class DeliveryCounts(NamedTuple):
    """How many notifications of a subscription are due, delivered, dead and dropped."""

    due: int
    delivered: int
    dead: int
    dropped: int
    last: int | None

    @property
    def pending(self) -> int:
        """Number of notifications that wait for delivery."""
        return self.due - self.delivered - self.dead - self.dropped


class Outbox:
    """The queues of all subscriptions. `grown` is called with those that have grown, in the thread that writes."""

    def __init__(self, store: Store, most: int, now: clock.Clock = clock.now) -> None:
        self._store = store
        self._most = most
        self._now = now
        self.grown: Callable[[frozenset[int]], None] = lambda _: None
        self.damaged: Counter[int] = Counter()  # notifications of a subscription that were lost since the service began

    # ------------------------------------------------------------ in

    def put(self, connection: Connection, some: Sequence[NewNotification], *, again: bool) -> frozenset[int]:
        """Within a transaction: add notifications; returns the subscriptions whose queues grew.

        Where events are matched `again`, after a crash, notifications that exist already are left out.
        """
        there = _present(connection, [one.id for one in some]) if again else ()
        new = [one for one in some if one.id not in there] if there else some
        if not new:
            return frozenset()
        rows = [(*one, PENDING, notification_sum(one[:-1], one.body)) for one in new]
        bulk_insert.insert(connection, notifications, _COLUMNS, rows, new_only=False)
        added = Counter(one.subscription for one in new)
        moment = self._now()
        bulk_insert.execute(
            connection,
            _MORE_DUE,
            [{"of": number, "more": count, "moment": moment} for number, count in added.items()],
        )
        self._shorten(connection, added)
        return frozenset(added)

    def _shorten(self, connection: Connection, grown: Iterable[int]) -> None:
        """Drop the oldest notifications of queues that are too long."""
        for number, pending in _longer(connection, sorted(grown), self._most):
            over = pending - self._most
            oldest = (
                sa.select(notifications.c.number)
                .where(notifications.c.subscription == number, notifications.c.state == PENDING)
                .order_by(notifications.c.number)
                .limit(over)
            )
            dropped = self._settle(connection, notifications.c.number.in_(oldest), DROPPED)
            _count(connection, number, dropped=dropped)

    # ------------------------------------------------------------ out

    def pending(self, subscription: int, after: int, limit: int) -> list[QueuedNotification]:
        """The next pending notifications of a subscription, in order."""
        return self._whole(subscription, after, limit, (PENDING,))

    def since(self, subscription: int, after: int, limit: int) -> list[QueuedNotification]:
        """The next notifications, also those already delivered: for a reader that resumes."""
        return self._whole(subscription, after, limit, (PENDING, DELIVERED))

    def _whole(self, subscription: int, after: int, limit: int, states: Sequence[int]) -> list[QueuedNotification]:
        """A page of intact notifications; damaged ones are dropped, and count as such."""
        found: list[sa.Row[Any]] = []
        damaged: list[int] = []
        while True:
            rows = self._store.read(partial(_page, subscription, after, limit - len(found), states))
            whole = self._store.damages.whole("notifications", rows)
            found += whole
            if len(whole) == len(rows) or rows[-1].number <= after:  # an index may be damaged, too: no row comes twice
                break
            damaged += {row.number for row in rows} - {row.number for row in whole}
            after = rows[-1].number
        if damaged:
            self._store.write(lambda c: self._lose(c, subscription, damaged))
            self.damaged[subscription] += len(damaged)
        return [QueuedNotification(r.number, r.id, r.subscription, r.kind, r.body, r.created, r.trace) for r in found]

    def _lose(self, connection: Connection, subscription: int, numbers: Sequence[int]) -> None:
        """Within a transaction: these are damaged, and count as dropped, whatever they were before."""
        which = notifications.c.number.in_(numbers)
        waited = self._settle(connection, sa.and_(which, notifications.c.state == PENDING), DROPPED)
        had = self._settle(connection, sa.and_(which, notifications.c.state == DELIVERED), DROPPED)
        _count(connection, subscription, dropped=waited + had, delivered=-had)

    def number_of(self, subscription: int, id_: str) -> int | None:
        """The number in the queue of the notification with this id."""
        wanted = sa.select(notifications.c.number).where(
            notifications.c.subscription == subscription, notifications.c.id == id_
        )
        return self._store.read(lambda c: c.execute(wanted).scalar())

    def start_of(self, subscription: int) -> int:
        """The number before the oldest pending one; if none is pending, that of the newest there ever was."""
        mine = notifications.c.subscription == subscription
        first = sa.select(sa.func.min(notifications.c.number)).where(mine, notifications.c.state == PENDING)
        newest = sa.select(sa.func.max(notifications.c.number)).where(mine)

        def look(connection: Connection) -> int:
            waits = connection.execute(first).scalar()
            return int(connection.execute(newest).scalar() or 0) if waits is None else int(waits) - 1

        return self._store.read(look)

    def missed(self, subscription: int, after: int | None = None) -> int:
        """How many were dropped after a number, or after the newest delivered one; for a reader that resumes."""
        mine = notifications.c.subscription == subscription
        taken = sa.select(sa.func.max(notifications.c.number)).where(mine, notifications.c.state == DELIVERED)
        dropped = sa.select(sa.func.count()).select_from(notifications).where(mine, notifications.c.state == DROPPED)

        def look(connection: Connection) -> int:
            counts = self._counts(connection, subscription)
            if counts is None or not counts.dropped:
                return 0
            since = int(connection.execute(taken).scalar() or 0) if after is None else after
            return int(connection.execute(dropped.where(notifications.c.number > since)).scalar_one())

        return self._store.read(look)

    def delivered(self, connection: Connection, subscription: int, upto: int) -> int:
        """Within a transaction: mark all pending notifications up to a number as delivered."""
        which = sa.and_(
            notifications.c.subscription == subscription,
            notifications.c.state == PENDING,
            notifications.c.number <= upto,
        )
        done = self._settle(connection, which, DELIVERED)
        _count(connection, subscription, delivered=done)
        return done

    def acknowledge(self, connection: Connection, subscription: int, ids: Sequence[str]) -> int:
        """Within a transaction: mark these notifications as delivered."""
        which = sa.and_(
            notifications.c.subscription == subscription,
            notifications.c.state == PENDING,
            notifications.c.id.in_(list(ids)),
        )
        done = self._settle(connection, which, DELIVERED)
        _count(connection, subscription, delivered=done)
        return done

    def cancel(self, connection: Connection, subscription: int) -> None:
        """Within a transaction: drop and count what is pending for a subscription that is gone."""
        which = sa.and_(notifications.c.subscription == subscription, notifications.c.state == PENDING)
        _count(connection, subscription, dropped=self._settle(connection, which, DROPPED))
        connection.execute(sa.delete(attempts).where(attempts.c.subscription == subscription))

    def bury(self, connection: Connection, one: QueuedNotification, tenant: str, attempts: int, reason: str) -> None:
        """Within a transaction: make a notification a dead letter, which can be read and replayed."""
        if self._settle(
            connection, sa.and_(notifications.c.number == one.number, notifications.c.state == PENDING), DEAD
        ):
            _count(connection, one.subscription, dead=1)
            connection.execute(
                sa.insert(dead_letters).values(
                    notification=one.number,
                    subscription=one.subscription,
                    tenant=tenant,
                    attempts=attempts,
                    reason=reason[:2000],
                    died=self._now(),
                )
            )

    def replay(self, tenant: str, numbers: Sequence[int] | None = None) -> int:
        """Make dead letters pending again; returns how many."""

        def work(connection: Connection) -> tuple[int, frozenset[int]]:
            # Dead letters of subscriptions that are gone stay where they are.
            mine = sa.select(dead_letters.c.notification, dead_letters.c.subscription).where(
                dead_letters.c.tenant == tenant, dead_letters.c.subscription.in_(sa.select(subscriptions.c.number))
            )
            if numbers is not None:
                mine = mine.where(dead_letters.c.notification.in_(list(numbers)))
            rows = connection.execute(mine.order_by(dead_letters.c.notification).limit(_REPLAYED)).all()
            for some in _chunks([row.notification for row in rows]):
                connection.execute(
                    sa.update(notifications)
                    .where(notifications.c.number.in_(some), notifications.c.state == DEAD)
                    .values(state=PENDING, settled=None)
                )
                connection.execute(sa.delete(dead_letters).where(dead_letters.c.notification.in_(some)))
            counts = Counter(row.subscription for row in rows)
            for number, count in counts.items():
                _count(connection, number, dead=-count)
            self._shorten(connection, counts)
            return len(rows), frozenset(counts)

        return self._store.write(work, lambda made: self.grown(made[1]))[0]

    # ------------------------------------------------------------ forgetting

    def forget(self, before: int) -> int:
        """Delete notifications that were settled before a moment; returns how many.

        Dead letters stay until they are replayed; if their subscription is gone, only as long as others.
        """
        old = sa.select(notifications.c.number).where(
            notifications.c.state.in_((DELIVERED, DROPPED)), notifications.c.settled < before
        )
        gone = dead_letters.c.subscription.not_in(sa.select(subscriptions.c.number))
        left = sa.select(dead_letters.c.notification).where(dead_letters.c.died < before, gone)
        return self._forgotten(old) + self._forgotten(left, dead_letters)

    def _forgotten(self, which: sa.Select[Any], *also: sa.Table) -> int:
        """Delete notifications a few at a time, so that other writes do not wait for long."""
        done = 0
        while some := self._store.read(lambda c: c.execute(which.limit(_AT_ONCE)).scalars().all()):

            def work(connection: Connection, some: Sequence[int] = some) -> int:
                for table in also:
                    connection.execute(sa.delete(table).where(table.c.notification.in_(some)))
                return connection.execute(sa.delete(notifications).where(notifications.c.number.in_(some))).rowcount

            done += self._store.write(work)
        return done

    def forget_gone(self) -> int:
        """Cancel what is pending for subscriptions that are gone, and delete their counters; returns how many.

        All events must have been matched. The sums of the counters are added to those of number 0.
        """
        there = sa.select(subscriptions.c.number)
        gone = sa.select(counters.c.subscription).where(
            counters.c.subscription != _GONE, counters.c.subscription.not_in(there)
        )
        done = 0
        while some := self._store.read(lambda c: c.execute(gone.limit(_AT_ONCE)).scalars().all()):

            def work(connection: Connection, some: Sequence[int] = some) -> None:
                for number in some:
                    self.cancel(connection, number)  # what was matched after it had gone
                which = counters.c.subscription.in_(some)
                names = ("due", "delivered", "dead", "dropped")
                sums = connection.execute(
                    sa.select(*(sa.func.sum(counters.c[name]) for name in names)).where(which)
                ).one()
                connection.execute(sa.delete(counters).where(which))
                if self._counts(connection, _GONE) is None:
                    nothing = dict.fromkeys(names, 0)
                    connection.execute(sa.insert(counters).values(subscription=_GONE, **nothing))
                _count(connection, _GONE, **{name: int(value or 0) for name, value in zip(names, sums, strict=True)})

            self._store.write(work)
            done += len(some)
        return done

    # ------------------------------------------------------------ looking

    def counts(self, subscription: int) -> DeliveryCounts:
        """The counts of a subscription."""
        found = self._store.read(lambda c: self._counts(c, subscription))
        return found or DeliveryCounts(0, 0, 0, 0, None)

    @staticmethod
    def _counts(connection: Connection, subscription: int) -> DeliveryCounts | None:
        row = connection.execute(sa.select(counters).where(counters.c.subscription == subscription)).first()
        return None if row is None else DeliveryCounts(row.due, row.delivered, row.dead, row.dropped, row.last)

    def _settle(self, connection: Connection, which: sa.ColumnElement[bool], state: int) -> int:
        return connection.execute(
            sa.update(notifications).where(which).values(state=state, settled=self._now())
        ).rowcount


def _longer(connection: Connection, some: Sequence[int], most: int) -> list[tuple[int, int]]:
    """The subscriptions for which more than `most` notifications are pending, with their numbers."""
    found: list[tuple[int, int]] = []
    for part in _chunks(some):
        longer = connection.execute(_LONGER, {"some": part, "most": most})
        found += [(number, count) for number, count in longer]
    return found


def _page(
    subscription: int, after: int, limit: int, states: Sequence[int], connection: Connection
) -> Sequence[sa.Row[Any]]:
    wanted = (
        sa.select(notifications)
        .where(
            notifications.c.subscription == subscription,
            notifications.c.state.in_(states),
            notifications.c.number > after,
        )
        .order_by(notifications.c.number)
        .limit(limit)
    )
    return connection.execute(wanted).all()


def _present(connection: Connection, ids: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for some in _chunks(ids):
        there = sa.select(notifications.c.id).where(notifications.c.id.in_(some))
        found.update(connection.execute(there).scalars())
    return found


def _chunks(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Slices of the values: databases take a limited number of parameters."""
    for begin in range(0, len(values), _AT_ONCE):
        yield values[begin : begin + _AT_ONCE]


def _count(connection: Connection, subscription: int, **more: int) -> None:
    changed = {name: counters.c[name] + count for name, count in more.items() if count}
    if changed:
        connection.execute(sa.update(counters).where(counters.c.subscription == subscription).values(**changed))
