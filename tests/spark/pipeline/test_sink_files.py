"""Folders: whole for every reader, after every crash; nothing is replaced that nobody said to replace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow.dataset as ds
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.spark.pipeline.outcomes import ids, outcomes
from vedette.errors import DeliveryError, FileError
from vedette.spark.pipeline.routing import notifications
from vedette.spark.pipeline.sinks.base import Batch
from vedette.spark.pipeline.sinks.files import FolderSink
from vedette.spark.pipeline.sinks.hadoop import FileSystem

FORMATS = ["parquet", "jsonl"]


def told(spark: SparkSession, begin: int, end: int, *, partitions: int = 3) -> DataFrame:
    return notifications(outcomes(spark, begin, end, partitions=partitions))


def nothing(spark: SparkSession) -> DataFrame:
    return told(spark, 0, 1).where("event = 'none'")


def seen(path: Path) -> set[str]:
    return {one.name for one in path.iterdir() if not one.name.endswith(".crc")}


def lines(path: Path) -> list[str]:
    files = [*path.glob("*.jsonl"), *path.glob("*/*.jsonl")]
    return sorted(line for file in files for line in file.read_text().splitlines())


@pytest.fixture
def a_stream_of_parquet(spark: SparkSession, tmp_path: Path) -> Path:
    sink = FolderSink("files", str(tmp_path / "out"), format="parquet")
    for number, frame in enumerate([told(spark, 0, 5), nothing(spark), told(spark, 5, 9)]):
        sink.write(frame, Batch("p", number, "c"))
    return tmp_path / "out"


def test_every_reader_reads_parquet_from_the_top(spark: SparkSession, a_stream_of_parquet: Path) -> None:
    top = str(a_stream_of_parquet)
    assert {row.id for row in spark.read.parquet(top).collect()} == ids(0, 9)
    assert set(ds.dataset(top, format="parquet").to_table()["id"].to_pylist()) == ids(0, 9)
    assert set(pd.read_parquet(top)["id"]) == ids(0, 9)
    found = duckdb.sql(f"SELECT id, batch FROM read_parquet('{top}/**/*.parquet', hive_partitioning = true)").fetchall()
    assert {row[0] for row in found} == ids(0, 9)
    assert {int(row[1]) for row in found} == {0, 2}
    assert len(found) == 9


def test_a_batch_without_rows_leaves_only_a_mark(a_stream_of_parquet: Path) -> None:
    assert seen(a_stream_of_parquet) == {"batch=0", "batch=2", "_empty", "_owner"}
    assert seen(a_stream_of_parquet / "_empty") == {"batch=1"}
    for file in a_stream_of_parquet.rglob("*.parquet"):
        assert ds.dataset(file, format="parquet").count_rows() > 0


def test_a_run_without_rows_still_has_its_columns(spark: SparkSession, tmp_path: Path) -> None:
    FolderSink("files", str(tmp_path / "out"), format="parquet").write(nothing(spark), Batch("p", None))
    table = ds.dataset(tmp_path / "out", format="parquet").to_table()
    assert table.num_rows == 0
    assert table.schema.names[:3] == ["id", "event", "subscription"]
    assert spark.read.parquet(str(tmp_path / "out")).count() == 0


def test_lines_are_the_same_bytes_however_they_were_made(spark: SparkSession, tmp_path: Path) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    FolderSink("files", str(tmp_path / "one"), format="jsonl").write(told(spark, 0, 12), Batch("p", 0, "c"))
    try:
        spark.conf.set("spark.sql.session.timeZone", "America/Lima")
        other = told(spark, 0, 12, partitions=1)
        FolderSink("files", str(tmp_path / "two"), format="jsonl").write(other, Batch("p", 0, "c"))
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))
    assert lines(tmp_path / "one") == lines(tmp_path / "two")
    row = next(json.loads(line) for line in lines(tmp_path / "one") if '"e3"' in line)
    assert row["at"] == "2026-01-02T03:04:05.000003Z"
    assert row["place_"] == {"lat": 1.5, "tags": ["a", None]}
    assert row["legs"] == [{"a": 3}]
    bare = next(json.loads(line) for line in lines(tmp_path / "one") if '"e5"' in line)
    assert list(bare) == ["id", "event", "subscription", "subscriber", "kind", "version"]


def test_lines_are_read_by_spark_too(spark: SparkSession, tmp_path: Path) -> None:
    sink = FolderSink("files", str(tmp_path / "out"), format="jsonl")
    for number, frame in enumerate([told(spark, 0, 5), nothing(spark), told(spark, 5, 9)]):
        sink.write(frame, Batch("p", number, "c"))
    assert {row.id for row in spark.read.json(str(tmp_path / "out")).collect()} == ids(0, 9)
    assert {file.suffix for file in (tmp_path / "out" / "batch=0").glob("part-*")} == {".jsonl"}


class Killed(BaseException):
    """As if the process had ended here."""


def killed_at_rename(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    move = FileSystem.move

    def moved(self: FileSystem, source: str, to: str) -> bool:
        if to.endswith(target):
            raise Killed
        return move(self, source, to)

    monkeypatch.setattr(FileSystem, "move", moved)


@pytest.mark.parametrize("format", FORMATS)
def test_killed_before_the_rename(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: Any
) -> None:
    sink = FolderSink("files", str(tmp_path / "out"), format=format)
    sink.write(told(spark, 0, 4), Batch("p", 0, "c"))
    with monkeypatch.context() as patch:
        killed_at_rename(patch, "batch=1")
        with pytest.raises(Killed):
            sink.write(told(spark, 4, 8), Batch("p", 1, "c"))
    assert seen(tmp_path / "out") == {"batch=0", "_owner", "_staging"}
    if format == "parquet":  # what lies aside is seen by nobody
        assert set(ds.dataset(tmp_path / "out", format="parquet").to_table()["id"].to_pylist()) == ids(0, 4)
    sink.check(spark, streaming=True)
    sink.write(told(spark, 4, 8), Batch("p", 1, "c"))
    assert seen(tmp_path / "out") == {"batch=0", "batch=1", "_owner"}
    assert {row.id for row in _read(spark, tmp_path / "out", format).collect()} == ids(0, 8)


def test_killed_while_an_object_store_copies(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There a rename is a copy of each file: a folder alone does not say that all of them are in it."""
    monkeypatch.setattr(FileSystem, "moves_at_once", False)
    sink = FolderSink("files", str(tmp_path / "out"), format="jsonl")
    sink.write(told(spark, 0, 9), Batch("p", 0, "c"))
    sink.write(nothing(spark), Batch("p", 1, "c"))
    assert seen(tmp_path / "out") == {"batch=0", "_empty", "_owner", "_written"}
    # As if it had been killed in the midst of the copy.
    (tmp_path / "out" / "_written" / "batch=0").unlink()
    next((tmp_path / "out" / "batch=0").glob("part-*.jsonl")).unlink()
    sink.check(spark, streaming=True)
    for _ in range(2):
        sink.write(told(spark, 0, 9), Batch("p", 0, "c"))
        assert {json.loads(line)["id"] for line in lines(tmp_path / "out")} == ids(0, 9)
        assert len(lines(tmp_path / "out")) == 9


