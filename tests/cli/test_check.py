"""`vedette check`: all problems at once, errors apart from warnings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.session import SUBSCRIPTIONS, vedette, write_lines

PROBLEMS = [
    {"id": "syntax", "when": "price <"},
    {"id": "unknown", "when": "prise > 3"},
    {"id": "type", "when": "issue > 3"},
    {"id": "never", "when": "price > 3 and price < 2"},
    {"id": "always", "when": "price is null or price is not null"},
    {"id": "redundant", "when": "price > 3 and price > 2"},
    {"id": "never", "when": "price > 3"},
    {"id": "pattern", "when": "a:[price > 3] ; [price < 2]"},
    {"id": "operator", "when": "mentions(issue, 'storm') and price > 3"},
    "{broken",
]


def _schema(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "schema.json", [{"issue": "string", "price": "float", "volume": "int"}])


def test_all_is_well(subscriptions: Path, tmp_path: Path) -> None:
    result = vedette("check", subscriptions, "--schema", _schema(tmp_path))
    assert result.exit_code == 0
    assert result.stdout == f"{subscriptions}: 3 filters; no problems.\n"
    assert result.stderr == ""


def test_everything_is_found_at_once(tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", PROBLEMS)
    result = vedette("check", subscriptions, "--schema", _schema(tmp_path))
    assert result.exit_code == 1
    errors = result.stderr
    assert errors.count("Error: ") == 5
    assert "line 1, subscription 'syntax'\n  line 1, column 8: expected a value" in errors
    assert "    price <\n           ^" in errors
    assert "line 2, subscription 'unknown'\n  line 1, column 1: unknown attribute prise" in errors
    assert "Hint: did you mean price?" in errors
    assert "line 3, subscription 'type'" in errors
    assert "line 7\n  the id 'never' is taken by line 4" in errors
    assert "line 10\n  not JSON" in errors
    warnings = result.stdout
    assert warnings.count("Warning: ") == 5
    assert "line 4, subscription 'never'" in warnings
    assert "can never" in warnings
    assert "line 5, subscription 'always'\n  line 1, column 1: this filter matches every event" in warnings
    assert "price > 2 adds nothing beside price > 3" in warnings
    assert "3 filters, 1 filter with operators, 1 pattern; 5 errors, 5 warnings." in warnings


def test_warnings_alone_are_fine(tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "s1", "when": "price > 3 and price < 2"}])
    result = vedette("check", subscriptions)
    assert result.exit_code == 0
    assert result.stderr == ""
    assert "0 errors, 1 warning." in result.stdout


def test_keys_that_mean_nothing_are_told_once(tmp_path: Path) -> None:
    record = {"id": "s1", "subscriber": "a", "when": "price > 3", "note": "n", "subscribers": ["a"]}
    misspelt = {"id": "s3", "whne": "price > 3"}
    result = vedette("check", write_lines(tmp_path / "s.jsonl", [record, record | {"id": "s2"}, misspelt]))
    assert result.exit_code == 1
    assert "line 3\n  `whne` is no part of a subscription\n  Hint: did you mean `when`?" in result.stderr
    assert result.stdout.count("Warning: ") == 2
    assert "line 1, subscription 's1'\n  `note` is no part of a subscription, and changes nothing" in result.stdout
    assert "Hint: its parts are `id`, `subscriber`, `when`, " in result.stdout
    assert "`subscribers` is no part" in result.stdout
    assert "Hint: did you mean `subscriber`?" in result.stdout
    assert "2 filters; 1 error, 2 warnings." in result.stdout


def test_patterns_are_checked_step_by_step(tmp_path: Path) -> None:
    subscriptions = write_lines(
        tmp_path / "s.jsonl",
        [{"id": "p1", "when": "[price > 3] ; [prise < 2]"}, {"id": "p2", "when": "[price > 3 and price < 2]{2}"}],
    )
    result = vedette("check", subscriptions, "--schema", _schema(tmp_path))
    assert result.exit_code == 1
    assert "subscription 'p1'\n  line 1, column 16: unknown attribute prise" in result.stderr
    assert "subscription 'p2'" in result.stdout


def test_all_mistakes_of_a_pattern_are_told(tmp_path: Path) -> None:
    when = "[isue = 'IBM'] ; [issue = 3] ; [price > 3] by isssue"
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "p1", "when": when}])
    result = vedette("check", subscriptions, "--schema", _schema(tmp_path))
    assert result.exit_code == 1
    assert [line.split(":")[0].strip() for line in result.stderr.splitlines() if "column" in line] == [
        "line 1, column 2",
        "line 1, column 27",
        "line 1, column 47",
    ]
    assert "unknown attribute isssue to partition by" in result.stderr
    assert "3 errors" in result.stdout


def test_what_is_said_of_patterns(tmp_path: Path) -> None:
    patterns = [
        {"id": "late", "when": "a:[price > 3] ; b:[price < 2] @ (t(b) - t(a) > 2 h) within 1 h"},
        {"id": "loose", "when": "[price > 3] ; [price < 2]"},
        {"id": "unbound", "when": "[price > $x] ; [price = $x] within 1 h"},
        {"id": "feature", "when": "[price > 3]{2}", "predict": {"within": 3, "features": ["volume > 'a'"]}},
        {"id": "good", "when": "[price > 3]{2}", "predict": {"within": 3, "features": ["volume > 5"]}},
    ]
    subscriptions = write_lines(tmp_path / "s.jsonl", patterns)
    result = vedette("check", subscriptions, "--schema", _schema(tmp_path))
    assert result.exit_code == 1
    assert "subscription 'late'\n  line 1, column 34: t(b) - t(a) > 2 h can never hold: the whole" in result.stdout
    assert "subscription 'loose'\n  line 1, column 1: nothing but the cap bounds" in result.stdout
    assert "subscription 'unbound'\n  line 1, column 2: " in result.stderr
    assert "subscription 'feature'\n  line 1, column 10: feature 1 of `predict`: " in result.stderr
    assert "volume > 'a'" in result.stderr
    assert "subscription 'good'" not in result.stdout + result.stderr
    assert "the patterns 'late', 'loose', 'good' have no partition: on Spark one process" in result.stdout


def test_a_pattern_with_a_partition_spreads_out(tmp_path: Path) -> None:
    shared = "[price > 3 and issue = $x] ; [price < 2 and issue = $x] within 1 h"
    patterns = [{"id": "by", "when": "[price > 3]{2} by issue"}, {"id": "shared", "when": shared}]
    result = vedette("check", write_lines(tmp_path / "s.jsonl", patterns), "--schema", _schema(tmp_path))
    assert result.exit_code == 0
    assert "no partition" not in result.stdout


def test_as_json(tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", PROBLEMS)
    result = vedette("check", subscriptions, "--schema", _schema(tmp_path), "--json")
    assert result.exit_code == 1
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert (found["errors"], found["warnings"], found["patterns"]) == (5, 4, 1)
    assert [finding["line"] for finding in found["findings"]] == [1, 2, 3, 4, 5, 6, 7, 8, 10]
    assert [finding["code"] for finding in found["findings"]] == [
        *("syntax", "meaning", "meaning", "never", "always", "redundant", "record", "unbounded", "record")
    ]
    unknown = found["findings"][1]
    assert unknown["severity"] == "error"
    assert unknown["subscription"] == "unknown"
    assert unknown["at"] == {"line": 1, "column": 1, "start": 0, "end": 5}
    assert "price" in unknown["hint"]


def test_places_in_texts_of_several_lines(tmp_path: Path) -> None:
    subscriptions = tmp_path / "s.yaml"
    subscriptions.write_text(yaml.safe_dump([{"id": "s1", "when": "price > 3\n  and\n  issue = IBM Corp"}]))
    result = vedette("check", subscriptions)
    assert result.exit_code == 1
    assert "line 1, subscription 's1'\n  line 3, column" in result.stderr
    assert "issue = IBM Corp" in result.stderr


def test_too_much_is_refused(tmp_path: Path) -> None:
    wide = " and ".join(f"(any(tags) contains '{i}' or any(names) contains '{i}')" for i in range(20))  # of lists
    deep = "(" * 5000 + "a = 1" + ")" * 5000
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "wide", "when": wide}, {"id": "deep", "when": deep}])
    result = vedette("check", subscriptions, "--json")
    assert result.exit_code == 1
    assert [finding["code"] for finding in json.loads(result.stdout)["findings"]] == ["limit", "limit"]


def test_a_forecast_needs_a_pattern(tmp_path: Path) -> None:
    forecast = {"within": 10, "threshold": 0.8}
    subscriptions = write_lines(
        tmp_path / "s.jsonl",
        [
            {"id": "f", "when": "price > 3", "predict": forecast},
            {"id": "p", "when": "[price > 3] ; [price < 2]", "predict": forecast},
        ],
    )
    result = vedette("check", subscriptions)
    assert result.exit_code == 1
    assert result.stderr.count("Error: ") == 1
    assert "subscription 'f'\n  `predict` asks for forecasts" in result.stderr


def test_quiet_and_standard_input() -> None:
    text = "".join(f"{json.dumps(record)}\n" for record in [*SUBSCRIPTIONS, {"id": "x", "when": "a = 1 and a = 2"}])
    result = vedette("check", "-", "--quiet", stdin=text)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert "standard input: 4 filters" in vedette("check", "-", stdin=text).stdout


OPERATORS = """
from vedette.operators.operator import operator

