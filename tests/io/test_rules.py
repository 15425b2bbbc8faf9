"""Rules of other dialects from files: records that name theirs, and rules in files of their own."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.dialects.conftest import standin as standin  # noqa: PLC0414 (a fixture)
from vedette.errors import DialectError, FileError, InputError, NotSupported
from vedette.filters.origins import Origin
from vedette.filters.subscription_set import schema_of
from vedette.io.loading import load_rows
from vedette.io.rule_files import RuleFiles, rule_paths
from vedette.io.subscription_problems import BadSubscriptions
from vedette.io.subscription_rows import PLAINLY, SubscriptionRecord, SubscriptionRows, Written
from vedette.io.subscriptions import read_subscriptions

STANDIN = Written("standin")
NOW = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
RULE = {"a": 1, "about": {"id": "r1", "title": "One", "level": "high"}}
ODD = {"kind": "odd", "about": {"id": "r2"}}


def lines(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def only(path: Path, written: Written = PLAINLY) -> SubscriptionRecord:
    rows = read_subscriptions(path, now=NOW, written=written)
    (found,) = list(rows)
    assert rows.rejects == []
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of rules in several depths, beside other files."""
    place = tmp_path / "rules"
    (place / "b" / ".hidden").mkdir(parents=True)
    (place / "b" / "one.yaml").write_text(json.dumps(RULE))
    (place / "a.yml").write_text(f"{json.dumps(ODD)}\n---\n{json.dumps({'b': 'x'})}")
    (place / "README.md").write_text("no rule")
    (place / "b" / ".hidden" / "two.yml").write_text("no rule either")
    return place


# ---------------------------------------------------------------- records


@pytest.mark.usefixtures("standin")
def test_a_record_names_its_dialect(tmp_path: Path) -> None:
    record = {"id": "s1", "when": RULE, "dialect": "standin", "tags": ["x"], "title": "Own", "subscriber": "alice"}
    found = only(lines(tmp_path / "s.jsonl", record))
    facts = '{"title":"Own","level":"high","tags":["x"]}'
    assert found.origin == Origin(facts, "standin", json.dumps(RULE, separators=(",", ":")))
    assert found[:8] == ("s1", "alice", "a = 1", "standin", None, None, {}, 1)
    assert found.refused is None


@pytest.mark.usefixtures("standin")
def test_a_dialect_for_all_records(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "s.jsonl",
        {"id": "s1", "when": {"a": 1}},
        {"id": "s2", "when": "b = 2", "dialect": "vedette"},
        {"id": "s3", "when": '{"c": 3}', "dialect": None},
    )
    rows = read_subscriptions(path, now=NOW, written=STANDIN)
    assert [(record.when, record.dialect) for record in rows] == [
        ("a = 1", "standin"),
        ("b = 2", "vedette"),
        ("c = 3", "standin"),
    ]


@pytest.mark.usefixtures("standin")
def test_pipelines_are_those_of_the_dialect_that_is_said(tmp_path: Path) -> None:
    path = lines(tmp_path / "s.jsonl", {"id": "s1", "when": {"a": 1}})
    assert only(path, Written("standin", ("a=b",))).when == "b = 1"


