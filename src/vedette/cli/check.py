"""`vedette check`: everything that is wrong with subscriptions, at once, without any event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
import typer
from rich.console import Console
from rich.text import Text

from vedette.cli.endings import BAD_INPUT
from vedette.cli.places import refuse_clashes
from vedette.cli.terminal import Terminal, counted, error_console, output_console
from vedette.composite.explain import partition_of
from vedette.composite.lint import lint
from vedette.errors import FilterError, NotSupported
from vedette.files.operator_calls import OperatorCalls, has_operators
from vedette.files.problems import Problem, refusal
from vedette.files.schemas import read_schema
from vedette.files.subscriptions import (
    KEYS,
    SubscriptionRecord,
    SubscriptionRows,
    Written,
    meant_by,
    read_subscriptions,
)
from vedette.language.ast import Composite, Expression
from vedette.language.check import check as check_types
from vedette.language.check import mistakes
from vedette.language.checked import Checked
from vedette.language.lint import Lint, merged
from vedette.language.normalise import normalise
from vedette.language.parser import parse
from vedette.matching.patterns import NEEDS_PATTERN, Predict
from vedette.schema.schema import Schema

_SHOWN = 5  # ids in one line
_STRIDE = 256  # records between two looks at the progress


@dataclass(slots=True)
class Findings:
    """What was found in a file."""

    source: str
    kinds: Counter[str] = field(default_factory=Counter)  # filters, patterns, with operators, expired
    problems: list[Problem] = field(default_factory=list)
    unknown_keys: set[str] = field(default_factory=set)  # of records; each is told once
    unpartitioned: list[str] = field(default_factory=list)  # patterns that one process follows, on Spark too

    def count(self, severity: str) -> int:
        """How many errors, or warnings."""
        return sum(problem.severity == severity for problem in self.problems)


def check(
    source: str,
    *,
    schema: str | None,
    operators: str | None,
    format: str | None,
    written: Written,
    as_json: bool,
    quiet: bool,
) -> None:
    """Say what was found; exit status 1 if there are errors."""
    refuse_clashes({"SUBSCRIPTIONS": source, "--schema": schema, "--operators": operators}, {})
    known = None if schema is None else read_schema(schema)
    calls = OperatorCalls(operators)
    file = read_subscriptions(source, format=format, written=written)
    findings = _findings(file, known, calls, Terminal(quiet=quiet or as_json))
    if as_json:
        typer.echo(orjson.dumps(_record(findings), option=orjson.OPT_INDENT_2))
    else:
        _show(findings, with_schema=known is not None, quiet=quiet)
    if findings.count("error"):
        raise typer.Exit(BAD_INPUT)


def _findings(file: SubscriptionRows, schema: Schema | None, calls: OperatorCalls, terminal: Terminal) -> Findings:
    findings = Findings(file.name)
    with terminal.working("checking", "subscriptions") as bar:
        for number, record in enumerate(file, 1):
            _check_one(record, schema, calls, findings)
            if number % _STRIDE == 0:
                bar.show(file.progress, number)
    findings.problems += map(Problem.of_reject, file.rejects)
    findings.problems.sort(key=lambda problem: problem.line)
    findings.kinds["expired"] = file.expired
    return findings


def _check_one(record: SubscriptionRecord, schema: Schema | None, calls: OperatorCalls, findings: Findings) -> None:
    for key in record.extra:
        if key not in findings.unknown_keys:
            findings.unknown_keys.add(key)
            findings.problems.append(_unknown_key(record, key))
    code = "syntax"
    expression: Expression | None = None
    try:
        refused = refusal(record, patterns=True)
        if refused is not None:
            raise refused
        expression = parse(record.when)
        code = "meaning"
        checked = check_types(expression, schema, record.when)
        found: list[Lint] = []
        if isinstance(expression, Composite):
            if record.predict is not None:
                Predict.of(record.predict).check(schema or Schema({}, closed=False))
            calls.check_record(record, schema)
            findings.kinds["pattern"] += 1
            if not partition_of(expression):
                findings.unpartitioned.append(record.id)
        else:
            called = has_operators(checked)
            if called:
                found += _settled(checked, calls)
            findings.kinds["operator" if called else "filter"] += 1
            if record.predict is not None:
                raise NotSupported(NEEDS_PATTERN)
            if not called:
                normalise(checked)  # refuses what would become too large
        found += lint(checked)
        findings.problems += [Problem.of_lint(record, each) for each in merged(found)]
    except (FilterError, NotSupported) as error:
        told: Sequence[FilterError | NotSupported] = ()
        if isinstance(expression, Composite):
            told = mistakes(expression, schema, record.when)
        findings.problems += [Problem.of_error(record, each, code) for each in told or [error]]


def _settled(checked: Checked, calls: OperatorCalls) -> Iterable[Lint]:
    """A filter that operators cannot change: nothing else can make it true, or it is true anyway."""
    verdict = calls.check(checked)
    if verdict is not None:
        span = checked.expression.span
        message = "this filter can never match" if verdict == "never" else "this filter matches every event"
        yield Lint(verdict, message, span.start, span.end, checked.text)


def _unknown_key(record: SubscriptionRecord, key: str) -> Problem:
    meant = meant_by(key)
    hint = f"did you mean `{meant}`?" if meant else f"its parts are {', '.join(f'`{each}`' for each in KEYS)}"
    message = f"`{key}` is no part of a subscription, and changes nothing (here and wherever else it stands)"
    return Problem("warning", "key", record.line, record.id, message, hint)


# ---------------------------------------------------------------- for people


def _show(findings: Findings, *, with_schema: bool, quiet: bool) -> None:
    """Errors on standard error, the rest on standard output."""
    out, errors = output_console(), error_console()
    for problem in findings.problems:
        is_error = problem.severity == "error"
        if is_error or not quiet:
            _show_problem(problem, findings.source, errors if is_error else out)
    if quiet:
        return
    if findings.unpartitioned:
        out.print(_of_one_partition(findings.unpartitioned))
    out.print(_summary(findings))
    if not with_schema:
        out.print("With --schema, names and types of attributes are checked too.", style="dim")


def _show_problem(problem: Problem, source: str, console: Console) -> None:
    label = ("Error: ", "bold red") if problem.severity == "error" else ("Warning: ", "bold yellow")
    console.print(Text.assemble(label, (problem.where(source), "bold"), f"\n{problem}\n"))


def _of_one_partition(ids: Sequence[str]) -> Text:
    """One line for all of them: it matters only where a stream is large."""
    shown = ", ".join(map(repr, ids[:_SHOWN])) + (f" and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else "")
    which = f"the pattern {shown} has" if len(ids) == 1 else f"the patterns {shown} have"
    return Text.assemble(
        ("Warning: ", "bold yellow"),
        f"{which} no partition: on Spark one process follows all events for it; `by` an attribute lets it spread out\n",
    )


def _summary(findings: Findings) -> Text:
    kinds = findings.kinds
    good = kinds["filter"] + kinds["operator"] + kinds["pattern"]
    parts = [
        *([counted(kinds["filter"], "filter")] if kinds["filter"] or not good else []),
        *([counted(kinds["operator"], "filter") + " with operators"] if kinds["operator"] else []),
        *([counted(kinds["pattern"], "pattern")] if kinds["pattern"] else []),
        *([f"{kinds['expired']:,} expired and left out"] if kinds["expired"] else []),
    ]
    errors, warnings = findings.count("error"), findings.count("warning") + bool(findings.unpartitioned)
    verdict = ("no problems", "bold green")
    if errors or warnings:
        verdict = (
            f"{counted(errors, 'error')}, {counted(warnings, 'warning')}",
            "bold red" if errors else "bold yellow",
        )
    said = ", ".join(parts) if good or kinds["expired"] else "no subscriptions that can be read"
    return Text.assemble(f"{findings.source}: {said}; ", verdict, ".")


# ---------------------------------------------------------------- for programs


def _record(findings: Findings) -> dict[str, Any]:
    kinds = findings.kinds
    return {
        "file": findings.source,
        "filters": kinds["filter"],
        "filters_with_operators": kinds["operator"],
        "patterns": kinds["pattern"],
        "expired": kinds["expired"],
        "errors": findings.count("error"),
        "warnings": findings.count("warning"),
        "unpartitioned": findings.unpartitioned,
        "findings": [_finding(problem) for problem in findings.problems],
    }


def _finding(problem: Problem) -> dict[str, Any]:
    """`line` is that of the file; the place in the text is `at`, counted from 1."""
    found: dict[str, Any] = {
        "severity": problem.severity,
        "code": problem.code,
        **({} if problem.place is None else {"file": problem.place}),
        "line": problem.line,
        "subscription": problem.id,
        "message": problem.message,
        "hint": problem.hint,
    }
    if problem.text:
        place = FilterError(problem.message, text=problem.text, start=problem.start, end=problem.end)
        found["at"] = {"line": place.line, "column": place.column, "start": problem.start, "end": problem.end}
    return found
