"""Access to the database: one thread writes, in groups that are on the disk before anybody is answered.

A writer hands in a function of a connection and waits. The thread takes all that have come meanwhile, runs each within
a savepoint, so that the error of one does not fail the others, and commits once: a hundred publishers share one fsync.
The number of waiting writes is bounded; beyond it they are refused.

A function that writes must not change memory: it may be undone by a later failure, or run in vain. Memory is updated by
`then`, after the commit, in this thread, in the order of writing. If a commit is not answered because the connection
broke, the database is asked whether it took effect before anything else is written; only if it did, `then` is called.
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
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    InterfaceError,
    InternalError,
    OperationalError,
    PendingRollbackError,
    ResourceClosedError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool

from vedette.errors import InputError
from vedette.service.errors import StoreBusy, StoreDamaged, StoreFailed, StoreFull
from vedette.service.storage.private_files import FILE_SUFFIXES, keep_private
from vedette.service.storage.receipts import receipt_of, was_committed
from vedette.service.storage.row_checksums import DamagedRows

T = TypeVar("T")
Work = Callable[[Connection], T]

GROUP: Final = 256  # jobs that share a commit at the most
WAITING: Final = 4096  # jobs beyond which no more are taken
_READERS: Final = 8
_LOG: Final = logging.getLogger("vedette.service.store")
# Of the file itself, and of the shared memory beside it, which is a file, too.
_FULL: Final = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)
_DAMAGED: Final = ("XX001", "XX002")  # what PostgreSQL calls damaged rows, and indexes
RESTORE: Final = "Hint: stop the service, let `vedette scrub` say where it is damaged, and restore it from a copy"
_BUSY_MS: Final = 10_000
_CONNECT_SECONDS: Final = 10
_URLS: Final = "Hint: sqlite:///file.db, or postgresql://user:password@host/database"


class _StoreJob(NamedTuple, Generic[T]):
    work: Work[T]
    then: Callable[[T], None] | None
    done: Future[T]


class _JobResult(NamedTuple):
    """Result of a job, or the error that undid it alone."""

    job: _StoreJob[Any]
    result: Any
    mistake: BaseException | None


class _PendingCommit(NamedTuple):
    """A transaction whose commit was begun, and not answered yet."""

    receipt: int
    outcomes: list[_JobResult]


class Store:
    """A database with one writer. `synchronous` is SQLite's: anything below FULL may lose what was acknowledged."""

    def __init__(self, url: str, *, synchronous: str = "FULL", waiting: int = WAITING) -> None:
        self.engine = engine_of(url, synchronous)
        self.damages = DamagedRows()
        self._jobs: queue.Queue[_StoreJob[Any] | None] = queue.Queue(waiting)
        self._thread: threading.Thread | None = None
        self._closing = False
        self._unanswered: _PendingCommit | None = None
        self.barred: str | None = None  # why nothing may be written at present

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is a file of this machine."""
        return self.engine.dialect.name == "sqlite"

    def start(self) -> None:
        """Start the thread that writes."""
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
        """Result of a function that reads, in one consistent state of the database."""
        with translated_failures(), self.engine.connect() as connection, connection.begin():
            return work(connection)

    # ------------------------------------------------------------ writing

    def submit(self, work: Work[T], then: Callable[[T], None] | None = None) -> Future[T]:
        """Queue a function that writes; the future has its result once that is on the disk. StoreBusy if too many wait.

        The function changes nothing but the database. `then` gets its result as soon as that is on the disk, in the
        order of writing and before anything else is written: all changes of memory belong there.
        """
        done: Future[T] = Future()
        if self._closing:
            raise StoreBusy("the service is ending\nHint: try again when it is back")
        if self.barred is not None:
            raise StoreFailed(f"{self.barred}\nHint: ask that one")
        try:
            self._jobs.put_nowait(_StoreJob(work, then, done))
        except queue.Full:
            raise StoreBusy("too many writes wait for the disk\nHint: try again in a moment") from None
        return done

    def write(self, work: Work[T], then: Callable[[T], None] | None = None) -> T:
        """Submit a function that writes, and wait for its result."""
        return self.submit(work, then).result()

    def settle(self) -> None:
        """Queue a check of a commit that was not answered, if there is one; to be called now and then."""
        if self._unanswered is not None:
            self.submit(lambda _: None)

    @property
    def waiting(self) -> int:
        """Number of waiting writes."""
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

    def _write_group(self, jobs: list[_StoreJob[Any]]) -> None:
        # Jobs that were cancelled before are left out; from here on none can be cancelled.
        jobs = [job for job in jobs if job.done.set_running_or_notify_cancel()]
        outcomes: list[_JobResult] = []
        try:
            self._look_back()
            self._transaction(jobs, outcomes)
            self._applied(outcomes)
        except BaseException as error:
            if not self._is_there(outcomes):
                for job in jobs:
                    job.done.set_exception(error)
                return
            _LOG.warning("a commit was not answered, and has taken effect: %s", error)
        for job, result, mistake in outcomes:
            if mistake is None:
                job.done.set_result(result)
            else:
                job.done.set_exception(mistake)

    def _transaction(self, jobs: list[_StoreJob[Any]], outcomes: list[_JobResult]) -> None:
        """Run the jobs in one transaction; once its commit has begun, its fate is unknown until it is answered."""
        with translated_failures(), self.engine.connect() as connection, connection.begin():
            for job in jobs:
                outcomes.append(_JobResult(job, *self._done(connection, job, alone=len(jobs) == 1)))
            self._unanswered = _PendingCommit(receipt_of(connection), outcomes)

    def _applied(self, outcomes: list[_JobResult]) -> None:
        """The transaction is on the disk: call the jobs' `then`."""
        self._unanswered = None
        for job, result, mistake in outcomes:
            if mistake is None and job.then is not None:
                try:
                    job.then(result)
                except Exception:  # it is on the disk; an error of a listener must not end the writing
                    _LOG.exception("somebody who was told of a write failed")

    def _look_back(self) -> bool:
        """Whether a commit that was not answered took effect. StoreFailed if the database cannot say."""
        if self._unanswered is None:
            return False
        receipt, outcomes = self._unanswered
        there = self.read(lambda connection: was_committed(connection, receipt))
        self._unanswered = None
        if there:
            self._applied(outcomes)
        return there

    def _is_there(self, outcomes: list[_JobResult]) -> bool:
        """Whether a failed transaction took effect all the same; if the database cannot say, it is asked later."""
        if self._unanswered is None or self._unanswered.outcomes is not outcomes:
            return False
        try:
            return self._look_back()
        except Exception as error:
            _LOG.warning("a commit was not answered: %s", error)
            return False

    @staticmethod
    def _done(connection: Connection, job: _StoreJob[T], *, alone: bool) -> tuple[T | None, BaseException | None]:
        if alone:  # its mistake takes back the whole transaction, which is its own
            return job.work(connection), None
        savepoint = Savepoint(connection, "job")
        try:
            with translated_failures():
                result = job.work(connection)
        except StoreFull:
            raise
        except Exception as error:
            if connection.closed or connection.invalidated:  # with all that was done before
                raise
            savepoint.rollback()
            return None, error
        savepoint.release()  # an error of this or of the rollback is no job's own, and undoes the whole transaction
        return result, None


