"""What the terminal shows of a batch: one line a row, what people look for first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from vedette.spark.pipeline.routing import NOTIFICATION, REJECT
from vedette.spark.pipeline.sinks.base import Batch
from vedette.spark.pipeline.sinks.console import TerminalSink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ID = "cfcd208495d565ef66e7dff9f98764da"
HEAD = (ID, "monday.jsonl:0", "cheap-ibm", "alice", "match", "0123456789ab")


class Shown:
    """What a terminal of some width shows."""

    def __init__(self, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
        self._spark, self._monkeypatch, self._capsys = spark, monkeypatch, capsys

    def __call__(self, width: int, columns: tuple[str, ...], *rows: tuple[Any, ...]) -> list[str]:
        self._monkeypatch.setenv("COLUMNS", str(width))
        frame = self._spark.createDataFrame(list(rows), ", ".join(f"{name} string" for name in columns))
        TerminalSink("screen").write(frame, Batch("p", None))
        lines = self._capsys.readouterr().out.splitlines()
        assert all(len(line) <= width for line in lines)
        return [line.strip() for line in lines if line.strip(" ─")]


@pytest.fixture
def shown(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Shown:
    return Shown(spark, monkeypatch, capsys)


def test_with_room_for_everything(shown: Shown) -> None:
    header, row, total = shown(120, (*NOTIFICATION, "price"), (*HEAD, "119.5"))
    assert header.split() == ["event", "subscription", "subscriber", "price", "kind", "version", "id"]
    assert row.split() == ["monday.jsonl:0", "cheap-ibm", "alice", "119.5", "match", "0123456789ab", ID]
    assert total == "screen: 1 row"


def test_the_id_is_shortened_first(shown: Shown) -> None:
    _, row, total = shown(80, NOTIFICATION, HEAD)
    assert row.split() == ["monday.jsonl:0", "cheap-ibm", "alice", "match", "0123456789ab", "cfcd2084…"]
    assert total == "screen: 1 row"


def test_columns_that_say_least_are_left_out_and_that_is_said(shown: Shown) -> None:
    header, row, total = shown(60, (*NOTIFICATION, "price"), (*HEAD, "119.5"))
    assert header.split() == ["event", "subscription", "subscriber", "price", "id"]
    assert row.split() == ["monday.jsonl:0", "cheap-ibm", "alice", "119.5", "cfcd2084…"]
    assert total == "screen: 1 row; no room for version, kind"


def test_long_values_are_cut_but_not_what_and_whose_it_is(shown: Shown) -> None:
    header, *rows, total = shown(
        80, (*NOTIFICATION, "note"), (*HEAD, "many words " * 20), (*HEAD, "line\n\x1b[2J[red]")
    )
    assert header.split() == ["event", "subscription", "subscriber", "note"]
    assert [row.split()[:3] for row in rows] == [["monday.jsonl:0", "cheap-ibm", "alice"]] * 2
    assert rows[0].endswith("…")
    assert rows[1].endswith(r"line\n\x1b[2J[red]")
    assert total == "screen: 2 rows; no room for version, kind, id"


def test_of_rejects_the_place_and_the_reason_come_first(shown: Shown) -> None:
    reject = (ID, None, "monday.jsonl:3", "is not a number", '{"price": "n/a"}')
    header, row, total = shown(80, REJECT, reject)
    assert header.split() == ["place", "reason", "raw", "event", "id"]
    assert row.startswith("monday.jsonl:3  is not a number")
    assert row.endswith("cfcd2084…")
    assert total == "screen: 1 row"
