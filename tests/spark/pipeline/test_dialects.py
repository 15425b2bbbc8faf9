"""Rules of other dialects in pipelines: folders of them, default dialects, and their origin in every kind of sink."""

from __future__ import annotations

import datetime as dt
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from tests.spark.pipeline.test_run import Heard
from tests.spark.pipeline.workplace import Workplace, pairs
from vedette.engine.pattern_shards import ShardOptions
from vedette.errors import InputError, PipelineError
from vedette.io.subscription_rows import PLAINLY, Written
from vedette.schema.schema import Schema
from vedette.spark.engine_versions import EngineVersion, watch
from vedette.spark.pipeline.checkpoint import CheckpointLedger, SparkLog
from vedette.spark.pipeline.config import load
from vedette.spark.pipeline.routing import notifications, origins_of
from vedette.spark.pipeline.run import run
from vedette.spark.pipeline.sinks.rows import as_json, flat, typed
from vedette.spark.pipeline.storage import LocalStorage
from vedette.spark.stores import DatabaseStore, FileStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPEN = Schema({}, closed=False)
WHOAMI = """title: Whoami
id: 11111111-1111-4111-8111-111111111111
level: high
logsource: {category: process_creation}
detection: {sel: {Image|endswith: '\\whoami.exe'}, condition: sel}
"""
LOOKS_AHEAD = """title: Looks ahead
logsource: {category: process_creation}
detection: {sel: {Image|re: '(?=x)y'}, condition: sel}
"""
FIRST = "11111111-1111-4111-8111-111111111111"
EVENTS = [{"id": "e1", "Image": "C:\\whoami.exe"}, {"id": "e2", "Image": "C:\\cmd.exe"}]
PATTERN: dict[str, Any] = {"id": "p", "when": "[n = 1] ; [n = 2]", "origin": {"title": "Rising"}}
RULE: dict[str, Any] = {"id": "r", "dialect": "eventbridge", "when": {"n": [1]}, "title": "One"}


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path)


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    pytest.importorskip("sigma.rule")
    folder = tmp_path / "rules"
    (folder / "windows").mkdir(parents=True)
    (folder / "windows" / "whoami.yml").write_text(WHOAMI)
    (folder / "ahead.yml").write_text(LOOKS_AHEAD)
    (folder / "README.md").write_text("no rule")
    return folder


def watched(path: Path, written: Written = PLAINLY, **more: Any) -> EngineVersion:
    return watch(FileStore(path, written=written), OPEN, **more).current()


# ---------------------------------------------------------------- whole pipelines


def test_a_folder_of_sigma_rules_and_where_they_come_from(
    place: Workplace, rules: Path, spark: SparkSession, tmp_path: Path
) -> None:
    place.describe(
        subscriptions={"path": "rules", "dialect": "sigma"},
        sinks=[
            {"name": "lines", "type": "jsonl", "path": "lines"},
            {"name": "table", "type": "parquet", "path": "table"},
        ],
    )
    place.publish("1.jsonl", EVENTS)
    heard = Heard()
    run(load(place.pipeline), spark=spark, report=heard)
    (line,) = place.rows("lines")
    assert (line["event"], line["subscription"]) == ("e1", FIRST)
    assert (line["origin"]["title"], line["origin"]["file"]) == ("Whoami", "windows/whoami.yml")
    (row,) = pq.read_table(tmp_path / "table").to_pylist()
    assert json.loads(row["origin"]) == line["origin"]
    (warning,) = heard.warnings
    assert warning.startswith("1 rule says what cannot be matched, and is left out: `vedette check ")
    place.describe(subscriptions={"file": "rules", "dialect": "sigma", "strict": True})
    with pytest.raises(PipelineError, match=r"ahead\.yml: rule 'ahead': "):
        load(place.pipeline)


def test_records_of_several_dialects_and_patterns_beside_them(place: Workplace, spark: SparkSession) -> None:
    place.subscribe(RULE, PATTERN, {"id": "plain", "when": "n = 2"})
    place.describe(subscriptions={"file": "subscriptions.jsonl", "origin": True}, patterns={})
    place.publish("1.jsonl", [{"id": "e1", "n": 1}, {"id": "e2", "n": 2}])
    run(load(place.pipeline), spark=spark)
    rows = place.rows()
    assert pairs(rows) == [("e1", "r"), ("e2", "p"), ("e2", "plain")]
    told = {row["subscription"]: row.get("origin") for row in rows}
    assert told == {"r": {"title": "One"}, "p": {"title": "Rising"}, "plain": None}


def test_without_asking_for_it_nothing_is_added(place: Workplace, spark: SparkSession, tmp_path: Path) -> None:
    place.subscribe(RULE)
    place.describe(keep=["origin"], sinks=[{"name": "out", "type": "parquet", "path": "out"}])
    place.publish("1.jsonl", [{"id": "e1", "n": 1, "origin": "JFK"}])
    run(load(place.pipeline), spark=spark)
    (row,) = pq.read_table(tmp_path / "out").to_pylist()
    assert row["origin"] == "JFK"


