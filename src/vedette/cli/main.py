"""The command line: all commands, in the order of the help text."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.cli.commands import event_commands, pipeline_commands, rule_commands, service_commands
from vedette.cli.exit_status import Commands, prepare_process
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


app.command("match")(event_commands.match_command)
app.command("explain")(event_commands.explain_command)
app.command("train")(event_commands.train_command)
app.command("backtest")(event_commands.backtest_command)
app.command("check")(rule_commands.check_command)
app.command("translate")(rule_commands.translate_command)
app.command("cover")(rule_commands.cover_command)
app.command("meet")(rule_commands.meet_command)
app.command("run")(pipeline_commands.run_command)
app.command("checkpoint")(pipeline_commands.checkpoint_command)
app.command("scrub")(pipeline_commands.scrub_command)
app.command("serve")(service_commands.serve_command)
app.command("subscribe")(service_commands.subscribe_command)
app.command("publish")(service_commands.publish_command)
app.command("tail")(service_commands.tail_command)
app.command("demo")(pipeline_commands.demo_command)
app.command(
    "bench",  # whose options are its own
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)(pipeline_commands.bench_command)
app.command("experiment")(pipeline_commands.experiment_command)


def run() -> None:
    """The entry point of the command `vedette`."""
    prepare_process()
    app()
