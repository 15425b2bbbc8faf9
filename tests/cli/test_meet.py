"""`vedette meet`: who meets whom, in the order of the files, or every reason why not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.session import files_in, process, vedette, write_lines

OFFERS: list[dict[str, Any]] = [
    {"id": "p2", "publisher": "ann", "when": "topic = 'pencils' and lot between 1000 and 10000 and price = 1.00"},
    {"id": "p1", "publisher": 7, "when": "topic = 'pencils' and price = 1.20 or topic = 'pens' and price = 3"},
    {"id": "p3", "when": "topic = 'paper' and price = 5", "expires": "2001-01-01"},
    {"id": "p4", "when": "topic = 'ink'"},
]
WANTS = [
    {"id": "s9", "subscriber": "bob", "when": "topic = 'pencils' and lot >= 5000 and price <= 1.10"},
    {"id": "s1", "when": "topic like 'pen%' and price < 4 and lot < 2000"},
    {"id": "s2", "when": "topic = 'pencils' or price > 2 and topic = 'pens'"},
    {"id": "s3", "when": "topic = 'ink' and colour in ('red', 'blue')", "expires": "2999-01-01"},
    {"id": "s4", "when": "topic = 'paper' and price < 9", "expires": "2001-01-01"},
]
BY_DIRECTION = {
    "publication": [("p2", "s9"), ("p2", "s1"), ("p1", "s1"), ("p1", "s2"), ("p4", "s3")],
    "subscription": [("p2", "s9"), ("p2", "s1"), ("p2", "s2"), ("p1", "s2")],
    "open": [("p2", "s9"), ("p2", "s1"), ("p2", "s2"), ("p1", "s1"), ("p1", "s2"), ("p4", "s3")],
}


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    return write_lines(tmp_path / "offers.jsonl", OFFERS), write_lines(tmp_path / "wants.jsonl", WANTS)


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def pairs(text: str) -> list[tuple[str, str]]:
    return [(row["publication"], row["subscription"]) for row in rows(text)]


def test_one_line_a_pair_in_the_order_of_the_files(places: tuple[Path, Path]) -> None:
    result = vedette("meet", *places, "-o", "-")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[0] == '{"publication": "p2", "subscription": "s9"}'
    assert pairs(result.stdout) == BY_DIRECTION["publication"]
    said = result.stderr.splitlines()
    assert said[0].startswith(f"Schema, inferred from {places[0]} and {places[1]} (write it")
    assert said[1:5] == ["  colour: string", "  lot: int", "  price: float", "  topic: string"]
    assert said[5:7] == [
        "1 publication has expired and is left out",
        "1 subscription has expired and is left out",
    ]
    assert said[7].startswith("3 publications and 4 subscriptions: 5 pairs; ")


@pytest.mark.parametrize("direction", BY_DIRECTION)
def test_the_three_directions(places: tuple[Path, Path], direction: str) -> None:
    result = vedette("meet", *places, "-o", "-", "--direction", direction, "--quiet")
    assert pairs(result.stdout) == BY_DIRECTION[direction]
    assert result.stderr == ""


def test_the_schema_tells_what_lies_between_two_numbers(tmp_path: Path) -> None:
    offers = write_lines(tmp_path / "offers.jsonl", [{"id": "p", "when": "x > 1"}])
    wants = write_lines(tmp_path / "wants.jsonl", [{"id": "s", "when": "x < 2"}])
    result = vedette("meet", offers, wants, "-o", "-")
    assert result.stdout == ""
    assert "  x: int\n" in result.stderr
    assert "1 publication and 1 subscription: 0 pairs; " in result.stderr
    schema = write_lines(tmp_path / "schema.json", [{"x": "float"}])
    result = vedette("meet", offers, wants, "-o", "-", "--schema", schema)
    assert pairs(result.stdout) == [("p", "s")]
    assert "inferred" not in result.stderr


def test_the_best_of_each(places: tuple[Path, Path], tmp_path: Path) -> None:
    result = vedette(
        "meet", *places, "-o", "-", "--direction", "open", "--top", 1, "--by", "price", "--per", "subscription"
    )
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[0] == '{"publication": "p2", "subscription": "s9", "rank": 1, "score": 1.0}'
    assert [tuple(row.values()) for row in rows(result.stdout)] == [
        ("p2", "s9", 1, 1.0),
        ("p2", "s1", 1, 1.0),
        ("p2", "s2", 1, 1.0),
        ("p4", "s3", 1, "nan"),
    ]
    assert "3 publications and 4 subscriptions: 4 pairs; " in result.stderr
    result = vedette("meet", *places, "-o", "-", "--direction", "open", "--by", "-price", "--per", "subscription", "-q")
    found = [tuple(row.values()) for row in rows(result.stdout)]
    assert found[:5] == [
        ("p2", "s9", 1, 1.0),
        ("p1", "s1", 1, 3.0),
        ("p2", "s1", 2, 1.0),
        ("p1", "s2", 1, 3.0),
        ("p2", "s2", 2, 1.0),
    ]
    result = vedette("meet", *places, "-o", tmp_path / "met.parquet", "--top", 1, "-q")
    kept = pq.read_table(tmp_path / "met.parquet")
    assert kept.schema.types == [pa.string(), pa.string(), pa.int32(), pa.float64()]
    assert kept["publication"].to_pylist() == ["p2", "p1", "p4"]
    assert kept["rank"].to_pylist() == [1, 1, 1]


def test_what_nothing_can_be_ranked_by(places: tuple[Path, Path], tmp_path: Path) -> None:
    for by, says in (("topic", "topic is string"), ("prise", "unknown attribute prise"), ("price <", "--by:")):
        result = vedette("meet", *places, "-o", tmp_path / "met.jsonl", "--by", by)
        assert result.exit_code == 1
        assert says in result.stderr
        assert "--by:\nline 1, column " in result.stderr
        assert not (tmp_path / "met.jsonl").exists()


def test_parquet_out_and_in(places: tuple[Path, Path], tmp_path: Path) -> None:
    keys = ("id", "publisher", "when", "expires")
    records = [{key: record.get(key) and str(record[key]) for key in keys} for record in OFFERS]
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "offers.parquet")
    result = vedette("meet", tmp_path / "offers.parquet", places[1], "-o", tmp_path / "met.parquet", "-q")
    assert result.exit_code == 0, result.stderr
    found = pq.read_table(tmp_path / "met.parquet")
    assert found.schema == pa.schema([("publication", pa.string()), ("subscription", pa.string())])
    assert [tuple(row.values()) for row in found.to_pylist()] == BY_DIRECTION["publication"]


def test_yaml_and_pipes_and_formats_by_name(places: tuple[Path, Path], tmp_path: Path) -> None:
    wants = tmp_path / "wants.yaml"
    wants.write_text("".join(f"- id: {each['id']}\n  when: |\n    {each['when']}\n" for each in WANTS[:4]))
    text = places[0].read_text()
    result = vedette("meet", "-", wants, "-o", "-", "-q", stdin=text)
    assert pairs(result.stdout) == BY_DIRECTION["publication"]
    result = vedette(
        *("meet", places[0], "-", "--subscriptions-format", "yaml", "-q"),
        *("-o", tmp_path / "met.txt", "--output-format", "parquet"),
        stdin=wants.read_text(),
    )
    assert result.exit_code == 0, result.stderr
    assert pq.read_table(tmp_path / "met.txt").num_rows == 5
    wants.rename(tmp_path / "wants.txt")
    result = vedette(
        *("meet", tmp_path / "wants.txt", tmp_path / "wants.txt", "-o", "-", "-q"),
        *("--publications-format", "yaml", "--subscriptions-format", "yaml"),
    )
    assert ("s9", "s9") in pairs(result.stdout)


@pytest.mark.parametrize("empty", [(True, False), (False, True), (True, True)])
def test_nobody_on_one_side(places: tuple[Path, Path], tmp_path: Path, empty: tuple[bool, bool]) -> None:
    nobody = write_lines(tmp_path / "nobody.jsonl", [])
    sides = [nobody if none else place for none, place in zip(empty, places, strict=True)]
    for format in ("jsonl", "parquet"):
        out = tmp_path / f"met.{format}"
        result = vedette("meet", *sides, "-o", out)
        assert result.exit_code == 0, result.stderr
        assert ": 0 pairs; " in result.stderr
        assert out.exists()
    assert (tmp_path / "met.jsonl").read_text() == ""
    assert pq.read_table(tmp_path / "met.parquet").column_names == ["publication", "subscription"]


def test_all_that_is_wrong_with_both_files_is_told(tmp_path: Path) -> None:
    offers = write_lines(
        tmp_path / "offers.jsonl",
        [
            {"id": "p1", "when": "price <"},
            {"id": "p2", "when": "price = 1"},
            {"id": "p2", "when": "price = 2"},
            {"id": "p3", "wehn": "price = 2"},
            {"id": "p4", "publisher": ["ann"], "when": "price = 2"},
            {"id": "p5", "when": "lot = 1 and lot = 2"},
            "not json",
        ],
    )
    wants = write_lines(
        tmp_path / "wants.jsonl",
        [
            {"id": "s1", "when": "price = 'cheap'"},
            {"id": "s2", "when": "name contains 'pen'"},
            {"id": "s3", "when": "a < b"},
            {"id": "s4", "when": "x > 5 and x < 4"},
            {"id": "s5", "when": "[a = 1] ; [b = 2]"},
            {"id": "s6", "when": "near('Bronx')"},
            {"id": "s7", "when": "x = 1", "predict": {"within": 5}},
            {"id": "s8", "when": {"x": [1]}, "dialect": "eventbridge"},
            {"id": "s9", "when": "price = 'dear'"},
            {"id": "s10", "when": "not place within 5 km of point(1, 2)"},
        ],
    )
    result = vedette("meet", offers, wants, "-o", tmp_path / "met.jsonl", "--strict")
    assert result.exit_code == 1
    parts = result.stderr.removeprefix("Error: ").split("\n\n")
    expected = [
        (f"{offers}, line 1, publication 'p1'\n", "expected a value, found the end of the text\n    price <\n"),
        (f"{offers}, line 3\n", "the id 'p2' is taken by line 2"),
        (f"{offers}, line 4\n", "`wehn` is no part of a publication\n  Hint: did you mean `when`?"),
        (f"{offers}, line 5\n", '`publisher` is ["ann"], not a text'),
        (f"{offers}, line 6, publication 'p5'\n", "lot is asked about more than once"),
        (f"{offers}, line 7\n", "Hint: one JSON object a line"),
        (f"{wants}, line 1, subscription 's1'\n", f"in publication 'p2' ({offers}, line 2): price = 1\n"),
        (f"{wants}, line 2, subscription 's2'\n", "cannot be compared with other constraints\n    name contains"),
        (f"{wants}, line 3, subscription 's3'\n", "compares with two attributes"),
        (f"{wants}, line 4, subscription 's4'\n", "no value of x satisfies x > 5 and x < 4"),
        (f"{wants}, line 5, subscription 's5'\n", "a pattern over several events"),
        (f"{wants}, line 6, subscription 's6'\n", "constraints meet by their constants"),
        (f"{wants}, line 7, subscription 's7'\n", "Hint: leave `predict` out"),
        (f"{wants}, line 8, subscription 's8'\n", "rules of 'eventbridge' are matched with events only"),
        (f"{wants}, line 10, subscription 's10'\n", "Hint: say where it is"),
    ]
    for part, (where, what) in zip(parts, expected, strict=False):
        assert part.startswith(where), part
        assert what in part
    assert parts[len(expected) :] == ["15 constraints are bad; nothing was written.\n"]
    assert files_in(tmp_path) == {"offers.jsonl", "wants.jsonl"}


def test_what_breaks_the_schema_is_told(places: tuple[Path, Path], tmp_path: Path) -> None:
    schema = write_lines(tmp_path / "schema.json", [{"topic": "string", "lot": "int", "price": "float"}])
    result = vedette("meet", *places, "-o", tmp_path / "met.jsonl", "--schema", schema, "--strict")
    assert result.exit_code == 1
    assert "line 4, subscription 's3'" in result.stderr
    assert "colour" in result.stderr
    assert "1 constraint is bad; nothing was written." in result.stderr
    assert not (tmp_path / "met.jsonl").exists()


@pytest.mark.parametrize(
    ("more", "status", "says"),
    [
        (("-o", "OFFERS"), 2, "--output would replace PUBLICATIONS"),
        (("-o", "-", "--per", "subscription"), 2, "give --top or --by"),
        (("-o", "-", "--top", "0"), 2, "--top"),
        (("-o", "-", "--direction", "both"), 2, "--direction"),
        (("-o", "-", "--engine", "abacus"), 2, "--engine"),
        ((), 2, "--output"),
        (("-o", "met.csv"), 1, "cannot write csv"),
        (("-o", "nowhere/met.jsonl"), 1, "cannot write nowhere/met.jsonl"),
        (("-o", "-", "--schema", "nowhere.json"), 1, "nowhere.json"),
    ],
)
@pytest.mark.usefixtures("in_folder")
def test_wrong_usage_and_places(places: tuple[Path, Path], more: tuple[str, ...], status: int, says: str) -> None:
    result = vedette("meet", *places, *(str(places[0]) if each == "OFFERS" else each for each in more))
    assert result.exit_code == status
    assert says in " ".join(result.stderr.replace("│", " ").split())
    assert files_in(places[0].parent) == {"offers.jsonl", "wants.jsonl"}


def test_standard_input_is_read_once(places: tuple[Path, Path]) -> None:
    result = vedette("meet", "-", "-", "-o", "-")
    assert result.exit_code == 2
    assert "cannot both be standard input" in " ".join(result.stderr.replace("│", " ").split())
    assert vedette("meet", places[0], "nowhere.jsonl", "-o", "-").exit_code == 1


def test_in_a_process_of_its_own(places: tuple[Path, Path]) -> None:
    done = process("meet", *places, "-o", "-", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert pairs(done.stdout) == BY_DIRECTION["publication"]


@pytest.mark.long
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("direction", "more"),
    [("publication", ()), ("subscription", ("--top", "1")), ("open", ("--by", "price", "--per", "subscription"))],
)
def test_spark_finds_the_same_in_the_same_order(
    places: tuple[Path, Path], tmp_path: Path, direction: str, more: tuple[str, ...]
) -> None:
    texts = []
    for engine in ("local", "spark"):
        out = tmp_path / f"{engine}.jsonl"
        result = vedette("meet", *places, "-o", out, "--engine", engine, "--direction", direction, *more)
        assert result.exit_code == 0, result.stderr
        texts.append(out.read_text())
    assert texts[1] == texts[0]
    assert texts[0]


@pytest.mark.usefixtures("spark")
def test_spark_and_nobody_on_one_side(places: tuple[Path, Path], tmp_path: Path) -> None:
    nobody = write_lines(tmp_path / "nobody.jsonl", [])
    result = vedette("meet", nobody, places[1], "-o", tmp_path / "met.parquet", "--engine", "spark")
    assert result.exit_code == 0, result.stderr
    assert pq.read_table(tmp_path / "met.parquet").num_rows == 0


def test_a_side_of_which_nothing_makes_sense_is_refused(places: tuple[Path, Path]) -> None:
    places[0].write_text(json.dumps({"id": "p1", "when": "price <"}) + "\n")
    result = vedette("meet", *places, "-o", "-")
    assert result.exit_code == 1
    assert "1 constraint is bad; nothing was written." in result.stderr


def test_bad_constraints_are_set_aside_and_the_others_meet(places: tuple[Path, Path], tmp_path: Path) -> None:
    for place, first in zip(places, ("lot > 1 and lot < 2", "price = 'cheap'"), strict=True):
        bad = [{"id": f"bad{number}", "when": "price <"} for number in range(6)]
        place.write_text(
            place.read_text() + "".join(json.dumps(each) + "\n" for each in [{"id": "b", "when": first}, *bad])
        )
    result = vedette("meet", *places, "-o", "-")
    assert result.exit_code == 0, result.stderr
    assert pairs(result.stdout) == BY_DIRECTION["publication"]
    assert "Warning: 7 of 10 publications are bad and set aside (--strict refuses them)\n" in result.stderr
    assert f"  {places[0]}, line 5, publication 'b'\n" in result.stderr
    assert "no value of lot satisfies lot > 1 and lot < 2" in result.stderr
    assert "price is used as a text here, and as a number in publication" in result.stderr
    assert result.stderr.count("  … and 2 more\n") == 2
    assert "3 publications and 4 subscriptions: 5 pairs; " in result.stderr
    quiet = vedette("meet", *places, "-o", "-", "-q")
    assert quiet.stdout == result.stdout
    assert "7 of 10 publications are bad" in quiet.stderr
