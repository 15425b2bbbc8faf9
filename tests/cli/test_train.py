"""`vedette train`, and what `match` and `explain` make of the model."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.cli.session import files_in, vedette, write_lines

HEAT = {"id": "heat", "when": "[temp > 30]{4} by city", "predict": {"within": 3, "threshold": 0.5}}
SUBSCRIPTIONS = [{"id": "hot", "when": "temp > 30"}, HEAT, {"id": "other", "when": "[temp > 30] , [temp < 0] by city"}]


def _days(seed: int, count: int) -> list[dict[str, Any]]:
    """Warm days stay warm, and cold ones cold, in two cities."""
    random = Random(seed)
    temp = {"a": 20, "b": 20}
    days = []
    for number in range(count):
        city = "ab"[number % 2]
        if random.random() < 0.25:
            temp[city] = random.choice([20, 35])
        days.append({"id": f"d{number}", "city": city, "temp": temp[city]})
    return days


@pytest.fixture
def model(tmp_path: Path) -> Path:
    place = tmp_path / "heat.model"
    history = write_lines(tmp_path / "history.jsonl", _days(1, 2000))
    subscriptions = write_lines(tmp_path / "subscriptions.jsonl", SUBSCRIPTIONS)
    result = vedette("train", subscriptions, history, "-o", place)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    assert f"2,000 events, 1 pattern: {place} is written" in result.stderr
    return place


def test_predictions_come_before_matches(model: Path, tmp_path: Path) -> None:
    events = write_lines(tmp_path / "events.jsonl", _days(2, 400))
    result = vedette("match", tmp_path / "subscriptions.jsonl", events, "-o", "-", "--model", model)
    assert result.exit_code == 0, result.stderr
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    numbers = [int(row["event"][1:]) for row in rows]
    assert numbers == sorted(numbers)
    predictions = [row for row in rows if row["kind"] == "prediction"]
    matches = [row for row in rows if row["subscription"] == "heat" and row["kind"] == "match"]
    assert predictions
    assert matches
    for row in predictions:
        assert row["subscription"] == "heat"
        assert 0.5 <= row["probability"] <= 1
        assert row["within"] == 3
        assert list(row["steps"].values())[-1] == row["event"]
        assert len(row["steps"]) < 4
    assert f"{len(predictions):,} predictions" in result.stderr
    witnessed = {next(iter(row["steps"].items())) for row in matches}
    assert sum(next(iter(row["steps"].items())) in witnessed for row in predictions) > len(predictions) / 3


def test_the_forecast_is_explained_and_drawn(model: Path, tmp_path: Path) -> None:
    days = [{"id": f"d{number}", "city": "a", "temp": temp} for number, temp in enumerate([20, 35, 35, 35])]
    events = write_lines(tmp_path / "events.jsonl", days)
    picture = tmp_path / "machine.svg"
    arguments = (tmp_path / "subscriptions.jsonl", events, "-s", "heat", "-e", "d3", "--model", model)
    said = vedette("explain", *arguments, "--picture", picture).stdout
    assert "Forecast: " in said
    assert "% that it completes within 3 events (which is told)" in said
    assert "- by state, seen " in said
    assert "%" in picture.read_text()
    cold = vedette("explain", *arguments[:-3], "d0", "--model", model).stdout
    assert "told from 50% on" in cold
    without = vedette("explain", tmp_path / "subscriptions.jsonl", events, "-s", "heat", "-e", "d0").stdout
    assert "Forecast: nothing has been learnt of this pattern so far" in without


@pytest.mark.parametrize(
    ("subscriptions", "told"),
    [
        ([{"id": "hot", "when": "temp > 30"}], "has no pattern that asks for forecasts"),
        ([{"id": "heat", "when": "[temp >]{4}", "predict": {"within": 3}}], "line 1, column 8"),
    ],
)
def test_nothing_to_learn(subscriptions: list[dict[str, Any]], told: str, tmp_path: Path) -> None:
    place = write_lines(tmp_path / "s.jsonl", subscriptions)
    history = write_lines(tmp_path / "history.jsonl", _days(1, 4))
    before = files_in(tmp_path)
    result = vedette("train", place, history, "-o", tmp_path / "x.model")
    assert result.exit_code == 1
    assert told in result.stderr
    assert files_in(tmp_path) == before


def test_what_a_model_does_not_know_is_said(model: Path, tmp_path: Path) -> None:
    events = write_lines(tmp_path / "events.jsonl", _days(2, 20))
    known = tmp_path / "subscriptions.jsonl"
    fine = vedette("match", known, events, "-o", "-", "--model", model)
    assert "Warning" not in fine.stderr
    assert "Forecasts begin from nothing" not in fine.stderr
    without = vedette("match", known, events, "-o", "-")
    assert without.stderr.count("Forecasts begin from nothing") == 1
    spaced = HEAT | {"id": "same", "when": "[temp>30]{4}  by city"}
    changed = HEAT | {"id": "changed", "when": "[temp > 31]{4} by city"}
    others = write_lines(tmp_path / "others.jsonl", [spaced, changed])
    told = "Warning: the model knows nothing of 1 pattern that forecasts are asked for: 'changed' (it knows patterns by"
    assert told in vedette("match", others, events, "-o", "-", "--model", model).stderr
    assert told in vedette("explain", others, events, "-s", "changed", "-e", "d1", "--model", model).stderr
    nothing = write_lines(tmp_path / "nothing.jsonl", [SUBSCRIPTIONS[2]])
    unused = vedette("match", nothing, events, "-o", "-", "--model", model)
    assert unused.exit_code == 0
    assert "Warning: no pattern asks for forecasts (with `predict`): --model changes nothing here" in unused.stderr


@pytest.mark.parametrize(
    ("history", "told"),
    [
        ([], "history.jsonl: it has no events\nHint: "),
        (["oops"], "history.jsonl: all of its events are rejected\nHint"),
    ],
)
def test_an_empty_history_makes_no_model(history: list[str], told: str, tmp_path: Path) -> None:
    place = write_lines(tmp_path / "s.jsonl", [HEAT])
    result = vedette("train", place, write_lines(tmp_path / "history.jsonl", history), "-o", tmp_path / "x.model")
    assert result.exit_code == 1
    assert told in result.stderr
    assert not (tmp_path / "x.model").exists()


def test_a_history_that_a_pattern_does_not_see_is_said(tmp_path: Path) -> None:
    place = write_lines(tmp_path / "s.jsonl", [HEAT])
    history = write_lines(tmp_path / "history.jsonl", [{"id": "d0", "temp": 35, "city": None}])
    result = vedette("train", place, history, "-o", tmp_path / "x.model")
    assert result.exit_code == 0
    assert "Warning: the model knows nothing of 1 pattern that forecasts are asked for: 'heat'" in result.stderr


def test_rejected_events_are_not_learnt_from(tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [HEAT])
    schema = write_lines(tmp_path / "schema.json", [{"id": "string", "city": "string", "temp": "float"}])
    history = write_lines(tmp_path / "h.jsonl", [*_days(1, 20), "oops", {"id": "x", "city": "a", "temp": "warm"}])
    aside = tmp_path / "aside.jsonl"
    result = vedette(
        "train", subscriptions, history, "-o", tmp_path / "m", "--schema", schema, "--rejects", aside, "--quiet"
    )
    assert result.exit_code == 0
    assert "2 of 22 events rejected" in result.stderr
    assert [json.loads(line)["line"] for line in aside.read_text().splitlines()] == [21, 22]


def test_a_place_that_cannot_be_written_is_known_at_once(tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [HEAT])
    for place in (tmp_path / "nowhere" / "m", tmp_path):
        result = vedette("train", subscriptions, tmp_path / "no-history.jsonl", "-o", place)
        assert result.exit_code == 1
        assert f"cannot write {place}" in result.stderr


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [HEAT])
    events = write_lines(tmp_path / "e.jsonl", _days(1, 4))
    result = vedette("match", subscriptions, events, "-o", "-", "--model", events)
    assert result.exit_code == 1
    assert "is not a model" in result.stderr
