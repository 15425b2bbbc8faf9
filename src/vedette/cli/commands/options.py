"""Options that several commands have, each described once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from vedette import plugins
from vedette.cli.choices import (
    EventsFormat,
    OutputFormat,
    PlannerChoice,
    SubscriptionsFormat,
    listed,
    plugin,
    plugins_like,
)

if TYPE_CHECKING:
    from vedette.io.subscription_rows import Written

SubscriptionsPlace = Annotated[
    str,
    typer.Argument(
        help="JSONL, YAML or Parquet file of subscriptions, or a folder of rules (--dialect); `-`: standard input."
    ),
]
EventsPlace = Annotated[
    str, typer.Argument(metavar="EVENTS", help="JSONL, CSV or Parquet file (or folder); `-`: standard input.")
]
HistoryPlace = Annotated[
    str, typer.Argument(metavar="HISTORY", help="Events that happened: JSONL, CSV or Parquet; `-`: standard input.")
]
OutputPlace = Annotated[
    str, typer.Option("--output", "-o", metavar="OUT", help="JSONL or Parquet file; `-`: standard output.")
]
SchemaPlace = Annotated[
    str | None, typer.Option("--schema", metavar="FILE", help="JSON or YAML file of attributes and types.")
]
RejectsPlace = Annotated[
    str | None, typer.Option(metavar="FILE", help="Where events that cannot be read go, as JSONL with the reason.")
]
ModelPlace = Annotated[
    str | None, typer.Option(metavar="FILE", help="What `vedette train` made: forecasts, operators.")
]
OperatorsPlace = Annotated[
    str | None,
    typer.Option(
        "--operators",
        metavar="FILE",
        help="What filters may call: a .py file of operators, or a .toml file that names modules and settings.",
        show_default="those that are installed",
    ),
]
PlannerName = Annotated[
    PlannerChoice | None,
    typer.Option("--planner", help="In which order operators run; the answer is the same.", show_default="adaptive"),
]
Lateness = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="How late events may come for patterns, e.g. 5 min.",
        show_default="sort the whole file",
    ),
]
LatePlace = Annotated[
    str | None, typer.Option(metavar="FILE", help="Where events go that come later than that, as JSONL.")
]
Cap = Annotated[int, typer.Option(min=1, metavar="N", help="The most partial matches that are kept in a partition.")]
Threads = Annotated[
    int | None, typer.Option(min=1, max=1024, metavar="N", help="Threads that match.", show_default="all cores")
]
SparkThreads = Annotated[
    int | None, typer.Option(min=1, max=1024, metavar="N", help="Threads of Spark.", show_default="all cores")
]
ReadSubscriptionsAs = Annotated[
    SubscriptionsFormat | None, typer.Option("--subscriptions-format", help="Instead of what the name's ending says.")
]
ReadEventsAs = Annotated[
    EventsFormat | None, typer.Option("--events-format", help="Instead of what the name's ending says.")
]
WriteAs = Annotated[OutputFormat | None, typer.Option(help="Instead of what the name's ending says.")]
IndexName = Annotated[
    str | None,
    typer.Option(
        "--index",
        parser=plugin(plugins.INDEXES),
        autocompletion=plugins_like(plugins.INDEXES),
        metavar=listed(plugins.INDEXES),
        help="How subscriptions are indexed; the answer is the same.",
        show_default=plugins.DEFAULT_INDEX,
    ),
]
DialectName = Annotated[
    str | None,
    typer.Option(
        "--dialect",
        parser=plugin(plugins.DIALECTS),
        autocompletion=plugins_like(plugins.DIALECTS),
        metavar=listed(plugins.DIALECTS),
        help="What rules are written in that do not say it themselves.",
        show_default="Vedette's own language",
    ),
]
Pipelines = Annotated[
    list[str] | None,
    typer.Option(
        "--pipeline",
        metavar="NAME",
        help="A pipeline of pySigma: its name or its file; may be given several times.",
        show_default="that of Vedette",
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Rules of a folder that cannot be translated are errors, not left out.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say only what went wrong.")]


def written(dialect: str | None, pipelines: list[str] | None, strict: bool = False) -> Written:
    """How rules are written that do not say it themselves."""
    from vedette.io.subscription_rows import Written

    if pipelines:
        from vedette.dialects.registry import collecting, collects

        if dialect is None or not collects(dialect):
            which = collecting()
            raise typer.BadParameter(
                f"only rules of {' and '.join(which)} have pipelines: --dialect {' or '.join(which)}",
                param_hint="--pipeline",
            )
    return Written(dialect, tuple(pipelines or ()), strict)


def check_late(late: str | None, lateness: str | None) -> None:
    """Nothing can be late where nothing is said of lateness."""
    if late is not None and lateness is None:
        raise typer.BadParameter(
            "without --lateness no event comes too late: say how late they may come, e.g. --lateness '5 min'",
            param_hint="--late",
        )
