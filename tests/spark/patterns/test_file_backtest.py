"""`vedette backtest --engine spark`: the counts, samples and scores of the local engine, of whatever histories."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.session import vedette, write_lines
from tests.spark.patterns.test_file_events import made, write
from tests.spark.patterns.test_file_match import subscriptions, with_calls

pytestmark = pytest.mark.usefixtures("many_pieces")

_TIMES = re.compile(r"[\d.]+ s, [\d,]+ events/s \(after [\d.]+ s of preparation\)")


def outcome(engine: str, arguments: tuple[object, ...], folder: Path, stdin: bytes | None) -> dict[str, Any]:
    """Everything that a backtest leaves behind."""
    places = ("-o", folder / "counts.jsonl", "--samples-out", folder / "samples.jsonl", "--rejects", folder / "bad")
    result = vedette("backtest", *arguments, *places, "--engine", engine, "--verbose", stdin=stdin)
    found: dict[str, Any] = {path.name: path.read_text() for path in sorted(folder.iterdir())}
    for path in folder.iterdir():
        path.unlink()
    return {"status": result.exit_code, "said": _TIMES.sub("", result.stderr), "stdout": result.stdout, **found}


def check(tmp_path: Path, *arguments: object, stdin: bytes | None = None) -> dict[str, Any]:
    """Both engines leave the same behind."""
    folder = tmp_path / "left behind"
    folder.mkdir(exist_ok=True)
    expected = outcome("local", arguments, folder, stdin)
    assert outcome("spark", arguments, folder, stdin) == expected
    assert expected["status"] == 0
    return expected


@pytest.mark.parametrize(
    "format_", [*(pytest.param(each, marks=pytest.mark.thorough) for each in ("jsonl", "csv")), "parquet"]
)
def test_random_patterns_over_random_histories(format_: str, schema: Path, tmp_path: Path) -> None:
    seed = {"jsonl": 13, "csv": 14, "parquet": 15}[format_]
    events = write(made(seed, 300), tmp_path / f"events.{format_}")
    asked = subscriptions(seed, tmp_path / "s.jsonl", 12, within=6, threshold=0.05)
    found = check(tmp_path, asked, events, "--schema", schema)
    assert found["samples.jsonl"].count("prediction") >= 5
    assert found["samples.jsonl"].count("steps") > 20
    assert found["bad"].count("\n") == {"jsonl": 3, "csv": 1, "parquet": 0}[format_]


@pytest.mark.parametrize("until", ["1970-01-01T00:03:00Z", pytest.param("1969-12-31", marks=pytest.mark.thorough)])
def test_forecasts_that_are_held_out(until: str, schema: Path, tmp_path: Path) -> None:
    events = write(made(16, 400), tmp_path / "events.jsonl")
    asked = subscriptions(16, tmp_path / "s.jsonl", 8, within=6, threshold=0.05)
    found = check(tmp_path, asked, events, "--schema", schema, "--train-until", until)
    assert ("no event is before" in found["said"]) == (until < "1970")
    assert ("came true" in found["stdout"]) == (until > "1970")


def test_filters_alone_and_standard_input(schema: Path, tmp_path: Path) -> None:
    content = write(made(17, 300), tmp_path / "events.jsonl").read_bytes()
    asked = write_lines(tmp_path / "s.jsonl", [{"id": "a", "when": "kind = 'a'"}, {"id": "u", "when": "u > 1"}])
    found = check(tmp_path, asked, tmp_path / "events.jsonl", "--schema", schema)
    assert found["counts.jsonl"].count("\n") >= 2
    assert found["bad"].count("\n") == 3
    check(tmp_path, asked, "-", "--schema", schema, "--samples", 2, stdin=content)


def test_events_that_come_too_late(schema: Path, tmp_path: Path) -> None:
    events = write(made(18, 200), tmp_path / "events.jsonl")
    asked = subscriptions(18, tmp_path / "s.jsonl", 5)
    aside = tmp_path / "left behind" / "late"
    found = check(tmp_path, asked, events, "--schema", schema, "--lateness", "60 s", "--late", aside)
    assert found["late"].count("too late") > 20


def test_steps_that_call_operators(schema: Path, tmp_path: Path) -> None:
    events = write(made(19, 300), tmp_path / "events.jsonl")
    asked, own = with_calls(subscriptions(19, tmp_path / "s.jsonl", 12, within=6, threshold=0.05))
    folder = tmp_path / "left behind"
    folder.mkdir()
    arguments = (asked, events, "--schema", schema, "--operators", own)
    found, expected = (outcome(engine, arguments, folder, None) for engine in ("spark", "local"))
    assert {**found, "said": ""} == {**expected, "said": ""}
    assert found["samples.jsonl"].count("prediction") > 5
