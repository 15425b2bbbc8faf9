"""`vedette cover`: which subscriptions others make redundant, in the order in which they stand in the file."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import typer

from vedette.cli.choices import EngineChoice
from vedette.cli.file_paths import refuse_clashes, refuse_unwritable
from vedette.cli.subscription_loading import report_left_out
from vedette.cli.terminal import Terminal, counted
from vedette.covering.cover_judge import BUDGET, Method
from vedette.covering.cover_pictures import picture
from vedette.covering.cover_set import CoverAnswer, CoveringSet
from vedette.errors import FilterError, InputError, NotSupported
from vedette.filters.subscription_set import schema_of
from vedette.io.cover_records import cover_input_of, record_of, table_of
from vedette.io.output import output_format, written
from vedette.io.schemas import read_schema
from vedette.io.subscription_problems import BadSubscriptions, SubscriptionProblem
from vedette.io.subscription_rows import PLAINLY, SubscriptionRecord, SubscriptionRows, Written
from vedette.io.subscriptions import read_subscriptions
from vedette.schema.schema import Schema

_STRIDE = 64  # records between two looks at the progress


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverOptions:
    """The options of the command line."""

    subscriptions: str
    out: str
    method: Method = "auto"
    error: float = 1e-6
    budget: int = BUDGET
    schema: str | None = None
    engine: EngineChoice = EngineChoice.LOCAL
    threads: int | None = None
    witness: bool = False
    picture: str | None = None
    subscription: str | None = None
    subscriptions_format: str | None = None
    written: Written = PLAINLY
    output_format: str | None = None
    quiet: bool = False


def cover(options: CoverOptions) -> None:
    """Write one answer per subscription, or, if any is invalid, the problems of all."""
    refuse_clashes(
        {"SUBSCRIPTIONS": options.subscriptions, "--schema": options.schema},
        {"--output": options.out, "--picture": options.picture},
    )
    if (options.picture is None) != (options.subscription is None):
        raise typer.BadParameter("--picture draws one subscription: say which with --subscription, and give both")
    if options.picture not in (None, "-") and Path(str(options.picture)).suffix.lower() not in ("", ".svg"):
        raise typer.BadParameter(
            f"{options.picture}: a picture is SVG; let its name end in .svg", param_hint="--picture"
        )
    format = output_format(options.out, options.output_format)
    for place in (options.out, options.picture):
        if place not in (None, "-"):
            refuse_unwritable(str(place))
    terminal = Terminal(quiet=options.quiet)
    begin = time.perf_counter()
    schema = schema_of(None if options.schema is None else read_schema(options.schema))
    file = read_subscriptions(options.subscriptions, format=options.subscriptions_format, written=options.written)
    found = CoveringSet(
        schema,
        method=options.method,
        error=options.error,
        budget=options.budget,
        witnesses=options.witness or options.picture is not None,
    )
    answers, drawn = _answers(file, found, schema, options, terminal)
    _write(answers, options, format)
    if options.picture is not None and drawn is not None:
        _write_text(options.picture, drawn)
    report_left_out(file, terminal)
    if file.expired:
        have = counted(file.expired, "subscription has", "subscriptions have")
        terminal.note(f"{have} expired and {'is' if file.expired == 1 else 'are'} left out")
    terminal.note(_summary(answers, time.perf_counter() - begin))


def _answers(
    file: SubscriptionRows, found: CoveringSet, schema: Schema, options: CoverOptions, terminal: Terminal
) -> tuple[list[CoverAnswer], str | None]:
    """All answers, and the picture if there is to be one; BadSubscriptions for invalid texts."""
    answers: list[CoverAnswer] = []
    problems: list[SubscriptionProblem] = []
    drawn: str | None = None
    with terminal.working("covering", "subscriptions") as bar:
        for number, (record, answer) in enumerate(_each(file, found, schema, options, terminal), 1):
            if isinstance(answer, CoverAnswer):
                answers.append(answer)
                if record.id == options.subscription:
                    drawn = picture(found, answer).to_svg()
            elif not file.leaves_out(record, answer):
                problems.append(SubscriptionProblem.of_error(record, answer))
            if number % _STRIDE == 0:
                bar.show(file.progress, number)
    problems += map(SubscriptionProblem.of_reject, file.rejects)
    if problems:
        raise BadSubscriptions(file.name, problems, "nothing was written")
    if options.subscription is not None and drawn is None:
        raise InputError(f"{file.name} has no subscription {options.subscription!r}\nHint: check the id")
    return answers, drawn


def _each(
    file: SubscriptionRows, found: CoveringSet, schema: Schema, options: CoverOptions, terminal: Terminal
) -> Iterator[tuple[SubscriptionRecord, CoverAnswer | FilterError | NotSupported]]:
    """Every record with its answer, or with its problem."""
    if options.engine is EngineChoice.SPARK:
        yield from _each_on_spark(file, found, schema, options, terminal)
        return
    for record in file:
        try:
            yield record, found.add(record.id, cover_input_of(record))
        except (FilterError, NotSupported) as error:
            yield record, error


def _each_on_spark(
    file: SubscriptionRows, found: CoveringSet, schema: Schema, options: CoverOptions, terminal: Terminal
) -> Iterator[tuple[SubscriptionRecord, CoverAnswer | FilterError | NotSupported]]:
    from vedette.covering.cover_judge import CoverSettings
    from vedette.spark.covering.cover import CoverJobs, decided
    from vedette.spark.covering.cover_rounds import CoverRounds
    from vedette.spark.spark_session import session

    with terminal.working("starting Spark"):
        spark = session(master=None if options.threads is None else f"local[{options.threads}]")
    settings = CoverSettings(options.method, options.error, options.budget)
    records = list(file)
    yield from zip(records, decided(records, CoverRounds(CoverJobs(spark), found, schema, settings)), strict=True)


# ---------------------------------------------------------------- what is written


def _write(answers: Sequence[CoverAnswer], options: CoverOptions, format: str) -> None:
    if format != "parquet":
        lines = (json.dumps(record_of(answer, witness=options.witness), ensure_ascii=False) for answer in answers)
        _write_text(options.out, "".join(f"{line}\n" for line in lines))
        return
    with written(options.out) as stream:
        pq.write_table(table_of(answers, witness=options.witness), stream)


def _write_text(place: str, text: str) -> None:
    with written(place) as stream:
        stream.write(text.encode())


def _summary(answers: Sequence[CoverAnswer], seconds: float) -> str:
    covered = [answer for answer in answers if answer.covered]
    several = sum(len(answer.by) > 1 for answer in covered)
    doubtful = Counter(answer.method for answer in answers if not answer.certain)
    told = f"{counted(len(answers), 'subscription')}: {len(answers) - len(covered):,} active, {len(covered):,} covered"
    if several:
        told += f" ({several:,} by several together)"
    if doubtful:
        methods = ", ".join(f"{count:,} {method}" for method, count in doubtful.most_common())
        told += f"; {doubtful.total():,} not certain ({methods})"
    return f"{told}; {seconds:.1f} s, {len(answers) / max(seconds, 1e-9):,.0f} subscriptions/s"
