"""A pipeline with patterns and forecasts that is killed again and again tells what one left in peace tells.

Its partial matches and the events that are held back are in Spark's state store: what is in there when a run is cut
short must fit the micro-batch that is run again, also where all sinks have written it already.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.pipeline.killing import ALL, MOMENTS, CrashAt, kill, kill_at, moments
from tests.spark.pipeline.workplace import Record, Workplace
from vedette.engine.stream_matcher import StreamMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import RunError
from vedette.patterns.forecasts.model import Model
from vedette.spark.pipeline.config import load
from vedette.spark.pipeline.run import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.long

SEED = 20_241_103
KILLS, KILLS_BETWEEN_CHANGES = (14, 8) if ALL else (1, 1)
FILES = 48
PER_FILE = 20
LATENESS = 12  # seconds
BEGIN = 1_700_000_000
STATE_MOMENTS = {
    **MOMENTS,
    "state is being written": "state/state/*/*/.*",
    "state of a shard is there": "state/state/*/*/*",
}

ALL_EVENTS: Record = {"id": "all", "subscriber": "log", "when": "true"}
# Those that come and go have filters of their own: what is held back is known by the filters that it satisfied.
BY_KEY: Record = {
    "id": "key",
    "subscriber": "alice",
    "when": "x:[kind = 'a' and value > 5] ; y:[kind = 'b' and value > 5] within 9 s by who",
}
NO_KEY: Record = {"id": "none", "when": "[value > 70] ; not [kind = 'c'] ; [value < 30] within 20 s"}
VARIABLE: Record = {
    "id": "same",
    "subscriber": "bob",
    "when": "p:[kind = 'a' and value = $v] ; q:[kind = 'b' and value = $v] within 60 s",
}
SOON: Record = {
    "id": "soon",
    "subscriber": "alice",
    "when": "[kind = 'a'] ; [kind = 'b'] ; [kind = 'c'] within 30 s by who",
    "predict": {"within": 4, "threshold": 0.2},
}
SUBSCRIPTIONS = [ALL_EVENTS, BY_KEY, NO_KEY, VARIABLE, SOON]
# One pattern goes, others come, and one is other words under the same name. They are told apart by their number.
OTHERS = [
    ALL_EVENTS,
    NO_KEY,
    {**VARIABLE, "when": "p:[kind = 'c' and value = $v] ; q:[kind = 'b' and value = $v] within 60 s"},
    SOON,
    {"id": "fresh", "when": "[kind = 'c' and value > 7] ; [kind = 'c' and value > 7] within 9 s by who"},
    {"id": "more", "when": "[kind = 'b' and value > 8] ; [kind = 'a' and value > 8] within 5 s"},
]
Told = tuple[Any, ...]


def made(draw: random.Random, begin: int, count: int) -> list[dict[str, Any]]:
    """Events in the order of their time, two in a second."""
    return [
        {
            "id": f"e{number}",
            "time": BEGIN + number / 2,
            "kind": draw.choice("abc"),
            "who": draw.randrange(4),
            "value": draw.randrange(100),
        }
        for number in range(begin, begin + count)
    ]


EVENTS = made(random.Random(SEED), 0, FILES * PER_FILE)
LAST = {"id": "last", "time": BEGIN + 1_000_000, "kind": "d", "who": 9, "value": 50}  # nothing is held back behind it


def jumbled(draw: random.Random, events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same events, each as much out of order as `LATENESS` allows."""
    return sorted(events, key=lambda event: event["time"] + draw.uniform(0, LATENESS - 1))


