"""Bits that flip in the database: what is damaged is set aside, counted and said; the rest goes on."""

from __future__ import annotations

import asyncio
import itertools
import random
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
import sqlalchemy as sa
from alembic import command

from benchmarks.damage import databases
from tests.cli.session import vedette
from tests.service.running import MEASURES, met, over_http, published, settings_in
from vedette.service.delivery.hub import Hub
from vedette.service.delivery.notification_reader import DroppedCount, NotificationReader
from vedette.service.errors import StoreDamaged
from vedette.service.incoming_events import read
from vedette.service.journal import Journal
from vedette.service.service import Service
from vedette.service.storage.database_scrub import database_damages
from vedette.service.storage.schema_migration import configured, migrate
from vedette.service.storage.store import Store
from vedette.service.storage.tables import events, notifications, offers, subscriptions
from vedette.service.subscription_registry import QUARANTINE, SubscriptionRequest


def change(folder: Path, statement: str, *values: Any) -> None:
    """Damage a database behind the service's back."""
    with closing(sqlite3.connect(folder / "service.db")) as raw, raw:
        assert raw.execute(statement, values).rowcount > 0


def flipped(body: bytes) -> bytes:
    """The same with one bit flipped, which is JSON still: another number."""
    damaged = body.replace(b"1", b"3", 1)
    assert damaged != body
    return damaged


def stored(store: Store, folder: Path, ids: int) -> Journal:
    """A journal of so many events that reads them from the disk."""
    body = orjson.dumps([{"id": f"e{n}", "x": 1} for n in range(ids)])
    Journal(store).publish("default", read(body, "application/json", {}, MEASURES)).result(30)
    journal = Journal(store)
    journal.start(lambda _: None)
    return journal


@pytest.fixture
def store(tmp_path: Path) -> Any:
    made = Store(f"sqlite:///{tmp_path}/service.db")
    migrate(made.engine)
    made.start()
    yield made
    made.close()