class Savepoint:
    """A place within a transaction to go back to: SQLAlchemy's own costs as much as what is done in between."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection, self._name = connection, name
        connection.exec_driver_sql(f"SAVEPOINT {name}")

    def rollback(self) -> None:
        """Undo all since then."""
        self._connection.exec_driver_sql(f"ROLLBACK TO SAVEPOINT {self._name}")
        self.release()

    def release(self) -> None:
        """End it; what was done stays."""
        self._connection.exec_driver_sql(f"RELEASE SAVEPOINT {self._name}")


@contextmanager
def translated_failures() -> Iterator[None]:
    """Raise the service's errors instead of the database's: full disk, damage, no answer."""
    try:
        yield
    except PoolTimeout as error:
        raise StoreBusy("too many read from the database\nHint: try again in a moment") from error
    except UnicodeDecodeError as error:  # an error of SQLite names something damaged, whose name is no text any more
        raise StoreDamaged(f"the database is damaged: {error}\n{RESTORE}") from error
    except DBAPIError as error:
        if _is_full(error):
            raise StoreFull("there is no room left on the disk\nHint: make room; nothing was acknowledged") from error
        if _is_damaged(error):
            raise StoreDamaged(f"the database is damaged: {_reason(error)}\n{RESTORE}") from error
        if isinstance(error, DataError):  # e.g. PostgreSQL's texts have no NUL
            raise InputError(f"the database cannot keep this: {_reason(error)}") from error
        if error.connection_invalidated or isinstance(error, OperationalError | InterfaceError | InternalError):
            raise _not_answered(_reason(error)) from error
        raise
    except (PendingRollbackError, ResourceClosedError) as error:  # what comes after a connection that broke
        raise _not_answered(str(error).splitlines()[0]) from error


def _not_answered(reason: str) -> StoreFailed:
    return StoreFailed(f"the database did not answer: {reason}\nHint: see whether it runs, and what store.url says")


def _is_full(error: DBAPIError) -> bool:
    original = error.orig
    if isinstance(original, sqlite3.Error):
        return getattr(original, "sqlite_errorcode", None) in _FULL
    return getattr(original, "sqlstate", None) in ("53100", "53200")


def _is_damaged(error: DBAPIError) -> bool:
    original = error.orig
    if isinstance(original, sqlite3.Error):
        return getattr(original, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return getattr(original, "sqlstate", None) in _DAMAGED


def _reason(error: DBAPIError) -> str:
    return str(error.orig).splitlines()[0] if error.orig is not None else type(error).__name__


# ---------------------------------------------------------------- connections


def engine_of(url: str, synchronous: str = "FULL") -> Engine:
    """An SQLAlchemy engine with real transactions, in SQLite, too."""
    parsed = _address(url)
    if parsed.get_backend_name() != "sqlite":
        given = {} if "connect_timeout" in parsed.query else {"connect_timeout": _CONNECT_SECONDS}
        return sa.create_engine(parsed, pool_size=_READERS, pool_pre_ping=True, connect_args=given)
    private = [True] if str(parsed.database).startswith("file:") else []  # once; of a URI others take care
    engine = sa.create_engine(
        parsed, poolclass=QueuePool, pool_size=_READERS, connect_args={"check_same_thread": False}
    )

    @sa.event.listens_for(engine, "do_connect")
    def connecting(*_: object) -> None:
        for end in FILE_SUFFIXES if not private else ():
            keep_private(f"{parsed.database}{end}", make=not end)
        private.append(True)

    @sa.event.listens_for(engine, "connect")
    def connected(connection: Any, _record: object) -> None:
        raw = cast("sqlite3.Connection", connection)
        raw.isolation_level = None  # Python's module would begin transactions when it sees fit
        raw.text_factory = readable_text
        cursor = raw.cursor()
        for pragma in (
            "journal_mode=WAL",
            f"synchronous={synchronous}",
            f"busy_timeout={_BUSY_MS}",
            "foreign_keys=ON",
            "wal_autocheckpoint=4000",
            "cell_size_check=ON",  # pages that make no sense are refused when they are read
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @sa.event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


def readable_text(data: bytes) -> str:
    """Decode a text of SQLite; damaged ones are decoded, too, so that their rows alone are set aside."""
    return data.decode(errors="replace")


def _address(url: str) -> sa.URL:
    """The URL of the database, with the installed driver for PostgreSQL."""
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
