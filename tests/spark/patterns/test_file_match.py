"""`vedette match --engine spark` with patterns: byte for byte what the local engine gives, of whatever files."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pyarrow.parquet as pq
import pytest

from tests.cli.session import vedette, write_lines
from tests.contract.sigma import shared
from tests.operators.test_steps import with_operators
from tests.patterns.generate import SCHEMA, patterns
from tests.spark.patterns.test_file_events import made, write
from tests.spark.test_match_files import check, outcome
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import VedetteError
from vedette.io.pieces import PieceSizes
from vedette.spark import file_job

pytestmark = pytest.mark.usefixtures("many_pieces")

_FILTERS = [{"id": "early", "when": "time < 40"}, {"id": "a", "when": "kind = 'a' and u >= 1"}]


def subscriptions(seed: int, place: Path, count: int = 16, **predict: Any) -> Path:
    """Filters and random patterns in one file, some of which are to be forecast."""
    known = Subscriptions({**SCHEMA, "time": "float"})
    wanted: list[dict[str, Any]] = [_FILTERS[0]]
    for number, text in enumerate([*patterns(Random(seed), count, "6 s"), "[kind = 'a'] ; x:[u = $m] ; [v = $m] by s"]):
        try:
            known.add(str(number), text)
        except VedetteError:
            continue
        wanted.append({"id": f"p{number}", "when": text})
        if predict and number % 2:
            wanted[-1]["predict"] = predict
    return write_lines(place, [*wanted, _FILTERS[1]])


@pytest.mark.parametrize(
    "format_", [*(pytest.param(each, marks=pytest.mark.thorough) for each in ("csv", "parquet")), "jsonl"]
)
def test_random_patterns_over_random_files(format_: str, schema: Path, tmp_path: Path) -> None:
    seed = {"jsonl": 3, "csv": 4, "parquet": 5}[format_]
    events = write(made(seed, 300), tmp_path / f"events.{format_}")
    asked = subscriptions(seed, tmp_path / "s.jsonl")
    found = check(tmp_path, asked, events, "--schema", schema)
    assert found["out.jsonl"].count(b"steps") > 100
    assert found["out.jsonl"].count(b"bindings") > 5
    assert found["out.jsonl"].count(b'"a"') > 20
    assert "an id that was there before" in found["said"]
    assert found["bad"].count(b"\n") == {"jsonl": 3, "csv": 1, "parquet": 0}[format_]
    check(tmp_path, asked, events, "--schema", schema, out="out.parquet")


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.thorough)])
def test_forecasts_learn_as_they_do_in_one_process(seed: int, schema: Path, tmp_path: Path) -> None:
    events = write(made(seed, 400), tmp_path / "events.jsonl")
    asked = subscriptions(seed, tmp_path / "s.jsonl", 10, within=6, threshold=0.05)
    found = check(tmp_path, asked, events, "--schema", schema)
    assert found["out.jsonl"].count(b"prediction") > 20
    model = tmp_path / "model"
    assert vedette("train", asked, events, "--schema", schema, "-o", model).exit_code == 0
    check(tmp_path, asked, events, "--schema", schema, "--model", model)


@pytest.mark.parametrize("late", [(), ("--late",)])
def test_events_that_come_too_late(late: tuple[str, ...], schema: Path, tmp_path: Path) -> None:
    events = write(made(7, 300), tmp_path / "events.jsonl")
    aside = (*late, tmp_path / "left behind" / "late.jsonl") if late else ()
    asked = subscriptions(7, tmp_path / "s.jsonl")
    found = check(tmp_path, asked, events, "--schema", schema, "--lateness", "60 s", *aside)
    assert "came too late" in found["said"]
    assert found["out.jsonl"].count(b"steps") > 50
    assert not late or found["late.jsonl"].count(b"too late") > 20


def test_partial_matches_that_are_given_up(schema: Path, tmp_path: Path) -> None:
    events = write_lines(
        tmp_path / "e.jsonl",
        [{"time": 100 - x, "u": x % 40, "s": "x" if x % 3 else "y", "v": x % 7} for x in range(90)],
    )
    asked = write_lines(
        tmp_path / "s.jsonl",
        [
            {"id": "all", "when": "[u = $m] ; [u = $m and v = 1]"},
            {"id": "by", "when": "[u = $m] ; [u > $m and v = 1] by s"},
        ],
    )
    found = check(tmp_path, asked, events, "--schema", schema, "--cap", "9")
    assert "given up: more than 9 in a partition" in found["said"]


def test_standard_input_and_gzip(schema: Path, tmp_path: Path) -> None:
    content = write(made(9, 200), tmp_path / "events.jsonl").read_bytes()
    asked = subscriptions(9, tmp_path / "s.jsonl", 6)
    check(tmp_path, asked, "-", "--schema", schema, stdin=content)
    (tmp_path / "events.jsonl.gz").write_bytes(gzip.compress(content))
    check(tmp_path, asked, tmp_path / "events.jsonl.gz")


def test_nothing_to_match(schema: Path, tmp_path: Path) -> None:
    asked = subscriptions(9, tmp_path / "s.jsonl", 3)
    (tmp_path / "events.jsonl").write_text("\n\n")
    assert check(tmp_path, asked, tmp_path / "events.jsonl", "--schema", schema)["out.jsonl"] == b""


def test_events_without_a_time(tmp_path: Path) -> None:
    events = write_lines(tmp_path / "e.jsonl", [{"x": 1}, {"x": 2}])
    plain = write_lines(tmp_path / "plain.jsonl", [{"id": "p", "when": "[x = 1] ; [x = 2]"}])
    assert b'"steps": {"1": "0", "2": "1"}' in check(tmp_path, plain, events)["out.jsonl"]
    timed = write_lines(tmp_path / "timed.jsonl", [{"id": "p", "when": "[x = 1] ; [x = 2] within 1 h"}])
    assert "speaks of time" in check(tmp_path, timed, events, status=1)["said"]


_OWN = """
import vedette as vd

