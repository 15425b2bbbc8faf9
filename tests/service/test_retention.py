"""What is over goes: old events and notifications, and what is left of subscriptions that are gone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.service.running import published, settings_in, settled
from tests.waiting import until
from vedette.service import clock
from vedette.service.outbox import DeliveryCounts
from vedette.service.service import Service
from vedette.service.storage.tables import DELIVERED, PENDING, counters, dead_letters, events, notifications
from vedette.service.subscription_registry import Subscription, SubscriptionRequest
from vedette.service.tenants import Tenant

DAY = 24 * 3600 * clock.SECOND


class Turned:
    """A clock that tests turn."""

    def __init__(self) -> None:
        self.moment = clock.now()

    def __call__(self) -> int:
        return self.moment


@pytest.fixture
def hours() -> Turned:
    return Turned()


@pytest.fixture
def kept(tmp_path: Path, hours: Turned) -> Iterator[Service]:
    with Service(settings_in(tmp_path, store={"keep_events": 3600, "keep_notifications": 7200}), now=hours) as service:
        yield service


def rows(service: Service, table: sa.Table) -> list[Any]:
    return list(service.store.read(lambda c: c.execute(sa.select(table)).all()))


def dead(service: Service, subscription: Subscription) -> None:
    """All that waits for it could not be delivered."""
    for one in service.outbox.pending(subscription.number, 0, 1000):
        service.store.write(
            partial(lambda one, c: service.outbox.bury(c, one, subscription.tenant, 1, "no answer"), one)
        )


def test_many_old_events_and_notifications_go_a_few_at_a_time(kept: Service, hours: Turned) -> None:
    tenant = kept.tenants.add("acme")
    mine = kept.registry.subscribe(tenant, SubscriptionRequest("x = 1", validity=10 * 24 * 3600)).subscription
    published(kept, *({"x": 1} for _ in range(1_000)))
    published(kept, *({"x": 1} for _ in range(300)))
    last = kept.outbox.pending(mine.number, 0, 1_200)[-1].number
    kept.store.write(lambda c: kept.outbox.delivered(c, mine.number, last))
    assert kept.tidy() == 0
    hours.moment += 3 * 3600 * clock.SECOND
    published(kept, {"x": 1})
    # What patterns may need again stays until it is written where they stand.
    until(lambda: kept.tidy() >= 0 and len(rows(kept, events)) == 1)
    states = [row.state for row in rows(kept, notifications)]
    assert (states.count(DELIVERED), states.count(PENDING)) == (0, 101)
    assert kept.outbox.counts(mine.number)[:4] == (1_301, 1_200, 0, 0)


def test_many_subscriptions_expire_at_once(kept: Service, hours: Turned) -> None:
    tenant = kept.tenants.add("acme")
    for n in range(250):
        kept.registry.subscribe(tenant, SubscriptionRequest(f"x = {n}", validity=60))
    stays = kept.registry.subscribe(tenant, SubscriptionRequest("x = 1", validity=DAY / clock.SECOND)).subscription
    hours.moment += 61 * clock.SECOND
    assert kept.registry.expire() <= 250  # the service's own clock may have been first with some
    published(kept, {"x": 1})
    assert [one.id for one in kept.registry.page(tenant)] == [stays.id]
    assert kept.outbox.counts(stays.number).due == 1


def test_what_is_left_of_those_that_are_gone_goes_and_still_counts(kept: Service, hours: Turned) -> None:
    tenant = kept.tenants.add("acme")
    made = kept.registry.subscribe(tenant, SubscriptionRequest("x = 1"))
    stays = kept.registry.subscribe(tenant, SubscriptionRequest("x = 1", validity=DAY / clock.SECOND)).subscription
    published(kept, {"x": 1}, {"x": 1})
    kept.registry.unsubscribe(tenant, made.subscription.id, made.ticket)
    settled(kept)
    kept.tidy()
    kept.tidy()
    assert {row.subscription for row in rows(kept, counters)} == {0, stays.number}
    assert kept.outbox.counts(0) == DeliveryCounts(2, 0, 0, 2, None)
    hours.moment += 3 * 3600 * clock.SECOND
    kept.tidy()
    assert {row.subscription for row in rows(kept, notifications)} == {stays.number}


def test_dead_letters_of_those_that_are_gone_are_not_replayed_and_go(kept: Service, hours: Turned) -> None:
    tenant = kept.tenants.add("acme")
    gone = kept.registry.subscribe(tenant, SubscriptionRequest("x = 1")).subscription
    stays = kept.registry.subscribe(tenant, SubscriptionRequest("x = 1", validity=DAY / clock.SECOND)).subscription
    published(kept, {"x": 1}, {"x": 1})
    for one in (gone, stays):
        dead(kept, one)
    kept.registry.end(gone.id)
    assert kept.outbox.replay("acme") == 2
    assert len(kept.outbox.pending(stays.number, 0, 10)) == 2
    assert kept.outbox.pending(gone.number, 0, 10) == []
    assert len(rows(kept, dead_letters)) == 2  # to be looked at
    dead(kept, stays)
    hours.moment += 3 * 3600 * clock.SECOND
    kept.tidy()
    assert {row.subscription for row in rows(kept, dead_letters)} == {stays.number}
    assert len(rows(kept, notifications)) == 2


def test_more_dead_letters_than_a_statement_takes_are_replayed(service: Service, tenant: Tenant) -> None:
    mine = service.registry.subscribe(tenant, SubscriptionRequest("x = 1")).subscription
    published(service, *({"x": 1} for _ in range(1_000)))
    dead(service, mine)
    assert service.outbox.counts(mine.number).dead == 1_000
    assert service.outbox.replay("acme") == 1_000
    assert service.outbox.counts(mine.number)[:4] == (1_000, 0, 0, 0)
