"""Pipelines from their files: batch, available now, continuous; always held against the local engine."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.pipeline.workplace import Record, Workplace, compiled, expected, pairs
from vedette.errors import DeliveryError, FileError, PipelineError, RunError
from vedette.spark.pipeline.checkpoint_report import inspect
from vedette.spark.pipeline.config import load
from vedette.spark.pipeline.progress import BatchReport, ProgressReport, RunSummary
from vedette.spark.pipeline.run import run
from vedette.spark.pipeline.stop_request import StopRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUBSCRIPTIONS: list[Record] = [
    {"id": "cheap", "subscriber": "alice", "when": "price < 20"},
    {"id": "dear", "subscriber": "ops-night", "when": "price >= 80"},
    {"id": "tens", "subscriber": "ops-day", "when": "number in (10, 20, 30)"},
    {"id": "all", "when": "true"},
]


def events(begin: int, end: int) -> list[Record]:
    return [{"id": f"e{number}", "number": number, "price": number % 100} for number in range(begin, end)]


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    made = Workplace(tmp_path)
    made.subscribe(*SUBSCRIPTIONS)
    return made


class Heard(ProgressReport):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.warnings: list[str] = []
        self.batches: list[BatchReport] = []

    def note(self, message: str) -> None:
        self.notes.append(message)

    def warn(self, message: str, *, lost: bool = False) -> None:
        self.warnings.append(message)

    def batch(self, report: BatchReport) -> None:
        self.batches.append(report)


def until(true: Callable[[], Any], what: str) -> None:
    """Wait for something that must come."""
    end = time.monotonic() + 120
    while not true():
        assert time.monotonic() < end, f"not in two minutes: {what}"
        time.sleep(0.05)


# ---------------------------------------------------------------- batch


def test_a_batch(place: Workplace, spark: SparkSession) -> None:
    (place.folder / "schema.yaml").write_text("price: int\nnumber: int\n")
    place.describe(keep=["price"], schema="schema.yaml")
    place.publish("1.jsonl", events(0, 300))
    place.publish("2.jsonl", events(300, 400))
    summary = run(load(place.pipeline), spark=spark)
    matcher = compiled(SUBSCRIPTIONS, {"price": "int", "number": "int"})
    rows = place.rows()
    assert pairs(rows) == expected(matcher, events(0, 400))
    assert {row["version"] for row in rows} == {matcher.version}
    assert all(row["price"] == int(row["event"][1:]) % 100 for row in rows)
    assert len({row["id"] for row in rows}) == len(rows)
    assert (summary.events, summary.matches, summary.rejects, summary.batches) == (400, len(rows), 0, 1)
    with pytest.raises(PipelineError, match="holds something already"):
        load(place.pipeline)


def test_several_sinks_with_routing_and_a_quarantine(place: Workplace, spark: SparkSession, tmp_path: Path) -> None:
    place.describe(
        quarantine={"type": "jsonl", "path": "bad"},
        sinks=[
            {"name": "alice", "type": "jsonl", "path": "alice", "subscribers": ["alice"]},
            {"name": "ops", "type": "parquet", "path": "ops", "subscribers": ["ops-*"]},
            {"name": "tens", "type": "jsonl", "path": "tens", "subscriptions": ["tens", "all"]},
        ],
    )
    good = events(0, 200)
    place.publish("1.jsonl", [*good[:100], "{", *good[100:], "[1]"])
    heard = Heard()
    summary = run(load(place.pipeline), spark=spark, report=heard)
    all_pairs = expected(compiled(SUBSCRIPTIONS), good)

    def of(*ids: str) -> list[tuple[str, str]]:
        return [pair for pair in all_pairs if pair[1] in ids]

    assert pairs(place.rows("alice")) == of("cheap")
    assert pairs(pq.read_table(tmp_path / "ops").to_pylist()) == of("dear", "tens")
    assert pairs(place.rows("tens")) == of("tens", "all")
    bad = place.rows("bad")
    assert [row["raw"] for row in bad] == ["{", "[1]"] or [row["raw"] for row in bad] == ["[1]", "{"]
    assert all(row["reason"] for row in bad)
    assert {row["place"].rpartition(":")[2] for row in bad} == {"101", "202"}
    assert (summary.events, summary.matches, summary.rejects) == (202, len(all_pairs), 2)
    assert set(heard.batches[0].seconds) == {"prepare", "match", "alice", "ops", "tens", "quarantine"}


def test_rejects_without_a_quarantine_are_counted_and_shown(place: Workplace, spark: SparkSession) -> None:
    place.describe()
    place.publish("1.jsonl", [*events(0, 3), "nonsense", *events(3, 9), "more nonsense"])
    heard = Heard()
    summary = run(load(place.pipeline), spark=spark, report=heard)
    assert summary.rejects == 2
    assert [example.split(": ")[0] for example in heard.batches[0].examples] == ["1.jsonl:4", "1.jsonl:11"]


def test_without_rejects_none_are_shown(place: Workplace, spark: SparkSession) -> None:
    place.describe()
    place.publish("1.jsonl", events(0, 3))
    heard = Heard()
    run(load(place.pipeline), spark=spark, report=heard)
    assert heard.batches[0].examples == ()


def test_a_sink_that_waits_for_nobody_is_warned_of(place: Workplace, spark: SparkSession) -> None:
    folders = ("one", "two", "three", "four")
    routes: list[dict[str, Any]] = [
        {"subscribers": ["alcie", "ops-*"]},
        {"subscriptions": ["nothing-*", "tens"]},
        {"subscribers": ["alice", "ops-day"], "subscriptions": ["a?l"]},
        {},
    ]
    place.describe(
        sinks=[
            {"name": name, "type": "jsonl", "path": name, **route} for name, route in zip(folders, routes, strict=True)
        ]
    )
    place.publish("1.jsonl", events(0, 3))
    heard = Heard()
    run(load(place.pipeline), spark=spark, report=heard)
    assert heard.warnings == [
        'the sink one waits for the subscriber "alcie", whom no subscription names; did you mean "alice"?',
        'the sink two waits for the subscription "nothing-*", which is not there',
    ]


def test_a_column_that_is_not_there_stops_the_run_before_it_begins(place: Workplace, spark: SparkSession) -> None:
    pq.write_table(pa.table({"id": ["e1"], "price": [1]}), place.events / "1.parquet")
    place.describe(source={"type": "parquet", "path": "events"}, keep=["pirce"])
    with pytest.raises(PipelineError, match='the source has no column "pirce"\nHint: did you mean "price"'):
        run(load(place.pipeline), spark=spark)
    assert not (place.folder / "out").exists()


# ---------------------------------------------------------------- available now


def available(place: Workplace, **more: Any) -> None:
    place.describe(
        mode="available-now",
        checkpoint="state",
        source={"type": "jsonl", "path": "events", "max_files_per_trigger": 1},
        **more,
    )


def test_what_is_available_now_and_then_what_came_since(place: Workplace, spark: SparkSession, tmp_path: Path) -> None:
    available(place)
    for number in range(3):
        place.publish(f"{number}.jsonl", events(10 * number, 10 * number + 10))
    metrics = tmp_path / "metrics.jsonl"
    heard = Heard()
    summary = run(load(place.pipeline), spark=spark, report=heard, metrics=metrics)
    matcher = compiled(SUBSCRIPTIONS)
    assert pairs(place.rows()) == expected(matcher, events(0, 30))
    assert (summary.batches, summary.events, summary.matches) == (3, 30, len(place.rows()))
    assert [report.number for report in heard.batches] == [0, 1, 2]
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert [(line["batch"], line["events"], line["version"]) for line in lines] == [
        (number, 10, matcher.version) for number in range(3)
    ]
    assert all(line["seconds"]["out"] > 0 and line["spark_ms"]["addBatch"] > 0 for line in lines)
    assert run(load(place.pipeline), spark=spark).batches == 0
    place.publish("9.jsonl", events(30, 40))
    again = run(load(place.pipeline), spark=spark)
    assert (again.batches, again.events) == (1, 10)
    assert pairs(place.rows()) == expected(matcher, events(0, 40))


def test_other_subscriptions_hold_from_the_next_micro_batch_on(place: Workplace, spark: SparkSession) -> None:
    available(place)
    place.publish("1.jsonl", events(0, 10))
    run(load(place.pipeline), spark=spark)
    place.subscribe({"id": "odd", "when": "number in (11, 13)"})
    place.publish("2.jsonl", events(10, 20))
    heard = Heard()
    run(load(place.pipeline), spark=spark, report=heard)
    old, new = compiled(SUBSCRIPTIONS), compiled([{"id": "odd", "when": "number in (11, 13)"}])
    assert pairs(place.rows()) == sorted(expected(old, events(0, 10)) + expected(new, events(10, 20)))
    assert heard.notes == [
        f"The subscriptions have changed from version {old.version} to {new.version}: "
        "the new ones hold from micro-batch 1 on"
    ]


def test_a_checkpoint_of_another_source_is_refused(place: Workplace, spark: SparkSession, tmp_path: Path) -> None:
    available(place)
    place.publish("1.jsonl", events(0, 10))
    run(load(place.pipeline), spark=spark)
    (tmp_path / "elsewhere").mkdir()
    place.describe(mode="available-now", checkpoint="state", source={"type": "jsonl", "path": "elsewhere"})
    with pytest.raises(PipelineError, match=r"(?s)was made by another pipeline.*the path of the source") as caught:
        run(load(place.pipeline), spark=spark)
    # What the hint says is enough to begin anew, and no less is.
    assert "remove the checkpoint and every folder that its sinks wrote" in str(caught.value)
    shutil.rmtree(tmp_path / "state")
    (tmp_path / "elsewhere" / "1.jsonl").write_text('{"id": "new", "price": 1}\n')
    with pytest.raises(DeliveryError, match="holds batches of another stream"):
        run(load(place.pipeline), spark=spark)
    shutil.rmtree(tmp_path / "out")
    run(load(place.pipeline), spark=spark)
    assert pairs(place.rows()) == [("new", "all"), ("new", "cheap")]


def test_a_micro_batch_that_fails_is_done_again(
    place: Workplace, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails after one of two sinks has it; meanwhile the subscriptions change."""
    from vedette.spark.pipeline.sinks.files import FolderSink

    available(
        place,
        sinks=[
            {"name": "one", "type": "jsonl", "path": "one"},
            {"name": "two", "type": "jsonl", "path": "two"},
        ],
    )
    place.publish("1.jsonl", events(0, 10))
    write = FolderSink.write

    def fail(sink: FolderSink, *args: Any) -> None:
        if sink.name == "two":
            raise ZeroDivisionError("no reason at all")
        write(sink, *args)

    with monkeypatch.context() as patched:
        patched.setattr(FolderSink, "write", fail)
        with pytest.raises(RunError, match=r"ZeroDivisionError: no reason at all\nHint: everything is in ") as caught:
            run(load(place.pipeline), spark=spark)
    trace = tmp_path / "state" / "vedette" / "error.txt"
    assert str(trace) in str(caught.value)
    assert "Traceback" in trace.read_text()
    place.subscribe({"id": "none", "when": "false"})
    heard = Heard()
    run(load(place.pipeline), spark=spark, report=heard)
    old = compiled(SUBSCRIPTIONS)
    for sink in ("one", "two"):
        assert pairs(place.rows(sink)) == expected(old, events(0, 10))
        assert {row["version"] for row in place.rows(sink)} == {old.version}
    assert place.lines("one") == place.lines("two")
    assert heard.notes[0] == f"Micro-batch 0 was cut short: it is run again, with version {old.version} as it began"


