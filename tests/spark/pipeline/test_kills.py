"""A pipeline that is killed again and again ends with the same notifications, byte for byte, as one left in peace.

Moments of killing are drawn from a seed, which is printed: while it starts, while a micro-batch is planned, matched,
written and committed. They follow what is seen in the folders, not the clock alone, so that they are as well spread
on a slow machine as on a fast one.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.pipeline.killing import ALL, COMMITTED, CrashAt, kill, moments, seen
from tests.spark.pipeline.processes import started
from tests.spark.pipeline.workplace import Record, Workplace, compiled, expected, pairs
from vedette.errors import RunError
from vedette.spark.pipeline.config import load
from vedette.spark.pipeline.run import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.long

SEED = 20_240_517
# With the same subscriptions all the time, and while they change: all twenty with `make test-kills`, since every life
# of a pipeline takes many seconds.
KILLS, KILLS_BETWEEN_CHANGES = (14, 6) if ALL else (2, 2)
FILES = 48
PER_FILE = 25

SUBSCRIPTIONS: list[Record] = [
    {"id": "all", "subscriber": "log", "when": "true"},
    {"id": "low", "subscriber": "alice", "when": "value < 40"},
    {"id": "some", "subscriber": "bob", "when": "number in (3, 30, 300, 303) or name like 'n1%'"},
]
OTHERS: list[Record] = [{"id": "all", "subscriber": "log", "when": "true"}, {"id": "high", "when": "value >= 40"}]


def file_of(number: int) -> list[Record]:
    first = number * PER_FILE
    return [{"id": f"e{n}", "number": n, "value": n * 7 % 100, "name": f"n{n}"} for n in range(first, first + PER_FILE)]


EVENTS = [event for number in range(FILES) for event in file_of(number)]


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All files of events, for all runs; every fifth has a line that is none."""
    place = Workplace(tmp_path_factory.mktemp("published"))
    for number in range(FILES):
        bad = [f"no JSON {number}"] if number % 5 == 0 else []
        place.publish(f"{number:03}.jsonl", [*file_of(number), *bad])
    return place.events


def describe(place: Workplace, events: Path, *, files: int) -> None:
    place.describe(
        mode="available-now",
        checkpoint="state",
        keep=["value"],
        source={"type": "jsonl", "path": events, "max_files_per_trigger": files},
        sinks=[
            {"name": "out", "type": "jsonl", "path": "out"},
            {"name": "alice", "type": "jsonl", "path": "alice", "subscribers": ["alice"]},
        ],
        quarantine={"type": "jsonl", "path": "bad"},
    )


