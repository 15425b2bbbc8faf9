"""Random rules against what another backend of pySigma makes of them: SQL, carried out by SQLite.

It orders numbers as texts, reads `true` as 1 too, and takes only missing values for null: these are left out.
"""

from __future__ import annotations

import re
import sqlite3
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dialects.sigma.asking import answers
from tests.dialects.sigma.random_rules import EVENTS, FIELDS, rules

pytest.importorskip("sigma.backends.sqlite")

_PLAIN = rules(keywords=False, nulls=False, order=False, truths=False)


@given(_PLAIN, st.lists(EVENTS, min_size=1, max_size=5))
def test_rules_mean_what_sqlite_finds(rule: dict[str, Any], events: list[dict[str, Any]]) -> None:
    events = [{name: _as_text(value) for name, value in event.items()} for event in events]
    assert answers(rule, events) == _found(rule, events)


def _as_text(value: Any) -> str | None:
    """Columns hold texts."""
    if value is None or isinstance(value, str):
        return value
    return str(value).lower()


def _found(rule: dict[str, Any], events: list[dict[str, Any]]) -> list[bool]:
    from sigma.backends.sqlite import sqliteBackend
    from sigma.collection import SigmaCollection

    (query,) = sqliteBackend().convert(SigmaCollection.from_dicts([rule]))
    with sqlite3.connect(":memory:") as connection:
        connection.create_function("regexp", 2, _searched)
        columns = ", ".join(f"{name} TEXT COLLATE NOCASE" for name in FIELDS)
        connection.execute(f"CREATE TABLE logs (number INTEGER, {columns})")
        for number, event in enumerate(events):
            values = [number, *(event.get(name) for name in FIELDS)]
            connection.execute(f"INSERT INTO logs VALUES ({', '.join('?' * len(values))})", values)
        found = {row[0] for row in connection.execute(query)}
    connection.close()
    return [number in found for number in range(len(events))]


def _searched(pattern: str, value: str | None) -> bool:
    return value is not None and re.search(pattern, value) is not None
