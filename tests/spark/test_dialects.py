"""Rules of other dialects on Spark: whatever form they come in, the answers are those of one process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import vedette as vd
from tests.cli.session import vedette, write_lines

RULES: list[dict[str, Any]] = [
    {"id": "r1", "dialect": "eventbridge", "title": "One", "when": {"n": [1, {"numeric": [">", 90]}]}},
    {"id": "r2", "dialect": "cloudevents", "when": {"prefix": {"name": "a"}}},
    {"id": "r3", "dialect": "vedette", "when": "n < 3"},
]
SIGMA = """title: Ends in 7
id: 11111111-1111-4111-8111-111111111111
logsource: {category: test}
detection: {sel: {name|endswith: '7'}, condition: sel}
"""


def rows() -> list[dict[str, object]]:
    return [{"id": f"e{n}", "n": n, "name": f"{'ab'[n % 2]}{n}"} for n in range(100)]


def test_every_form_of_rules(spark: SparkSession, tmp_path: Path) -> None:
    subscriptions = vd.Subscriptions()
    subscriptions.add_many(RULES)
    matcher = subscriptions.compile()
    expected = sorted((row["id"], subscription) for row in rows() for subscription in matcher.match(row))
    assert {subscription for _, subscription in expected} == {"r1", "r2", "r3"}
    events = spark.createDataFrame(pa.Table.from_pylist(rows()))
    texts = [{**rule, "when": when if isinstance(when := rule["when"], str) else json.dumps(when)} for rule in RULES]
    columns = ["id", "when", "dialect"]
    frame = spark.createDataFrame([tuple(rule[name] for name in columns) for rule in texts], columns)
    for given in (subscriptions, RULES, frame, str(write_lines(tmp_path / "rules.jsonl", RULES))):
        found = vd.spark.match(events, given, keep=["id"])
        assert sorted((row.id, row.subscription) for row in found.collect()) == expected


def test_a_folder_of_rules_from_python(spark: SparkSession, tmp_path: Path) -> None:
    pytest.importorskip("sigma.rule")
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "seven.yml").write_text(SIGMA)
    (folder / "ahead.yml").write_text(SIGMA.replace("endswith: '7'", "re: '(?=x)y'").replace("1111", "2222"))
    with pytest.raises(vd.InputError, match=r"ahead\.yml, rule '2222"):
        vd.load_subscriptions(folder, dialect="sigma")
    skipped: list[vd.LeftOut] = []
    subscriptions = vd.load_subscriptions(folder, dialect="sigma", left_out=skipped)
    assert [(one.id[:4], Path(one.place).name) for one in skipped] == [("2222", "ahead.yml")]
    events = spark.createDataFrame(pa.Table.from_pylist(rows()))
    found = vd.spark.match(events, subscriptions, keep=["n"])
    assert sorted(row.n for row in found.collect()) == [n for n in range(100) if n % 10 == 7]


def test_the_command_with_both_engines(spark: SparkSession, tmp_path: Path) -> None:
    pytest.importorskip("sigma.rule")
    folder, events = tmp_path / "rules", tmp_path / "events.parquet"
    folder.mkdir()
    (folder / "seven.yml").write_text(SIGMA)
    pq.write_table(pa.Table.from_pylist(rows()), events)
    said = {}
    for engine in ("local", "spark"):
        result = vedette("match", folder, events, "-o", "-", "--dialect", "sigma", "--engine", engine, "-q")
        assert result.exit_code == 0, result.stderr
        said[engine] = result.stdout
    assert said["spark"] == said["local"]
    assert [json.loads(line)["origin"]["title"] for line in said["spark"].splitlines()] == ["Ends in 7"] * 10
