"""Sources of pipelines: the outcomes of the local engine, in a batch and in a stream; what is damaged is set aside."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.plugin_packages import installed, of_page
from tests.spark.made_events import Maker
from tests.spark.test_lines import OPEN, SCHEMA, by_the_local_engine, compiled, in_order
from vedette.engine.engine import Engine
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import PipelineError
from vedette.io.chunks import EventChunk
from vedette.io.events import read_events
from vedette.schema.schema import Schema
from vedette.spark.pipeline.config import load
from vedette.spark.pipeline.sources import Source
from vedette.spark.pipeline.spark_failures import explained

NAMES = ("event", "subscription", "subscriber", "place", "reason", "raw")
SCHEMA_TEXT = "".join(f"{path}: {type_}\n" for path, type_ in SCHEMA.items())


def opened(path: Path) -> Source:
    """The source of a pipeline file."""
    pipeline = load(path)
    return pipeline.source.source(pipeline.schema_given)


def source(folder: Path, said: str, *, schema: str | None = None) -> Source:
    """The source that a pipeline file describes."""
    head = 'mode = "available-now"\ncheckpoint = "state"\n' if "per_trigger" in said else ""
    if schema is not None:
        (folder / "schema.yaml").write_text(schema)
        head += 'schema = "schema.yaml"\n'
    (folder / "subscriptions.jsonl").write_text('{"id": "s", "when": "true"}\n')
    (folder / "pipeline.toml").write_text(
        f'{head}[subscriptions]\nfile = "subscriptions.jsonl"\n[source]\n{said}\n'
        '[[sinks]]\ntype = "jsonl"\npath = "out"\n[spark]\nmaster = "local[2]"\n'
    )
    return opened(folder / "pipeline.toml")


def outcomes(
    spark: SparkSession, made: Source, matcher: Engine, folder: Path, *, streaming: bool, keep: tuple[str, ...] = ()
) -> list[tuple[Any, ...]]:
    """What came of all events, sorted: in one go, or in micro-batches."""
    found: list[tuple[Any, ...]] = []

    def take(batch: DataFrame, number: int = 0) -> None:
        rows = made.outcomes(batch, matcher, keep).collect()
        found.extend(tuple(row[name] for name in (*NAMES, *keep)) for row in rows)

    if not streaming:
        take(made.read(spark, streaming=False))
        return in_order(found)
    query = (
        made.read(spark, streaming=True)
        .writeStream.foreachBatch(take)
        .trigger(availableNow=True)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )
    query.awaitTermination()
    return in_order(found)


def both(spark: SparkSession, made: Source, matcher: Engine, folder: Path) -> list[tuple[Any, ...]]:
    """A batch and a stream give the same."""
    found = outcomes(spark, made, matcher, folder, streaming=False)
    assert outcomes(spark, made, matcher, folder, streaming=True) == found
    return found


# ---------------------------------------------------------------- lines and CSV


@pytest.mark.parametrize("given", [False, True], ids=["no schema", "schema"])
def test_folders_of_lines(spark: SparkSession, given: bool, tmp_path: Path) -> None:
    schema = SCHEMA if given else None
    matcher = compiled(schema)
    events = tmp_path / "events"
    events.mkdir()
    expected: list[tuple[Any, ...]] = []
    for seed in range(6):
        path = events / (f"%41 ü{seed}.jsonl" + (".gz" if seed % 2 else ""))
        content = Maker(seed).lines(80)
        path.write_bytes(gzip.compress(content) if seed % 2 else content)
        expected += by_the_local_engine(read_events(path), matcher, schema, path.name, numbers=False)
    made = source(
        tmp_path,
        'type = "jsonl"\npath = "events"\nmax_files_per_trigger = 1',
        schema=SCHEMA_TEXT if given else None,
    )
    assert made.schema(spark) == (SCHEMA if given else OPEN)
    assert both(spark, made, matcher, tmp_path) == in_order(expected)


@pytest.mark.parametrize("name", ["events.jsonl", "events.jsonl.gz"])
def test_one_file_of_lines(spark: SparkSession, name: str, tmp_path: Path) -> None:
    matcher = compiled(None)
    path = tmp_path / name
    content = Maker(7).lines(150)
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    found = outcomes(spark, source(tmp_path, f'type = "jsonl"\npath = "{name}"'), matcher, tmp_path, streaming=False)
    assert found == in_order(by_the_local_engine(read_events(path), matcher, None, name, numbers=True))


def test_a_gzip_file_that_ends_half_way_is_set_aside_and_the_others_go_on(spark: SparkSession, tmp_path: Path) -> None:
    matcher = compiled(None)
    (tmp_path / "events").mkdir()
    whole = gzip.compress(b"".join(b'{"id": "b%d", "n": 1}\n' % number for number in range(5000)))
    (tmp_path / "events" / "broken.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "events" / "none.jsonl.gz").write_bytes(b"\x1f\x8bnot at all")
    (tmp_path / "events" / "good.jsonl.gz").write_bytes(gzip.compress(b'{"id": "g", "n": 1}\n'))
    (tmp_path / "events" / "plain.jsonl").write_bytes(b'{"id": "p", "n": 1}\n')
    found = both(spark, source(tmp_path, 'type = "jsonl"\npath = "events"'), matcher, tmp_path)
    assert {"g", "p"} <= {row[0] for row in found}
    aside = {row[3]: row[4] for row in found if row[0] is None}
    assert aside.keys() == {"broken.jsonl.gz", "none.jsonl.gz"}
    assert aside["broken.jsonl.gz"].startswith("broken.jsonl.gz is a damaged gzip file")


@pytest.mark.parametrize("given", [False, True], ids=["no schema", "schema"])
def test_csv(spark: SparkSession, given: bool, tmp_path: Path) -> None:
    schema = SCHEMA if given else None
    subscriptions = Subscriptions(schema or OPEN)
    subscriptions.add("any", "n >= -100 or price > 90 or name = 'a'", subscriber="me")
    matcher = subscriptions.compile()
    events = tmp_path / "events"
    events.mkdir()
    expected: list[tuple[Any, ...]] = []
    for seed in range(4):
        path = events / (f"%41 {seed}.csv" + (".gz" if seed % 2 else ""))
        content = Maker(seed).table(60)
        path.write_bytes(gzip.compress(content) if seed % 2 else content)
        expected += by_the_local_engine(read_events(path, schema=schema), matcher, schema, path.name, numbers=False)
    made = source(tmp_path, 'type = "csv"\npath = "events"', schema=SCHEMA_TEXT if given else None)
    assert both(spark, made, matcher, tmp_path) == in_order(expected)


def test_a_csv_file_that_is_too_large_is_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vedette.spark.pipeline import sources

    monkeypatch.setattr(sources, "_LARGEST_CSV", 10)
    (tmp_path / "events.csv").write_text("id,n\n" + "e,1\n" * 10)
    made = source(tmp_path, 'type = "csv"\npath = "events.csv"')
    with pytest.raises(Exception, match=r"events\.csv is larger than .*\n?Hint: cut it into several files"):
        outcomes(spark, made, compiled(None), tmp_path, streaming=False)


# ---------------------------------------------------------------- tables


def table() -> pa.Table:
    """Events, some of which break a schema in which `n` is whole."""
    return pa.table(
        {
            "id": [f"e{number}" for number in range(200)],
            "price": [number / 2 for number in range(200)],
            "name": ["a" if number % 3 else None for number in range(200)],
            "n": [float(number) if number % 50 else number + 0.5 for number in range(200)],
        }
    )


def chunk_of(path: Path) -> Iterator[EventChunk]:
    """As the local engine reads it."""
    yield from read_events(path, format="parquet")


def test_parquet(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    whole = table()
    pq.write_table(whole.slice(0, 120), tmp_path / "events" / "1.parquet")
    pq.write_table(whole.slice(120), tmp_path / "events" / "2.parquet")
    made = source(tmp_path, 'type = "parquet"\npath = "events"\nmax_files_per_trigger = 1')
    schema = made.schema(spark)
    assert {path: str(type_) for path, type_ in schema.items()} == {
        "id": "string", "price": "float", "name": "string", "n": "float",
    }  # fmt: skip
    subscriptions = Subscriptions(schema)
    subscriptions.add("cheap", "price < 30 and name = 'a'", subscriber="alice")
    subscriptions.add("dear", "price > 95.5")
    matcher = subscriptions.compile()
    expected = in_order(by_the_local_engine(chunk_of(tmp_path / "events"), matcher, None, "", numbers=True))
    assert len(expected) > 40
    assert both(spark, made, matcher, tmp_path) == expected


def test_rows_of_tables_that_break_the_schema_are_set_aside_as_json(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "events.parquet")
    made = source(
        tmp_path, 'type = "parquet"\npath = "events.parquet"', schema="id: string\nprice: float\nname: string\nn: int\n"
    )
    subscriptions = Subscriptions(made.schema(spark))
    subscriptions.add("all", "n >= 0 or price < 0")
    matcher = subscriptions.compile()
    found = outcomes(spark, made, matcher, tmp_path, streaming=False)
    assert sorted(row[0] for row in found if row[0] is not None) == sorted(f"e{n}" for n in range(200) if n % 50)
    aside = [row for row in found if row[0] is None]
    assert [row[3] for row in aside] == ["e0", "e100", "e150", "e50"]
    assert all(row[4].startswith("attribute 'n': ") for row in aside)
    assert json.loads(aside[1][5]) == {"id": "e100", "price": 50.0, "name": "a", "n": 100.5}


def test_events_of_tables_without_id(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(table().drop_columns(["id"]), tmp_path / "events.parquet")
    made = source(tmp_path, 'type = "parquet"\npath = "events.parquet"')
    subscriptions = Subscriptions(made.schema(spark))
    subscriptions.add("few", "price < 2")
    found = outcomes(spark, made, subscriptions.compile(), tmp_path, streaming=False)
    assert len({row[0] for row in found}) == 4
    assert all(len(row[0]) == 32 for row in found)
    assert outcomes(spark, made, subscriptions.compile(), tmp_path, streaming=False) == found
    by_price = source(tmp_path, 'type = "parquet"\npath = "events.parquet"\nid = "price"')
    found = outcomes(spark, by_price, subscriptions.compile(), tmp_path, streaming=False)
    assert [row[0] for row in found] == ["0.0", "0.5", "1.0", "1.5"]
    with pytest.raises(PipelineError, match=r"no column 'number'.*\n.*price, name, n"):
        outcomes(
            spark,
            source(tmp_path, 'type = "parquet"\npath = "events.parquet"\nid = "number"'),
            subscriptions.compile(),
            tmp_path,
            streaming=False,
        )


def test_tables_keep_columns_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    events = pa.table({"id": [1], "a.b": [2], "deep": [{"x": 3}], "day": [dt.date(2024, 5, 1)]})
    pq.write_table(events, tmp_path / "events.parquet")
    made = source(tmp_path, 'type = "parquet"\npath = "events.parquet"')
    subscriptions = Subscriptions(made.schema(spark))
    subscriptions.add("s", "deep.x = 3")
    keep = ("a.b", "deep.x", "day", "nothing")
    (row,) = outcomes(spark, made, subscriptions.compile(), tmp_path, streaming=False, keep=keep)
    assert row[:2] == ("1", "s")
    assert row[len(NAMES) :] == (2, 3, dt.date(2024, 5, 1), None)


def test_what_no_table_has_cannot_be_kept(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1], "a.b": [2], "deep": [{"price": 3}]}), tmp_path / "events.parquet")
    said = 'type = "parquet"\npath = "events.parquet"'
    made = source(tmp_path, said)
    made.check_kept(spark, ("a.b", "deep", "deep.price", "ID"))
    with pytest.raises(PipelineError) as caught:
        made.check_kept(spark, ("deep.prise", "a.b", "zzz"))
    assert str(caught.value) == (
        '`keep`: the source has no column "deep.prise"\nHint: did you mean "deep.price"?\n'
        '`keep`: the source has no column "zzz"\nHint: take it out; there are id, a.b, deep, deep.price'
    )
    source(tmp_path, said, schema="late: int\n").check_kept(spark, ("late",))  # it may come with other files


def test_nothing_is_known_of_what_lines_cannot_have(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").touch()
    source(tmp_path, 'type = "jsonl"\npath = "events.jsonl"').check_kept(spark, ("anything",))


def test_a_stream_of_parquet_needs_a_file_to_begin_with(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    made = source(tmp_path, 'type = "parquet"\npath = "events"')
    with pytest.raises(PipelineError, match="Hint: a stream of Parquet files begins with at least one file there"):
        made.schema(spark)


@pytest.mark.parametrize("begin", [0, 200], ids=["all of it", "one page"])
def test_a_damaged_parquet_file_is_named(spark: SparkSession, begin: int, tmp_path: Path) -> None:
    """Spark stops there. What would go on without it would lose events and say nothing."""
    (tmp_path / "my events").mkdir()
    path = tmp_path / "my events" / "2.parquet"
    pq.write_table(table(), tmp_path / "my events" / "1.parquet")
    made = source(tmp_path, 'type = "parquet"\npath = "my events"')
    subscriptions = Subscriptions(made.schema(spark))
    subscriptions.add("all", "price >= 0")
    pq.write_table(table(), path, compression="NONE", use_dictionary=False)
    octets = path.read_bytes()
    path.write_bytes(octets[:begin] + b"\xff" * 400 + octets[begin + 400 :] if begin else octets[:400])
    with pytest.raises(Exception, match=r"2\.parquet") as stopped:
        outcomes(spark, made, subscriptions.compile(), tmp_path, streaming=False)
    said = explained(stopped.value)
    assert f"{path} cannot be read (" in said
    assert said.endswith("take it away, or put a whole one in its place, and run again")


def test_a_table_of_a_database(spark: SparkSession, tmp_path: Path) -> None:
    url = f"jdbc:derby:{tmp_path / 'db'};create=true"
    rows = [("e1", 10, 1.5), ("e2", 20, 2.5), ("e3", 30, None)]
    frame = spark.createDataFrame(rows, "id string, number int, price double")
    frame.write.jdbc(url, "events", properties={"driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver"})
    common = f'type = "jdbc"\nurl = "{url}"\ndriver = "org.apache.derby.iapi.jdbc.AutoloadedDriver"\n'
    part = 'partition = { column = "number", lower = 0, upper = 40, count = 3 }'
    for said in (f'table = "events"\n{part}', 'query = "select * from events"', 'table = "events"\nid = "number"'):
        made = source(tmp_path, common + said)
        schema = made.schema(spark)
        names = {path.lower(): path for path in schema}
        subscriptions = Subscriptions(schema)
        subscriptions.add("s", f"{names['number']} >= 20")
        found = outcomes(spark, made, subscriptions.compile(), tmp_path, streaming=False)
        assert [row[:2] for row in found] == [(id_, "s") for id_ in (("20", "30") if "id =" in said else ("e2", "e3"))]


def test_made_up_events(spark: SparkSession, tmp_path: Path) -> None:
    said = 'type = "rate"\nrows_per_second = 50'
    (tmp_path / "subscriptions.jsonl").write_text('{"id": "s", "when": "value >= 0"}\n')
    (tmp_path / "pipeline.toml").write_text(
        'mode = "continuous"\ntrigger = "1 second"\ncheckpoint = "state"\n[subscriptions]\n'
        f'file = "subscriptions.jsonl"\n[source]\n{said}\n[[sinks]]\ntype = "jsonl"\npath = "out"\n'
    )
    made = opened(tmp_path / "pipeline.toml")
    schema: Schema = made.schema(spark)
    assert {path: str(type_) for path, type_ in schema.items()} == {"timestamp": "timestamp", "value": "int"}
    stream = made.read(spark, streaming=True)
    assert stream.isStreaming
    subscriptions = Subscriptions(schema)
    subscriptions.add("even", "value in (0, 2, 4)")
    batch = spark.createDataFrame([(dt.datetime(2024, 5, 1), number) for number in range(6)], stream.schema)
    found = made.outcomes(batch, subscriptions.compile(), ()).collect()
    assert [row["subscription"] for row in found] == ["even"] * 3


# ---------------------------------------------------------------- of other packages


def test_a_source_that_another_package_brings(spark: SparkSession, tmp_path: Path) -> None:
    """That of docs/how-to/write-a-source.md: a batch and a stream give the same, with types, ids and what is kept."""
    (tmp_path / "logs").mkdir()
    line = '10.0.0.{} - - [09/Oct/2026:13:55:36 +0000] "GET /api/{} HTTP/1.1" {} 1\n'
    for name in range(3):
        lines = [line.format(number, name, 500 + number % 2) for number in range(20)]
        (tmp_path / "logs" / f"{name}.log").write_text("".join(lines) + "no such line\n")
    subscriptions = Subscriptions()
    subscriptions.add("s", "status = 501 and page = '/api/1'")
    with installed(of_page("docs/how-to/write-a-source.md", tmp_path)):
        made = source(tmp_path, 'type = "access-log"\npath = "logs/*.log"')
    schema = made.schema(spark)
    assert (str(schema.type_of("status")), str(schema.type_of("page"))) == ("int", "string")
    with pytest.raises(PipelineError, match='did you mean "client"'):
        made.check_kept(spark, ["clint"])
    keep = ("client",)
    found = outcomes(spark, made, subscriptions.compile(), tmp_path, streaming=False, keep=keep)
    assert sorted(row[-1] for row in found) == sorted(f"10.0.0.{number}" for number in range(1, 20, 2))
    assert len({row[0] for row in found}) == 10
    assert outcomes(spark, made, subscriptions.compile(), tmp_path, streaming=True, keep=keep) == found
