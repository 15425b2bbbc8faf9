"""Commands that run pipelines, and what comes with a checkout: run, checkpoint, scrub, demo, bench, experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vedette.cli.commands.options import Quiet


def _experiments(incomplete: str) -> list[str]:
    from vedette.cli.checkout import names

    return [name for name in names() if name.startswith(incomplete)]


def run_command(
    pipeline: Annotated[str | None, typer.Argument(metavar="PIPELINE", help="The pipeline file (TOML).")] = None,
    check: Annotated[bool, typer.Option("--check", help="Only find every mistake of the file; start nothing.")] = False,
    metrics: Annotated[
        str | None, typer.Option(metavar="FILE", help="One line of JSON per micro-batch, appended to this file.")
    ] = None,
    example: Annotated[bool, typer.Option("--example", help="Print a pipeline file to begin with.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="If it fails, show everything that is known.")] = False,
    quiet: Quiet = False,
) -> None:
    """Run a pipeline on Spark: from a source through the subscriptions to sinks, batch or streaming.

    A stream goes on from its checkpoint. SIGINT (Ctrl-C) or SIGTERM ends it after the current micro-batch; a second
    one at once, which loses nothing either.
    """
    from vedette.cli import run

    if example:
        run.example()
        return
    if pipeline is None:
        raise typer.BadParameter("which pipeline file? `--example` prints one", param_hint="PIPELINE")
    if check:
        run.check(pipeline, quiet=quiet)
    else:
        run.run(pipeline, metrics=metrics, quiet=quiet, debug=debug)


def checkpoint_command(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="What a pipeline file calls `checkpoint`.")],
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show what the checkpoint of a pipeline holds: how far it came, its subscriptions, the state of patterns."""
    from vedette.cli.run import checkpoint

    checkpoint(folder, json=json)


def scrub_command(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH]...",
            help="Snapshots, models, checkpoints, folders of them; a service's database, or its URL.",
        ),
    ] = None,
    settings: Annotated[
        str | None, typer.Option("--settings", metavar="FILE", help="The settings of a service: its database.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Read everything that was stored, compare it with its checksums, and report damage.

    Exit status 1 if anything is damaged, or cannot be verified. Nothing is changed.
    """
    from vedette.cli.scrub import scrub

    scrub(paths or (), settings=settings, as_json=json, quiet=quiet)


def demo_command(
    folder: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where its files go.")] = Path(
        "demo-output"
    ),
    subscriptions: Annotated[
        int, typer.Option(min=100, max=1_000_000, metavar="N", help="How many subscriptions.")
    ] = 20_000,
) -> None:
    """Match a year of New York's flights with some 20,000 synthetic subscriptions."""
    from vedette.cli.demo.demo import demo

    demo(folder, subscriptions)


def bench_command(context: typer.Context) -> None:
    """Run the benchmarks of a checkout; arguments are handed on (`vedette bench --quick`)."""
    from vedette.cli.checkout import bench

    raise typer.Exit(bench(context.args))


def experiment_command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="Which one, or all; without it, they are listed.", autocompletion=_experiments
        ),
    ] = None,
    folder: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where data and plots go.")] = Path(
        "experiment-output"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, to see that it works.")] = False,
) -> None:
    """Run an experiment of a checkout: the figures of a paper, measured anew; `all` makes a report, too."""
    from vedette.cli.checkout import experiment

    raise typer.Exit(experiment(name, folder, quick=quick))