@pytest.fixture(scope="module")
def undisturbed(spark: SparkSession, events: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What a run that is left in peace gives, as sorted lines of each sink; checked against the local engine."""
    place = Workplace(tmp_path_factory.mktemp("peace"))
    place.subscribe(*SUBSCRIPTIONS)
    describe(place, events, files=FILES)
    run(load(place.pipeline), spark=spark)
    assert pairs(place.rows("out")) == expected(compiled(SUBSCRIPTIONS), EVENTS)
    lines = {sink: place.lines(sink) for sink in ("out", "alice", "bad")}
    assert len(lines["alice"]) == sum(event["value"] < 40 for event in EVENTS)
    assert len(lines["bad"]) == len(range(0, FILES, 5))
    return lines


# ---------------------------------------------------------------- kill -9


def _to_the_end(place: Workplace, events: Path, spark: SparkSession) -> None:
    """The last life, which is in this process, and takes all that is left at once."""
    describe(place, events, files=FILES)
    run(load(place.pipeline), spark=spark)


def test_kills(tmp_path: Path, events: Path, spark: SparkSession, undisturbed: dict[str, list[str]]) -> None:
    print(f"seed {SEED}")
    draw = random.Random(SEED)
    place = Workplace(tmp_path)
    place.subscribe(*SUBSCRIPTIONS)
    describe(place, events, files=1)
    for number, moment in enumerate(moments(draw, KILLS)):
        assert kill(place, moment, draw), f"it ended before kill {number}: give it more files"
    _to_the_end(place, events, spark)
    for sink, lines in undisturbed.items():
        assert place.lines(sink) == lines, sink
    assert len(set(place.lines("out"))) == len(place.lines("out"))


@pytest.mark.thorough
def test_kills_while_subscriptions_change(
    tmp_path: Path, events: Path, spark: SparkSession, undisturbed: dict[str, list[str]]
) -> None:
    """Every event is matched by one version, wholly; a micro-batch that was cut short keeps the one it began with."""
    draw = random.Random(SEED + 1)
    place = Workplace(tmp_path)
    describe(place, events, files=2)
    versions = [compiled(SUBSCRIPTIONS), compiled(OTHERS)]
    for number, moment in enumerate(moments(draw, KILLS_BETWEEN_CHANGES)):
        place.subscribe(*(OTHERS if number % 2 else SUBSCRIPTIONS))
        assert kill(place, moment, draw), f"it ended before kill {number}: give it more files"
    _to_the_end(place, events, spark)
    by_version = {matcher.version: matcher for matcher in versions}
    rows = place.rows("out")
    used: dict[str, str] = {}
    for row in rows:
        assert used.setdefault(row["event"], row["version"]) == row["version"], row
    assert used.keys() == {event["id"] for event in EVENTS}  # somebody hears of each in both versions
    for version, matcher in by_version.items():
        mine = [event for event in EVENTS if used[event["id"]] == version]
        assert pairs(row for row in rows if row["version"] == version) == expected(matcher, mine)
        assert mine, f"version {version} was never used: choose another seed"
    for number in range(FILES):
        assert len({used[event["id"]] for event in file_of(number)}) == 1
    assert place.lines("bad") == undisturbed["bad"]


# ---------------------------------------------------------------- faults at every named point, in one process


POINTS = (
    "begun",
    "in the ledger",
    "matching",
    "written to out",
    "written to alice",
    "written to quarantine",
    "written",
)


def test_faults_at_every_point(
    place_with_files: Workplace, spark: SparkSession, undisturbed: dict[str, list[str]]
) -> None:
    place = place_with_files
    for number, point in enumerate(POINTS):
        place.subscribe(*(OTHERS if number % 2 else SUBSCRIPTIONS))
        with pytest.raises(RunError, match=f"Crash: {point}"):
            run(load(place.pipeline), spark=spark, report=CrashAt(point))
        begun_with = _version_of(place, 0)
        place.subscribe(*(SUBSCRIPTIONS if number % 2 else OTHERS))
    run(load(place.pipeline), spark=spark)
    # All of it is one micro-batch: it keeps the version that stood in the ledger when it was first cut short.
    first = compiled(OTHERS)  # `begun` comes before the ledger, so the second attempt is the one that counts
    assert begun_with == first.version
    assert pairs(place.rows("out")) == expected(first, EVENTS)
    assert place.lines("bad") == undisturbed["bad"]


def _version_of(place: Workplace, batch: int) -> str | None:
    entry = place.folder / "state" / "vedette" / "batches" / f"{batch:010d}"
    return json.loads(entry.read_text())["version"] if entry.exists() else None


@pytest.fixture
def place_with_files(tmp_path: Path, events: Path) -> Workplace:
    place = Workplace(tmp_path)
    place.subscribe(*SUBSCRIPTIONS)
    describe(place, events, files=FILES)
    return place


# ---------------------------------------------------------------- polite requests


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.thorough)])
def test_a_signal_ends_it_well(
    number: signal.Signals, tmp_path: Path, events: Path, spark: SparkSession, undisturbed: dict[str, list[str]]
) -> None:
    place = Workplace(tmp_path)
    place.subscribe(*SUBSCRIPTIONS)
    describe(place, events, files=1)
    enough = seen(place, COMMITTED) + 2
    log = place.folder / "run.log"
    with started(place.pipeline, log) as process:
        _wait_for_commits(place, enough, process)
        os.killpg(process.pid, number)  # as a terminal, a container or systemd does: Java and its workers, too
        assert process.wait(120) == 0, log.read_text()[-6000:]
    assert "Stopping after the current micro-batch" in log.read_text()
    assert "Stopped: " in log.read_text()
    assert "Traceback" not in log.read_text()
    assert enough <= seen(place, COMMITTED) < FILES
    assert seen(place, "out/_staging/*") == 0
    _to_the_end(place, events, spark)
    for sink, lines in undisturbed.items():
        assert place.lines(sink) == lines, sink


def _wait_for_commits(place: Workplace, count: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 120
    while seen(place, COMMITTED) < count and process.poll() is None:
        assert time.monotonic() < until
        time.sleep(0.01)
