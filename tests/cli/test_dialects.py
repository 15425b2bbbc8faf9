"""Rules of other dialects on the command line: matched, checked, translated, with their origin in what is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.cli.session import pairs, vedette, write_lines

RULES: list[dict[str, Any]] = [
    {"id": "p1", "dialect": "eventbridge", "title": "It stops", "level": "high", "when": {"state": ["stopped"]}},
    {"id": "p2", "dialect": "eventbridge", "when": '{"state": [{"prefix": "s"}], "n": [{"numeric": [">", 1]}]}'},
    {"id": "p3", "dialect": "cloudevents", "when": {"exact": {"state": "started"}}, "author": "me"},
    {"id": "p4", "when": "n = 1"},
]
EVENTS = [{"id": "e1", "state": "stopped", "n": 2}, {"id": "e2", "state": "started", "n": 1}, {"id": "e3", "n": 5}]
FOUND = [("e1", "p1"), ("e1", "p2"), ("e2", "p3"), ("e2", "p4")]

WHOAMI = """title: Whoami
id: 11111111-1111-4111-8111-111111111111
level: high
author: me
tags: [attack.t1033]
logsource: {category: process_creation}
detection: {sel: {Image|endswith: '\\whoami.exe'}, condition: sel}
"""
LOOKS_AHEAD = """title: Looks ahead
id: 22222222-2222-4222-8222-222222222222
logsource: {category: process_creation}
detection: {sel: {Image|re: '(?=x)y'}, condition: sel}
"""
WRONG = """title: Wrong
logsource: {category: process_creation}
detection: {sel: {Image|nosuch: x}, condition: sel}
"""
PROCESSES = [{"id": "e1", "Image": "C:\\whoami.exe"}, {"id": "e2", "Image": "C:\\cmd.exe"}]
FIRST, SECOND = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A file of rules of several dialects."""
    return write_lines(tmp_path / "rules.jsonl", RULES)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "events.jsonl", EVENTS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of Sigma rules, one of which cannot be translated."""
    pytest.importorskip("sigma.rule")
    place = tmp_path / "sigma"
    (place / "windows").mkdir(parents=True)
    (place / "windows" / "whoami.yml").write_text(WHOAMI)
    (place / "ahead.yaml").write_text(LOOKS_AHEAD)
    return place


@pytest.fixture
def processes(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "processes.jsonl", PROCESSES)


# ---------------------------------------------------------------- records


def test_rules_of_all_dialects_in_one_file(rules: Path, events: Path) -> None:
    result = vedette("match", rules, events, "-o", "-", "-q")
    assert result.exit_code == 0
    assert pairs(result.stdout) == FOUND
    first, second, third, fourth = result.stdout.splitlines()
    assert first.endswith(', "kind": "match", "origin": {"title": "It stops", "level": "high"}}')
    assert third.endswith(', "kind": "match", "origin": {"author": "me"}}')
    assert second == '{"event": "e1", "subscription": "p2", "kind": "match"}'
    assert fourth == '{"event": "e2", "subscription": "p4", "kind": "match"}'


def test_origins_in_parquet(rules: Path, events: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    assert vedette("match", rules, events, "-o", out, "-q").exit_code == 0
    rows = pq.read_table(out).to_pylist()
    assert [(row["event"], row["subscription"]) for row in rows] == FOUND
    assert [row["origin"] for row in rows] == ['{"title":"It stops","level":"high"}', None, '{"author":"me"}', None]
    write_lines(rules, RULES[-1:])
    vedette("match", rules, events, "-o", out, "-q")
    assert pq.read_table(out).schema.names == ["event", "subscription", "kind"]


def test_origins_of_patterns_and_of_filters_with_variables(events: Path, tmp_path: Path) -> None:
    subscriptions = write_lines(
        tmp_path / "s.jsonl",
        [
            {"id": "p", "when": "a:[n = 2] ; b:[n = 1]", "origin": {"title": "Falling"}},
            {"id": "f", "when": "n = 1", "origin": {"title": "One"}},
        ],
    )
    result = vedette("match", subscriptions, events, "-o", "-", "-q")
    assert result.stdout.splitlines() == [
        '{"event": "e2", "subscription": "p", "kind": "match", "steps": {"a": "e1", "b": "e2"}, '
        '"origin": {"title": "Falling"}}',
        '{"event": "e2", "subscription": "f", "kind": "match", "origin": {"title": "One"}}',
    ]
    out = tmp_path / "out.parquet"
    vedette("match", subscriptions, events, "-o", out, "-q")
    assert pq.read_table(out).column("origin").to_pylist() == ['{"title":"Falling"}', '{"title":"One"}']


def test_a_dialect_for_the_whole_file(events: Path, tmp_path: Path) -> None:
    records = [{"id": "p1", "when": {"state": ["stopped"]}}, {"id": "p4", "when": "n = 1", "dialect": "vedette"}]
    rules = write_lines(tmp_path / "rules.jsonl", records)
    result = vedette("match", rules, events, "-o", "-", "-q", "--dialect", "eventbridge")
    assert pairs(result.stdout) == [("e1", "p1"), ("e2", "p4")]


def test_what_is_wrong_with_rules_is_said_of_each(rules: Path, events: Path, tmp_path: Path) -> None:
    write_lines(rules, [*RULES, {"id": "bad", "dialect": "eventbridge", "when": {"state": "stopped"}}])
    out = tmp_path / "out.jsonl"
    result = vedette("match", rules, events, "-o", out)
    assert result.exit_code == 1
    assert not out.exists()
    assert "line 5, subscription 'bad'\n" in result.stderr
    checked = vedette("check", rules, "--json")
    assert checked.exit_code == 1
    said = json.loads(checked.stdout)
    assert (said["filters"], said["errors"]) == (4, 1)
    assert [(found["code"], found["line"], found["subscription"]) for found in said["findings"]] == [("rule", 5, "bad")]


def test_keys_that_describe_a_rule_are_known(rules: Path) -> None:
    assert "no problems" in vedette("check", rules).stdout
    write_lines(rules, [{"id": "p4", "when": "n = 1", "title": "One"}])
    assert "`title` is no part of a subscription" in vedette("check", rules).stdout


def test_other_commands_take_rules_too(rules: Path, events: Path) -> None:
    covered = vedette("cover", rules, "-o", "-", "-q")
    assert [json.loads(line)["subscription"] for line in covered.stdout.splitlines()] == ["p1", "p2", "p3", "p4"]
    explained = vedette("explain", rules, events, "-s", "p1", "-e", "e2", "-q")
    assert "Rule It stops (level high, eventbridge)\nThe event does not match." in explained.stdout
    assert "4 of 4 subscriptions would have reported something" in vedette("backtest", rules, events, "-q").stdout


def test_publications_meet_no_rules(rules: Path, tmp_path: Path) -> None:
    publications = write_lines(tmp_path / "publications.jsonl", [{"id": "x", "when": "n = 1"}])
    for options, status in ((), 0), (("--strict",), 1):  # one of them is no rule, and meets
        result = vedette("meet", publications, rules, "-o", "-", *options)
        assert result.exit_code == status
        assert "rules of 'eventbridge' are matched with events only" in result.stderr


def test_wrong_usage(rules: Path, events: Path) -> None:
    unknown = vedette("match", rules, events, "-o", "-", "--dialect", "klingon")
    assert unknown.exit_code == 2
    misplaced = vedette("match", rules, events, "-o", "-", "--pipeline", "sysmon")
    assert misplaced.exit_code == 2
    assert "only rules of sigma have pipelines" in misplaced.stderr


# ---------------------------------------------------------------- translated


def test_translations_read_back_give_the_same(rules: Path, events: Path, tmp_path: Path) -> None:
    records = [
        *RULES,
        {
            "id": "p5",
            "when": "[n = 2] ; [n = 1]",
            "subscriber": "me",
            "predict": {"within": 3},
            "expires": "2999-01-01",
        },
    ]
    write_lines(rules, records)
    out = tmp_path / "translated.jsonl"
    assert vedette("translate", rules, "-o", out, "-q").exit_code == 0
    said = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record["id"] for record in said] == ["p1", "p2", "p3", "p4", "p5"]
    assert said[0]["origin"] == {"title": "It stops", "level": "high"}
    assert all("dialect" not in record for record in said)
    assert said[4]["expires"] == "2999-01-01T00:00:00+00:00"
    assert {**said[4], "expires": "2999-01-01"} == records[4]
    answers = [vedette("match", place, events, "-o", "-", "-q").stdout for place in (rules, out)]
    assert answers[0] == answers[1]
    assert pairs("\n".join(answers[0].splitlines()[:2])) == FOUND[:2]


def test_translations_for_people(rules: Path) -> None:
    told = vedette("translate", rules, "--text").stdout
    assert told.startswith(
        "-- p1: It stops (level high, eventbridge)\nany(strings(state)) = 'stopped'\n\n-- p2: (event"
    )
    assert told.endswith("\n\n-- p4\nn = 1\n")


def test_what_cannot_be_translated_is_not_written(rules: Path, tmp_path: Path) -> None:
    write_lines(rules, [*RULES, {"id": "bad", "dialect": "eventbridge", "when": {"state": "stopped"}}])
    out = tmp_path / "out.jsonl"
    result = vedette("translate", rules, "-o", out)
    assert result.exit_code == 1
    assert "subscription 'bad'" in result.stderr
    assert not out.exists()


# ---------------------------------------------------------------- folders of Sigma rules


def test_a_folder_of_rules(folder: Path, processes: Path) -> None:
    result = vedette("match", folder, processes, "-o", "-", "--dialect", "sigma", "-q")
    assert result.exit_code == 0
    assert pairs(result.stdout) == [("e1", FIRST)]
    origin = json.loads(result.stdout)["origin"]
    assert {**origin, "tags": ["attack.t1033"]} == origin
    assert (origin["title"], origin["level"], origin["author"]) == ("Whoami", "high", "me")
    assert origin["file"] == "windows/whoami.yml"
    assert "1 rule says what cannot be matched, and is left out" in result.stderr
    assert f"vedette check {folder} --dialect sigma" in result.stderr


def test_strictly_nothing_is_left_out(folder: Path, processes: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    result = vedette("match", folder, processes, "-o", out, "--dialect", "sigma", "--strict")
    assert result.exit_code == 1
    assert f"{folder}/ahead.yaml, rule '{SECOND}'\n" in result.stderr
    assert not out.exists()


def test_check_says_of_every_rule_why_it_cannot_be_translated(folder: Path) -> None:
    (folder / "wrong.yml").write_text(WRONG)
    result = vedette("check", folder, "--dialect", "sigma")
    assert result.exit_code == 1
    assert f"Error: {folder}/ahead.yaml, rule '{SECOND}'\n" in result.stderr
    assert f"Error: {folder}/wrong.yml, rule 'wrong'\n" in result.stderr
    assert f"{folder}: 1 filter; 2 errors, 0 warnings." in result.stdout
    said = json.loads(vedette("check", folder, "--dialect", "sigma", "--json").stdout)
    assert [(found["code"], found["file"]) for found in said["findings"]] == [
        ("unsupported", f"{folder}/ahead.yaml"),
        ("rule", f"{folder}/wrong.yml"),
    ]


def test_a_rule_that_is_wrong_ends_it(folder: Path, processes: Path) -> None:
    (folder / "wrong.yml").write_text(WRONG)
    result = vedette("match", folder, processes, "-o", "-", "--dialect", "sigma")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "wrong.yml, rule 'wrong'" in result.stderr
    assert "ahead.yaml" not in result.stderr


def test_one_file_of_several_rules(folder: Path, processes: Path, tmp_path: Path) -> None:
    file = tmp_path / "both.yml"
    file.write_text(f"{WHOAMI}---\n{LOOKS_AHEAD}")
    result = vedette("match", file, processes, "-o", "-", "--dialect", "sigma", "-q")
    assert pairs(result.stdout) == [("e1", FIRST)]
    from_input = vedette(
        "match", "-", processes, "-o", "-", "--dialect", "sigma", "--subscriptions-format", "yaml", stdin=WHOAMI
    )
    assert pairs(from_input.stdout) == [("e1", FIRST)]


def test_a_folder_is_translated_and_explained(folder: Path, processes: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert vedette("translate", folder, "--dialect", "sigma", "-o", out, "-q").exit_code == 0
    direct = vedette("match", folder, processes, "-o", "-", "--dialect", "sigma", "-q")
    assert vedette("match", out, processes, "-o", "-", "-q").stdout == direct.stdout
    told = vedette("explain", folder, processes, "--dialect", "sigma", "-s", FIRST, "-e", "e2", "-q").stdout
    assert "Rule Whoami (level high, sigma)\nThe event does not match." in told
    covered = vedette("cover", folder, "--dialect", "sigma", "-o", "-")
    assert json.loads(covered.stdout)["subscription"] == FIRST
    assert "1 rule says what cannot be matched" in covered.stderr


def test_a_pipeline_renames_fields(folder: Path, tmp_path: Path) -> None:
    pipeline = tmp_path / "renamed.yml"
    pipeline.write_text(
        "name: renamed\npriority: 1\ntransformations:\n- id: image\n  type: field_name_mapping\n"
        "  mapping: {Image: process.executable}\n"
    )
    events = write_lines(tmp_path / "e.jsonl", [{"id": "e1", "process": {"executable": "C:\\whoami.exe"}}])
    result = vedette("match", folder, events, "-o", "-", "--dialect", "sigma", "--pipeline", pipeline, "-q")
    assert pairs(result.stdout) == [("e1", FIRST)]
