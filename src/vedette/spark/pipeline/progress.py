"""Progress of a running pipeline: a live line on a terminal, plain lines elsewhere, and a summary at the end."""

from __future__ import annotations

import datetime as dt
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

_EVERY_S = 10.0  # plain lines of a stream come no more often
_WINDOW_S = 10.0  # the time that a rate is taken over
EXAMPLES = 5  # rejected rows that are shown
_FIGURES = ("events", "matches", "predictions", "rejects", "late")
_RATED = 1000  # from so many events on a rate says more than how long it took to begin


@dataclass(frozen=True, slots=True)
class SourceLag:
    """Number of events or files that are there and not read yet."""

    count: int
    unit: str  # "events", "files"

    def __str__(self) -> str:
        return f"{counted(self.count, self.unit.removesuffix('s'))} behind"


@dataclass(slots=True)
class BatchReport:
    """Figures of one micro-batch, or of a whole run."""

    number: int | None
    version: str
    subscriptions: int
    again: bool = False  # it had begun before, in a run that was cut short
    counts: dict[str, int] | None = None  # events, matches, rejects; None: it had been written before
    examples: tuple[str, ...] = ()  # the first of the rejects, by their places
    failures: dict[str, dict[str, int]] | None = None  # of operators, by name, then by kind; None: there are none
    failed: tuple[str, ...] = ()  # the first of these
    seconds: dict[str, float] = field(default_factory=dict)  # by stage
    total_s: float = 0.0
    lag: SourceLag | None = None
    spark: Mapping[str, int] | None = None  # what Spark says of its own stages, in milliseconds
    set_aside: int = 0  # subscriptions of the version that were bad

    def count(self, name: str) -> int:
        """One of the counts; 0 if it is not known."""
        return 0 if self.counts is None else self.counts.get(name, 0)

    @property
    def failures_in_all(self) -> int:
        """Number of failures of all operators."""
        return sum(sum(kinds.values()) for kinds in (self.failures or {}).values())


@dataclass(slots=True)
class RunSummary:
    """Figures of a run."""

    batches: int = 0
    events: int = 0
    matches: int = 0
    predictions: int = 0
    rejects: int = 0
    late: int = 0  # of the rejects
    failures: dict[str, int] = field(default_factory=dict)  # by operator
    seconds: float = 0.0
    version: str | None = None
    stopped: bool = False

    def add(self, report: BatchReport) -> None:
        """Add the figures of a micro-batch."""
        self.batches += 1
        self.events += report.count("events")
        self.matches += report.count("matches")
        self.predictions += report.count("predictions")
        self.late += report.count("late")
        self.rejects += report.count("rejects")
        for name, kinds in (report.failures or {}).items():
            self.failures[name] = self.failures.get(name, 0) + sum(kinds.values())
        self.version = report.version

    def __str__(self) -> str:
        rated = self.events >= _RATED and self.seconds > 0
        return (
            f"{counted(self.events, 'event')} in {counted(self.batches, 'batch')}: "
            f"{counted(self.matches, 'match')}, {self._forecast()}{self.rejects:,} rejected{self._came_late()}"
            f"{self._failed()}; "
            f"{self.seconds:.1f} s{f', {_rate(self.events / self.seconds)}' if rated else ''}"
        )

    def _forecast(self) -> str:
        return f"{counted(self.predictions, 'prediction')}, " if self.predictions else ""

    def _failed(self) -> str:
        parts = [f"{name} failed {counted(count, 'time')}" for name, count in self.failures.items()]
        return "".join(f", {part}" for part in parts)

    def _came_late(self) -> str:
        return f" ({self.late:,} late)" if self.late else ""


class ProgressReport:
    """Receives the progress of a run; this one shows nothing."""

    def note(self, message: str) -> None:
        """A message."""

    def warn(self, message: str, *, lost: bool = False) -> None:
        """A warning; with `lost`, it is shown even if quiet."""

    def step(self, batch: int | None, name: str) -> None:
        """The work on a micro-batch has reached a point."""

    def batch(self, report: BatchReport) -> None:
        """A micro-batch is done."""

    def close(self) -> None:
        """The run has ended."""


