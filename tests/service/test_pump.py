"""From accepted events to notifications: the same as the engine by itself, whatever is interrupted."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

from tests.service.running import published, settings_in
from vedette.engine.stream_matcher import StreamMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.service import lane_flow, pump
from vedette.service.errors import StoreFailed
from vedette.service.service import Service
from vedette.service.subscription_registry import SubscriptionRequest
from vedette.service.tenants import Tenant

WANTED = [
    SubscriptionRequest("x < 3"),
    SubscriptionRequest("x = 5 or y = 'b'"),
    SubscriptionRequest("[x = 1] ; [x = 2]"),
    SubscriptionRequest("[x = 1 and y = $v] ; [x = 2 and y = $v] within 1 h"),
    SubscriptionRequest("[x = 0] , [x = 1]", predict={"within": 4, "threshold": 0.1}),
]


def made_up(random: Random, count: int) -> list[dict[str, Any]]:
    return [
        {"id": f"e{number}", "x": random.randrange(7), "y": random.choice("abc"), "time": 1_700_000_000 + number}
        for number in range(count)
    ]


def expected(events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """What one matcher says of the whole stream."""
    subscriptions = Subscriptions()
    for number, wanted in enumerate(WANTED):
        subscriptions.add(str(number), wanted.when, predict=wanted.predict)
    table = StreamMatcher(subscriptions).process(events, ids=[event["id"] for event in events])
    return sorted(
        (int(row["subscription"]), row["event"], row["kind"], tuple(sorted(row["bindings"] or ())))
        for row in table.to_pylist()
    )


def told(service: Service, numbers: list[int]) -> list[tuple[Any, ...]]:
    """What waits for all subscriptions."""
    found = []
    for place, number in enumerate(numbers):
        for one in service.outbox.pending(number, 0, 100_000):
            body = orjson.loads(one.body)
            found.append((place, body["event"]["id"], body["kind"], tuple(sorted(body.get("bindings", {}).items()))))
    return sorted(found)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_told_is_what_a_matcher_finds_over_batches_and_restarts(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    events = made_up(random, 300)
    settings = settings_in(tmp_path, limits={"queue": 100_000})
    numbers: list[int] = []
    at = 0
    while at < len(events):
        with Service(settings) as service:
            if not numbers:
                tenant = service.tenants.add("acme")
                numbers = [service.registry.subscribe(tenant, one).subscription.number for one in WANTED]
            for _ in range(random.randrange(1, 4)):
                size = random.randrange(1, 60)
                if events[at : at + size]:
                    published(service, *events[at : at + size])
                at += size
            found = told(service, numbers)
    assert found == expected(events)


def test_matched_again_after_a_crash_gives_the_same_notifications(tmp_path: Path) -> None:
    events = made_up(Random(7), 200)
    settings = settings_in(tmp_path, limits={"queue": 100_000})
    with Service(settings) as service:
        tenant = service.tenants.add("acme")
        numbers = [service.registry.subscribe(tenant, one).subscription.number for one in WANTED]
        published(service, *events[:120])
        before = service.store.read(lambda c: c.exec_driver_sql("SELECT id FROM notifications").scalars().all())
    # As if the last of it had not been written: patterns have to follow all events once more.
    service = Service(settings)
    with service.store.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE progress SET state = NULL, state_event = 0")
    with service:
        published(service, *events[120:])
        after = service.store.read(lambda c: c.exec_driver_sql("SELECT id FROM notifications").scalars().all())
        assert set(before) <= set(after)
        assert len(set(after)) == len(after)
        assert told(service, numbers) == expected(events)


def test_queues_are_bounded_and_everything_is_counted(tmp_path: Path) -> None:
    with Service(settings_in(tmp_path, limits={"queue": 10})) as service:
        tenant = service.tenants.add("acme")
        one = service.registry.subscribe(tenant, SubscriptionRequest("x >= 0")).subscription
        for begin in range(0, 35, 7):
            published(service, *({"x": begin + i} for i in range(7)))
        counts = service.outbox.counts(one.number)
        assert (counts.due, counts.dropped, counts.pending) == (35, 25, 10)
        waiting = service.outbox.pending(one.number, 0, 100)
        assert [orjson.loads(each.body)["event"]["x"] for each in waiting] == list(range(25, 35))


def test_events_that_were_there_count_once(service: Service) -> None:
    tenant = service.tenants.add("acme")
    one = service.registry.subscribe(tenant, SubscriptionRequest("x = 1")).subscription
    assert len(published(service, {"id": "a", "x": 1}, {"id": "b", "x": 1}, {"id": "a", "x": 1})) == 2
    assert published(service, {"id": "b", "x": 1}) == []
    assert service.outbox.counts(one.number).due == 2


def test_an_event_that_breaks_the_schema_is_counted_and_stops_nobody(tmp_path: Path) -> None:
    with Service(settings_in(tmp_path, streams={"typed": {"schema": {"x": "int"}}})) as service:
        tenant = service.tenants.add("acme")
        one = service.registry.subscribe(tenant, SubscriptionRequest("x = 1", stream="typed")).subscription
        published(service, {"x": 1}, {"x": "one"}, {"x": 1}, stream="typed")
        assert service.outbox.counts(one.number).due == 2


def test_a_database_that_does_not_answer_is_waited_for(
    service: Service, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = service.registry.subscribe(tenant, SubscriptionRequest("x = 1")).subscription
    pattern = service.registry.subscribe(tenant, SubscriptionRequest("[x = 1] , [x = 1]")).subscription
    failures = {"reading": 2, "writing": 2}
    after, write = service.journal.after, service.store.write

    def fails(what: str) -> None:
        failures[what] -= 1
        if failures[what] >= 0:
            raise StoreFailed("the database did not answer")

    def reading(*given: Any) -> Any:
        fails("reading")
        return after(*given)

    def writing(*given: Any) -> Any:
        done = write(*given)  # it was written, and nobody heard of it
        fails("writing")
        return done

    monkeypatch.setattr(lane_flow, "PAUSE", 0.01)
    monkeypatch.setattr(service.journal, "after", reading)
    monkeypatch.setattr(service.store, "write", writing)
    published(service, {"x": 1}, {"x": 1})
    assert max(failures.values()) < 0
    assert service.outbox.counts(mine.number).due == 2
    assert service.outbox.counts(pattern.number).due == 1


def test_of_several_changes_between_two_events_the_last_one_counts(tmp_path: Path) -> None:
    with Service(settings_in(tmp_path)) as service:
        service.tenants.add("t")
        registry, tenant = service.registry, Tenant("t", {})
        first, gone = (registry.subscribe(tenant, SubscriptionRequest("x = 1")) for _ in range(2))
        registry.unsubscribe(tenant, gone.subscription.id, gone.ticket)
        registry.replace(tenant, first.subscription.id, first.ticket, SubscriptionRequest("[x = 2]"))
        registry.replace(tenant, first.subscription.id, first.ticket, SubscriptionRequest("x = 3"))
        published(service, {"x": 1}, {"x": 2}, {"x": 3})
        engine = service.pump.engine("default")
        assert (first.subscription.id in engine, gone.subscription.id in engine, len(engine)) == (True, False, 1)
        assert service.outbox.counts(first.subscription.number).due == 1


def test_a_long_list_of_networks_is_not_parsed_to_find_its_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    """That happens in the thread that writes for everybody."""

    def slow(text: str) -> Any:
        raise AssertionError(f"parsed: {text}")

    monkeypatch.setattr(pump, "parse", slow)
    pump._calls.cache_clear()
    assert not pump._calls("address in cidr ('10.0.0.0/8', '11.0.0.0/8') and not (x in (1, 2))")
    with pytest.raises(AssertionError, match="parsed: cidr"):
        pump._calls("cidr ('10.0.0.0/8')")  # somebody's operator