@operator
def near(event, place):
    return True

@operator(outputs=1)
def people(event):
    return [1]
"""
CALLS = [
    {"id": "good", "when": "near('Rome') and people(?n) and ?n > 3"},
    {"id": "unknown", "when": "price > 3 and naer('Rome')"},
    {"id": "number", "when": "near('Rome', 5)"},
    {"id": "input", "when": "near(?x)"},
    {"id": "unbound", "when": "near('Rome') and ?n > 3"},
    {"id": "under not", "when": "not people(?n)"},
    {"id": "step", "when": "[price > 3] , [neer('Rome')]"},
]


def test_calls_are_checked_where_operators_are_known(tmp_path: Path) -> None:
    operators = tmp_path / "operators.py"
    operators.write_text(OPERATORS)
    subscriptions = write_lines(tmp_path / "s.jsonl", CALLS)
    result = vedette("check", subscriptions, "--operators", operators)
    assert result.exit_code == 1
    told = result.stderr
    assert told.count("Error: ") == 6
    assert "'unknown'\n  line 1, column 15: there is no operator 'naer'" in told
    assert "    price > 3 and naer('Rome')\n                  ^^^^^^^^^^^^\n  Hint: did you mean near?" in told
    assert "'number'\n  line 1, column 1: near has 2 arguments, and takes 1" in told
    assert "'input'\n  line 1, column 6: ?x stands where the operator is given a value" in told
    assert "'unbound'\n  line 1, column 18: nothing binds" in told
    assert "'under not'\n  line 1, column 12: nothing binds" in told
    assert "'step'\n  line 1, column 16: there is no operator 'neer'" in told
    assert "1 filter with operators; 6 errors, 0 warnings." in result.stdout


def test_operators_that_are_installed_are_known(tmp_path: Path) -> None:
    calls = [{"id": "good", "when": "mentions(issue, 'storm')"}, {"id": "bad", "when": "mentions(issue, '!')"}]
    result = vedette("check", write_lines(tmp_path / "s.jsonl", calls))
    assert result.exit_code == 1
    assert result.stderr.count("Error: ") == 1
    assert "'bad'\n  line 1, column 1: '!' has no word that mentions could look for" in result.stderr


def test_a_file_of_operators_that_is_not_there(subscriptions: Path, tmp_path: Path) -> None:
    result = vedette("check", subscriptions, "--operators", tmp_path / "none.toml")
    assert result.exit_code == 1
    assert "none.toml: there is no such file" in result.stderr


def test_filters_whose_operators_nobody_asks(tmp_path: Path) -> None:
    never = [
        "price > 3 and price < 2 and mentions(issue, 'storm')",
        "(price > 3 and price < 2 and mentions(issue, 'a')) or (mentions(issue, 'b') and price = 1 and price = 2)",
        "false and mentions(issue, 'storm')",
    ]
    both = [*never, "price > 3 and price < 2 and mentions(issue, 'a') or mentions(issue, 'b')"]
    records = [{"id": f"s{number}", "when": text} for number, text in enumerate(both)]
    result = vedette("check", write_lines(tmp_path / "s.jsonl", records), "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)["findings"]
    whole = [each["subscription"] for each in found if each["message"].startswith("this filter can never match")]
    assert whole == ["s0", "s1", "s2"]


def test_an_operator_that_is_not_there_may_be_in_a_file(tmp_path: Path) -> None:
    subscriptions = write_lines(
        tmp_path / "s.jsonl",
        [
            {"id": "s", "when": "halved(2)"},
            {"id": "p", "when": "[x = 1]{2}", "predict": {"within": 2, "features": ["x = 1", "halved(2)"]}},
        ],
    )
    result = vedette("check", subscriptions)
    assert result.exit_code == 1
    assert "there is no operator 'halved'" in result.stderr
    assert "feature 2 of `predict`: there is no operator 'halved'" in result.stderr
    assert result.stderr.count("; --operators FILE brings others") == 2
    operators = tmp_path / "operators.py"
    operators.write_text("from vedette.operators.operator import operator\n@operator\ndef halved(event, n): ...\n")
    assert vedette("check", subscriptions, "--operators", operators).exit_code == 0
    misspelt = write_lines(tmp_path / "m.jsonl", [{"id": "s", "when": "halve(2)"}])
    said = vedette("check", misspelt, "--operators", operators).stderr
    assert "did you mean halved?" in said
    assert "brings others" not in said


@pytest.mark.parametrize(
    ("when", "lint"),
    [
        ("true or halved(2)", "this filter matches every event"),
        ("x > 1 or x <= 1 or x is null or halved(2)", "this filter matches every event"),
        ("halved(2) and x > 2 and x < 1", "this filter can never match"),
        ("halved(2) or x > 2", None),
        ("halved(2) or not halved(2)", None),
    ],
)
def test_filters_that_operators_cannot_change(when: str, lint: str | None, tmp_path: Path) -> None:
    operators = tmp_path / "operators.py"
    operators.write_text("from vedette.operators.operator import operator\n@operator\ndef halved(event, n): ...\n")
    schema = write_lines(tmp_path / "schema.json", [{"x": "int"}])
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "s", "when": when}])
    result = vedette("check", subscriptions, "--operators", operators, "--schema", schema)
    assert result.exit_code == 0
    assert (lint is None) == ("no problems" in result.stdout)
    assert lint is None or lint in result.stdout
