"""Whatever fails while matching is found, left out and told; all others go on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
import sqlalchemy as sa

from tests.service.running import MEASURES, published, settings_in, settled
from tests.waiting import until
from vedette.meeting.live_meeting import Side
from vedette.operators.operator import operator
from vedette.operators.registry import Operators
from vedette.operators.thread_interrupt import TimeLimitExceeded
from vedette.service import lane, lane_flow
from vedette.service.errors import NotMatching
from vedette.service.faults import FaultLog
from vedette.service.incoming_events import read
from vedette.service.notification import NotificationTemplate
from vedette.service.service import Service
from vedette.service.storage.row_checksums import row_sum
from vedette.service.storage.tables import events as events_table
from vedette.service.storage.tables import subscriptions
from vedette.service.stream_engine import StreamEngine
from vedette.service.subscription_registry import NewSubscription, SubscriptionRequest
from vedette.service.tenants import Tenant

SECONDS = 1.0  # that an event may take where something is endless


class Planted(Exception):
    """What tests plant."""


def endless() -> None:
    while True:
        pass


def fails() -> None:
    raise Planted("planted")


def takes_too_long() -> None:
    raise TimeLimitExceeded("it took longer than planted")


def recurses() -> None:
    recurses()


def ends_the_program() -> None:
    raise SystemExit(1)


FAULTS = [fails, takes_too_long, recurses, ends_the_program]


def rewrite(connection: sa.Connection, table: sa.Table, number: int, values: dict[str, Any]) -> None:
    """Let a row say something else, as if that had been written."""
    mine = table.c.number == number
    row = {**connection.execute(sa.select(table).where(mine)).one()._mapping, **values}
    connection.execute(sa.update(table).where(mine).values(**values, sum=row_sum(table.name, row)))


def told(service: Service, made: NewSubscription) -> list[Any]:
    """The ids of the events that a subscription heard of, and kinds of notifications that are no matches."""
    found = [orjson.loads(one.body) for one in service.outbox.pending(made.subscription.number, 0, 10_000)]
    return [each["event"]["id"] if each["kind"] == "match" else each["kind"] for each in found]


def wanted(service: Service, tenant: str, *some: str) -> list[NewSubscription]:
    if tenant not in {each.name for each in service.tenants.all()}:
        service.tenants.add(tenant)
    return [service.registry.subscribe(Tenant(tenant, {}), SubscriptionRequest(each)) for each in some]


def events(*some: int) -> list[dict[str, Any]]:
    return [{"id": f"e{x}", "x": x, "time": 1_700_000_000 + x} for x in some]


def plant(
    monkeypatch: pytest.MonkeyPatch, fault: Callable[[], None], concerns: Callable[[StreamEngine, Any], bool]
) -> None:
    """Let matching fail wherever an engine and an event are concerned."""
    real = StreamEngine.match

    def planted(self: StreamEngine, batch: Any, rejects: Any = None) -> Any:
        found = real(self, batch, rejects)  # patterns have moved on by then
        if any(concerns(self, event) for event in batch.events):
            fault()
        return found

    monkeypatch.setattr(StreamEngine, "match", planted)


def with_id(engine: StreamEngine, ids: set[str]) -> bool:
    return any(id_ in engine for id_ in ids)


# ---------------------------------------------------------------- wants and offers at fault


@pytest.mark.parametrize("fault", [fails, recurses, ends_the_program])
def test_wants_and_offers_at_fault_cost_nobody_else_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Callable[[], None]
) -> None:
    """A pair that fails is left out; who fails with several is told nothing more, over restarts too."""
    bad_want, bad_offer, cannot_stand = "x > -7", "x < 77", "x > -8"
    real_meets, real_take = Side.meets, Side.take

    def meets(self: Side, when: str) -> list[str]:
        found = real_meets(self, when)
        wants = self is self._meeting.publications
        others = self._meeting.subscriptions if wants else self._meeting.publications
        if found and {bad_want, bad_offer} & {when, *map(others.text, found)}:
            fault()
        return found

    def take(self: Side, id_: str, when: str) -> None:
        if when == cannot_stand:
            fault()
        real_take(self, id_, when)

    monkeypatch.setattr(Side, "meets", meets)
    monkeypatch.setattr(Side, "take", take)

    def met(service: Service, made: NewSubscription) -> list[str]:
        pending = service.outbox.pending(made.subscription.number, 0, 100)
        found = [orjson.loads(one.body) for one in pending]
        return [each["offer"]["when"] if each["kind"] == "meeting" else each["kind"] for each in found]

    with Service(settings_in(tmp_path)) as service:
        bad, good = service.tenants.add("bad"), service.tenants.add("good")

        def want(tenant: Tenant, text: str) -> NewSubscription:
            return service.registry.subscribe(tenant, SubscriptionRequest(text, want=True))

        wants = [want(good, f"x > {number}") for number in range(3)]
        until(lambda: not service.market.behind)
        at_fault, broken = want(bad, bad_want), want(bad, cannot_stand)
        for number in (11, 12):
            service.market.offer(good, "default", f"x = {number}")
        service.market.offer(bad, "default", bad_offer)
        for number in (13, 14):
            service.market.offer(good, "default", f"x = {number}")
        until(lambda: len(service.registry.page(bad, quarantined=True)) == 2)
        until(lambda: not service.market.behind)
        expected = [f"x = {number}" for number in (11, 12, 13, 14)]
        assert [met(service, one) for one in wants] == [expected] * 3
        assert (met(service, at_fault), met(service, broken)) == (["quarantined"], ["quarantined"])
        assert service.pump.failures["meeting"] >= 3
        assert service.trouble() is None
    with Service(settings_in(tmp_path)) as service:
        service.market.offer(good, "default", "x = 15")
        until(lambda: met(service, wants[0]) == [*expected, "x = 15"])
        service.registry.replace(bad, broken.subscription.id, broken.ticket, SubscriptionRequest("x = 15", want=True))
        until(lambda: met(service, broken) == ["quarantined", "x = 15"])
        assert [one.id for one in service.registry.page(bad, quarantined=True)] == [at_fault.subscription.id]


def test_nobody_waits_until_offers_and_wants_have_met(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    going, go_on, real = threading.Event(), threading.Event(), Side.meets

    def slow(self: Side, when: str) -> list[str]:
        with self._meeting.lock:
            going.set()
            go_on.wait(60)
            return real(self, when)

    monkeypatch.setattr(Side, "meets", slow)
    tenant = service.tenants.add("acme")
    want = service.registry.subscribe(tenant, SubscriptionRequest("x > 0", want=True))
    (plain,) = wanted(service, "acme", "x > 0")
    assert going.wait(60)
    service.market.offer(tenant, "default", "x = 1")
    published(service, *events(2))
    assert told(service, plain) == ["e2"]
    go_on.set()
    until(lambda: service.outbox.counts(want.subscription.number).due == 1)


# ---------------------------------------------------------------- subscriptions at fault


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("text", ["x >= 0", "[x >= 0]"])
def test_a_subscription_at_fault_is_quarantined_and_all_others_are_told(
    service: Service, monkeypatch: pytest.MonkeyPatch, text: str, fault: Callable[[], None]
) -> None:
    (bad,) = wanted(service, "bad", text)
    good = wanted(service, "good", "x >= 0", "[x >= 0]", "[x = 2] , [x = 3]", "x = 5", "[x = 1] ; [x = 7]")
    published(service, *events(0, 1))
    plant(monkeypatch, fault, lambda engine, event: event.get("x") == 4 and with_id(engine, {bad.subscription.id}))
    published(service, *events(2, 3, 4, 5))
    published(service, *events(6, 7))
    everything = [f"e{x}" for x in range(8)]
    assert [told(service, one) for one in good] == [everything, everything, ["e3"], ["e5"], ["e7"]]
    assert told(service, bad)[:4] == everything[:4]
    assert told(service, bad)[4:] == ["quarantined"]
    one = service.registry.get(Tenant("bad", {}), bad.subscription.id)
    assert one.quarantined is not None
    assert one.quarantine_reason
    assert service.pump.failure is None


def test_one_that_is_quarantined_stays_so_over_restarts_until_it_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, mine = settings_in(tmp_path), Tenant("bad", {})
    with Service(settings) as service:
        (bad,) = wanted(service, "bad", "x >= 0")
        with monkeypatch.context() as patch:
            plant(patch, fails, lambda engine, event: with_id(engine, {bad.subscription.id}))
            published(service, *events(1))
    with Service(settings) as service:
        published(service, *events(2, 3))
        assert told(service, bad) == ["quarantined"]
        assert service.pump.quarantine.missed("default", bad.subscription.id) == 3
        assert [one.id for one in service.registry.page(mine, quarantined=True)] == [bad.subscription.id]
        assert service.registry.page(mine, quarantined=False) == []
        service.registry.replace(mine, bad.subscription.id, bad.ticket, SubscriptionRequest("x >= 0"))
        published(service, *events(4))
        assert told(service, bad) == ["quarantined", "e4"]
        assert service.registry.page(mine, quarantined=True) == []
        assert service.pump.quarantine.missed("default", bad.subscription.id) is None


def test_several_at_fault_among_many_are_found(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    some = wanted(service, "many", *[f"x >= 0 and x <> {1000 + n}" for n in range(60)])
    bad = {some[number].subscription.id for number in (3, 17, 18)}
    plant(monkeypatch, fails, lambda engine, _: with_id(engine, bad))
    published(service, *events(*range(40)))
    published(service, *events(41))
    for made in some:
        if made.subscription.id in bad:
            assert told(service, made) == ["quarantined"]
        else:
            assert told(service, made) == [f"e{x}" for x in (*range(40), 41)]


def test_stored_subscriptions_over_a_limit_are_quarantined_when_the_service_starts(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with Service(settings) as service:
        bad, good = wanted(service, "t", "x = 1", "x >= 0")
        pattern, other = wanted(service, "t", "[x = 1]", "[x >= 0]")
        for one, text in ((bad, ".".join("a" * 987) + " = 1"), (pattern, "[" + ".".join("a" * 987) + " = 1]")):
            number = one.subscription.number
            service.store.write(partial(rewrite, table=subscriptions, number=number, values={"when": text}))
    with Service(settings) as service:
        published(service, *events(1))
        assert [told(service, one) for one in (bad, good)] == [["quarantined"], ["e1"]]
        assert [told(service, one) for one in (pattern, other)] == [["quarantined"], ["e1"]]
        reason = service.registry.get(Tenant("t", {}), bad.subscription.id).quarantine_reason
        assert reason is not None
        assert "LimitError" in reason


@pytest.mark.parametrize("fault", FAULTS)
def test_one_that_cannot_stand_is_quarantined(
    service: Service, monkeypatch: pytest.MonkeyPatch, fault: Callable[[], None]
) -> None:
    real = StreamEngine.take

    def planted(self: StreamEngine, some: Any) -> Any:
        if any("= 13" in one.when for one in some):
            fault()
        return real(self, some)

    (before,) = wanted(service, "good", "[x >= 0]")
    published(service, *events(0))
    monkeypatch.setattr(StreamEngine, "take", planted)
    bad, after = wanted(service, "bad", "x >= 0 or x = 13", "x >= 0")
    published(service, *events(1, 2))
    assert told(service, bad) == ["quarantined"]
    assert told(service, after) == ["e1", "e2"]
    assert told(service, before) == ["e0", "e1", "e2"]


@pytest.mark.parametrize("fault", FAULTS)
def test_one_whose_notifications_cannot_be_made_is_quarantined(
    service: Service, monkeypatch: pytest.MonkeyPatch, fault: Callable[[], None]
) -> None:
    bad, good = wanted(service, "t", "x >= 0", "x >= 0")
    real = NotificationTemplate.__init__

    def planted(self: NotificationTemplate, subscription: Any, moment: str) -> None:
        if subscription.id == bad.subscription.id:
            fault()
        real(self, subscription, moment)

    monkeypatch.setattr(NotificationTemplate, "__init__", planted)
    published(service, *events(1, 2))
    published(service, *events(3))
    assert told(service, good) == ["e1", "e2", "e3"]
    assert told(service, bad) == ["quarantined"]


@pytest.mark.parametrize("fault", FAULTS)
def test_one_whose_state_cannot_be_written_is_quarantined(
    service: Service, monkeypatch: pytest.MonkeyPatch, fault: Callable[[], None]
) -> None:
    monkeypatch.setattr(lane_flow, "STATE_EVERY", 0.0)
    bad, good = wanted(service, "t", "[x = 1] ; [x = 3]", "[x = 1] ; [x = 4]")
    published(service, *events(0, 1))
    real = StreamEngine.to_bytes

    def planted(self: StreamEngine) -> Any:
        if bad.subscription.id in self:
            fault()
        return real(self)

    monkeypatch.setattr(StreamEngine, "to_bytes", planted)
    published(service, *events(2))
    published(service, *events(3, 4))
    assert told(service, good) == ["e4"]
    assert [one for one in told(service, bad) if one != "e3"] == ["quarantined"]


# ---------------------------------------------------------------- events at fault


@pytest.mark.parametrize("fault", FAULTS)
def test_an_event_at_fault_is_set_aside_and_all_others_are_told(
    service: Service, monkeypatch: pytest.MonkeyPatch, fault: Callable[[], None]
) -> None:
    some = wanted(service, "t", "x >= 0", "x > -1", "[x >= 0]", "[x = 2] , [x = 4]")
    plant(monkeypatch, fault, lambda _, event: event.get("x") == 3)
    published(service, *events(0, 1, 2, 3, 4, 5))
    others = ["e0", "e1", "e2", "e4", "e5"]
    assert [told(service, one) for one in some] == [others, others, others, ["e4"]]
    assert service.pump.rejected["default"] == 1
    assert service.pump.matched["default"] == 6


def test_a_lane_is_behind_until_it_has_counted(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, fails, lambda _, event: event.get("x") == 3)
    wanted(service, "t", "x >= 0")
    counting, go = threading.Event(), threading.Event()
    real = FaultLog.put

    def waits(self: FaultLog, *given: Any) -> None:
        counting.set()
        assert go.wait(30)
        real(self, *given)

    monkeypatch.setattr(FaultLog, "put", waits)
    incoming = read(orjson.dumps(events(3)), "application/json", {}, MEASURES)
    service.journal.publish("default", incoming).result(30)
    assert counting.wait(30)
    assert service.pump.behind == 1
    go.set()
    settled(service)
    assert service.pump.rejected["default"] == 1


def test_an_event_that_cannot_be_read_is_set_aside(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with Service(settings) as service:
        good, pattern = wanted(service, "t", "x >= 0", "[x >= 0]")
        published(service, *events(1, 2, 3))
    service = Service(settings)
    with service.store.engine.begin() as connection:
        rewrite(connection, events_table, 2, {"body": b"no JSON"})
        connection.exec_driver_sql("UPDATE progress SET event = 0, state = NULL, state_event = 0")
        connection.exec_driver_sql("DELETE FROM notifications")
    with service:
        published(service, *events(4))
        assert told(service, good) == told(service, pattern) == ["e1", "e3", "e4"]
        assert service.pump.rejected["default"] == 1


def test_many_events_at_fault_cost_no_subscription(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    some = wanted(service, "t", *["x >= 0", "[x >= 0]"] * 3)
    plant(monkeypatch, fails, lambda _, event: event.get("x", 1) % 2 == 0)
    published(service, *events(*range(12)))
    assert all(told(service, one) == [f"e{x}" for x in range(1, 12, 2)] for one in some)
    assert service.pump.rejected["default"] == 6


# ---------------------------------------------------------------- neither


def test_what_fails_once_and_not_again_costs_nobody_anything(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    some = wanted(service, "t", "x >= 0", "[x = 1] ; [x = 2]")
    failures = iter([True, True])
    plant(monkeypatch, lambda: fails() if next(failures, False) else None, lambda *_: True)
    published(service, *events(1))
    published(service, *events(2))
    assert [told(service, one) for one in some] == [["e1", "e2"], ["e2"]]
    assert service.registry.page(Tenant("t", {}), quarantined=True) == []
    assert service.pump.failures.total() == 2


def test_those_that_fail_only_together_are_told_by_themselves(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = wanted(service, "t", *["x >= 0"] * 4)
    ids = [one.subscription.id for one in some]
    plant(monkeypatch, fails, lambda engine, _: ids[0] in engine and ids[3] in engine)
    published(service, *events(1, 2))
    assert all(told(service, one) == ["e1", "e2"] for one in some)
    assert service.registry.page(Tenant("t", {}), quarantined=True) == []


def test_where_nothing_can_be_matched_nobody_is_quarantined_and_publishing_is_refused(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, pattern = wanted(service, "t", "x >= 0", "[x >= 0]")
    published(service, *events(1))
    with monkeypatch.context() as patch:
        patch.setattr(lane, "_PAUSE", 0.001)
        patch.setattr(StreamEngine, "match", lambda *_: fails())
        incoming = read(orjson.dumps(events(2)), "application/json", {}, MEASURES)
        service.journal.publish("default", incoming, tenant="t").result(30)
        until(lambda: service.pump.failure is not None)
        assert "Planted" in str(service.trouble())
        with pytest.raises(NotMatching):
            service.pump.check("default")
    until(lambda: service.pump.failure is None)
    published(service, *events(3))
    assert told(service, good) == told(service, pattern) == ["e1", "e2", "e3"]
    assert service.trouble() is None
    service.pump.check("default")


def test_those_who_watch_cannot_end_matching(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    (good,) = wanted(service, "t", "x >= 0")
    monkeypatch.setattr(service.watching, "heard", lambda *_: fails())
    published(service, *events(1))
    published(service, *events(2))
    assert told(service, good) == ["e1", "e2"]
    assert service.pump.failures["watching"] == 2


def test_a_lane_that_fails_in_itself_goes_back_and_on(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    good, pattern = wanted(service, "t", "x >= 0", "[x = 1] ; [x = 3]")
    published(service, *events(1))
    failures = iter([True])
    real = service.outbox.put

    def planted(*given: Any, **more: Any) -> Any:
        if next(failures, False):
            fails()
        return real(*given, **more)

    monkeypatch.setattr(service.outbox, "put", planted)
    published(service, *events(2, 3))
    assert [told(service, one) for one in (good, pattern)] == [["e1", "e2", "e3"], ["e3"]]
    assert service.pump.failure is None


@pytest.mark.parametrize("text", ["x >= 0", "[x >= 0]"])
def test_an_endless_loop_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    with Service(settings_in(tmp_path, limits={"matching_seconds": SECONDS, "operator_seconds": SECONDS})) as service:
        bad, good = wanted(service, "t", text, "x >= 0")
        plant(monkeypatch, endless, lambda engine, event: bad.subscription.id in engine)
        published(service, *events(1))
        assert [told(service, one) for one in (bad, good)] == [["quarantined"], ["e1"]]


# ---------------------------------------------------------------- lanes


@pytest.fixture
def called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Service, threading.Event, threading.Event]]:
    """A service with operators that wait, loop and call nothing; the first says when it was called, and waits."""
    begun, go = threading.Event(), threading.Event()

    @operator(reads=("x",))
    def waits(event: Any) -> bool:
        begun.set()
        return go.wait(30)

    @operator(reads=("x",))
    def loops(event: Any) -> bool:
        if event["x"] == 2:
            endless()
        return True

    @operator(reads=("x",))
    def holds(event: Any) -> bool:
        return True

    monkeypatch.setattr(Operators, "installed", classmethod(lambda cls: Operators(waits, loops, holds)))
    with Service(settings_in(tmp_path, limits={"matching_seconds": SECONDS, "operator_seconds": SECONDS})) as service:
        yield service, begun, go
        go.set()


def test_nobody_waits_for_the_operators_of_others(called: tuple[Service, threading.Event, threading.Event]) -> None:
    service, begun, go = called
    (slow,) = wanted(service, "slow", "waits()")
    plain, pattern = wanted(service, "plain", "x >= 0", "[x >= 0]")
    (quick,) = wanted(service, "quick", "holds()")
    incoming = read(orjson.dumps(events(1)), "application/json", {}, MEASURES)
    service.journal.publish("default", incoming).result(30)
    assert begun.wait(30)
    for one in (plain, pattern, quick):
        until(partial(lambda one: told(service, one) == ["e1"], one))
    assert told(service, slow) == []
    go.set()
    until(lambda: told(service, slow) == ["e1"])


def test_an_endless_operator_costs_its_subscription_alone(
    called: tuple[Service, threading.Event, threading.Event],
) -> None:
    service = called[0]
    bad, good = wanted(service, "t", "loops()", "holds()")
    (other,) = wanted(service, "other", "x >= 0")
    published(service, *events(1))
    published(service, *events(2, 3))
    assert told(service, other) == told(service, good) == ["e1", "e2", "e3"]
    assert told(service, bad) == ["e1", "quarantined"]


def test_lanes_with_operators_go_on_where_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @operator(reads=("x",))
    def holds(event: Any) -> bool:
        return True

    monkeypatch.setattr(Operators, "installed", classmethod(lambda cls: Operators(holds)))
    texts = ("holds()", "[holds() and x = 1] ; [x = 5]", "[x = 1] ; [x = 5]")
    with Service(settings_in(tmp_path)) as service:
        some = wanted(service, "t", *texts)
        published(service, *events(1, 2))
    with Service(settings_in(tmp_path)) as service:
        published(service, *events(3, 4))
    # As a stream was before it had lanes: one state for all patterns.
    service = Service(settings_in(tmp_path))
    state = service.store.read(lambda c: c.exec_driver_sql("SELECT state FROM lanes WHERE lane <> ''").scalar_one())
    assert state is not None
    with service:
        published(service, *events(5))
        assert [told(service, one) for one in some] == [["e1", "e2", "e3", "e4", "e5"], ["e5"], ["e5"]]
