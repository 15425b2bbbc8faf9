"""`lookup` in tables of a real PostgreSQL: `make test-connectors`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy.exc import DBAPIError

from tests.connectors.postgres import PASSWORD, USER, Postgres
from tests.operators.shipped.asking import Asker
from vedette.operators.shipped import lookup
from vedette.operators.shipped.databases import KeyedTable

ROW = "00000000-0000-0000-0000-0000000000ff"
TABLE = """
create table shop."Orders" (id integer, code text, uid uuid, paid numeric(10, 2), ratio double precision, open boolean,
    day date, at timestamptz, local timestamp, mood shop.mood, small smallint, what text)
"""
VALUES = f"""
insert into shop."Orders" values (7, 'A-7', '{ROW}', 0.10, 0.25, true,
    date '2024-05-01', timestamptz '2024-05-01 10:00Z', timestamp '2024-05-01 10:00', 'fine', 3, 'first')
"""
SCHEMA = {"whole": "int", "real": "float", "text": "string", "flag": "bool", "day": "date", "at": "timestamp"}
KEYS: list[tuple[str, str, Any, Any]] = [
    ("id", "whole", 7, 2**40),
    ("id", "real", 7.0, 7.5),
    ("small", "whole", 3, 2**40),
    ("mood", "text", "fine", "no mood"),
    ("mood", "whole", None, 7),
    ("id", "text", None, "7"),
    ("code", "text", "A-7", "a-7"),
    ("code", "text", "A-7", "A\0-7"),
    ("code", "whole", None, 7),
    ("uid", "text", ROW.upper(), "no uuid"),
    ("paid", "real", 0.1, 0.11),
    ("paid", "real", 0.1, float("inf")),
    ("ratio", "real", 0.25, 1.0),
    ("open", "flag", True, False),
    ("open", "whole", None, 1),
    ("day", "day", "2024-05-01", "2024-05-02"),
    ("at", "at", "2024-05-01T12:00:00+02:00", "2024-05-01T12:00:00Z"),
    ("local", "at", "2024-05-01T12:00:00+02:00", "2024-05-01T12:00:00Z"),
]


@pytest.fixture(scope="module")
def address(server: Postgres) -> Iterator[str]:
    """Of a database with a table, password and all."""
    server.run("create schema shop")
    server.run("create type shop.mood as enum ('fine', 'so so')")
    server.run(TABLE)
    server.run(VALUES)
    yield server.address.replace(f"{USER}@", f"{USER}:{quote(PASSWORD, safe='')}@")
    server.run("drop schema shop cascade")


@pytest.mark.parametrize(("key", "path", "value", "other"), KEYS)
def test_keys_of_every_type(
    address: str, monkeypatch: pytest.MonkeyPatch, key: str, path: str, value: Any, other: Any
) -> None:
    monkeypatch.setenv("SHOP_DATABASE", address)
    table = {"database_from": "SHOP_DATABASE", "table": "shop.Orders", "key": key}
    asker = Asker(lookup.operators({"orders": table}), SCHEMA)
    asker.check(f"lookup('orders', {path}, 'what')")
    found = asker.ask(f"lookup('orders', {path}, 'what')", [{path: value}, {path: other}])
    assert found == [None if value is None else ["first"], []]
    assert asker.failures == {}


def test_values_are_those_that_filters_know(address: str) -> None:
    asker = Asker(lookup.operators({"orders": {"database": address, "table": "shop.Orders", "key": "id"}}))
    found = {column: asker.ask(f"lookup('orders', 7, '{column}')", [{}])[0] for column in ("uid", "paid", "open", "id")}
    assert found == {"uid": [ROW], "paid": [0.1], "open": [True], "id": [7]}
    assert [type(each) for (each,) in found.values()] == [str, float, bool, int]


def test_a_table_that_was_dropped_makes_events_unknown_until_it_is_back(address: str, server: Postgres) -> None:
    settings = {"database": address, "table": "shop.Orders", "key": "id"}
    asker = Asker(lookup.operators({"orders": settings, "cache_seconds": 1e-9}))
    assert asker.ask("lookup('orders', 7, 'what')", [{}]) == [["first"]]
    server.run('alter table shop."Orders" rename to "Gone"')
    assert asker.ask("lookup('orders', 7, 'what')", [{}]) == [None]
    server.run('alter table shop."Gone" rename to "Orders"')
    assert asker.ask("lookup('orders', 7, 'what')", [{}]) == [["first"]]
    assert asker.failures == {"lookup": {"error": 1}}


def test_transactions_are_read_only(address: str, server: Postgres, tmp_path: Path) -> None:
    """A view that writes is refused by the server."""
    server.run("create table shop.log (n integer)")
    writes = "insert into shop.log values (1) returning n"
    server.run(f"create function shop.noted() returns integer language sql as $$ {writes} $$")
    server.run("create view shop.sly as select 1 as id, shop.noted() as n")
    table = KeyedTable(address, "shop.sly", "id", None, folder=tmp_path, name="lookup.sly")
    with pytest.raises(DBAPIError, match="read-only transaction"):
        table.values([1], "n")
    assert server.rows("select * from shop.log") == []
