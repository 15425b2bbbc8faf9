"""Stores of subscriptions: a file, a table that Spark reads, a table of a database, a stream of the service.

A store has three methods, from cheap to expensive: `stamp` (shows without reading that nothing has changed, if
possible), `digest` (a hash of the content), `rows` (the records themselves).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import os
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from vedette.errors import FileError, Refused
from vedette.io.rule_files import rule_paths
from vedette.io.subscription_rows import KEYS, PLAINLY, SourceLine, SubscriptionRows, Written
from vedette.io.subscriptions import columns_of, read_subscriptions, record_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from sqlalchemy import Connection, Engine, Select

_CHUNK = 1 << 20
_ROWS = 10_000  # of a database at a time
_PAGE = 1_000  # of the service at a time: the most that it gives
_SAID = ("id", "subscriber", "when", "origin", "predict")
_QUIET_S = 1.0  # so long a file must have been left alone before it is read


class StoreChanging(Exception):
    """The store is being written, and has to be read a little later."""


class SubscriptionStore(Protocol):
    """A place from which subscriptions are read again and again."""

    @property
    def name(self) -> str:
        """The name of the store in messages."""

    def stamp(self) -> Hashable | None:
        """Equal stamps mean that nothing has changed; None: only the digest shows. StoreChanging: being written."""

    def digest(self) -> str:
        """A hash of all that is there."""

    def rows(self, now: dt.datetime) -> SubscriptionRows:
        """The subscriptions, without those that have expired by `now`."""


class FileStore:
    """A file of subscriptions, a folder of Parquet files, or a folder of rules."""

    def __init__(self, path: str | os.PathLike[str], *, format: str | None = None, written: Written = PLAINLY) -> None:
        self._path = Path(path)
        self._format = format
        self._written = written

    @property
    def name(self) -> str:
        """The path."""
        return str(self._path)

    def stamp(self) -> Hashable:
        """Sizes, times and inodes; StoreChanging for a file written just now, which may not be complete."""
        facts = self._facts()
        newest = max((modified for _, modified, _, _ in facts), default=0) / 1e9
        if 0 <= dt.datetime.now(dt.UTC).timestamp() - newest < _QUIET_S:
            raise StoreChanging
        return facts

    def digest(self) -> str:
        """A hash of names and bytes."""
        before = self._facts()
        found = hashlib.sha256()
        for name, *_ in before:
            found.update(f"{name}\n".encode())
            with (self._path / name if name else self._path).open("rb") as file:
                while chunk := file.read(_CHUNK):
                    found.update(chunk)
        if self._facts() != before:
            raise StoreChanging
        return found.hexdigest()

    def rows(self, now: dt.datetime) -> SubscriptionRows:
        """The subscriptions, read as by `vedette match`."""
        return read_subscriptions(self._path, format=self._format, now=now, written=self._written)

    def _facts(self) -> tuple[tuple[str, int, int, int], ...]:
        if not self._path.is_dir():
            return (("", *_file_facts(self._path)),)
        found: list[Path] = rule_paths(self._path) if self._written.dialect is not None else []
        if not found:
            found = [path for path in self._path.rglob("*") if path.is_file()]
        return tuple((str(path.relative_to(self._path)), *_file_facts(path)) for path in sorted(found))


def _file_facts(path: Path) -> tuple[int, int, int]:
    try:
        facts = path.stat()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}\nHint: put it back") from None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino


class TableStore:
    """A table of Spark's catalog, or a folder in a format that Spark reads; ordered by `id`."""

    def __init__(
        self,
        spark: SparkSession,
        *,
        table: str | None = None,
        path: str | None = None,
        format: str,
        written: Written = PLAINLY,
    ) -> None:
        self._spark, self._written = spark, written
        self._table, self._path, self._format = table, path, format

    @property
    def name(self) -> str:
        """The table or the folder."""
        return f"table {self._table}" if self._path is None else self._path

    def stamp(self) -> None:
        """None: a table has no stamp."""

    def digest(self) -> str:
        """A sum of hashes of the rows, computed in Spark, so that only a number comes to the driver."""
        from pyspark.sql import functions as F

        with self._reading() as rows:
            row = F.xxhash64(*(F.coalesce(F.col(f"`{name}`").cast("string"), F.lit("\0")) for name in rows.columns))
            total = F.sum(row.cast("decimal(38,0)"))
            return str(rows.agg(F.count("*"), F.bit_xor(row), total).collect()[0])

    def rows(self, now: dt.datetime) -> SubscriptionRows:
        """The subscriptions; other columns are not read."""
        from vedette.spark.versions import to_arrow

        with self._reading() as rows:
            table = to_arrow(rows.orderBy("`id`"))
        placed: Iterator[SourceLine] = (
            (number, record_of(row), None)
            for number, row in enumerate((row for batch in table.to_batches() for row in batch.to_pylist()), 1)
        )
        return SubscriptionRows(self.name, placed, now, written=self._written)

    @contextmanager
    def _reading(self) -> Iterator[DataFrame]:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            if self._path is None:
                self._spark.catalog.refreshTable(str(self._table))
                found = self._spark.table(str(self._table))
            else:
                self._spark.catalog.refreshByPath(self._path)
                found = self._spark.read.format(self._format).load(self._path)
            yield found.select([f"`{name}`" for name in _columns(self.name, found.columns, self._written)])
        except (PySparkException, Py4JError) as error:
            reason = str(error).strip().split("\n", 1)[0]
            raise FileError(f"cannot read the subscriptions of {self.name}: {reason}") from None


