"""Thousands of random filters against DuckDB's WHERE: an oracle that nobody here wrote."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from tests.contract.random_filters import AT_ONCE, EVENTS, SCHEMA, Filter, events, random_filters
from tests.vetoes import everywhere
from vedette.engine.subscriptions import Subscriptions
from vedette.filters.index import names


@pytest.fixture(scope="module")
def filters() -> list[Filter]:
    """The filters."""
    return random_filters()


@pytest.fixture(scope="module")
def wanted(filters: list[Filter]) -> np.ndarray:
    """[event, filter]: what DuckDB says."""
    table = events()
    with duckdb.connect() as connection:
        connection.register("events", table)
        parts = []
        for first in range(0, len(filters), AT_ONCE):
            selected = ", ".join(
                f"({one.duckdb}) IS TRUE AS c{n}" for n, one in enumerate(filters[first : first + AT_ONCE])
            )
            found = connection.sql(f"SELECT {selected} FROM events").to_arrow_table()
            parts += [column.to_numpy() for column in found.columns]
    return np.stack(parts, axis=1)


@pytest.mark.interpreted
@pytest.mark.parametrize("index", names())
def test_filters_match_what_duckdb_selects(index: str, filters: list[Filter], wanted: np.ndarray) -> None:
    _compare(index, filters, wanted)


@pytest.mark.parametrize("index", names())
def test_filters_with_vetoes_match_what_duckdb_selects(
    index: str, filters: list[Filter], wanted: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    everywhere(monkeypatch)
    _compare(index, filters[::2], wanted[:, ::2])


def _compare(index: str, filters: list[Filter], wanted: np.ndarray) -> None:
    subscriptions = Subscriptions(SCHEMA)
    for number, one in enumerate(filters):
        subscriptions.add(str(number), one.ours)
    table = events()
    matcher = subscriptions.compile(index, sample=table)
    pairs = matcher.match_pairs(table)
    found = np.zeros((EVENTS, len(filters)), np.bool_)
    found[pairs.event, pairs.subscription] = True
    assert len(pairs.event) == found.sum()
    wrong = np.argwhere(found != wanted)
    if len(wrong):
        event, number = wrong[0]
        pytest.fail(
            f"{len(wrong)} of {found.size} differ, e.g. {filters[number].ours}\n(DuckDB: {filters[number].duckdb})\n"
            f"on {table.slice(event, 1).to_pylist()[0]}: we say {found[event, number]}"
        )
    # The same again, one event at a time and from plain dicts.
    rows = table.to_pylist()
    for event in range(0, EVENTS, 8):
        assert matcher.match(rows[event]) == [str(n) for n in np.flatnonzero(wanted[event])]
