"""Commands that read events: match, explain, train, backtest."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.cli.choices import CoveringChoice, EngineChoice
from vedette.cli.commands.options import (
    Cap,
    DialectName,
    EventsPlace,
    HistoryPlace,
    IndexName,
    Lateness,
    LatePlace,
    ModelPlace,
    OperatorsPlace,
    OutputPlace,
    Pipelines,
    PlannerName,
    Quiet,
    ReadEventsAs,
    ReadSubscriptionsAs,
    RejectsPlace,
    SchemaPlace,
    Strict,
    SubscriptionsPlace,
    Threads,
    WriteAs,
    check_late,
    written,
)


def match_command(
    subscriptions: SubscriptionsPlace,
    events: EventsPlace,
    output: OutputPlace,
    engine: Annotated[EngineChoice, typer.Option(help="Where matching runs.")] = EngineChoice.LOCAL,
    schema: SchemaPlace = None,
    index: IndexName = None,
    covering: Annotated[
        CoveringChoice | None,
        typer.Option(
            help="Ask about subscriptions that others cover only where those matched; the answer is the same.",
            show_default="ask about all",
        ),
    ] = None,
    operators: OperatorsPlace = None,
    planner: PlannerName = None,
    model: ModelPlace = None,
    lateness: Lateness = None,
    late: LatePlace = None,
    cap: Cap = 10_000,
    rejects: RejectsPlace = None,
    threads: Threads = None,
    subscriptions_format: ReadSubscriptionsAs = None,
    dialect: DialectName = None,
    pipeline: Pipelines = None,
    strict: Strict = False,
    events_format: ReadEventsAs = None,
    output_format: WriteAs = None,
    quiet: Quiet = False,
) -> None:
    """Match events with subscriptions: who should be notified of which events.

    Writes one line per match, `{"event": "e1", "subscription": "s1", "kind": "match"}`, ordered by event, then by
    subscription; of a pattern with the events of its steps, of a filter with variables with their values. Events that
    cannot be read, or break the schema, are counted, reported and left out; where an operator fails, its result
    is unknown.
    """
    from vedette.cli.match import MatchOptions, match

    check_late(late, lateness)
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
            written=written(dialect, pipeline, strict),
            events_format=events_format,
            output_format=output_format,
            quiet=quiet,
        )
    )


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
    dialect: DialectName = None,
    pipeline: Pipelines = None,
    strict: Strict = False,
    events_format: ReadEventsAs = None,
    quiet: Quiet = False,
) -> None:
    """Say why an event matched a subscription, or why not: every part, the value seen, the nearest miss.

    Without --event: which parts of a filter fail most often, over all events, or how far a pattern came. Of a pattern
    and an event: which steps that satisfies, the state of the pattern, its forecast. Patterns see all events in the
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
            written=written(dialect, pipeline, strict),
            events_format=events_format,
            quiet=quiet,
        )
    )


def train_command(
    subscriptions: SubscriptionsPlace,
    history: HistoryPlace,
    output: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="Where the model goes: one file.")],
    context: Annotated[
        int, typer.Option(min=0, max=6, metavar="N", help="How many of the last events refine a forecast.")
    ] = 6,
    engine: Annotated[EngineChoice, typer.Option(help="Where learning runs.")] = EngineChoice.LOCAL,
    schema: SchemaPlace = None,
    operators: OperatorsPlace = None,
    rejects: RejectsPlace = None,
    cap: Cap = 10_000,
    subscriptions_format: ReadSubscriptionsAs = None,
    dialect: DialectName = None,
    pipeline: Pipelines = None,
    strict: Strict = False,
    events_format: ReadEventsAs = None,
    quiet: Quiet = False,
) -> None:
    """Learn from history how probably patterns complete, and what operators cost and how often they hold.

    Uses the subscriptions that ask for forecasts, patterns with `predict`, and those that call operators.
    `match --model` and `explain --model` use the model.
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
            written=written(dialect, pipeline, strict),
            events_format=events_format,
            quiet=quiet,
        )
    )


def backtest_command(
    subscriptions: SubscriptionsPlace,
    history: HistoryPlace,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="OUT", help="Counts by subscription and day, as JSONL or Parquet."),
    ] = None,
    engine: Annotated[EngineChoice, typer.Option(help="Where matching runs.")] = EngineChoice.LOCAL,
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
    model: ModelPlace = None,
    lateness: Lateness = None,
    late: LatePlace = None,
    cap: Cap = 10_000,
    rejects: RejectsPlace = None,
    threads: Threads = None,
    subscriptions_format: ReadSubscriptionsAs = None,
    dialect: DialectName = None,
    pipeline: Pipelines = None,
    strict: Strict = False,
    events_format: ReadEventsAs = None,
    output_format: WriteAs = None,
    quiet: Quiet = False,
) -> None:
    """Find out what subscriptions would have reported, before living with them.

    Tells how much and when: matches, days, the busiest of them, examples, how good forecasts were; and who would never
    have reported anything, or nearly everything. It counts what `match` finds, by the day (UTC) of the event's time.
    """
    from vedette.cli.backtest import BacktestOptions, backtest
    from vedette.cli.match import MatchOptions

    check_late(late, lateness)
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
        written=written(dialect, pipeline, strict),
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
