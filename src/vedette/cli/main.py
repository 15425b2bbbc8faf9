"""The command line: every command, in the order in which help shows them."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.cli.commands import events, rules, running, serving
from vedette.cli.endings import Commands, prepare_process
from vedette.version import __version__

app = typer.Typer(
    cls=Commands,
    name="vedette",
    help="Match streams of events against millions of standing subscriptions.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"vedette {__version__}")
        raise typer.Exit


@app.callback()
def vedette(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Match streams of events against millions of standing subscriptions."""


app.command("match")(events.match_command)
app.command("explain")(events.explain_command)
app.command("train")(events.train_command)
app.command("backtest")(events.backtest_command)
app.command("check")(rules.check_command)
app.command("translate")(rules.translate_command)
app.command("cover")(rules.cover_command)
app.command("meet")(rules.meet_command)
app.command("run")(running.run_command)
app.command("checkpoint")(running.checkpoint_command)
app.command("serve")(serving.serve_command)
app.command("subscribe")(serving.subscribe_command)
app.command("publish")(serving.publish_command)
app.command("tail")(serving.tail_command)
app.command("demo")(running.demo_command)
app.command(
    "bench",  # whose options are its own
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)(running.bench_command)
app.command("experiment")(running.experiment_command)


def run() -> None:
    """What the command `vedette` calls."""
    prepare_process()
    app()
