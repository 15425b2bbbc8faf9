"""`vedette cover`: which subscriptions others make redundant, in the order in which they stand in the file."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import typer

from vedette.cli.places import refuse_clashes, refuse_unwritable
from vedette.cli.terminal import Terminal, counted
from vedette.covering.cover_set import Answer, CoveringSet, Opaque
from vedette.covering.covers import BUDGET, Method
from vedette.covering.pictures import picture
from vedette.errors import FilterError, InputError, NotSupported
from vedette.files.output import output_format, written
from vedette.files.problems import BadSubscriptions, Problem, refusal
from vedette.files.schemas import read_schema
from vedette.files.subscriptions import SubscriptionFile, SubscriptionRecord, read_subscriptions

_STRIDE = 64  # records between two looks at the progress
_PARQUET = pa.schema(
    [
        ("subscription", pa.string()),
        ("covered", pa.bool_()),
        ("by", pa.list_(pa.string())),
        ("method", pa.string()),
        ("certain", pa.bool_()),
        ("error", pa.float64()),
        ("witness", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverOptions:
    """What was asked for on the command line."""

    subscriptions: str
    out: str
    method: Method = "auto"
    error: float = 1e-6
    budget: int = BUDGET
    schema: str | None = None
    witness: bool = False
    picture: str | None = None
    subscription: str | None = None
    subscriptions_format: str | None = None
    output_format: str | None = None
    quiet: bool = False


def cover(options: CoverOptions) -> None:
    """Write one answer a subscription, or, if any is bad, say what is wrong with each of them."""
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
    schema = None if options.schema is None else read_schema(options.schema)
    file = read_subscriptions(options.subscriptions, format=options.subscriptions_format)
    found = CoveringSet(
        schema,
        method=options.method,
        error=options.error,
        budget=options.budget,
        witnesses=options.witness or options.picture is not None,
    )
    answers, drawn = _answers(file, found, options, terminal)
    _write(answers, options, format)
    if options.picture is not None and drawn is not None:
        _write_text(options.picture, drawn)
    if file.expired:
        have = counted(file.expired, "subscription has", "subscriptions have")
        terminal.note(f"{have} expired and {'is' if file.expired == 1 else 'are'} left out")
    terminal.note(_summary(answers, time.perf_counter() - begin))


def _answers(
    file: SubscriptionFile, found: CoveringSet, options: CoverOptions, terminal: Terminal
) -> tuple[list[Answer], str | None]:
    """All answers, and the picture that was asked for; BadSubscriptions for what makes no sense."""
    answers: list[Answer] = []
    problems: list[Problem] = []
    drawn: str | None = None
    with terminal.working("covering", "subscriptions") as bar:
        for number, record in enumerate(file, 1):
            try:
                answers.append(_added(record, found))
            except (FilterError, NotSupported) as error:
                problems.append(Problem.of_error(record, error))
            else:
                if record.id == options.subscription:
                    drawn = picture(found, answers[-1]).to_svg()
            if number % _STRIDE == 0:
                bar.show(file.progress, number)
    problems += map(Problem.of_reject, file.rejects)
    if problems:
        raise BadSubscriptions(file.name, problems, "nothing was written")
    if options.subscription is not None and drawn is None:
        raise InputError(f"{file.name} has no subscription {options.subscription!r}\nHint: check the id")
    return answers, drawn


def _added(record: SubscriptionRecord, found: CoveringSet) -> Answer:
    refused = refusal(record, patterns=True)
    if refused is not None:
        raise refused
    if record.predict is None:
        return found.add(record.id, record.when)
    # Forecasts are told beside matches, so that only a pattern with the same wish says the same.
    return found.add(record.id, Opaque(f"{record.when}\n{json.dumps(record.predict, sort_keys=True)}", pattern=True))


# ---------------------------------------------------------------- what is written


def _write(answers: Sequence[Answer], options: CoverOptions, format: str) -> None:
    records = [_record(answer, options.witness) for answer in answers]
    if format != "parquet":
        lines = (json.dumps(record, ensure_ascii=False) for record in records)
        _write_text(options.out, "".join(f"{line}\n" for line in lines))
        return
    for record in records:
        if "witness" in record:
            record["witness"] = json.dumps(record["witness"], ensure_ascii=False)
    with written(options.out) as stream:
        pq.write_table(pa.Table.from_pylist(records, _PARQUET), stream)


def _write_text(place: str, text: str) -> None:
    with written(place) as stream:
        stream.write(text.encode())


def _record(answer: Answer, with_witness: bool) -> dict[str, Any]:
    record: dict[str, Any] = {
        "subscription": answer.subscription,
        "covered": answer.covered,
        "by": list(answer.by),
        "method": answer.method,
        "certain": answer.certain,
    }
    if answer.error:
        record["error"] = answer.error
    if with_witness and answer.witness is not None:
        record["witness"] = dict(answer.witness)
    return record


def _summary(answers: Sequence[Answer], seconds: float) -> str:
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
