"""What a tenant has is kept beside it, and is what counting would give."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from sqlalchemy.engine import Connection

from tests.service.running import settings_in
from vedette.schema.schema import Schema
from vedette.service import clock
from vedette.service.check_context import CheckContext
from vedette.service.errors import OverLimit
from vedette.service.service import Service
from vedette.service.storage.schema_migration import configured, migrate
from vedette.service.storage.store import Store
from vedette.service.storage.tables import offers, subscriptions, usage
from vedette.service.subscription_registry import SubscriptionRequest
from vedette.service.tenants import Tenant


def kept(service: Service, tenant: str) -> tuple[int, float, int]:
    row = service.store.read(lambda c: c.execute(sa.select(usage).where(usage.c.tenant == tenant)).one())
    return row.subscriptions, round(row.cost, 6), row.offers


def counted(service: Service, tenant: str) -> tuple[int, float, int]:
    def work(connection: Connection) -> tuple[int, float, int]:
        costs = (
            connection.execute(sa.select(subscriptions.c.cost).where(subscriptions.c.tenant == tenant)).scalars().all()
        )
        there = connection.execute(sa.select(offers.c.id).where(offers.c.tenant == tenant)).scalars().all()
        return len(costs), round(sum(costs), 6), len(there)

    return service.store.read(work)


def test_usage_follows_every_change(tmp_path: Path) -> None:
    moment = clock.now()
    with Service(settings_in(tmp_path), now=lambda: moment) as service:
        tenant, other = service.tenants.add("acme"), service.tenants.add("other")
        made = [service.registry.subscribe(tenant, SubscriptionRequest(f"x = {n} and y > 1")) for n in range(3)]
        service.registry.subscribe(tenant, SubscriptionRequest("x in (1, 2, 3)", validity=10))
        service.registry.subscribe(other, SubscriptionRequest("x = 1", validity=10))
        _, ticket = service.market.offer(tenant, "default", "x = 1")
        service.market.offer(tenant, "default", "x = 2", validity=10)
        assert kept(service, "acme") == counted(service, "acme") == (4, 7.03, 2)
        first = made[0].subscription.id
        service.registry.replace(tenant, first, made[0].ticket, SubscriptionRequest("[x = 1] , [x = 2]"))
        assert kept(service, "acme") == counted(service, "acme")
        service.registry.unsubscribe(tenant, first, made[0].ticket)
        (id_,) = [one.id for one in service.market.page(tenant) if one.when == "x = 1"]
        service.market.withdraw(tenant, id_, ticket)
        assert kept(service, "acme") == counted(service, "acme") == (3, 5.03, 1)
        moment += 20 * clock.SECOND
        service.registry.expire()
        service.market.expire()
        assert kept(service, "acme") == counted(service, "acme") == (2, 4.0, 0)
        assert kept(service, "other") == (0, 0.0, 0)


def test_limits_hold_and_what_is_refused_does_not_count(tmp_path: Path) -> None:
    limits = {"subscriptions": 3, "tenant_cost": 6.0}
    with Service(settings_in(tmp_path, limits=limits)) as service:
        tenant = service.tenants.add("acme")
        made = [service.registry.subscribe(tenant, SubscriptionRequest("x = 1")) for _ in range(3)]
        with pytest.raises(OverLimit, match="3 subscriptions"):
            service.registry.subscribe(tenant, SubscriptionRequest("x = 1"))
        first = made[0]
        with pytest.raises(OverLimit, match="may cost 6"):
            service.registry.replace(
                tenant, first.subscription.id, first.ticket, SubscriptionRequest("a=1 and b=1 and c=1 and d=1 and e=1")
            )
        assert kept(service, "acme") == counted(service, "acme") == (3, 3.0, 0)
        service.registry.unsubscribe(tenant, first.subscription.id, first.ticket)
        service.registry.subscribe(tenant, SubscriptionRequest("x = 1"))
        larger = Tenant("acme", {"subscriptions": 4})
        service.registry.subscribe(larger, SubscriptionRequest("x = 1"))
        for _ in range(3):
            service.market.offer(tenant, "default", "x = 1")
        with pytest.raises(OverLimit, match="3 offers"):
            service.market.offer(tenant, "default", "x = 1")
        assert kept(service, "acme") == counted(service, "acme") == (4, 4.0, 3)


def test_an_offer_may_not_cost_more_than_a_subscription(tmp_path: Path) -> None:
    with Service(settings_in(tmp_path, limits={"subscription_cost": 2.0})) as service:
        tenant = service.tenants.add("acme")
        with pytest.raises(OverLimit, match="this offer costs 3"):
            service.market.offer(tenant, "default", "x = 1 and y = 2 and z = 3")
        assert kept(service, "acme") == (0, 0.0, 0)


def test_wants_and_offers_cost_what_their_alternatives_cost(tmp_path: Path) -> None:
    """ANDs of ORs multiply, and each of what comes of them is held against all that stands."""
    text = " and ".join(f"(a{n} < 1 or b{n} < 1)" for n in range(6))
    grounds = CheckContext(Schema({}, closed=False), None, dearest=63.0)
    assert grounds.checked(text, None) == ("filter", 12.0)
    with pytest.raises(OverLimit, match="this subscription costs 64"):
        grounds.checked(text, None, want=True)
    with pytest.raises(OverLimit, match="this offer costs 64"):
        grounds.check_offer(text)


def test_older_databases_are_counted_once(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with Service(settings) as service:
        tenant = service.tenants.add("acme")
        service.tenants.add("idle")
        for n in range(5):
            service.registry.subscribe(tenant, SubscriptionRequest(f"x = {n}"))
        service.market.offer(tenant, "default", "x = 1")
    store = Store(settings.store.url)
    with store.engine.begin() as connection:  # as it was before
        command.downgrade(configured(connection), "0001")
    migrate(store.engine)
    store.close()
    with Service(settings) as service:
        assert kept(service, "acme") == counted(service, "acme") == (5, 5.0, 1)
        assert kept(service, "idle") == (0, 0.0, 0)
