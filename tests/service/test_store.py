"""One writer, groups of writes, and what happens when one of them is wrong."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.engine import Connection

from vedette.service.errors import StoreBusy, StoreFailed, StoreFull
from vedette.service.storage.schema_migration import migrate
from vedette.service.storage.store import Store
from vedette.service.storage.tables import METADATA, tenants


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(f"sqlite:///{tmp_path / 'x.db'}")
    migrate(store.engine)
    store.start()
    yield store
    store.close()


def add(name: str) -> sa.Insert:
    return sa.insert(tenants).values(name=name, created=0)


def names(store: Store) -> list[str]:
    return list(store.read(lambda c: c.execute(sa.select(tenants.c.name).order_by(tenants.c.name)).scalars().all()))


def test_migrations_make_the_tables_of_the_model(store: Store) -> None:
    with store.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []


def test_tables_of_a_newer_version_are_refused(store: Store) -> None:
    with store.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreFailed, match="newer Vedette"):
        migrate(store.engine)


def test_the_mistake_of_one_is_not_that_of_others(store: Store) -> None:
    held = threading.Event()
    blocker = store.submit(lambda _: held.wait(10))  # so that what follows is one group
    good = [store.submit(partial(lambda n, c: c.execute(add(n)) and n, n)) for n in ("a", "b")]

    def wrong(connection: Connection) -> None:
        connection.execute(add("c"))
        raise ValueError("I changed my mind")

    bad = store.submit(wrong)
    twice = store.submit(lambda c: c.execute(add("a")))
    held.set()
    assert blocker.result(10)
    assert [one.result(10) for one in good] == ["a", "b"]
    with pytest.raises(ValueError, match="changed my mind"):
        bad.result(10)
    with pytest.raises(sa.exc.IntegrityError):
        twice.result(10)
    assert names(store) == ["a", "b"]


def test_hearing_comes_in_the_order_of_writing_and_after_the_commit(store: Store) -> None:
    heard: list[tuple[str, list[str]]] = []
    for name in "abc":
        store.submit(partial(lambda n, c: c.execute(add(n)) and n, name), lambda n: heard.append((n, names(store))))
    store.write(lambda _: None)
    assert [name for name, _ in heard] == ["a", "b", "c"]
    assert all(name in there for name, there in heard)


def test_too_much_that_waits_is_sent_away(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'y.db'}", waiting=2)
    migrate(store.engine)
    store.submit(lambda _: None)
    store.submit(lambda _: None)
    with pytest.raises(StoreBusy):
        store.submit(lambda _: None)
    store.start()
    store.close()
    with pytest.raises(StoreBusy, match="ending"):
        store.submit(lambda _: None)


def test_a_full_disk_is_told_apart_and_passes(store: Store) -> None:
    def room(pages: int) -> None:
        with store.engine.connect() as connection:
            raw = connection.connection.driver_connection
            assert isinstance(raw, sqlite3.Connection)
            raw.execute(f"PRAGMA max_page_count = {pages}")

    def fill(connection: Connection) -> None:
        connection.connection.driver_connection.execute("PRAGMA max_page_count = 40")  # type: ignore[union-attr]
        connection.execute(sa.insert(tenants).values(name="big", created=0, limits="x" * 1_000_000))

    with pytest.raises(StoreFull, match="no room"):
        store.write(fill)
    store.write(
        lambda c: c.connection.driver_connection.execute("PRAGMA max_page_count = 1000000") and None  # type: ignore[union-attr]
    )
    store.write(lambda c: c.execute(add("small")) and None)
    assert names(store) == ["small"]
    room(1_000_000)


def test_what_is_acknowledged_is_synced(store: Store) -> None:
    with store.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_whoever_goes_away_does_not_stop_the_writer(store: Store) -> None:
    begun, held = threading.Event(), threading.Event()

    def blocks(_: Connection) -> bool:
        begun.set()
        return held.wait(10)

    blocker = store.submit(blocks)
    assert begun.wait(10)
    gone = store.submit(lambda c: c.execute(add("gone")))
    assert gone.cancel()
    stays = store.submit(lambda c: c.execute(add("stays")) and None)
    assert not blocker.cancel()
    held.set()
    stays.result(10)
    assert names(store) == ["stays"]
