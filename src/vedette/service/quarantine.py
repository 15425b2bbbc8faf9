"""Quarantine: takes a subscription that cannot be matched out of matching, durably, and notifies its owner.

It stays registered: it is listed with the reason, counts for its tenant's quota, and matches nothing until it is
replaced.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vedette.service import clock
from vedette.service.notification import quarantine_body, quarantine_id
from vedette.service.outbox import NewNotification, Outbox
from vedette.service.storage.store import Store
from vedette.service.storage.tables import events, subscriptions
from vedette.service.subscription_registry import Subscription, SubscriptionChange

_LOG: Final = logging.getLogger("vedette.service.quarantine")
_REASON: Final = 500  # characters


class QuarantineCase(NamedTuple):
    """A subscription that cannot be matched, why, and the first event that it misses."""

    subscription: Subscription
    reason: str
    event: int | None = None


class Quarantine:
    """The quarantined subscriptions of all streams."""

    def __init__(self, store: Store, outbox: Outbox, now: clock.Clock = clock.now) -> None:
        self._store, self._outbox, self._now = store, outbox, now
        self.count: Counter[str] = Counter()  # since the service began, by stream
        self._missed: dict[str, dict[str, int]] = {}  # by stream, then by subscription: number of missed events

    def load(self, stream: str) -> None:
        """Load those of a stream, and count the events that they have missed, as far as these still exist."""
        columns = subscriptions.c.id, subscriptions.c.quarantine_event, subscriptions.c.since
        mine = sa.select(*columns).where(subscriptions.c.stream == stream, subscriptions.c.quarantined.is_not(None))

        def work(connection: Connection) -> dict[str, int]:
            count = sa.select(sa.func.count()).select_from(events).where(events.c.stream == stream)
            return {
                row.id: int(connection.execute(count.where(events.c.number >= _first(row))).scalar_one())
                for row in connection.execute(mine).all()
            }

        self._missed[stream] = self._store.read(work)

    def heard(self, change: SubscriptionChange) -> None:
        """End the quarantine of a subscription that was replaced or removed."""
        self._missed.get(change.stream, {}).pop(change.id, None)

    def pass_by(self, stream: str, count: int) -> None:
        """Count events that the quarantined subscriptions of a stream miss."""
        missed = self._missed.get(stream)
        for id_ in list(missed or ()):
            missed[id_] += count  # type: ignore[index]

    def missed(self, stream: str, id_: str) -> int | None:
        """How many events a quarantined subscription has missed; None if it is not quarantined."""
        return self._missed.get(stream, {}).get(id_)

    @property
    def standing(self) -> dict[str, int]:
        """Number of quarantined subscriptions, by stream."""
        return {stream: len(missed) for stream, missed in list(self._missed.items())}

    @property
    def passed_by(self) -> dict[str, int]:
        """Number of events that quarantined subscriptions have missed, summed by stream."""
        return {stream: sum(list(missed.values())) for stream, missed in list(self._missed.items())}

    def put(self, some: Sequence[QuarantineCase]) -> None:
        """Quarantine subscriptions."""
        self._store.write(lambda connection: self.write(connection, some), self._outbox.grown)
        self.written(some)

    def write(self, connection: Connection, some: Sequence[QuarantineCase]) -> frozenset[int]:
        """Within a transaction: quarantine these versions of subscriptions and notify their owners; whose queues grew.

        Nothing happens to one that was replaced meanwhile, is gone, or is quarantined already.
        """
        moment, rows = self._now(), []
        for one, reason, event in some:
            mine = sa.and_(
                subscriptions.c.number == one.number,
                subscriptions.c.version == one.version,
                subscriptions.c.quarantined.is_(None),
            )
            said = {"quarantined": moment, "quarantine_event": event, "quarantine_reason": reason[:_REASON]}
            if connection.execute(sa.update(subscriptions).where(mine).values(**said)).rowcount:
                rows.append(_notification(one, reason[:_REASON], event or 0, moment))
        return self._outbox.put(connection, rows, again=True)

    def written(self, some: Sequence[QuarantineCase]) -> None:
        """Count and log subscriptions whose quarantine is written."""
        for one, reason, event in some:
            self.count[one.stream] += 1
            self._missed.setdefault(one.stream, {}).setdefault(one.id, 0)
            said = {"subscription": one.id, "tenant": one.tenant, "stream": one.stream, "reason": reason[:_REASON]}
            _LOG.error("a subscription is quarantined", extra=said | {"event": event})


def _notification(one: Subscription, reason: str, event: int, moment: int) -> NewNotification:
    id_ = quarantine_id(one, event)
    body = quarantine_body(id_, one, reason, moment)
    return NewNotification(id_, one.number, one.tenant, event, "quarantined", moment, None, body)


def _first(row: Any) -> int:
    """The first event that a quarantined subscription misses."""
    return int(row.since + 1 if row.quarantine_event is None else row.quarantine_event)


def reason_of(error: BaseException) -> str:
    """An error as a reason that the owner may read."""
    text = str(error).partition("\n")[0][:200]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
