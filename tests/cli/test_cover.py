"""`vedette cover`: an answer for each subscription, in the order of the file, or every reason why not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest

from tests.cli.session import files_in, vedette, write_lines

SUBSCRIPTIONS = [
    {"id": "s1", "when": "price between 0 and 100 and volume > 10"},
    {"id": "s2", "when": "price between 90 and 200 and volume > 10"},
    {"id": "s3", "when": "price between 50 and 150 and volume > 20"},
    {"id": "s4", "when": "price between 50 and 250 and volume > 20"},
    {"id": "s5", "when": "[price > 3] ; [price < 2]"},
    {"id": "s6", "when": "price > 99 and price < 2"},
    {"id": "s7", "when": "issue contains 'IBM'"},
]
_SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def places(tmp_path: Path) -> Path:
    write_lines(tmp_path / "schema.json", [{"price": "float", "volume": "int", "issue": "string"}])
    return write_lines(tmp_path / "subscriptions.jsonl", SUBSCRIPTIONS)


def answers(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_one_line_each_in_the_order_of_arrival(places: Path) -> None:
    result = vedette("cover", places, "-o", "-", "--schema", places.with_name("schema.json"))
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[2] == (
        '{"subscription": "s3", "covered": true, "by": ["s1", "s2"], "method": "exact", "certain": true}'
    )
    found = answers(result.stdout)
    assert [(each["subscription"], each["covered"], each["method"], each["certain"]) for each in found] == [
        ("s1", False, "empty", True),
        ("s2", False, "witness", True),
        ("s3", True, "exact", True),
        ("s4", False, "witness", True),
        ("s5", False, "opaque", False),
        ("s6", True, "never", True),
        ("s7", False, "empty", False),
    ]
    assert "7 subscriptions: 5 active, 2 covered (1 by several together); 2 not certain (1 opaque, 1 empty);" in (
        result.stderr
    )


def test_a_witness_is_an_event_that_only_this_one_matches(places: Path, tmp_path: Path) -> None:
    result = vedette("cover", places, "-o", tmp_path / "out.jsonl", "--witness", "-q")
    assert result.exit_code == 0
    assert result.stderr == ""
    found = {each["subscription"]: each for each in answers((tmp_path / "out.jsonl").read_text())}
    event = found["s4"]["witness"]
    assert 200 < event["price"] <= 250
    assert event["volume"] > 20
    assert "witness" not in found["s3"]
    events = write_lines(tmp_path / "events.jsonl", [{"id": "w", **event}])
    matched = vedette("match", places, events, "-o", "-", "-q")
    assert [json.loads(line)["subscription"] for line in matched.stdout.splitlines()] == ["s4"]


def test_pairwise_and_sampling_have_to_be_asked_for(places: Path) -> None:
    found = answers(vedette("cover", places, "-o", "-", "--method", "pairwise").stdout)
    assert (found[2]["covered"], found[2]["certain"]) == (False, False)
    found = answers(vedette("cover", places, "-o", "-", "--method", "sampling", "--error", "0.001").stdout)
    assert (found[2]["covered"], found[2]["method"], found[2]["certain"]) == (True, "sampling", False)
    assert 0 < found[2]["error"] <= 0.001


def test_parquet(places: Path, tmp_path: Path) -> None:
    result = vedette("cover", places, "-o", tmp_path / "out.parquet", "--witness")
    assert result.exit_code == 0, result.stderr
    rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert rows[2] == {
        "subscription": "s3",
        "covered": True,
        "by": ["s1", "s2"],
        "method": "exact",
        "certain": True,
        "error": None,
        "witness": None,
    }
    assert json.loads(rows[3]["witness"])["price"] > 200


@pytest.mark.parametrize(("id_", "colours"), [("s3", {"#1a7f37"}), ("s4", {"#8c959f"})])
def test_a_picture_of_one_among_those_that_meet_it(places: Path, tmp_path: Path, id_: str, colours: set[str]) -> None:
    place = tmp_path / "cover.svg"
    result = vedette("cover", places, "-o", tmp_path / "out.jsonl", "--picture", place, "--subscription", id_)
    assert result.exit_code == 0, result.stderr
    root = ElementTree.parse(place).getroot()
    drawn = [each for each in root.iter(f"{_SVG}rect") if each.get("fill-opacity")]
    labels = {each.findtext(f"{_SVG}title"): each.get("stroke") for each in drawn}
    assert set(labels) == {"s1", "s2", id_}
    assert {labels["s1"], labels["s2"]} == colours
    assert labels[id_] == "#0969da"
    assert len(list(root.iter(f"{_SVG}circle"))) == (id_ == "s4")
    box = next(each for each in drawn if each.findtext(f"{_SVG}title") == id_)
    if id_ == "s4":
        (point,) = root.iter(f"{_SVG}circle")
        left, width = float(box.get("x", 0)), float(box.get("width", 0))
        assert left <= float(point.get("cx", 0)) <= left + width


def test_what_cannot_be_drawn(places: Path, tmp_path: Path) -> None:
    place = tmp_path / "cover.svg"
    for more, says in (
        (("--picture", place), "say which with --subscription"),
        (("--picture", place, "--subscription", "nobody"), "has no subscription 'nobody'"),
        (("--picture", place, "--subscription", "s5"), "a picture has two attributes"),
        (("--picture", tmp_path / "cover.png", "--subscription", "s4"), "a picture is SVG"),
    ):
        result = vedette("cover", places, "-o", tmp_path / "out.jsonl", *more)
        assert result.exit_code in (1, 2)
        assert says in " ".join(result.stderr.replace("│", " ").split())
    assert files_in(tmp_path) == {"subscriptions.jsonl", "schema.json"}


def test_what_a_picture_says_of_further_attributes_and_of_attributes_without_a_type(tmp_path: Path) -> None:
    wishes = [{"id": "flat", "when": "y < 9 and z > 1"}, {"id": "gap", "when": "x is null and y > 5"}]
    place = tmp_path / "gap.svg"
    subscriptions = write_lines(tmp_path / "s.jsonl", wishes)
    result = vedette("cover", subscriptions, "-o", "-", "--picture", place, "-s", "gap")
    assert result.exit_code == 0, result.stderr
    texts = {each.text for each in ElementTree.parse(place).getroot().iter(f"{_SVG}text")}
    assert {"x", "y", "dashed: asks for further attributes, too"} <= texts


def test_answers_are_not_written_as_csv(places: Path, tmp_path: Path) -> None:
    result = vedette("cover", places, "-o", tmp_path / "out.csv")
    assert result.exit_code == 1
    assert "cannot write csv" in result.stderr
    assert not (tmp_path / "out.csv").exists()


def test_bad_subscriptions_are_all_named_and_nothing_is_written(tmp_path: Path) -> None:
    subscriptions = write_lines(
        tmp_path / "s.jsonl", [{"id": "a", "when": "x <"}, {"id": "b", "when": "x = 1"}, {"id": "b", "when": "y = 1"}]
    )
    result = vedette("cover", subscriptions, "-o", tmp_path / "out.jsonl")
    assert result.exit_code == 1
    assert "line 1, subscription 'a'" in result.stderr
    assert "the id 'b' is taken by line 2" in result.stderr
    assert "2 subscriptions are bad; nothing was written." in result.stderr
    assert files_in(tmp_path) == {"s.jsonl"}


def test_forecasts_are_part_of_what_a_pattern_says(tmp_path: Path) -> None:
    pattern = "[x = 1] ; [x = 2]"
    wish = {"within": 5, "threshold": 0.5}
    subscriptions = write_lines(
        tmp_path / "s.jsonl",
        [
            {"id": "plain", "when": pattern},
            {"id": "foreseen", "when": pattern, "predict": wish},
            {"id": "again", "when": pattern, "predict": wish},
        ],
    )
    found = answers(vedette("cover", subscriptions, "-o", "-").stdout)
    assert [(each["covered"], each["by"]) for each in found] == [(False, []), (False, []), (True, ["foreseen"])]


@pytest.mark.parametrize("error", ["0", "1", "-1"])
def test_an_error_that_makes_no_sense(places: Path, error: str) -> None:
    assert vedette("cover", places, "-o", "-", "--error", error).exit_code == 2
