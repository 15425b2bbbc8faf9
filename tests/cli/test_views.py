"""Views on the command line: the same matches from files of every format."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.session import pairs, vedette, write_lines
from tests.io.event_chunks import table_of
from vedette.io.events import read_events

EVENTS: list[dict[str, Any]] = [
    {"id": "e1", "code": 4624, "host": "lab-1", "tool": "MimiKatz.exe"},
    {"id": "e2", "code": 1, "host": "10.0.0.7", "tool": "x"},
    {"id": "e3", "code": 300, "host": "web", "tool": ""},
]
FILTERS = {
    "s1": "any(texts(*)) icontains 'mimikatz'",
    "s2": "text(code) in ('4624', '300')",
    "s3": "any(strings(host)) in cidr '10.0.0.0/8'",
    "s4": "leaves(nobody) is null and any(numbers(code)) < 2",
}
EXPECTED = {("e1", "s1"), ("e1", "s2"), ("e2", "s3"), ("e2", "s4"), ("e3", "s2")}


def written(path: Path) -> Path:
    """The events in the format of a file's name."""
    if path.suffix == ".csv":
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, ["id", "code", "host", "tool"])
            writer.writeheader()
            writer.writerows(EVENTS)
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(EVENTS), path)
    else:
        write_lines(path, EVENTS)
    return path


@pytest.mark.parametrize("name", ["e.jsonl", "e.csv", "e.parquet"])
@pytest.mark.parametrize("chosen", [list(FILTERS), ["s2", "s3"]], ids=["whole events", "parts"])
def test_events_of_every_format(name: str, chosen: list[str], tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": id_, "when": FILTERS[id_]} for id_ in chosen])
    result = vedette("match", subscriptions, written(tmp_path / name), "-o", tmp_path / "out.jsonl")
    assert result.exit_code == 0, result.output
    assert set(pairs((tmp_path / "out.jsonl").read_text())) == {
        (event, id_) for event, id_ in EXPECTED if id_ in chosen
    }


def test_the_whole_event_is_all_columns(tmp_path: Path) -> None:
    path = written(tmp_path / "e.parquet")
    assert table_of(next(read_events(str(path), paths=["*", "code"]))).column_names == ["id", "code", "host", "tool"]
    assert table_of(next(read_events(str(path), paths=["code"]))).column_names == ["id", "code"]


def test_explained(tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": id_, "when": text} for id_, text in FILTERS.items()])
    result = vedette("explain", subscriptions, written(tmp_path / "e.parquet"), "--event", "e2", "--subscription", "s2")
    assert "text(code) was '1'" in result.output


def test_checked(tmp_path: Path) -> None:
    texts = ["text(p) > 5", "any(strings(*)) = 'a' and any(strings(*)) = 'a'", "d fits '{\"a\": 1}'"]
    lines = write_lines(tmp_path / "s.jsonl", [{"id": f"s{n}", "when": text} for n, text in enumerate(texts)])
    result = vedette("check", lines)
    assert result.exit_code == 1
    assert "text(p) is a string and cannot be compared with the number 5" in result.output
    assert "no event pattern" in result.output


def test_the_whole_event_is_not_called_an_attribute_that_no_event_has(tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "s1", "when": FILTERS["s1"]}])
    events = write_lines(tmp_path / "e.jsonl", EVENTS)
    assert "no event has" not in vedette("match", subscriptions, events, "-o", "-").stderr
