"""Bulk writes through the database driver, without SQLAlchemy's work for each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.sql.compiler import SQLCompiler

# Few: neither tables nor statements change.
_INSERTS: Final[dict[tuple[str, str, tuple[str, ...], bool], SQLCompiler]] = {}
_OTHERS: Final[dict[tuple[str, sa.Update], SQLCompiler]] = {}


def insert(connection: Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]], *, new_only: bool) -> None:
    """Insert rows that all have the same columns; with `new_only`, rows that exist already are left out."""
    if not rows:
        return
    which = (connection.dialect.name, table.name, tuple(rows[0]), new_only)
    compiled = _INSERTS.get(which)
    if compiled is None:
        statement = _insert_new(connection, table) if new_only else sa.insert(table)
        compiled = _INSERTS[which] = statement.compile(dialect=connection.dialect, column_keys=list(rows[0]))
    _run(connection, compiled, rows)


def execute(connection: Connection, statement: sa.Update, rows: Sequence[Mapping[str, Any]]) -> None:
    """Execute an update once for each row's parameters; the statement is cached for ever."""
    if not rows:
        return
    which = (connection.dialect.name, statement)  # the statement itself: it stays as long as what was made of it
    compiled = _OTHERS.get(which)
    if compiled is None:
        compiled = _OTHERS[which] = statement.compile(dialect=connection.dialect)
    _run(connection, compiled, rows)


def _run(connection: Connection, compiled: SQLCompiler, rows: Sequence[Mapping[str, Any]]) -> None:
    values: Any = list(rows)
    if compiled.positional:
        in_order = itemgetter(*cast("list[str]", compiled.positiontup))
        values = [in_order(row) for row in rows]
    connection.exec_driver_sql(compiled.string, values)


def _insert_new(connection: Connection, table: sa.Table) -> sa.Insert:
    if connection.dialect.name == "sqlite":
        from sqlalchemy.dialects.sqlite import insert as insert_new
    else:
        from sqlalchemy.dialects.postgresql import insert as insert_new  # type: ignore[assignment]
    return insert_new(table).on_conflict_do_nothing()
