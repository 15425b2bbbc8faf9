"""Patterns over a stream: the workload of Muthusamy 2010, what its cost depends on, and real data in partitions.

One core, steady state: a stream has happened once before it is timed, so that states are built and partial matches
wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa
from rich.table import Table

from benchmarks import clock
from benchmarks.clock import seconds
from benchmarks.pattern_workloads import IRRELEVANT, UNCAPPED, Sequences, Stream, work
from benchmarks.tables import short, table
from experiments.muthusamy import heat_waves, logins
from experiments.muthusamy.output import Missing
from vedette.filters.subscription_records import PatternRecord, Predict
from vedette.patterns.event_batch import PatternBatch
from vedette.patterns.kernels import runs
from vedette.patterns.matcher import PatternMatcher
from vedette.patterns.pattern_step import step

_ELSEWHERE = 1_000  # the first event of a pool that the stream never draws from
_WINDOW_S = 1_000_000  # longer than any stream here
MERGED, STATES_APART, MACHINES_APART = FORMS = ("merged", "states apart", "machines apart")


@dataclass(frozen=True)
class Sizes:
    """What is measured."""

    patterns: tuple[int, ...]
    events: int
    apart: int  # patterns that are also run unmerged
    touched: tuple[tuple[int, int], ...]  # patterns in all, and of these such as the stream is about
    every_city: int  # of the heat waves: every n-th

    @staticmethod
    def of(patterns: Sequence[int], *, quick: bool) -> Sizes:
        """Of so many patterns."""
        most = min(max(patterns), 10_000)
        part = max(1, most // 10)
        touched = ((part, part), (3 * part, part), (most, part), (most, max(1, part // 10)), (most, most))
        return Sizes(tuple(patterns), 2_000 if quick else 100_000, min(patterns), touched, 32 if quick else 1)


@dataclass(frozen=True)
class PatternRow:
    """What was measured of one set of patterns on one stream."""

    patterns: int
    touched: int  # such as the stream is about
    form: str
    events: int
    compile_s: float
    states: int  # that were reached
    graph_bytes: int
    state_bytes: int
    active: float  # partial matches that wait at any time
    transitions: float  # for each event
    matches: float
    us_arrow: float  # the whole matcher, from an Arrow table
    us_step: float  # the step function alone

    @property
    def events_per_s(self) -> float:
        """Throughput from Arrow on one core."""
        return 1e6 / self.us_arrow


@dataclass(frozen=True)
class StreamRow:
    """Real events in partitions, all of them once."""

    data: str
    pattern: str
    forecast: bool  # every event is observed for a forecast
    events: int
    partitions: int  # in which partial matches wait at the end
    matches: int
    us_per_event: float


@dataclass
class Patterns:
    """All that was measured of patterns."""

    workload: list[PatternRow] = field(default_factory=list)
    growth: list[PatternRow] = field(default_factory=list)
    merging: list[PatternRow] = field(default_factory=list)
    streams: list[StreamRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def tables(self) -> Iterable[Table]:
        """For a person."""
        yield table(
            "Patterns: sequences of 10 steps over a pool of 50 events, 2 of 9 operators `;`", self.workload, _ROW
        )
        yield table("Patterns: what the cost of an event grows with", self.growth, _GROWTH)
        yield table("Patterns with a window: merged and not", self.merging, _ROW)
        yield table("Patterns: real data, partitioned", self.streams, _STREAM)


_GROWTH: dict[str, Callable[[PatternRow], str]] = {
    "patterns": lambda r: f"{r.patterns:,}",
    "the stream is about": lambda r: f"{r.touched:,}",
    "active": lambda r: f"{r.active:,.0f}",
    "transitions/event": lambda r: short(r.transitions),
    "step us/event": lambda r: short(r.us_step),
    "from Arrow us/event": lambda r: short(r.us_arrow),
}
_ROW: dict[str, Callable[[PatternRow], str]] = {
    "patterns": lambda r: f"{r.patterns:,}",
    "form": lambda r: r.form,
    "events/s from Arrow": lambda r: f"{r.events_per_s:,.0f}",
    "us/event": lambda r: short(r.us_arrow),
    "step alone us": lambda r: short(r.us_step),
    "active": lambda r: f"{r.active:,.0f}",
    "transitions/event": lambda r: short(r.transitions),
    "matches/event": lambda r: short(r.matches),
    "states": lambda r: f"{r.states:,}",
    "graph MB": lambda r: short(r.graph_bytes / 1e6),
    "state MB": lambda r: short(r.state_bytes / 1e6),
    "compile s": lambda r: short(r.compile_s),
}
_STREAM: dict[str, Callable[[StreamRow], str]] = {
    "workload": lambda r: r.data,
    "forecast": lambda r: "yes" if r.forecast else "no",
    "events": lambda r: f"{r.events:,}",
    "events/s from Arrow": lambda r: f"{1e6 / r.us_per_event:,.0f}",
    "us/event": lambda r: short(r.us_per_event),
    "partitions": lambda r: f"{r.partitions:,}",
    "matches": lambda r: f"{r.matches:,}",
}


def measure(
    patterns: int, events: int, *, touched: int | None = None, form: str | None = None, repetitions: int
) -> PatternRow:
    """Compile, let a stream happen once, then time it again, from Arrow and in the step function alone."""
    about = Sequences(touched or patterns)
    others = Sequences(patterns - about.patterns, first=_ELSEWHERE, seed=3)
    records = [
        *(PatternRecord(each.id, each.text + _window(number, form)) for number, each in enumerate(about.records())),
        *(PatternRecord(f"other {each.id}", each.text) for each in others.records()),
    ]
    begin = clock.now()
    matcher = PatternMatcher(records, cap=UNCAPPED, merge=form != MACHINES_APART)
    compile_s = clock.now() - begin
    quota = max(Stream.full, events // (75 * about.patterns))  # few patterns are met more often, to fill the stream
    arrow = Stream(about, quota, quota).events(events).append_column("time", pa.array(np.zeros(events, np.int64)))
    matcher.process(arrow)
    found = len(matcher.process(arrow).matches)  # what waits at the end of a stream waits at its beginning, now
    us_arrow = 1e6 * seconds(lambda: matcher.process(arrow), repetitions) / events
    batch = coded(matcher, about, arrow)
    took = []
    state = runs.empty(matcher.graph.registers, matcher.graph.variables)
    for _ in range(1 + repetitions):
        begin = clock.now()
        state, _ = step(matcher.graph, state, batch, cap=UNCAPPED, in_place=True)
        took.append(clock.now() - begin)
    done = work(matcher.graph, batch, state)
    return PatternRow(
        patterns,
        about.patterns,
        form or MERGED,
        events,
        compile_s,
        len(matcher.graph),
        matcher.graph.nbytes,
        sum(array.nbytes for array in matcher.state),
        done.active,
        done.transitions,
        found / events,
        us_arrow,
        1e6 * float(np.median(took[1:])) / events,
    )


def coded(matcher: PatternMatcher, about: Sequences, arrow: pa.Table) -> PatternBatch:
    """The events as the step function sees them: an event of the pool satisfies one filter, another none."""
    filters = np.full(about.pool, -1, np.int32)
    drafts = matcher.drafts()
    for uid, steps in enumerate(about.steps):
        filters[steps] = [asked[0].primitive for asked in drafts[uid].steps]
    numbers = arrow["event"].to_numpy()
    satisfied = np.where(numbers == IRRELEVANT, -1, filters[numbers])
    size = len(numbers)
    start = np.concatenate([[0], np.cumsum(satisfied >= 0)])
    none, unknown = np.zeros((0, size, 2), np.int64), np.zeros((0, size), np.bool_)
    primitive = satisfied[satisfied >= 0].astype(np.int32)
    return PatternBatch(np.arange(size), np.zeros(size, np.int64), start, primitive, none, unknown, none, unknown)


def _window(number: int, form: str | None) -> str:
    """States of patterns with different windows are not merged; whoever is compared with them has a window, too."""
    return "" if form is None else f" within {_WINDOW_S + (number if form == STATES_APART else 0)} s"


def merging(patterns: int, events: int, *, repetitions: int) -> list[PatternRow]:
    """The same patterns and events in all forms; ArithmeticError if they do not find the same."""
    rows = [measure(patterns, events, form=form, repetitions=repetitions) for form in FORMS]
    if len({row.matches for row in rows}) > 1:
        raise ArithmeticError(f"matches per event differ: {', '.join(f'{row.form} {row.matches}' for row in rows)}")
    return rows


def heat(every: int) -> list[StreamRow]:
    """Daily temperatures of cities, matched alone and observed for a forecast."""
    calendar = heat_waves.Calendar.read(every)
    events = calendar.events(0, len(calendar.degrees))
    asked = Predict(heat_waves.WITHIN, heat_waves.THRESHOLD)
    return [_streamed("heat waves", heat_waves.WAVE, events, predict) for predict in (None, asked)]


def sessions() -> list[StreamRow]:
    """Sessions of a honeypot, partitioned by address, within ten minutes."""
    return [_streamed("logins", logins.BREAK_IN, logins.sessions(), None)]


def _streamed(data: str, pattern: str, events: pa.Table, predict: Predict | None) -> StreamRow:
    record = PatternRecord("p", pattern, None, predict)
    PatternMatcher([record]).process(events.slice(0, 1000))  # kernels are loaded
    matcher = PatternMatcher([record])
    begin = clock.now()
    found = len(matcher.process(events).matches)
    took = clock.now() - begin
    return StreamRow(
        data,
        pattern,
        predict is not None,
        len(events),
        int(matcher.state.counters[runs.PARTS]),
        found,
        1e6 * took / len(events),
    )


def measure_workload(into: Patterns, sizes: Sizes, patterns: int, *, repetitions: int) -> None:
    """The paper's default workload, or more of it."""
    into.workload.append(measure(patterns, sizes.events, repetitions=repetitions))


def measure_growth(into: Patterns, sizes: Sizes, *, repetitions: int) -> None:
    """Many patterns of which few are touched, and few patterns of which all are."""
    for patterns, touched in sizes.touched:
        into.growth.append(measure(patterns, sizes.events, touched=touched, repetitions=repetitions))


def measure_merging(into: Patterns, sizes: Sizes, *, repetitions: int) -> None:
    """Merged and unmerged, on fewer events: with machines apart, every one of them looks at every event."""
    into.merging += merging(sizes.apart, max(1_000, sizes.events // 10), repetitions=repetitions)


def measure_streams(into: Patterns, sizes: Sizes) -> None:
    """Real data, as far as they are there."""
    todo: dict[str, Callable[[], list[StreamRow]]] = {"heat waves": partial(heat, sizes.every_city), "logins": sessions}
    for name, measured in todo.items():
        try:
            into.streams += measured()
        except Missing as missing:
            into.notes.append(f"Patterns: {name} are left out: {missing}")