def test_a_plan_that_was_half_written_is_no_plan(place: Workplace, spark: SparkSession) -> None:
    """As a process leaves it that is killed while it plans its first micro-batch."""
    available(place)
    place.publish("1.jsonl", events(0, 10))
    plans = place.folder / "state" / "offsets"
    plans.mkdir(parents=True)
    (plans / ".0.5c1d8c5a.tmp").touch()
    run(load(place.pipeline), spark=spark)
    assert pairs(place.rows()) == expected(compiled(SUBSCRIPTIONS), events(0, 10))


def test_a_source_that_cannot_be_read_is_said_without_a_java_trace(place: Workplace, spark: SparkSession) -> None:
    place.describe(source={"type": "parquet", "path": "events"})
    (place.events / "1.parquet").write_bytes(b"no Parquet at all, but long enough to be asked for a footer")
    with pytest.raises((RunError, FileError, PipelineError)) as caught:
        run(load(place.pipeline), spark=spark)
    assert "\tat " not in str(caught.value)
    assert len(str(caught.value).splitlines()) < 8


# ---------------------------------------------------------------- continuous


@contextmanager
def running(place: Workplace, spark: SparkSession, report: ProgressReport) -> Iterator[Future[RunSummary]]:
    """A pipeline in the background; it is asked to stop at the end, and must end well."""
    stop = StopRequest()
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(lambda: run(load(place.pipeline), spark=spark, report=report, stop=stop))
        try:
            yield ended
        finally:
            stop.ask()
        assert ended.result(timeout=120).stopped


