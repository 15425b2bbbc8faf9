"""`vedette train --engine spark`: the model, the messages and the rejects of the local engine, of whatever files."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.cli.session import files_in, vedette, write_lines
from tests.patterns.generate import SCHEMA, patterns
from tests.spark.patterns.test_file_events import made, write
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import VedetteError
from vedette.patterns.forecasts.model import Model

pytestmark = pytest.mark.usefixtures("many_pieces")

_TIMES = re.compile(r"[\d.]+ s, [\d,]+ events/s")
_FEATURES = ["u = 0", "u = 1", "v = 0", "v = 1", "s = 'x'", "r = 'x'", "f > 1", "kind = 'a'", "kind = 'b'"]


def check(tmp_path: Path, *arguments: object, rejects: bool = True, status: int = 0) -> str:
    """Both engines leave the same behind; what they said."""
    left = []
    for engine in ("local", "spark"):
        folder = tmp_path / "left behind"
        folder.mkdir(exist_ok=True)
        aside = ("--rejects", folder / "bad.jsonl") if rejects else ()
        result = vedette("train", *arguments, "-o", folder / "m", *aside, "--engine", engine)
        found: dict[str, Any] = {path.name: path.read_bytes() for path in folder.iterdir()}
        for path in folder.iterdir():
            path.unlink()
        left.append({**found, "status": result.exit_code, "said": _TIMES.sub("", result.stderr)})
    assert left[1] == left[0]
    assert left[0]["status"] == status
    if not status:
        (tmp_path / "model").write_bytes(left[0]["m"])
    return str(left[0]["said"])


def subscriptions(place: Path, seed: int, count: int) -> Path:
    """Random patterns that are to be forecast, and others."""
    known = Subscriptions({**SCHEMA, "time": "float"})
    wanted: list[dict[str, Any]] = [{"id": "early", "when": "time < 40"}]
    for number, text in enumerate(patterns(Random(seed), count)):
        try:
            known.add(str(number), text)
        except VedetteError:
            continue
        predict = {"predict": {"within": 5, "features": ["u = 2"]}} if number % 4 else {}
        wanted.append({"id": f"p{number}", "when": text, **predict})
    return write_lines(place, wanted)


@pytest.mark.long
@pytest.mark.parametrize(
    "ending", [*(pytest.param(each, marks=pytest.mark.thorough) for each in ("csv", "parquet")), "jsonl"]
)
def test_random_patterns_over_random_files(ending: str, schema: Path, tmp_path: Path) -> None:
    history = write(made(1, 400), tmp_path / f"history.{ending}")
    given = subscriptions(tmp_path / "s.jsonl", 2, 24)
    said = check(tmp_path, given, history, "--schema", schema, "--context", 3)
    assert "an id that was there before" in said
    assert "rejected (they are in" in said or ending == "parquet"
    assert len(Model.load(tmp_path / "model")) > 10


def test_more_than_can_be_told_apart(schema: Path, tmp_path: Path) -> None:
    asked = {"within": 5, "features": _FEATURES}
    given = write_lines(
        tmp_path / "s.jsonl", [{"id": "p", "when": "[kind = 'a'] , [kind = 'b'] by s, r", "predict": asked}]
    )
    history = write(made(3, 1_200), tmp_path / "history.parquet")
    check(tmp_path, given, history, "--schema", schema, rejects=False)
    assert Model.load(tmp_path / "model").exhausted


@pytest.mark.parametrize(
    ("when", "history", "told"),
    [
        ("[u = 1] ; [u = 2]", [], "it has no events"),
        ("[u = 1] ; [u = 2]", ["oops", "no"], "all of its events are rejected"),
        ("[u = 1] ; [u = 2] within 5 s", [{"u": 1}], "'p' speaks of time, and the events have none"),
    ],
)
def test_nothing_to_learn_from(when: str, history: list[Any], told: str, tmp_path: Path) -> None:
    given = write_lines(tmp_path / "s.jsonl", [{"id": "p", "when": when, "predict": {"within": 3}}])
    place = write_lines(tmp_path / "history.jsonl", history)
    before = files_in(tmp_path)
    result = vedette("train", given, place, "-o", tmp_path / "m", "--engine", "spark")
    assert result.exit_code == 1
    assert told in result.stderr
    assert files_in(tmp_path) == before


def test_partial_matches_that_are_given_up_and_patterns_that_see_nothing(tmp_path: Path) -> None:
    given = write_lines(
        tmp_path / "s.jsonl",
        [
            {"id": "many", "when": "[u = $x] ; [v = $x and u = 9]", "predict": {"within": 3}},
            {"id": "none", "when": "[u = 1] ; [u = 2] by k", "predict": {"within": 3}},
        ],
    )
    history = write_lines(tmp_path / "history.jsonl", [{"u": number, "v": 0, "k": None} for number in range(20, 90)])
    said = check(tmp_path, given, history, "--cap", 10, rejects=False)
    assert "partial matches were given up: more than 10 in a partition" in said
    assert "the model knows nothing of 1 pattern that forecasts are asked for: 'none'" in said


def test_what_calls_operators_is_learnt_of(tmp_path: Path) -> None:
    operators = tmp_path / "operators.py"
    operators.write_text(
        "import vedette\n\n@vedette.operator(reads=('temp',))\ndef warm(event, _):\n    return event['temp'] > 30\n"
    )
    given = write_lines(
        tmp_path / "s.jsonl",
        [
            {"id": "called", "when": "warm(30) and city = 'a'"},
            {"id": "heat", "when": "[temp > 30]{2} by city", "predict": {"within": 3}},
            {"id": "step", "when": "[warm(31)]{2} by city", "predict": {"within": 3, "features": ["warm(32)"]}},
            {"id": "only", "when": "[warm(33)] ; [temp < 25] by city"},
        ],
    )
    days: list[dict[str, Any]] = [{"city": "ab"[number % 2], "temp": 20 + number % 17} for number in range(300)]
    history = write_lines(tmp_path / "history.jsonl", days)
    made = {}
    for engine in ("local", "spark"):
        result = vedette(
            "train", given, history, "-o", tmp_path / "m", "--operators", operators, "--engine", engine, "--quiet"
        )
        assert result.exit_code == 0, result.stderr
        made[engine] = Model.load(tmp_path / "m")
        learnt = made[engine].operators
        assert learnt is not None
        # What is older weighs a little less, so it depends on how many are looked at together.
        observed = learnt.plain()["observed"]
        assert observed["warm(30) costs"][0] == pytest.approx(150, abs=3)
        for known in (31, 32, 33):
            assert observed[f"warm({known}) costs"][0] == pytest.approx(300, abs=6)
    assert made["spark"].knowing(None).to_bytes() == made["local"].knowing(None).to_bytes()