DAMAGES = {
    "body": "UPDATE events SET body = CAST(replace(body, '1', '3') AS BLOB) WHERE number = ?",
    "a body of another type": "UPDATE events SET body = CAST(body AS TEXT) WHERE number = ?",
    "a body that is a number": "UPDATE events SET body = 1000000000000 WHERE number = ?",
    "an id that is no text": "UPDATE events SET id = CAST(CAST(id AS BLOB) || x'ff' AS TEXT) WHERE number = ?",
    "when it came": "UPDATE events SET received = received + 1 WHERE number = ?",
    "who published it": "UPDATE events SET tenant = 'other' WHERE number = ?",
    "the sum": "UPDATE events SET sum = sum + 1 WHERE number = ?",
    "no sum": "UPDATE events SET sum = NULL WHERE number = ?",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_events_are_left_out_and_counted(
    damage: str, store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    journal = stored(store, tmp_path, 10)
    for number in (2, 5):
        change(tmp_path, DAMAGES[damage], number)
    batch, written = journal.after("default", 0, 10, 4)
    # A batch is full as long as there are more: who reads it takes a short one for the end.
    assert list(batch.numbers) == list(written) == [1, 3, 4, 6]
    assert list(journal.after("default", 6, 10, 100)[0].numbers) == [7, 8, 9, 10]
    assert store.damages.found == {"events": 2}
    assert [(vars(record)["table"], vars(record)["row"]) for record in caplog.records] == [("events", 2), ("events", 5)]
    assert list(journal.written([1, 2, 3])) == [1, 3]
    assert len(journal.recent("default", 0, 100)) == 8


def test_pages_that_cannot_be_read_cost_their_events_alone(store: Store, tmp_path: Path) -> None:
    journal = stored(store, tmp_path, 1000)
    store.engine.dispose()
    with closing(sqlite3.connect(tmp_path / "service.db")) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    place = tmp_path / "service.db"
    content = bytearray(place.read_bytes())
    size = 4096
    page = next(at for at in range(0, len(content), size) if content[at] == 13 and b'"e500"' in content[at : at + size])
    content[page] = 7  # no kind of page that there is
    place.write_bytes(content)
    with pytest.raises(StoreDamaged, match=r"the database is damaged: .*\nHint: .*vedette scrub"):
        store.read(lambda c: c.execute(sa.select(events)).all())
    found = [number for begin in (0, 400) for number in journal.after("default", begin, 1000, 400)[0].numbers]
    lost = store.damages.found["events"]
    assert 0 < lost < 100
    assert 501 not in found
    assert {1, 1000} <= set(journal.after("default", 0, 1000, 1000)[0].numbers)


def test_a_damaged_notification_is_dropped_and_its_reader_told(tmp_path: Path) -> None:
    with Service(settings_in(tmp_path)) as service:
        tenant = service.tenants.add("acme")
        mine = service.registry.subscribe(tenant, SubscriptionRequest("x = 1")).subscription
        published(service, *({"x": 1, "n": n} for n in range(10)))
        waiting = service.outbox.pending(mine.number, 0, 100)
        lost, body = waiting[3].number, waiting[3].body
        change(tmp_path, "UPDATE notifications SET body = ? WHERE number = ?", flipped(body), lost)

        async def handed() -> list[Any]:
            hub = Hub()
            hub.start()
            reader = NotificationReader(service.store, service.outbox, hub, mine.number, beat=0.05)
            return [one async for one, _ in _zipped(reader.read(), 12)]

        found = asyncio.run(handed())
        assert [one for one in found if isinstance(one, DroppedCount)] == [DroppedCount(1)]
        assert [one.number for one in found if hasattr(one, "body")] == [o.number for o in waiting if o.number != lost]
        counts = service.outbox.counts(mine.number)
        assert (counts.due, counts.dropped, counts.pending + counts.delivered) == (10, 1, 9)
        assert service.store.damages.found == {"notifications": 1}
        # One that was delivered, and is asked for again.
        service.store.write(lambda c: service.outbox.delivered(c, mine.number, 10**6))
        change(tmp_path, "UPDATE notifications SET subscription = ? WHERE number = ?", mine.number, waiting[5].number)
        change(tmp_path, "UPDATE notifications SET created = created + 1 WHERE number = ?", waiting[5].number)
        again = service.outbox.since(mine.number, 0, 100)
        assert [one.number for one in again] == [o.number for o in waiting if o not in (waiting[3], waiting[5])]
        counts = service.outbox.counts(mine.number)
        assert (counts.due, counts.dropped, counts.delivered, counts.pending) == (10, 2, 8, 0)


async def _zipped(reading: Any, count: int) -> Any:
    numbers = iter(range(count))
    async for one in reading:
        number = next(numbers, None)
        if number is None:
            return
        yield one, number
        if number == count - 1:
            return


def test_a_notification_of_somebody_else_is_not_handed_out(tmp_path: Path) -> None:
    with Service(settings_in(tmp_path)) as service:
        tenant = service.tenants.add("acme")
        mine, other = (service.registry.subscribe(tenant, SubscriptionRequest(f"x = {n}")).subscription for n in (1, 2))
        published(service, {"x": 1})
        change(tmp_path, "UPDATE notifications SET subscription = ?", other.number)
        assert service.outbox.pending(other.number, 0, 10) == []
        assert service.store.damages.found == {"notifications": 1}
        assert mine.number != other.number


def test_patterns_whose_state_is_damaged_begin_anew(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with Service(settings) as service:
        tenant = service.tenants.add("acme")
        pattern = service.registry.subscribe(tenant, SubscriptionRequest("[x = 1] ; [x = 2]")).subscription
        plain = service.registry.subscribe(tenant, SubscriptionRequest("x = 2")).subscription
        published(service, {"x": 1})
    with closing(sqlite3.connect(tmp_path / "service.db")) as raw, raw:
        state = bytearray(raw.execute("SELECT state FROM progress").fetchone()[0])
        state[len(state) // 2] ^= 4
        raw.execute("UPDATE progress SET state = ?", (bytes(state),))
    with Service(settings) as service:
        assert service.store.damages.found == {"progress": 1}
        published(service, {"x": 2})
        assert service.outbox.counts(plain.number).due == 1
        assert service.outbox.counts(pattern.number).due == 0  # what had begun is lost, which was said
        published(service, {"x": 1}, {"x": 2})
        assert service.outbox.counts(pattern.number).due == 1


def test_a_place_that_is_no_number_is_damage(tmp_path: Path) -> None:
    with Service(settings_in(tmp_path)):
        pass
    change(tmp_path, "UPDATE progress SET event = 'of another table'")
    with pytest.raises(StoreDamaged, match=r"how far default was read is no number\nHint: .*vedette scrub"):
        Service(settings_in(tmp_path)).start()


def test_a_damaged_subscription_hears_of_nothing_until_it_is_replaced(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with Service(settings) as service:
        tenant = service.tenants.add("owner")
        mine = service.registry.subscribe(tenant, SubscriptionRequest("x = 1"))
        other = service.registry.subscribe(tenant, SubscriptionRequest("x = 3")).subscription
        want = service.registry.subscribe(tenant, SubscriptionRequest("x = 1", want=True)).subscription
        offer, _ = service.market.offer(tenant, "default", "x in (1, 5)")
        met(service)
    change(tmp_path, "UPDATE subscriptions SET \"when\" = replace(\"when\", '1', '3') WHERE \"when\" = 'x = 1'")
    with over_http(settings) as running:
        service = running.service
        assert service.store.damages.found == {"subscriptions": 2}
        published(service, {"x": 3}, {"x": 1})
        id_ = mine.subscription.id
        assert service.registry.get(tenant, id_).damaged
        assert not service.registry.get(tenant, other.id).damaged
        key = {"Authorization": f"Bearer {service.tenants.new_key('owner', 'k')}"}
        shown = running.http.get(f"/v1/subscriptions/{id_}", headers=key).json()
        assert (shown["damaged"], shown["notifications"]["due"]) == (True, 0)
        assert service.outbox.counts(other.number).due == 1
        service.registry.replace(tenant, id_, mine.ticket, SubscriptionRequest("x = 1"))
        published(service, {"x": 1})
        assert not service.registry.get(tenant, id_).damaged
        assert service.outbox.counts(mine.subscription.number).due == 1
        assert service.outbox.counts(want.number).due == 1  # as it met before
    change(tmp_path, "UPDATE offers SET \"when\" = 'x in (1, 7)'")
    with Service(settings) as service:
        late = service.registry.subscribe(tenant, SubscriptionRequest("x = 7", want=True)).subscription
        met(service)
        assert service.outbox.counts(late.number).due == 0
        assert service.store.damages.found["offers"] == 1
        assert offer.when == "x in (1, 5)"


def test_dead_letters_and_metrics_say_what_is_damaged(tmp_path: Path) -> None:
    with over_http(settings_in(tmp_path)) as running:
        mine = running.subscribe("x = 1")
        running.publish({"x": 1}, {"x": 1})
        (subscription,) = running.service.registry.standing("default")
        bury = running.service.outbox.bury
        for one in running.service.outbox.pending(subscription.number, 0, 10):
            running.service.store.write(partial(lambda one, c: bury(c, one, "acme", 1, "no answer"), one))
        change(tmp_path, "UPDATE notifications SET tenant = 'other' WHERE number = 1")
        found = running.call("GET", "/v1/dead-letters").json()["dead_letters"]
        assert [one["notification"] and one["notification"]["subscription"] for one in found] == [mine["id"], None]
        assert 'vedette_damaged_rows_total{table="notifications"} 1.0' in running.http.get("/metrics").text


def test_older_databases_get_their_sums(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with Service(settings) as service:
        tenant = service.tenants.add("acme")
        mine = service.registry.subscribe(
            tenant, SubscriptionRequest("x = 1", predict=None, origin={"title": "é"})
        ).subscription
        service.registry.subscribe(tenant, SubscriptionRequest("x = 1", want=True))
        service.market.offer(tenant, "default", "x in (1, 5)")
        published(service, *({"x": 1, "s": "é"} for _ in range(20)))
    store = Store(settings.store.url)
    with store.engine.begin() as connection:  # as it was before
        command.downgrade(configured(connection), "0003")
    migrate(store.engine)
    for table in (events, notifications, subscriptions, offers):
        rows = store.read(partial(lambda table, c: c.execute(sa.select(table)).all(), table))
        assert rows
        assert store.damages.whole(table.name, rows) == rows
    store.close()
    with Service(settings) as service:
        assert len(service.outbox.pending(mine.number, 0, 100)) == 20


def test_every_column_that_matters_is_in_the_sum(tmp_path: Path) -> None:
    """What may change in place, and nothing else, is not in it."""
    changing = {
        "events": {"number"},
        "notifications": {"number", "state", "settled"},
        "subscriptions": {"number", "ticket", "created", "expires", "cost", *QUARANTINE},
        "offers": {"number", "ticket"},
    }
    from vedette.service.storage.row_checksums import SUMMED

    for table in (events, notifications, subscriptions, offers):
        assert set(table.c.keys()) == {*SUMMED[table.name], *changing[table.name], "sum"}
    assert len(set(itertools.chain(*SUMMED.values()))) > 20


def test_scrub_tells_every_damaged_row(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with Service(settings) as service:
        tenant = service.tenants.add("acme")
        for text in ("x = 1", "[x = 1] ; [x = 2]"):
            service.registry.subscribe(tenant, SubscriptionRequest(text))
        service.market.offer(tenant, "default", "x in (1, 5)")
        published(service, *({"x": 1, "s": "é" * 50} for _ in range(200)))
        place = tmp_path / "service.db"
        assert list(database_damages(settings.store.url)) == []  # while it runs
    assert vedette("scrub", place).exit_code == 0
    for statement in (
        "UPDATE events SET body = CAST(replace(body, '1', '3') AS BLOB) WHERE number = 7",
        "UPDATE notifications SET event = 8 WHERE number = 9",
        "UPDATE notifications SET state = 1 WHERE number = 11",
        "UPDATE subscriptions SET \"when\" = 'x = 3' WHERE number = 1",
        "UPDATE offers SET publisher = 'me'",
        "UPDATE progress SET state = CAST(replace(state, 'a', 'c') AS BLOB)",
    ):
        change(tmp_path, statement)
    before = place.read_bytes()
    result = vedette("scrub", place)
    assert result.exit_code == 1
    told = [line.removeprefix(f"{place}: table ").partition(" is damaged")[0] for line in result.stdout.splitlines()]
    assert sorted(told) == [
        "counters, row 1",
        "events, row 7",
        "notifications, row 9",
        "offers, row 1",
        "progress, row default",
        "subscriptions, row 1",
    ]
    assert place.read_bytes() == before
    (tmp_path / "vedette.toml").write_text(f'[store]\nurl = "{settings.store.url}"\n')
    assert vedette("scrub", "--settings", tmp_path / "vedette.toml").stdout == result.stdout


def test_scrub_says_what_it_cannot_verify(tmp_path: Path) -> None:
    place = tmp_path / "service.db"
    with closing(sqlite3.connect(place)) as raw, raw:
        raw.execute("CREATE TABLE other (x)")
    result = vedette("scrub", place)
    assert (result.exit_code, result.stdout) == (
        1,
        f"{place} cannot be verified: the rows of this database have no checksums: "
        "it is not a service's, or of an older version\n",
    )
    assert vedette("scrub").exit_code == 1


def test_flips_anywhere_in_the_database(tmp_path: Path) -> None:
    """A few; `make torture` flips more, in processes of their own."""
    databases.made(tmp_path)
    right = databases.served(tmp_path, "right")
    assert len(right) > 30
    chance, size = random.Random(1), (tmp_path / "service.db").stat().st_size
    for place in [20, 100, *(chance.randrange(size) for _ in range(6))]:
        outcome, reason = databases.tried(tmp_path, place, 1 << chance.randrange(8), right)
        assert outcome not in ("wrong", "raw error"), (place, reason)
