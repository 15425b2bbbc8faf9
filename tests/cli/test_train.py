"""`vedette train`, and what `match` and `explain` make of the model."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.cli.session import files_in, vedette, write_lines
from vedette.patterns.forecasts.model import Model

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


# ---------------------------------------------------------------- operators

OPERATORS = """
from vedette.operators.operator import operator

@operator(reads=("temp",), time_limit=None)
def warm(event, least):
    if event["temp"] is None:
        raise ValueError("no temperature")
    return event["temp"] >= least

@operator(reads=("city",), time_limit=None)
def known(event):
    return True
"""
BOTH = {"id": "both", "when": "known() and warm(34)"}
CALLED = {"id": "called", "when": "[warm(30)]{4} by city", "predict": {"within": 3, "threshold": 0.5}}
UNFORECAST = {"id": "unforecast", "when": "[known() and warm(31)] , [temp < 30] by city"}


def _evaluations(said: str) -> int:
    """How many were made."""
    found = re.search(r"([\d,]+) evaluations? of [\d,]+ that subscriptions speak of", said)
    assert found is not None, said
    return int(found[1].replace(",", ""))


@pytest.fixture
def operators(tmp_path: Path) -> Path:
    path = tmp_path / "operators.py"
    path.write_text(OPERATORS)
    return path


@pytest.mark.parametrize(
    ("subscriptions", "said"),
    [
        ([BOTH, SUBSCRIPTIONS[0]], "1 filter with operators"),
        ([UNFORECAST], "1 pattern"),
        ([BOTH, CALLED, UNFORECAST, *SUBSCRIPTIONS], "1 filter with operators, 3 patterns"),
    ],
)
def test_what_operators_say_and_cost_is_learnt_too(
    subscriptions: list[dict[str, Any]], said: str, operators: Path, tmp_path: Path
) -> None:
    place = write_lines(tmp_path / "s.jsonl", subscriptions)
    history = write_lines(tmp_path / "history.jsonl", _days(1, 500))
    model = tmp_path / "m"
    result = vedette("train", place, history, "-o", model, "--operators", operators)
    assert result.exit_code == 0, result.stderr
    assert f"500 events, {said}: {model} is written" in result.stderr
    assert _evaluations(result.stderr) > 0
    assert "Warning" not in result.stderr
    learnt = Model.load(model)
    assert learnt.operators is not None
    observed = learnt.operators.plain()["observed"]
    assert {"known()", "known() costs"} <= observed.keys()
    assert len(learnt) == sum("predict" in each for each in subscriptions)
    events = write_lines(tmp_path / "events.jsonl", _days(2, 60))
    plain = vedette("match", place, events, "-o", "-", "--operators", operators)
    with_model = vedette("match", place, events, "-o", "-", "--operators", operators, "--model", model)
    matches = [
        [row for row in map(json.loads, result.stdout.splitlines()) if row["kind"] == "match"]
        for result in (plain, with_model)
    ]
    assert matches[0] == matches[1]
    # That known() is always true is known from the first event on.
    assert _evaluations(with_model.stderr) < _evaluations(plain.stderr)
    assert "changes nothing" not in with_model.stderr


def test_patterns_learn_the_same_from_operators_as_from_attributes(
    model: Path, operators: Path, tmp_path: Path
) -> None:
    subscriptions = write_lines(tmp_path / "called.jsonl", [CALLED])
    place = tmp_path / "called.model"
    result = vedette("train", subscriptions, tmp_path / "history.jsonl", "-o", place, "--operators", operators)
    assert result.exit_code == 0
    events = write_lines(tmp_path / "events.jsonl", _days(2, 400))
    told = []
    arguments = [(tmp_path / "subscriptions.jsonl", "--model", model), (subscriptions, "--model", place)]
    for file, *options in arguments:
        rows = vedette("match", file, events, "-o", "-", "--operators", operators, *options).stdout.splitlines()
        found = map(json.loads, rows)
        told.append([{**row, "subscription": ""} for row in found if row["subscription"] in ("heat", "called")])
    assert told[0] == told[1]
    assert any(row["kind"] == "prediction" for row in told[0])
    said = vedette(
        *("explain", subscriptions, events, "-s", "called", "-e", "d9", "--operators", operators, "--model", place)
    )
    assert said.exit_code == 0
    assert "% that it completes within 3 events" in said.stdout
    assert "Warning" not in said.stderr


def test_failures_in_the_history_are_told(operators: Path, tmp_path: Path) -> None:
    place = write_lines(tmp_path / "s.jsonl", [BOTH])
    days = [*_days(1, 20), {"id": "x", "city": "a"}]
    history = write_lines(tmp_path / "history.jsonl", days)
    result = vedette("train", place, history, "-o", tmp_path / "m", "--operators", operators)
    assert result.exit_code == 0
    assert "operator warm, event x: ValueError: no temperature" in result.stderr
    assert "Warning: warm failed 1 time: 1 error; what it would have said is unknown" in result.stderr


def test_wrong_calls_make_no_model(operators: Path, tmp_path: Path) -> None:
    history = write_lines(tmp_path / "history.jsonl", _days(1, 4))
    wrong = [
        BOTH | {"id": "b1", "when": "warn(34)"},
        CALLED | {"id": "b2", "when": "[warm()]{2}"},
        HEAT | {"id": "b3", "predict": {"within": 3, "features": ["temp > 3", "knwon()"]}},
    ]
    place = write_lines(tmp_path / "s.jsonl", wrong)
    before = files_in(tmp_path)
    result = vedette("train", place, history, "-o", tmp_path / "m", "--operators", operators)
    assert result.exit_code == 1
    assert "line 1, subscription 'b1'\n  line 1, column 1: there is no operator 'warn'" in result.stderr
    assert "line 2, subscription 'b2'\n  line 1, column 2: warm has 0 arguments" in result.stderr
    assert "line 3, subscription 'b3'\n  line 1, column 1: feature 2 of `predict`: there is no operator 'knwon'" in (
        result.stderr
    )
    assert "3 subscriptions are bad; nothing was written." in result.stderr
    assert files_in(tmp_path) == before
    without = vedette("train", write_lines(tmp_path / "b.jsonl", [BOTH]), history, "-o", tmp_path / "m")
    assert without.exit_code == 1
    assert "--operators FILE brings others" in without.stderr


def test_what_a_model_is_not_about_is_said(model: Path, operators: Path, tmp_path: Path) -> None:
    events = write_lines(tmp_path / "events.jsonl", _days(2, 20))
    place = write_lines(tmp_path / "s.jsonl", [BOTH])
    said = vedette("match", place, events, "-o", "-", "--operators", operators, "--model", model).stderr
    assert "The model knows nothing of operators: what they cost is learnt as events come" in said
    plain = write_lines(tmp_path / "plain.jsonl", [SUBSCRIPTIONS[0]])
    said = vedette("match", plain, events, "-o", "-", "--model", model).stderr
    assert "--planner and --model change nothing here" in said
    history = tmp_path / "history.jsonl"
    result = vedette("train", tmp_path / "subscriptions.jsonl", history, "-o", model, "--operators", operators)
    assert "Nothing calls an operator: --operators changes nothing here" in result.stderr
