"""Bulk writes through the database driver, without SQLAlchemy's work for each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import Any, Final, cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.sql.compiler import SQLCompiler

# Rows of one statement, from the largest: every statement costs a switch between threads, however few rows it has. A
# few sizes only, since drivers keep the statements that they have prepared.
_SIZES: Final = (256, 32, 4, 1)
_OTHERS: Final[dict[tuple[str, sa.Update], SQLCompiler]] = {}  # few: statements do not change


def insert(
    connection: Connection, table: sa.Table, columns: tuple[str, ...], rows: Sequence[Sequence[Any]], *, new_only: bool
) -> None:
    """Insert rows, which have values for these columns; with `new_only`, rows that exist already are left out."""
    begin = 0
    for size in _SIZES:
        text = _inserting(connection.dialect.name, table.name, columns, size, new_only)
        while len(rows) - begin >= size:
            values = rows[begin] if size == 1 else chain.from_iterable(rows[begin : begin + size])
            connection.exec_driver_sql(text, tuple(values))
            begin += size


@lru_cache(maxsize=256)
def _inserting(dialect: str, table: str, columns: tuple[str, ...], size: int, new_only: bool) -> str:
    """The text of a statement that inserts so many rows."""
    mark = "?" if dialect == "sqlite" else "%s"
    row = f"({', '.join([mark] * len(columns))})"
    names = ", ".join(f'"{name}"' for name in columns)
    end = " ON CONFLICT DO NOTHING" if new_only else ""
    return f'INSERT INTO "{table}" ({names}) VALUES {", ".join([row] * size)}{end}'


def execute(connection: Connection, statement: sa.Update, rows: Sequence[Mapping[str, Any]]) -> None:
    """Execute an update once for each row's parameters; the statement is cached for ever."""
    if not rows:
        return
    which = (connection.dialect.name, statement)  # the statement itself: it stays as long as what was made of it
    compiled = _OTHERS.get(which)
    if compiled is None:
        compiled = _OTHERS[which] = statement.compile(dialect=connection.dialect)
    values: Any = list(rows)
    if compiled.positional:
        in_order = itemgetter(*cast("list[str]", compiled.positiontup))
        values = [in_order(row) for row in rows]
    connection.exec_driver_sql(compiled.string, values)
