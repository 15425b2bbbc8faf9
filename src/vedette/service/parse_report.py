"""Report on a text: its tree, its normal form, its warnings, or all errors in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from pydantic import BaseModel

from vedette.engine.checked_text import CheckedText
from vedette.errors import FilterError, InputError, LimitError, NotSupported, VedetteError
from vedette.language import ast
from vedette.language.check import mistakes
from vedette.language.lint import Lint, merged
from vedette.language.parser import parse
from vedette.language.render import render
from vedette.service.check_context import CheckContext
from vedette.service.machine_answers import MachineDescription, machine_of
from vedette.service.normal_text import lines

_NODES: Final = 2_000  # of a tree that is shown
_SHOWN: Final = 300  # characters of a part


class ParseFinding(BaseModel):
    """An error or a warning: where in the text, and how to mend it. Positions count characters."""

    severity: Literal["error", "warning"]
    message: str
    hint: str | None = None
    line: int | None = None  # from 1
    column: int | None = None
    start: int | None = None  # from 0
    end: int | None = None
    shown: str  # the line, with a caret under the place


class TextPart(BaseModel):
    """A part of a text, and the parts of it."""

    what: str
    text: str
    start: int
    end: int
    parts: list[TextPart]


class ParseReport(BaseModel):
    """What a text means, or what is wrong with it."""

    valid: bool
    when: str  # in Vedette's own language
    findings: list[ParseFinding]
    kind: str | None = None
    cost: float | None = None
    canonical: str | None = None
    tree: TextPart | None = None
    normal_form: list[str] | None = None  # of a filter: one of these lines holds
    columns: dict[str, str] | None = None  # attributes, and as what they are read
    machine: MachineDescription | None = None  # of a pattern


def parse_report(grounds: CheckContext, text: str, predict: Mapping[str, Any] | None = None) -> ParseReport:
    """Parse and check a text as at registration."""
    schema = grounds.schema
    expression: ast.Expression | None = None
    try:
        expression = parse(text)
        read = CheckedText.of(expression, schema, text, predict)
        kind, cost = grounds.checked(text, predict)
        found = ParseReport(
            valid=True,
            when=text,
            findings=[_hardly(each) for each in merged(read.lints())],
            kind=kind,
            cost=cost,
            canonical=render(expression),
            tree=_tree(expression, text),
            columns={column.name: str(column.type) for column in sorted(read.checked.columns(), key=lambda c: c.order)},
        )
        picture, form = read.picture(), read.normal_form()
        found.machine = None if picture is None else machine_of(picture)
        found.normal_form = None if form is None else lines(form)
    except (InputError, NotSupported) as error:
        several: Sequence[VedetteError] = ()
        if expression is not None:
            several = mistakes(expression, schema, text)
        return parse_failure(text, several or [error])
    return found


def parse_failure(text: str, errors: Sequence[VedetteError]) -> ParseReport:
    """The report on a text with errors."""
    return ParseReport(valid=False, when=text, findings=[_wrong(each) for each in errors])


def _wrong(error: VedetteError) -> ParseFinding:
    if not isinstance(error, FilterError):
        message, _, hint = str(error).partition("\nHint: ")
        return ParseFinding(severity="error", message=message, hint=hint or None, shown=str(error))
    place: dict[str, Any] = {}
    if error.text and not isinstance(error, LimitError):
        place = {"line": error.line, "column": error.column, "start": error.start, "end": error.end}
    return ParseFinding(severity="error", message=error.message, hint=error.hint, shown=str(error), **place)


def _hardly(found: Lint) -> ParseFinding:
    at = FilterError(found.message, text=found.text, start=found.start, end=found.end, hint=found.hint)
    return ParseFinding(
        severity="warning",
        message=found.message,
        hint=found.hint,
        line=at.line,
        column=at.column,
        start=found.start,
        end=found.end,
        shown=str(at),
    )


# ---------------------------------------------------------------- the tree

_WORDS: Final[dict[type, str]] = {
    ast.And: "and",
    ast.Or: "or",
    ast.Not: "not",
    ast.TruthLiteral: "truth",
    ast.Step: "step",
    ast.Sequence: "sequence",
    ast.PatternAnd: "all of",
    ast.PatternOr: "one of",
    ast.Repeat: "repeat",
    ast.Absence: "absent",
    ast.TimedPattern: "timed",
    ast.Composite: "pattern",
}


def _tree(expression: ast.Expression, text: str) -> TextPart:
    left = _NODES

    def part(node: Any) -> TextPart:
        nonlocal left
        left -= 1
        span = node.span
        said = " ".join((text[span.start : span.end] or render(node)).split())
        return TextPart(
            what=_what(node),
            text=said if len(said) <= _SHOWN else said[: _SHOWN - 1] + "…",
            start=span.start,
            end=span.end,
            parts=[part(each) for each in ast.parts_of(node) if left > 0],
        )

    return part(expression)


def _what(node: Any) -> str:
    word = node.NAME if isinstance(node, ast.FilterLeaf) else _WORDS[type(node)]
    match node:
        case ast.Step(label=str(label)):
            return f"{word} {label}"
        case ast.Repeat():
            return f"{word} {node.least}" if node.least == node.most else f"{word} {node.least} to {node.most}"
        case _:
            return word
