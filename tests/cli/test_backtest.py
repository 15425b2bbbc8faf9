"""`vedette backtest`: what `match` finds, counted by subscription and day."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tests.cli.session import files_in, process, vedette, write_lines
from tests.contract.sigma import shared
from tests.patterns.generate import Writer, shuffled, stream

BREAK_IN = (
    "a:[status = 'denied' and ip = $who] ; b:[status = 'denied' and ip = $who] ; c:[status = 'success' and ip = $who] "
    "within 5 min"
)
SUBSCRIPTIONS = [
    {"id": "never", "when": "status = 'odd'"},
    {"id": "break-in", "subscriber": "ada", "when": BREAK_IN},
    {"id": "denied", "when": "status = 'denied'"},
]
FILTERS = [SUBSCRIPTIONS[0], SUBSCRIPTIONS[2], {"id": "success", "when": "status = 'success'"}]
EVENTS = [
    {"id": "e1", "time": "2024-05-01T23:58:00Z", "status": "denied", "ip": "10.0.0.1"},
    {"id": "e2", "time": "2024-05-01T23:58:10Z", "status": "denied", "ip": "10.0.0.2"},
    {"id": "e3", "time": "2024-05-01T23:59:00Z", "status": "denied", "ip": "10.0.0.1"},
    {"id": "e4", "time": "2024-05-02T00:01:00Z", "status": "success", "ip": "10.0.0.1"},
    {"id": "e5", "time": "2024-05-04T10:30:00.25Z", "status": "denied", "ip": "10.0.0.1"},
    {"id": "e6", "status": "denied", "ip": "10.0.0.3"},
]
REPORT = """\
6 events on 3 days, 2024-05-01 to 2024-05-04 (1 without a time): 2 of 3 subscriptions would have reported something

subscription  matches  days  busiest day     first                 last                  by day
denied              5     2  2024-05-01 (3)  2024-05-01 23:58:00Z  2024-05-04 10:30:00Z  █··▃
  would report 83% of all events
    e6
    e1  2024-05-01 23:58:00Z
    e2  2024-05-01 23:58:10Z
    e3  2024-05-01 23:59:00Z
    e5  2024-05-04 10:30:00.25Z
break-in            1     1  2024-05-02 (1)  2024-05-02 00:01:00Z  2024-05-02 00:01:00Z  ·█··
    e4  2024-05-02 00:01:00Z  a = e1, b = e3, c = e4  $who = 10.0.0.1

