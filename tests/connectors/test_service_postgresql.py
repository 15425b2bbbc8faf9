"""The service on a real PostgreSQL: what holds with SQLite holds there, too.

The tests of `tests/service` that say what the service does, whatever it remembers in, are run once more on databases
of a server that is started here.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from benchmarks.service.torture import tortured
from tests.connectors.postgres import PASSWORD, USER, Postgres
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
    test_store,
    test_usage,
    test_webhooks,
)
from tests.service.conftest import running, service, tenant  # noqa: F401
from tests.service.test_asyncapi import document  # noqa: F401
from tests.service.test_reading import client  # noqa: F401
from tests.service.test_webhooks import receiver  # noqa: F401
from vedette.service.storage.migrating import migrate
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
    test_usage,
    test_pump,
    test_holding,
    test_http,
    test_keys,
    test_reading,
    test_webhooks,
    test_asyncapi,
    test_malformed,
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
            places.until(lambda: served.call("GET", "/v1/subscriptions").status_code == 200)
            served.publish({"id": f"after-{turn}", "x": 1})
        assert [one["event"]["id"] for one in served.pulled(mine["id"])] == ["before", "after-0", "after-1", "after-2"]
        held = (
            "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database "
            f"WHERE locktype = 'advisory' AND granted AND datname = '{name}'"
        )
        places.until(lambda: server.rows(held) == [(1,)])  # nobody else can serve it, as before
        assert served.service.trouble() is None
    engine.dispose()