@vd.operator(reads=("kind", "u"))
def is_kind(event, kind):
    if event["kind"] == "c" and event["u"] == 2:
        raise ValueError("not this one")
    return None if event["kind"] is None else event["kind"] == kind

@vd.operator(batch=True, reads=())
def at_most(events, value, most):
    return [None if each is None else each <= most for each in value.to_pylist()]

@vd.operator(outputs=1)
def values(event):
    return None if event.get("u") is None else [event["u"]]
"""


def with_calls(asked: Path) -> tuple[Path, Path]:
    """The same subscriptions, the steps of most of which call operators; and the file of these."""
    random, wanted = Random(11), [orjson.loads(line) for line in asked.read_bytes().splitlines()]
    for each in wanted:
        each["when"] = with_operators(random, each["when"])
    features = {"predict": {"within": 6, "threshold": 0.05, "features": ["is_kind('b')"]}}
    wanted.append({"id": "feature", "when": "[kind = 'a'] ; [kind = 'b'] by s", **features})
    own = asked.with_name("own.py")
    own.write_text(_OWN)
    return write_lines(asked, wanted), own


def test_steps_that_call_operators(schema: Path, tmp_path: Path) -> None:
    """How often they are asked, and so how often they fail, may differ by how events are cut."""
    events = write(made(19, 300), tmp_path / "events.jsonl")
    asked, own = with_calls(subscriptions(19, tmp_path / "s.jsonl", 12, within=6, threshold=0.05))
    folder = tmp_path / "left behind"
    folder.mkdir()
    arguments = (asked, events, "--schema", schema, "--operators", own)
    found, expected = (outcome(engine, arguments, folder, "out.jsonl", None) for engine in ("spark", "local"))
    said = [
        re.sub(r"(operator is_kind|[\d,]+ evaluations of|is_kind failed).*\n", "", each.pop("said"))
        for each in (found, expected)
    ]
    assert said[0] == said[1]
    assert found == expected
    assert found["out.jsonl"].count(b"steps") > 100
    assert b'"feature"' in found["out.jsonl"]


def test_real_logins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_job, "sizes", lambda spark, matches: PieceSizes(6, 2000))
    lines = pq.read_table(shared("logins/ssh_events.parquet")).rename_columns({"ts": "time"})
    events = tmp_path / "logins.parquet"
    pq.write_table(lines.select(["source", "time", "event", "src_ip"]), events)
    failed = "[event = 'failed']"
    asked = write_lines(
        tmp_path / "s.jsonl",
        [
            {"id": "five", "when": " ; ".join([failed] * 5) + " by src_ip, source within 60 s"},
            {"id": "after", "when": f"{failed} ; [event = 'accepted'] by src_ip, source within 600 s"},
        ],
    )
    found = check(tmp_path, asked, events)["out.jsonl"]
    assert found.count(b'"five"') == 440 + 361
    assert found.count(b'"after"') == 10
