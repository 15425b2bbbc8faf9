"""DuckDB on one thread, a batch at a time: pairs of events and rules."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.peers import duckdb_join, query_each
from benchmarks.peers.protocol import CASE, EVENTS, Asked, Figures, write_matches
from benchmarks.peers.python_driver import batch_seconds
from benchmarks.workloads import WORKLOADS

_TYPES = {"int": "BIGINT", "float": "DOUBLE", "string": "VARCHAR", "strings": "VARCHAR[]"}


def joined(asked: Asked, folder: Path, figures: Figures) -> None:
    """W1 - W4: the fastest of the formulations in duckdb_join, in which texts are numbers already."""
    workload = WORKLOADS[asked.workload]
    constraints, events = workload.subscriptions(asked.size), workload.events(asked.events)
    best = duckdb_join.join(constraints, events, limit_s=asked.match_s)
    if best is None:
        figures.failed = "no join of 64 events ended in time"
        return
    with duckdb.connect(config={"threads": 1}) as connection:
        begin = time.perf_counter()
        query = duckdb_join.FORMULATIONS[best.formulation](connection, constraints)
        figures.build_s = time.perf_counter() - begin
        figures.checked = min(asked.checked, best.events)
        duckdb_join.load_events(connection, events.head(figures.checked))
        _write(folder, connection.execute(query).fetchall(), figures.checked)
        figures.parsed_per_s = 1e6 / best.us_per_event
        one = events.head(1)
        duckdb_join.load_events(connection, one)
        took = batch_seconds(lambda: connection.execute(query).fetchall(), asked.match_s / 2)
        figures.parsed_us = (1e6 * took, 1e6 * took)
    figures.notes += [
        f"the join called {best.formulation}, {best.events:,} events at once, texts as numbers",
        "JSON is not counted; one event is the same query on a table of one, its median",
    ]


def queried(asked: Asked, folder: Path, figures: Figures) -> None:
    """A query for each rule."""
    columns = "{" + ", ".join(f"'{name}': '{_TYPES[kind]}'" for name, kind in asked.kinds.items()) + "}"
    source = f"read_json('{folder / EVENTS}', format='newline_delimited', columns={columns})"
    with duckdb.connect(config={"threads": 1}) as connection:

        def events(where: str, table: str) -> list[int]:
            return [event for (event,) in connection.execute(f"SELECT event FROM {table} WHERE {where}").fetchall()]

        def load() -> None:
            connection.execute(
                f"CREATE OR REPLACE TABLE every AS SELECT row_number() OVER () - 1 AS event, * FROM {source}"
            )

        load()
        connection.execute(f"CREATE TABLE few AS SELECT * FROM every WHERE event < {asked.checked}")
        tables = query_each.Tables(lambda where: events(where, "few"), lambda where: events(where, "every"), load)
        query_each.measure(tables, asked, folder, figures)


def _write(folder: Path, pairs: list[tuple[int, int]], events: int) -> None:
    found: list[list[int]] = [[] for _ in range(events)]
    for event, rule in pairs:
        found[event].append(rule)
    write_matches(folder, found)


def main(folder: Path) -> None:
    """Drive."""
    said: dict[str, Any] = json.loads((folder / CASE).read_text())
    asked, figures = Asked(**said), Figures(duckdb.__version__)
    (joined if asked.workload in WORKLOADS else queried)(asked, folder, figures)
    figures.write(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