# ---------------------------------------------------------------- the file


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"subscriptions": {"file": "subscriptions.jsonl", "dialect": "klingon"}}, "klingon"),
        ({"subscriptions": {"file": "subscriptions.jsonl", "pipeline": ["x"]}}, "`pipeline` is for rules of sigma"),
        (
            {"subscriptions": {"file": "subscriptions.jsonl", "origin": True}, "keep": ["Origin"]},
            '"Origin" is a column that every notification has already',
        ),
        ({"subscriptions": {"path": "nowhere", "dialect": "sigma"}}, "there is no "),
        ({"subscriptions": {"file": "bad.jsonl", "dialect": "eventbridge"}}, "subscription 'bad': "),
    ],
)
def test_mistakes_of_the_file(place: Workplace, parts: dict[str, Any], words: str) -> None:
    place.subscribe(RULE)
    (place.folder / "bad.jsonl").write_text('{"id": "bad", "when": {"n": 1}}\n')
    place.describe(**parts)
    with pytest.raises(PipelineError) as raised:
        load(place.pipeline)
    assert words in str(raised.value)


def test_pipelines_of_sigma_lie_beside_the_file(place: Workplace, rules: Path) -> None:
    (place.folder / "mapping.yml").write_text("name: mapping\npriority: 1\ntransformations: []\n")
    place.describe(subscriptions={"path": "rules", "dialect": "sigma", "pipeline": ["mapping.yml"]})
    assert load(place.pipeline).subscriptions.written.pipelines == (str(place.folder / "mapping.yml"),)


# ---------------------------------------------------------------- versions and the ledger


def test_a_folder_of_rules_is_watched(rules: Path) -> None:
    heard: list[EngineVersion] = []
    versions = watch(FileStore(rules, written=Written("sigma")), OPEN, accepted=heard.append)
    first = versions.current()
    assert (len(first.engine), first.left_out) == (1, 1)
    assert json.loads(first.origins[FIRST])["title"] == "Whoami"
    (rules / "README.md").write_text("still no rule")
    _long_ago(rules)
    assert versions.look()
    assert heard == []
    (rules / "windows" / "whoami.yml").write_text(WHOAMI.replace("Whoami", "Who am I"))
    _long_ago(rules)
    assert versions.look()
    (new,) = heard
    assert new.version != first.version
    assert json.loads(new.origins[FIRST])["title"] == "Who am I"


def _long_ago(folder: Path) -> None:
    for path in folder.rglob("*.*"):
        os.utime(path, (1, path.stat().st_size))


def test_another_title_of_a_pattern_is_another_version(tmp_path: Path) -> None:
    def version(title: str) -> str:
        path = tmp_path / "s.jsonl"
        path.write_text(json.dumps({**PATTERN, "origin": {"title": title}}) + "\n")
        return watched(path, following=ShardOptions(2)).version

    assert version("Rising") != version("Going up")
    assert version("Rising") == version("Rising")


def test_a_micro_batch_that_is_run_again_says_the_same_of_origins(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"

    def current(title: str) -> EngineVersion:
        path.write_text(json.dumps({**RULE, "title": title}) + "\n")
        return watched(path)

    def opened(version: EngineVersion) -> CheckpointLedger:
        storage = LocalStorage(tmp_path / "state")
        return CheckpointLedger.open(storage, {"pipeline": "x"}, version, SparkLog.of(storage))

    ledger = opened(current("One"))
    assert ledger.begin(0, current("One")).origins == {"r": '{"title":"One"}'}
    ledger.close()
    new = current("Another")
    ledger = opened(new)
    again = ledger.begin(0, new)
    assert again.again
    assert again.origins == {"r": '{"title":"One"}'}
    assert ledger.begin(1, new).origins == {"r": '{"title":"Another"}'}
    ledger.close()


def test_a_database_has_rules_of_one_dialect(tmp_path: Path) -> None:
    import sqlite3

    database = tmp_path / "rules.db"
    with sqlite3.connect(database) as connection:
        connection.execute('CREATE TABLE rules (id TEXT, "when" TEXT, title TEXT, tags TEXT)')
        connection.execute("INSERT INTO rules VALUES ('r', '{\"n\": [1]}', 'One', NULL)")
    store = DatabaseStore(f"sqlite:///{database}", table="rules", written=Written("eventbridge"))
    (record,) = store.rows(dt.datetime.now(dt.UTC))
    assert (record.when, record.origin and record.origin.facts) == ("any(leaves(n)) = '1'", '{"title":"One"}')
    plain = DatabaseStore(f"sqlite:///{database}", table="rules")
    (record,) = plain.rows(dt.datetime.now(dt.UTC))
    assert (record.when, record.origin) == ('{"n": [1]}', None)


# ---------------------------------------------------------------- rows


def test_origins_in_rows(spark: SparkSession) -> None:
    schema = (
        "event string, subscription string, subscriber string, kind string, version string, n int, "
        "place string, reason string, raw string"
    )
    rows = [
        ("e1", "r", None, "match", "v", 1, None, None, None),
        ("e1", "plain", "me", "match", "v", None, None, None, None),
    ]
    outcomes = spark.createDataFrame(rows, schema)
    facts = '{"title":"\\"One\\" – é","tags":["a","b"]}'
    told = notifications(outcomes, origins_of({"r": facts, "gone": "{}"}, spark))
    assert told.columns[-2:] == ["n", "origin"]
    said = {row.event + row.subscription: json.loads(row.value) for row in _said(told)}
    assert said["e1r"]["origin"] == json.loads(facts)
    assert list(said["e1r"])[-1] == "origin"
    assert "origin" not in said["e1plain"]
    assert [field.name for field in typed(told).schema if field.metadata] == []
    for columns in (flat(told), typed(told)):
        assert {row.subscription: row.origin for row in columns.collect()} == {"r": facts, "plain": None}
    with pytest.raises(InputError, match="'origin' cannot be kept"):
        notifications(outcomes.withColumnRenamed("n", "Origin"), origins_of({}, spark))


def _said(told: Any) -> Any:
    return told.select("event", "subscription", as_json(told).alias("value")).collect()
