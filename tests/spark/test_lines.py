"""Raw rows on Spark: the same answers, ids, places and reasons as the local engine gives, wherever Spark cuts files."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.seeds import some
from tests.spark.made_events import SUBSCRIPTIONS, Maker
from vedette.engine.engine import Engine
from vedette.engine.state import StreamOptions
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import InputError
from vedette.io.chunk_stepper import ChunkStepper, promised_columns
from vedette.io.chunks import EventChunk
from vedette.io.events import read_events
from vedette.schema.schema import Schema
from vedette.spark.engines import Sent
from vedette.spark.lines import match_rows, outcome_schema, rows_before
from vedette.spark.readers import CsvReader, LineReader, RecordReader

SCHEMA = Schema.of({"price": "float", "name": "string", "n": "int", "tags": "list of string", "data.deep.x": "int"})
OPEN = Schema({}, closed=False)
Outcome = tuple[Any, ...]  # event, subscription, subscriber, place, reason, raw


def compiled(schema: Schema | None) -> Engine:
    """The local engine; every second subscription belongs to somebody."""
    subscriptions = Subscriptions(schema or OPEN)
    for number, record in enumerate(SUBSCRIPTIONS):
        subscriptions.add(record["id"], record["when"], subscriber=f"who {number}" if number % 2 else None)
    return subscriptions.compile()


def by_the_local_engine(
    chunks: Iterable[EventChunk], matcher: Engine, schema: Schema | None, name: str, *, numbers: bool
) -> Iterator[Outcome]:
    """What is expected of one file."""
    stepper = ChunkStepper(matcher, StreamOptions(promised=promised_columns(schema)))
    ids = matcher.ids.to_pylist()
    for chunk in chunks:
        for found in stepper.step(chunk):
            for event, number in zip(found.events().tolist(), found.outcomes.place.tolist(), strict=True):
                row = int(chunk.rows[event])
                own = chunk.own_ids[event].as_py()
                id_ = own if own is not None else str(row) if numbers else f"{name}:{row}"
                yield id_, ids[number], matcher.subscriber(ids[number]), None, None, None
            for reject in found.rejects:
                yield None, None, None, f"{name}:{reject.line}", reject.reason, reject.raw


def outcomes(found: DataFrame) -> list[Outcome]:
    """What came of it, sorted."""
    rows = found.collect()
    for row in rows:
        assert (row["kind"], row["subscription"] is None) in (("match", False), (None, True))
        assert (row["version"] is None) == (row["subscription"] is None)
    names = ("event", "subscription", "subscriber", "place", "reason", "raw")
    return in_order(tuple(row[name] for name in names) for row in rows)


def in_order(found: Iterable[Outcome]) -> list[Outcome]:
    """Sorted, whatever is missing."""
    return sorted(found, key=lambda row: tuple("" if value is None else value for value in row))


@pytest.fixture
def cut_anywhere(spark: SparkSession) -> Iterator[None]:
    """Spark cuts files into small splits."""
    small = {"spark.sql.files.maxPartitionBytes": "3000", "spark.sql.files.openCostInBytes": "0"}
    before = {name: spark.conf.get(name) for name in small}
    for name, value in small.items():
        spark.conf.set(name, value)
    yield
    for name, text in before.items():
        spark.conf.set(name, str(text))


def reading_lines(lines: DataFrame, *, numbers: bool = False) -> Callable[[], LineReader]:
    """How workers read lines of which it is known what comes before them."""
    return partial(LineReader, numbers, rows_before(lines))


def text_lines(spark: SparkSession, path: Path) -> DataFrame:
    """As the source of pipelines reads them."""
    return (
        spark.read.format("text")
        .option("lineSep", "\n")
        .load(str(path))
        .select(
            F.col("value").cast("binary").alias("value"),
            F.col("_metadata.file_path").alias("path"),
            F.col("_metadata.file_block_start").alias("block"),
        )
    )


@pytest.mark.usefixtures("cut_anywhere")
@pytest.mark.parametrize("given", [None, SCHEMA], ids=["no schema", "schema"])
def test_a_folder_of_lines(spark: SparkSession, given: Schema | None, tmp_path: Path) -> None:
    matcher = compiled(given)
    expected: list[Outcome] = []
    for seed in range(6):
        path = tmp_path / f"é{seed} %20.jsonl"
        path.write_bytes(Maker(seed).lines(120))
        expected += by_the_local_engine(read_events(path), matcher, given, path.name, numbers=False)
    lines = text_lines(spark, tmp_path)
    assert lines.where("block > 0").count() > 0  # or nothing is tested here
    found = outcomes(match_rows(lines, reading_lines(lines), Sent.of(matcher, spark), schema=given))
    assert found == in_order(expected)
    assert sum(row[0] is None for row in found) > 30


@pytest.mark.usefixtures("cut_anywhere")
@pytest.mark.parametrize("seed", some(23, 20))
def test_one_file_has_numbers_for_ids(spark: SparkSession, seed: int, tmp_path: Path) -> None:
    matcher = compiled(None)
    path = tmp_path / "events.jsonl"
    path.write_bytes(Maker(seed).lines(500))
    lines = text_lines(spark, path)
    found = outcomes(match_rows(lines, reading_lines(lines, numbers=True), Sent.of(matcher, spark)))
    assert found == in_order(by_the_local_engine(read_events(path), matcher, None, path.name, numbers=True))


@pytest.mark.parametrize("given", [None, SCHEMA], ids=["no schema", "schema"])
def test_whole_csv_files(spark: SparkSession, given: Schema | None, tmp_path: Path) -> None:
    subscriptions = Subscriptions(given or OPEN)
    subscriptions.add("any", "n >= -100 or price > 90 or name = 'a'")
    matcher = subscriptions.compile()
    expected: list[Outcome] = []
    for seed in range(6):
        path = tmp_path / f"{seed}.csv"
        path.write_bytes(Maker(seed).table(100))
        events = read_events(path, schema=given)
        expected += by_the_local_engine(events, matcher, given, path.name, numbers=False)
    files = spark.read.format("binaryFile").load(str(tmp_path)).select("content", "path")
    found = outcomes(match_rows(files, partial(CsvReader, given), Sent.of(matcher, spark), schema=given))
    assert found == in_order(expected)


def test_a_csv_file_that_is_none_is_set_aside(spark: SparkSession, tmp_path: Path) -> None:
    matcher = compiled(None)
    (tmp_path / "good.csv").write_text("id,n\ne1,1\n")
    (tmp_path / "empty.csv").write_bytes(b"\n\n")
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n")
    files = spark.read.format("binaryFile").load(str(tmp_path)).select("content", "path")
    found = outcomes(match_rows(files, partial(CsvReader, None), Sent.of(matcher, spark)))
    assert [row[:2] for row in found if row[0] is not None] == [("e1", "all")]
    aside = {row[3]: row[4] for row in found if row[0] is None}
    assert aside.keys() == {"empty.csv", "twice.csv"}
    for name, reason in aside.items():
        with pytest.raises(InputError) as local:
            read_events(tmp_path / name)
        assert reason == str(local.value).replace(str(tmp_path / name), name)


def test_records_of_a_topic(spark: SparkSession) -> None:
    matcher = compiled(SCHEMA)
    values = [b'{"n": 1}', b'{"id": "own", "n": 2}', b"{", None, b"", b'{"n": "one"}', b'{"n": 3}']
    table = pa.table(
        {
            "value": pa.array(values, pa.binary()),
            "topic": ["t"] * len(values),
            "partition": pa.array([0, 0, 0, 1, 1, 1, 1], pa.int32()),
            "offset": pa.array(range(10, 10 + len(values)), pa.int64()),
        }
    )
    found = outcomes(match_rows(spark.createDataFrame(table), RecordReader, Sent.of(matcher, spark), schema=SCHEMA))
    assert [row[:2] for row in found if row[0] is not None] == [("own", "all"), ("t/0/10", "all"), ("t/1/16", "all")]
    aside = {place: (reason, raw) for _, _, _, place, reason, raw in found if place is not None}
    assert aside.keys() == {"t/0/12", "t/1/13", "t/1/14", "t/1/15"}
    assert aside["t/0/12"][1] == "{"
    assert aside["t/0/12"][0].startswith("not JSON")
    assert aside["t/1/13"] == aside["t/1/14"] == ("the record has no value", "")
    assert aside["t/1/15"][0].startswith("attribute 'n'")


# ---------------------------------------------------------------- what notifications carry

KEPT = {
    "price": "float", "n": "int", "ok": "bool", "when": "timestamp", "day": "date", "from": "ip", "where": "point",
    "tags": "list of string", "deep.x": "int",
}  # fmt: skip
EVENT = {
    "id": "e1", "price": 3, "n": 4.0, "ok": True, "when": "2024-05-01T12:00:00Z", "day": "2024-05-01",
    "from": "10.0.0.1", "where": {"lat": 2.0, "lon": 1.0}, "tags": ["x", "y"], "deep": {"x": 7},
    "unknown": {"a": [1, "é"]}, "text": "as it is",
}  # fmt: skip


def kept(spark: SparkSession, path: Path, schema: Schema | None, paths: list[str]) -> Any:
    """The one outcome, with what is kept."""
    subscriptions = Subscriptions(schema or OPEN)
    subscriptions.add("s", "price > 1")
    shipped = Sent.of(subscriptions.compile(), spark)
    if path.suffix == ".csv":
        files = spark.read.format("binaryFile").load(str(path)).select("content", "path")
        found = match_rows(files, partial(CsvReader, schema), shipped, keep=paths, schema=schema)
    else:
        lines = text_lines(spark, path)
        found = match_rows(lines, reading_lines(lines), shipped, keep=paths, schema=schema)
    assert found.schema == outcome_schema(paths, schema)
    (row,) = found.collect()
    return row


def test_kept_attributes_have_the_types_of_the_schema(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps(EVENT) + "\n")
    row = kept(spark, path, Schema.of(KEPT), [*KEPT, "unknown", "text", "missing"])
    assert row.__fields__ == [
        "event", "subscription", "subscriber", "kind", "version", *KEPT, "unknown", "text", "missing",
        "place", "reason", "raw",
    ]  # fmt: skip
    assert (row["price"], row["n"], row["ok"], row["deep.x"]) == (3.0, 4, True, 7)
    assert row["day"] == dt.date(2024, 5, 1)
    assert row["when"].astimezone(dt.UTC) == dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
    assert row["tags"] == ["x", "y"]
    assert row["where"].asDict() == {"lon": 1.0, "lat": 2.0}
    assert row["from"] == "10.0.0.1"
    assert row["unknown"] == '{"a":[1,"é"]}'
    assert (row["text"], row["missing"]) == ("as it is", None)


def test_without_a_schema_everything_kept_is_text(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps(EVENT) + "\n")
    row = kept(spark, path, None, ["price", "ok", "tags", "text", "deep.x"])
    assert [row[name] for name in ("price", "ok", "tags", "text", "deep.x")] == [
        "3", "true", '["x","y"]', "as it is", "7",
    ]  # fmt: skip


def test_kept_cells_of_csv(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text('price,n,tags,name\n1.5,2,"[""x""]",é\n')
    schema = Schema.of({"price": "float", "n": "int", "tags": "list of string"})
    row = kept(spark, path, schema, ["n", "tags", "name"])
    assert (row["event"], row["n"], row["tags"], row["name"]) == ("events.csv:0", 2, ["x"], "é")


def test_what_does_not_fit_is_not_kept(spark: SparkSession, tmp_path: Path) -> None:
    """Only with an open schema: a given one would have set the event aside."""
    path = tmp_path / "events.jsonl"
    path.write_text('{"price": 2, "n": 1}\n')
    assert kept(spark, path, None, ["nothing"])["nothing"] is None
