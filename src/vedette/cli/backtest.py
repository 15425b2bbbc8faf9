"""`vedette backtest`: what subscriptions would have reported, had they been there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from vedette.cli.backtest_report import report
from vedette.cli.file_paths import STANDARD, refuse_clashes, refuse_unwritable
from vedette.cli.input_warnings import report_lost, report_rejects
from vedette.cli.match import LocalMatch, MatchJob, MatchOptions, look_at, note_learnt, on_spark, prepare, terms_of
from vedette.cli.match_job import InputCounter
from vedette.cli.match_job import JobTally as Totals
from vedette.cli.operator_reports import first_failures_logged, report_operators
from vedette.cli.terminal import Terminal, output_console
from vedette.errors import FileError
from vedette.io.backtest_output import write_counts, write_samples, write_text
from vedette.io.backtest_picture import picture
from vedette.io.backtest_samples import BacktestSample
from vedette.io.backtest_tally import BacktestSummary, BacktestTally
from vedette.io.output import RejectWriter, output_format
from vedette.io.step_tally import StepTally
from vedette.language.literals import microseconds_since_epoch, read_timestamp
from vedette.patterns.witness_names import TIME

if TYPE_CHECKING:
    from vedette.cli.on_spark.match import SparkBacktest


class LocalBacktest(LocalMatch):
    """Matches a history in this process; `tally` has the results."""

    def __init__(self, job: MatchJob, late: RejectWriter | None) -> None:
        super().__init__(job, late)
        self._schema = job.events.schema

    @property
    def learnt(self) -> int | None:
        """The number of rows that forecasts were trained on, if training ends at a given time."""
        return self._stepper.state.learnt

    def tallied(self, tally: BacktestTally, counted: InputCounter) -> Iterator[float | None]:
        """Match all events and add them to the tally; reports progress from time to time."""
        self.tally = tally
        steps = StepTally(tally, self._schema)
        for chunk, found in self._steps(counted):
            steps.take(chunk, found, self._stepper.state)
            yield self._events.progress
        steps.tell(self._stepper.finish())
        tally.score(self._stepper.state.scores)
        yield self._events.progress


_FEW = 3  # subscriptions whose samples are shown even without --verbose


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestOptions:
    """The options of the command line: how to match, and what to write."""

    matching: MatchOptions  # its `out` is not used
    out: str | None = None
    samples: int = 5
    samples_out: str | None = None
    plot: str | None = None
    train_until: str | None = None
    everything: bool = False
    verbose: bool = False


def backtest(options: BacktestOptions) -> None:
    """Match a history, report the outcomes, and write the files that were asked for."""
    matching = options.matching
    writes = {"--output": options.out, "--samples-out": options.samples_out, "--plot": options.plot}
    _refuse(options, writes)
    terminal = Terminal(quiet=matching.quiet)
    terms = terms_of(matching, None if options.train_until is None else _moment(options.train_until))
    totals = Totals()
    with ExitStack() as stack:
        aside = None if matching.rejects is None else stack.enter_context(RejectWriter(matching.rejects))
        late = None if matching.late is None else stack.enter_context(RejectWriter(matching.late))
        begin = time.perf_counter()
        job = prepare(matching, terms, totals, terminal)
        stack.enter_context(job.engine)
        note_learnt(job, terminal)
        host = _on_spark(job, matching, late, terminal) if on_spark(matching) else LocalBacktest(job, late)
        _note_unused(job, terminal)
        look_at(job, matching, terminal, also=frozenset({TIME}))
        stack.enter_context(first_failures_logged(terminal))
        totals.prepared_s = time.perf_counter() - begin
        bar = stack.enter_context(terminal.working("matching", "events"))
        begin = time.perf_counter()
        for done in host.tallied(BacktestTally(list(job.subscriptions), options.samples), InputCounter(aside, totals)):
            bar.show(done, totals.events)
    totals.matched_s = time.perf_counter() - begin
    _conclude(options, job, host, totals, terminal)


def _refuse(options: BacktestOptions, writes: dict[str, str | None]) -> None:
    """Refuse wrong usage, and places that cannot be written to, before the work begins."""
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


def _on_spark(job: MatchJob, matching: MatchOptions, late: RejectWriter | None, terminal: Terminal) -> SparkBacktest:
    from vedette.cli.on_spark.match import SparkBacktest

    return SparkBacktest(job, matching, job.terms.lateness, late, terminal, job.terms.train_until)


def _note_unused(job: MatchJob, terminal: Terminal) -> None:
    if job.terms.train_until is not None and not job.engine.forecasts:
        terminal.note("Nothing asks for forecasts (with `predict`): --train-until changes nothing here")


def _conclude(
    options: BacktestOptions,
    job: MatchJob,
    host: LocalBacktest | SparkBacktest,
    totals: Totals,
    terminal: Terminal,
) -> None:
    """Write and report the results."""
    tally = host.tally
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
    report_lost(host.counts, options.matching.late, options.matching.cap, terminal)
    if host.learnt == 0:
        terminal.warn(f"no event is before {options.train_until}: forecasts had nothing to learn from")
    if job.engine.calls_operators:
        report_operators(job.engine.calling, terminal)
    terminal.note(str(totals))


def _tell(
    options: BacktestOptions,
    summaries: list[BacktestSummary],
    tally: BacktestTally,
    samples: dict[str, list[BacktestSample]],
    terminal: Terminal,
) -> None:
    """Print the report on standard output, or on standard error if a file goes there."""
    shown = samples if options.verbose or len(summaries) <= _FEW else {}
    lines = report(summaries, tally.events, shown, everything=options.everything)
    if STANDARD in (options.out, options.samples_out, options.plot):
        terminal.note("\n".join(lines))
        return
    console = output_console()
    for line in lines:
        console.print(line, markup=False)
