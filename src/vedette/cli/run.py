"""`vedette run` and `vedette checkpoint`: run a pipeline file on Spark, and show its checkpoint."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson
import typer

from vedette.cli.terminal import Terminal, counted, error_console
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


_SHOWN = 10  # ids of patterns


def checkpoint(folder: str, *, json: bool) -> None:
    """Print the report on standard output."""
    from vedette.spark.pipeline.checkpoint_report import inspect

    found = inspect(folder, _session)
    if json:
        typer.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
    else:
        typer.echo("\n".join(_lines(folder, found)))


def _session() -> Any:
    from vedette.spark.spark_session import session

    return session(app="vedette checkpoint")


def _lines(folder: str, found: Mapping[str, Any]) -> Iterator[str]:
    facts = dict(found["facts"])
    name, type_ = facts.pop("pipeline", "?"), facts.pop("type", "?")
    where = ", ".join(f"{key} {value}" for key, value in facts.items() if key != "patterns")
    yield f"{folder}: the checkpoint of the pipeline {name}, made by Vedette {found['library']}"
    yield f"  source: {type_}{f', {where}' if where else ''}"
    yield f"  micro-batches: {_batches(found)}"
    subscribed = found["subscriptions"]
    if subscribed is None:
        return
    aside = subscribed["set aside"]
    yield (
        f"  subscriptions: version {subscribed['version']} of {counted(subscribed['count'], 'subscription')}, "
        f"since micro-batch {subscribed['since']}"
        f"{f', {aside:,} bad ones set aside' if aside else ''}"
    )
    yield from _operators(subscribed["calling operators"], found["operators"])
    patterns = subscribed["patterns"]
    if patterns is None:
        return
    ids = ", ".join(patterns[:_SHOWN]) + (f" and {len(patterns) - _SHOWN:,} more" if len(patterns) > _SHOWN else "")
    yield f"  patterns: {counted(len(patterns), 'pattern')}{f' ({ids})' if ids else ''}"
    for place in found.get("state", ()):
        by = f"by {', '.join(place['by'])}" if place["by"] else "without a partition"
        begun = counted(place["partial matches"], "partial match", "partial matches")
        yield (
            f"    {by}: {counted(place['events'], 'event')} in {counted(place['shards'], 'shard')}, "
            f"{begun}, {place['held back']:,} held back, "
            f"{counted(place['duplicates'], 'duplicate')}, {place['shed']:,} given up; "
            f"{place['bytes'] / 1024:,.0f} KiB of state"
        )


def _operators(filters: int, known: Sequence[Mapping[str, Any]] | str) -> Iterator[str]:
    """Lines about operators; callers are counted among filters only, though steps of patterns may call them, too."""
    if isinstance(known, str):
        yield f"  operators: nothing is known of them any more: {known}"
    elif known or filters:
        yield f"  operators: {counted(filters, 'filter calls', 'filters call')} some"
    for each in () if isinstance(known, str) else known:
        said = [] if each["holds"] is None else [f"holds for {each['holds']:.1%} of the events that it was asked of"]
        said += [] if each["seconds"] is None else [f"{each['seconds'] * 1000:,.3g} ms an event"]
        yield f"    {each['operator']}: {', '.join(said)}"


def _batches(found: Mapping[str, Any]) -> str:
    if found["newest"] is None:
        return "none has begun"
    done = found["newest"] if found["pending"] else found["newest"] + 1
    cut = f"; micro-batch {found['newest']} was cut short, and will be run again" if found["pending"] else ""
    return f"{done:,} done{cut}"
