"""`vedette match`: who should hear of which events."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vedette.cli.choices import Engine, Index
from vedette.cli.job import SHOWN, Output, Tally
from vedette.cli.lengths import microseconds
from vedette.cli.loading import load_by_events
from vedette.cli.places import STANDARD, refuse_clashes
from vedette.cli.reports import note_schema, report_learnt, report_lost, report_rejects, warn_of_unheard
from vedette.cli.streams import EventStream, paths_of
from vedette.cli.terminal import Terminal
from vedette.errors import NotSupported
from vedette.files.matched import ChunkMatcher, columns_read
from vedette.files.output import MatchWriter, RejectWriter, match_writer
from vedette.files.schemas import read_schema
from vedette.files.subscriptions import read_subscriptions
from vedette.matching.matcher import Matcher
from vedette.matching.subscriptions import Subscriptions
from vedette.schema.columns import Column

if TYPE_CHECKING:
    from vedette.cli.stream_job import StreamJob

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
    planner: str | None = None
    model: str | None = None
    rejects: str | None = None
    lateness: str | None = None
    late: str | None = None
    cap: int = CAP
    subscriptions_format: str | None = None
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
        job = _prepare(options, tally, terminal)
        stream = _stream(job, options, lateness, late, terminal) if job.subscriptions.patterns else None
        if stream is not None:
            engine = _streamed(job, stream)
        else:
            _note_unused(options, terminal)
            engine = _spark(job, options, terminal) if options.engine is Engine.SPARK else _local(job)
        tally.prepared_s = time.perf_counter() - begin
        out = out or stack.enter_context(_writer(options))
        out.with_notices = stream is not None
        alone = options.out != STANDARD or not sys.stdout.isatty()  # else it would be drawn into the matches
        bar = stack.enter_context(terminal.working("matching", "events", shown=alone))
        begin = time.perf_counter()
        for done in engine(Output(job.matcher.ids, out, aside, tally)):
            bar.show(done, tally.events)
    tally.matched_s = time.perf_counter() - begin
    report_rejects(tally, options.rejects, terminal)
    if stream is not None:
        report_lost(stream.matcher.counts, options.late, options.cap, terminal)
    terminal.note(str(tally))
    return tally


def _writer(options: MatchOptions) -> MatchWriter:
    return match_writer(options.out, format=options.output_format)


@dataclass(frozen=True, slots=True)
class _Job:
    """What is to be done, by whichever engine."""

    subscriptions: Subscriptions
    matcher: Matcher  # of the filters
    columns: tuple[Column, ...]
    chunks: ChunkMatcher
    matches_per_event: float  # of the first events
    events: EventStream


# An engine matches all events, tells an output what was found, and says from time to time how much of the source is
# done.
_MatchAll = Callable[[Output], Iterator[float | None]]


def _local(job: _Job) -> _MatchAll:
    def match_all(output: Output) -> Iterator[float | None]:
        for chunk in job.events:
            output.match(chunk, job.chunks)
            yield job.events.progress

    return match_all


def _stream(
    job: _Job, options: MatchOptions, lateness: int | None, late: RejectWriter | None, terminal: Terminal
) -> StreamJob:
    if options.engine is Engine.SPARK:
        count = len(job.subscriptions.patterns)
        raise NotSupported(
            f"{count:,} of the subscriptions {'is a pattern' if count == 1 else 'are patterns'} over several events, "
            "and on Spark only filters are matched so far\nHint: leave --engine spark out, or the patterns"
        )
    from vedette.cli.stream_job import StreamJob
    from vedette.prediction.model import Model

    model = None if options.model is None else Model.load(options.model)
    report_learnt(job.subscriptions.patterns.values(), model, terminal)
    return StreamJob(job.subscriptions, job.chunks, lateness=lateness, cap=options.cap, model=model, late=late)


def _streamed(job: _Job, stream: StreamJob) -> _MatchAll:
    return lambda output: stream.match(job.events, lambda: job.events.progress, output)


def _note_unused(options: MatchOptions, terminal: Terminal) -> None:
    if options.planner is not None or options.model is not None:
        terminal.note("Filters need neither a planner nor a model: --planner and --model change nothing here")
    if options.lateness is not None or options.late is not None:
        terminal.note("There are no patterns, so events are matched as they come: --lateness and --late change nothing")


def _spark(job: _Job, options: MatchOptions, terminal: Terminal) -> _MatchAll:
    from vedette.spark.file_job import match_cuts, sizes
    from vedette.spark.session import session
    from vedette.spark.snapshots import ship

    with terminal.working("starting Spark"):
        spark = session(master=None if options.threads is None else f"local[{options.threads}]")
        shipped = ship(job.matcher, spark)

    def match_all(output: Output) -> Iterator[float | None]:
        cuts = job.events.pieces(sizes(spark, job.matches_per_event))
        rejects = SHOWN if options.rejects is None else None
        for found in match_cuts(spark, cuts, shipped, job.columns, rejects=rejects):
            output.take(found.ids, found.event, found.subscription)
            output.count(found.read, found.rejected, found.rejects)
            yield found.done

    return match_all


def _prepare(options: MatchOptions, tally: Tally, terminal: Terminal) -> _Job:
    """What matches, and the events to be matched."""
    schema = None if options.schema is None else read_schema(options.schema)
    file = read_subscriptions(options.subscriptions, format=options.subscriptions_format)
    events = EventStream(options.events, options.events_format, schema, replayed=options.engine is Engine.SPARK)
    if schema is None:
        note_schema(events, terminal, show=options.show_schema)
    subscriptions = load_by_events(file, events, terminal)
    if not len(subscriptions):
        terminal.note("There are no subscriptions, so nothing can match")
    first = events.peek()
    with terminal.working("building the index (the first time, its loops are compiled)"):
        sample = None if first is None else first.events
        matcher = subscriptions.compile(options.index.value, sample=sample, filters_only=True)
        columns = columns_read(matcher, schema)
        paths = paths_of(columns)
        if subscriptions.patterns:
            from vedette.composite.telling import asked

            of_patterns = asked(subscriptions.patterns.values(), events.schema)
            columns = tuple(dict.fromkeys((*columns, *of_patterns.columns)))
            paths |= of_patterns.paths
        chunks = ChunkMatcher(matcher, columns, options.threads or usable_cores())
        matches_per_event = 0.0 if first is None else chunks.warm_up(first)
    tally.subscriptions = len(subscriptions)
    if schema is None:
        warn_of_unheard(paths - {"time"}, events.schema, terminal)
    if options.rejects is None and options.late is None:  # else whole rows are to be written aside
        events.only(paths)
    return _Job(subscriptions, matcher, columns, chunks, matches_per_event, events)


def usable_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