def continuous(place: Workplace, **more: Any) -> None:
    place.describe(
        mode="continuous",
        trigger="100 ms",
        checkpoint="state",
        subscriptions={"file": "subscriptions.jsonl", "refresh": "100 ms"},
        **more,
    )


def test_versions_are_swapped_while_it_runs_without_bad_ones(place: Workplace, spark: SparkSession) -> None:
    continuous(place)
    heard = Heard()
    second = [*SUBSCRIPTIONS[:2], {"id": "new", "subscriber": "bob", "when": "number >= 0"}]
    parts = [events(0, 50), events(50, 100), events(100, 150)]

    def told_of(part: list[Record]) -> Callable[[], bool]:
        # Both versions tell somebody of each of these: nobody is told of nothing.
        wanted = {event["id"] for event in part}
        return lambda: wanted <= {row["event"] for row in place.rows()}

    with running(place, spark, heard):
        place.publish("1.jsonl", parts[0])
        until(told_of(parts[0]), "notifications of the first file")
        place.subscribe(*second)
        until(lambda: heard.notes, "that the new version was taken over")
        place.publish("2.jsonl", parts[1])
        until(told_of(parts[1]), "notifications of the second file")
        place.subscribe(*SUBSCRIPTIONS, {"id": "bad", "when": "price <"})
        until(lambda: len(heard.notes) > 1, "that what is good of the third version was taken over")
        place.publish("3.jsonl", parts[2])
        until(told_of(parts[2]), "notifications of the third file")
    one, two = compiled(SUBSCRIPTIONS), compiled(second)
    rows = place.rows()
    assert pairs(rows) == sorted(expected(one, parts[0]) + expected(two, parts[1]) + expected(one, parts[2]))
    of = {event["id"]: version for part, version in zip(parts, (one, two, one), strict=True) for event in part}
    assert all(row["version"] == of[row["event"]].version for row in rows)
    assert len(heard.warnings) == 1
    assert "'bad'" in heard.warnings[0]
    assert "1 subscription is bad and set aside; the others are used." in heard.warnings[0]
    assert two.version in heard.notes[0]
    assert [report.set_aside for report in heard.batches][:1] == [0]
    assert heard.batches[-1].set_aside == 1
    assert inspect(str(load(place.pipeline).checkpoint), lambda: spark)["subscriptions"]["set aside"] == 1


