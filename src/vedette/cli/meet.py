"""`vedette meet`: which offers (publications that are constraints) meet which subscriptions."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import typer

from vedette.cli.choices import EngineChoice
from vedette.cli.file_paths import STANDARD, refuse_clashes, refuse_unwritable
from vedette.cli.input_warnings import note_schema
from vedette.cli.match_job import SHOWN
from vedette.cli.terminal import Terminal, counted
from vedette.errors import FilterError
from vedette.io.meeting_files import ConstraintFile, settle, write_meetings
from vedette.io.output import output_format
from vedette.io.schemas import read_schema
from vedette.io.subscription_rows import PUBLICATION, SUBSCRIPTION, RecordRole
from vedette.io.subscriptions import read_subscriptions
from vedette.meeting.direction import Direction, RankSide
from vedette.schema.schema import Schema

if TYPE_CHECKING:
    from vedette.meeting.ranking import Ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetOptions:
    """The options of the command line."""

    publications: str
    subscriptions: str
    out: str
    engine: EngineChoice = EngineChoice.LOCAL
    direction: Direction = "publication"
    top: int | None = None
    by: str | None = None
    per: RankSide | None = None
    schema: str | None = None
    publications_format: str | None = None
    subscriptions_format: str | None = None
    output_format: str | None = None
    threads: int | None = None
    strict: bool = False
    quiet: bool = False


def meet(options: MeetOptions) -> None:
    """Write one line per pair; invalid constraints are left out with their reasons, or, if strict, stop the work."""
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
        schema = settle((publications, subscriptions), known, strict=options.strict)
    if known is None:
        note_schema(schema, f"{publications.file.name} and {subscriptions.file.name}", terminal)
    for side in (publications, subscriptions):
        _note_expired(side, terminal)
        _report_aside(side, terminal)
    ranking = _ranking(options, schema)
    if options.engine is EngineChoice.SPARK:
        found = _on_spark(publications, subscriptions, schema, options, terminal)
    else:
        found = _here(publications, subscriptions, ranking, options, terminal)
    write_meetings(found, options.out, format)
    terminal.note(_summary(publications, subscriptions, found, time.perf_counter() - begin))


def _fetched(place: str, format: str | None, role: RecordRole, terminal: Terminal) -> ConstraintFile:
    side = ConstraintFile(read_subscriptions(place, format=format, role=role))
    with terminal.working(f"reading {role.name}s", f"{role.name}s") as bar:
        side.fetch(bar.show)
    return side


def _ranking(options: MeetOptions, schema: Schema) -> Ranking | None:
    """The ranking, if there is to be one; FilterError if it is invalid, before the work begins."""
    from vedette.meeting.meet import ranking_of

    try:
        return ranking_of(options.top, options.by, options.per or "publication", schema)
    except FilterError as error:
        raise error.of("--by") from None


def _here(
    publications: ConstraintFile,
    subscriptions: ConstraintFile,
    ranking: Ranking | None,
    options: MeetOptions,
    terminal: Terminal,
) -> Any:
    from vedette.meeting.meet import MeetingTables, table_of

    with terminal.working("meeting (the first time, its loops are compiled)"):
        pairs = MeetingTables.of(publications.constraints, subscriptions.constraints).pairs(options.direction)
        return table_of(pairs, publications.ids, subscriptions.ids, ranking, options.top)


def _on_spark(
    publications: ConstraintFile,
    subscriptions: ConstraintFile,
    schema: Schema,
    options: MeetOptions,
    terminal: Terminal,
) -> Any:
    from vedette.spark.meeting.meet import meet as meet_dataframes
    from vedette.spark.spark_session import session
    from vedette.spark.versions import from_arrow, to_arrow

    with terminal.working("starting Spark"):
        spark = session(master=None if options.threads is None else f"local[{options.threads}]")
    per = options.per or "publication"
    with terminal.working("meeting"):
        offered, wanted = (from_arrow(spark, _numbered(side)) for side in (publications, subscriptions))
        met = meet_dataframes(
            offered,
            wanted,
            schema=schema,
            direction=options.direction,
            top=options.top,
            by=options.by,
            per=per,
            rejects="raise",
            strict=True,
        )
        found = to_arrow(met)  # bad ones have been set aside by now
        return _named(found, publications, subscriptions, per)


def _numbered(side: ConstraintFile) -> Any:
    """Texts by their numbers, in a form that sorts in the order of the file: rows with equal scores then do, too."""
    whens = [record.when for record in side.records]
    numbers = [f"{number:012}" for number in range(len(whens))]
    return pa.table({"id": pa.array(numbers, pa.string()), "when": pa.array(whens, pa.string())})


def _named(found: Any, publications: ConstraintFile, subscriptions: ConstraintFile, per: RankSide) -> Any:
    """The rows of a DataFrame, which come in any order, sorted by the files or with the best first, and with ids."""
    by = ["publication", "subscription"] if "rank" not in found.column_names else [per, "rank"]
    found = found.sort_by([(name, "ascending") for name in by])
    for place, side in enumerate((publications, subscriptions)):
        name = side.file.role.name
        ids = pa.array(side.ids, pa.string()).take(found[name].combine_chunks().cast(pa.int64()))
        found = found.set_column(place, name, ids)
    return found


def _note_expired(side: ConstraintFile, terminal: Terminal) -> None:
    expired, what = side.file.expired, side.file.role.name
    if expired:
        have = counted(expired, f"{what} has", f"{what}s have")
        terminal.note(f"{have} expired and {'is' if expired == 1 else 'are'} left out")


def _report_aside(side: ConstraintFile, terminal: Terminal) -> None:
    """Warn of constraints that were left out, with the reasons of the first ones."""
    count, name = len(side.problems), side.file.role.name
    if not count:
        return
    total = counted(count + len(side.records), name)
    are = "is" if count == 1 else "are"
    refuses = "it" if count == 1 else "them"
    terminal.warn(f"{count:,} of {total} {are} bad and set aside (--strict refuses {refuses})", lost=True)
    for complaint in side.complaints(SHOWN):
        terminal.console.print("\n".join(f"  {line}" for line in complaint.splitlines()), markup=False)
    if count > SHOWN:
        terminal.console.print(f"  … and {count - SHOWN:,} more")


def _summary(publications: ConstraintFile, subscriptions: ConstraintFile, found: Any, seconds: float) -> str:
    sizes = (counted(len(side.records), side.file.role.name) for side in (publications, subscriptions))
    return f"{' and '.join(sizes)}: {counted(found.num_rows, 'pair')}; {seconds:.1f} s"