def published(place: Workplace, events: Sequence[dict[str, Any]], *, bad: bool) -> Path:
    """All files of events, and the end; if `bad`, every fifth has a line that is none."""
    parts = [events[begin : begin + PER_FILE] for begin in range(0, len(events), PER_FILE)]
    for number, part in enumerate([*parts, [LAST]]):
        name = f"{number:03}.jsonl"
        place.publish(name, [*part, *([f"no JSON {number}"] if bad and number % 5 == 0 else [])])
        os.utime(place.events / name, (BEGIN + number,) * 2)  # Spark takes the oldest first
    return place.events


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What forecasts are made by, learned from other events."""
    stream = StreamMatcher(subscribed([SOON]), lateness=None)
    stream.process(made(random.Random(SEED + 1), 0, 2000))
    stream.finish()
    path = tmp_path_factory.mktemp("model") / "model.bin"
    stream.model().save(path)
    return path


@pytest.fixture(scope="module")
def out_of_order(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = Workplace(tmp_path_factory.mktemp("jumbled"))
    return published(place, jumbled(random.Random(SEED), EVENTS), bad=True)


@pytest.fixture(scope="module")
def in_order(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published(Workplace(tmp_path_factory.mktemp("ordered")), EVENTS, bad=False)


def describe(place: Workplace, events: Path, model: Path, *, files: int) -> None:
    """Several sinks and a quarantine; events may be late."""
    place.describe(
        mode="available-now",
        checkpoint="state",
        keep=["value"],
        source={"type": "jsonl", "path": events, "max_files_per_trigger": files},
        patterns={"lateness": f"{LATENESS} seconds", "model": model},
        sinks=[
            {"name": "out", "type": "jsonl", "path": "out"},
            {"name": "alice", "type": "jsonl", "path": "alice", "subscribers": ["alice"]},
        ],
        quarantine={"type": "jsonl", "path": "bad"},
    )


def describe_one_sink(place: Workplace, events: Path, model: Path, *, files: int) -> None:
    """Nothing but the state needs a micro-batch that its only sink has written."""
    place.describe(
        mode="available-now",
        checkpoint="state",
        source={"type": "jsonl", "path": events, "max_files_per_trigger": files},
        patterns={"model": model},
    )


# ---------------------------------------------------------------- what should be told


def subscribed(records: Iterable[Record]) -> Subscriptions:
    subscriptions = Subscriptions()
    subscriptions.add_many(records)
    return subscriptions


def local(records: Iterable[Record], events: Sequence[dict[str, Any]], model: Path | None) -> list[Told]:
    """What one process tells."""
    known = None if model is None else Model.load(model)
    stream = StreamMatcher(subscribed(records), lateness=None, model=known, learn=False)
    found = pa.concat_tables([stream.process(events, ids=[event["id"] for event in events]), stream.finish()])
    return sorted(map(plain, found.to_pylist()))


def plain(row: Mapping[str, Any]) -> Told:
    """A notification, so that it can be compared and sorted."""
    steps, bindings = (sorted(dict(row.get(name) or {}).items()) for name in ("steps", "bindings"))
    probability, within = (row.get(name) for name in ("probability", "within"))
    return (row["event"], row["subscription"], row["kind"], str(steps), str(bindings), str(probability), str(within))


def check_all_kinds(told: Iterable[Told]) -> None:
    """There is something to lose."""
    counts = {(each[1], each[2]) for each in told}
    assert {(each["id"], "match") for each in SUBSCRIPTIONS} | {("soon", "prediction")} <= counts


@pytest.fixture(scope="module")
def undisturbed(
    spark: SparkSession, out_of_order: Path, model: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[str]]:
    """What a run that is left in peace gives, as sorted lines of each sink; checked against the local engine."""
    place = Workplace(tmp_path_factory.mktemp("peace"))
    place.subscribe(*SUBSCRIPTIONS)
    describe(place, out_of_order, model, files=FILES)
    run(load(place.pipeline), spark=spark)
    rows = place.rows()
    told = sorted(map(plain, rows))
    assert told == local(SUBSCRIPTIONS, [*EVENTS, LAST], model)
    check_all_kinds(told)
    assert len({row["id"] for row in rows}) == len(rows)
    lines = {sink: place.lines(sink) for sink in ("out", "alice", "bad")}
    assert lines["alice"] == [line for line in lines["out"] if json.loads(line).get("subscriber") == "alice"]
    assert len(lines["bad"]) == len(range(0, FILES, 5))
    return lines


# ---------------------------------------------------------------- kill -9


@pytest.mark.thorough
def test_kills(
    tmp_path: Path, out_of_order: Path, model: Path, spark: SparkSession, undisturbed: dict[str, list[str]]
) -> None:
    print(f"seed {SEED}")
    draw = random.Random(SEED)
    place = Workplace(tmp_path)
    place.subscribe(*SUBSCRIPTIONS)
    describe(place, out_of_order, model, files=1)
    for number, moment in enumerate(moments(draw, KILLS, STATE_MOMENTS)):
        assert kill(place, moment, draw, STATE_MOMENTS), f"it ended before kill {number}: give it more files"
    describe(place, out_of_order, model, files=4)
    run(load(place.pipeline), spark=spark)
    for sink, lines in undisturbed.items():
        assert place.lines(sink) == lines, sink


@pytest.mark.skipif(not ALL, reason="make test-kills; faults in one process stand for it")
def test_kills_at_points_that_only_make_test_kills_does(
    tmp_path: Path, in_order: Path, model: Path, spark: SparkSession
) -> None:
    """Killed where the only sink has written a micro-batch, too, before Spark has committed it: its state is kept."""
    place = Workplace(tmp_path)
    place.subscribe(*SUBSCRIPTIONS)
    describe_one_sink(place, in_order, model, files=1)
    for point in POINTS:
        batch = kill_at(place, point, 2)
        assert not (place.folder / "state" / "commits" / str(batch)).exists()
        assert (place.folder / "out" / f"batch={batch}").exists() == point.startswith("written")
    describe_one_sink(place, in_order, model, files=FILES)
    run(load(place.pipeline), spark=spark)
    assert sorted(map(plain, place.rows())) == local(SUBSCRIPTIONS, [*EVENTS, LAST], model)
    check_watermarks(place)


@pytest.mark.thorough
def test_kills_while_subscriptions_change(tmp_path: Path, in_order: Path, model: Path, spark: SparkSession) -> None:
    draw = random.Random(SEED + 1)
    place = Workplace(tmp_path)
    describe_one_sink(place, in_order, model, files=1)
    without = {name: pattern for name, pattern in STATE_MOMENTS.items() if not pattern.startswith("bad")}
    for number, moment in enumerate(moments(draw, KILLS_BETWEEN_CHANGES, without)):
        place.subscribe(*(OTHERS if number % 2 else SUBSCRIPTIONS))
        assert kill(place, moment, draw, without), f"it ended before kill {number}: give it more files"
    place.subscribe(*(OTHERS if KILLS_BETWEEN_CHANGES % 2 else SUBSCRIPTIONS))
    describe_one_sink(place, in_order, model, files=4)
    run(load(place.pipeline), spark=spark)
    check_changes(place, model)


def check_changes(place: Workplace, model: Path) -> None:
    """Each pattern tells what it would tell alone of the events since it came, until it goes."""
    sets, events = _sets(place), _events(place)
    wanted = local([ALL_EVENTS], [*EVENTS, LAST], model)
    for record in _distinct([*SUBSCRIPTIONS[1:], *OTHERS[1:]]):
        there = {batch: record in used for batch, used in sets.items()}
        for followed, group in groupby(sorted(sets), there.__getitem__):
            batches = list(group) if followed else []
            mine = [event for batch in batches for event in events.get(batch, [])]
            # A micro-batch is told of in the next one, if the pattern is still there.
            untold = {event["id"] for batch in batches[-1:] for event in events.get(batch, [])}
            wanted += [each for each in local([record], mine, model) if each[0] not in untold]
    assert sorted(map(plain, place.rows())) == sorted(wanted)
    assert len({row["id"] for row in place.rows()}) == len(wanted)
    assert SUBSCRIPTIONS in sets.values(), "choose another seed"
    assert OTHERS in sets.values(), "choose another seed"


def check_watermarks(place: Workplace) -> None:
    """Spark knows of the events of every micro-batch how late it is, also if its sink had written it before."""
    latest = 0
    for batch, events in sorted(_events(place).items()):
        latest = max([latest, *(int(event["time"] * 1000) for event in events)])
        _, committed = (place.folder / "state" / "commits" / str(batch)).read_text().split("\n", 1)
        assert json.loads(committed)["nextBatchWatermarkMs"] == latest, batch


def _distinct(records: Iterable[Record]) -> list[Record]:
    return list({json.dumps(each): each for each in records}.values())


def _sets(place: Workplace) -> dict[int, list[Record]]:
    """The subscriptions of each micro-batch, by the ledger."""
    entries = [
        json.loads(path.read_bytes()) for path in (place.folder / "state" / "vedette" / "batches").glob("[0-9]*")
    ]
    by_count = {len(each): each for each in (SUBSCRIPTIONS, OTHERS)}
    return {entry["batch"]: by_count[entry["subscriptions"]] for entry in entries}


def _events(place: Workplace) -> dict[int, list[dict[str, Any]]]:
    """The events of each micro-batch, in order; somebody is told of each of them at once."""
    by_id = {event["id"]: event for event in [*EVENTS, LAST]}
    found: dict[int, list[dict[str, Any]]] = {}
    for folder in (place.folder / "out").glob("batch=*"):
        rows = [json.loads(line) for path in folder.glob("part-*.jsonl") for line in path.read_text().splitlines()]
        events = [by_id[row["event"]] for row in rows if row["subscription"] == "all"]
        found[int(folder.name.removeprefix("batch="))] = sorted(events, key=lambda event: event["time"])
    return found


# ---------------------------------------------------------------- faults at every named point, in one process

POINTS = ("begun", "in the ledger", "matching", "written to out", "written")


def test_faults_at_every_point(tmp_path: Path, in_order: Path, model: Path, spark: SparkSession) -> None:
    """While the subscriptions change: a micro-batch that was cut short keeps the patterns that it began with."""
    place = Workplace(tmp_path)
    describe_one_sink(place, in_order, model, files=8)
    lives = (SUBSCRIPTIONS, SUBSCRIPTIONS, OTHERS, OTHERS, SUBSCRIPTIONS)
    for subscriptions, point in zip(lives, POINTS, strict=True):
        place.subscribe(*subscriptions)
        with pytest.raises(RunError, match=f"Crash: {point}"):
            run(load(place.pipeline), spark=spark, report=CrashAt(point, 1))
    place.subscribe(*OTHERS)
    run(load(place.pipeline), spark=spark)
    used = [_sets(place)[batch] for batch in range(7)]
    assert used == [SUBSCRIPTIONS] * 3 + [OTHERS] * 2 + [SUBSCRIPTIONS, OTHERS]
    check_changes(place, model)
    check_watermarks(place)
    told = list(map(plain, place.rows()))
    check_all_kinds(told)
    assert {"fresh", "more"} <= {each[1] for each in told}


def test_what_the_only_sink_has_written_is_followed_again(tmp_path: Path, spark: SparkSession) -> None:
    """Of a source whose rows nobody else asks for: else Spark would never commit it."""
    place = Workplace(tmp_path)
    place.subscribe(ALL_EVENTS, BY_KEY)
    place.describe(
        mode="available-now",
        checkpoint="state",
        source={"type": "parquet", "path": "events", "max_files_per_trigger": 1},
        patterns={"learn": False},
    )
    events = EVENTS[: 2 * PER_FILE]
    for number in range(2):
        path = place.events / f"{number}.parquet"
        pq.write_table(pa.Table.from_pylist(events[number * PER_FILE : (number + 1) * PER_FILE]), path)
        os.utime(path, (BEGIN + number,) * 2)  # Spark takes the oldest first
    with pytest.raises(RunError, match="Crash: written of 0"):
        run(load(place.pipeline), spark=spark, report=CrashAt("written"))
    run(load(place.pipeline), spark=spark)
    check_watermarks(place)
    told = [each for each in map(plain, place.rows()) if each[1] == "key"]
    assert sorted(told) == local([BY_KEY], events, None)
