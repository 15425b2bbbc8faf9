"""`vedette check`: everything that is wrong with subscriptions, at once, without any event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
import typer
from rich.console import Console
from rich.text import Text

from vedette.cli.exit_status import BAD_INPUT
from vedette.cli.file_paths import refuse_clashes
from vedette.cli.terminal import Terminal, counted, counted_kinds, error_console, output_console
from vedette.engine.checked_text import CheckedText
from vedette.errors import FilterError, NotSupported
from vedette.filters.subscription_set import SubscriptionKind
from vedette.io.operator_calls import OperatorCalls
from vedette.io.schemas import read_schema
from vedette.io.subscription_problems import SubscriptionProblem, refusal
from vedette.io.subscription_rows import KEYS, SubscriptionRecord, SubscriptionRows, Written, meant_by
from vedette.io.subscriptions import read_subscriptions
from vedette.language.ast import Expression
from vedette.language.check import mistakes
from vedette.language.lint import Lint, merged
from vedette.language.parser import parse
from vedette.schema.schema import Schema

_SHOWN = 5  # ids in one line
_STRIDE = 256  # records between two looks at the progress


@dataclass(slots=True)
class CheckReport:
    """The findings in a file."""

    source: str
    kinds: Counter[SubscriptionKind] = field(default_factory=Counter)
    expired: int = 0  # and left out
    problems: list[SubscriptionProblem] = field(default_factory=list)
    unknown_keys: set[str] = field(default_factory=set)  # of records; each is reported once
    unpartitioned: list[str] = field(default_factory=list)  # patterns that one process follows, on Spark too

    def count(self, severity: str) -> int:
        """The number of errors, or of warnings."""
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
    """Print the findings; exit status 1 if there are errors."""
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


def _findings(file: SubscriptionRows, schema: Schema | None, calls: OperatorCalls, terminal: Terminal) -> CheckReport:
    findings = CheckReport(file.name)
    with terminal.working("checking", "subscriptions") as bar:
        for number, record in enumerate(file, 1):
            _check_one(record, schema, calls, findings)
            if number % _STRIDE == 0:
                bar.show(file.progress, number)
    findings.problems += map(SubscriptionProblem.of_reject, file.rejects)
    findings.problems.sort(key=lambda problem: problem.line)
    findings.expired = file.expired
    return findings


def _check_one(record: SubscriptionRecord, schema: Schema | None, calls: OperatorCalls, findings: CheckReport) -> None:
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
        read = CheckedText.of(expression, schema, record.when, record.predict)
        settled = _settled(record, schema, read, calls)
        findings.kinds[read.kind] += 1
        if read.is_followed_whole:
            findings.unpartitioned.append(record.id)
        findings.problems += [SubscriptionProblem.of_lint(record, each) for each in merged([*settled, *read.lints()])]
    except (FilterError, NotSupported) as error:
        told: Sequence[FilterError | NotSupported] = ()
        if expression is not None:
            told = mistakes(expression, schema, record.when)
        findings.problems += [SubscriptionProblem.of_error(record, each, code) for each in told or [error]]


def _settled(record: SubscriptionRecord, schema: Schema | None, read: CheckedText, calls: OperatorCalls) -> list[Lint]:
    """A warning for a filter that can never match, or always does, whatever its operators return."""
    verdict = calls.check_record(record, schema) if read.calls_operators else None
    if verdict is None:
        return []
    span = read.checked.expression.span
    message = "this filter can never match" if verdict == "never" else "this filter matches every event"
    return [Lint(verdict, message, span.start, span.end, record.when)]


def _unknown_key(record: SubscriptionRecord, key: str) -> SubscriptionProblem:
    meant = meant_by(key)
    hint = f"did you mean `{meant}`?" if meant else f"its parts are {', '.join(f'`{each}`' for each in KEYS)}"
    message = f"`{key}` is no part of a subscription, and changes nothing (here and wherever else it stands)"
    return SubscriptionProblem("warning", "key", record.line, record.id, message, hint)


# ---------------------------------------------------------------- for people


def _show(findings: CheckReport, *, with_schema: bool, quiet: bool) -> None:
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


def _show_problem(problem: SubscriptionProblem, source: str, console: Console) -> None:
    label = ("Error: ", "bold red") if problem.severity == "error" else ("Warning: ", "bold yellow")
    console.print(Text.assemble(label, (problem.where(source), "bold"), f"\n{problem}\n"))


def _of_one_partition(ids: Sequence[str]) -> Text:
    """One line for all of them, since it matters only if a stream is large."""
    shown = ", ".join(map(repr, ids[:_SHOWN])) + (f" and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else "")
    which = f"the pattern {shown} has" if len(ids) == 1 else f"the patterns {shown} have"
    return Text.assemble(
        ("Warning: ", "bold yellow"),
        f"{which} no partition: on Spark one process follows all events for it; `by` an attribute lets it spread out\n",
    )


def _summary(findings: CheckReport) -> Text:
    parts = counted_kinds(findings.kinds) or [counted(0, "filter")]
    if findings.expired:
        parts.append(f"{findings.expired:,} expired and left out")
    errors, warnings = findings.count("error"), findings.count("warning") + bool(findings.unpartitioned)
    verdict = ("no problems", "bold green")
    if errors or warnings:
        verdict = (
            f"{counted(errors, 'error')}, {counted(warnings, 'warning')}",
            "bold red" if errors else "bold yellow",
        )
    said = ", ".join(parts) if findings.kinds or findings.expired else "no subscriptions that can be read"
    return Text.assemble(f"{findings.source}: {said}; ", verdict, ".")


# ---------------------------------------------------------------- for programs


def _record(findings: CheckReport) -> dict[str, Any]:
    kinds = findings.kinds
    return {
        "file": findings.source,
        "filters": kinds["filter"],
        "filters_with_operators": kinds["operators"],
        "patterns": kinds["pattern"],
        "expired": findings.expired,
        "errors": findings.count("error"),
        "warnings": findings.count("warning"),
        "unpartitioned": findings.unpartitioned,
        "findings": [_finding(problem) for problem in findings.problems],
    }


def _finding(problem: SubscriptionProblem) -> dict[str, Any]:
    """A finding as JSON: `line` is that of the file; `at` is the place in the text, counted from 1."""
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
