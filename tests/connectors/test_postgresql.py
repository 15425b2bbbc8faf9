"""Pipelines from and to tables of a real PostgreSQL: `make test-tables`."""

from __future__ import annotations

import json
import random
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.connectors import pipelines, trades
from tests.connectors.postgres import PASSWORD, USER, Postgres
from tests.connectors.processes import kill, wait_until

SUBSCRIPTIONS = trades.subscriptions()
SECRET = {"PG_PASSWORD": PASSWORD}
COLUMNS = 'id text primary key, subscriber text, "when" text not null, dialect text, expires timestamptz'


@pytest.fixture
def tag() -> str:
    """Names of tables end with it, so that tests do not meet."""
    return uuid.uuid4().hex[:8]


def _reach(server: Postgres, table: str) -> dict[str, str]:
    return {"type": "jdbc", "url": server.jdbc, "table": table, "user": USER, "password_env": "PG_PASSWORD"}


def _told(server: Postgres, table: str) -> list[trades.Pair]:
    return [(event, subscription) for event, subscription in server.rows(f"select event, subscription from {table}")]


def _events_table(server: Postgres, table: str, events: list[trades.Event]) -> None:
    server.run(f"create table {table} (number serial, id text, symbol text, price numeric(12, 2), volume integer)")
    server.run(f"insert into {table} (id, symbol, price, volume) values (:id, :symbol, :price, :volume)", events)


def _subscriptions_table(server: Postgres, table: str, records: list[trades.Record]) -> None:
    server.run(f"create table {table} ({COLUMNS})")
    server.run(f'insert into {table} (id, subscriber, "when") values (:id, :subscriber, :when)', records)
    server.run(f"insert into {table} (id, \"when\", expires) values ('gone', 'price > 0', now() - interval '1 day')")


def test_events_subscriptions_and_notifications_in_tables(
    tmp_path: Path, server: Postgres, postgresql_jars: list[Path], tag: str
) -> None:
    events = trades.trades(500)
    _events_table(server, f"events_{tag}", events)
    _subscriptions_table(server, f"wanted_{tag}", SUBSCRIPTIONS)
    pipeline = pipelines.write(
        tmp_path,
        postgresql_jars,
        keep=["price", "symbol"],
        subscriptions={"database": server.address, "table": f"wanted_{tag}", "password_env": "PG_PASSWORD"},
        source={
            **_reach(server, f"events_{tag}"),
            "partition": {"column": "number", "lower": 1, "upper": 500, "count": 3},
        },
        sinks=[_reach(server, f"told_{tag}")],
    )
    said = pipelines.run(pipeline, SECRET)
    assert PASSWORD not in said
    expected = trades.pairs(events, SUBSCRIPTIONS)
    assert sorted(_told(server, f"told_{tag}")) == sorted(expected)
    rows = server.rows(f"select event, id, subscriber, price, symbol from told_{tag}")
    assert len({row[1] for row in rows}) == len(rows)
    kept = {event["id"]: (event["price"], event["symbol"]) for event in events}
    assert all((float(price), symbol) == kept[event] for event, _, _, price, symbol in rows)
    assert {row[2] for row in rows} == {"user-0", "user-1", "user-2"}


def test_a_query_as_a_source(tmp_path: Path, server: Postgres, postgresql_jars: list[Path], tag: str) -> None:
    events = trades.trades(200)
    _events_table(server, f"events_{tag}", events)
    trades.write_lines(tmp_path / "subscriptions.jsonl", SUBSCRIPTIONS)
    source = _reach(server, "")
    del source["table"]
    source["query"] = f"select id, symbol, price, volume from events_{tag} where volume < 1000"
    pipeline = pipelines.write(
        tmp_path,
        postgresql_jars,
        subscriptions={"file": "subscriptions.jsonl"},
        source=source,
        sinks=[{"type": "jsonl", "path": "told"}],
    )
    pipelines.run(pipeline, SECRET)
    told = [(row["event"], row["subscription"]) for row in pipelines.rows_of(tmp_path / "told")]
    few = [event for event in events if event["volume"] < 1000]
    assert sorted(told) == sorted(trades.pairs(few, SUBSCRIPTIONS))


