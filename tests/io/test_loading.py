from __future__ import annotations

from pathlib import Path

import pytest

from vedette.filters.subscription_records import Predict
from vedette.io.loading import load_rows
from vedette.io.subscription_problems import BadSubscriptions
from vedette.io.subscriptions import read_subscriptions
from vedette.schema.schema import Schema

SCHEMA = Schema.of({"x": "int"})
LINES = """{"id": "f", "when": "x = 1"}
{"id": "p", "when": "[x = 1] , [x = 2]", "subscriber": "ada", "predict": {"within": 3, "features": ["x > 0"]}}
{"id": "q", "when": "[x = 1] , [x = 2]"}
"""


def test_patterns_are_taken_where_they_can_be_matched(tmp_path: Path) -> None:
    place = tmp_path / "s.jsonl"
    place.write_text(LINES)
    subscriptions = load_rows(read_subscriptions(place), SCHEMA, patterns=True)
    assert list(subscriptions) == ["f", "p", "q"]
    assert subscriptions.patterns["p"].predict == Predict(3, 0.5, ("x > 0",))
    assert subscriptions.subscriber("p") == "ada"


def test_elsewhere_every_one_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "s.jsonl"
    place.write_text(LINES)
    with pytest.raises(BadSubscriptions) as found:
        load_rows(read_subscriptions(place), SCHEMA)
    said = str(found.value)
    assert "subscription 'p'\n  `predict` asks for forecasts of patterns: only filters are matched here" in said
    assert "subscription 'q'\n  a pattern over several events: only filters are matched here" in said
    assert "2 subscriptions are bad" in said


def test_errors_of_patterns_have_their_place(tmp_path: Path) -> None:
    place = tmp_path / "s.yaml"
    place.write_text("- id: p\n  when: |\n    [x = 1] ;\n    [y = 2]\n")
    with pytest.raises(BadSubscriptions) as found:
        load_rows(read_subscriptions(place), SCHEMA, patterns=True)
    assert "line 2, column 2: unknown attribute y\n    [y = 2]\n     ^" in str(found.value)


def test_filters_that_call_operators_are_taken_only_where_operators_are(tmp_path: Path) -> None:
    place = tmp_path / "s.jsonl"
    place.write_text('{"id": "f", "when": "x > 1"}\n{"id": "o", "when": "near(x)"}\n')
    assert list(load_rows(read_subscriptions(place), SCHEMA, patterns=True)) == ["f", "o"]
    with pytest.raises(BadSubscriptions, match="line 2, subscription 'o'\n  a filter that calls operators: only"):
        load_rows(read_subscriptions(place), SCHEMA)
