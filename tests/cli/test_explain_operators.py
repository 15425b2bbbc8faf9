"""`vedette explain` where filters and patterns call operators."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.session import vedette, write_lines

OPERATORS = """
from vedette.operators.operator import operator

@operator("zone.inside", reads=("zone",), time_limit=None)
def inside(event, name):
    return None if event["zone"] is None else event["zone"] == name

@operator("people", outputs=1, reads=("seen",), time_limit=None)
def people(event):
    if event["seen"] is None:
        raise ValueError("nobody was counted")
    return [event["seen"], 2 * event["seen"]]
"""
SUBSCRIPTIONS = [
    {"id": "crowd", "when": "zone.inside('Bronx') and people(?n) and ?n > 50 and speed < 20"},
    {"id": "queens", "when": "zone.inside('Queens') and people(?n)"},
    {"id": "moved", "when": "a:[zone.inside('Queens')] , b:[zone.inside('Bronx') and people(?n) and ?n > 100]"},
    {"id": "plain", "when": "speed < 20"},
]
EVENTS = [
    {"id": "e1", "seen": 30, "zone": "Bronx", "speed": 5.0},
    {"id": "e2", "seen": 10, "zone": "Bronx", "speed": 5.0},
    {"id": "e3", "seen": 61, "zone": "Queens", "speed": 15.0},
    {"id": "e4", "seen": 61, "zone": "Bronx", "speed": 50.0},
    {"id": "e5", "zone": "Bronx", "speed": 5.0},
]


@pytest.fixture
def arguments(tmp_path: Path) -> tuple[object, ...]:
    operators = tmp_path / "operators.py"
    operators.write_text(OPERATORS)
    subscriptions = write_lines(tmp_path / "s.jsonl", SUBSCRIPTIONS)
    return subscriptions, write_lines(tmp_path / "e.jsonl", EVENTS), "--operators", operators


def test_a_match_with_its_plan(arguments: tuple[object, ...]) -> None:
    result = vedette("explain", *arguments, "-s", "crowd", "-e", "e1", "--planner", "sequential")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[:7] == [
        "Subscription crowd, event e1",
        "The event matches.",
        "✓ zone.inside('Bronx') and people(?n) and ?n > 50 and speed < 20",
        "├─ ✓ zone.inside('Bronx')   true (evaluation 1 of 3)",
        "├─ ✓ people(?n)   found 30; 60 (evaluation 2 of 3)",
        "├─ ✓ ?n > 50   ?n = 60",
        "└─ ✓ speed < 20   speed was 5.0",
    ]
    assert "Bindings: ?n = 60" in result.stdout
    assert "Plan (sequential): 3 evaluations of 3 that were asked for, 0 saved." in result.stdout
    assert "zone.inside('Queens')  false   rules out queens" in result.stdout
    assert result.stderr == ""


def test_a_miss_that_operators_never_saw(arguments: tuple[object, ...]) -> None:
    said = vedette("explain", *arguments, "-s", "crowd", "-e", "e4").stdout
    assert "✗ speed < 20   speed was 50.0, needed < 20: missed by 30.0" in said
    assert "? zone.inside('Bronx')   not evaluated: the tests of attributes settle it" in said


def test_what_ruled_events_out(arguments: tuple[object, ...]) -> None:
    result = vedette("explain", *arguments, "-s", "crowd")
    assert result.stdout.startswith("Subscription crowd, all events\n1 match, 4 do not.\n")
    assert "What kept them from matching, most often first:\n" in result.stdout
    assert "           2   50.0%  people(?n) and ?n > 50\n" in result.stdout
    assert "           1   25.0%  zone.inside('Bronx')\n" in result.stdout
    assert "           1   25.0%  speed < 20\n" in result.stdout
    assert "for 4 of 5 events." in result.stdout
    assert "operator people, event e5: ValueError: nobody was counted" in result.stderr


def test_failures_are_told_once_and_briefly(arguments: tuple[object, ...]) -> None:
    result = vedette("explain", *arguments, "-s", "crowd", "-e", "e5")
    assert "? people(?n)   unknown: it failed, or does not know" in result.stdout
    assert "Ruled out by people(?n) and ?n > 50." in result.stdout
    assert result.stderr.count("nobody was counted") == 1
    assert vedette("explain", *arguments, "-s", "crowd", "-e", "e5", "--quiet").stderr == ""


def test_a_pattern(arguments: tuple[object, ...]) -> None:
    done = vedette("explain", *arguments, "-s", "moved", "-e", "e4").stdout
    assert "The event completes the pattern." in done
    assert "    a  e3" in done
    missed = vedette("explain", *arguments, "-s", "moved", "-e", "e2").stdout
    assert "takes no step of it" in missed
    assert "✗ zone.inside('Queens')   false" in missed
    overview = vedette("explain", *arguments, "-s", "moved").stdout
    assert "The pattern was completed 1 time." in overview
    assert "           1  a  a:[zone.inside('Queens')]" in overview
    assert "           1  b  b:[zone.inside('Bronx') and people(?n) and ?n > 100]" in overview


def test_a_model_and_a_picture_of_a_filter(arguments: tuple[object, ...], tmp_path: Path) -> None:
    model = tmp_path / "m"
    assert vedette("train", *arguments, "-o", model, "--quiet").exit_code == 0
    result = vedette("explain", *arguments, "-s", "queens", "-e", "e3", "--model", model)
    assert result.exit_code == 0
    assert "The event matches." in result.stdout
    assert "changes nothing" not in result.stderr
    drawn = vedette("explain", *arguments, "-s", "queens", "-e", "e3", "--picture", tmp_path / "x.svg")
    assert "A filter has no machine: --picture changes nothing here" in drawn.stderr
    assert not (tmp_path / "x.svg").exists()
    plain = vedette("explain", *arguments, "-s", "plain", "-e", "e3", "--model", model)
    assert "neither a machine nor a model" in plain.stderr


def test_an_operator_that_is_not_there(arguments: tuple[object, ...]) -> None:
    for id_, name in (("crowd", "zone.inside"), ("moved", "zone.inside")):
        result = vedette("explain", *arguments[:2], "-s", id_, "-e", "e1")
        assert result.exit_code == 1
        assert f"there is no operator '{name}'" in result.stderr
        assert "--operators FILE brings others" in result.stderr


def test_an_event_that_breaks_the_schema(arguments: tuple[object, ...], tmp_path: Path) -> None:
    schema = write_lines(tmp_path / "schema.json", [{"seen": "int", "zone": "string", "speed": "float"}])
    events = write_lines(tmp_path / "bad.jsonl", [{"id": "bad", "speed": "fast"}, *EVENTS])
    rest = ("--operators", arguments[3], "--schema", schema)
    result = vedette("explain", arguments[0], events, "-s", "crowd", "-e", "bad", *rest)
    assert result.exit_code == 1
    assert "event 'bad' breaks the schema, so `match` rejects it" in result.stderr
    overview = vedette("explain", arguments[0], events, "-s", "crowd", *rest).stdout
    assert "1 match, 4 do not. 1 more cannot be read or break the schema." in overview
