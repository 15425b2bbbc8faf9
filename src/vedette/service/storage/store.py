"""How does the service write and read? One thread writes, in groups that are on the disk before anybody is answered.

Whoever wants to write hands in a function of a connection and waits. The thread takes all that have come meanwhile,
lets each work within a savepoint, so that the mistake of one is not that of others, and commits once: a hundred
publishers share one fsync. What waits is bounded; beyond it writers are sent away.
"""

from __future__ import annotations

import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool

from vedette.errors import InputError
from vedette.service.errors import StoreBusy, StoreFailed, StoreFull

T = TypeVar("T")
Work = Callable[[Connection], T]

GROUP: Final = 256  # jobs that share a commit at the most
WAITING: Final = 4096  # jobs beyond which no more are taken
_READERS: Final = 8
_LOG: Final = logging.getLogger("vedette.service.store")
# Of the file itself, and of the shared memory beside it, which is a file, too.
_FULL: Final = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)
_BUSY_MS: Final = 10_000
_CONNECT_SECONDS: Final = 10
_URLS: Final = "Hint: sqlite:///file.db, or postgresql://user:password@host/database"


class _Job(NamedTuple, Generic[T]):
    work: Work[T]
    then: Callable[[T], None] | None
    done: Future[T]


class Store:
    """A database with one writer. `synchronous` is SQLite's: anything below FULL may lose what was acknowledged."""

    def __init__(self, url: str, *, synchronous: str = "FULL", waiting: int = WAITING) -> None:
        self.engine = engine_of(url, synchronous)
        self._jobs: queue.Queue[_Job[Any] | None] = queue.Queue(waiting)
        self._thread: threading.Thread | None = None
        self._closing = False
        self.barred: str | None = None  # why nothing may be written at present

    @property
    def is_sqlite(self) -> bool:
        """The database is a file of this machine."""
        return self.engine.dialect.name == "sqlite"

    def start(self) -> None:
        """Begin to write."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="vedette-store", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Write what waits, and end."""
        self._closing = True
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None
        self.engine.dispose()

    # ------------------------------------------------------------ reading

    def read(self, work: Work[T]) -> T:
        """What a function finds, in one consistent state of the database."""
        with failures_told(), self.engine.connect() as connection, connection.begin():
            return work(connection)

    # ------------------------------------------------------------ writing

    def submit(self, work: Work[T], then: Callable[[T], None] | None = None) -> Future[T]:
        """Let a function write; its result is there once it is on the disk. StoreBusy if too many wait.

        `then` hears of the result as soon as it is on the disk, in the order in which things were written and before
        anything else is: whoever must not miss a change listens there.
        """
        done: Future[T] = Future()
        if self._closing:
            raise StoreBusy("the service is ending\nHint: try again when it is back")
        if self.barred is not None:
            raise StoreFailed(f"{self.barred}\nHint: ask that one")
        try:
            self._jobs.put_nowait(_Job(work, then, done))
        except queue.Full:
            raise StoreBusy("too many writes wait for the disk\nHint: try again in a moment") from None
        return done

    def write(self, work: Work[T], then: Callable[[T], None] | None = None) -> T:
        """The same, and wait for it."""
        return self.submit(work, then).result()

    @property
    def waiting(self) -> int:
        """How many writes wait."""
        return self._jobs.qsize()

    def _run(self) -> None:
        while (first := self._jobs.get()) is not None:
            jobs, ending = [first], False
            while len(jobs) < GROUP:
                try:
                    job = self._jobs.get_nowait()
                except queue.Empty:
                    break
                if job is None:
                    ending = True
                    break
                jobs.append(job)
            self._write_group(jobs)
            if ending:
                break

    def _write_group(self, jobs: list[_Job[Any]]) -> None:
        # Whoever went away before it was their turn is left out; from here on nobody can go.
        jobs = [job for job in jobs if job.done.set_running_or_notify_cancel()]
        results: list[tuple[_Job[Any], Any, BaseException | None]] = []
        try:
            with failures_told(), self.engine.connect() as connection, connection.begin():
                for job in jobs:
                    results.append((job, *self._done(connection, job, alone=len(jobs) == 1)))
        except BaseException as error:
            # Nothing of the group is on the disk.
            for job in jobs:
                job.done.set_exception(error)
            return
        for job, result, mistake in results:
            if mistake is None and job.then is not None:
                try:
                    job.then(result)
                except Exception:  # it is on the disk; whoever listens must not end the writing
                    _LOG.exception("somebody who was told of a write failed")
        for job, result, mistake in results:
            if mistake is None:
                job.done.set_result(result)
            else:
                job.done.set_exception(mistake)

    @staticmethod
    def _done(connection: Connection, job: _Job[T], *, alone: bool) -> tuple[T | None, BaseException | None]:
        if alone:  # its mistake takes back the whole transaction, which is its own
            return job.work(connection), None
        try:
            with failures_told(), connection.begin_nested():
                return job.work(connection), None
        except StoreFull:
            raise
        except Exception as error:
            return None, error


