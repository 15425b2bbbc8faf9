"""Every statement and every commit fails in turn: memory stays what the database says, and all can be done again."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError, InterfaceError, InternalError, OperationalError

from benchmarks.service.failed_transactions import failed
from benchmarks.service.faults import KINDS, Faults, compared
from benchmarks.service.operations import OPERATIONS, Doing, Unkept, World, letters, outcome
from tests.service.running import Running, settings_in
from tests.service.unavailable import every_route
from tests.waiting import until
from vedette.errors import FilterError
from vedette.service import clock, lane_flow
from vedette.service.errors import Conflict, NotFound, ServiceError, StoreFailed
from vedette.service.service import Service
from vedette.service.subscription_registry import SubscriptionRequest

_FORGETFUL = ("renew", "acknowledge", "replay", "forget", "new tenant", "new key", "change stream", "end")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lane_flow, "PAUSE", 0.002)
        moment = [clock.now()]
        settings = settings_in(tmp_path_factory.mktemp("world"), store={"synchronous": "NORMAL"})
        with Unkept(settings, now=lambda: moment[0]) as service:
            world = World(service, service.tenants.add("acme"), moment)
            world.ready()
            yield world


@pytest.fixture
def faults(world: World) -> Iterator[Faults]:
    faults = Faults(world.service.store.engine)
    yield faults
    faults.remove()


def _pairs() -> Iterator[Any]:
    """Every operation with every kind of fault; always those that differ most, of what memory follows."""
    for name in OPERATIONS:
        for kind in KINDS:
            always = kind in ("connection", "silent") and name not in _FORGETFUL
            yield pytest.param(name, kind, marks=() if always else pytest.mark.thorough, id=f"{name}-{kind}")


@pytest.mark.parametrize(("name", "kind"), list(_pairs()))
def test_one_after_the_other_fails(world: World, faults: Faults, name: str, kind: str) -> None:
    world.clear()
    world.subscribe()
    world.subscribe(want=True)
    world.offer()
    number = 0
    while True:
        number += 1
        doing = OPERATIONS[name](world)
        world.rest()
        with faults.at(kind, number):
            refused = outcome(doing)
            if faults.fired and kind != "silent":
                world.matched()
        if not faults.fired:
            break
        assert refused is None or isinstance(refused, StoreFailed), refused
        assert kind != "unanswered" or refused is None  # it is found out that it took effect
        world.rest()
        assert compared(world.service) == []
        again = outcome(doing)
        assert again is None or isinstance(again, NotFound | Conflict), again
        assert refused is None or kind == "silent" or again is None
        assert letters(world)
    assert number > 1
    world.rest()
    assert compared(world.service, anew=True) == []


@pytest.mark.parametrize("error", [OperationalError, InterfaceError, InternalError, DBAPIError])
def test_every_route_asks_to_come_again_while_the_database_is_away(running: Running, error: type[DBAPIError]) -> None:
    running.call("GET", "/v1/subscriptions")  # the key is remembered: routes get as far as they can
    engine = running.service.store.engine

    def away(connection: Connection, *_: object) -> None:
        raise error("", None, sqlite3.OperationalError("gone"), connection_invalidated=error is DBAPIError)

    sa.event.listen(engine, "before_cursor_execute", away)
    try:
        answers = every_route(running)
    finally:
        sa.event.remove(engine, "before_cursor_execute", away)
    said = {(one.request.method, one.request.url.path): one.status_code for one in answers}
    assert {status for status in said.values() if status >= 500} == {503}, said
    assert sum(status == 503 for status in said.values()) > 20, said
    for one in answers:
        assert (one.status_code != 503) or one.headers["retry-after"].isdigit(), one.request.url
    running.publish({"x": 1})


def _done(doing: Doing, found: list[ServiceError | None]) -> None:
    found.append(outcome(doing))


def test_one_of_a_group_fails(world: World, faults: Faults) -> None:
    """Those who share a transaction with one who fails are written, or refused; memory is that of the database."""
    world.clear()
    names = ("want", "offer", "publish")
    number, kept = 0, 0
    while True:
        number += 1
        some = [OPERATIONS[name](world) for name in names]
        world.rest()
        held, found = threading.Event(), list[ServiceError | None]()
        blocker = world.service.store.submit(partial(lambda held, _: held.wait(30), held))
        until(lambda: not world.service.store.waiting)
        threads = [threading.Thread(target=_done, args=(one, found)) for one in some]
        for waiting, thread in enumerate(threads, 1):
            thread.start()
            until(partial(lambda waiting: world.service.store.waiting == waiting, waiting))
        with faults.at("statement", number):
            held.set()
            for thread in threads:
                thread.join(30)
            world.matched()
        blocker.exception(30)  # it writes nothing, and may be the one that fails
        world.rest()
        assert compared(world.service) == []
        if not faults.fired:
            break
        assert all(isinstance(one, StoreFailed | None) for one in found)
        kept += found.count(None)
    assert kept > number  # most of them stood all the same
    assert compared(world.service, anew=True) == []


def test_wants_and_offers_that_disagree_about_a_type(tmp_path: Path) -> None:
    """What cannot stand beside the others is refused, and a service that has taken it up begins all the same."""
    with Service(settings_in(tmp_path)) as service:
        tenant = service.tenants.add("acme")
        service.market.offer(tenant, "default", "x = 5")
        until(lambda: not service.market.behind)
        with pytest.raises(FilterError, match="float in another"):
            service.registry.subscribe(tenant, SubscriptionRequest("x = 'a'", want=True))
        with pytest.raises(FilterError, match="float in another"):
            service.market.offer(tenant, "default", "x = 'a'")
        service.registry.check_want = lambda *_: None  # as if both came in the same moment
        made = service.registry.subscribe(tenant, SubscriptionRequest("x = 'a'", want=True)).subscription
        until(lambda: service.registry.get(tenant, made.id).quarantined is not None)
        assert "float in another" in str(service.registry.get(tenant, made.id).quarantine_reason)
    with Service(settings_in(tmp_path)) as service:
        assert service.registry.subscribe(tenant, SubscriptionRequest("x = 6", want=True))


def test_random_mixes_of_them() -> None:
    found = failed(rounds=6, seed=3, seconds=600.0)
    assert (found["broken"], found["rounds"]) == ([], 6)
    assert found["refused"] > 0