def _read(spark: SparkSession, path: Path, format: str) -> DataFrame:
    return spark.read.format("json" if format == "jsonl" else format).load(str(path))


def test_a_run_does_not_write_over_another(spark: SparkSession, tmp_path: Path) -> None:
    sink = FolderSink("files", str(tmp_path / "out"), format="jsonl")
    sink.write(told(spark, 0, 2), Batch("p", None))
    with pytest.raises(FileError, match=r'which is there already\nHint: .*`if_exists = "replace"`'):
        sink.write(told(spark, 2, 4), Batch("p", None))
    assert len(lines(tmp_path / "out")) == 2
    assert seen(tmp_path) == {"out"}


def test_a_run_replaces_another_where_that_is_said(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    sink = FolderSink("files", str(out), format="jsonl", replace=True)
    out.mkdir()  # an empty folder is in nobody's way
    sink.write(told(spark, 0, 2), Batch("p", None))
    with monkeypatch.context() as patch:
        killed_at_rename(patch, "/_replaced_out")
        with pytest.raises(Killed):
            sink.write(told(spark, 2, 5), Batch("p", None))
    assert len(lines(out)) == 2  # the old one is still there
    with monkeypatch.context() as patch:
        patch.setattr(FileSystem, "move", _refusing(FileSystem.move, "_staging_out"))
        with pytest.raises(DeliveryError, match="could not rename"):
            sink.write(told(spark, 2, 5), Batch("p", None))
    assert len(lines(out)) == 2  # ... and back in place
    sink.write(told(spark, 2, 5), Batch("p", None))
    assert {json.loads(line)["id"] for line in lines(out)} == ids(2, 5)
    assert seen(tmp_path) == {"out"}


def _refusing(move: Any, source: str) -> Any:
    return lambda self, origin, to: False if origin.endswith(source) else move(self, origin, to)


def test_nothing_is_replaced_that_no_pipeline_wrote(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    sink = FolderSink("files", str(tmp_path), format="jsonl", replace=True)
    with pytest.raises(FileError, match=r"holds thesis\.tex, which no pipeline wrote"):
        sink.write(told(spark, 0, 2), Batch("p", None))
    assert seen(tmp_path) == {"thesis.tex"}


def test_a_stream_does_not_mix_with_other_files(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sink = FolderSink("files", str(out), format="jsonl")
    sink.write(told(spark, 0, 2), Batch("p", None))
    with pytest.raises(FileError, match="would mix its batches with what is in"):
        sink.check(spark, streaming=True)
    with pytest.raises(FileError, match="would mix"):
        sink.write(told(spark, 0, 2), Batch("p", 0, "c"))
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="is a file; the sink files writes a folder"):
        FolderSink("files", str(tmp_path / "file"), format="jsonl").check(spark, streaming=True)


def test_two_sinks_do_not_share_a_folder(spark: SparkSession, tmp_path: Path) -> None:
    FolderSink("one", str(tmp_path / "out"), format="jsonl").write(told(spark, 0, 2), Batch("p", 0, "c"))
    with pytest.raises(DeliveryError, match=r"holds batches of another stream \(one of p, checkpoint c\)"):
        FolderSink("two", str(tmp_path / "out"), format="jsonl").write(told(spark, 0, 2), Batch("p", 0, "c"))


def test_an_attribute_called_batch_would_be_hidden(spark: SparkSession, tmp_path: Path) -> None:
    frame = told(spark, 0, 2).withColumnRenamed("price", "Batch")
    sink = FolderSink("files", str(tmp_path / "out"), format="parquet")
    with pytest.raises(FileError, match="cannot keep an attribute called batch"):
        sink.write(frame, Batch("p", 0, "c"))
    sink.write(frame, Batch("p", None))  # in one run nothing is in its way


def test_columns_without_any_type_are_texts(spark: SparkSession, tmp_path: Path) -> None:
    frame = told(spark, 0, 2).withColumn("void", F.lit(None))
    FolderSink("files", str(tmp_path / "out"), format="parquet").write(frame, Batch("p", None))
    assert str(ds.dataset(tmp_path / "out", format="parquet").schema.field("void").type) == "string"


def test_paths_with_odd_characters(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "a b%20ü[1]{x}"
    FolderSink("files", str(out) + "/", format="jsonl").write(told(spark, 0, 2), Batch("p", 0, "c"))
    assert len(lines(out)) == 2
    FolderSink("files", f"file://{tmp_path}/url", format="jsonl").write(told(spark, 0, 2), Batch("p", None))
    assert len(lines(tmp_path / "url")) == 2
