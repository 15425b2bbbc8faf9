"""What people see of a pipeline that runs, what goes into metrics, and how it is asked to end."""

from __future__ import annotations

import io
import json
import os
import signal
from typing import Any

import pytest
from rich.console import Console

from vedette.spark.pipeline.progress import (
    BatchReport,
    ProgressReport,
    RunSummary,
    SourceLag,
    TerminalReport,
    lag_of,
    metrics_line,
)
from vedette.spark.pipeline.stop_request import StopRequest, on_signals


def report(number: int | None = 0, **more: Any) -> BatchReport:
    facts: dict[str, Any] = {
        "counts": {"events": 1000, "matches": 30, "rejects": 2},
        "seconds": {"match": 0.25, "out": 0.123456},
        "total_s": 0.5,
        **more,
    }
    return BatchReport(number, "0123456789ab", 2500, **facts)


def terminal(*, live: bool = False, **more: Any) -> tuple[TerminalReport, io.StringIO]:
    out = io.StringIO()
    console = Console(file=out, force_terminal=live, width=200, highlight=False, soft_wrap=True, color_system=None)
    return TerminalReport(console=console, **more), out


def test_a_plain_line() -> None:
    said, out = terminal()
    said.batch(report(7, lag=SourceLag(1234, "events")))
    assert out.getvalue() == (
        "micro-batch 7 · 2,000 events/s · 1,000 events · 30 matches · 2 rejected · 1,234 events behind · "
        "version 0123456789ab of 2,500 subscriptions\n"
    )


def test_plain_lines_do_not_flood_a_log() -> None:
    said, out = terminal()
    for number in range(1000):
        said.batch(report(number))
    assert len(out.getvalue().splitlines()) == 1


def test_a_terminal_has_one_line_that_goes_at_the_end() -> None:
    said, out = terminal(live=True)
    try:
        said.step(None, "reading")
        said.batch(report(3))
        said.note("something else")
    finally:
        said.close()
    assert "micro-batch 3" in out.getvalue()
    assert "something else\n" in out.getvalue()
    said.close()


def test_quiet_says_only_what_is_lost() -> None:
    said, out = terminal(quiet=True)
    said.note("a note")
    said.warn("a warning")
    said.batch(report())
    assert out.getvalue() == ""
    said.warn("a loss", lost=True)
    assert out.getvalue() == "Warning: a loss\n"


def test_the_first_rejects_are_shown_unless_somebody_keeps_them() -> None:
    first = tuple(f"bad.jsonl:{line}: is no JSON" for line in (2, 7, 11))
    counts = {"events": 10, "matches": 0, "rejects": 3}
    said, out = terminal(quiet=True)
    said.batch(report(0, examples=first, counts=counts))
    later = tuple(f"more.jsonl:{line}: is bad" for line in (1, 2, 3))
    for number in range(1, 20):
        said.batch(report(number, examples=later, counts=counts))
    assert out.getvalue().splitlines() == [
        *(f"Warning: rejected: {each}" for each in first),
        "Warning: rejected: more.jsonl:1: is bad",
        "Warning: rejected: more.jsonl:2: is bad (and 1 more)",
    ]
    said, out = terminal(quarantine=True)
    said.batch(report(examples=first))
    assert "bad.jsonl" not in out.getvalue()


def test_of_many_rejects_the_first_are_shown_and_the_others_counted() -> None:
    said, out = terminal(quiet=True)
    places = tuple(f"bad.jsonl:{line}: is bad" for line in range(1, 6))
    said.batch(report(examples=places, counts={"events": 99, "matches": 0, "rejects": 1204}))
    assert out.getvalue().splitlines()[0] == "Warning: rejected: bad.jsonl:1: is bad"
    assert out.getvalue().splitlines()[4:] == ["Warning: rejected: bad.jsonl:5: is bad (and 1,199 more)"]


def test_few_events_have_no_rate_and_one_is_no_plural() -> None:
    said, out = terminal()
    said.batch(report(0, counts={"events": 1, "matches": 1, "rejects": 1}, lag=SourceLag(1, "files")))
    told = (
        "micro-batch 0 · 1 event · 1 match · 1 rejected · 1 file behind · version 0123456789ab of 2,500 subscriptions"
    )
    assert out.getvalue() == f"{told}\n"
    said, out = terminal()
    said.batch(report(0, total_s=1000.0))
    assert " · 1 event/s · " in out.getvalue()
    few = RunSummary(batches=1, events=3, matches=1, seconds=5.0)
    assert str(few) == "3 events in 1 batch: 1 match, 0 rejected; 5.0 s"


def test_a_report_that_nobody_hears() -> None:
    silent = ProgressReport()
    silent.note("a")
    silent.warn("b", lost=True)
    silent.step(0, "c")
    silent.batch(report())
    silent.close()


def test_the_summary() -> None:
    summary = RunSummary()
    for number in range(3):
        summary.add(report(number))
    summary.add(report(3, counts=None))  # it had been written before, by a run that was killed
    summary.seconds = 2
    assert str(summary) == "3,000 events in 4 batches: 90 matches, 6 rejected; 2.0 s, 1,500 events/s"
    assert str(RunSummary()) == "0 events in 0 batches: 0 matches, 0 rejected; 0.0 s"


def test_metrics() -> None:
    line = metrics_line("fraud", report(4, lag=SourceLag(3, "files"), spark={"addBatch": 10}))
    assert line.endswith(b"\n")
    record = json.loads(line)
    assert record.pop("at").endswith("+00:00")
    assert record == {
        "pipeline": "fraud",
        "batch": 4,
        "version": "0123456789ab",
        "subscriptions": 2500,
        "set_aside": 0,
        "again": False,
        "events": 1000,
        "matches": 30,
        "predictions": 0,
        "rejects": 2,
        "late": 0,
        "total_s": 0.5,
        "seconds": {"match": 0.25, "out": 0.1235},
        "lag": {"count": 3, "unit": "files"},
        "spark_ms": {"addBatch": 10},
    }
    assert json.loads(metrics_line("fraud", report(counts=None)))["events"] is None


def test_the_lag_of_kafka_and_of_files() -> None:
    kafka = {
        "sources": [
            {
                "endOffset": {"trades": {"0": 10, "1": 20}, "quotes": {"0": 5}},
                "latestOffset": {"trades": {"0": 15, "1": 20, "2": 4}, "quotes": {"0": 5}},
            }
        ]
    }
    assert lag_of(kafka) == SourceLag(9, "events")
    delta = {"sources": [{"endOffset": {"reservoirVersion": 3}, "metrics": {"numFilesOutstanding": "7"}}]}
    assert lag_of(delta) == SourceLag(7, "files")
    assert lag_of({"sources": [{"endOffset": {"logOffset": 3}, "latestOffset": None, "metrics": {}}]}) is None
    assert lag_of({}) is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_for_the_end(number: int) -> None:
    before = signal.getsignal(number)
    stop = StopRequest()
    said: list[str] = []
    with on_signals(stop, said.append):
        assert not stop.asked
        os.kill(os.getpid(), number)
        assert stop.wait(10)
    assert stop.asked
    assert said == ["Stopping after the current micro-batch; once more: at once"]
    assert signal.getsignal(number) == before


def test_the_second_signal_ends_the_process() -> None:
    child = os.fork()
    if child == 0:
        with on_signals(StopRequest(), lambda _: None):
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)
            os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGTERM
