"""`vedette backtest`: what subscriptions would have reported, had they been there."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from vedette.cli.backtest_job import tallied
from vedette.cli.backtest_report import report
from vedette.cli.choices import Engine
from vedette.cli.job import Counted
from vedette.cli.job import Tally as Totals
from vedette.cli.lengths import microseconds
from vedette.cli.match import Job, MatchOptions, look_at, note_learnt, prepare, stream_job
from vedette.cli.operator_reports import failures_told, report_operators
from vedette.cli.places import STANDARD, refuse_clashes, refuse_unwritable
from vedette.cli.reports import report_lost, report_rejects
from vedette.cli.stream_job import StreamJob
from vedette.cli.terminal import Terminal, output_console
from vedette.composite.telling import TIME
from vedette.errors import FileError
from vedette.files.backtest_output import write_counts, write_samples, write_text
from vedette.files.backtest_picture import picture
from vedette.files.backtest_samples import Sample
from vedette.files.backtest_tally import Summary, Tally
from vedette.files.output import RejectWriter, output_format
from vedette.language.literals import microseconds_since_epoch, read_timestamp

if TYPE_CHECKING:
    from vedette.cli.on_spark.backtest import SparkBacktest

_FEW = 3  # subscriptions whose samples are shown without being asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestOptions:
    """What was asked for on the command line: how to match, and what to do with what is found."""

    matching: MatchOptions  # its `out` is not used
    out: str | None = None
    samples: int = 5
    samples_out: str | None = None
    plot: str | None = None
    train_until: str | None = None
    everything: bool = False
    verbose: bool = False


def backtest(options: BacktestOptions) -> None:
    """Match a history, tell what would have been reported, and write what was asked for."""
    matching = options.matching
    writes = {"--output": options.out, "--samples-out": options.samples_out, "--plot": options.plot}
    _refuse(options, writes)
    terminal = Terminal(quiet=matching.quiet)
    lateness = None if matching.lateness is None else microseconds(matching.lateness, "--lateness")
    until = None if options.train_until is None else _moment(options.train_until)
    totals = Totals()
    with ExitStack() as stack:
        aside = None if matching.rejects is None else stack.enter_context(RejectWriter(matching.rejects))
        late = None if matching.late is None else stack.enter_context(RejectWriter(matching.late))
        begin = time.perf_counter()
        job = prepare(matching, totals, terminal)
        stream = spark = None
        if matching.engine is Engine.SPARK:
            spark = _on_spark(job, matching, lateness, late, terminal, until)
        elif job.subscriptions.patterns:
            stream = stream_job(job, matching, lateness, late, terminal, until)
        _note_unused(job, until, terminal)
        look_at(job, stream or spark, matching, terminal, also=frozenset({TIME}))
        if job.calling is not None:
            stack.enter_context(job.calling)
        stack.enter_context(failures_told(terminal))
        totals.prepared_s = time.perf_counter() - begin
        bar = stack.enter_context(terminal.working("matching", "events"))
        begin = time.perf_counter()
        tally = Tally(list(job.subscriptions), options.samples)
        counted = Counted(aside, totals)
        for done in tallied(job, stream, tally, counted) if spark is None else spark.tallied(tally, counted):
            bar.show(done, totals.events)
        tally = tally if spark is None else spark.tally
    totals.matched_s = time.perf_counter() - begin
    _conclude(options, job, stream or spark, tally, totals, terminal)


def _refuse(options: BacktestOptions, writes: dict[str, str | None]) -> None:
    """Wrong usage, and places that cannot be written to: to be known before the work begins."""
    matching = options.matching
    reads = {
        "SUBSCRIPTIONS": matching.subscriptions,
        "HISTORY": matching.events,
        "--schema": matching.schema,
        "--operators": matching.operators,
        "--model": matching.model,
    }
    refuse_clashes(reads, {**writes, "--rejects": matching.rejects, "--late": matching.late})
    if options.train_until is not None and matching.model is not None:
        raise typer.BadParameter("--train-until makes a model of its own: leave it or --model out")
    if options.samples_out is not None and not options.samples:
        raise typer.BadParameter("--samples 0 leaves nothing to write", param_hint="--samples-out")
    if options.plot not in (None, STANDARD) and Path(str(options.plot)).suffix.lower() not in ("", ".svg"):
        raise typer.BadParameter(f"{options.plot}: a picture is SVG; let its name end in .svg", param_hint="--plot")
    if options.out is not None:
        output_format(options.out, matching.output_format)
    if options.samples_out is not None and output_format(options.samples_out) != "jsonl":
        raise FileError(f"cannot write {options.samples_out}\nHint: samples are JSON lines: let its name end in .jsonl")
    for place in writes.values():
        if place is not None and place != STANDARD:
            refuse_unwritable(place)


def _moment(text: str) -> int:
    try:
        return microseconds_since_epoch(read_timestamp(text))
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no time such as 2024-05-01 or 2024-05-01T12:30:00Z", param_hint="--train-until"
        ) from None


def _on_spark(
    job: Job,
    matching: MatchOptions,
    lateness: int | None,
    late: RejectWriter | None,
    terminal: Terminal,
    until: int | None,
) -> SparkBacktest:
    from vedette.cli.on_spark.backtest import SparkBacktest

    note_learnt(job, until, terminal)
    return SparkBacktest(job, matching, lateness, late, terminal, until)


def _note_unused(job: Job, until: int | None, terminal: Terminal) -> None:
    if until is not None and all(record.predict is None for record in job.subscriptions.patterns.values()):
        terminal.note("Nothing asks for forecasts (with `predict`): --train-until changes nothing here")


def _conclude(
    options: BacktestOptions,
    job: Job,
    engine: StreamJob | SparkBacktest | None,
    tally: Tally,
    totals: Totals,
    terminal: Terminal,
) -> None:
    """Write and tell what came of it."""
    summaries, samples = tally.summaries(), tally.samples()
    totals.matches = sum(int(one.matches.sum()) for one in summaries)
    totals.predictions = sum(int(one.predictions.sum()) for one in summaries)
    if options.out is not None:
        write_counts(options.out, summaries, options.matching.output_format)
    if options.samples_out is not None:
        write_samples(options.samples_out, samples)
    if options.plot is not None:
        write_text(options.plot, picture(summaries, tally.events).to_svg())
    _tell(options, summaries, tally, samples, terminal)
    report_rejects(totals, options.matching.rejects, terminal)
    if engine is not None:
        report_lost(engine.counts, options.matching.late, options.matching.cap, terminal)
        if engine.learnt == 0:
            terminal.warn(f"no event is before {options.train_until}: forecasts had nothing to learn from")
    if job.calling is not None:
        report_operators(job.calling, terminal)
    terminal.note(str(totals))


def _tell(
    options: BacktestOptions,
    summaries: list[Summary],
    tally: Tally,
    samples: dict[str, list[Sample]],
    terminal: Terminal,
) -> None:
    """On standard output, or beside it where files go there."""
    shown = samples if options.verbose or len(summaries) <= _FEW else {}
    lines = report(summaries, tally.events, shown, everything=options.everything)
    if STANDARD in (options.out, options.samples_out, options.plot):
        terminal.note("\n".join(lines))
        return
    console = output_console()
    for line in lines:
        console.print(line, markup=False)
