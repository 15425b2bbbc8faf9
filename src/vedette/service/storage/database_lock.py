"""Lock on a database, so that two processes do not serve it at once and make every notification twice.

For SQLite, a file beside the database is locked; for PostgreSQL, an advisory lock is held by a connection of its own.
Both are free again when the process ends, however it ends.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import IO, Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError, InvalidRequestError
from sqlalchemy.pool import NullPool

from vedette.errors import FileError
from vedette.service.errors import StoreFailed
from vedette.service.storage.private_files import keep_private
from vedette.service.storage.store import translated_failures

SUFFIX: Final = "-lock"
_NUMBER: Final = 0x7665646574746500  # of the advisory lock; each database of a server has its own
_LOOK: Final = 0.1  # seconds between two tries
_PATIENCE: Final = {"sqlite": 1.0}  # seconds; a server notices the end of a process that was killed a moment later
_OF_SERVERS: Final = 15.0


class DatabaseLock:
    """The lock on one database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._file: IO[bytes] | None = None
        self._connection: Connection | None = None
        self.lost: str | None = None  # why it is not held any more

    def take(self) -> None:
        """Acquire the lock; StoreFailed if another process keeps it."""
        end = time.monotonic() + _PATIENCE.get(self._engine.dialect.name, _OF_SERVERS)
        while not self._taken():
            if time.monotonic() > end:
                shown = self._engine.url.render_as_string(hide_password=True)
                raise StoreFailed(
                    f"another process serves {shown} already\nHint: end it, or name another database: store.url"
                )
            time.sleep(_LOOK)

    def keep(self) -> None:
        """Check the lock, and acquire it again if the database was away; to be called now and then."""
        if self._engine.dialect.name == "sqlite":
            return
        with self._lock:
            if self._connection is not None and _answers(self._connection):
                self.lost = None
                return
        try:
            taken = self._taken()
        except StoreFailed:
            return  # the database is away: no process can write
        self.lost = None if taken else "another process serves this database since it was away"

    def release(self) -> None:
        """Release the lock."""
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._connection is not None:
            _close(self._connection)
            self._connection = None

    def _taken(self) -> bool:
        with self._lock:
            self._let_go()
            if self._engine.dialect.name != "sqlite":
                return self._advised()
            path = self._engine.url.database
            assert path is not None  # as databases in memory are refused
            keep_private(path + SUFFIX, make=True)
            try:
                self._file = open(path + SUFFIX, "ab")  # noqa: SIM115 - it stays open
            except OSError as error:
                hint = "Hint: name a database in a folder that is there and can be written: store.url"
                raise FileError(f"{path}{SUFFIX}: {error.strerror or error}\n{hint}") from None
            if not _locked(self._file):
                self._let_go()
                return False
            return True

    def _advised(self) -> bool:
        with translated_failures():
            engine = sa.create_engine(self._engine.url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
            connection = engine.connect()
            if connection.execute(sa.select(sa.func.pg_try_advisory_lock(_NUMBER))).scalar_one():
                self._connection = connection
                return True
            connection.close()
            return False


def _locked(file: IO[Any]) -> bool:
    """Lock a file of this system; False if another process has locked it."""
    try:
        if sys.platform == "win32":  # pragma: no cover - elsewhere
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _answers(connection: Connection) -> bool:
    try:
        connection.execute(sa.select(1))
    except (DBAPIError, InvalidRequestError):
        return False
    return True


def _close(connection: Connection) -> None:
    """Close a connection; as there is no pool, this releases the lock on the server."""
    try:
        connection.close()
    except DBAPIError:  # it is gone, and so is what it held
        connection.invalidate()
