"""The service on a real PostgreSQL: what holds with SQLite holds there, too.

The tests of `tests/service` that say what the service does, whatever it remembers in, are run once more on databases
of a server that is started here.
"""

from __future__ import annotations

import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from benchmarks.service.torture import tortured
from tests.connectors.postgres import PASSWORD, USER, Postgres, Restarting
from tests.service import running as places
from tests.service import (
    test_asyncapi,
    test_holding,
    test_http,
    test_keys,
    test_malformed,
    test_pump,
    test_reading,
    test_registry,
    test_rights,
    test_set_aside,
    test_store,
    test_transactions,
    test_usage,
    test_webhooks,
)
from tests.service.conftest import running, service, tenant  # noqa: F401
from tests.service.test_asyncapi import document  # noqa: F401
from tests.service.test_reading import client  # noqa: F401
from tests.service.test_rights import older, tenants  # noqa: F401
from tests.service.test_set_aside import publishers  # noqa: F401
from tests.service.test_transactions import faults, world  # noqa: F401
from tests.service.test_webhooks import receiver  # noqa: F401
from tests.service.unavailable import every_route
from tests.waiting import until
from vedette.service.errors import StoreFailed
from vedette.service.storage.receipts import receipt_of, was_committed
from vedette.service.storage.schema_migration import migrate
from vedette.service.storage.store import Store
from vedette.service.storage.tables import METADATA

# What is about SQLite itself.
_SQLITE_ONLY = {
    "test_a_full_disk_is_told_apart_and_passes",
    "test_what_is_acknowledged_is_synced",
    "test_too_much_that_waits_is_sent_away",
}
_MODULES: tuple[ModuleType, ...] = (
    test_store,
    test_registry,
    test_rights,
    test_set_aside,
    test_usage,
    test_pump,
    test_holding,
    test_http,
    test_keys,
    test_reading,
    test_webhooks,
    test_asyncapi,
    test_malformed,
    test_transactions,
)


def _taken_over() -> dict[str, Callable[..., Any]]:
    """The tests of other modules, under names that say where they come from."""
    found = {}
    for module in _MODULES:
        subject = module.__name__.rpartition(".test_")[2]
        for name, value in vars(module).items():
            if name.startswith("test_") and value.__module__ == module.__name__ and name not in _SQLITE_ONLY:
                found[f"test_{subject}_{name.removeprefix('test_')}"] = value
    return found


globals().update(_taken_over())


def new_database(server: Postgres) -> str:
    """The URL of an empty database."""
    name = "service_" + uuid.uuid4().hex[:12]
    engine = server.engine().execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return f"postgresql+psycopg://{USER}:{quote(PASSWORD, safe='')}@127.0.0.1:{server.port}/{name}"


@pytest.fixture(scope="module", autouse=True)
def on_postgresql(server: Postgres) -> Iterator[None]:
    """Every folder stands for a database."""
    urls: dict[Path, str] = {}
    before = places.url_in

    def url_in(folder: Path) -> str:
        if folder not in urls:
            urls[folder] = new_database(server)
        return urls[folder]

    places.url_in = url_in
    yield
    places.url_in = before


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(places.url_in(tmp_path))
    migrate(store.engine)
    store.start()
    yield store
    store.close()


def test_the_tables_are_those_of_the_model_and_can_be_migrated_twice(store: Store) -> None:
    migrate(store.engine)
    with store.engine.connect() as connection:
        assert connection.dialect.name == "postgresql"
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []


def test_killed_again_and_again(server: Postgres) -> None:
    found = tortured(kills=4, seed=1, seconds=300, url=new_database(server))
    assert found["broken"] == []
    assert found["kills"] == 4
    assert found["acknowledged"] > 0
    assert found["notifications_delivered"] > 0


