"""`vedette run`: run a pipeline file on Spark."""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING

import typer

from vedette.cli.terminal import Terminal, error_console
from vedette.errors import VedetteError

if TYPE_CHECKING:
    from vedette.spark.pipeline.config import Pipeline


def example() -> None:
    """Print a pipeline file to start from."""
    from vedette.spark.pipeline.example import EXAMPLE

    typer.echo(EXAMPLE, nl=False)


def check(path: str, *, quiet: bool) -> None:
    """Report every mistake in a pipeline file, without starting anything."""
    from vedette.spark.pipeline.config import load

    _describe(load(path, every=True), Terminal(quiet=quiet))


def run(path: str, *, metrics: str | None, quiet: bool, debug: bool) -> None:
    """Run a pipeline file to its end."""
    from vedette.spark.pipeline.config import load
    from vedette.spark.pipeline.progress import TerminalReport
    from vedette.spark.pipeline.run import run as run_pipeline

    pipeline = load(path)
    report = TerminalReport(quiet=quiet, quarantine=pipeline.quarantine is not None, console=error_console())
    try:
        summary = run_pipeline(pipeline, report=report, metrics=metrics)
    except VedetteError:
        report.close()
        if debug:
            traceback.print_exc(file=sys.stderr)
        raise
    finally:
        report.close()
    report.note(f"{'Stopped' if summary.stopped else 'Done'}: {summary}")
    if summary.rejects and pipeline.quarantine is None:
        rows, them = ("1 row was", "it") if summary.rejects == 1 else (f"{summary.rejects:,} rows were", "them")
        report.warn(f"{rows} rejected; a [quarantine] in {path} would keep {them}", lost=True)


def _describe(pipeline: Pipeline, terminal: Terminal) -> None:
    """A summary of the file, in a few lines."""
    terminal.note(f"{pipeline.name}: the pipeline file is fine")
    terminal.note(f"  source: {pipeline.source.type}, {pipeline.mode}")
    for sink in pipeline.sinks:
        wanted = [*(sink.subscribers or ()), *(sink.subscriptions or ())]
        terminal.note(f"  sink {sink.name}: {sink.type}, for {', '.join(wanted) or 'everybody'}")
    quarantine = "none: rejected rows are counted" if pipeline.quarantine is None else pipeline.quarantine.type
    terminal.note(f"  quarantine: {quarantine}")
