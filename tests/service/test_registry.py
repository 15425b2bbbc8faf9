"""Subscribe, renew, replace, unsubscribe: who may, for how long, and how much."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.service.running import published, settings_in, settled
from tests.waiting import until
from vedette.errors import FilterError, InputError, NotSupported
from vedette.service import clock
from vedette.service.errors import NotAllowed, NotFound, OverLimit
from vedette.service.service import Service
from vedette.service.storage.row_checksums import row_sum
from vedette.service.storage.tables import offers, subscriptions
from vedette.service.subscription_registry import SubscriptionRequest
from vedette.service.tenants import Tenant


def test_a_subscription_stands_for_a_day_and_can_be_renewed(service: Service, tenant: Tenant) -> None:
    made = service.registry.subscribe(tenant, SubscriptionRequest("price < 120", subscriber="ann"))
    one = made.subscription
    assert one.expires - one.created == pytest.approx(24 * 3600 * clock.SECOND, abs=clock.SECOND)
    assert service.registry.get(tenant, one.id) == one
    renewed = service.registry.renew(tenant, one.id, made.ticket, 7 * 24 * 3600)
    assert renewed.expires - one.expires > 5 * 24 * 3600 * clock.SECOND
    assert (renewed.when, renewed.version) == (one.when, 1)


def test_only_the_ticket_changes_anything(service: Service, tenant: Tenant) -> None:
    made = service.registry.subscribe(tenant, SubscriptionRequest("price < 120"))
    other = service.registry.subscribe(tenant, SubscriptionRequest("price < 10"))
    id_ = made.subscription.id
    for ticket in (None, "", "vt_wrong", other.ticket, made.ticket + "x"):
        with pytest.raises(NotAllowed, match="ticket"):
            service.registry.renew(tenant, id_, ticket)
        with pytest.raises(NotAllowed):
            service.registry.replace(tenant, id_, ticket, SubscriptionRequest("price > 1"))
        with pytest.raises(NotAllowed):
            service.registry.unsubscribe(tenant, id_, ticket)
    assert service.registry.get(tenant, id_).when == "price < 120"
    service.registry.unsubscribe(tenant, id_, made.ticket)
    with pytest.raises(NotFound):
        service.registry.get(tenant, id_)


def test_subscriptions_of_others_are_invisible(service: Service, tenant: Tenant) -> None:
    other = service.tenants.add("other")
    made = service.registry.subscribe(tenant, SubscriptionRequest("price < 120"))
    with pytest.raises(NotFound):
        service.registry.get(other, made.subscription.id)
    with pytest.raises(NotFound):  # the right ticket does not help
        service.registry.unsubscribe(other, made.subscription.id, made.ticket)
    assert service.registry.page(other) == []
    assert [one.id for one in service.registry.page(tenant)] == [made.subscription.id]


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        (SubscriptionRequest("price <"), FilterError),
        (SubscriptionRequest("price < 1", predict={"within": 3}), NotSupported),
        (SubscriptionRequest("[x = 1] ; [x = 2]", predict={"within": 0}), InputError),
        (SubscriptionRequest("price < 1", stream="nowhere"), NotFound),
        (SubscriptionRequest("price < 1", validity=0.0), InputError),
        (SubscriptionRequest("price < 1", validity=1e12), InputError),
        (SubscriptionRequest("name contains 'x'", want=True), FilterError),
        (SubscriptionRequest("[x = 1]{500}"), OverLimit),
    ],
)
def test_what_cannot_stand_is_refused_and_leaves_nothing(
    service: Service, tenant: Tenant, wanted: SubscriptionRequest, error: type[Exception]
) -> None:
    with pytest.raises(error):
        service.registry.subscribe(tenant, wanted)
    assert service.registry.page(tenant) == []


def test_limits_of_a_tenant(tmp_path: Path) -> None:
    with Service(settings_in(tmp_path, limits={"subscriptions": 3, "tenant_cost": 100.0})) as service:
        tenant = service.tenants.add("small", {"cost": 30})
        made = service.registry.subscribe(tenant, SubscriptionRequest("a = 1 and b = 2"))
        with pytest.raises(OverLimit, match="cost"):
            service.registry.subscribe(tenant, SubscriptionRequest("[a = 1] ; [a = 2] ; [a = 3]"))
        with pytest.raises(OverLimit, match="cost"):
            service.registry.replace(
                tenant, made.subscription.id, made.ticket, SubscriptionRequest("[a = 1] ; [a = 2] ; [a = 3]")
            )
        for _ in range(2):
            service.registry.subscribe(tenant, SubscriptionRequest("a = 1"))
        with pytest.raises(OverLimit, match="3 subscriptions"):
            service.registry.subscribe(tenant, SubscriptionRequest("a = 1"))


def test_a_change_counts_from_the_next_event_on(service: Service, tenant: Tenant) -> None:
    published(service, {"price": 1})
    made = service.registry.subscribe(tenant, SubscriptionRequest("price < 120"))
    published(service, {"price": 2}, {"price": 200})
    service.registry.replace(tenant, made.subscription.id, made.ticket, SubscriptionRequest("price > 120"))
    published(service, {"price": 3}, {"price": 300})
    waiting = service.outbox.pending(made.subscription.number, 0, 10)
    assert [b'"price":2' in one.body for one in waiting] == [True, False]
    assert b'"price":300' in waiting[1].body


def test_whose_time_is_over_goes(tmp_path: Path) -> None:
    moment = clock.now()
    service = Service(settings_in(tmp_path), now=lambda: moment)
    with service:
        tenant = service.tenants.add("acme")
        short = service.registry.subscribe(tenant, SubscriptionRequest("x = 1", validity=10)).subscription
        long_ = service.registry.subscribe(tenant, SubscriptionRequest("x = 1", validity=100)).subscription
        moment += 50 * clock.SECOND
        service.registry.expire()
        settled(service)
        published(service, {"x": 1})
        assert [one.id for one in service.registry.page(tenant)] == [long_.id]
        assert service.outbox.counts(short.number).due == 0
        assert service.outbox.counts(long_.number).due == 1


def test_what_an_earlier_version_took_does_not_stop_the_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A name in double quotes was a text there; here the subscription, the want and the offer are left out."""
    with Service(settings_in(tmp_path)) as service:
        tenant = service.tenants.add("acme")
        made = {
            (when, want): service.registry.subscribe(tenant, SubscriptionRequest(when, want=want)).subscription
            for when in ("x = 1", "x = 2")
            for want in (False, True)
        }
        service.market.offer(tenant, "default", "x = 3")
        for table in (subscriptions, offers):
            there = sa.select(table).where(table.c.when.in_(["x = 1", "x = 3"]))
            for row in service.store.read(partial(lambda there, c: c.execute(there).all(), there)):
                old = {**row._mapping, "when": "\"x\" = 'y'"}
                values = {"when": old["when"], "sum": row_sum(table.name, old)}
                changed = sa.update(table).where(table.c.number == row.number).values(**values)
                service.store.write(partial(lambda changed, c: c.execute(changed) and None, changed))
    with Service(settings_in(tmp_path)) as service:
        until(lambda: len(service.registry.page(tenant, quarantined=True)) == 2)
        said = [record.getMessage() for record in caplog.records if "cannot stand" in record.getMessage()]
        assert len(said) == 2
        broken = service.registry.page(tenant, quarantined=True)
        assert {one.id for one in broken} == {made["x = 1", want].id for want in (False, True)}
        assert all("this test has no attribute" in str(one.quarantine_reason) for one in broken)
        assert all("a name stands in backticks: `x` = 'y'" in each for each in said)
        service.market.offer(tenant, "default", "x = 2")
        published(service, {"x": 2})
        settled(service)
        for want in (False, True):
            until(partial(lambda want: len(service.outbox.pending(made["x = 2", want].number, 0, 10)) == 1, want))
            waiting = service.outbox.pending(made["x = 1", want].number, 0, 10)
            assert [one.kind for one in waiting] == ["quarantined"]
