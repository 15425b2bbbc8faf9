"""`vedette meet`: which publications that are constraints themselves meet which subscriptions."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import typer

from vedette.cli.choices import Engine
from vedette.cli.places import STANDARD, refuse_clashes, refuse_unwritable
from vedette.cli.terminal import Terminal, counted
from vedette.errors import FilterError
from vedette.files.constraints import Side, settle
from vedette.files.meetings import write_meetings
from vedette.files.output import output_format
from vedette.files.schemas import read_schema
from vedette.files.subscriptions import PUBLICATION, SUBSCRIPTION, Role, read_subscriptions
from vedette.meeting.direction import Direction, Per
from vedette.schema.schema import Schema

if TYPE_CHECKING:
    from vedette.meeting.ranking import Ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetOptions:
    """What was asked for on the command line."""

    publications: str
    subscriptions: str
    out: str
    engine: Engine = Engine.LOCAL
    direction: Direction = "publication"
    top: int | None = None
    by: str | None = None
    per: Per | None = None
    schema: str | None = None
    publications_format: str | None = None
    subscriptions_format: str | None = None
    output_format: str | None = None
    threads: int | None = None
    quiet: bool = False


def meet(options: MeetOptions) -> None:
    """Write one line a pair, or, if any constraint is bad, say what is wrong with each of them."""
    refuse_clashes(
        {
            "PUBLICATIONS": options.publications,
            "SUBSCRIPTIONS": options.subscriptions,
            "--schema": options.schema,
        },
        {"--output": options.out},
    )
    if options.per is not None and options.top is None and options.by is None:
        raise typer.BadParameter("it says for whom the best are kept: give --top or --by, too", param_hint="--per")
    format = output_format(options.out, options.output_format)
    if options.out != STANDARD:
        refuse_unwritable(options.out)
    terminal = Terminal(quiet=options.quiet)
    begin = time.perf_counter()
    known = None if options.schema is None else read_schema(options.schema)
    publications = _fetched(options.publications, options.publications_format, PUBLICATION, terminal)
    subscriptions = _fetched(options.subscriptions, options.subscriptions_format, SUBSCRIPTION, terminal)
    with terminal.working("reading constraints"):
        schema = settle((publications, subscriptions), known)
    if known is None:
        _note_schema(schema, publications, subscriptions, terminal)
    for side in (publications, subscriptions):
        _note_expired(side, terminal)
    ranking = _ranking(options, schema)
    if options.engine is Engine.SPARK:
        found = _on_spark(publications, subscriptions, schema, options, terminal)
    else:
        found = _here(publications, subscriptions, ranking, options, terminal)
    write_meetings(found, options.out, format)
    terminal.note(_summary(publications, subscriptions, found, time.perf_counter() - begin))


def _fetched(place: str, format: str | None, role: Role, terminal: Terminal) -> Side:
    side = Side(read_subscriptions(place, format=format, role=role))
    with terminal.working(f"reading {role.name}s", f"{role.name}s") as bar:
        side.fetch(bar.show)
    return side


def _ranking(options: MeetOptions, schema: Schema) -> Ranking | None:
    """What the best are, if they are asked for; FilterError if that makes no sense, before the work begins."""
    from vedette.meeting.meet import ranking_of

    try:
        return ranking_of(options.top, options.by, options.per or "publication", schema)
    except FilterError as error:
        raise error.of("--by") from None


def _here(
    publications: Side, subscriptions: Side, ranking: Ranking | None, options: MeetOptions, terminal: Terminal
) -> Any:
    from vedette.meeting.meet import Sides, table_of

    with terminal.working("meeting (the first time, its loops are compiled)"):
        pairs = Sides.of(publications.constraints, subscriptions.constraints).pairs(options.direction)
        return table_of(pairs, publications.ids, subscriptions.ids, ranking, options.top)


def _on_spark(publications: Side, subscriptions: Side, schema: Schema, options: MeetOptions, terminal: Terminal) -> Any:
    from vedette.spark.meeting.meet import meet as meet_dataframes
    from vedette.spark.session import session

    with terminal.working("starting Spark"):
        spark = session(master=None if options.threads is None else f"local[{options.threads}]")
    per = options.per or "publication"
    with terminal.working("meeting"):
        offered, wanted = (spark.createDataFrame(_numbered(side)) for side in (publications, subscriptions))
        found = meet_dataframes(
            offered, wanted, schema=schema, direction=options.direction, top=options.top, by=options.by, per=per
        ).toArrow()
        return _named(found, publications, subscriptions, per)


def _numbered(side: Side) -> Any:
    """Texts by their numbers, which as texts are in the order of the file: so are rows with equal scores then."""
    whens = [record.when for record in side.records]
    numbers = [f"{number:012}" for number in range(len(whens))]
    return pa.table({"id": pa.array(numbers, pa.string()), "when": pa.array(whens, pa.string())})


def _named(found: Any, publications: Side, subscriptions: Side, per: Per) -> Any:
    """The rows of a DataFrame, which come in any order, in the order of the files or the best first, with their ids."""
    by = ["publication", "subscription"] if "rank" not in found.column_names else [per, "rank"]
    found = found.sort_by([(name, "ascending") for name in by])
    for place, side in enumerate((publications, subscriptions)):
        name = side.file.role.name
        ids = pa.array(side.ids, pa.string()).take(found[name].combine_chunks().cast(pa.int64()))
        found = found.set_column(place, name, ids)
    return found


def _note_schema(schema: Schema, publications: Side, subscriptions: Side, terminal: Terminal) -> None:
    names = f"{publications.file.name} and {subscriptions.file.name}"
    terminal.note(f"Schema, inferred from {names} (write it to a file and hand it in with --schema):")
    terminal.note("\n".join(f"  {line}" for line in str(schema).splitlines()) or "  (no attributes)")


def _note_expired(side: Side, terminal: Terminal) -> None:
    expired, what = side.file.expired, side.file.role.name
    if expired:
        have = counted(expired, f"{what} has", f"{what}s have")
        terminal.note(f"{have} expired and {'is' if expired == 1 else 'are'} left out")


def _summary(publications: Side, subscriptions: Side, found: Any, seconds: float) -> str:
    sizes = (counted(len(side.records), side.file.role.name) for side in (publications, subscriptions))
    return f"{' and '.join(sizes)}: {counted(found.num_rows, 'pair')}; {seconds:.1f} s"
