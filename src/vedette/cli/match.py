"""`vedette match`: who should hear of which events."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vedette.cli.choices import Covering, Engine, Index
from vedette.cli.job import Output, Tally
from vedette.cli.lengths import microseconds
from vedette.cli.loading import load_by_events
from vedette.cli.operator_reports import failures_told, report_operators
from vedette.cli.places import STANDARD, refuse_clashes
from vedette.cli.reports import note_schema, report_learnt, report_lost, report_rejects, warn_of_unheard
from vedette.cli.streams import EventStream, paths_of
from vedette.cli.terminal import Terminal
from vedette.errors import NotSupported
from vedette.files.matched import ChunkMatcher, columns_read
from vedette.files.operator_calls import OperatorCalls, patterns_call
from vedette.files.output import MatchWriter, RejectWriter, match_writer
from vedette.files.schemas import read_schema
from vedette.files.subscriptions import PLAINLY, Written, read_subscriptions
from vedette.matching.matcher import Matcher
from vedette.matching.subscriptions import Subscriptions
from vedette.matching.view import Events
from vedette.schema.columns import Column

if TYPE_CHECKING:
    from vedette.cli.on_spark.match import SparkJob
    from vedette.cli.stream_job import StreamJob
    from vedette.covering.matcher import CoveringMatcher
    from vedette.files.operator_filters import OperatorFilters
    from vedette.operators.calling import Calling
    from vedette.prediction.model import Model

CAP = 10_000  # partial matches of one pattern and partition


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchOptions:
    """What was asked for on the command line."""

    subscriptions: str
    events: str
    out: str
    engine: Engine = Engine.LOCAL
    schema: str | None = None
    index: Index = Index.CLUSTERS
    covering: Covering | None = None
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


def match(options: MatchOptions) -> Tally:
    """Match all events and write what was found, in the order of events, then of subscriptions."""
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
    lateness = None if options.lateness is None else microseconds(options.lateness, "--lateness")
    with ExitStack() as stack:
        # A place that cannot be written to is to be known before the work begins, not after it.
        out = None if options.out == STANDARD else stack.enter_context(_writer(options))
        aside = None if options.rejects is None else stack.enter_context(RejectWriter(options.rejects))
        late = None if options.late is None else stack.enter_context(RejectWriter(options.late))
        begin = time.perf_counter()
        tally = Tally()
        job = prepare(options, tally, terminal)
        patterns = bool(job.subscriptions.patterns)
        stream = spark = None
        if options.engine is Engine.SPARK:
            spark = _spark_job(job, options, lateness, late, terminal)
        elif patterns:
            stream = stream_job(job, options, lateness, late, terminal)
        look_at(job, stream or spark, options, terminal)
        engine = _local(job) if stream is None else _streamed(job, stream)
        if spark is not None:
            engine = spark.match
        if job.calling is not None:
            stack.enter_context(job.calling)
        stack.enter_context(failures_told(terminal))
        tally.prepared_s = time.perf_counter() - begin
        out = out or stack.enter_context(_writer(options))
        out.with_notices = patterns
        out.with_bindings = job.operators is not None and job.operators.binds
        out.origins = job.subscriptions.told()
        alone = options.out != STANDARD or not sys.stdout.isatty()  # else it would be drawn into the matches
        bar = stack.enter_context(terminal.working("matching", "events", shown=alone))
        begin = time.perf_counter()
        for done in engine(Output(job.chunks.ids, out, aside, tally)):
            bar.show(done, tally.events)
    tally.matched_s = time.perf_counter() - begin
    report_rejects(tally, options.rejects, terminal)
    lossy = stream or spark
    if lossy is not None:
        report_lost(lossy.counts, options.late, options.cap, terminal)
    if job.calling is not None:
        report_operators(job.calling, terminal)
    if job.covering is not None:
        terminal.note(str(job.covering.savings))
    terminal.note(str(tally))
    return tally


def _writer(options: MatchOptions) -> MatchWriter:
    return match_writer(options.out, format=options.output_format)


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be done, by whichever engine."""

    subscriptions: Subscriptions
    matcher: Matcher  # of the filters that call no operators
    covering: CoveringMatcher | None  # the same, where covering was asked for
    operators: OperatorFilters | None  # those that do
    calling: Calling | None  # of filters, or of patterns
    model: Model | None
    columns: tuple[Column, ...]
    paths: frozenset[str]  # the attributes that filters and patterns speak of, apart from calls in patterns
    chunks: ChunkMatcher
    matches_per_event: float  # of the first events
    events: EventStream


