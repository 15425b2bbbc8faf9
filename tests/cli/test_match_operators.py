"""`vedette match` where filters call operators."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.session import files_in, vedette, write_lines
from vedette.cli.choices import PlannerChoice

OPERATORS = """
import time

import pyarrow.compute as pc

from vedette.operators.operator import operator

@operator("mobPattern", outputs=1, reads=("seen",))
def mob(event):
    return [event["seen"], 2 * event["seen"]]

@operator("zone.inside", batch=True, reads=("zone",))
def inside(events, name):
    return pc.equal(events["zone"], name)

@operator
def whole(event, name):
    return name in event

@operator(reads=("seen",))
def halved(event, number):
    if event["seen"] % number:
        raise ValueError(f"{event['seen']} cannot be divided")
    return True

@operator(reads=("seen",), time_limit=1.0)
def slow(event):
    if event["seen"] == 10:
        time.sleep(60)
    return True

@operator(outputs=2, reads=("zone",))
def halves(event):
    zone = event["zone"]
    return [(zone[:2], len(zone) / 2), (zone[2:], True)]
"""
SUBSCRIPTIONS = [
    {"id": "crowd", "when": "zone.inside('Bronx') and mobPattern(?people) and ?people > 50 and speed < 20"},
    {"id": "slow", "when": "speed < 20"},
    {"id": "elsewhere", "when": "not zone.inside('Bronx') and speed >= 10"},
    {"id": "noted", "when": "whole('note')"},
    {"id": "parts", "when": "halves(?part, ?size) and seen = 61"},
]
EVENTS = [
    {"id": "e1", "seen": 30, "zone": "Bronx", "speed": 5.0},
    {"id": "e2", "seen": 10, "zone": "Bronx", "speed": 5.0},
    {"id": "e3", "seen": 61, "zone": "Queens", "speed": 15.0, "note": "n"},
    {"id": "e4", "seen": 61, "zone": "Bronx", "speed": 15.5},
    {"id": "e5", "seen": 62, "speed": 50.0},
]


def _found(event: str, subscription: str, **bindings: Any) -> dict[str, Any]:
    row = {"event": event, "subscription": subscription, "kind": "match"}
    return row | ({"bindings": bindings} if bindings else {})


FOUND = [
    _found("e1", "crowd", people=60),
    _found("e1", "slow"),
    _found("e2", "slow"),
    _found("e3", "slow"),
    _found("e3", "elsewhere"),
    _found("e3", "noted"),
    _found("e3", "parts", part="Qu", size=3.0),
    _found("e4", "crowd", people=61),
    _found("e4", "slow"),
    _found("e4", "parts", part="Br", size=2.5),
]


@pytest.fixture
def operators(tmp_path: Path) -> Path:
    path = tmp_path / "operators.py"
    path.write_text(OPERATORS)
    return path


@pytest.fixture
def subscriptions(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "subscriptions.jsonl", SUBSCRIPTIONS)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "events.jsonl", EVENTS)


def _rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


# ---------------------------------------------------------------- what is found


def test_filters_with_and_without_operators_in_one_order(subscriptions: Path, events: Path, operators: Path) -> None:
    result = vedette("match", subscriptions, events, "-o", "-", "--operators", operators)
    assert result.exit_code == 0
    assert _rows(result.stdout) == FOUND
    first = '{"event": "e1", "subscription": "crowd", "kind": "match", "bindings": {"people": 60}}\n'
    assert result.stdout.startswith(first + '{"event": "e1", "subscription": "slow", "kind": "match"}\n')
    assert " evaluations of " in result.stderr
    assert "5 events against 5 subscriptions: 10 matches, 0 rejected" in result.stderr
    assert "Warning" not in result.stderr


@pytest.mark.parametrize("planner", list(PlannerChoice))
def test_every_planner_says_the_same(planner: str, subscriptions: Path, events: Path, operators: Path) -> None:
    result = vedette(
        "match", subscriptions, events, "-o", "-", "--operators", operators, "--planner", planner, "--quiet"
    )
    assert _rows(result.stdout) == FOUND
    assert result.stderr == ""


def test_from_csv(subscriptions: Path, operators: Path, tmp_path: Path) -> None:
    names = ("id", "seen", "zone", "speed")
    rows = [",".join(str(event.get(name, "")) for name in names) for event in EVENTS]
    events = tmp_path / "events.csv"
    events.write_text("\n".join([",".join(names), *rows]) + "\n")
    result = vedette("match", subscriptions, events, "-o", "-", "--operators", operators, "--quiet")
    assert _rows(result.stdout) == [row for row in FOUND if row["subscription"] != "noted"]


def test_from_parquet_to_parquet(subscriptions: Path, operators: Path, tmp_path: Path) -> None:
    events, out = tmp_path / "events.parquet", tmp_path / "out.parquet"
    names = ("id", "seen", "zone", "speed", "note", "unused")
    pq.write_table(pa.table({name: [event.get(name) for event in EVENTS] for name in names}), events)
    only_some = write_lines(tmp_path / "some.jsonl", [each for each in SUBSCRIPTIONS if each["id"] != "noted"])
    assert vedette("match", only_some, events, "-o", out, "--operators", operators, "--quiet").exit_code == 0
    table = pq.read_table(out)
    assert table.column_names == ["event", "subscription", "kind", "bindings"]
    assert table.schema.field("bindings").type == pa.map_(pa.string(), pa.string())
    expected = [row for row in FOUND if row["subscription"] != "noted"]
    assert table.drop_columns(["bindings"]).to_pylist() == [
        _found(row["event"], row["subscription"]) for row in expected
    ]
    texts = [
        [(name, value if isinstance(value, str) else str(value)) for name, value in row["bindings"].items()]
        if "bindings" in row
        else None
        for row in expected
    ]
    assert table.column("bindings").to_pylist() == texts


def test_an_operator_may_look_at_all_columns(operators: Path, tmp_path: Path) -> None:
    events = tmp_path / "events.parquet"
    pq.write_table(pa.table({"id": ["e1"], "seen": [1], "note": ["n"]}), events)
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "noted", "when": "whole('note') and seen = 1"}])
    result = vedette("match", subscriptions, events, "-o", "-", "--operators", operators, "--quiet")
    assert _rows(result.stdout) == [_found("e1", "noted")]


def test_without_variables_nothing_looks_different(events: Path, operators: Path, tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [SUBSCRIPTIONS[1], SUBSCRIPTIONS[3]])
    out = tmp_path / "out.parquet"
    assert vedette("match", subscriptions, events, "-o", out, "--operators", operators, "--quiet").exit_code == 0
    assert pq.read_table(out).column_names == ["event", "subscription", "kind"]


def test_places_of_a_settings_file(tmp_path: Path) -> None:
    square = [[[0, 0], [2, 0], [2, 2], [0, 2], [0, 0]]]
    feature = {
        "type": "Feature",
        "properties": {"name": "Square"},
        "geometry": {"type": "Polygon", "coordinates": square},
    }
    (tmp_path / "places.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    operators = tmp_path / "operators.toml"
    operators.write_text('[geo]\nplaces = "places.geojson"\nlocation = ["lon", "lat"]\n')
    when = "distanceFrom('Square', ?metres) and ?metres < 200000"
    subscriptions = write_lines(
        tmp_path / "s.jsonl", [{"id": "in", "when": "locIn('Square')"}, {"id": "near", "when": when}]
    )
    events = write_lines(
        tmp_path / "e.jsonl", [{"id": "a", "lon": 1.0, "lat": 1.0}, {"id": "b", "lon": 3.0, "lat": 1.0}]
    )
    result = vedette("match", subscriptions, events, "-o", "-", "--operators", operators, "--quiet")
    rows = _rows(result.stdout)
    assert [(row["event"], row["subscription"]) for row in rows] == [("a", "in"), ("a", "near"), ("b", "near")]
    assert rows[1]["bindings"] == {"metres": 0.0}
    assert 110_000 < rows[2]["bindings"]["metres"] < 112_000
    misspelt = write_lines(tmp_path / "m.jsonl", [{"id": "in", "when": "locIn('Sqare')"}])
    result = vedette("match", misspelt, events, "-o", "-", "--operators", operators, "--quiet")
    assert result.exit_code == 1
    assert "Square" in result.stderr


def test_many_events_in_slices(operators: Path, tmp_path: Path) -> None:
    events = write_lines(
        tmp_path / "e.jsonl", [{"seen": n % 50, "zone": "Bronx" if n % 3 else "Q"} for n in range(5000)]
    )
    records = [
        {"id": "even", "when": "zone = 'Bronx' and seen < 2"},
        {"id": "crowd", "when": "zone.inside('Bronx') and mobPattern(?p) and ?p > 90"},
        {"id": "low", "when": "seen < 1"},
    ]
    subscriptions = write_lines(tmp_path / "s.jsonl", records)
    result = vedette("match", subscriptions, events, "-o", "-", "--operators", operators, "--quiet")
    expected = []
    for n in range(5000):
        seen, bronx = n % 50, bool(n % 3)
        expected += [_found(str(n), "even")] if bronx and seen < 2 else []
        expected += [_found(str(n), "crowd", p=2 * seen)] if bronx and 2 * seen > 90 else []
        expected += [_found(str(n), "low")] if seen < 1 else []
    assert _rows(result.stdout) == expected


# ---------------------------------------------------------------- what fails, and what is said


def test_failures_are_told_and_counted(events: Path, operators: Path, tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "h", "when": "halved(2)"}, {"id": "s", "when": "slow()"}])
    result = vedette("match", subscriptions, events, "-o", "-", "--operators", operators)
    assert result.exit_code == 0
    rows = [(row["event"], row["subscription"]) for row in _rows(result.stdout)]
    assert {event for event, id_ in rows if id_ == "h"} == {"e1", "e2", "e5"}
    assert ("e2", "s") not in rows
    assert "operator halved, event e3: ValueError: 61 cannot be divided" in result.stderr
    assert "operator slow, event e2: no answer within 1 s" in result.stderr
    assert "Warning: halved failed 2 times: 2 errors; what it would have said is unknown" in result.stderr
    assert "Warning: slow failed " in result.stderr
    assert " over its time limit; what it would have said is unknown" in result.stderr
    quiet = vedette("match", subscriptions, events, "-o", "-", "--operators", operators, "--quiet").stderr
    assert quiet.count("\n") == 2
    assert "halved failed 2 times" in quiet


def test_a_number_that_json_has_not_is_told_as_a_text(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(
        "import vedette as vd\n@vd.operator(outputs=1)\ndef odd(event):\n    return float(event['x'])\n"
    )
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "s", "when": "odd(?v) and ?v > 1"}])
    events = write_lines(tmp_path / "e.jsonl", [{"x": "nan"}, {"x": "inf"}, {"x": "-inf"}, {"x": "2.5"}])
    result = vedette("match", subscriptions, events, "-o", "-", "--operators", tmp_path / "odd.py")
    assert [row["bindings"]["v"] for row in _rows(result.stdout)] == ["nan", "inf", 2.5]


def test_only_the_first_failures_are_told_one_by_one(operators: Path, tmp_path: Path) -> None:
    events = write_lines(tmp_path / "e.jsonl", [{"seen": 1} for _ in range(40)])
    subscriptions = write_lines(
        tmp_path / "s.jsonl", [{"id": "h", "when": "halved(2)"}, {"id": "w", "when": "wordy()"}]
    )
    (tmp_path / "wordy.py").write_text(
        "import vedette as vd\n@vd.operator(cost=9)\ndef wordy(event):\n    return 'true'\n"
    )
    (tmp_path / "both.toml").write_text(f'modules = ["{operators}", "./wordy.py"]')
    said = vedette("match", subscriptions, events, "-o", "-", "--operators", tmp_path / "both.toml").stderr
    assert said.count("operator halved, event ") == 5
    assert "… and more of halved, which are counted" in said
    assert said.count("operator wordy, event ") == 5  # however often another one fails before it
    assert "halved failed 40 times: 40 errors" in said


def test_rejected_events_are_no_failures(subscriptions: Path, operators: Path, tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"seen": "int", "zone": "string", "speed": "float", "note": "string"}')
    events = write_lines(tmp_path / "e.jsonl", [{"id": "bad", "seen": "many", "zone": "Bronx", "speed": 1.0}, *EVENTS])
    aside = tmp_path / "rejects.jsonl"
    result = vedette(
        *("match", subscriptions, events, "-o", "-", "--schema", schema),
        *("--operators", operators, "--rejects", aside),
    )
    assert _rows(result.stdout) == FOUND
    assert [row["line"] for row in _rows(aside.read_text())] == [1]
    assert "failed" not in result.stderr


def test_wrong_calls_are_all_told_and_nothing_is_written(events: Path, operators: Path, tmp_path: Path) -> None:
    records = [
        {"id": "b1", "when": "speed < 20 and zone.insid('Bronx')"},
        {"id": "good", "when": "zone.inside('Bronx')"},
        {"id": "b2", "when": "mobPattern(?a, ?b)"},
        {"id": "b3", "when": "[whole('note')] ; [hole('note')]"},
    ]
    subscriptions = write_lines(tmp_path / "s.jsonl", records)
    before = files_in(tmp_path)
    result = vedette("match", subscriptions, events, "-o", tmp_path / "out.jsonl", "--operators", operators)
    assert result.exit_code == 1
    assert files_in(tmp_path) == before
    assert "line 1, subscription 'b1'\n  line 1, column 16: there is no operator 'zone.insid'" in result.stderr
    assert "Hint: did you mean zone.inside?" in result.stderr
    assert "line 3, subscription 'b2'\n  line 1, column 1: mobPattern has 2 arguments" in result.stderr
    assert "line 4, subscription 'b3'\n  line 1, column 20: there is no operator 'hole'" in result.stderr
    assert "3 subscriptions are bad; nothing was written." in result.stderr
    mixed = write_lines(tmp_path / "mixed.jsonl", [*records, {"id": "b4", "when": "speed <"}])
    result = vedette("match", mixed, events, "-o", "-", "--operators", operators)
    assert "4 subscriptions are bad; nothing was written." in result.stderr


def test_attributes_of_calls_that_no_event_has(events: Path, operators: Path, tmp_path: Path) -> None:
    when = "halved(sen) and mobPattern(?p) and ?p > speeed"
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "s", "when": when}])
    said = vedette("match", subscriptions, events, "-o", "-", "--operators", operators).stderr
    assert "no event has the attribute 'sen'; did you mean seen?" in said
    assert "no event has the attribute 'speeed'; did you mean speed?" in said
    assert "'zone'" not in said


def test_options_that_change_nothing_are_noted(events: Path, operators: Path, tmp_path: Path) -> None:
    plain = write_lines(tmp_path / "s.jsonl", [SUBSCRIPTIONS[1]])
    said = vedette("match", plain, events, "-o", "-", "--operators", operators, "--planner", "naive").stderr
    assert "need neither a planner nor a model" in said
    assert "Nothing calls an operator: --operators changes nothing here" in said


# ---------------------------------------------------------------- beside patterns


def test_beside_patterns(subscriptions: Path, events: Path, operators: Path, tmp_path: Path) -> None:
    patterns = [
        {"id": "twice", "when": "[speed < 10] , [speed < 10]"},
        {"id": "moved", "when": "a:[zone.inside('Queens')] , b:[zone.inside('Bronx')]"},
    ]
    both = write_lines(tmp_path / "both.jsonl", [*patterns, *SUBSCRIPTIONS])
    result = vedette("match", both, events, "-o", "-", "--operators", operators, "--quiet")
    twice = _found("e2", "twice") | {"steps": {"1": "e1", "2": "e2"}}
    moved = _found("e4", "moved") | {"steps": {"a": "e3", "b": "e4"}}
    assert _rows(result.stdout) == [*FOUND[:2], twice, *FOUND[2:7], moved, *FOUND[7:]]
    out = tmp_path / "out.parquet"
    vedette("match", both, events, "-o", out, "--operators", operators, "--quiet")
    rows = pq.read_table(out).to_pylist()
    assert [row["bindings"] for row in rows if row["subscription"] == "crowd"] == [
        [("people", "60")],
        [("people", "61")],
    ]
    assert [row["steps"] for row in rows if row["subscription"] == "crowd"] == [None, None]


def test_steps_are_counted_and_their_failures_told(operators: Path, events: Path, tmp_path: Path) -> None:
    patterns = [
        {"id": "even", "when": "[halved(2)] , [halved(2)]"},
        {"id": "noted", "when": "[zone = 'Bronx'] ; not [halved(4)] ; [zone.inside('Bronx')]"},
    ]
    alone = write_lines(tmp_path / "s.jsonl", patterns)
    said = vedette("match", alone, events, "-o", "-", "--operators", operators)
    assert said.exit_code == 0
    assert "operator halved, event e3: ValueError: 61 cannot be divided" in said.stderr
    assert "Warning: halved failed " in said.stderr
    assert re.search(r"\d+ evaluations of \d+ that subscriptions speak of", said.stderr)
    unnamed = write_lines(tmp_path / "e.jsonl", [{"seen": 2}, {"seen": 3}])
    told = vedette(
        "match", write_lines(tmp_path / "one.jsonl", patterns[:1]), unnamed, "-o", "-", "--operators", operators
    )
    assert "operator halved, event 1: ValueError: 3 cannot be divided" in told.stderr


def test_attributes_of_steps_that_no_event_has(operators: Path, tmp_path: Path) -> None:
    subscriptions = write_lines(
        tmp_path / "s.jsonl",
        [
            {"id": "s", "when": "[halved(sen)] ; [zone.inside('Bronx') and speed > 3]"},
            {
                "id": "f",
                "when": "[speed > 3]{2}",
                "predict": {"within": 2, "features": ["mobPattern(?p) and ?p > sped"]},
            },
        ],
    )
    events = write_lines(tmp_path / "e.jsonl", [{"id": "e1", "seen": 1, "speed": 1.0}])
    said = vedette("match", subscriptions, events, "-o", "-", "--operators", operators).stderr
    assert "no event has the attribute 'sen'; did you mean seen?" in said
    assert "no event has the attribute 'zone'" in said  # which zone.inside reads
    assert "no event has the attribute 'sped'; did you mean speed?" in said
    assert "'seen'" not in said


def test_columns_that_only_operators_of_steps_read(operators: Path, tmp_path: Path) -> None:
    events = tmp_path / "events.parquet"
    names = ("id", "seen", "zone", "note")
    pq.write_table(pa.table({name: [event.get(name) for event in EVENTS] for name in names}), events)
    expected = {
        "[zone.inside('Queens')] , [zone.inside('Bronx')]": ["e4"],
        "[whole('note')] , [zone.inside('Bronx')]": ["e2", "e4"],
    }
    for when, found in expected.items():
        subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "s", "when": when}])
        result = vedette("match", subscriptions, events, "-o", "-", "--operators", operators, "--quiet")
        assert [row["event"] for row in _rows(result.stdout)] == found


def test_filters_and_patterns_ask_an_operator_once_per_event(operators: Path, tmp_path: Path) -> None:
    """Also where some events are rejected, so that patterns see fewer of them."""
    schema = write_lines(tmp_path / "schema.json", [{"seen": "int"}])
    given: list[Any] = [{"seen": number} for number in range(1, 6)]
    events = write_lines(tmp_path / "e.jsonl", [given[0], {"seen": "many"}, *given[1:], "oops", {"seen": 7}])
    both = [{"id": "f", "when": "halved(2)"}, {"id": "p", "when": "a:[not halved(3)] ; b:[halved(2)]"}]
    both += [{"id": "q", "when": "a:[halved(2)] , b:[seen = 3]"}]
    subscriptions = write_lines(tmp_path / "s.jsonl", both)
    result = vedette("match", subscriptions, events, "-o", "-", "--operators", operators, "--schema", schema)
    assert result.exit_code == 0
    found = {(row["event"], row["subscription"]) for row in _rows(result.stdout)}
    assert found == {("2", "f"), ("4", "f"), ("3", "q")}
    assert "12 evaluations of 18 that subscriptions speak of" in result.stderr
    assert result.stderr.count("operator halved, event 0: ValueError: 1 cannot be divided") == 2  # by 2, and by 3
    assert "Warning: halved failed 9 times: 9 errors" in result.stderr
