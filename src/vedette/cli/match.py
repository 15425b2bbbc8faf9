"""`vedette match`: match the events of a file."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vedette.cli.choices import CoveringChoice, microseconds
from vedette.cli.choices import EngineChoice as Host
from vedette.cli.event_streams import EventStream, paths_of
from vedette.cli.file_paths import STANDARD, refuse_clashes
from vedette.cli.input_warnings import note_schema, report_learnt, report_lost, report_rejects, warn_of_unheard
from vedette.cli.match_job import InputCounter, JobTally, MatchOutput
from vedette.cli.operator_reports import first_failures_logged, report_operators
from vedette.cli.subscription_loading import load_by_events
from vedette.cli.terminal import Terminal
from vedette.engine.engine import Engine
from vedette.engine.state import StreamOptions
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import FilterError, NotSupported
from vedette.filters.index import DEFAULT
from vedette.filters.subscription_view import Events
from vedette.io.chunk_stepper import ChunkStepper, OutcomeOrder, SliceOutcome, promised_columns
from vedette.io.chunks import EventChunk
from vedette.io.operator_calls import OperatorCalls
from vedette.io.output import MatchWriter, RejectWriter, match_writer
from vedette.io.schemas import read_schema
from vedette.io.subscription_rows import PLAINLY, Written
from vedette.io.subscriptions import read_subscriptions
from vedette.operators.registry import DEFAULT_PLANNER

if TYPE_CHECKING:
    from vedette.cli.on_spark.match import SparkJob
    from vedette.patterns.matcher import PatternCounts

CAP = 10_000  # partial matches of one pattern and partition


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchOptions:
    """The options of the command line."""

    subscriptions: str
    events: str
    out: str
    engine: Host = Host.LOCAL
    schema: str | None = None
    index: str | None = None
    covering: CoveringChoice | None = None
    operators: str | None = None
    planner: str | None = None
    model: str | None = None
    rejects: str | None = None
    lateness: str | None = None
    late: str | None = None
    cap: int = CAP
    subscriptions_format: str | None = None
    written: Written = PLAINLY
    events_format: str | None = None
    output_format: str | None = None
    threads: int | None = None
    quiet: bool = False
    show_schema: bool = True  # an inferred one


def match(options: MatchOptions) -> JobTally:
    """Match all events and write the matches, in the order of events, then of subscriptions."""
    refuse_clashes(
        {
            "SUBSCRIPTIONS": options.subscriptions,
            "EVENTS": options.events,
            "--schema": options.schema,
            "--operators": options.operators,
            "--model": options.model,
        },
        {"--output": options.out, "--rejects": options.rejects, "--late": options.late},
    )
    terminal = Terminal(quiet=options.quiet)
    terms = terms_of(options)
    with ExitStack() as stack:
        # A place that cannot be written to is to be known before the work begins, not after it.
        out = None if options.out == STANDARD else stack.enter_context(_writer(options))
        aside = None if options.rejects is None else stack.enter_context(RejectWriter(options.rejects))
        late = None if options.late is None else stack.enter_context(RejectWriter(options.late))
        begin = time.perf_counter()
        tally = JobTally()
        job = prepare(options, terms, tally, terminal)
        stack.enter_context(job.engine)
        note_learnt(job, terminal)
        host = _spark_job(job, options, late, terminal) if on_spark(options) else LocalMatch(job, late)
        look_at(job, options, terminal)
        stack.enter_context(first_failures_logged(terminal))
        tally.prepared_s = time.perf_counter() - begin
        out = out or stack.enter_context(_writer(options))
        out.details = job.engine.details
        out.origins = job.subscriptions.told()
        alone = options.out != STANDARD or not sys.stdout.isatty()  # else it would be drawn into the matches
        bar = stack.enter_context(terminal.working("matching", "events", shown=alone))
        begin = time.perf_counter()
        for done in host.match(MatchOutput(out, aside, tally)):
            bar.show(done, tally.events)
    tally.matched_s = time.perf_counter() - begin
    report_rejects(tally, options.rejects, terminal)
    report_lost(host.counts, options.late, options.cap, terminal)
    if job.engine.calls_operators:
        report_operators(job.engine.calling, terminal)
    if options.covering is not None:
        terminal.note(str(job.engine.savings))
    terminal.note(str(tally))
    return tally


def _writer(options: MatchOptions) -> MatchWriter:
    return match_writer(options.out, format=options.output_format)


def on_spark(options: MatchOptions) -> bool:
    """Whether Spark is to be used."""
    return options.engine is Host.SPARK


def terms_of(options: MatchOptions, train_until: int | None = None) -> StreamOptions:
    """The options of the stream."""
    lateness = None if options.lateness is None else microseconds(options.lateness, "--lateness")
    return StreamOptions(lateness, cap=options.cap, train_until=train_until)


@dataclass(frozen=True)
class MatchJob:
    """A match to be run, in this process or on Spark."""

    subscriptions: Subscriptions
    engine: Engine
    stepper: ChunkStepper  # has matched the first events for nothing
    events: EventStream
    matches_per_event: float  # of the first events
    calls: OperatorCalls

    @property
    def terms(self) -> StreamOptions:
        """The options of the stream."""
        return self.stepper.state.terms


class LocalMatch:
    """Matches all events in this process."""

    def __init__(self, job: MatchJob, late: RejectWriter | None) -> None:
        self._events, self._stepper, self._late = job.events, job.stepper, late

    @property
    def counts(self) -> PatternCounts | None:
        """Counts of events that patterns ignored, and of partial matches given up; None without patterns."""
        return self._stepper.state.lost

    def match(self, output: MatchOutput) -> Iterator[float | None]:
        """Match all events and write the outcomes; reports progress from time to time."""
        told = OutcomeOrder(output.tell)
        for _, found in self._steps(output):
            told.take(found.outcomes, waiting=self._stepper.state.waiting)
            yield self._events.progress
        told.take(self._stepper.finish(), waiting=False)
        yield self._events.progress

    def _steps(self, counted: InputCounter) -> Iterator[tuple[EventChunk, SliceOutcome]]:
        """The outcomes of all events, slice by slice; events are counted, and rejected ones collected."""
        for chunk in self._events:
            for found in self._stepper.step(chunk):
                counted.count(found.read, len(found.rejects), found.rejects)
                if self._late is not None:
                    self._late.write(chunk.put_aside(found.late.tolist(), "too late for patterns"))
                yield chunk, found


def note_learnt(job: MatchJob, terminal: Terminal) -> None:
    """Note what forecasts are made from, unless they learn from the same events up to a given time."""
    if job.terms.train_until is None:
        report_learnt(job.engine, job.engine.model, terminal, called=job.engine.calls_operators)


def _spark_job(job: MatchJob, options: MatchOptions, late: RejectWriter | None, terminal: Terminal) -> SparkJob:
    from vedette.cli.on_spark.match import SparkJob

    return SparkJob(job, options, job.terms.lateness, late, terminal)


def look_at(job: MatchJob, options: MatchOptions, terminal: Terminal, *, also: frozenset[str] = frozenset()) -> None:
    """Note the inferred schema and attributes that no event has; read only these columns, and those in `also`."""
    paths = job.engine.paths
    if options.schema is None:
        if options.show_schema:
            note_schema(job.events.schema, job.events.name, terminal, paths)
        warn_of_unheard(paths - {"time"}, job.events.schema, terminal)
    if options.rejects is None and options.late is None and not job.engine.reads_whole_events:
        # else whole rows are to be written aside, or an operator may look at whole events
        job.events.only(paths | paths_of(job.terms.promised) | also)


def _note_unused(options: MatchOptions, engine: Engine, terminal: Terminal) -> None:
    """Note options without effect, because there is nothing to which they apply."""
    calls, patterns = engine.calls_operators, engine.has_state
    if not calls and not patterns and (options.planner is not None or options.model is not None):
        terminal.note("Filters need neither a planner nor a model: --planner and --model change nothing here")
    elif not calls and options.planner is not None:
        terminal.note("Nothing calls an operator: --planner changes nothing here")
    if not calls and options.operators is not None:
        terminal.note("Nothing calls an operator: --operators changes nothing here")
    if not patterns and (options.lateness is not None or options.late is not None):
        terminal.note("There are no patterns, so events are matched as they come: --lateness and --late change nothing")


def prepare(options: MatchOptions, terms: StreamOptions, tally: JobTally, terminal: Terminal) -> MatchJob:
    """The engine and the events."""
    if on_spark(options) and options.covering is not None:
        raise NotSupported("on Spark covering is not used so far\nHint: leave --covering or --engine spark out")
    schema = None if options.schema is None else read_schema(options.schema)
    calls = OperatorCalls(options.operators)
    file = read_subscriptions(options.subscriptions, format=options.subscriptions_format, written=options.written)
    events = EventStream(options.events, options.events_format, schema, replayed=on_spark(options))
    if schema is None:
        with terminal.working("inferring the schema"):
            _ = events.schema
    subscriptions = load_by_events(file, events, terminal, calls)
    if not len(subscriptions):
        terminal.note("There are no subscriptions, so nothing can match")
    first = events.peek()
    with terminal.working("building the index (the first time, its loops are compiled)"):
        engine = compiled(subscriptions, calls, options, file.name, None if first is None else first.events)
        stepper = ChunkStepper(
            engine, replace(terms, promised=promised_columns(schema)), threads=options.threads or cores()
        )
        matches_per_event = 0.0 if first is None else stepper.warm_up(first)
    _note_unused(options, engine, terminal)
    if engine.calls_operators and engine.model is not None and engine.model.operators is None:
        terminal.note("The model knows nothing of operators: what they cost is learnt as events come")
    tally.subscriptions = len(subscriptions)
    return MatchJob(subscriptions, engine, stepper, events, matches_per_event, calls)


def compiled(
    subscriptions: Subscriptions, calls: OperatorCalls, options: MatchOptions, source: str, sample: Events | None
) -> Engine:
    """The engine of a set from a file; BadSubscriptions has the invalid calls of all records."""
    model = None
    if calls.records and options.model is not None:
        from vedette.patterns.forecasts.model import Model

        model = Model.load(options.model)
    try:
        return subscriptions.compile(
            options.index or DEFAULT,
            operators=calls.needed(subscriptions.schema),
            planner=options.planner or DEFAULT_PLANNER,
            model=model,
            covering=None if options.covering is None else options.covering.value,
            sample=sample,
        )
    except (FilterError, NotSupported):
        calls.refuse_wrong(subscriptions.schema, source)
        raise


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
