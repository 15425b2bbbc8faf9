"""`vedette match` where some subscriptions are patterns."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tests.cli.session import files_in, vedette, write_lines
from tests.patterns.generate import SCHEMA, Writer, shuffled, stream
from vedette.engine.stream_matcher import StreamMatcher
from vedette.engine.subscriptions import Subscriptions

BREAK_IN = (
    "a:[status = 'denied' and ip = $who] ; b:[status = 'denied' and ip = $who] ; c:[status = 'success' and ip = $who] "
    "within 5 min"
)
SUBSCRIPTIONS = [
    {"id": "denied", "when": "status = 'denied'"},
    {"id": "break-in", "subscriber": "ada", "when": BREAK_IN},
    {"id": "success", "when": "status = 'success'"},
    {"id": "twice", "when": "[status = 'denied']{2} by user"},
]
EVENTS = [
    {"id": "e1", "time": "2024-05-01T10:00:00Z", "status": "denied", "ip": "10.0.0.1", "user": "u"},
    {"id": "e2", "time": "2024-05-01T10:00:10Z", "status": "denied", "ip": "10.0.0.2", "user": "v"},
    {"id": "e3", "time": "2024-05-01T10:01:00Z", "status": "denied", "ip": "10.0.0.1", "user": "u"},
    {"id": "e4", "time": "2024-05-01T10:02:00Z", "status": "success", "ip": "10.0.0.2", "user": "v"},
    {"id": "e5", "time": "2024-05-01T10:03:00Z", "status": "success", "ip": "10.0.0.1", "user": "u"},
    {"id": "e6", "time": "2024-05-01T10:30:00Z", "status": "success", "ip": "10.0.0.1", "user": "u"},
]
BREAK_IN_FOUND = {
    "event": "e5",
    "subscription": "break-in",
    "kind": "match",
    "steps": {"a": "e1", "b": "e3", "c": "e5"},
    "bindings": {"who": "10.0.0.1"},
}
FOUND: list[dict[str, Any]] = [
    {"event": "e1", "subscription": "denied", "kind": "match"},
    {"event": "e2", "subscription": "denied", "kind": "match"},
    {"event": "e3", "subscription": "denied", "kind": "match"},
    {"event": "e3", "subscription": "twice", "kind": "match", "steps": {"1": "e1", "2": "e3"}},
    {"event": "e4", "subscription": "success", "kind": "match"},
    BREAK_IN_FOUND,
    {"event": "e5", "subscription": "success", "kind": "match"},
    {"event": "e6", "subscription": "success", "kind": "match"},
]


@pytest.fixture
def subscriptions(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "subscriptions.jsonl", SUBSCRIPTIONS)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "events.jsonl", EVENTS)


def _rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_filters_and_patterns_in_one_file(subscriptions: Path, events: Path) -> None:
    result = vedette("match", subscriptions, events, "-o", "-")
    assert result.exit_code == 0
    assert _rows(result.stdout) == FOUND
    assert result.stdout.splitlines()[0] == '{"event": "e1", "subscription": "denied", "kind": "match"}'
    assert "6 events against 4 subscriptions: 8 matches, 0 rejected" in result.stderr


@pytest.mark.parametrize("name", ["s.yaml", "s.parquet"])
def test_subscriptions_of_every_format(name: str, events: Path, tmp_path: Path) -> None:
    place = tmp_path / name
    if place.suffix == ".yaml":
        place.write_text(yaml.safe_dump(SUBSCRIPTIONS))
    else:
        pq.write_table(pa.Table.from_pylist(SUBSCRIPTIONS), place)
    assert _rows(vedette("match", place, events, "-o", "-").stdout) == FOUND


@pytest.mark.parametrize("name", ["e.csv", "e.parquet"])
def test_events_of_every_format(name: str, subscriptions: Path, tmp_path: Path) -> None:
    place = tmp_path / name
    if place.suffix == ".csv":
        rows = [",".join(EVENTS[0]), *(",".join(map(str, event.values())) for event in EVENTS)]
        place.write_text("\n".join(rows) + "\n")
    else:
        pq.write_table(pa.Table.from_pylist(EVENTS), place)
    assert _rows(vedette("match", subscriptions, place, "-o", "-").stdout) == FOUND


def test_parquet_output_has_more_columns(subscriptions: Path, events: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    assert vedette("match", subscriptions, events, "-o", out).exit_code == 0
    table = pq.read_table(out)
    assert table.column_names == ["event", "subscription", "kind", "steps", "bindings", "probability", "within"]
    rows = table.to_pylist()
    assert [(row["event"], row["subscription"]) for row in rows] == [(r["event"], r["subscription"]) for r in FOUND]
    assert rows[5]["steps"] == [("a", "e1"), ("b", "e3"), ("c", "e5")]
    assert rows[5]["bindings"] == [("who", "10.0.0.1")]
    only_filters = write_lines(tmp_path / "filters.jsonl", SUBSCRIPTIONS[:1])
    assert vedette("match", only_filters, events, "-o", out).exit_code == 0
    assert pq.read_table(out).column_names == ["event", "subscription", "kind"]


def test_events_count_in_the_order_of_their_time(subscriptions: Path, tmp_path: Path) -> None:
    """The file is sorted; rows are written in the order in which events stand in it."""
    events = write_lines(tmp_path / "e.jsonl", [EVENTS[4], *EVENTS[:4], EVENTS[5]])
    rows = _rows(vedette("match", subscriptions, events, "-o", "-").stdout)
    assert rows[:2] == [BREAK_IN_FOUND, {"event": "e5", "subscription": "success", "kind": "match"}]


def test_events_that_come_too_late(subscriptions: Path, tmp_path: Path) -> None:
    events = write_lines(tmp_path / "e.jsonl", [EVENTS[0], EVENTS[3], EVENTS[2], EVENTS[1], EVENTS[4]])
    late = tmp_path / "late.jsonl"
    result = vedette("match", subscriptions, events, "-o", "-", "--lateness", "1 min", "--late", late)
    found = [(row["event"], row["subscription"]) for row in _rows(result.stdout)]
    assert ("e5", "break-in") in found
    assert ("e2", "denied") in found  # a filter is matched whenever an event comes
    assert f"1 event came too late for patterns (they are in {late})" in result.stderr
    assert json.loads(late.read_text()) == {
        "line": 4,
        "reason": "too late for patterns",
        "raw": json.dumps(EVENTS[1]),
    }
    strict = vedette("match", subscriptions, events, "-o", "-", "--lateness", "0 s")
    assert ("e5", "break-in") not in [(row["event"], row["subscription"]) for row in _rows(strict.stdout)]
    assert "2 events came too late for patterns (--late FILE writes them aside)" in strict.stderr
    alone = vedette("match", subscriptions, events, "-o", "-", "--late", late)
    assert alone.exit_code == 2
    assert "without --lateness no event comes too late" in " ".join(alone.stderr.replace("│", " ").split())
    wrong = vedette("match", subscriptions, events, "-o", "-", "--lateness", "a while")
    assert wrong.exit_code == 2
    assert "no length of time" in wrong.stderr


def test_an_id_that_comes_again_counts_once(tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "p", "when": "[x = 1] ; [x = 1]"}])
    events = write_lines(tmp_path / "e.jsonl", [{"id": "a", "x": 1}, {"id": "a", "x": 1}])
    result = vedette("match", subscriptions, events, "-o", "-")
    assert result.stdout == ""
    assert "1 event has an id that was there before" in result.stderr


def test_events_without_an_id_are_numbered(tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "p", "when": "[x = 1] , [x = 2]"}])
    events = write_lines(tmp_path / "e.jsonl", [{"x": 1}, "broken", {"x": 2}])
    result = vedette("match", subscriptions, events, "-o", "-", "--quiet")
    assert _rows(result.stdout) == [
        {"event": "2", "subscription": "p", "kind": "match", "steps": {"1": "0", "2": "2"}},
    ]


def test_events_that_break_the_schema_are_not_seen(tmp_path: Path) -> None:
    schema = write_lines(tmp_path / "schema.json", [{"x": "int", "y": "int"}])
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "p", "when": "[x = 1] , [x = 2]"}])
    events = write_lines(tmp_path / "e.jsonl", [{"x": 1}, {"x": 3, "y": "no"}, {"x": 2}])
    result = vedette("match", subscriptions, events, "-o", "-", "--schema", schema)
    assert [row["steps"] for row in _rows(result.stdout)] == [{"1": "0", "2": "2"}]
    assert "1 of 3 events rejected" in result.stderr


def test_the_same_as_in_python_whatever_the_order_of_events(tmp_path: Path) -> None:
    random = Random(1)
    texts = [Writer(random, most_steps=5).pattern() for _ in range(15)] + ["kind = 'a'", "u > 1 or v is null"]
    random.shuffle(texts)
    records = [{"id": f"s{number}", "when": text} for number, text in enumerate(texts)]
    events = [{"id": f"e{number}", **event} for number, event in enumerate(shuffled(random, stream(random, 60)))]
    schema = write_lines(tmp_path / "schema.json", [{path: str(type_) for path, type_ in SCHEMA.items()}])
    subscriptions = write_lines(tmp_path / "s.jsonl", records)
    result = vedette(
        "match", subscriptions, write_lines(tmp_path / "e.jsonl", events), "-o", "-", "--schema", schema, "--quiet"
    )
    assert result.exit_code == 0, result.stderr
    found = [(row["event"], row["subscription"], row.get("steps")) for row in _rows(result.stdout)]
    subs = Subscriptions(SCHEMA)
    subs.add_many(records)
    matcher = StreamMatcher(subs, lateness=None)
    ids = [event["id"] for event in events]
    tables = [matcher.process(events, ids=ids), matcher.finish()]
    rows = [row for table in tables for row in table.to_pylist()]
    expected = [
        (row["event"], row["subscription"], None if row["steps"] is None else dict(row["steps"])) for row in rows
    ]
    order = {id_: place for place, id_ in enumerate(ids)}
    assert sorted(map(str, found)) == sorted(map(str, expected))
    assert [order[event] for event, _, _ in found] == sorted(order[event] for event, _, _ in found)
    assert len(found) > 100


def test_partial_matches_that_were_given_up_are_told(tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "p", "when": "[x > 0 and x = $v] ; [x < 0]"}])
    events = write_lines(tmp_path / "e.jsonl", [{"x": value} for value in range(1, 20)])
    result = vedette("match", subscriptions, events, "-o", "-", "--cap", 4)
    assert result.exit_code == 0
    assert "partial matches were given up: more than 4 in a partition" in result.stderr


def test_bad_patterns_stop_the_work(events: Path, tmp_path: Path) -> None:
    bad = [
        {"id": "b1", "when": "[status = 'denied'] ; [stat = ]"},
        {"id": "b2", "when": "[status > $x] ; [status = $x]"},
        {"id": "b3", "when": "[status = 5] , [status = 'denied']"},
        {"id": "b4", "when": "[status = 'denied']{2}", "predict": {"within": 0}},
        {"id": "b5", "when": "[status = 'denied']{2}", "predict": {"within": 3, "features": ["status = 5"]}},
        *SUBSCRIPTIONS,
    ]
    subscriptions = write_lines(tmp_path / "s.jsonl", bad)
    before = files_in(tmp_path)
    result = vedette("match", subscriptions, events, "-o", tmp_path / "out.jsonl")
    assert result.exit_code == 1
    assert files_in(tmp_path) == before
    assert "subscription 'b1'\n  line 1, column 31: " in result.stderr
    assert "5 subscriptions are bad; nothing was written." in result.stderr


def test_patterns_need_times_if_they_speak_of_them(tmp_path: Path, subscriptions: Path) -> None:
    events = write_lines(tmp_path / "e.jsonl", [{"status": "denied", "ip": "10.0.0.1", "user": "u"}])
    result = vedette("match", subscriptions, events, "-o", "-")
    assert result.exit_code == 1
    assert "subscription 'break-in' speaks of time, and the events have none" in result.stderr


def test_options_that_change_nothing_for_filters(events: Path, tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "filters.jsonl", SUBSCRIPTIONS[:1])
    result = vedette("match", subscriptions, events, "-o", "-", "--lateness", "5min")
    assert "There are no patterns" in result.stderr
    assert len(result.stdout.splitlines()) == 3