@contextmanager
def failures_told() -> Iterator[None]:
    """Failures of the database as ours: a full disk is one thing, a broken database another."""
    try:
        yield
    except PoolTimeout as error:
        raise StoreBusy("too many read from the database\nHint: try again in a moment") from error
    except DBAPIError as error:
        if _is_full(error):
            raise StoreFull("there is no room left on the disk\nHint: make room; nothing was acknowledged") from error
        if isinstance(error, DataError):  # e.g. PostgreSQL's texts have no NUL
            raise InputError(f"the database cannot keep this: {_reason(error)}") from error
        if isinstance(error, OperationalError):
            hint = "Hint: see whether it runs, and what store.url says"
            raise StoreFailed(f"the database did not answer: {_reason(error)}\n{hint}") from error
        raise


def _is_full(error: DBAPIError) -> bool:
    original = error.orig
    if isinstance(original, sqlite3.Error):
        return getattr(original, "sqlite_errorcode", None) in _FULL
    return getattr(original, "sqlstate", None) in ("53100", "53200")


def _reason(error: DBAPIError) -> str:
    return str(error.orig).splitlines()[0] if error.orig is not None else type(error).__name__


# ---------------------------------------------------------------- connections


def engine_of(url: str, synchronous: str = "FULL") -> Engine:
    """An engine whose transactions are what they seem to be, in SQLite too."""
    parsed = _address(url)
    if parsed.get_backend_name() != "sqlite":
        given = {} if "connect_timeout" in parsed.query else {"connect_timeout": _CONNECT_SECONDS}
        return sa.create_engine(parsed, pool_size=_READERS, pool_pre_ping=True, connect_args=given)
    engine = sa.create_engine(
        parsed, poolclass=QueuePool, pool_size=_READERS, connect_args={"check_same_thread": False}
    )

    @sa.event.listens_for(engine, "connect")
    def connected(connection: Any, _record: object) -> None:
        raw = cast("sqlite3.Connection", connection)
        raw.isolation_level = None  # Python's module would begin transactions when it sees fit
        cursor = raw.cursor()
        for pragma in (
            "journal_mode=WAL",
            f"synchronous={synchronous}",
            f"busy_timeout={_BUSY_MS}",
            "foreign_keys=ON",
            "wal_autocheckpoint=4000",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @sa.event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


def _address(url: str) -> sa.URL:
    """Where the database is; PostgreSQL by the driver that is installed, however its URL is written."""
    try:
        parsed = sa.make_url(url)
    except ArgumentError:
        raise InputError(f"store.url is not the URL of a database\n{_URLS}") from None
    if parsed.drivername in ("postgres", "postgresql"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise InputError(f"store.url names {parsed.get_backend_name()!r}, which is not supported\n{_URLS}")
    if parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise InputError(f"store.url names a database in memory, which would forget everything\n{_URLS}")
    return parsed