class TerminalReport(ProgressReport):
    """Shows the progress on standard error."""

    def __init__(self, *, quiet: bool = False, quarantine: bool = False, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True, highlight=False, soft_wrap=True)
        self._quiet = quiet
        self._quarantine = quarantine  # somebody keeps the rejects: no need to show them
        self._shown = self._failed = 0
        self._said_at = float("-inf")
        self._since = RunSummary()
        self._recent: deque[tuple[float, int]] = deque()
        self._live: Live | None = None
        if not quiet and self.console.is_terminal:
            self._live = Live(console=self.console, transient=True, refresh_per_second=4, redirect_stdout=False)
            self._live.start()
            self._line("starting")

    def note(self, message: str) -> None:
        """Print a message, unless quiet."""
        if not self._quiet:
            self.console.print(message, markup=False)

    def warn(self, message: str, *, lost: bool = False) -> None:
        """Print a warning; if quiet, only with `lost`."""
        if lost or not self._quiet:
            self.console.print(Text.assemble(("Warning: ", "bold yellow"), message))

    def step(self, batch: int | None, name: str) -> None:
        """Show the step in the live line, until there are figures to show."""
        if self._live is not None and not self._recent:
            self._line(name if batch is None else f"micro-batch {batch}: {name}")

    def batch(self, report: BatchReport) -> None:
        """Update the live line, or print a plain line now and then."""
        if not self._quarantine:
            self._show_rejects(report)
        self._show_failures(report)
        now = time.monotonic()
        self._recent.append((now, report.count("events")))
        while now - self._recent[0][0] > _WINDOW_S and len(self._recent) > 1:
            self._recent.popleft()
        self._since.add(report)
        if report.number is None:
            return
        if self._live is not None:
            self._line(self._told(report, self._rate(report)))
        elif now - self._said_at >= _EVERY_S:
            self.note(self._told(report, self._rate(report)))
            self._said_at = now

    def close(self) -> None:
        """Remove the live line."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _line(self, text: str) -> None:
        if self._live is not None:
            self._live.update(Spinner("dots", Text(text)))

    def _show_rejects(self, report: BatchReport) -> None:
        """Print the first rejects of the run, and how many more the micro-batch has."""
        shown = report.examples[: EXAMPLES - self._shown]
        self._shown += len(shown)
        more = report.count("rejects") - len(shown)
        for number, example in enumerate(shown, 1):
            rest = f" (and {more:,} more)" if more and number == len(shown) else ""
            self.warn(f"rejected: {example}{rest}", lost=True)

    def _show_failures(self, report: BatchReport) -> None:
        """Print the first failures of operators in the same way: the results of these calls are unknown."""
        shown = report.failed[: EXAMPLES - self._failed]
        self._failed += len(shown)
        more = report.failures_in_all - len(shown)
        for number, example in enumerate(shown, 1):
            rest = f" (and {more:,} more)" if more and number == len(shown) else ""
            self.warn(f"{example}{rest}", lost=True)

    def _rate(self, report: BatchReport) -> float:
        """Events a second over the last seconds, waiting included; of the first batch, while it was processed."""
        if len(self._recent) < 2:
            return report.count("events") / max(1e-9, report.total_s)
        span = self._recent[-1][0] - self._recent[0][0]
        return sum(count for _, count in list(self._recent)[1:]) / max(1e-9, span)

    def _told(self, report: BatchReport, rate: float) -> str:
        failed = sum(self._since.failures.values())
        parts = [
            f"micro-batch {report.number}",
            *([_rate(rate)] if self._since.events >= _RATED else []),
            counted(self._since.events, "event"),
            counted(self._since.matches, "match"),
            f"{self._since.rejects:,} rejected",
            *([f"operators failed {counted(failed, 'time')}"] if failed else []),
            *([] if report.lag is None else [str(report.lag)]),
            f"version {report.version} of {counted(report.subscriptions, 'subscription')}",
            *([f"{report.set_aside:,} bad ones set aside"] if report.set_aside else []),
        ]
        return " · ".join(parts)


def _rate(events: float) -> str:
    return f"{counted(round(events), 'event')}/s"


def counted(number: int, noun: str) -> str:
    """A number with its noun, in singular or plural."""
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def metrics_line(pipeline: str, report: BatchReport) -> bytes:
    """The report of a micro-batch as a line of JSON."""
    record: dict[str, Any] = {
        "pipeline": pipeline,
        "batch": report.number,
        "at": _now(),
        "version": report.version,
        "subscriptions": report.subscriptions,
        "set_aside": report.set_aside,
        "again": report.again,
        **{name: None if report.counts is None else report.count(name) for name in _FIGURES},
        **({} if report.failures is None else {"failures": report.failures}),
        "total_s": round(report.total_s, 4),
        "seconds": {name: round(value, 4) for name, value in report.seconds.items()},
        "lag": None if report.lag is None else {"count": report.lag.count, "unit": report.lag.unit},
        "spark_ms": report.spark,
    }
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")


def lag_of(progress: Mapping[str, Any]) -> SourceLag | None:
    """The lag in Spark's progress report of a micro-batch; None if there is none."""
    events = files = None
    for source in progress.get("sources", ()):
        end, latest, metrics = source.get("endOffset"), source.get("latestOffset"), source.get("metrics") or {}
        if isinstance(end, dict) and isinstance(latest, dict) and all(isinstance(each, dict) for each in end.values()):
            # Kafka: topic -> partition -> offset
            events = (events or 0) + sum(
                max(0, int(offset) - int(end.get(topic, {}).get(partition, 0)))
                for topic, partitions in latest.items()
                for partition, offset in partitions.items()
            )
        elif "numFilesOutstanding" in metrics:
            files = (files or 0) + int(metrics["numFilesOutstanding"])
    if events is not None:
        return SourceLag(events, "events")
    return None if files is None else SourceLag(files, "files")
