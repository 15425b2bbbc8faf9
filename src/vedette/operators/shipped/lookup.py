"""The operator `lookup`: values from a table of a database, by key.

    lookup('customers', customer_id, 'tier', ?tier) and ?tier = 'gold'

    [lookup]
    seconds for all lookups of a batch
    results that are cached ...
    ... for so long

    [lookup.customers]
    database = "sqlite:///customers.db"     # what SQLAlchemy takes; or ...
    database_from = "CUSTOMERS_DATABASE"    # ... the variable of the environment that holds it, password and all
    table = "customers"                     # or "schema.customers"
    key = "id"
    the columns that may be read; without it all

Every row with the key gives a value; no row at all: false. NULL is no value. A key that is missing is unknown. Numbers
are compared with numbers and texts with texts, exactly: a key that the column cannot hold has no row.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from vedette.language.type_families import similar
from vedette.operators.operator import Cache, Operator, operator
from vedette.operators.shipped.databases import KeyedTable
from vedette.operators.shipped.table_settings import OperatorSettings, configured, needs


def operators(settings: Mapping[str, Any]) -> Iterable[Operator]:
    """`lookup` in the tables of the settings only."""
    table = OperatorSettings(settings, "lookup")
    time_limit = table.seconds("time_limit", 10.0)
    cache = Cache(table.whole("cache_size", 10_000) or 1, table.seconds("cache_seconds", 60.0))
    tables = {each.name.removeprefix("lookup."): _table(each) for each in table.tables()}
    table.end()

    def check(given: tuple[Any, ...]) -> None:
        needs("sqlalchemy", "lookup")
        asked = tables[configured(given[0], "lookup", "table", tables)]
        column = given[2]
        if not isinstance(column, str):
            raise ValueError("the third argument of lookup is the name of a column, in quotes")
        columns = asked.columns()
        if columns is not None and column not in columns:
            raise ValueError(f"{given[0]!r} has no column {column!r} that may be asked for: {similar(column, columns)}")

    @operator("lookup", outputs=1, batch=True, reads=(), check=check, cache=cache, time_limit=time_limit)
    def lookup(events: Any, table: str, key: Any, column: str) -> list[list[Any] | None]:
        keys = key.to_pylist() if hasattr(key, "to_pylist") else [key] * events.num_rows
        found = tables[table].values(set(keys) - {None}, column)
        return [None if each is None else found.get(each, []) for each in keys]

    return [lookup]


def _table(settings: OperatorSettings) -> KeyedTable:
    variable = settings.value("database_from")
    if variable is None:
        url = settings.text("database")
    elif settings.value("database") is not None:
        raise settings.wrong("database_from", "left out where there is `database`")
    elif not isinstance(variable, str) or not os.environ.get(variable):
        raise settings.wrong("database_from", "the name of a variable of the environment, and that has to be set")
    else:
        url = os.environ[variable]
    columns = settings.texts("columns")
    found = KeyedTable(
        url,
        settings.text("table"),
        settings.text("key"),
        columns or None,
        folder=settings.path("."),
        name=settings.name,
    )
    settings.end()
    return found