def test_a_database_that_goes_away_and_comes_back(server: Postgres, tmp_path: Path) -> None:
    settings = places.settings_in(tmp_path)
    name = settings.store.url.rpartition("/")[2]
    engine = server.engine().execution_options(isolation_level="AUTOCOMMIT")

    def allow(yes: bool) -> None:
        with engine.connect() as connection:
            connection.execute(sa.text(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS {yes}"))
            if not yes:
                ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name"
                connection.execute(sa.text(ends), {"name": name})

    with places.over_http(settings) as served:
        mine = served.subscribe("x = 1")
        served.publish({"id": "before", "x": 1})
        for turn in range(3):
            allow(False)
            answer = served.call("POST", "/v1/events", json={"id": f"refused-{turn}", "x": 1})
            assert answer.status_code == 503, answer.text
            assert answer.headers["content-type"] == "application/problem+json"
            assert served.http.get("/livez").status_code == 200
            allow(True)
            until(lambda: served.call("GET", "/v1/subscriptions").status_code == 200)
            served.publish({"id": f"after-{turn}", "x": 1})
        assert [one["event"]["id"] for one in served.pulled(mine["id"])] == ["before", "after-0", "after-1", "after-2"]
        held = (
            "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database "
            f"WHERE locktype = 'advisory' AND granted AND datname = '{name}'"
        )
        until(lambda: server.rows(held) == [(1,)])  # nobody else can serve it, as before
        assert served.service.trouble() is None
    engine.dispose()


def test_what_became_of_a_transaction(server: Restarting, store: Store) -> None:
    with store.engine.connect() as connection:
        other = connection.begin()
        receipt = receipt_of(connection)
        with pytest.raises(StoreFailed, match="has not finished the last transaction"):
            store.read(partial(was_committed, receipt=receipt))
        other.rollback()
        assert not store.read(partial(was_committed, receipt=receipt))
        with connection.begin():
            receipt = receipt_of(connection)
        assert store.read(partial(was_committed, receipt=receipt))


def test_a_transaction_whose_id_a_crash_gave_to_another_was_not_committed(server: Restarting, store: Store) -> None:
    server.run("CHECKPOINT")
    with store.engine.connect() as connection:
        connection.begin()
        receipt = receipt_of(connection)  # nothing of it is on the disk
        server.end(signal.SIGQUIT)
        connection.invalidate()
    server.start()
    for number in range(20):
        server.run(f"CREATE TABLE other_{number} (x int)")
    assert not store.read(partial(was_committed, receipt=receipt))
    assert store.write(lambda connection: connection.execute(sa.text("SELECT 1")).scalar_one()) == 1


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["restarted", "crashed"])
def test_a_server_that_is_started_anew(server: Restarting, tmp_path: Path, how: signal.Signals) -> None:
    """Nobody is told anything but to come again (503), and whatever was acknowledged is told once."""
    answers: list[Any] = []
    acknowledged: list[str] = []
    odd: list[str] = []
    over = threading.Event()

    with places.over_http(places.settings_in(tmp_path)) as served:
        mine = served.subscribe("x = 1")

        def publish(who: int) -> None:
            number = 0
            while not over.is_set():
                number += 1
                answer = served.call("POST", "/v1/events", json={"id": f"{who}-{number}", "x": 1})
                answers.append(answer)
                if answer.status_code == 202:
                    acknowledged.append(f"{who}-{number}")
                elif answer.status_code != 503:
                    odd.append(answer.text)

        publishers = [threading.Thread(target=publish, args=(who,)) for who in range(4)]
        for each in publishers:
            each.start()
        for _ in range(2):
            until(lambda: len(acknowledged) > 20)
            server.end(how)
            time.sleep(0.3)
            answers += every_route(served)
            server.start()
            acknowledged_before = len(acknowledged)
            until(partial(lambda before: len(acknowledged) > before + 20, acknowledged_before))
        over.set()
        for each in publishers:
            each.join()
        odd += [one.text for one in answers if one.status_code >= 500 and one.status_code != 503]
        assert odd == []
        busy = [one for one in answers if one.status_code == 503]
        assert busy
        assert all(one.headers.get("retry-after", "").isdigit() for one in busy)
        places.settled(served.service)
        told = [one["event"]["id"] for one in served.pulled(mine["id"], limit=1000)]
        assert len(told) == len(set(told))
        assert set(acknowledged[:900]) <= set(told)
