"""`vedette match --engine spark --operators`: byte for byte what the local engine writes."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.cli.session import write_lines
from tests.operators.generate import events, table
from tests.spark.test_match_files import many_pieces, outcome

__all__ = ["many_pieces"]

OPS = """
import datetime as dt
import vedette as vd

@vd.operator(outputs=1, reads=("n", "s"))
def found(event):
    if event["s"] == "y":
        raise ValueError("no y")
    return [event["n"], dt.date(2024, 1, 1 + (event["n"] or 0)), float("nan"), event["s"]]

@vd.operator
def odd(event):
    return event["number"] % 2 == 1
"""
SUBSCRIBED = [
    {"id": "plain", "when": "n = 1"},
    {"id": "both", "when": "m >= 1 and found(?x) and odd()", "subscriber": "ada"},
    {"id": "all", "when": "n is not null"},
    {"id": "text", "when": "found(?x) and ?x = s and not odd()"},
    {"id": "one", "when": "found(1) or (n = 2 and found(?y) and ?y = 2)"},
]


def check(tmp_path: Path, *arguments: object, out: str = "out.jsonl") -> dict[str, Any]:
    """Both engines leave the same behind; which failures are told, and how many calls there were, may differ."""
    folder = tmp_path / "left behind"
    folder.mkdir()
    local, spark = (outcome(engine, arguments, folder, out, None) for engine in ("local", "spark"))
    assert {**spark, "said": ""} == {**local, "said": ""}
    assert spark["status"] == 0
    return spark


@pytest.fixture
def given(tmp_path: Path) -> list[Path | str]:
    (tmp_path / "ops.py").write_text(OPS)
    return [write_lines(tmp_path / "subscriptions.jsonl", SUBSCRIBED), "--operators", tmp_path / "ops.py"]


def test_lines(tmp_path: Path, given: list[Path | str]) -> None:
    made = write_lines(tmp_path / "events.jsonl", events(Random(1), 400))
    left = check(tmp_path, given[0], made, *given[1:])
    assert b'"bindings"' in left["out.jsonl"]
    assert "found failed" in left["said"]


def test_tables(tmp_path: Path, given: list[Path | str]) -> None:
    pq.write_table(table(events(Random(2), 400)), tmp_path / "events.parquet", row_group_size=50)
    check(tmp_path, given[0], tmp_path / "events.parquet", *given[1:], out="out.parquet")
