"""Running commands: in this process, or in one of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from vedette.cli.main import app

COMMAND = (sys.executable, "-m", "vedette")

SUBSCRIPTIONS = [
    {"id": "s1", "subscriber": "alice", "when": "issue = 'IBM' and price < 120"},
    {"id": "s2", "subscriber": "bob", "when": "price > 200 or volume between 1000 and 5000"},
    {"id": "s3", "when": "issue like 'A%' and not price is null"},
]
EVENTS = [
    {"id": "e1", "issue": "IBM", "price": 119.0, "volume": 2000},
    {"id": "e2", "issue": "AAPL", "price": 250.5, "volume": 10},
    {"id": "e3", "issue": "IBM", "price": 125.3},
    {"id": "e4", "issue": "AMD", "price": 90.0, "volume": 1000},
]
PAIRS = [("e1", "s1"), ("e1", "s2"), ("e2", "s2"), ("e2", "s3"), ("e4", "s2"), ("e4", "s3")]


def vedette(*arguments: object, stdin: bytes | str | None = None) -> Result:
    """Run a command in this process; what it did not mean to raise is raised."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def process(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)


def write_lines(path: Path, records: list[Any]) -> Path:
    """A file of JSON lines; texts are written as they are."""
    lines = (record if isinstance(record, str) else json.dumps(record) for record in records)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def pairs(text: str) -> list[tuple[str, str]]:
    """Event and subscription of every line of output."""
    records = [json.loads(line) for line in text.splitlines()]
    assert all(record["kind"] == "match" for record in records)
    return [(record["event"], record["subscription"]) for record in records]


def files_in(folder: Path) -> set[str]:
    """The names of all files, also of hidden ones."""
    return {path.name for path in folder.iterdir()}
