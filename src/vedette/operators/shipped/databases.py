"""Values from a table of a database, for many keys at once."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import threading
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vedette.errors import FileError, InputError

if TYPE_CHECKING:
    from sqlalchemy import Column, Engine, Table

_KEYS = 500  # of one query: few databases take more than a thousand


class KeyedTable:
    """A table that is looked up by one column. Nothing is opened before the first lookup."""

    def __init__(
        self, url: str, table: str, key: str, columns: tuple[str, ...] | None, *, folder: Path, name: str
    ) -> None:
        self._url, self._table, self._key, self._columns = url, table, key, columns
        self._folder, self._name = folder, name
        self._opened: tuple[Engine, Table] | None = None
        self._out_of_reach = False  # when its columns were last asked for
        self._alone = threading.Lock()

    def columns(self) -> tuple[str, ...] | None:
        """The columns that may be read; None while they are unknown because the database cannot be reached."""
        from sqlalchemy.exc import DBAPIError

        if self._out_of_reach:
            return self._columns
        try:
            _, table = self._open()
        except DBAPIError:
            self._out_of_reach = True  # each subscription that asks would wait for it again
            return self._columns
        except (FileError, InputError) as error:
            raise ValueError(str(error)) from None
        return self._columns or tuple(table.columns.keys())

    def values(self, keys: Iterable[Any], column: str) -> dict[Any, list[Any]]:
        """The values of the column in all rows of each key; without NULL."""
        from sqlalchemy import select

        engine, table = self._open()
        if column not in (self._columns or table.columns):
            raise InputError(f"[{self._name}] has no column {column!r} that may be asked for")
        key, value = (_plain(table.columns[name]) for name in (self._key, column))
        as_stored = _key_reader(table.columns[self._key])
        sought = {stored: each for each in keys if (stored := as_stored(each)) is not None}
        found: dict[Any, list[Any]] = defaultdict(list)
        if not sought:
            return found
        # Only queries are made; where the database knows such transactions, it refuses all else too.
        with engine.connect().execution_options(postgresql_readonly=True) as connection:
            for some in _pieces(list(sought)):
                for stored, each in connection.execute(
                    select(key, value).where(key.in_(some)).where(value.is_not(None))
                ):
                    if stored in sought:  # a case-insensitive database finds more than was asked for
                        found[sought[stored]].append(str(each) if isinstance(each, uuid.UUID) else each)
        return found

    def _open(self) -> tuple[Engine, Table]:
        with self._alone:
            if self._opened is None:
                engine = self._engine()
                self._opened = engine, self._reflected(engine)
            return self._opened

    def _engine(self) -> Engine:
        from sqlalchemy import create_engine, event
        from sqlalchemy.engine import make_url
        from sqlalchemy.exc import ArgumentError

        try:
            url = make_url(self._url)
            is_file = url.get_backend_name() == "sqlite" and not (url.database or ":").startswith((":", "file:"))
            if is_file:
                path = self._folder / str(url.database)
                if not path.exists():  # SQLite would make an empty database there
                    raise FileError(f"there is no file {path}\nHint: `database` of [{self._name}] names it")
                url = url.set(database=str(path))
            engine = create_engine(url, pool_pre_ping=True)
        except ArgumentError:
            # The address is not shown: it may hold a password.
            raise InputError(
                f"the address of the database of [{self._name}] cannot be read\n"
                "Hint: e.g. sqlite:///customers.db, postgresql+psycopg://user@host/name"
            ) from None
        except ModuleNotFoundError as error:
            raise InputError(
                f"the database of [{self._name}] needs the Python package {error.name!r}, which is not installed\n"
                "Hint: install it, or name another driver in the address, as in postgresql+psycopg://…"
            ) from None
        if is_file:
            event.listen(engine, "connect", _refuse_writing)
        return engine

    def _reflected(self, engine: Engine) -> Table:
        from sqlalchemy import MetaData, Table, inspect
        from sqlalchemy.exc import NoSuchTableError

        schema, _, name = self._table.rpartition(".")
        try:
            table = Table(name, MetaData(), schema=schema or None, autoload_with=engine, resolve_fks=False)
        except NoSuchTableError:
            tables = ", ".join(inspect(engine).get_table_names(schema=schema or None)) or "none"
            raise InputError(
                f"the database of [{self._name}] has no table {self._table!r}\nHint: its tables are {tables}"
            ) from None
        there = table.columns.keys()
        for column in (self._key, *(self._columns or ())):
            if column not in there:
                raise InputError(
                    f"table {self._table!r} of [{self._name}] has no column {column!r}\nHint: it has {', '.join(there)}"
                )
        return table


def _refuse_writing(connection: Any, _: Any) -> None:
    connection.execute("PRAGMA query_only = ON")


def _pieces(keys: list[Any]) -> Iterator[list[Any]]:
    return (keys[first : first + _KEYS] for first in range(0, len(keys), _KEYS))


def _plain(column: Column[Any]) -> Any:
    """The column, with decimals as floats, as in filters.

    Integer columns are read as 64 bits: PostgreSQL refuses the query for a key that a column of 32 bits cannot hold.
    """
    from sqlalchemy import BigInteger, Float, Integer, Numeric, type_coerce

    if isinstance(column.type, Integer):
        return type_coerce(column, BigInteger())
    return type_coerce(column, Float()) if isinstance(column.type, Numeric) else column


# ---------------------------------------------------------------- keys as a column holds them; None: it never does


def _key_reader(column: Column[Any]) -> Callable[[Any], Any]:
    from sqlalchemy import Enum

    if isinstance(column.type, Enum):
        known = frozenset(column.type.enums)
        return lambda each: each if each in known else None
    try:
        kind = column.type.python_type
    except NotImplementedError:  # what SQLAlchemy 2.0 has for `object`
        kind = object
    if kind is dt.datetime and not getattr(column.type, "timezone", False):
        return _time_without_zone
    return _READERS.get(kind, lambda each: None)


def _truth(each: Any) -> bool | None:
    return each if isinstance(each, bool) else None


def _whole(each: Any) -> int | None:
    is_whole = isinstance(each, int) and not isinstance(each, bool)
    if not is_whole and not (isinstance(each, float) and each.is_integer()):
        return None
    return int(each) if -(2**63) <= each < 2**63 else None


def _number(each: Any) -> float | None:
    is_number = isinstance(each, int | float) and not isinstance(each, bool)
    return float(each) if is_number and math.isfinite(each) else None


def _text(each: Any) -> str | None:
    # With a zero in it the whole query fails in PostgreSQL, which cannot hold one.
    return each if isinstance(each, str) and "\0" not in each else None


def _uuid(each: Any) -> uuid.UUID | None:
    try:
        return uuid.UUID(each) if isinstance(each, str) else None
    except ValueError:
        return None


def _date(each: Any) -> dt.date | None:
    return each if isinstance(each, dt.date) and not isinstance(each, dt.datetime) else None


def _time(each: Any) -> dt.datetime | None:
    return each if isinstance(each, dt.datetime) else None


def _time_without_zone(each: Any) -> dt.datetime | None:
    if not isinstance(each, dt.datetime):
        return None
    return each.astimezone(dt.UTC).replace(tzinfo=None) if each.tzinfo is not None else each


def _anything(each: Any) -> Any:
    return each if isinstance(each, int | float | str) else None


_READERS: dict[type, Callable[[Any], Any]] = {
    object: _anything,  # a type that SQLAlchemy does not know, or none, as SQLite allows
    bool: _truth,
    int: _whole,
    float: _number,
    decimal.Decimal: _number,
    str: _text,
    uuid.UUID: _uuid,
    dt.date: _date,
    dt.datetime: _time,
}