def test_a_wrong_password_is_said_and_nothing_is_written(
    tmp_path: Path, server: Postgres, postgresql_jars: list[Path], tag: str
) -> None:
    _events_table(server, f"events_{tag}", trades.trades(3))
    trades.write_lines(tmp_path / "subscriptions.jsonl", SUBSCRIPTIONS)
    pipeline = pipelines.write(
        tmp_path,
        postgresql_jars,
        subscriptions={"file": "subscriptions.jsonl"},
        source=_reach(server, f"events_{tag}"),
        sinks=[{"type": "jsonl", "path": "told"}],
    )
    with pytest.raises(AssertionError, match="password authentication failed"):
        pipelines.run(pipeline, {"PG_PASSWORD": "not this"})
    assert not (tmp_path / "told").exists()


def test_killed_again_and_again_the_table_has_each_notification_once(
    tmp_path: Path, server: Postgres, postgresql_jars: list[Path], tag: str
) -> None:
    drawn = random.Random(11)
    events = trades.trades(600)
    (tmp_path / "events").mkdir()
    for number in range(0, len(events), 40):
        trades.write_lines(tmp_path / "events" / f"{number:04}.jsonl", events[number : number + 40])
    trades.write_lines(tmp_path / "subscriptions.jsonl", SUBSCRIPTIONS)
    table = f"told_{tag}"
    pipeline = pipelines.write(
        tmp_path,
        postgresql_jars,
        mode="available-now",
        checkpoint="state",
        subscriptions={"file": "subscriptions.jsonl"},
        source={"type": "jsonl", "path": "events", "max_files_per_trigger": 1},
        sinks=[_reach(server, table)],
    )

    def there() -> int:
        [(exists,)] = server.rows(f"select to_regclass('{table}') is not null")
        return server.rows(f"select count(*) from {table}")[0][0] if exists else 0

    kills = 0
    for _ in range(2):
        before = there()
        with pipelines.started(pipeline, SECRET) as process:

            def further(before: int = before, process: Any = process) -> bool:
                return there() > before or process.poll() is not None

            wait_until(further, "no further notification", log=pipelines.log_of(pipeline))
            time.sleep(drawn.random() * 2)
            kills += process.poll() is None
            kill(process)
        # At any time: whole micro-batches, nothing twice.
        assert len(set(_told(server, table))) == there()
    assert kills >= 1, "the runs were over too soon to be killed"
    pipelines.run(pipeline, SECRET)
    assert sorted(_told(server, table)) == sorted(trades.pairs(events, SUBSCRIPTIONS))
    assert json.dumps(SECRET["PG_PASSWORD"]) not in pipelines.log_of(pipeline).read_text()


def test_subscriptions_that_change_in_the_database_while_it_runs(
    tmp_path: Path, server: Postgres, postgresql_jars: list[Path], tag: str
) -> None:
    _subscriptions_table(server, f"wanted_{tag}", SUBSCRIPTIONS)
    events = tmp_path / "events"
    events.mkdir()
    (tmp_path / "schema.json").write_text(json.dumps(trades.SCHEMA))
    pipeline = pipelines.write(
        tmp_path,
        postgresql_jars,
        mode="continuous",
        trigger="1 second",
        checkpoint="state",
        schema="schema.json",
        subscriptions={
            "database": server.address,
            "table": f"wanted_{tag}",
            "password_env": "PG_PASSWORD",
            "refresh": "1 second",
        },
        source={"type": "jsonl", "path": "events"},
        sinks=[{"type": "jsonl", "path": "told"}],
    )
    first = trades.trades(40)
    trades.write_lines(events / "0.jsonl", first)
    with pipelines.started(pipeline, SECRET) as process:
        log = pipelines.log_of(pipeline)

        def told() -> list[trades.Pair]:
            return [(row["event"], row["subscription"]) for row in pipelines.rows_of(tmp_path / "told")]

        wanted = trades.pairs(first, SUBSCRIPTIONS)
        wait_until(lambda: set(told()) >= wanted, "the first events", process, log)
        server.run(f"insert into wanted_{tag} (id, \"when\") values ('all', 'price > 0')")
        number = 40

        def taken() -> bool:
            nonlocal number
            trades.write_lines(events / f"{number}.jsonl", trades.trades(5, first=number))
            number += 5
            time.sleep(1)
            return any(subscription == "all" for _, subscription in told())

        wait_until(taken, "the new subscription", process, log)
