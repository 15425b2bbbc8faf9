"""The command line: every command with its arguments; what they do is in the module of the same name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vedette.cli.choices import (
    Covering,
    CoverMethod,
    Engine,
    EventsFormat,
    Index,
    MeetingDirection,
    MeetingSide,
    OutputFormat,
    Planner,
    SubscriptionsFormat,
)
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

SubscriptionsPlace = Annotated[
    str,
    typer.Argument(help="JSONL, YAML or Parquet file of subscriptions; `-`: standard input."),
]
EventsPlace = Annotated[
    str, typer.Argument(metavar="EVENTS", help="JSONL, CSV or Parquet file (or folder); `-`: standard input.")
]
SchemaPlace = Annotated[
    str | None, typer.Option("--schema", metavar="FILE", help="JSON or YAML file of attributes and types.")
]
ReadSubscriptionsAs = Annotated[
    SubscriptionsFormat | None, typer.Option("--subscriptions-format", help="Instead of what the name's ending says.")
]
ReadEventsAs = Annotated[
    EventsFormat | None, typer.Option("--events-format", help="Instead of what the name's ending says.")
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
    Planner | None,
    typer.Option("--planner", help="In which order operators run; the answer is the same.", show_default="adaptive"),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say only what went wrong.")]


def _experiments(incomplete: str) -> list[str]:
    from vedette.cli.experiment import names

    return [name for name in names() if name.startswith(incomplete)]


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


@app.command("match")
def match_command(
    subscriptions: SubscriptionsPlace,
    events: EventsPlace,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="JSONL or Parquet file; `-`: standard output.")
    ],
    engine: Annotated[Engine, typer.Option(help="Where matching runs.")] = Engine.LOCAL,
    schema: SchemaPlace = None,
    index: Annotated[Index, typer.Option(help="How subscriptions are indexed.")] = Index.CLUSTERS,
    covering: Annotated[
        Covering | None,
        typer.Option(
            help="Ask about subscriptions that others cover only where those matched; the answer is the same.",
            show_default="ask about all",
        ),
    ] = None,
    operators: OperatorsPlace = None,
    planner: PlannerName = None,
    model: Annotated[
        str | None, typer.Option(metavar="FILE", help="What `vedette train` made: forecasts, operators.")
    ] = None,
    lateness: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="How late events may come for patterns, e.g. 5 min.",
            show_default="sort the whole file",
        ),
    ] = None,
    late: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where events go that come later than that, as JSONL.")
    ] = None,
    cap: Annotated[
        int, typer.Option(min=1, metavar="N", help="The most partial matches that are kept in a partition.")
    ] = 10_000,
    rejects: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where events that cannot be read go, as JSONL with the reason.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, max=1024, metavar="N", help="Threads that match.", show_default="all cores")
    ] = None,
    subscriptions_format: ReadSubscriptionsAs = None,
    events_format: ReadEventsAs = None,
    output_format: Annotated[OutputFormat | None, typer.Option(help="Instead of what the name's ending says.")] = None,
    quiet: Quiet = False,
) -> None:
    """Find out who should hear of which events.

    Writes one line per match, `{"event": "e1", "subscription": "s1", "kind": "match"}`, ordered by event, then by
    subscription; of a pattern with the events of its steps, of a filter with variables with their values. Events that
    cannot be read, or break the schema, are counted, reported and left out; where an operator fails, what it would have
    said is unknown.
    """
    from vedette.cli.match import MatchOptions, match

    if late is not None and lateness is None:
        raise typer.BadParameter(
            "without --lateness no event comes too late: say how late they may come, e.g. --lateness '5 min'",
            param_hint="--late",
        )
    match(
        MatchOptions(
            subscriptions=subscriptions,
            events=events,
            out=output,
            engine=engine,
            schema=schema,
            index=index,
            covering=covering,
            operators=operators,
            planner=planner,
            model=model,
            rejects=rejects,
            lateness=lateness,
            late=late,
            cap=cap,
            threads=threads,
            subscriptions_format=subscriptions_format,
            events_format=events_format,
            output_format=output_format,
            quiet=quiet,
        )
    )


@app.command("explain")
def explain_command(
    subscriptions: SubscriptionsPlace,
    events: EventsPlace,
    subscription: Annotated[str, typer.Option("--subscription", "-s", metavar="ID", help="Which subscription.")],
    event: Annotated[
        str | None, typer.Option("--event", "-e", metavar="ID", help="Which event; its number from 0 if it has no id.")
    ] = None,
    schema: SchemaPlace = None,
    model: Annotated[
        str | None, typer.Option(metavar="FILE", help="What `vedette train` made: why a pattern was forecast.")
    ] = None,
    operators: OperatorsPlace = None,
    planner: PlannerName = None,
    picture: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw the machine of a pattern: FILE.svg, or FILE.mmd for Mermaid."),
    ] = None,
    subscriptions_format: ReadSubscriptionsAs = None,
    events_format: ReadEventsAs = None,
    quiet: Quiet = False,
) -> None:
    """Say why an event matched a subscription, or why not: every part, the value seen, the nearest miss.

    Without --event: which parts of a filter fail most often, over all events, or how far a pattern came. Of a pattern
    and an event: which steps that satisfies, where the pattern stands, its forecast. Patterns see all events in the
    order of their time, as `match` shows them without --lateness.
    """
    from vedette.cli.explain import ExplainOptions, explain

    explain(
        ExplainOptions(
            subscriptions=subscriptions,
            events=events,
            subscription=subscription,
            event=event,
            schema=schema,
            model=model,
            operators=operators,
            planner=planner,
            picture=picture,
            subscriptions_format=subscriptions_format,
            events_format=events_format,
            quiet=quiet,
        )
    )


@app.command("train")
def train_command(
    subscriptions: SubscriptionsPlace,
    history: Annotated[
        str, typer.Argument(metavar="HISTORY", help="Events that happened: JSONL, CSV or Parquet; `-`: standard input.")
    ],
    output: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="Where the model goes: one file.")],
    context: Annotated[
        int, typer.Option(min=0, max=6, metavar="N", help="How many of the last events refine a forecast.")
    ] = 6,
    engine: Annotated[Engine, typer.Option(help="Where learning runs.")] = Engine.LOCAL,
    schema: SchemaPlace = None,
    operators: OperatorsPlace = None,
    rejects: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where events that cannot be read go, as JSONL with the reason.")
    ] = None,
    cap: Annotated[
        int, typer.Option(min=1, metavar="N", help="The most partial matches that are kept in a partition.")
    ] = 10_000,
    subscriptions_format: ReadSubscriptionsAs = None,
    events_format: ReadEventsAs = None,
    quiet: Quiet = False,
) -> None:
    """Learn from history how probably patterns complete, and what operators cost and how often they hold.

    Of all subscriptions those count that ask for forecasts, patterns with `predict`, and those that call operators.
    `match --model` and `explain --model` take what was learnt.
    """
    from vedette.cli.train import TrainOptions, train

    train(
        TrainOptions(
            subscriptions=subscriptions,
            history=history,
            out=output,
            context=context,
            engine=engine,
            schema=schema,
            operators=operators,
            rejects=rejects,
            cap=cap,
            subscriptions_format=subscriptions_format,
            events_format=events_format,
            quiet=quiet,
        )
    )


@app.command("backtest")
def backtest_command(
    subscriptions: SubscriptionsPlace,
    history: Annotated[
        str, typer.Argument(metavar="HISTORY", help="Events that happened: JSONL, CSV or Parquet; `-`: standard input.")
    ],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="OUT", help="Counts by subscription and day, as JSONL or Parquet."),
    ] = None,
    engine: Annotated[Engine, typer.Option(help="Where matching runs.")] = Engine.LOCAL,
    samples: Annotated[
        int, typer.Option(min=0, max=1000, metavar="K", help="How many examples are kept of each subscription.")
    ] = 5,
    samples_out: Annotated[
        str | None, typer.Option("--samples-out", metavar="FILE", help="Where examples go, as JSONL.")
    ] = None,
    plot: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw what would have been reported, as SVG.")
    ] = None,
    train_until: Annotated[
        str | None,
        typer.Option(
            "--train-until",
            metavar="TIME",
            help="Forecasts learn from events before it, and only later ones are forecast, e.g. 2024-05-01.",
            show_default="learn as events come",
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show all subscriptions.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show examples, of however many it is.")] = False,
    schema: SchemaPlace = None,
    operators: OperatorsPlace = None,
    planner: PlannerName = None,
    model: Annotated[
        str | None, typer.Option(metavar="FILE", help="What `vedette train` made: forecasts, operators.")
    ] = None,
    lateness: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="How late events may come for patterns, e.g. 5 min.",
            show_default="sort the whole file",
        ),
    ] = None,
    late: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where events go that come later than that, as JSONL.")
    ] = None,
    cap: Annotated[
        int, typer.Option(min=1, metavar="N", help="The most partial matches that are kept in a partition.")
    ] = 10_000,
    rejects: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where events that cannot be read go, as JSONL with the reason.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, max=1024, metavar="N", help="Threads that match.", show_default="all cores")
    ] = None,
    subscriptions_format: ReadSubscriptionsAs = None,
    events_format: ReadEventsAs = None,
    output_format: Annotated[OutputFormat | None, typer.Option(help="Instead of what the name's ending says.")] = None,
    quiet: Quiet = False,
) -> None:
    """Find out what subscriptions would have reported, before living with them.

    Tells how much and when: matches, days, the busiest of them, examples, how good forecasts were; and who would never
    have reported anything, or nearly everything. It counts what `match` finds, by the day (UTC) of the event's time.
    """
    from vedette.cli.backtest import BacktestOptions, backtest
    from vedette.cli.match import MatchOptions

    if late is not None and lateness is None:
        raise typer.BadParameter(
            "without --lateness no event comes too late: say how late they may come, e.g. --lateness '5 min'",
            param_hint="--late",
        )
    matching = MatchOptions(
        subscriptions=subscriptions,
        events=history,
        out="",
        engine=engine,
        schema=schema,
        operators=operators,
        planner=planner,
        model=model,
        rejects=rejects,
        lateness=lateness,
        late=late,
        cap=cap,
        threads=threads,
        subscriptions_format=subscriptions_format,
        events_format=events_format,
        output_format=output_format,
        quiet=quiet,
    )
    backtest(
        BacktestOptions(
            matching=matching,
            out=output,
            samples=samples,
            samples_out=samples_out,
            plot=plot,
            train_until=train_until,
            everything=everything,
            verbose=verbose,
        )
    )


@app.command("check")
def check_command(
    subscriptions: SubscriptionsPlace,
    schema: SchemaPlace = None,
    operators: OperatorsPlace = None,
    json: Annotated[bool, typer.Option("--json", help="Write everything found as one JSON object.")] = False,
    subscriptions_format: ReadSubscriptionsAs = None,
    quiet: Quiet = False,
) -> None:
    """Find what is wrong with subscriptions, all of it at once, without any event.

    Errors (exit status 1): what cannot be read, unknown attributes and wrong types (with --schema), unknown operators
    and calls that make no sense, ids given twice. Warnings: filters that can never or always match, parts that cannot
    matter.
    """
    from vedette.cli.check import check

    check(
        subscriptions,
        schema=schema,
        operators=operators,
        format=subscriptions_format,
        as_json=json,
        quiet=quiet,
    )


@app.command("cover")
def cover_command(
    subscriptions: SubscriptionsPlace,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="JSONL or Parquet file; `-`: standard output.")
    ],
    engine: Annotated[Engine, typer.Option(help="Where it runs.")] = Engine.LOCAL,
    method: Annotated[
        CoverMethod, typer.Option(help="What others may do: one alone, points drawn at random, all together.")
    ] = CoverMethod.AUTO,
    error: Annotated[
        float, typer.Option(min=0, max=1, metavar="P", help="How often sampling may be wrong when it says covered.")
    ] = 1e-6,
    budget: Annotated[int, typer.Option(min=1, metavar="N", help="Steps of an exact search before it gives up.")] = (
        20_000
    ),
    schema: SchemaPlace = None,
    witness: Annotated[
        bool, typer.Option("--witness", help="Add an event that shows why a subscription is not covered.")
    ] = False,
    picture: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw one subscription of two attributes as SVG.")
    ] = None,
    subscription: Annotated[
        str | None, typer.Option("--subscription", "-s", metavar="ID", help="Which one to draw.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, max=1024, metavar="N", help="Threads of Spark.", show_default="all cores")
    ] = None,
    subscriptions_format: ReadSubscriptionsAs = None,
    output_format: Annotated[OutputFormat | None, typer.Option(help="Instead of what the name's ending says.")] = None,
    quiet: Quiet = False,
) -> None:
    """Find subscriptions that others make redundant, in the order in which they come.

    Writes one line per subscription, `{"subscription": "s3", "covered": true, "by": ["s1", "s2"], "method": "exact",
    "certain": true}`. Only sampling can be wrong when it says covered, and has to be asked for.
    """
    from vedette.cli.cover import CoverOptions, cover

    if not 0 < error < 1:
        raise typer.BadParameter("between 0 and 1, and neither of them", param_hint="--error")
    cover(
        CoverOptions(
            subscriptions=subscriptions,
            out=output,
            engine=engine,
            threads=threads,
            method=method.value,
            error=error,
            budget=budget,
            schema=schema,
            witness=witness,
            picture=picture,
            subscription=subscription,
            subscriptions_format=subscriptions_format,
            output_format=output_format,
            quiet=quiet,
        )
    )


@app.command("meet")
def meet_command(
    publications: Annotated[
        str, typer.Argument(help="JSONL, YAML or Parquet file of publications; `-`: standard input.")
    ],
    subscriptions: SubscriptionsPlace,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="JSONL or Parquet file; `-`: standard output.")
    ],
    engine: Annotated[Engine, typer.Option(help="Where it runs.")] = Engine.LOCAL,
    direction: Annotated[
        MeetingDirection,
        typer.Option(help="Whose attributes the other side has to speak of, too; open: only shared ones count."),
    ] = MeetingDirection.PUBLICATION,
    top: Annotated[
        int | None, typer.Option(min=1, metavar="K", help="Keep the best K only.", show_default="keep all")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="What is best: overlap, an attribute (price: the lowest, -price: the highest), or arithmetic.",
            show_default="overlap, with --top",
        ),
    ] = None,
    per: Annotated[
        MeetingSide | None, typer.Option(help="For whom the best are kept.", show_default="publication")
    ] = None,
    schema: SchemaPlace = None,
    threads: Annotated[
        int | None, typer.Option(min=1, max=1024, metavar="N", help="Threads of Spark.", show_default="all cores")
    ] = None,
    publications_format: Annotated[
        SubscriptionsFormat | None,
        typer.Option("--publications-format", help="Instead of what the name's ending says."),
    ] = None,
    subscriptions_format: ReadSubscriptionsAs = None,
    output_format: Annotated[OutputFormat | None, typer.Option(help="Instead of what the name's ending says.")] = None,
    quiet: Quiet = False,
) -> None:
    """Find out which offers meet which wants: publications that are constraints, as subscriptions are.

    Writes one line per pair, `{"publication": "p1", "subscription": "s1"}`, ordered by publication, then by
    subscription, as they stand in their files; with --top or --by also `rank` and `score`, the best first.
    """
    from vedette.cli.meet import MeetOptions, meet

    meet(
        MeetOptions(
            publications=publications,
            subscriptions=subscriptions,
            out=output,
            engine=engine,
            direction=direction.value,
            top=top,
            by=by,
            per=None if per is None else per.value,
            schema=schema,
            threads=threads,
            publications_format=publications_format,
            subscriptions_format=subscriptions_format,
            output_format=output_format,
            quiet=quiet,
        )
    )


@app.command("run")
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


@app.command("checkpoint")
def checkpoint_command(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="What a pipeline file calls `checkpoint`.")],
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show what the checkpoint of a pipeline holds: how far it came, its subscriptions, where patterns stand."""
    from vedette.cli.checkpoint import checkpoint

    checkpoint(folder, json=json)


@app.command("demo")
def demo_command(
    folder: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where its files go.")] = Path(
        "demo-output"
    ),
    subscriptions: Annotated[
        int, typer.Option(min=100, max=1_000_000, metavar="N", help="How many subscriptions.")
    ] = 20_000,
) -> None:
    """Match a year of New York's flights against the wishes of some 20,000 made-up subscribers."""
    from vedette.cli.demo.demo import demo

    demo(folder, subscriptions)


@app.command(
    "bench",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)
def bench_command(context: typer.Context) -> None:
    """Run the benchmarks of a checkout; arguments are handed on (`vedette bench --quick`)."""
    from vedette.cli.bench import bench

    raise typer.Exit(bench(context.args))


@app.command("experiment")
def experiment_command(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Which one; without it, they are listed.", autocompletion=_experiments),
    ] = None,
    folder: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where data and plots go.")] = Path(
        "experiment-output"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, to see that it works.")] = False,
) -> None:
    """Run an experiment of a checkout: the figures of a paper, measured anew."""
    from vedette.cli.experiment import experiment

    raise typer.Exit(experiment(name, folder, quick=quick))


def run() -> None:
    """What the command `vedette` calls."""
    prepare_process()
    app()
