"""Versions of subscriptions: loaded, swapped, refused, expired; from files, tables and databases."""

from __future__ import annotations

import datetime as dt
import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vedette.engine.subscriptions import Subscriptions
from vedette.errors import FileError
from vedette.io.operator_calls import OperatorCalls
from vedette.io.subscription_problems import BadSubscriptions
from vedette.operators.operator import operator
from vedette.operators.registry import Operators
from vedette.schema.schema import Schema
from vedette.spark.engine_versions import EngineVersion, EngineVersions, VersionRefusal, watch
from vedette.spark.stores import DatabaseStore, FileStore, TableStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPEN = Schema({}, closed=False)
EVENT = {"a": 1, "b": 2}
LONG_AGO = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)


def record(id_: str, when: str, **more: Any) -> dict[str, Any]:
    return {"id": id_, "when": when, **more}


class Files:
    """A subscriptions file that is written as a careful writer does: beside, then renamed; and long ago."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "subscriptions.jsonl"
        self._written = 0

    def write(self, *records: dict[str, Any] | str) -> None:
        lines = [each if isinstance(each, str) else json.dumps(each) for each in records]
        beside = self.path.with_suffix(".new")
        beside.write_text("\n".join(lines) + "\n")
        self._written += 1
        os.utime(beside, (self._written, self._written))
        beside.rename(self.path)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


class Heard:
    """What was said about versions."""

    def __init__(self) -> None:
        self.accepted: list[EngineVersion] = []
        self.refused: list[VersionRefusal] = []
        self.something = threading.Event()

    def accept(self, version: EngineVersion) -> None:
        self.accepted.append(version)
        self.something.set()

    def refuse(self, refusal: VersionRefusal) -> None:
        self.refused.append(refusal)
        self.something.set()


@pytest.fixture
def heard() -> Heard:
    return Heard()


def still(files: Files, heard: Heard, **more: Any) -> EngineVersions:
    """Versions of a file that nobody watches: tests look when they want to."""
    return watch(FileStore(files.path), OPEN, accepted=heard.accept, refused=heard.refuse, **more)


def expected(*records: dict[str, Any]) -> str:
    subscriptions = Subscriptions()
    subscriptions.add_many(records)
    return subscriptions.compile().version


def test_the_first_version(files: Files, heard: Heard) -> None:
    files.write(record("s1", "a = 1"), record("s2", "b = 3", subscriber="alice"))
    current = still(files, heard).current()
    assert current.engine.match(EVENT) == ["s1"]
    assert len(current.engine) == 2
    assert current.version == expected(record("s1", "a = 1"), record("s2", "b = 3", subscriber="alice"))
    assert current.loaded_at.tzinfo is not None
    assert heard.accepted == []  # the first one is not news


def test_all_that_is_wrong_with_the_first_version_is_raised(files: Files, heard: Heard) -> None:
    files.write(record("s1", "a ="), "{", record("s3", "c = 1", dialect="klingon"))  # nothing is good
    with pytest.raises(BadSubscriptions, match=r"(?s)line 1.*line 2.*line 3.*klingon.*nothing was started"):
        still(files, heard)


def test_bad_subscriptions_are_set_aside_and_told_once(files: Files, heard: Heard) -> None:
    good = [record("s1", "a = 1"), record("s2", "b = 2")]
    files.write(good[0], record("s3", "a ="), "{", good[1])
    aside: list[str] = []
    versions = still(files, heard, aside=aside.append)
    current = versions.current()
    assert current.version == expected(*good)
    assert (len(current.engine), current.set_aside) == (2, 2)
    (said,) = aside
    assert "line 2, subscription 's3'" in said
    assert "line 3" in said
    assert said.endswith("2 subscriptions are bad and set aside; the others are used.")
    for _ in range(2):
        files.write(*good, record("s3", "(c = 1"))  # another mistake
        assert versions.look()
    assert len(aside) == 2
    assert (versions.current().version, versions.current().set_aside) == (current.version, 1)
    files.write(*good, record("s3", "c = 1"))
    assert versions.look()
    assert (len(versions.current().engine), versions.current().set_aside) == (3, 0)
    files.write(record("s3", "c ="))  # nothing is good
    assert versions.look()
    assert len(versions.current().engine) == 3
    assert len(heard.refused) == 1
    assert len(aside) == 2


def test_bad_calls_of_operators_are_set_aside(files: Files, heard: Heard) -> None:
    @operator(time_limit=None)
    def big(event: object, number: int) -> bool:
        return number > 5

    calls = OperatorCalls(Operators(big))
    files.write(record("s1", "big(a)"), record("s2", "bog(a)"), record("s3", "a = 1"))
    current = still(files, heard, calls=calls, aside=lambda _: None).current()
    assert (len(current.engine), current.set_aside) == (2, 1)
    assert list(current.engine) == ["s1", "s3"]
    assert current.engine.match({"a": 7}) == ["s1"]


def test_a_new_version_takes_over(files: Files, heard: Heard) -> None:
    files.write(record("s1", "a = 1"))
    versions = still(files, heard)
    before = versions.current()
    files.write(record("s1", "a = 1"), record("s2", "b = 2"))
    assert versions.look()
    assert versions.current().engine.match(EVENT) == ["s1", "s2"]
    assert heard.accepted == [versions.current()]
    assert before.engine.match(EVENT) == ["s1"]  # whoever holds it still has what it was
    assert before.version != versions.current().version


def test_the_same_content_is_not_compiled_again(files: Files, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write(record("s1", "a = 1"))
    versions = still(files, heard)
    before = versions.current()

    def never(*_: Any, **__: Any) -> None:
        pytest.fail("compiled again")

    monkeypatch.setattr(Subscriptions, "compile", never)
    files.write(record("s1", "a = 1"))  # other times, same bytes
    assert versions.look()
    files.write('{"when": "a = 1",   "id": "s1"}', "")  # other bytes, same subscriptions
    assert versions.look()
    assert versions.current() is before
    assert heard.accepted == []
    assert heard.refused == []


def test_a_bad_version_is_refused_once_and_the_old_one_goes_on(files: Files, heard: Heard) -> None:
    files.write(record("s1", "a = 1"))
    versions = still(files, heard, strict=True)
    before = versions.current()
    files.write(record("s1", "a = 1"), record("s2", "b >"), record("s3", "(c = 1"))
    for _ in range(3):
        assert versions.look()
    assert versions.current() is before
    assert len(heard.refused) == 1
    said = str(heard.refused[0])
    assert "'s2'" in said
    assert "'s3'" in said
    assert before.version in said
    assert str(files.path) in said
    files.write(record("s1", "a = 1"))  # mended by going back
    versions.look()
    assert versions.current() is before
    files.write(record("s1", "a = 1"), record("s2", "b >"), record("s3", "(c = 1"))  # the same mistake once more
    versions.look()
    assert len(heard.refused) == 2
    files.write(record("s2", "b = 2"))
    versions.look()
    assert versions.current().engine.match(EVENT) == ["s2"]


def test_a_file_that_goes_away_and_comes_back(files: Files, heard: Heard) -> None:
    files.write(record("s1", "a = 1"))
    versions = still(files, heard)
    files.path.unlink()
    for _ in range(3):
        versions.look()
    assert [refusal.reason.split("\n")[0] for refusal in heard.refused] == [
        f"cannot read {files.path}: No such file or directory"
    ]
    assert versions.current().engine.match(EVENT) == ["s1"]
    files.write(record("s2", "b = 2"))
    versions.look()
    assert versions.current().engine.match(EVENT) == ["s2"]


def test_a_file_that_is_being_written_is_left_alone(files: Files, heard: Heard) -> None:
    files.write(record("s1", "a = 1"))
    versions = still(files, heard)
    files.path.write_text('{"id": "s2", "when": "b = 2"}\n{"id": "s3", "wh')  # just now: the writer is not done
    assert not versions.look()
    assert heard.refused == []
    assert versions.current().engine.match(EVENT) == ["s1"]
    files.write(record("s2", "b = 2"), record("s3", "a = 1"))
    assert versions.look()
    assert versions.current().engine.match(EVENT) == ["s2", "s3"]


def test_a_file_cut_off_is_refused(files: Files, heard: Heard) -> None:
    files.write(record("s1", "a = 1"))
    versions = still(files, heard)
    files.path.write_text('{"id": "s2", "when": "b = 2"}\n{"id": "s3", "wh')
    os.utime(files.path, (99, 99))  # and left so
    assert versions.look()
    assert "line 2" in heard.refused[0].reason
    assert versions.current().engine.match(EVENT) == ["s1"]


def test_an_expiry_is_a_change(files: Files, heard: Heard) -> None:
    now = [LONG_AGO]
    soon = LONG_AGO + dt.timedelta(hours=1)
    files.write(record("s1", "a = 1"), record("s2", "b = 2", expires=soon.isoformat()))
    versions = still(files, heard, clock=lambda: now[0])
    assert versions.current().engine.match(EVENT) == ["s1", "s2"]
    versions.look()
    assert heard.accepted == []
    now[0] = soon
    versions.look()
    assert versions.current().engine.match(EVENT) == ["s1"]
    assert heard.accepted == [versions.current()]
    versions.look()
    assert len(heard.accepted) == 1


def test_the_thread_swaps_refuses_and_stops(files: Files, heard: Heard) -> None:
    files.write(record("s1", "a = 1"))
    threads = threading.active_count()
    with watch(FileStore(files.path), OPEN, 0.02, accepted=heard.accept, refused=heard.refuse) as versions:
        files.write(record("s2", "b = 2"))
        assert heard.something.wait(30)
        assert versions.current().engine.match(EVENT) == ["s2"]
        heard.something.clear()
        files.write(record("s3", "b ="))
        assert heard.something.wait(30)
        assert len(heard.refused) == 1
        assert versions.current().engine.match(EVENT) == ["s2"]
    assert threading.active_count() == threads
    assert versions.current().engine.match(EVENT) == ["s2"]


def test_the_thread_wakes_up_when_something_expires(files: Files, heard: Heard) -> None:
    soon = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=0.3)
    files.write(record("s1", "a = 1"), record("s2", "b = 2", expires=soon.isoformat()))
    with watch(FileStore(files.path), OPEN, 3600, accepted=heard.accept) as versions:
        assert heard.something.wait(30)
        assert versions.current().engine.match(EVENT) == ["s1"]


def test_a_folder_of_parquet_files(tmp_path: Path, heard: Heard) -> None:
    folder = tmp_path / "subscriptions"
    folder.mkdir()

    def write(name: str, id_: str, when: str) -> None:
        pq.write_table(pa.table({"id": [id_], "when": [when]}), folder / name)
        os.utime(folder / name, (1, 1))

    write("1.parquet", "s1", "a = 1")
    versions = watch(FileStore(folder), OPEN, refused=heard.refuse)
    write("2.parquet", "s2", "b = 2")
    versions.look()
    assert heard.refused == []
    assert versions.current().engine.match(EVENT) == ["s1", "s2"]


# ---------------------------------------------------------------- a database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(tmp_path / "store.db")
    connection.execute(
        'CREATE TABLE subscriptions (id TEXT PRIMARY KEY, subscriber TEXT, "when" TEXT, dialect TEXT, '
        "expires TEXT, other INT)"
    )
    yield connection
    connection.close()


def insert(database: sqlite3.Connection, id_: str, when: str, expires: str | None = None) -> None:
    with database:
        database.execute("INSERT INTO subscriptions VALUES (?, 'alice', ?, NULL, ?, 7)", (id_, when, expires))


def database_store(tmp_path: Path, table: str = "subscriptions") -> DatabaseStore:
    return DatabaseStore(f"sqlite:///{tmp_path / 'store.db'}", table=table)


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_database(tmp_path: Path, database: sqlite3.Connection, heard: Heard, journal: str) -> None:
    database.execute(f"PRAGMA journal_mode={journal}")
    insert(database, "s2", "b = 2")
    insert(database, "s1", "a = 1")
    insert(database, "s0", "a = 1", expires="2020-01-01")
    store = database_store(tmp_path)
    versions = watch(store, OPEN, accepted=heard.accept, refused=heard.refuse, strict=True)
    assert versions.current().engine.match(EVENT) == ["s1", "s2"]  # by id
    assert versions.current().engine.subscriber("s1") == "alice"
    assert versions.current().version == expected(
        record("s1", "a = 1", subscriber="alice"), record("s2", "b = 2", subscriber="alice")
    )
    insert(database, "s3", "a = b")
    versions.look()
    assert len(versions.current().engine) == 3
    insert(database, "s4", "a like")
    versions.look()
    versions.look()
    assert len(versions.current().engine) == 3
    assert len(heard.refused) == 1
    assert "'s4'" in str(heard.refused[0])
    with database:
        database.execute("DELETE FROM subscriptions WHERE id = 's4'")
    versions.look()
    assert len(heard.accepted) == 1


def test_what_a_database_must_have(tmp_path: Path, database: sqlite3.Connection) -> None:
    with pytest.raises(FileError, match=r"table nosuch of sqlite:///"):
        watch(database_store(tmp_path, "nosuch"), OPEN)
    with database:
        database.execute("CREATE TABLE wrong (id TEXT, filter TEXT)")
    with pytest.raises(FileError, match=r"no column when\nHint: .*this has id, filter"):
        watch(database_store(tmp_path, "wrong"), OPEN)
    with pytest.raises(FileError, match="No such file"):
        watch(DatabaseStore(f"sqlite:///{tmp_path / 'other.db'}", table="t"), OPEN)
    assert not (tmp_path / "other.db").exists()


def test_a_password_is_not_said() -> None:
    store = DatabaseStore("postgresql://ann:secret@nowhere.invalid/db", table="public.subs")
    assert store.name == "table public.subs of postgresql://ann:***@nowhere.invalid/db"
    with pytest.raises(FileError) as caught:
        store.digest()
    assert "secret" not in str(caught.value)


# ---------------------------------------------------------------- what Spark reads


def test_a_table_of_spark(spark: SparkSession, heard: Heard) -> None:
    spark.sql("DROP TABLE IF EXISTS versions_test")
    spark.sql("CREATE TABLE versions_test (id STRING, `when` STRING, expires TIMESTAMP, note STRING) USING parquet")
    try:
        spark.sql("INSERT INTO versions_test VALUES ('s2', 'b = 2', NULL, 'x'), ('s1', 'a = 1', NULL, NULL)")
        versions = watch(TableStore(spark, table="versions_test", format="parquet"), OPEN, accepted=heard.accept)
        assert versions.current().engine.match(EVENT) == ["s1", "s2"]
        versions.look()
        assert heard.accepted == []
        spark.sql("INSERT INTO versions_test VALUES ('s3', 'a < b', NULL, NULL)")
        versions.look()
        assert versions.current().engine.match(EVENT) == ["s1", "s2", "s3"]
        spark.sql("INSERT INTO versions_test VALUES ('s4', 'true', TIMESTAMP '2020-01-01 00:00:00', NULL)")
        versions.look()
        assert len(heard.accepted) == 1  # it had expired before it came
    finally:
        spark.sql("DROP TABLE versions_test")


def test_a_folder_that_spark_reads(spark: SparkSession, tmp_path: Path, heard: Heard) -> None:
    folder = str(tmp_path / "orc")
    spark.createDataFrame([("s1", "a = 1")], ["id", "when"]).write.format("orc").save(folder)
    versions = watch(TableStore(spark, path=folder, format="orc"), OPEN, refused=heard.refuse)
    assert versions.current().engine.match(EVENT) == ["s1"]
    spark.createDataFrame([("s2", "b = 2")], ["id", "when"]).write.format("orc").mode("append").save(folder)
    versions.look()
    assert heard.refused == []
    assert versions.current().engine.match(EVENT) == ["s1", "s2"]


def test_a_table_that_is_not_there(spark: SparkSession) -> None:
    with pytest.raises(FileError, match="cannot read the subscriptions of table nosuch"):
        watch(TableStore(spark, table="nosuch", format="parquet"), OPEN)