def test_a_stream_that_was_stopped_goes_on_where_it_was(place: Workplace, spark: SparkSession) -> None:
    continuous(place)
    heard = Heard()
    with running(place, spark, heard):
        place.publish("1.jsonl", events(0, 50))
        until(lambda: heard.batches, "a micro-batch")
    place.publish("2.jsonl", events(50, 60))
    with running(place, spark, heard):
        until(lambda: len(heard.batches) > 1, "another micro-batch")
    assert pairs(place.rows()) == expected(compiled(SUBSCRIPTIONS), events(0, 60))
    assert [report.number for report in heard.batches] == [0, 1]


def test_a_stop_waits_for_the_micro_batch(
    place: Workplace, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vedette.spark.pipeline.sinks.files import FolderSink

    continuous(place)
    place.publish("1.jsonl", events(0, 50))
    inside, go_on = threading.Event(), threading.Event()
    write = FolderSink.write

    def slowly(sink: FolderSink, *args: Any) -> None:
        inside.set()
        assert go_on.wait(120)
        write(sink, *args)

    monkeypatch.setattr(FolderSink, "write", slowly)
    heard, stop = Heard(), StopRequest()
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(lambda: run(load(place.pipeline), spark=spark, report=heard, stop=stop))
        assert inside.wait(120)
        stop.ask()
        time.sleep(1)  # time enough to stop too early
        assert not ended.done()
        go_on.set()
        summary = ended.result(120)
    assert (summary.stopped, summary.batches) == (True, 1)
    assert pairs(place.rows()) == expected(compiled(SUBSCRIPTIONS), events(0, 50))
    assert (place.folder / "state" / "commits" / "0").exists()