# An engine matches all events, tells an output what was found, and says from time to time how much of the source is
# done.
_MatchAll = Callable[[Output], Iterator[float | None]]


def _local(job: Job) -> _MatchAll:
    def match_all(output: Output) -> Iterator[float | None]:
        for chunk in job.events:
            output.match(chunk, job.chunks)
            yield job.events.progress

    return match_all


def stream_job(
    job: Job,
    options: MatchOptions,
    lateness: int | None,
    late: RejectWriter | None,
    terminal: Terminal,
    train_until: int | None = None,
) -> StreamJob:
    """What matches where some subscriptions are patterns."""
    from vedette.cli.stream_job import StreamJob

    note_learnt(job, train_until, terminal)
    return StreamJob(
        job.subscriptions,
        job.chunks,
        lateness=lateness,
        cap=options.cap,
        model=job.model,
        late=late,
        calling=job.calling,
        train_until=train_until,
    )


def note_learnt(job: Job, train_until: int | None, terminal: Terminal) -> None:
    """Say what forecasts are made from, unless they learn from the same events up to a moment."""
    if train_until is None and job.subscriptions.patterns:
        report_learnt(job.subscriptions.patterns.values(), job.model, terminal, called=job.calling is not None)


def _spark_job(
    job: Job, options: MatchOptions, lateness: int | None, late: RejectWriter | None, terminal: Terminal
) -> SparkJob:
    from vedette.cli.on_spark.match import SparkJob

    note_learnt(job, None, terminal)
    return SparkJob(job, options, lateness, late, terminal)


def _streamed(job: Job, stream: StreamJob) -> _MatchAll:
    from vedette.cli.stream_job import Held

    return lambda output: stream.match(
        job.events, lambda: job.events.progress, output, Held(list(job.subscriptions), output)
    )


def look_at(
    job: Job,
    engine: StreamJob | SparkJob | None,
    options: MatchOptions,
    terminal: Terminal,
    *,
    also: frozenset[str] = frozenset(),
) -> None:
    """Say which attributes no event has, and read no column that nobody looks at, `also` these."""
    of_filters = None if job.operators is None else job.operators.matcher
    of_patterns = None if engine is None else engine.matcher.operators
    callers = [each for each in (of_filters, of_patterns) if each is not None]
    paths = job.paths.union(*(each.named for each in callers))
    if options.schema is None:
        warn_of_unheard(paths - {"time"}, job.events.schema, terminal)
    whole = any(each.paths is None for each in callers)  # an operator may look at whole events
    if options.rejects is None and options.late is None and not whole:  # else whole rows are to be written aside
        job.events.only(paths | also)


def _note_unused(options: MatchOptions, subscriptions: Subscriptions, calls: bool, terminal: Terminal) -> None:
    """Options that change nothing, because there is nothing that they are about."""
    patterns = bool(subscriptions.patterns)
    if not calls and not patterns and (options.planner is not None or options.model is not None):
        terminal.note("Filters need neither a planner nor a model: --planner and --model change nothing here")
    elif not calls and options.planner is not None:
        terminal.note("Nothing calls an operator: --planner changes nothing here")
    if not calls and options.operators is not None:
        terminal.note("Nothing calls an operator: --operators changes nothing here")
    if not patterns and (options.lateness is not None or options.late is not None):
        terminal.note("There are no patterns, so events are matched as they come: --lateness and --late change nothing")