class DatabaseStore:
    """A table of a database that SQLAlchemy knows; ordered by `id`."""

    def __init__(self, url: str, *, table: str, written: Written = PLAINLY) -> None:
        self._url, self._table, self._written = url, table, written
        self._engine: Engine | None = None

    @property
    def name(self) -> str:
        """The table and its database, without the password."""
        from sqlalchemy.engine import make_url

        return f"table {self._table} of {make_url(self._url).render_as_string(hide_password=True)}"

    def stamp(self) -> Hashable | None:
        """Facts of SQLite's file and its log; None for a server."""
        path = self._sqlite_file()
        if path is None:
            return None
        log = path.with_name(f"{path.name}-wal")
        return _file_facts(path), _file_facts(log) if log.exists() else None

    def digest(self) -> str:
        """A hash of all rows, a few thousand of them in memory at a time."""
        found = hashlib.sha256()
        for row in self._read():
            found.update(orjson.dumps(row, default=str, option=orjson.OPT_APPEND_NEWLINE))
        return found.hexdigest()

    def rows(self, now: dt.datetime) -> SubscriptionRows:
        """The subscriptions, by one query: one consistent state."""
        placed: Iterator[SourceLine] = ((number, record_of(row), None) for number, row in enumerate(self._read(), 1))
        return SubscriptionRows(self.name, placed, now, written=self._written)

    def _read(self) -> Iterator[dict[str, Any]]:
        from sqlalchemy.exc import SQLAlchemyError

        path = self._sqlite_file()
        if path is not None:
            _file_facts(path)  # SQLite would make an empty database where there is none
        try:
            with self._opened().connect() as connection:
                result = connection.execution_options(yield_per=_ROWS).execute(self._select(connection))
                for row in result.mappings():
                    yield dict(row)
        except SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or error).strip().split("\n", 1)[0]
            raise FileError(
                f"cannot read the subscriptions of {self.name}: {reason}\n"
                "Hint: check the address, the table and the rights"
            ) from None

    def _opened(self) -> Engine:
        from sqlalchemy import create_engine, pool

        if self._engine is None:
            try:
                self._engine = create_engine(self._url, poolclass=pool.NullPool)  # looks are minutes apart
            except ModuleNotFoundError as error:
                raise FileError(
                    f"{self.name} needs the Python package {error.name!r}, which is not installed\n"
                    f"Hint: install it, or name another driver in the address, as in postgresql+psycopg://…"
                ) from None
        return self._engine

    def _select(self, connection: Connection) -> Select[Any]:
        from sqlalchemy import column, inspect, select, table

        schema, _, name = self._table.rpartition(".")
        there = [each["name"] for each in inspect(connection).get_columns(name, schema=schema or None)]
        # SQLAlchemy quotes what has to be quoted: `when` is a word of SQL.
        chosen: list[Any] = [column(each) for each in _columns(self.name, there, self._written)]
        return select(*chosen).select_from(table(name, schema=schema or None)).order_by(column("id"))

    def _sqlite_file(self) -> Path | None:
        from sqlalchemy.engine import make_url

        url = make_url(self._url)
        if url.get_backend_name() != "sqlite" or not url.database or url.database.startswith((":", "file:")):
            return None
        return Path(url.database)


class ServiceStore:
    """A stream of a service, by its address. The service itself ends subscriptions that have expired."""

    def __init__(self, url: str, *, key: str | None, stream: str = "default") -> None:
        self._url, self._key, self._stream = url, key, stream

    @property
    def name(self) -> str:
        """The stream and its service."""
        return f"stream {self._stream} of {self._url}"

    def stamp(self) -> None:
        """None: only reading the subscriptions shows changes."""

    def digest(self) -> str:
        """A hash of the subscriptions; renewing does not change it."""
        found = hashlib.sha256()
        for record in self._read():
            found.update(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SORT_KEYS))
        return found.hexdigest()

    def rows(self, now: dt.datetime) -> SubscriptionRows:
        """The subscriptions, a page at a time, in the order of registration."""
        placed: Iterator[SourceLine] = ((number, record, None) for number, record in enumerate(self._read(), 1))
        return SubscriptionRows(self.name, placed, now)

    def _read(self) -> Iterator[dict[str, Any]]:
        from vedette.client import Client

        try:
            with Client(self._url, self._key) as client:
                after: int | None = 0
                while after is not None:
                    page = client.subscriptions(after=after, limit=_PAGE)
                    for one in page["subscriptions"]:
                        # Wants meet offers, not events; and rules are translated already.
                        if one["stream"] == self._stream and one["kind"] != "want":
                            yield {name: one[name] for name in _SAID if one[name] is not None}
                    after = page["next"]
        except Refused as error:
            told, _, hint = str(error).partition("\nHint: ")
            raise FileError(
                f"cannot read the subscriptions of {self.name}: {told}\n"
                f"Hint: {hint or 'check the address and the key, and that the service runs'}"
            ) from None


def _columns(name: str, there: Sequence[str], written: Written) -> list[str]:
    """The columns of a table that subscriptions have."""
    missing = [each for each in ("id", "when") if each not in there]
    if missing:
        raise FileError(
            f"{name} has no column {' and no column '.join(missing)}\n"
            f"Hint: subscriptions have the columns {', '.join(KEYS)}; this has {', '.join(there) or 'none'}"
        )
    return columns_of(there, written)
