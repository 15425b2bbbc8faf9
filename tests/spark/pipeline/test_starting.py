"""From what a pipeline file says to what runs; and what is said when Spark fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.pipeline.workplace import Workplace
from vedette.errors import FileError
from vedette.spark.pipeline.config import Pipeline, load
from vedette.spark.pipeline.connectors import DELTA, KAFKA
from vedette.spark.pipeline.row_counters import PassCounter, first_rejects, matches, rejects
from vedette.spark.pipeline.spark_failures import explained, whole
from vedette.spark.pipeline.startup import conf_of, storage_of, store_of
from vedette.spark.pipeline.storage import LocalStorage
from vedette.spark.stores import DatabaseStore, FileStore, TableStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KAFKA_SOURCE = {"type": "kafka", "servers": ["localhost:9092"], "topics": ["t"]}


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    made = Workplace(tmp_path)
    made.subscribe({"id": "s1", "when": "a = 1"})
    return made


def pipeline(place: Workplace, **parts: Any) -> Pipeline:
    return load(place.describe(**parts))


def test_connectors_are_added_by_themselves(place: Workplace) -> None:
    assert "spark.jars.packages" not in conf_of(pipeline(place))
    assert conf_of(pipeline(place, source=KAFKA_SOURCE, spark={}))["spark.jars.packages"] == KAFKA.package
    named = {"packages": ["org.apache.spark:spark-sql-kafka-0-10_2.13:9.9", "a:b:1"]}
    assert conf_of(pipeline(place, source=KAFKA_SOURCE, spark=named))["spark.jars.packages"] == ",".join(
        named["packages"]
    )
    (place.folder / "mine.jar").touch()
    given = conf_of(pipeline(place, source=KAFKA_SOURCE, spark={"jars": ["mine.jar"]}))
    assert given == {"spark.jars": str(place.folder / "mine.jar")}


def test_delta_needs_its_catalog(place: Workplace) -> None:
    (place.folder / "table").mkdir()
    conf = conf_of(pipeline(place, source={"type": "delta", "path": "table"}, spark={}))
    assert conf["spark.jars.packages"] == DELTA.package
    assert conf["spark.sql.extensions"] == "io.delta.sql.DeltaSparkSessionExtension"


def test_what_the_file_says_of_spark_counts(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_TEST", "hush")
    conf = conf_of(
        pipeline(place, spark={"conf": {"spark.a": "b"}, "conf_env": {"spark.hadoop.fs.s3a.x": "SECRET_OF_TEST"}})
    )
    assert conf == {"spark.a": "b", "spark.hadoop.fs.s3a.x": "hush"}


def test_stores(place: Workplace, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(store_of(pipeline(place).subscriptions, None), FileStore)
    table = store_of(pipeline(place, subscriptions={"table": "subs"}).subscriptions, spark)
    assert isinstance(table, TableStore)
    assert table.name == "table subs"
    (place.folder / "subs").mkdir()
    folder = store_of(pipeline(place, subscriptions={"path": "subs"}).subscriptions, spark)
    assert folder.name == str(place.folder / "subs")
    monkeypatch.setenv("DATABASE_PASSWORD", "p@ss:word")
    given = {"database": "postgresql://ann@host/db", "table": "subs", "password_env": "DATABASE_PASSWORD"}
    database = store_of(pipeline(place, subscriptions=given).subscriptions, None)
    assert isinstance(database, DatabaseStore)
    assert database.name == "table subs of postgresql://ann:***@host/db"
    assert "p%40ss%3Aword" in database._url


def test_storage(spark: SparkSession, tmp_path: Path) -> None:
    assert isinstance(storage_of(str(tmp_path), spark), LocalStorage)


# ---------------------------------------------------------------- counting


def test_counting_reads_nothing_twice(spark: SparkSession, tmp_path: Path) -> None:
    passed = spark.sparkContext.accumulator(0)

    def pass_on(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            passed.add(batch.num_rows)
            yield batch

    rows = spark.createDataFrame(
        [
            ("match", None, None),
            (None, "b:2", "is bad"),
            (None, "a:11", "is worse"),
            ("match", None, None),
            ("prediction", None, None),
            (None, "a:2", "is worst"),
            (None, "b", "is unreadable"),
        ],
        "kind string, place string, reason string",
    )
    counter = PassCounter()
    seen = counter.on(
        rows.mapInArrow(pass_on, rows.schema), matches=matches(), rejects=rejects(), examples=first_rejects(2)
    )
    assert counter.found(ran=False) is None
    seen.write.parquet(str(tmp_path / "out"))
    found = counter.found(ran=True)
    assert found is not None
    assert (found["matches"], found["rejects"]) == (2, 4)
    assert [(each["place"], each["reason"]) for each in found["examples"]] == [
        ("a:2", "is worst"),
        ("a:11", "is worse"),
    ]
    assert passed.value == 7


# ---------------------------------------------------------------- failures


def test_what_a_worker_raised_is_said(spark: SparkSession) -> None:
    def fail(batches: Iterator[Any]) -> Iterator[Any]:
        for _ in batches:
            raise FileError("the cellar is flooded\nHint: swim")
        yield from ()

    with pytest.raises(Exception, match="flooded") as caught:
        spark.range(3).mapInArrow(fail, "id long").collect()
    assert explained(caught.value) == "FileError: the cellar is flooded"
    assert "Traceback" in whole(caught.value)


def test_what_java_raised_is_said_in_a_line(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="not true") as caught:
        spark.sql("SELECT assert_true(id < 1) FROM range(3)").collect()
    said = explained(caught.value)
    assert "'(id < 1)' is not true!" in said
    assert "SQLSTATE" not in said
    assert "\n" not in said
    assert "at org.apache" not in said
    with pytest.raises(Exception, match="nosuch") as caught:
        spark.table("nosuch")
    assert "nosuch" in explained(caught.value)


def test_what_python_raised_is_said_with_its_kind() -> None:
    assert explained(ZeroDivisionError("no")) == "ZeroDivisionError: no"
    assert explained(KeyError()) == "KeyError"