@pytest.mark.usefixtures("standin")
def test_yaml_and_parquet_hold_rules_too(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("- id: s1\n  dialect: standin\n  when: {a: 1}\n  origin: {since: 2024-05-01}\n")
    found = only(tmp_path / "s.yaml")
    assert (found.when, found.origin) == ("a = 1", Origin('{"since":"2024-05-01"}', "standin", '{"a":1}'))
    rows: list[dict[str, Any]] = [
        {"id": "s1", "when": '{"a": 1}', "dialect": "standin", "origin": '{"title": "One"}', "tags": ["x"]},
        {"id": "s2", "when": "b = 2", "dialect": None, "origin": None, "tags": None},
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "s.parquet")
    first, second = read_subscriptions(tmp_path / "s.parquet", now=NOW)
    assert first.origin == Origin('{"tags":["x"],"title":"One"}', "standin", '{"a": 1}')
    assert (second.when, second.origin) == ("b = 2", None)


def test_an_origin_needs_no_dialect(tmp_path: Path) -> None:
    path = lines(tmp_path / "s.jsonl", {"id": "s1", "when": "a = 1", "origin": {"title": "One"}, "title": "ignored"})
    found = only(path)
    assert found.origin == Origin('{"title":"One"}')
    assert found.extra == {"title": "ignored"}


@pytest.mark.usefixtures("standin")
def test_what_cannot_be_translated_is_a_bad_subscription(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "s.jsonl",
        {"id": "good", "when": {"a": 1}, "dialect": "standin"},
        {"id": "odd", "when": ODD, "dialect": "standin"},
        {"id": "empty", "when": {}, "dialect": "standin"},
        {"id": "unknown", "when": "x", "dialect": "klingon"},
        {"id": "bare", "when": {"a": 1}, "dialect": "vedette"},
        {"id": "told", "when": "a = 1", "origin": ["me"]},
    )
    rows = read_subscriptions(path, now=NOW)
    records = list(rows)
    assert [type(record.refused) for record in records] == [type(None), NotSupported, DialectError, NotSupported]
    assert [reject.line for reject in rows.rejects] == [5, 6]
    assert "an object needs a dialect" in rows.rejects[0].reason
    assert "`origin` is ['me'], not an object" in rows.rejects[1].reason
    with pytest.raises(BadSubscriptions) as raised:
        load_rows(rows, schema_of(None), records=records)
    told = str(raised.value)
    assert "line 2, subscription 'odd'\n  `odd` cannot be said\n  Hint: ask for something even" in told
    assert "line 3, subscription 'empty'\n  the rule is empty" in told
    assert "line 4, subscription 'unknown'\n  the dialect 'klingon' is not known" in told
    assert "5 subscriptions are bad" in told


# ---------------------------------------------------------------- files of rules


@pytest.mark.usefixtures("standin")
def test_a_folder_is_read_in_any_depth(folder: Path) -> None:
    assert [path.relative_to(folder).as_posix() for path in rule_paths(folder)] == ["a.yml", "b/one.yaml"]
    rows = read_subscriptions(folder, written=STANDIN)
    assert rows.name == str(folder)
    odd, plain, one = rows
    assert (odd.id, odd.place) == ("r2", f"{folder}/a.yml, document 1")
    assert isinstance(odd.refused, NotSupported)
    assert (plain.id, plain.when, plain.line) == ("a.yml, document 2", "b = 'x'", 2)
    assert (one.id, one.when, one.dialect) == ("r1", "a = 1", "standin")
    assert one.origin == Origin('{"title":"One","level":"high"}', "standin", json.dumps(RULE))
    assert rows.progress == 1.0


@pytest.mark.usefixtures("standin")
def test_rules_that_cannot_be_said_are_left_out_unless_that_is_forbidden(folder: Path) -> None:
    rows = read_subscriptions(folder, written=STANDIN)
    subscriptions = load_rows(rows, schema_of(None))
    assert list(subscriptions) == ["a.yml, document 2", "r1"]
    assert subscriptions.told() == {"r1": '{"title":"One","level":"high"}'}
    assert [(record.id, str(error).splitlines()[0]) for record, error in rows.left_out] == [
        ("r2", "`odd` cannot be said")
    ]
    strict = read_subscriptions(folder, written=Written("standin", strict=True))
    with pytest.raises(BadSubscriptions, match=r"a\.yml, document 1, rule 'r2'\n  `odd` cannot be said"):
        load_rows(strict, schema_of(None))
    assert strict.left_out == []


@pytest.mark.usefixtures("standin")
def test_what_is_wrong_is_an_error_in_a_folder_too(folder: Path) -> None:
    (folder / "wrong.yml").write_text("{")
    with pytest.raises(BadSubscriptions, match=r"wrong\.yml, rule 'wrong\.yml'\n  .*this is no JSON"):
        load_rows(read_subscriptions(folder, written=STANDIN), schema_of(None))


@pytest.mark.usefixtures("standin")
def test_an_id_is_used_once(folder: Path) -> None:
    (folder / "again.yml").write_text(json.dumps({"c": 3, "about": {"id": "r1"}}))
    with pytest.raises(BadSubscriptions, match=r"one\.yaml, rule 'r1'\n  the id 'r1' is taken by another rule"):
        load_rows(read_subscriptions(folder, written=STANDIN), schema_of(None))


@pytest.mark.usefixtures("standin")
def test_a_rule_that_says_too_much_of_itself(folder: Path) -> None:
    (folder / "long.yml").write_text(json.dumps({"c": 3, "about": {"title": "x" * 70_000}}))
    with pytest.raises(BadSubscriptions, match=r"long\.yml'\n  `origin` is 70,0.. bytes of JSON, more than 65,536"):
        load_rows(read_subscriptions(folder, written=STANDIN), schema_of(None))


@pytest.mark.usefixtures("standin")
def test_limits_that_show_later_leave_a_rule_out_as_well(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "large.yml").write_text(json.dumps({"a": "x" * 600_000}))
    rows = read_subscriptions(tmp_path / "rules", written=STANDIN)
    assert len(load_rows(rows, schema_of(None))) == 0
    assert [record.id for record, _ in rows.left_out] == ["large.yml"]


@pytest.mark.usefixtures("standin")
def test_a_yaml_file_holds_rules_or_records(tmp_path: Path) -> None:
    rules, records = tmp_path / "rules.yml", tmp_path / "records.yml"
    rules.write_text(f"{json.dumps(RULE)}\n---\n{json.dumps(ODD)}")
    found = read_subscriptions(rules, written=STANDIN)
    assert isinstance(found, RuleFiles)
    assert [(record.id, record.place) for record in found] == [
        ("r1", "rules.yml, document 1"),
        ("r2", "rules.yml, document 2"),
    ]
    records.write_text("- {id: s1, when: {a: 1}}\n")
    assert only(records, STANDIN).when == "a = 1"
    records.write_text("id: s1\nwhen: {a: 1}\n")
    assert only(records, STANDIN).when == "a = 1"


def test_folders_that_hold_no_rules(tmp_path: Path, standin: str) -> None:
    folder = tmp_path / "rules"
    folder.mkdir()
    with pytest.raises(FileError, match="holds no rules"):
        read_subscriptions(folder, written=STANDIN)
    with pytest.raises(InputError, match="do not come as files of their own"):
        read_subscriptions(folder, written=Written("eventbridge"))
    with pytest.raises(NotSupported, match="the dialect 'klingon' is not known"):
        read_subscriptions(folder, written=Written("klingon"))
    pq.write_table(pa.table({"id": ["s1"], "when": ['{"a": 1}']}), folder / "part.parquet")
    rows: SubscriptionRows = read_subscriptions(folder, written=Written(standin))
    assert [record.when for record in rows] == ["a = 1"]


@pytest.mark.usefixtures("standin")
def test_what_is_no_text_is_refused(folder: Path) -> None:
    (folder / "c.yml").write_bytes(b"\xff\x00")
    with pytest.raises(FileError, match=r"c\.yml is not UTF-8"):
        list(read_subscriptions(folder, written=STANDIN))
