"""Subscribe, renew, replace, unsubscribe: who may, for how long, and how much."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.running import published, settings_in, settled
from vedette.errors import FilterError, InputError, NotSupported
from vedette.service import clock
from vedette.service.errors import NotAllowed, NotFound, OverLimit
from vedette.service.registry import Wanted
from vedette.service.service import Service
from vedette.service.tenants import Tenant


def test_a_subscription_stands_for_a_day_and_can_be_renewed(service: Service, tenant: Tenant) -> None:
    made = service.registry.subscribe(tenant, Wanted("price < 120", subscriber="ann"))
    one = made.subscription
    assert one.expires - one.created == pytest.approx(24 * 3600 * clock.SECOND, abs=clock.SECOND)
    assert service.registry.get(tenant, one.id) == one
    renewed = service.registry.renew(tenant, one.id, made.ticket, 7 * 24 * 3600)
    assert renewed.expires - one.expires > 5 * 24 * 3600 * clock.SECOND
    assert (renewed.when, renewed.version) == (one.when, 1)


def test_only_the_ticket_changes_anything(service: Service, tenant: Tenant) -> None:
    made = service.registry.subscribe(tenant, Wanted("price < 120"))
    other = service.registry.subscribe(tenant, Wanted("price < 10"))
    id_ = made.subscription.id
    for ticket in (None, "", "vt_wrong", other.ticket, made.ticket + "x"):
        with pytest.raises(NotAllowed, match="ticket"):
            service.registry.renew(tenant, id_, ticket)
        with pytest.raises(NotAllowed):
            service.registry.replace(tenant, id_, ticket, Wanted("price > 1"))
        with pytest.raises(NotAllowed):
            service.registry.unsubscribe(tenant, id_, ticket)
    assert service.registry.get(tenant, id_).when == "price < 120"
    service.registry.unsubscribe(tenant, id_, made.ticket)
    with pytest.raises(NotFound):
        service.registry.get(tenant, id_)


def test_subscriptions_of_others_are_invisible(service: Service, tenant: Tenant) -> None:
    other = service.tenants.add("other")
    made = service.registry.subscribe(tenant, Wanted("price < 120"))
    with pytest.raises(NotFound):
        service.registry.get(other, made.subscription.id)
    with pytest.raises(NotFound):  # the right ticket does not help
        service.registry.unsubscribe(other, made.subscription.id, made.ticket)
    assert service.registry.page(other) == []
    assert [one.id for one in service.registry.page(tenant)] == [made.subscription.id]


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        (Wanted("price <"), FilterError),
        (Wanted("price < 1", predict={"within": 3}), NotSupported),
        (Wanted("[x = 1] ; [x = 2]", predict={"within": 0}), InputError),
        (Wanted("price < 1", stream="nowhere"), NotFound),
        (Wanted("price < 1", validity=0.0), InputError),
        (Wanted("price < 1", validity=1e12), InputError),
        (Wanted("name contains 'x'", want=True), FilterError),
        (Wanted("[x = 1]{500}"), OverLimit),
    ],
)
def test_what_cannot_stand_is_refused_and_leaves_nothing(
    service: Service, tenant: Tenant, wanted: Wanted, error: type[Exception]
) -> None:
    with pytest.raises(error):
        service.registry.subscribe(tenant, wanted)
    assert service.registry.page(tenant) == []


def test_limits_of_a_tenant(tmp_path: Path) -> None:
    with Service(settings_in(tmp_path, limits={"subscriptions": 3, "tenant_cost": 100.0})) as service:
        tenant = service.tenants.add("small", {"cost": 30})
        made = service.registry.subscribe(tenant, Wanted("a = 1 and b = 2"))
        with pytest.raises(OverLimit, match="cost"):
            service.registry.subscribe(tenant, Wanted("[a = 1] ; [a = 2] ; [a = 3]"))
        with pytest.raises(OverLimit, match="cost"):
            service.registry.replace(tenant, made.subscription.id, made.ticket, Wanted("[a = 1] ; [a = 2] ; [a = 3]"))
        for _ in range(2):
            service.registry.subscribe(tenant, Wanted("a = 1"))
        with pytest.raises(OverLimit, match="3 subscriptions"):
            service.registry.subscribe(tenant, Wanted("a = 1"))


def test_a_change_counts_from_the_next_event_on(service: Service, tenant: Tenant) -> None:
    published(service, {"price": 1})
    made = service.registry.subscribe(tenant, Wanted("price < 120"))
    published(service, {"price": 2}, {"price": 200})
    service.registry.replace(tenant, made.subscription.id, made.ticket, Wanted("price > 120"))
    published(service, {"price": 3}, {"price": 300})
    waiting = service.outbox.pending(made.subscription.number, 0, 10)
    assert [b'"price":2' in one.body for one in waiting] == [True, False]
    assert b'"price":300' in waiting[1].body


def test_whose_time_is_over_goes(tmp_path: Path) -> None:
    moment = clock.now()
    service = Service(settings_in(tmp_path), now=lambda: moment)
    with service:
        tenant = service.tenants.add("acme")
        short = service.registry.subscribe(tenant, Wanted("x = 1", validity=10)).subscription
        long_ = service.registry.subscribe(tenant, Wanted("x = 1", validity=100)).subscription
        moment += 50 * clock.SECOND
        service.registry.expire()
        settled(service)
        published(service, {"x": 1})
        assert [one.id for one in service.registry.page(tenant)] == [long_.id]
        assert service.outbox.counts(short.number).due == 0
        assert service.outbox.counts(long_.number).due == 1
