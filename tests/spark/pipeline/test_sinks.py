"""What every sink promises, each tried on a real place: rows arrive whole, once or at least once, after any crash."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.spark.pipeline.outcomes import ids, outcomes
from tests.spark.pipeline.receivers import Derby, Folder, Hook, Place, Screen, Spool, Topic, counted, serving
from vedette.errors import DeliveryError
from vedette.spark.pipeline.routing import notifications, rejected
from vedette.spark.pipeline.sinks.base import Batch

KINDS = ["parquet", "jsonl", "jdbc", "kafka", "webhook", "console", "spool"]


@pytest.fixture(params=KINDS)
def place(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> Iterator[Place]:
    match request.param:
        case "parquet" | "jsonl":
            yield Folder(tmp_path, request.param)
        case "spool":
            yield Spool(tmp_path)
        case "jdbc":
            yield Derby(spark, tmp_path)
        case "kafka":
            yield Topic(tmp_path)
        case "webhook":
            with serving() as server:
                yield Hook(server)
        case "console":
            monkeypatch.setenv("COLUMNS", "400")
            yield Screen(capsys)


def told(spark: SparkSession, begin: int, end: int, *, partitions: int = 3) -> DataFrame:
    return notifications(outcomes(spark, begin, end, partitions=partitions))


def once(place: Place) -> bool:
    return place.sink.delivery == "exactly once"


def test_a_run_arrives_whole(spark: SparkSession, place: Place) -> None:
    frame = told(spark, 0, 20)
    if not isinstance(place, Topic):  # which has no connector here
        place.sink.check(spark, streaming=False)
    place.sink.write(frame, Batch("p", None))
    assert counted(place.ids()) == dict.fromkeys(ids(0, 20), 1)


def test_every_column_arrives(spark: SparkSession, place: Place) -> None:
    place.sink.write(told(spark, 0, 7), Batch("p", 0))
    rows = {row["event"]: row for row in place.rows()}
    if isinstance(place, Screen):
        assert "odd name" in place.text()
        return
    assert set(rows) == {f"e{number}" for number in range(7)}
    row = rows["e3"]
    assert (row["subscription"], row["subscriber"], row["kind"]) == ("s3", "alice", "match")
    assert (row["version"], row["price"], row["count"]) == ("0123456789ab", 0.75, 3)
    assert row["odd name"] == 'line\n"3" é {} \\'
    assert str(row["day"]) == "2026-01-04"
    assert "000003" in str(row["at"])  # to the microsecond
    assert "lat" in str(row["place_"])
    assert "1.5" in str(row["place_"])
    assert "k" in str(row["scores"])
    assert "3" in str(row["legs"])
    assert "price" not in rows["e5"]


def test_batches_of_a_stream_add_up(spark: SparkSession, place: Place) -> None:
    first, second = told(spark, 0, 10), told(spark, 10, 15)
    place.sink.write(first, Batch("p", 0, "c"))
    place.sink.write(second, Batch("p", 1, "c"))
    assert counted(place.ids()) == dict.fromkeys(ids(0, 15), 1)


def test_a_batch_that_comes_again(spark: SparkSession, place: Place) -> None:
    first, second = told(spark, 0, 10), told(spark, 10, 15)
    for number, frame in ((0, first), (1, second), (1, told(spark, 10, 15, partitions=2))):
        place.sink.write(frame, Batch("p", number, "c"))
    expected = dict.fromkeys(ids(0, 10), 1) | dict.fromkeys(ids(10, 15), 1 if once(place) else 2)
    assert counted(place.ids()) == expected


def test_a_batch_that_is_cut_short_and_comes_again(spark: SparkSession, place: Place) -> None:
    """A task fails in the middle; others have written their rows already, or not yet."""
    frame = told(spark, 10, 40, partitions=4)
    broken = frame.withColumn("price", F.when(F.col("event") == "e33", F.raise_error(F.lit("cut"))).otherwise(1.0))
    place.sink.write(told(spark, 0, 10), Batch("p", 0, "c"))
    with pytest.raises(Exception, match="cut"):
        place.sink.write(broken, Batch("p", 1, "c"))
    if once(place):
        assert set(place.ids()) == ids(0, 10)
    place.sink.write(frame, Batch("p", 1, "c"))
    place.sink.write(told(spark, 40, 42), Batch("p", 2, "c"))
    arrived = counted(place.ids())
    assert set(arrived) == ids(0, 42)
    if once(place):
        assert set(arrived.values()) == {1}


def test_a_run_that_is_cut_short_and_comes_again(spark: SparkSession, place: Place) -> None:
    frame = told(spark, 0, 20, partitions=4)
    broken = frame.withColumn("price", F.when(F.col("event") == "e3", F.raise_error(F.lit("cut"))).otherwise(1.0))
    with pytest.raises(Exception, match="cut"):
        place.sink.write(broken, Batch("p", None))
    place.sink.write(frame, Batch("p", None))
    arrived = counted(place.ids())
    assert set(arrived) == ids(0, 20)
    if once(place):
        assert set(arrived.values()) == {1}


def test_a_batch_without_rows(spark: SparkSession, place: Place) -> None:
    nothing = told(spark, 0, 3).where("event = 'none'")
    some = told(spark, 0, 3)
    place.sink.write(nothing, Batch("p", 0, "c"))
    assert place.ids() == []
    place.sink.write(some, Batch("p", 1, "c"))
    place.sink.write(nothing, Batch("p", 2, "c"))
    assert counted(place.ids()) == dict.fromkeys(ids(0, 3), 1)
    if once(place):  # it was written, so it is not written again, whatever comes
        place.sink.write(told(spark, 5, 9), Batch("p", 2, "c"))
        assert set(place.ids()) == ids(0, 3)


def test_a_run_without_rows(spark: SparkSession, place: Place) -> None:
    place.sink.write(told(spark, 0, 3).where("event = 'none'"), Batch("p", None))
    assert place.ids() == []


def test_batches_of_another_stream_are_other_batches(spark: SparkSession, place: Place) -> None:
    """A checkpoint that was begun anew counts from 0 again: that must not look like batches that were written."""
    place.sink.write(told(spark, 0, 3), Batch("p", 0, "one"))
    if isinstance(place, Folder):
        with pytest.raises(DeliveryError, match="holds batches of another stream"):
            place.sink.write(told(spark, 3, 6), Batch("p", 0, "two"))
        return
    place.sink.write(told(spark, 3, 6), Batch("p", 0, "two"))
    assert counted(place.ids()) == dict.fromkeys(ids(0, 6), 1)


def test_a_quarantine_is_a_sink_like_others(spark: SparkSession, place: Place) -> None:
    aside = rejected(outcomes(spark, 0, 9))
    place.sink.write(aside, Batch("p", 0, "c"))
    assert counted(place.ids()) == dict.fromkeys([row.id for row in aside.select("id").collect()], 1)
    for row in place.rows():
        assert row["place"] in {f"events.jsonl:{number}" for number in (0, 3, 6)}
        assert (row["reason"], row["raw"]) == ("is no JSON", "{x\n")
        assert "event" not in row


def test_what_is_kept_in_memory_is_not_worked_out_again(spark: SparkSession, place: Place) -> None:
    worked_out = spark.sparkContext.accumulator(0)

    def count(text: str) -> str:
        worked_out.add(1)
        return text

    frame = told(spark, 0, 20).withColumn(
        "odd name", F.udf(count, "string", useArrow=False).asNondeterministic()("event")
    )
    frame = frame.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        assert frame.count() == 20
        before = worked_out.value
        place.sink.write(frame.where("subscriber = 'alice'"), Batch("p", 0, "c"))
        assert worked_out.value == before
        assert len(place.ids()) == 10
    finally:
        frame.unpersist()


def test_jobs_are_described_while_it_writes(spark: SparkSession, place: Place, tmp_path: Path) -> None:
    context = spark.sparkContext
    context.setJobDescription("before")
    place.sink.write(told(spark, 0, 5), Batch(tmp_path.name, 12, "c"))
    assert context.getLocalProperty("spark.job.description") == "before"
    context.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]
    doing = {"hook": "send", "screen": "show"}.get(place.sink.name, "write")
    assert f"{tmp_path.name} · batch 12 · {doing} {place.sink.name}" in _descriptions(spark)


def _descriptions(spark: SparkSession) -> set[str]:
    inner = spark.sparkContext._jsc.sc()
    inner.listenerBus().waitUntilEmpty()
    jobs = inner.statusStore().jobsList(None)
    descriptions = [jobs.apply(at).description() for at in range(jobs.size())]
    return {one.get() for one in descriptions if one.isDefined()}
