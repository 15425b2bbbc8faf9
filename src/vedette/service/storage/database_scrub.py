"""Finds damaged rows and pages of a service's database; everything is read, and nothing is changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.pool import NullPool

from vedette.errors import DamageError, VedetteError
from vedette.patterns.packing import is_packed, is_whole
from vedette.service.errors import StoreDamaged
from vedette.service.storage.row_checksums import SUMMED, row_sum
from vedette.service.storage.store import engine_of, readable_text, translated_failures
from vedette.service.storage.tables import METADATA, PENDING, counters, notifications, subscriptions

_AT_ONCE: Final = 5_000  # rows
_MOST: Final = 1_000  # complaints of SQLite about its pages
_HINT: Final = "\nHint: restore the database from a copy; the service goes on without what is damaged"
_SUM: Final = "its checksum does not fit"


class MissingChecksums(VedetteError):
    """The database was written by a version without checksums."""


def database_damages(url: str, seen: Callable[[float], None] = lambda _: None) -> Iterator[VedetteError]:
    """All damages, pages first; `seen` is called with the fraction that was read."""
    engine = engine_of(url) if not url.startswith("sqlite:") else _read_only(url)
    name = engine.url.render_as_string(hide_password=True) if engine.dialect.name != "sqlite" else engine.url.database
    try:
        if engine.dialect.name == "sqlite":
            yield from _pages(engine, str(name))
        tables = _tables(engine)
        for place, table in enumerate(tables):
            for row, reason in _rows(engine, table):
                yield DamageError(f"{name}: table {table.name}, row {row}", "is damaged", f": {reason}{_HINT}")
            seen((place + 1) / len(tables))
        for row in _miscounted(engine):
            reason = f"what waits is not what was counted{_HINT}"
            yield DamageError(f"{name}: table {counters.name}, row {row}", "is damaged", f": {reason}")
    except StoreDamaged as error:
        yield DamageError(name, "is damaged", f": {str(error).partition(': ')[2]}")
    finally:
        engine.dispose()


def _read_only(url: str) -> Engine:
    """An engine for SQLite without any right to write; the service may run meanwhile."""
    path = Path(str(sa.make_url(url).database)).absolute()

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, check_same_thread=False)
        connection.text_factory = readable_text
        connection.execute("PRAGMA cell_size_check=ON")
        return connection

    return sa.create_engine(url, creator=connect, poolclass=NullPool)


def _read(engine: Engine, work: Callable[[Connection], Any]) -> Any:
    with translated_failures(), engine.connect() as connection:
        return work(connection)


def _pages(engine: Engine, name: str) -> Iterator[VedetteError]:
    """Errors that SQLite finds in its pages, and in indexes that disagree with their tables."""
    check = f"PRAGMA integrity_check({_MOST})"
    for said in _read(engine, lambda c: c.exec_driver_sql(check).scalars().all()):
        for line in str(said).splitlines():
            if line != "ok" and not line.startswith("*** in database"):
                yield DamageError(f"{name}: the database", "is damaged", f": {line}{_HINT}")


def _tables(engine: Engine) -> list[sa.Table]:
    """The tables to be verified; MissingChecksums if they have no checksums."""
    there = _read(engine, lambda c: {t: {x["name"] for x in sa.inspect(c).get_columns(t)} for t in _names(c)})
    tables = [table for table in METADATA.sorted_tables if table.name in SUMMED or "state_event" in table.c]
    tables = [table for table in tables if table.name in there]
    if not tables or any("sum" not in there[table.name] for table in tables if table.name in SUMMED):
        raise MissingChecksums(
            "the rows of this database have no checksums: it is not a service's, or of an older version\n"
            "Hint: the service adds them when it starts"
        )
    return tables


def _names(connection: Connection) -> Sequence[str]:
    return sa.inspect(connection).get_table_names()


def _rows(engine: Engine, table: sa.Table) -> Iterator[tuple[object, str]]:
    """Rows of a table whose checksums do not fit, and why."""
    if table.name not in SUMMED:
        for row in _read(engine, lambda c: c.execute(sa.select(table)).all()):
            state: Any = row.state
            if state is not None and not (isinstance(state, bytes) and is_packed(state) and is_whole(state)):
                yield "/".join(str(value) for value in row[: len(table.primary_key)]), _SUM
        return
    last = _read(engine, lambda c: c.execute(sa.select(sa.func.max(table.c.number))).scalar()) or 0
    begin = _read(engine, lambda c: c.execute(sa.select(sa.func.min(table.c.number))).scalar()) or 0
    while begin <= last:
        yield from _between(engine, table, begin, begin + _AT_ONCE - 1)
        begin += _AT_ONCE


def _miscounted(engine: Engine) -> Sequence[int]:
    """Subscriptions whose counts disagree with their pending notifications: a state that changes has no checksum."""
    waiting = sa.select(sa.func.count()).where(
        notifications.c.subscription == counters.c.subscription, notifications.c.state == PENDING
    )
    counted = counters.c.due - counters.c.delivered - counters.c.dead - counters.c.dropped
    wrong = sa.select(counters.c.subscription).where(
        counters.c.subscription.in_(sa.select(subscriptions.c.number)), counted != waiting.scalar_subquery()
    )
    return list(_read(engine, lambda c: c.execute(wrong).scalars().all()))


def _between(engine: Engine, table: sa.Table, first: int, last: int) -> Iterator[tuple[object, str]]:
    """The same of rows with these numbers; where they cannot be read, by halving."""
    wanted = sa.select(table).where(table.c.number.between(first, last))
    try:
        rows = _read(engine, lambda c: c.execute(wanted).all())
    except StoreDamaged:
        if first == last:
            yield first, "its page cannot be read"
            return
        middle = (first + last) // 2
        yield from _between(engine, table, first, middle)
        yield from _between(engine, table, middle + 1, last)
        return
    for row in rows:
        if row.sum is None or row_sum(table.name, row._mapping) != row.sum:
            yield row.number, _SUM
