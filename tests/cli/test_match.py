"""`vedette match`: what it writes, in which order, and what it says beside it."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tests.cli.session import EVENTS, PAIRS, SUBSCRIPTIONS, files_in, pairs, vedette, write_lines
from vedette.engine import slicing
from vedette.filters.index import names
from vedette.io import chunk_stepper


def _write_events(path: Path) -> Path:
    if path.suffix == ".csv":
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, ["id", "issue", "price", "volume"])
            writer.writeheader()
            writer.writerows(EVENTS)
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(EVENTS), path)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress("".join(f"{json.dumps(event)}\n" for event in EVENTS).encode()))
    else:
        write_lines(path, EVENTS)
    return path


def _write_subscriptions(path: Path) -> Path:
    if path.suffix == ".yaml":
        path.write_text(yaml.safe_dump(SUBSCRIPTIONS))
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(SUBSCRIPTIONS), path)
    else:
        write_lines(path, SUBSCRIPTIONS)
    return path


@pytest.mark.parametrize("name", ["e.jsonl", "e.csv", "e.parquet", "e.jsonl.gz"])
def test_events_of_every_format_match_alike(name: str, subscriptions: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    result = vedette("match", subscriptions, _write_events(tmp_path / name), "-o", out)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert pairs(out.read_text()) == PAIRS


@pytest.mark.parametrize("name", ["s.jsonl", "s.yaml", "s.parquet"])
def test_subscriptions_of_every_format_match_alike(name: str, events: Path, tmp_path: Path) -> None:
    result = vedette("match", _write_subscriptions(tmp_path / name), events, "-o", "-")
    assert pairs(result.stdout) == PAIRS


def test_parquet_output(subscriptions: Path, events: Path, tmp_path: Path) -> None:
    vedette("match", subscriptions, events, "-o", tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.to_pylist() == [{"event": e, "subscription": s, "kind": "match"} for e, s in PAIRS]


def test_parquet_to_standard_output(subscriptions: Path, events: Path) -> None:
    result = vedette("match", subscriptions, events, "-o", "-", "--output-format", "parquet")
    assert pq.read_table(pa.BufferReader(result.stdout_bytes)).num_rows == len(PAIRS)


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
@pytest.mark.parametrize("empty", ["subscriptions", "events"])
def test_nothing_to_match(name: str, empty: str, subscriptions: Path, events: Path, tmp_path: Path) -> None:
    (subscriptions if empty == "subscriptions" else events).write_text("")
    result = vedette("match", subscriptions, events, "-o", tmp_path / name)
    assert result.exit_code == 0
    assert "0 matches, 0 rejected" in result.stderr
    if name.endswith("parquet"):
        assert pq.read_table(tmp_path / name).num_rows == 0
    else:
        assert (tmp_path / name).read_text() == ""


@pytest.mark.parametrize("index", names())
def test_every_index_gives_the_same(index: str, subscriptions: Path, events: Path) -> None:
    assert pairs(vedette("match", subscriptions, events, "-o", "-", "--index", index).stdout) == PAIRS


def test_standard_input_for_events_or_subscriptions(subscriptions: Path, events: Path) -> None:
    assert pairs(vedette("match", subscriptions, "-", "-o", "-", stdin=events.read_bytes()).stdout) == PAIRS
    assert pairs(vedette("match", "-", events, "-o", "-", stdin=subscriptions.read_bytes()).stdout) == PAIRS


@pytest.mark.parametrize("name", ["e.csv", "e.parquet"])
def test_formats_of_standard_input_can_be_said(name: str, subscriptions: Path, tmp_path: Path) -> None:
    content = _write_events(tmp_path / name).read_bytes()
    result = vedette("match", subscriptions, "-", "-o", "-", "--events-format", name[2:], stdin=content)
    assert pairs(result.stdout) == PAIRS


def test_formats_can_be_said_against_the_name(tmp_path: Path) -> None:
    write_lines(tmp_path / "s.txt", SUBSCRIPTIONS)
    write_lines(tmp_path / "e.log", EVENTS)
    said = ("--subscriptions-format", "jsonl", "--events-format", "jsonl", "--output-format", "parquet")
    result = vedette("match", tmp_path / "s.txt", tmp_path / "e.log", "-o", tmp_path / "out", *said)
    assert result.exit_code == 0
    assert pq.read_table(tmp_path / "out").num_rows == len(PAIRS)


def test_events_without_id_are_numbered_over_all_rows(tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "all", "when": "x >= 0"}])
    events = write_lines(tmp_path / "e.jsonl", [{"x": 1}, "oops", {"x": 2}, {"id": 77, "x": 3}, {"id": None, "x": 4}])
    found = pairs(vedette("match", subscriptions, events, "-o", "-").stdout)
    assert found == [("0", "all"), ("2", "all"), ("77", "all"), ("4", "all")]


def test_order_is_that_of_the_files(tmp_path: Path) -> None:
    ids = ["z", "10", "9", "a"]
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": id_, "when": f"x >= {i}"} for i, id_ in enumerate(ids)])
    events = write_lines(tmp_path / "e.jsonl", [{"id": f"e{9 - i}", "x": 9 - i} for i in range(10)])
    found = pairs(vedette("match", subscriptions, events, "-o", "-").stdout)
    assert found == [(f"e{x}", id_) for x in range(9, -1, -1) for i, id_ in enumerate(ids) if x >= i]


def test_slices_of_a_chunk_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_stepper, "Slicer", lambda first: slicing.Slicer(3))
    monkeypatch.setattr(slicing, "_MATCHES", 200)
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": f"s{i}", "when": f"x >= {i}"} for i in range(5)])
    events = write_lines(tmp_path / "e.jsonl", [{"x": i % 7 if i != 100 else "seven"} for i in range(300)])
    schema = tmp_path / "schema.yaml"
    schema.write_text("x: int\n")
    result = vedette("match", subscriptions, events, "-o", "-", "--schema", schema, "--rejects", tmp_path / "r.jsonl")
    assert pairs(result.stdout) == [(str(i), f"s{j}") for i in range(300) for j in range(5) if i != 100 and i % 7 >= j]
    (reject,) = (tmp_path / "r.jsonl").read_text().splitlines()
    assert json.loads(reject)["line"] == 101


# ---------------------------------------------------------------- what is said beside it


def test_inferred_schema_and_summary_go_to_standard_error(subscriptions: Path, events: Path) -> None:
    result = vedette("match", subscriptions, events, "-o", "-")
    assert "  price: float" in result.stderr
    assert "  volume: int" in result.stderr
    assert "4 events against 3 subscriptions: 6 matches, 0 rejected" in result.stderr
    assert "events/s" in result.stderr


def test_of_the_inferred_schema_what_subscriptions_speak_of_is_printed_as_filters_write_it(tmp_path: Path) -> None:
    """... and reads back as a schema file."""
    whens = [
        "`Order ID` > 5 and on is not null",
        "text(detail) contains 'x' or strings(*) contains 'y'",
        "[kind = 'a' and host = $h] ; [host = $h] by region",
    ]
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": f"s{n}", "when": when} for n, when in enumerate(whens)])
    spoken = {"Order ID": 7, "on": True, "detail": {"x y": 1, "z": 2}, "kind": "a", "host": "h", "region": "r"}
    unspoken = {f"field{n}": n for n in range(612)} | {"ordered": 1}
    events = write_lines(tmp_path / "e.jsonl", [{"id": "e1", "time": "2026-01-01T00:00:00Z", **spoken, **unspoken}])
    result = vedette("match", subscriptions, events, "-o", "-")
    lines = result.stderr.splitlines()
    assert lines[0].startswith("Schema, inferred from")
    shown = [line for line in lines if line.startswith("  ")]
    assert [line.strip() for line in shown] == [
        *("time: string", "`Order ID`: int", "`on`: bool", "detail.`x y`: int", "detail.z: int"),
        *("kind: string", "host: string", "region: string"),
    ]
    assert "and 614 more that no subscription speaks of" in lines  # `id` is one of them
    schema = tmp_path / "schema.yaml"
    schema.write_text("\n".join(shown).replace("time: string", "time: timestamp"))
    again = vedette("match", subscriptions, events, "-o", "-", "--schema", schema)
    assert again.exit_code == 0, again.stderr
    assert again.stdout == result.stdout != ""


def test_of_objects_that_are_read_whole_the_first_attributes_are_printed(tmp_path: Path) -> None:
    subscriptions = write_lines(
        tmp_path / "s.jsonl", [{"id": "s", "when": "text(asked) contains 'x' and asked.n399 = 1 and kind = 'a'"}]
    )
    event = {"asked": {f"n{n}": n for n in range(400)}, "kind": "a", "other": 1}
    result = vedette("match", subscriptions, write_lines(tmp_path / "e.jsonl", [event]), "-o", "-")
    shown = [line.strip() for line in result.stderr.splitlines() if line.startswith("  ")]
    assert shown == [*(f"asked.n{n}: int" for n in range(20)), "asked.n399: int", "kind: string"]
    assert "and 379 more in objects that subscriptions read whole" in result.stderr
    assert "and 1 more that no subscription speaks of" in result.stderr


def test_a_schema_of_which_nothing_is_spoken_is_counted(tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "s1", "when": "true"}])
    result = vedette("match", subscriptions, write_lines(tmp_path / "e.jsonl", [{"x": 1, "y": 2}]), "-o", "-")
    assert "subscriptions speak of none of 2 attributes" in result.stderr


def test_quiet_says_nothing_when_all_is_well(subscriptions: Path, events: Path) -> None:
    assert vedette("match", subscriptions, events, "-o", "-", "--quiet").stderr == ""


def test_planner_and_model_are_accepted_with_a_note(subscriptions: Path, events: Path) -> None:
    result = vedette("match", subscriptions, events, "-o", "-", "--planner", "adaptive", "--model", "m.bin")
    assert pairs(result.stdout) == PAIRS
    assert "need neither a planner nor a model" in result.stderr


def test_misspelt_attributes_are_pointed_out(events: Path, tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "s1", "when": "prise > 3"}])
    result = vedette("match", subscriptions, events, "-o", "-")
    assert result.exit_code == 0
    assert "no event has the attribute 'prise'; did you mean price?" in result.stderr


def test_expired_subscriptions_are_left_out(events: Path, tmp_path: Path) -> None:
    expired = {"id": "old", "when": "price > 0", "expires": "2001-01-01T00:00:00Z"}
    subscriptions = write_lines(tmp_path / "s.jsonl", [expired, SUBSCRIPTIONS[0]])
    result = vedette("match", subscriptions, events, "-o", "-")
    assert pairs(result.stdout) == [("e1", "s1")]
    assert "1 subscription has expired and is left out" in result.stderr


# ---------------------------------------------------------------- events that cannot be read


def test_rejects_are_counted_reported_and_written_aside(subscriptions: Path, tmp_path: Path) -> None:
    lines = [EVENTS[0], "{broken", [1], "", {"id": "e5", "issue": "IBM", "price": "cheap"}, EVENTS[1]]
    events = write_lines(tmp_path / "e.jsonl", lines)
    schema = write_lines(tmp_path / "schema.json", [{"issue": "string", "price": "float", "volume": "int"}])
    aside = tmp_path / "rejects.jsonl"
    result = vedette("match", subscriptions, events, "-o", "-", "--schema", schema, "--rejects", aside)
    assert result.exit_code == 0
    assert pairs(result.stdout) == PAIRS[:4]
    rejects = [json.loads(line) for line in aside.read_text().splitlines()]
    assert [reject["line"] for reject in rejects] == [2, 3, 5]
    assert rejects[0]["raw"] == "{broken"
    assert "price" in rejects[2]["reason"]
    assert "3 of 5 events rejected" in result.stderr
    assert "line 3: an event is an object, not a list" in result.stderr
    assert "Schema, inferred" not in result.stderr


def test_rejects_are_reported_even_if_quiet(subscriptions: Path, tmp_path: Path) -> None:
    events = write_lines(tmp_path / "e.jsonl", ["oops"] * 12)
    result = vedette("match", subscriptions, events, "-o", "-", "-q")
    assert result.exit_code == 0
    assert "12 of 12 events rejected" in result.stderr
    assert "line 5: " in result.stderr
    assert "line 6: " not in result.stderr
    assert "and 7 more" in result.stderr


@pytest.mark.parametrize("name", ["e.jsonl", "e.csv"])
def test_a_given_schema_holds_whoever_subscribed(name: str, tmp_path: Path) -> None:
    """An event that breaks the schema is rejected also where no subscription asks for the attribute."""
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "s1", "when": "issue = 'IBM'"}])
    events = tmp_path / name
    if name.endswith("csv"):
        events.write_text("issue,price\nIBM,1\nIBM,much\n")
    else:
        write_lines(events, [{"issue": "IBM", "price": 1}, {"issue": "IBM", "price": "much"}])
    schema = tmp_path / "schema.yaml"
    schema.write_text("issue: string\nprice: float\n")
    result = vedette("match", subscriptions, events, "-o", "-", "--schema", schema)
    assert pairs(result.stdout) == [("0", "s1")]
    assert "1 of 2 events rejected" in result.stderr


@pytest.mark.parametrize("name", ["e.jsonl", "e.csv", "-"])
def test_one_bad_value_does_not_change_the_type_of_all(name: str, tmp_path: Path) -> None:
    """No schema is given, and one of many prices is a text: that event is rejected, the others match."""
    subscriptions = write_lines(
        tmp_path / "s.jsonl", [{"id": "s1", "when": "price < 3"}, {"id": "s2", "when": "issue = 'IBM'"}]
    )
    prices: list[object] = [1, 2, "much", 4]
    lines = [json.dumps({"issue": "IBM", "price": price}) for price in prices]
    if name.endswith("csv"):
        lines = ["issue,price", *(f"IBM,{price}" for price in prices)]
    text = "".join(f"{line}\n" for line in lines)
    place = "-" if name == "-" else tmp_path / name
    if name != "-":
        (tmp_path / name).write_text(text)
    result = vedette("match", subscriptions, place, "-o", "-", stdin=text)
    assert result.exit_code == 0
    assert pairs(result.stdout) == [("0", "s1"), ("0", "s2"), ("1", "s1"), ("1", "s2"), ("3", "s2")]
    assert "price is read as float, as subscriptions expect" in result.stderr
    assert "1 of 4 events rejected" in result.stderr


@pytest.mark.parametrize("rows", ["IBM,,1\nIBM,,2\n", "", "oops\n"])
def test_a_column_without_values_has_no_type(rows: str, tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "s1", "when": "price < 3 or volume > 1"}])
    events = tmp_path / "e.csv"
    events.write_text(f"issue,price,volume\n{rows}")
    result = vedette("match", subscriptions, events, "-o", "-")
    assert result.exit_code == 0
    assert pairs(result.stdout) == ([("1", "s1")] if "IBM" in rows else [])


@pytest.mark.parametrize("name", ["e.jsonl", "e.csv"])
def test_where_most_values_differ_the_subscription_is_wrong(name: str, tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "s1", "when": "issue > 3"}])
    events = tmp_path / name
    if name.endswith("csv"):
        events.write_text("issue\nIBM\n4\nAMD\n")
    else:
        write_lines(events, [{"issue": "IBM"}, {"issue": 4}, {"issue": "AMD"}])
    result = vedette("match", subscriptions, events, "-o", "-")
    assert result.exit_code == 1
    assert "issue is a string and cannot be compared with" in result.stderr


# ---------------------------------------------------------------- bad input: everything said, nothing written


BAD = [
    {"id": "b1", "when": "issue = 'IBM' and price <"},
    {"id": "good", "when": "price > 3"},
    {"id": "b2", "when": "[price = 1] ; [price = $x + 1]"},
    {"id": "b3", "when": "locIn('Bronx') and price > 3"},
    {"id": "b4", "when": {"source": ["aws.ec2"]}, "dialect": "klingon"},
    {"id": "good", "when": "price > 4"},
    {"id": "b5", "when": "price > 3", "predict": {"within": 10}},
    {"id": "b6", "when": "price = 'much'"},
    "{not json",
]


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet", "out.jsonl.gz"])
def test_all_bad_subscriptions_are_reported_and_nothing_is_written(name: str, events: Path, tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "bad.jsonl", BAD)
    out, aside = tmp_path / name, tmp_path / "rejects.jsonl"
    out.write_text("as it was")
    before = files_in(tmp_path)
    result = vedette("match", subscriptions, events, "-o", out, "--rejects", aside)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert files_in(tmp_path) == before
    assert out.read_text() == "as it was"
    told = result.stderr
    assert told.index("line 1, subscription 'b1'") < told.index("line 3, subscription 'b2'") < told.index("line 9")
    assert "    issue = 'IBM' and price <\n                             ^" in told
    assert "subscription 'b2'\n  " in told
    assert "subscription 'b3'\n  line 1, column 1: " in told  # there are no places
    assert "    locIn('Bronx') and price > 3\n    ^^^^^^^^^^^^^^" in told
    assert "subscription 'b5'\n  `predict` asks for forecasts, which need a pattern" in told
    assert "the dialect 'klingon' is not known" in told
    assert "line 6\n  the id 'good' is taken by line 2" in told
    assert "subscription 'b6'\n  line 1, column 9: price is a float" in told
    assert "8 subscriptions are bad; nothing was written." in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (("nothing.jsonl", "{events}", "out.jsonl"), "nothing.jsonl: no such file"),
        (("{subscriptions}", "nothing.csv", "out.jsonl"), "nothing.csv: no such file"),
        (("{subscriptions}", "{events}", "no/folder/out.jsonl"), "cannot write no/folder/out.jsonl"),
        (("{subscriptions}", "{events}", "out.csv"), "cannot write csv"),
        (("{subscriptions}", "{schema}", "out.jsonl"), "the name does not say which format it has"),
    ],
)
def test_files_that_cannot_be_used(
    place: tuple[str, ...],
    told: str,
    subscriptions: Path,
    events: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.xyz").write_text("")
    before = files_in(tmp_path)
    names = {"subscriptions": subscriptions.name, "events": events.name, "schema": "schema.xyz"}
    first, second, out = (part.format(**names) for part in place)
    result = vedette("match", first, second, "-o", out)
    assert result.exit_code == 1
    assert told in result.stderr
    assert "Hint: " in result.stderr
    assert files_in(tmp_path) == before


def test_a_bad_schema_is_bad_input(subscriptions: Path, events: Path, tmp_path: Path) -> None:
    schema = write_lines(tmp_path / "schema.json", [{"price": "money"}])
    result = vedette("match", subscriptions, events, "-o", "-", "--schema", schema)
    assert result.exit_code == 1
    assert "'price'" in result.stderr
    assert result.stdout == ""


def test_a_file_that_breaks_half_way_leaves_nothing(subscriptions: Path, tmp_path: Path) -> None:
    events = tmp_path / "e.jsonl.gz"
    whole = gzip.compress("".join(f'{{"id": "e{i}", "price": {i}.5}}\n' for i in range(200_000)).encode())
    events.write_bytes(whole[: len(whole) // 2])
    before = files_in(tmp_path)
    result = vedette("match", subscriptions, events, "-o", tmp_path / "out.jsonl")
    assert result.exit_code == 1
    assert "damaged gzip file" in result.stderr
    assert files_in(tmp_path) == before


# ---------------------------------------------------------------- wrong usage


@pytest.mark.parametrize(
    "arguments",
    [
        ("match",),
        ("match", "{s}", "{e}"),
        ("match", "-", "-", "-o", "-"),
        ("match", "{s}", "{e}", "-o", "-", "--rejects", "-"),
        ("match", "{s}", "{e}", "-o", "{e}"),
        ("match", "{s}", "{e}", "-o", "same.jsonl", "--rejects", "./same.jsonl"),
        ("match", "{s}", "{e}", "-o", "-", "--index", "btree"),
        ("match", "{s}", "{e}", "-o", "-", "--planner", "best"),
        ("match", "{s}", "{e}", "-o", "-", "--engine", "flink"),
        ("match", "{s}", "{e}", "-o", "-", "--threads", "0"),
        ("match", "{s}", "{e}", "-o", "-", "--fast"),
        ("explain", "{s}", "{e}"),
        ("explain", "-", "-", "-s", "s1"),
        ("check",),
        ("mtach",),
    ],
)
def test_wrong_usage_is_two(arguments: tuple[str, ...], subscriptions: Path, events: Path) -> None:
    before = events.read_bytes()
    result = vedette(*(part.format(s=subscriptions, e=events) for part in arguments))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Usage: " in result.stderr
    assert events.read_bytes() == before
