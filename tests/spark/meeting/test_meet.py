"""Meeting on Spark is the meeting of the local engine: joined, hosted, streamed, ranked."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from tests.meeting.engines import local, obvious, of_table, once_each
from tests.meeting.generate import SCHEMA, Writer
from vedette.errors import FilterError, InputError
from vedette.meeting.constraint_parser import read_constraint
from vedette.meeting.direction import DIRECTIONS, Direction
from vedette.meeting.meet import meet as local_meet
from vedette.schema.schema import Schema
from vedette.spark.engine_versions import VersionRefusal
from vedette.spark.meeting.constraint_source import frame_of
from vedette.spark.meeting.meet import meet
from vedette.spark.meeting.versions import watch_wanted
from vedette.spark.stores import FileStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Texts = dict[str, str]
GROUPS = {
    "numbers": ("i", "f", "order.total"),
    "texts": ("s", "r", "a"),
    "times": ("b", "t", "d"),
    "places": ("p", "z", "i"),
    "lists": ("ns", "fs", "ss", "as", "bs"),
    "all": tuple(SCHEMA),
}


@functools.cache
def constraints(group: str, count: int) -> tuple[Texts, Texts]:
    """Random ones of both sides that can be read."""
    writer = Writer(Random(sum(map(ord, group))), SCHEMA, GROUPS[group])
    sides: tuple[Texts, Texts] = {}, {}
    for side, name in zip(sides, "ps", strict=True):
        while len(side) < count:
            text = writer.constraint()
            try:
                read_constraint(text, SCHEMA)
            except FilterError:
                continue
            side[f"{name}{len(side)}"] = text
    return sides


def frame(spark: SparkSession, texts: Texts) -> DataFrame:
    return spark.createDataFrame(list(texts.items()), "id string, when string").repartition(3)


def pairs(found: DataFrame) -> set[tuple[str, str]]:
    return once_each((row[0], row[1]) for row in found.select("publication", "subscription").collect())


def together(found: Mapping[Direction, DataFrame]) -> dict[str, set[tuple[str, str]]]:
    """The pairs of several meetings, by their names, in one job."""
    named = [each.select("publication", "subscription", F.lit(name)) for name, each in found.items()]
    rows = functools.reduce(DataFrame.unionAll, named).collect()
    return {name: once_each((one, other) for one, other, each in rows if each == name) for name in found}


# One group stands for all on every run: `tests/meeting/test_contract.py` has Spark decide thousands of random pairs.
@pytest.mark.thorough  # tests/meeting/test_contract.py has Spark meet random constraints, too
@pytest.mark.parametrize("group", GROUPS)
def test_random_constraints_meet_as_they_should(spark: SparkSession, group: str) -> None:
    offered, wanted = constraints(group, 150)
    sides = frame(spark, offered), frame(spark, wanted)
    found = {direction: meet(*sides, schema=SCHEMA, direction=direction) for direction in DIRECTIONS}
    assert together(found) == {each: obvious(offered, wanted, SCHEMA, each) for each in DIRECTIONS}


# ---------------------------------------------------------------- plans


def physical(found: DataFrame) -> str:
    """The plan, from the start and, once it was collected, as it was changed on the way."""
    return str(found._jdf.queryExecution().executedPlan().toString())


def ranges(count: int, seed: int, attributes: str = "xyz") -> Texts:
    """Ranges of some attributes, a tenth of all values wide."""
    random = Random(seed)
    made = {}
    for number in range(count):
        lows = [random.randrange(1000) for _ in attributes]
        parts = [f"{name} between {low} and {low + 100}" for name, low in zip(attributes, lows, strict=True)]
        made[f"{seed}-{number}"] = " and ".join(parts)
    return made


NESTED_LOOPS = ("BroadcastNestedLoopJoin", "CartesianProduct")


@pytest.mark.parametrize(
    ("offered", "wanted", "direction"),
    [
        pytest.param(ranges(300, 1), ranges(300, 2), "publication", id="ranges"),
        pytest.param(ranges(300, 1), ranges(300, 2), "open", id="ranges-open"),
        pytest.param(ranges(200, 1, "xy"), ranges(200, 2, "yz"), "open", id="some-shared"),
        pytest.param({"p": "x != 1"}, {"s": "x != 2", "t": "y = 1"}, "publication", id="wide"),
        pytest.param({"p": "x = 1"}, {"s": "y = 1"}, "open", id="nothing-shared"),
        pytest.param({"p": "true"}, ranges(20, 1), "publication", id="nothing-asked"),
        pytest.param({"p": "x is null"}, {"s": "x is null"}, "subscription", id="null"),
    ],
)
def test_no_plan_has_a_nested_loop(spark: SparkSession, offered: Texts, wanted: Texts, direction: Direction) -> None:
    schema = Schema.of(dict.fromkeys("xyz", "int"))
    found = meet(frame(spark, offered), wanted, schema=schema, direction=direction)
    assert once_each(map(tuple, found.collect())) == local(offered, wanted, schema, direction)
    plan = physical(found)
    assert "SortMergeJoin" in plan or "HashJoin" in plan
    assert not any(loop in plan for loop in NESTED_LOOPS)


def test_distinct_is_asked_for_only_where_a_pair_may_come_twice(spark: SparkSession) -> None:
    schema = Schema.of(dict.fromkeys("xyz", "int"))
    assert "HashAggregate" not in physical(meet(frame(spark, ranges(50, 1)), ranges(50, 2), schema=schema))
    assert "HashAggregate" in physical(meet(frame(spark, {"p": "x = 1 or x = 2"}), ranges(50, 2), schema=schema))


# ---------------------------------------------------------------- what is handed in


def test_without_a_schema_the_types_are_those_that_vedette_meet_infers(spark: SparkSession, tmp_path: Path) -> None:
    offered = {"p": "x > 1 and x < 2.5 and topic = 'pencils'", "q": "x > 1 and x < 2"}
    wanted = {"s": "topic = 'pencils' and x = 1.5", "t": "x < 9"}
    path = tmp_path / "wanted.jsonl"
    path.write_text("".join(json.dumps({"id": id_, "when": when}) + "\n" for id_, when in wanted.items()))
    records = [{"id": id_, "when": when} for id_, when in wanted.items()]
    expected = {tuple(row.values()) for row in local_meet(offered, wanted).to_pylist()}
    assert expected == {("p", "s"), ("q", "s"), ("q", "t")}
    assert pairs(meet(frame(spark, offered), path)) == expected
    for given in (wanted, records, path, str(path), frame(spark, wanted)):
        assert dict(map(tuple, frame_of(given, spark).collect())) == wanted


def test_what_has_expired_is_left_out(spark: SparkSession) -> None:
    rows = [("s", "x = 1", None), ("t", "x = 1", "2001-01-01T00:00:00Z"), ("u", "x = 1", "2999-01-01T00:00:00Z")]
    wanted = spark.createDataFrame(rows, "id string, when string, expires string")
    assert pairs(meet(frame(spark, {"p": "x = 1"}), wanted)) == {("p", "s"), ("p", "u")}


@pytest.mark.parametrize("strategy", ["join", "host"])
def test_bad_constraints_are_told_with_their_ids_before_anything_is_done(spark: SparkSession, strategy: Any) -> None:
    schema = Schema.of({"x": "int"})
    wanted = {"s1": "x = 1", "s2": "x = 1 and x = 2", "s3": "x > 5 and x < 3"}
    with pytest.raises(InputError) as error:
        meet(frame(spark, {"p": "x = 1"}), frame(spark, wanted), schema=schema, strategy=strategy, strict=True)
    said = str(error.value)
    assert "subscription 's2'\n" in said
    assert "x is asked about more than once" in said
    assert "no value of x satisfies x > 5 and x < 3" in said
    assert "2 subscriptions are bad; nothing was met." in said


MIXED = {"good": "x > 1 and x < 3", "bad": "x > 1 and x < 2", "text": "x = 'a'", "other": "x = 7", "broken": "x <"}


def reasons(rows: Iterable[Row]) -> dict[str, str]:
    return {row.publication: row.reason for row in rows if row.reason is not None}


@pytest.mark.parametrize(("strategy", "ranked"), [("join", {}), ("host", {"top": 1, "per": "subscription"})])
def test_bad_publications_are_set_aside_with_their_reasons(
    spark: SparkSession, strategy: Any, ranked: Any, caplog: pytest.LogCaptureFixture
) -> None:
    schema = Schema.of({"x": "int"})
    offered = frame(spark, MIXED).union(
        spark.createDataFrame([(None, "x = 1"), ("empty", None)], "id string, when string")
    )
    wanted = {"s": "x between 1 and 7", "t": "x = 2 and x = 3"}
    met = meet(offered, wanted, schema=schema, strategy=strategy, rejects="keep", **ranked)
    assert met.columns == ["publication", "subscription", *(["rank", "score"] if ranked else []), "reason"]
    rows = met.collect()
    told = reasons(rows)
    assert set(told) == {"bad", "text", "broken", "empty", None}
    assert "no value of x satisfies x > 1 and x < 2" in told["bad"]
    good = {id_: MIXED[id_] for id_ in ("good", "other")}
    expected = of_table(local_meet(good, {"s": wanted["s"]}, schema=schema, **ranked))
    assert once_each((row[0], row[1]) for row in rows if row.reason is None) == expected != set()
    assert "subscription 't'" in caplog.text
    assert "1 subscription is bad; set aside, the others are met." in caplog.text
    if strategy == "join":
        assert "5 publications are bad; set aside, the others are met." in caplog.text
    dropped = meet(offered, wanted, schema=schema, strategy=strategy, **ranked)
    assert dropped.columns == met.columns[:-1]
    assert pairs(dropped) == expected


def test_a_bad_publication_is_an_error_where_that_is_asked_for(spark: SparkSession) -> None:
    with pytest.raises(InputError, match="publication 'bad'"):
        meet(frame(spark, MIXED), {"s": "x = 1"}, schema={"x": "int"}, rejects="raise")


def test_attributes_of_two_types_are_refused(spark: SparkSession) -> None:
    with pytest.raises(InputError, match="x is"):
        meet(frame(spark, {"p": "x = 1"}), {"s": "x = 'a'"})


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        (5, {}, "the subscriptions are a int"),
        ({"s": "x = 1"}, {"strategy": "guess"}, "strategy='guess' is not known"),
        ({"s": "x = 1"}, {"direction": "up"}, "direction='up' is not known"),
        ({"s": "x = 1"}, {"per": "both"}, "per='both' is not known"),
        ({"s": "x = 1"}, {"top": 0}, "top=0"),
        ([{"id": "s"}], {"strict": True}, "is no subscription"),
        ({"s": "x = 1"}, {"rejects": "hide"}, "rejects='hide' is not known"),
    ],
)
def test_wrong_arguments(spark: SparkSession, given: Any, options: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        meet(frame(spark, {"p": "x = 1"}), given, **options)


def test_frames_without_the_columns(spark: SparkSession) -> None:
    with pytest.raises(InputError, match="not a DataFrame of Spark"):
        meet({"p": "x = 1"}, {})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="has no column when"):
        meet(spark.range(3), {})


def test_an_empty_side_meets_nobody(spark: SparkSession) -> None:
    assert meet(frame(spark, {"p": "x = 1"}), {}).columns == ["publication", "subscription"]
    assert not pairs(meet(frame(spark, {"p": "x = 1"}), {}))
    assert meet(frame(spark, {"p": "x = 1"}), {"s": "y = 1"}, top=1).columns[2:] == ["rank", "score"]


# ---------------------------------------------------------------- ranking


@pytest.mark.parametrize("strategy", ["join", "host"])
@pytest.mark.parametrize(("per", "by", "top"), [("publication", None, 3), ("subscription", "x desc", 2)])
def test_the_best_are_those_of_the_local_engine(
    spark: SparkSession, strategy: Any, per: Any, by: str | None, top: int
) -> None:
    offered, wanted = (
        ranges(60, 1),
        {**ranges(60, 2), "2-x": "x = 5 and y = 7 and z > 0 or x > 100 and y > 3 and z > 1"},
    )
    schema = Schema.of(dict.fromkeys("xyz", "int"))
    found = meet(frame(spark, offered), wanted, schema=schema, by=by, top=top, per=per, strategy=strategy)
    # Equal scores are in the order of ids here, and of the records there.
    by_id = [dict(sorted(each.items())) for each in (offered, wanted)]
    expected = local_meet(*by_id, schema=schema, by=by, top=top, per=per)
    assert sorted(map(tuple, found.collect())) == sorted(tuple(row.values()) for row in expected.to_pylist())


# ---------------------------------------------------------------- hosted, and streams


def test_hosted_subscriptions_meet_the_same(spark: SparkSession) -> None:
    offered, wanted = constraints("all", 150)
    found = {
        direction: meet(frame(spark, offered), wanted, schema=SCHEMA, direction=direction, strategy="host")
        for direction in DIRECTIONS
    }
    assert together(found) == {each: obvious(offered, wanted, SCHEMA, each) for each in DIRECTIONS}


def offers(spark: SparkSession, folder: Path) -> DataFrame:
    """A stream of the JSON files of a folder, one a micro-batch."""
    return spark.readStream.schema("id string, when string").option("maxFilesPerTrigger", 1).json(str(folder))


def write(path: Path, texts: Texts) -> None:
    beside = path.parent / f".{path.name}.new"
    beside.write_text("".join(json.dumps({"id": id_, "when": when}) + "\n" for id_, when in texts.items()))
    beside.rename(path)


def test_a_stream_goes_on_after_bad_publications(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "offers"
    folder.mkdir()
    # What only a bad publication, or one of a batch before, says of y decides nothing for those that come later.
    batches = [
        {"p0": "x = 1", "bad": "x > 1 and x < 2"},
        {"p1": "x = 1", "y": "y = 'a'"},
        {"p2": "x = 1", "z": "y = 1"},
    ]
    schema = Schema.of({"x": "int"}, closed=False)
    met = meet(offers(spark, folder), {"s": "x = 1"}, schema=schema, rejects="keep")
    query = (
        met.writeStream.format("memory")
        .queryName("goes_on")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        for number, texts in enumerate(batches):
            write(folder / f"{number}.json", texts)
            query.processAllAvailable()
        assert query.exception() is None
    finally:
        query.stop()
    table = spark.table("goes_on")
    assert pairs(table.where("subscription is not null")) == {("p0", "s"), ("p1", "s"), ("p2", "s")}
    told = reasons(table.collect())
    assert list(told) == ["bad"]
    assert "no value of x satisfies x > 1 and x < 2" in told["bad"]


def test_every_micro_batch_meets_the_newest_subscriptions(spark: SparkSession, tmp_path: Path) -> None:
    folder, wanted = tmp_path / "offers", tmp_path / "wanted.jsonl"
    folder.mkdir()
    write(wanted, {"s0": "x = 1"})
    refused: list[VersionRefusal] = []
    aside: list[str] = []
    versions = watch_wanted(FileStore(wanted), Schema.of({"x": "int"}), refused=refused.append, aside=aside.append)
    met: list[tuple[int, set[tuple[str, str]]]] = []

    def process(batch: DataFrame, number: int) -> None:
        met.append((number, pairs(meet(batch, versions))))

    query = (
        offers(spark, folder)
        .writeStream.foreachBatch(process)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        write(folder / "0.json", {"p0": "x = 1"})
        query.processAllAvailable()
        write(wanted, {"s1": "x between 0 and 5", "s3": "x > 1 and x < 2"})
        settle(wanted, 1000)
        assert versions.look()
        write(folder / "1.json", {"p1": "x = 1"})
        query.processAllAvailable()
        before = versions.current().version
        write(wanted, {"s2": "x = 1 and x = 2"})
        settle(wanted, 2000)
        assert versions.look()
        write(folder / "2.json", {"p2": "x = 4"})
        query.processAllAvailable()
    finally:
        query.stop()
    assert met == [(0, {("p0", "s0")}), (1, {("p1", "s1")}), (2, {("p2", "s1")})]
    assert versions.current().version == before
    assert "subscription 's2'" in refused[0].reason
    assert len(aside) == 1
    assert "subscription 's3'" in aside[0]


def settle(path: Path, seconds: int) -> None:
    """Make a file look as if it had been left alone since then."""
    os.utime(path, (seconds, seconds))


def test_what_streams_cannot_do_is_said(spark: SparkSession, tmp_path: Path) -> None:
    stream = offers(spark, tmp_path)
    with pytest.raises(InputError, match="needs a schema"):
        meet(stream, {"s": "x = 1"})
    with pytest.raises(InputError, match="is never known"):
        meet(stream, {"s": "x = 1"}, schema={"x": "int"}, top=1, per="subscription")
    with pytest.raises(InputError, match="the DataFrame of subscriptions is a stream"):
        meet(frame(spark, {"p": "x = 1"}), stream)
    write(tmp_path / "wanted.jsonl", {"s": "x = 1"})
    versions = watch_wanted(FileStore(tmp_path / "wanted.jsonl"), Schema.of({"x": "int"}))
    with pytest.raises(InputError, match="foreachBatch"):
        meet(stream, versions)