def prepare(options: MatchOptions, tally: Tally, terminal: Terminal) -> Job:
    """What matches, and the events to be matched."""
    if options.engine is Engine.SPARK and options.covering is not None:
        raise NotSupported("on Spark covering is not used so far\nHint: leave --covering or --engine spark out")
    schema = None if options.schema is None else read_schema(options.schema)
    calls = OperatorCalls(options.operators)
    file = read_subscriptions(options.subscriptions, format=options.subscriptions_format, written=options.written)
    events = EventStream(options.events, options.events_format, schema, replayed=options.engine is Engine.SPARK)
    if schema is None:
        note_schema(events, terminal, show=options.show_schema)
    subscriptions = load_by_events(file, events, terminal, calls)
    if not len(subscriptions):
        terminal.note("There are no subscriptions, so nothing can match")
    in_patterns = patterns_call(subscriptions.patterns.values(), events.schema)
    calls_any = in_patterns or bool(subscriptions.with_operators)
    _note_unused(options, subscriptions, calls_any, terminal)
    model = _model(options) if calls_any or subscriptions.patterns else None
    first = events.peek()
    with terminal.working("building the index (the first time, its loops are compiled)"):
        sample = None if first is None else first.events
        covering = _covering(subscriptions, options, sample)
        matcher: Matcher
        if covering is None:
            matcher = subscriptions.compile(options.index.value, sample=sample, filters_only=True)
        else:
            matcher = covering
        columns = columns_read(matcher, schema)
        paths = paths_of(columns)
        if subscriptions.patterns:
            from vedette.composite.telling import asked

            of_patterns = asked(subscriptions.patterns.values(), events.schema)
            columns = tuple(dict.fromkeys((*columns, *of_patterns.columns)))
            paths |= of_patterns.paths
        if in_patterns:  # what is wrong with their calls would be known later, and one by one
            calls.refuse_wrong(events.schema, file.name)
        calling = _calling(calls, options, model, terminal) if calls_any else None
        operators = None
        if calling is not None and subscriptions.with_operators:
            from vedette.files.operator_filters import operator_filters

            operators = operator_filters(subscriptions, calls, calling, file.name, index=options.index.value)
            columns = tuple(dict.fromkeys((*columns, *operators.matcher.columns)))
            paths |= paths_of(operators.matcher.columns)
        chunks = ChunkMatcher(matcher, columns, options.threads or usable_cores(), operators)
        matches_per_event = 0.0 if first is None else chunks.warm_up(first)
        if covering is not None:
            covering.count_anew()
    tally.subscriptions = len(subscriptions)
    return Job(
        subscriptions,
        matcher,
        covering,
        operators,
        calling,
        model,
        columns,
        frozenset(paths),
        chunks,
        matches_per_event,
        events,
    )


def _covering(subscriptions: Subscriptions, options: MatchOptions, sample: Events | None) -> CoveringMatcher | None:
    """Instead of a plain matcher, where that is asked for."""
    if options.covering is None:
        return None
    from vedette.covering.matcher import CoveringMatcher

    return CoveringMatcher.compile(
        subscriptions, options.index.value, sample=sample, method=options.covering.value, filters_only=True
    )


def _model(options: MatchOptions) -> Model | None:
    from vedette.prediction.model import Model

    return None if options.model is None else Model.load(options.model)


def _calling(calls: OperatorCalls, options: MatchOptions, model: Model | None, terminal: Terminal) -> Calling:
    from vedette.operators.calling import Calling
    from vedette.operators.planners import DEFAULT

    if model is not None and model.operators is None:
        terminal.note("The model knows nothing of operators: what they cost is learnt as events come")
    return Calling(calls.operators, options.planner or DEFAULT, None if model is None else model.operators)


def usable_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
