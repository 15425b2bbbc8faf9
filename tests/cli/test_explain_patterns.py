"""`vedette explain` for patterns: where they stand, why they were forecast, and their machines as pictures."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.session import vedette, write_lines
from tests.cli.test_match_patterns import EVENTS, SUBSCRIPTIONS


@pytest.fixture
def subscriptions(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "subscriptions.jsonl", SUBSCRIPTIONS)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "events.jsonl", EVENTS)


def _explain(*arguments: object, stdin: str | None = None) -> str:
    result = vedette("explain", *arguments, stdin=stdin)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_an_event_that_completes_a_pattern(subscriptions: Path, events: Path) -> None:
    said = _explain(subscriptions, events, "-s", "break-in", "-e", "e5")
    assert said.startswith("Subscription break-in of ada, event e5\nThe event completes the pattern.\n")
    assert "a  e1  2024-05-01 10:00:00Z\n    b  e3  2024-05-01 10:01:00Z\n    c  e5  2024-05-01 10:03:00Z" in said


def test_an_event_that_does_not(subscriptions: Path, events: Path) -> None:
    said = _explain(subscriptions, events, "-s", "break-in", "-e", "e6")
    assert "It is event 4 of its partition, ip = '10.0.0.1'" in said
    assert "Nearest miss: the partial match with 2 of 3 steps, whose next step is c ($who = '10.0.0.1')" in said
    assert "✗ within 5 min   the first event was 0:30:00 before" in said


def test_the_order_is_that_of_time(subscriptions: Path, tmp_path: Path) -> None:
    events = write_lines(tmp_path / "e.jsonl", [EVENTS[4], *EVENTS[:4], EVENTS[5]])
    assert "The event completes the pattern." in _explain(subscriptions, events, "-s", "break-in", "-e", "e5")


@pytest.mark.parametrize("kind", ["parquet", "stdin"])
def test_other_places(kind: str, subscriptions: Path, events: Path, tmp_path: Path) -> None:
    place: object = "-"
    if kind == "parquet":
        place = tmp_path / "e.parquet"
        pq.write_table(pa.Table.from_pylist(EVENTS), place)
    said = _explain(subscriptions, place, "-s", "twice", "-e", "e3", stdin=events.read_text())
    assert "The event completes the pattern." in said
    assert "    1  e1  2024" in said


def test_events_that_match_rejects_are_left_out(subscriptions: Path, tmp_path: Path) -> None:
    broken = {"id": "bad", "time": EVENTS[1]["time"], "status": 5, "ip": "10.0.0.1", "user": "u"}
    events = write_lines(tmp_path / "e.jsonl", [EVENTS[0], broken, "oops", EVENTS[2]])
    schema = write_lines(
        tmp_path / "schema.json", [{"time": "timestamp", "status": "string", "ip": "string", "user": "string"}]
    )
    said = _explain(subscriptions, events, "-s", "twice", "-e", "e3", "--schema", schema)
    assert "The event completes the pattern." in said
    for id_, told in [
        ("bad", "`match` rejects event 'bad', so the pattern does not see it: "),
        ("e33", "did you mean 'e3'"),
    ]:
        result = vedette("explain", subscriptions, events, "-s", "twice", "-e", id_, "--schema", schema)
        assert result.exit_code == 1
        assert told in result.stderr


@pytest.mark.parametrize(
    ("times", "why"),
    [
        ([1714557600, 1714557601000, 1714557602], "1714557601000 is no time in seconds since 1970"),
        (["2024-05-01T10:00:00Z", "yesterday", "2024-05-01T10:00:02Z"], "'yesterday' is not a time"),
    ],
)
def test_times_are_read_as_match_reads_them(times: list[object], why: str, tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "s", "when": "a:[x = 1] ; b:[x = 2] within 1 min"}])
    rows = [{"id": f"e{number}", "x": 1 if number == 0 else 2, "time": time} for number, time in enumerate(times)]
    events = write_lines(tmp_path / "e.jsonl", rows)
    matched = vedette("match", subscriptions, events, "-o", "-")
    assert '"e2"' in matched.stdout
    assert '"e1"' not in matched.stdout
    result = vedette("explain", subscriptions, events, "-s", "s", "-e", "e2")
    assert result.exit_code == 0
    assert "Warning: 1 event is rejected, as by `match`, so the pattern does not see it" in result.stderr
    assert why in result.stderr
    assert "a  e0  2024-05-01 10:00:00Z\n    b  e2  2024-05-01 10:00:02Z" in result.stdout
    rejected = vedette("explain", subscriptions, events, "-s", "s", "-e", "e1")
    assert rejected.exit_code == 1
    assert "`match` rejects event 'e1'" in rejected.stderr
    assert why in rejected.stderr


def test_numbers_are_seconds_and_those_without_a_time_have_the_latest(tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "s", "when": "a:[x = 1] ; b:[x = 2] within 1 min"}])
    rows = [{"id": "e0", "x": 1, "time": 90.5}, {"id": "e1", "x": 0, "time": 120}, {"id": "e2", "x": 2}]
    events = write_lines(tmp_path / "e.jsonl", rows)
    said = _explain(subscriptions, events, "-s", "s", "-e", "e2")
    assert "a  e0  1970-01-01 00:01:30.500000Z\n    b  e2  1970-01-01 00:02:00Z" in said


def test_an_event_in_no_partition_is_an_answer(subscriptions: Path, tmp_path: Path) -> None:
    events = write_lines(tmp_path / "e.jsonl", [*EVENTS, {"id": "e9", "time": EVENTS[0]["time"], "status": "denied"}])
    said = _explain(subscriptions, events, "-s", "break-in", "-e", "e9")
    assert said.splitlines()[1] == "The pattern does not see the event: its ip is null, and the pattern goes by it."


def test_all_events(subscriptions: Path, events: Path, tmp_path: Path) -> None:
    assert _explain(subscriptions, events, "-s", "break-in").splitlines() == [
        "Subscription break-in of ada, all 6 events",
        "The pattern was completed 1 time.",
        "The most advanced partial match took 2 of 3 steps, first at event e3.",
        "How many events satisfy the filter of each step, whatever came before:",
        "           3  a  a:[status = 'denied' and ip = $who]",
        "           3  b  b:[status = 'denied' and ip = $who]",
        "           3  c  c:[status = 'success' and ip = $who]",
    ]
    nothing = write_lines(tmp_path / "e.jsonl", [{"user": "u", "status": "success"}])
    assert "completed 0 times.\nHow many" in _explain(subscriptions, nothing, "-s", "twice")


def test_pictures(subscriptions: Path, events: Path, tmp_path: Path) -> None:
    svg, mermaid = tmp_path / "machine.svg", tmp_path / "machine.mmd"
    _explain(subscriptions, events, "-s", "break-in", "-e", "e5", "--picture", svg)
    ElementTree.fromstring(svg.read_text())
    _explain(subscriptions, events, "-s", "break-in", "--picture", mermaid)
    assert "flowchart LR" in mermaid.read_text()
    result = vedette("explain", subscriptions, events, "-s", "break-in", "--picture", tmp_path / "machine.gif")
    assert result.exit_code == 1
    assert "Hint: it ends with .svg or .mmd" in result.stderr
    filters = vedette("explain", subscriptions, events, "-s", "denied", "-e", "e1", "--picture", svg)
    assert filters.exit_code == 0
    assert "A filter has neither a machine nor a model" in filters.stderr
