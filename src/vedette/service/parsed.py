"""What does a text say? Its tree, its normal form, what is hardly meant, or everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel

from vedette.composite.lint import lint
from vedette.composite.machine_pictures import machine_picture
from vedette.errors import FilterError, InputError, LimitError, NotSupported, VedetteError
from vedette.language import ast
from vedette.language.check import check, mistakes
from vedette.language.lint import Lint, merged
from vedette.language.normalise import normalise
from vedette.language.parser import parse
from vedette.language.render import render
from vedette.service.machines import Machine, machine_of
from vedette.service.normal_text import lines
from vedette.service.registry import Wanted

if TYPE_CHECKING:
    from vedette.service.service import Service

_NODES: Final = 2_000  # of a tree that is shown
_SHOWN: Final = 300  # characters of a part


class Finding(BaseModel):
    """What is wrong, or hardly meant: where in the text, and how to mend it. Places count characters."""

    severity: Literal["error", "warning"]
    message: str
    hint: str | None = None
    line: int | None = None  # from 1
    column: int | None = None
    start: int | None = None  # from 0
    end: int | None = None
    shown: str  # the line, with a caret under the place


class Part(BaseModel):
    """A part of a text, and the parts of it."""

    what: str
    text: str
    start: int
    end: int
    parts: list[Part]


class Parsed(BaseModel):
    """What a text says, or what is wrong with it."""

    valid: bool
    when: str  # in Vedette's own language
    findings: list[Finding]
    kind: str | None = None
    cost: float | None = None
    canonical: str | None = None
    tree: Part | None = None
    normal_form: list[str] | None = None  # of a filter: one of these lines holds
    columns: dict[str, str] | None = None  # attributes, and as what they are read
    machine: Machine | None = None  # of a pattern


def parsed(service: Service, wanted: Wanted) -> Parsed:
    """Read a text as the service would."""
    text = wanted.when
    schema = service.streams.get(wanted.stream).schema
    expression: ast.Expression | None = None
    try:
        expression = parse(text)
        checked = check(expression, schema, text)
        kind, cost = service.registry.check(wanted)
        found = Parsed(
            valid=True,
            when=text,
            findings=[_hardly(each) for each in merged(lint(checked))],
            kind=kind,
            cost=cost,
            canonical=render(expression),
            tree=_tree(expression, text),
            columns={column.name: str(column.type) for column in sorted(checked.columns(), key=lambda c: c.order)},
        )
        if isinstance(expression, ast.Composite):
            found.machine = machine_of(machine_picture(expression, text))
        elif kind == "filter":
            found.normal_form = lines(normalise(checked))
    except (InputError, NotSupported) as error:
        several: Sequence[VedetteError] = ()
        if isinstance(expression, ast.Composite):
            several = mistakes(expression, schema, text)
        return refused(text, several or [error])
    return found


def refused(text: str, errors: Sequence[VedetteError]) -> Parsed:
    """A text that makes no sense, and why."""
    return Parsed(valid=False, when=text, findings=[_wrong(each) for each in errors])


def _wrong(error: VedetteError) -> Finding:
    if not isinstance(error, FilterError):
        message, _, hint = str(error).partition("\nHint: ")
        return Finding(severity="error", message=message, hint=hint or None, shown=str(error))
    place: dict[str, Any] = {}
    if error.text and not isinstance(error, LimitError):
        place = {"line": error.line, "column": error.column, "start": error.start, "end": error.end}
    return Finding(severity="error", message=error.message, hint=error.hint, shown=str(error), **place)


def _hardly(found: Lint) -> Finding:
    at = FilterError(found.message, text=found.text, start=found.start, end=found.end, hint=found.hint)
    return Finding(
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
    ast.Truth: "truth",
    ast.Comparison: "comparison",
    ast.Range: "range",
    ast.In: "list",
    ast.IsNull: "null test",
    ast.TextTest: "text test",
    ast.TextPair: "text test",
    ast.InNetwork: "network test",
    ast.Within: "place test",
    ast.Near: "place test",
    ast.Call: "operator",
    ast.Step: "step",
    ast.Sequence: "sequence",
    ast.Every: "all of",
    ast.Either: "one of",
    ast.Repeat: "repeat",
    ast.Absent: "absent",
    ast.Conditioned: "timed",
    ast.Composite: "pattern",
}


def _tree(expression: ast.Expression, text: str) -> Part:
    left = _NODES

    def part(node: Any) -> Part:
        nonlocal left
        left -= 1
        span = node.span
        said = " ".join((text[span.start : span.end] or render(node)).split())
        return Part(
            what=_what(node),
            text=said if len(said) <= _SHOWN else said[: _SHOWN - 1] + "…",
            start=span.start,
            end=span.end,
            parts=[part(each) for each in _below(node) if left > 0],
        )

    return part(expression)


def _what(node: Any) -> str:
    word = _WORDS[type(node)]
    match node:
        case ast.Step(label=str(label)):
            return f"{word} {label}"
        case ast.Repeat():
            return f"{word} {node.least}" if node.least == node.most else f"{word} {node.least} to {node.most}"
        case _:
            return word


def _below(node: Any) -> tuple[Any, ...]:
    match node:
        case ast.And() | ast.Or() | ast.Sequence() | ast.Every() | ast.Either():
            return tuple(node.parts)
        case ast.Not() | ast.Repeat() | ast.Conditioned():
            return (node.part,)
        case ast.Step():
            return (node.filter,)
        case ast.Absent():
            return (node.step,)
        case ast.Composite():
            return (node.pattern,)
        case _:
            return ()
