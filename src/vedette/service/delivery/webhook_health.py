"""Webhooks that fail: since when, how often, why, and when the next retry is due.

A row is written with every failed request, and deleted with the first one that succeeds; a notification that is given
up leaves it there, so that owners see for how long nothing has arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from vedette.service.delivery.delivery_results import DeliveryResult
from vedette.service.outbox import QueuedNotification
from vedette.service.storage.tables import attempts

_NONE: Final = 0  # instead of the number of a notification: no retry is due
_REASON: Final = 2_000  # characters
_AT_ONCE: Final = 500
DUE: Final = sa.and_(attempts.c.notification != _NONE, attempts.c.due <= sa.bindparam("moment"))


class WebhookFailures(NamedTuple):
    """Failures of a webhook since its last success."""

    since: int | None  # the first failure after it last worked; None: it failed before version 0.2 looked
    failures: int  # requests since then
    reason: str
    status: int | None  # of the last request; None: there was no answer
    due: int | None  # when it is tried again; None: with the next notification


def failing(connection: Connection, numbers: Sequence[int]) -> dict[int, WebhookFailures]:
    """The failures of webhooks, by subscription; those that work are left out."""
    found: dict[int, WebhookFailures] = {}
    for begin in range(0, len(numbers), _AT_ONCE):
        some = sa.select(attempts).where(attempts.c.subscription.in_(numbers[begin : begin + _AT_ONCE]))
        found |= {row.subscription: _failing(row) for row in connection.execute(some)}
    return found


def reasons(connection: Connection) -> dict[str, int]:
    """Number of failing webhooks, by class of reason."""
    found: dict[str, int] = {}
    grouped = sa.select(attempts.c.reason, sa.func.count()).group_by(attempts.c.reason)
    for reason, count in connection.execute(grouped):
        kind = (reason or "").partition(":")[0]  # what follows says more of one URL
        found[kind] = found.get(kind, 0) + count
    return found


def record_retry(
    connection: Connection, one: QueuedNotification, tried: int, due: int, outcome: DeliveryResult, moment: int
) -> WebhookFailures:
    """Within a transaction: record that a request failed and will be retried."""
    return _failed(connection, one.subscription, one.number, tried, due, outcome, moment)


def record_final_failure(
    connection: Connection, one: QueuedNotification, outcome: DeliveryResult, moment: int
) -> WebhookFailures:
    """Within a transaction: record a notification's last failure; the next notification is tried at once."""
    return _failed(connection, one.subscription, _NONE, 0, moment, outcome, moment)


def record_success(connection: Connection, subscription: int) -> WebhookFailures | None:
    """Within a transaction: delete the failures of a webhook; what they were, if there were any."""
    gone = sa.delete(attempts).where(attempts.c.subscription == subscription).returning(attempts)
    row = connection.execute(gone).first()
    return None if row is None else _failing(row)


def _failed(
    connection: Connection,
    subscription: int,
    notification: int,
    tried: int,
    due: int,
    outcome: DeliveryResult,
    moment: int,
) -> WebhookFailures:
    before = record_success(connection, subscription)
    values = {
        "subscription": subscription,
        "notification": notification,
        "count": tried,
        "due": due,
        "reason": outcome.reason[:_REASON],
        "status": outcome.status,
        "since": moment if before is None else before.since,
        "failures": 1 if before is None else before.failures + 1,
    }
    return _failing(connection.execute(sa.insert(attempts).values(**values).returning(attempts)).one())


def _failing(row: Any) -> WebhookFailures:
    tried = row._mapping["count"]  # rows of version 0.1 have nothing else
    due = None if row.notification == _NONE else row.due
    return WebhookFailures(
        row.since, tried if row.failures is None else row.failures, row.reason or "", row.status, due
    )
