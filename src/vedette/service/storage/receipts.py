"""Marks by which a transaction is recognised after its commit was not answered: was it committed?

A mark is a random number that the transaction itself writes. SQLite keeps it in the database's header (`user_version`),
PostgreSQL in a row. PostgreSQL's own ids of transactions would not do: a server that crashes may give ids that it had
not written down to later transactions.
"""

from __future__ import annotations

import random
import sqlite3
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import OperationalError

from vedette.service.errors import StoreFailed
from vedette.service.storage.tables import marks

_LOCKED: Final = "55P03"
_LARGEST: Final = 2**31 - 1
_MARKS: Final = random.Random()  # its own: after seeding the module's generator, marks would repeat


def receipt_of(connection: Connection) -> int:
    """Within a transaction, as the last statement: write a mark and return it."""
    mark = 1 + int(_MARKS.random() * _LARGEST)
    if connection.dialect.name == "sqlite":
        statement = f"PRAGMA user_version = {mark}"
        try:  # as every write does it, straight to the driver: a fifth of the time
            connection.connection.driver_connection.execute(statement)  # type: ignore[union-attr]
        except sqlite3.Error as error:
            raise OperationalError(statement, None, error) from error
    else:
        connection.execute(sa.update(marks).values(mark=mark))
    return mark


def was_committed(connection: Connection, receipt: int) -> bool:
    """Whether the transaction with this mark, the newest that wrote, was committed.

    StoreFailed as long as the database does not know.
    """
    if connection.dialect.name == "sqlite":
        return bool(connection.exec_driver_sql("PRAGMA user_version").scalar_one() == receipt)
    try:  # a transaction that has not ended holds the row
        newest = connection.execute(sa.select(marks.c.mark).with_for_update(nowait=True)).scalar_one()
    except OperationalError as error:
        if getattr(error.orig, "sqlstate", None) == _LOCKED:
            raise StoreFailed(
                "the database has not finished the last transaction\nHint: try again in a moment"
            ) from error
        raise
    return bool(newest == receipt)
