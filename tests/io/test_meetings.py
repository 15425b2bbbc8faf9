"""Pairs that meet, as files: what is read back is what was written, and nothing is left behind by a failure."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.session import files_in
from vedette.io import meeting_files
from vedette.io.meeting_files import write_meetings

ODD = ["p1", 'quo"ted', "back\\slash", "línea\n", "😀", "\x01"]


def table(*, ranked: bool) -> pa.Table:
    publications = [ODD[row % len(ODD)] for row in range(50)]
    subscriptions = [ODD[row % 5] for row in range(50)]
    columns = {"publication": pa.array(publications), "subscription": pa.array(subscriptions)}
    if ranked:
        scores = [0.1, 1.0, 1e300, 1e-7, -0.0, 2 / 3, float("inf"), float("-inf"), float("nan"), None]
        columns["rank"] = pa.array(range(1, 51), pa.int32())
        columns["score"] = pa.array([scores[row % 10] for row in range(50)], pa.float64())
    return pa.table(columns)


@pytest.mark.parametrize("slice_", [1 << 20, 7])
@pytest.mark.parametrize("ranked", [False, True])
def test_json_lines(tmp_path: Path, ranked: bool, slice_: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meeting_files, "_SLICE", slice_)
    expected = table(ranked=ranked)
    chunked = pa.concat_tables([expected.slice(0, 3), expected.slice(3)])
    write_meetings(chunked, str(tmp_path / "out.jsonl"), "jsonl")
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    rows = expected.to_pylist()
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows, strict=True):
        found = json.loads(line)
        assert list(found) == list(row)
        score = row.get("score")
        if score is not None and str(score) in ("inf", "-inf", "nan"):
            row["score"] = str(score)
        assert found == row


def test_parquet_and_gzip(tmp_path: Path) -> None:
    expected = table(ranked=False)
    write_meetings(expected, str(tmp_path / "out.parquet"), "parquet")
    assert pq.read_table(tmp_path / "out.parquet").equals(expected)
    write_meetings(expected, str(tmp_path / "out.jsonl.gz"), "jsonl")
    with gzip.open(tmp_path / "out.jsonl.gz", "rt", encoding="utf-8") as lines:
        assert [json.loads(line) for line in lines] == expected.to_pylist()


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_nothing_to_write(tmp_path: Path, format: str) -> None:
    write_meetings(table(ranked=True).slice(0, 0), str(tmp_path / "out"), format)
    if format == "parquet":
        assert pq.read_table(tmp_path / "out").column_names == ["publication", "subscription", "rank", "score"]
    else:
        assert (tmp_path / "out").read_bytes() == b""


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        write_meetings(pa.table({"publication": ["p"]}), str(tmp_path / "out.jsonl"), "jsonl")
    assert files_in(tmp_path) == set()
