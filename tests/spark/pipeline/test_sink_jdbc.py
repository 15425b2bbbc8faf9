"""Tables: batches and their records are written together or not at all; names are those that people write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr
from pyspark.sql import DataFrame, SparkSession

from tests.spark.pipeline.outcomes import ids, outcomes
from tests.spark.pipeline.receivers import Derby, counted
from vedette.errors import DeliveryError, InputError
from vedette.spark.pipeline.routing import notifications
from vedette.spark.pipeline.sinks.base import Batch
from vedette.spark.pipeline.sinks.database import Connection, connected, driver_of, table_parts
from vedette.spark.pipeline.sinks.jdbc import TableSink


def told(spark: SparkSession, begin: int, end: int) -> DataFrame:
    """Without kept columns: the tables of these tests are made by hand."""
    return notifications(outcomes(spark, begin, end)).select(
        "id", "event", "subscription", "subscriber", "kind", "version"
    )


def executed(spark: SparkSession, place: Derby, *statements: str) -> None:
    with connected(spark, {"url": place.url, "driver": str(driver_of(place.url))}) as connection:
        for statement in statements:
            connection.execute(statement)


def tables(place: Derby) -> set[str]:
    return {row["TABLENAME"] for row in place.query("SELECT TABLENAME FROM SYS.SYSTABLES WHERE TABLETYPE = 'T'")}


class Killed(BaseException):
    """As if the process had ended here."""


def test_killed_between_staging_and_commit(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Derby(spark, tmp_path)
    place.sink.write(told(spark, 0, 4), Batch("p", 0, "c"))

    @contextmanager
    def never(self: Connection) -> Iterator[None]:
        raise Killed
        yield

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "transaction", never)
        with pytest.raises(Killed):
            place.sink.write(told(spark, 4, 8), Batch("p", 1, "c"))
    assert any(name.startswith("VEDETTE_STAGING_") for name in tables(place))
    assert set(place.ids()) == ids(0, 4)
    place.sink.write(told(spark, 4, 8), Batch("p", 1, "c"))
    assert counted(place.ids()) == dict.fromkeys(ids(0, 8), 1)
    assert tables(place) == {"NOTIFICATIONS", "VEDETTE_BATCHES"}


def test_rows_and_their_record_are_one_transaction(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after both inserts, before the commit: neither has happened."""
    place = Derby(spark, tmp_path)
    place.sink.write(told(spark, 0, 4), Batch("p", 0, "c"))
    execute = Connection.execute

    def until_insert(self: Connection, statement: str, *values: str | int) -> None:
        execute(self, statement, *values)
        if statement.startswith('INSERT INTO "NOTIFICATIONS"'):
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "execute", until_insert)
        with pytest.raises(Killed):
            place.sink.write(told(spark, 4, 8), Batch("p", 1, "c"))
    assert set(place.ids()) == ids(0, 4)
    ledger = "SELECT PIPELINE, SINK, CHECKPOINT, BATCH FROM VEDETTE_BATCHES ORDER BY BATCH"
    assert [tuple(row.values()) for row in place.query(ledger)] == [("p", "table", "c", 0)]
    place.sink.write(told(spark, 4, 8), Batch("p", 1, "c"))
    assert counted(place.ids()) == dict.fromkeys(ids(0, 8), 1)
    assert [row["BATCH"] for row in place.query(ledger)] == [0, 1]


def test_what_the_table_refuses_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    place = Derby(spark, tmp_path)
    place.sink.write(told(spark, 0, 4), Batch("p", 0, "c"))
    executed(spark, place, "ALTER TABLE notifications ADD CONSTRAINT few CHECK (kind <> 'match' OR version <> 'x')")
    refused = told(spark, 4, 8).replace("0123456789ab", "x", ["version"])
    with pytest.raises(DeliveryError, match=r"the database refused: .*FEW"):
        place.sink.write(refused, Batch("p", 1, "c"))
    place.sink.write(told(spark, 4, 8), Batch("p", 1, "c"))
    assert counted(place.ids()) == dict.fromkeys(ids(0, 8), 1)


def test_sinks_and_pipelines_share_a_table(spark: SparkSession, tmp_path: Path) -> None:
    place = Derby(spark, tmp_path)
    other = TableSink("other", url=place.url, table="Notifications")
    for sink, pipeline, begin in ((place.sink, "p", 0), (other, "p", 2), (place.sink, "q", 4), (other, "p", 2)):
        sink.write(told(spark, begin, begin + 2), Batch(pipeline, 0, "c"))
    assert counted(place.ids()) == dict.fromkeys(ids(0, 6), 1)


def test_a_table_made_by_hand(spark: SparkSession, tmp_path: Path) -> None:
    """Columns are found by name, in any order and any case; others are left to their defaults."""
    place = Derby(spark, tmp_path)
    executed(
        spark,
        place,
        "CREATE SCHEMA alerts",
        'CREATE TABLE alerts."ORDER" (seen INT DEFAULT 7, "Version" VARCHAR(64), kind VARCHAR(32), subscriber CLOB, '
        "subscription CLOB, event CLOB, id CHAR(32) NOT NULL)",
    )
    # A reserved word, in a schema; written in lower case, as without quotes.
    TableSink("table", url=place.url, table="alerts.order").write(told(spark, 0, 3), Batch("p", 0, "c"))
    rows = place.query('SELECT * FROM alerts."ORDER"')
    assert {row["ID"] for row in rows} == ids(0, 3)
    assert {(row["SEEN"], row["Version"]) for row in rows} == {(7, "0123456789ab")}
    assert len(place.query("SELECT * FROM alerts.vedette_batches")) == 1


def test_a_table_that_lacks_a_column(spark: SparkSession, tmp_path: Path) -> None:
    place = Derby(spark, tmp_path)
    executed(spark, place, "CREATE TABLE notifications (id CHAR(32), event CLOB, subscription CLOB, version CLOB)")
    with pytest.raises(DeliveryError, match=r"has no column SUBSCRIBER, KIND\nHint: add it"):
        place.sink.write(told(spark, 0, 3), Batch("p", 0, "c"))


@pytest.mark.parametrize("table", ["a b", "a;drop table x", 'a"b', "", "a..b", "a.b.c.d", "1a", "x'y"])
def test_names_that_are_none(table: str) -> None:
    with pytest.raises(InputError, match=r"is no name of a table\nHint: use letters"):
        table_parts(table)


def test_databases_that_are_not_there(spark: SparkSession, tmp_path: Path) -> None:
    sink = TableSink("t", url=f"jdbc:derby:{tmp_path / 'none'}", table="t")
    with pytest.raises(DeliveryError, match=r"the database refused: .*none"):
        sink.check(spark, streaming=True)
    sink = TableSink("t", url="jdbc:oracle:thin:@//h/x", table="t", password=SecretStr("hush"))
    with pytest.raises(DeliveryError, match=r"driver of the database is not there \(oracle.jdbc.OracleDriver\)\nHint"):
        sink.check(spark, streaming=True)
    assert "hush" not in repr(vars(sink))


def test_passwords_are_not_repeated(spark: SparkSession, tmp_path: Path) -> None:
    sink = TableSink("t", url=f"jdbc:derby:{tmp_path / 'hush-hush'}", table="t", password=SecretStr("hush-hush"))
    with pytest.raises(DeliveryError) as caught:
        sink.check(spark, streaming=True)
    assert "hush" not in str(caught.value)


def test_drivers_by_address() -> None:
    assert driver_of("jdbc:postgresql://host/db") == "org.postgresql.Driver"
    assert driver_of("jdbc:unheard:of") is None
