"""Commands that look at subscriptions alone: check, translate, cover, meet."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.cli.choices import CoverMethod, EngineChoice, MeetingDirection, MeetingSide, SubscriptionsFormat
from vedette.cli.commands.options import (
    DialectName,
    OperatorsPlace,
    OutputPlace,
    Pipelines,
    Quiet,
    ReadSubscriptionsAs,
    SchemaPlace,
    SparkThreads,
    Strict,
    SubscriptionsPlace,
    WriteAs,
    written,
)


def check_command(
    subscriptions: SubscriptionsPlace,
    schema: SchemaPlace = None,
    operators: OperatorsPlace = None,
    json: Annotated[bool, typer.Option("--json", help="Write everything found as one JSON object.")] = False,
    subscriptions_format: ReadSubscriptionsAs = None,
    dialect: DialectName = None,
    pipeline: Pipelines = None,
    quiet: Quiet = False,
) -> None:
    """Find what is wrong with subscriptions, all of it at once, without any event.

    Errors (exit status 1): what cannot be read, unknown attributes and wrong types (with --schema), unknown operators
    and invalid calls, ids given twice, rules of other dialects that are wrong or cannot be translated, each
    with the reason. Warnings: filters that can never or always match, parts that cannot
    matter.
    """
    from vedette.cli.check import check

    check(
        subscriptions,
        schema=schema,
        operators=operators,
        format=subscriptions_format,
        written=written(dialect, pipeline),
        as_json=json,
        quiet=quiet,
    )


def translate_command(
    subscriptions: SubscriptionsPlace,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="JSONL file; `-`: standard output.")
    ] = "-",
    dialect: DialectName = None,
    pipeline: Pipelines = None,
    strict: Strict = False,
    text: Annotated[bool, typer.Option("--text", help="Write it for people, not as JSONL.")] = False,
    subscriptions_format: ReadSubscriptionsAs = None,
    quiet: Quiet = False,
) -> None:
    """Translate rules of other dialects into Vedette's own language.

    Writes one line per rule, `{"id": "r1", "when": "…", "origin": {"title": "…"}}`, which every command reads as it
    reads the rules, with the same answers.
    """
    from vedette.cli.translate import translate

    translate(
        subscriptions,
        out=output,
        format=subscriptions_format,
        written=written(dialect, pipeline, strict),
        text=text,
        quiet=quiet,
    )


def cover_command(
    subscriptions: SubscriptionsPlace,
    output: OutputPlace,
    engine: Annotated[EngineChoice, typer.Option(help="Where it runs.")] = EngineChoice.LOCAL,
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
    threads: SparkThreads = None,
    subscriptions_format: ReadSubscriptionsAs = None,
    dialect: DialectName = None,
    pipeline: Pipelines = None,
    strict: Strict = False,
    output_format: WriteAs = None,
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
            written=written(dialect, pipeline, strict),
            output_format=output_format,
            quiet=quiet,
        )
    )


def meet_command(
    publications: Annotated[
        str, typer.Argument(help="JSONL, YAML or Parquet file of publications; `-`: standard input.")
    ],
    subscriptions: Annotated[
        str, typer.Argument(help="JSONL, YAML or Parquet file of subscriptions; `-`: standard input.")
    ],
    output: OutputPlace,
    engine: Annotated[EngineChoice, typer.Option(help="Where it runs.")] = EngineChoice.LOCAL,
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
    threads: SparkThreads = None,
    publications_format: Annotated[
        SubscriptionsFormat | None,
        typer.Option("--publications-format", help="Instead of what the name's ending says."),
    ] = None,
    subscriptions_format: ReadSubscriptionsAs = None,
    output_format: WriteAs = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Constraints that are bad are errors, not set aside.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Find out which offers (publications that are constraints) meet which wants (subscriptions to offers).

    Writes one line per pair, `{"publication": "p1", "subscription": "s1"}`, ordered by publication, then by
    subscription, as they stand in their files; with --top or --by also `rank` and `score`, the best first. Constraints
    that are invalid are set aside, with their reasons on standard error.
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
            strict=strict,
            quiet=quiet,
        )
    )