Never reported anything: never
"""
COUNTS = [
    {"subscription": "break-in", "day": "2024-05-02", "matches": 1, "predictions": 0},
    {"subscription": "denied", "day": "", "matches": 1, "predictions": 0},
    {"subscription": "denied", "day": "2024-05-01", "matches": 3, "predictions": 0},
    {"subscription": "denied", "day": "2024-05-04", "matches": 1, "predictions": 0},
]


@pytest.fixture
def subscriptions(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "subscriptions.jsonl", SUBSCRIPTIONS)


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "history.jsonl", EVENTS)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_report(subscriptions: Path, history: Path) -> None:
    result = vedette("backtest", subscriptions, history)
    assert result.exit_code == 0
    assert result.stdout == REPORT
    assert "6 events against 3 subscriptions: 6 matches, 0 rejected" in result.stderr
    quiet = vedette("backtest", subscriptions, history, "--quiet")
    assert (quiet.stdout, quiet.stderr) == (REPORT, "")


def test_filters_alone_are_counted_like_filters_beside_patterns(history: Path, tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "filters.jsonl", FILTERS)
    out, samples = tmp_path / "out.jsonl", tmp_path / "samples.jsonl"
    result = vedette("backtest", subscriptions, history, "-o", out, "--samples-out", samples, "--quiet")
    assert result.exit_code == 0
    mine = [record for record in lines(out) if record["subscription"] == "denied"]
    assert mine == [record for record in COUNTS if record["subscription"] == "denied"]
    assert [record["event"] for record in lines(samples)] == ["e6", "e1", "e2", "e3", "e5", "e4"]
    assert lines(samples)[0] == {"event": "e6", "subscription": "denied", "time": None, "kind": "match"}


def test_counts_and_samples_in_files(subscriptions: Path, history: Path, tmp_path: Path) -> None:
    out, samples = tmp_path / "out.jsonl", tmp_path / "samples.jsonl"
    vedette("backtest", subscriptions, history, "-o", out, "--samples", "2", "--samples-out", samples, "--quiet")
    assert lines(out) == COUNTS
    assert out.read_text().splitlines()[0] == json.dumps(COUNTS[0])
    found = lines(samples)
    assert [(one["subscription"], one["event"]) for one in found] == [
        ("break-in", "e4"),
        ("denied", "e6"),
        ("denied", "e5"),
    ]
    assert found[0] == {
        "event": "e4",
        "subscription": "break-in",
        "time": "2024-05-02T00:01:00Z",
        "kind": "match",
        "steps": {"a": "e1", "b": "e3", "c": "e4"},
        "bindings": {"who": "10.0.0.1"},
    }
    assert found[2]["time"] == "2024-05-04T10:30:00.25Z"
    table = tmp_path / "out.parquet"
    vedette("backtest", subscriptions, history, "-o", table, "--quiet")
    assert pq.read_table(table).to_pylist() == COUNTS


def test_on_standard_output_counts_come_alone(subscriptions: Path, history: Path) -> None:
    result = vedette("backtest", subscriptions, history, "-o", "-")
    assert [json.loads(line) for line in result.stdout.splitlines()] == COUNTS
    assert "Never reported anything: never" in result.stderr


@pytest.mark.parametrize("name", ["s.yaml", "s.parquet"])
def test_subscriptions_of_every_format(name: str, history: Path, tmp_path: Path) -> None:
    path = tmp_path / name
    if name.endswith("yaml"):
        path.write_text(yaml.safe_dump(SUBSCRIPTIONS))
    else:
        pq.write_table(pa.Table.from_pylist([{"subscriber": None, **one} for one in SUBSCRIPTIONS]), path)
    assert vedette("backtest", path, history, "--quiet").stdout == REPORT


def test_history_of_every_format(subscriptions: Path, history: Path, tmp_path: Path) -> None:
    table = tmp_path / "history.parquet"
    pq.write_table(pa.Table.from_pylist([{"more": 1, **event} for event in EVENTS]), table)
    rows = ["id,time,status,ip", *(f"{e['id']},{e.get('time', '')},{e['status']},{e['ip']}" for e in EVENTS)]
    text = tmp_path / "history.csv"
    text.write_text("\n".join(rows) + "\n")
    for place in (table, text):
        assert vedette("backtest", subscriptions, place, "--quiet").stdout == REPORT
    piped = vedette("backtest", subscriptions, "-", "--events-format", "jsonl", "--quiet", stdin=history.read_text())
    assert piped.stdout == REPORT


# ---------------------------------------------------------------- the same as `match`


def as_matched(subscriptions: Path, events: Path, times: dict[str, Any], *options: object) -> Counter[Any]:
    """The rows of `match`, by subscription, day and kind."""
    rows = vedette("match", subscriptions, events, "-o", "-", "--quiet", *options).stdout.splitlines()
    found: Counter[Any] = Counter()
    for row in map(json.loads, rows):
        time = times[row["event"]]
        day = "" if time is None else f"1970-01-0{1 + time // 86_400}"
        found[row["subscription"], day, row["kind"]] += 1
    return found


def as_counted(path: Path) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for one in lines(path):
        for kind, name in (("match", "matches"), ("prediction", "predictions")):
            found[one["subscription"], one["day"], kind] += one[name]
    return +found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("options", [(), ("--lateness", "3 s")])
def test_it_counts_what_match_writes(seed: int, options: tuple[object, ...], tmp_path: Path) -> None:
    random = Random(seed)
    texts = [Writer(random, most_steps=4).pattern() for _ in range(8)] + ["kind = 'a'", "u > 1 or v is null"]
    records: list[dict[str, Any]] = [{"id": f"s{number}", "when": text} for number, text in enumerate(texts)]
    for record in records[:3]:
        record["predict"] = {"within": 3, "threshold": 0.3}
    events = [{"id": f"e{number}", **event} for number, event in enumerate(shuffled(random, stream(random, 120)))]
    for event in events:
        if event.get("time") is not None:
            event["time"] += 86_400 - 40  # around midnight
    times = {event["id"]: event.get("time") for event in events}
    subscriptions, history = write_lines(tmp_path / "s.jsonl", records), write_lines(tmp_path / "e.jsonl", events)
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(dict.fromkeys(["kind", "s", "r"], "string") | {"u": "int", "v": "int", "f": "float"}))
    out = tmp_path / "out.jsonl"
    asked = ("--schema", schema, *options)
    assert vedette("backtest", subscriptions, history, "-o", out, "--quiet", *asked).exit_code == 0
    expected = as_matched(subscriptions, history, times, *asked)
    assert as_counted(out) == expected
    assert {day for _, day, _ in expected} == {"", "1970-01-01", "1970-01-02"}


def test_operators(tmp_path: Path) -> None:
    operators = tmp_path / "operators.py"
    operators.write_text(
        "from vedette.operators.operator import operator\n\n"
        '@operator(outputs=1, reads=("n",))\ndef parts(event):\n    return [event["n"], event["n"] + 1]\n'
    )
    subscriptions = write_lines(
        tmp_path / "s.jsonl",
        [
            {"id": "two", "when": "parts(?x) and ?x > 1"},
            {"id": "row", "when": "[parts(?x) and ?x > 2] ; [n = 0] within 1 h"},
        ],
    )
    records: list[dict[str, Any]] = [{"id": f"e{n}{m}", "time": 60 * m, "n": n} for m, n in enumerate([0, 1, 2, 0])]
    history = write_lines(tmp_path / "e.jsonl", records)
    out, samples = tmp_path / "out.jsonl", tmp_path / "samples.jsonl"
    told = ("--operators", operators, "--quiet")
    result = vedette("backtest", subscriptions, history, "-o", out, "--samples-out", samples, *told)
    assert result.exit_code == 0
    times = {str(record["id"]): record["time"] for record in records}
    assert as_counted(out) == as_matched(subscriptions, history, times, *told[:2])
    rows = [json.loads(row) for row in vedette("match", subscriptions, history, "-o", "-", *told).stdout.splitlines()]
    sampled = [{name: value for name, value in one.items() if name != "time"} for one in lines(samples)]
    assert sorted(map(str, rows)) == sorted(map(str, sampled))  # so few that all of them are samples
    assert any("bindings" in one for one in sampled)


# ---------------------------------------------------------------- forecasts


def waves(folder: Path, seed: int = 1, size: int = 900) -> tuple[Path, Path]:
    """A pattern that is forecast, and ten events a day that stay hot or cold for a while."""
    random, temperature, events = Random(seed), 15, []
    for number in range(size):
        if random.random() < 0.3:
            temperature = random.choice([15, 32])
        events.append({"id": f"d{number}", "time": 8_640 * number, "city": "Oslo", "temp": temperature})
    asked = {"within": 3, "threshold": 0.5}
    subscriptions = [{"id": "heat", "when": "[temp > 30]{3} by city", "predict": asked}]
    return write_lines(folder / "s.jsonl", subscriptions), write_lines(folder / "e.jsonl", events)


def test_forecasts_are_scored(tmp_path: Path) -> None:
    subscriptions, history = waves(tmp_path)
    result = vedette("backtest", subscriptions, history, "--plot", tmp_path / "p.svg")
    assert " came true (" in result.stdout
    assert " foreseen (" in result.stdout
    assert "; Brier 0." in result.stdout
    assert "prediction: " in result.stdout
    assert "Forecasts begin from nothing" in result.stderr
    root = ET.parse(tmp_path / "p.svg").getroot()
    assert any(each.tag.endswith("polyline") for each in root)


def test_trained_until_a_moment(tmp_path: Path) -> None:
    subscriptions, history = waves(tmp_path)
    out = tmp_path / "out.jsonl"
    options = ("--train-until", "1970-02-01", "-o", out)
    result = vedette("backtest", subscriptions, history, *options)
    assert "Forecasts begin from nothing" not in result.stderr
    early = [one for one in lines(out) if one["day"] < "1970-02-01"]
    late = [one for one in lines(out) if one["day"] >= "1970-02-01"]
    assert sum(one["matches"] for one in early) > 0
    assert sum(one["predictions"] for one in early) == 0 < sum(one["predictions"] for one in late)
    matches = sum(one["matches"] for one in late)
    assert f" of {matches} matches foreseen" in result.stdout  # earlier ones are not judged
    plain = tmp_path / "plain.jsonl"
    vedette("backtest", subscriptions, history, "-o", plain, "--quiet")
    assert [one["matches"] for one in lines(plain) if one["matches"]] == [
        one["matches"] for one in lines(out) if one["matches"]
    ]


def test_a_model(tmp_path: Path) -> None:
    subscriptions, history = waves(tmp_path)
    model = tmp_path / "heat.model"
    vedette("train", subscriptions, history, "-o", model, "--quiet")
    out = tmp_path / "out.jsonl"
    vedette("backtest", subscriptions, history, "--model", model, "-o", out, "--quiet")
    rows = vedette("match", subscriptions, history, "--model", model, "-o", "-", "--quiet").stdout
    predicted = sum(json.loads(row)["kind"] == "prediction" for row in rows.splitlines())
    assert sum(one["predictions"] for one in lines(out)) == predicted > 0


def test_a_moment_before_all_events_is_warned_of(tmp_path: Path) -> None:
    subscriptions, history = waves(tmp_path, size=50)
    result = vedette("backtest", subscriptions, history, "--train-until", "1969-01-01")
    assert "no event is before 1969-01-01: forecasts had nothing to learn from" in result.stderr


def test_where_nothing_is_forecast_training_changes_nothing(subscriptions: Path, history: Path) -> None:
    result = vedette("backtest", subscriptions, history, "--train-until", "2024-05-02")
    assert "--train-until changes nothing here" in result.stderr
    assert result.stdout == REPORT


# ---------------------------------------------------------------- what is shown, and drawn


def test_many_subscriptions_are_cut_and_most_come_first(tmp_path: Path) -> None:
    records = [{"id": f"s{number:02}", "when": f"n < {number}"} for number in range(40)]
    records += [{"id": f"no{number}", "when": f"n = {-number}"} for number in range(1, 13)]
    subscriptions = write_lines(tmp_path / "s.jsonl", records)
    history = write_lines(tmp_path / "e.jsonl", [{"time": 86_400 * n, "n": n} for n in range(80)])
    told = vedette("backtest", subscriptions, history, "--quiet").stdout.splitlines()
    assert (
        told[0]
        == "80 events on 80 days, 1970-01-01 to 1970-03-21: 39 of 52 subscriptions would have reported something"
    )
    assert told[2].endswith("by week")
    assert told[3].startswith("s39 ")
    assert "… and 19 more (--all shows them)" in told
    assert (
        told[-1]
        == f"Never reported anything: s00, {', '.join(f'no{n}' for n in range(1, 10))} … and 3 more (--all names them)"
    )
    everything = vedette("backtest", subscriptions, history, "--quiet", "--all").stdout.splitlines()
    assert len(everything) == len(told) - 1 + 19
    assert everything[-1].endswith("no12")
    verbose = vedette("backtest", subscriptions, history, "--quiet", "-v").stdout.splitlines()
    assert verbose[4] == "    0  1970-01-01 00:00:00Z"


def test_events_without_any_time(tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "s", "when": "n > 1"}])
    out = tmp_path / "out.jsonl"
    for time in ({}, {"time": True}, {"time": "noon"}):
        history = write_lines(tmp_path / "e.jsonl", [{"n": n, **time} for n in range(5)])
        result = vedette("backtest", subscriptions, history, "--quiet", "-o", out, "--plot", tmp_path / "p.svg")
        assert result.stdout.startswith("5 events without a time: 1 of 1 subscription would have reported something")
        assert lines(out) == [{"subscription": "s", "day": "", "matches": 3, "predictions": 0}]
        ET.parse(tmp_path / "p.svg")


def test_nothing_at_all(tmp_path: Path) -> None:
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "s", "when": "n > 1"}])
    history = write_lines(tmp_path / "e.jsonl", [])
    out = tmp_path / "out.parquet"
    result = vedette("backtest", subscriptions, history, "--quiet", "-o", out, "--plot", tmp_path / "p.svg")
    assert result.exit_code == 0
    assert result.stdout.startswith("0 events: 0 of 1 subscription would have reported something")
    assert pq.read_table(out).num_rows == 0


def test_the_picture(subscriptions: Path, history: Path, tmp_path: Path) -> None:
    plot = tmp_path / "p.svg"
    vedette("backtest", subscriptions, history, "--plot", plot, "--quiet")
    cells = [each.text for each in ET.parse(plot).getroot().iter() if each.tag.endswith("title")]
    assert cells[1:] == ["denied, 2024-05-01: 3", "denied, 2024-05-04: 1", "break-in, 2024-05-02: 1"]


# ---------------------------------------------------------------- what goes wrong


def test_bad_subscriptions_are_all_told_and_nothing_is_written(history: Path, tmp_path: Path) -> None:
    records = [{"id": "b1", "when": "status ="}, {"id": "ok", "when": "ip = '1'"}, {"id": "b2", "when": "[status = 1"}]
    subscriptions = write_lines(tmp_path / "s.jsonl", records)
    result = vedette("backtest", subscriptions, history, "-o", tmp_path / "out.jsonl")
    assert result.exit_code == 1
    assert "'b1'" in result.stderr
    assert "'b2'" in result.stderr
    assert files_in(tmp_path) == {"s.jsonl", "history.jsonl"}


def test_rejected_events_are_counted_and_put_aside(subscriptions: Path, tmp_path: Path) -> None:
    history = write_lines(tmp_path / "e.jsonl", [*EVENTS, "no event", {"time": "late", "status": "denied"}])
    aside = tmp_path / "rejects.jsonl"
    result = vedette("backtest", subscriptions, history, "--rejects", aside)
    assert "2 of 8 events rejected" in result.stderr
    assert len(lines(aside)) == 2


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--train-until", "soon"), "is no time such as"),
        (("--train-until", "2024-05-02", "--model", "m"), "makes a model of its own"),
        (("--plot", "p.png"), "let its name end in .svg"),
        (("--samples", "0", "--samples-out", "s.out"), "leaves nothing to write"),
        (("--late", "l.jsonl"), "without --lateness no event comes too late"),
        (("-o", "-", "--plot", "-"), "cannot both be standard output"),
        (("-o", "x.jsonl", "--samples-out", "x.jsonl"), "are the same file"),
    ],
)
def test_wrong_usage(options: tuple[str, ...], told: str, subscriptions: Path, history: Path) -> None:
    result = vedette("backtest", subscriptions, history, *options)
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.parametrize(
    "options", [("-o", "nowhere/out.jsonl"), ("--plot", "nowhere/p.svg"), ("--samples-out", "s.parquet")]
)
def test_places_that_cannot_be_written_are_known_before_the_work(
    options: tuple[str, ...], subscriptions: Path, history: Path
) -> None:
    result = process("backtest", subscriptions, history, *options, cwd=subscriptions.parent)
    assert result.returncode == 1
    assert "cannot write" in result.stderr
    assert "Schema" not in result.stderr


# ---------------------------------------------------------------- real data


def test_five_failures_in_a_minute_of_real_logins(tmp_path: Path) -> None:
    table = pq.read_table(shared("logins/ssh_events.parquet"))
    history = tmp_path / "ssh.parquet"
    pq.write_table(table.rename_columns({"ts": "time"}), history)
    text = " ; ".join(["[event = 'failed']"] * 5) + " by source, src_ip within 60 s"
    subscriptions = write_lines(tmp_path / "s.jsonl", [{"id": "five", "when": text}])
    out = tmp_path / "out.jsonl"
    vedette("backtest", subscriptions, history, "-o", out, "--quiet")
    counts = {one["day"]: one["matches"] for one in lines(out)}
    assert counts.pop("2017-12-10") == 440  # all of one log lies on this day, and nothing of the other
    assert sum(counts.values()) == 361
