"""Writes an AST as canonical text: `parse(render(x)) == x`."""

from __future__ import annotations

import datetime as dt
import ipaddress
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from vedette.language import syntax as ast
from vedette.language.lexer import RESERVED, quote_name
from vedette.language.time_units import MICROSECONDS

# Words that would be parsed as the beginning of something else without backticks.
_ATTRIBUTE_WORDS: Final = RESERVED | {"exists"}
_OPERATOR_WORDS: Final = RESERVED | {"exists", "any", "all", "point"}
_PRECEDENCE: Final = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2}
_UNITS: Final = ("d", "h", "min", "s", "ms", "us")
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def render(expression: ast.Expression | ast.Pattern | ast.Operand) -> str:
    """An expression, or any part of one, as text."""
    if isinstance(expression, ast.Test):
        return " ".join(expression.words())
    return _RENDERERS[type(expression)](expression)


# ---------------------------------------------------------------- operands


def string(value: str) -> str:
    """A string in quotes."""
    return "'" + value.replace("'", "''") + "'"


def constant(value: ast.Constant) -> str:
    """A constant as text."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return string(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"float '{value}'"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dt.datetime):
        return f"timestamp '{_moment(value)}'"
    if isinstance(value, dt.date):
        return f"date '{value.isoformat()}'"
    if isinstance(value, ipaddress.IPv4Address | ipaddress.IPv6Address):
        return f"ip '{value}'"
    if isinstance(value, ast.Point):
        return point(value)
    return f"region {string(value.wkt)}"


def _moment(value: dt.datetime) -> str:
    aware = value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)
    return aware.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")


def point(value: ast.Point) -> str:
    """A point as text."""
    return f"point({plain_number(value.x)}, {plain_number(value.y)})"


def plain_number(value: float) -> str:
    """A float where only a number is possible: 5.0 is written as 5."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 and str(value) != "-0.0" else repr(value)


def _literal(node: ast.Literal) -> str:
    return constant(node.value)


def _attribute(node: ast.Attribute) -> str:
    return quote_name(node.path, _ATTRIBUTE_WORDS)


def _view(node: ast.View) -> str:
    path = node.attribute.path
    return f"{node.reading}({path if path == ast.EVERYTHING else _attribute(node.attribute)})"


def _quantified(node: ast.QuantifiedAttribute) -> str:
    return f"{node.quantifier}({render(node.attribute)})"


def _arithmetic(node: ast.Arithmetic) -> str:
    precedence = _PRECEDENCE[node.op]
    left, right = render(node.left), render(node.right)
    if isinstance(node.left, ast.Arithmetic) and _PRECEDENCE[node.left.op] < precedence:
        left = f"({left})"
    if isinstance(node.right, ast.Arithmetic) and _PRECEDENCE[node.right.op] <= precedence:
        right = f"({right})"
    return f"{left} {node.op} {right}"


# ---------------------------------------------------------------- filters


def _and(node: ast.And) -> str:
    return " and ".join(_grouped(part, ast.And | ast.Or) for part in node.parts)


def _or(node: ast.Or) -> str:
    return " or ".join(_grouped(part, ast.Or) for part in node.parts)


def _grouped(part: ast.Filter | ast.Pattern, kinds: Any) -> str:
    return f"({render(part)})" if isinstance(part, kinds) else render(part)


def _not(node: ast.Not) -> str:
    part = node.part
    inside = part.negated_text() if isinstance(part, ast.Test) else None
    if inside is not None:
        return inside
    return f"not {render(part)}" if isinstance(part, ast.Call | ast.TruthLiteral) else f"not ({render(part)})"


def _truth(node: ast.TruthLiteral) -> str:
    return constant(node.value)


def _call(node: ast.Call) -> str:
    return f"{quote_name(node.name, _OPERATOR_WORDS)}({', '.join(render(one) for one in node.arguments)})"


# ---------------------------------------------------------------- patterns


def duration(microseconds: int) -> str:
    """A length of time in the largest unit that holds it exactly."""
    unit = next(unit for unit in _UNITS if microseconds % MICROSECONDS[unit] == 0) if microseconds else "s"
    return f"{microseconds // MICROSECONDS[unit]} {unit}"


def _step(node: ast.Step) -> str:
    return f"{node.label}:[{render(node.filter)}]" if node.label is not None else f"[{render(node.filter)}]"


def _sequence(node: ast.Sequence) -> str:
    parts = [_grouped(part, ast.Sequence | ast.PatternAnd | ast.PatternOr) for part in node.parts]
    return parts[0] + "".join(f" {link} {part}" for link, part in zip(node.links, parts[1:], strict=True))


def _every(node: ast.PatternAnd) -> str:
    return " and ".join(_grouped(part, ast.Sequence | ast.PatternAnd | ast.PatternOr) for part in node.parts)


def _either(node: ast.PatternOr) -> str:
    return " or ".join(_grouped(part, ast.Sequence | ast.PatternAnd | ast.PatternOr) for part in node.parts)


def _postfixed(part: ast.Pattern) -> str:
    return render(part) if isinstance(part, ast.Step) else f"({render(part)})"


def _repeat(node: ast.Repeat) -> str:
    count = str(node.least) if node.least == node.most else f"{node.least},{node.most}"
    return f"{_postfixed(node.part)}{{{count}}}"


def _absent(node: ast.Absence) -> str:
    return f"not {_step(node.step)}"


def _time_condition(node: ast.TimeCondition) -> str:
    if node.earlier is None:
        moment = _EPOCH + dt.timedelta(microseconds=node.microseconds)
        return f"t({node.later}) {node.op.value} {constant(moment)}"
    return f"t({node.later}) - t({node.earlier}) {node.op.value} {duration(node.microseconds)}"


def _conditioned(node: ast.TimedPattern) -> str:
    return f"{_postfixed(node.part)} @ ({' and '.join(_time_condition(one) for one in node.conditions)})"


def _composite(node: ast.Composite) -> str:
    by = f" by {', '.join(quote_name(path) for path in node.by)}" if node.by else ""
    within = f" within {duration(node.within)}" if node.within is not None else ""
    return render(node.pattern) + by + within


_RENDERERS: Final[Mapping[type, Callable[[Any], str]]] = {
    ast.Literal: _literal,
    ast.Attribute: _attribute,
    ast.View: _view,
    ast.QuantifiedAttribute: _quantified,
    ast.Variable: lambda node: f"?{node.name}",
    ast.JoinVariable: lambda node: f"${node.name}",
    ast.Arithmetic: _arithmetic,
    ast.And: _and,
    ast.Or: _or,
    ast.Not: _not,
    ast.TruthLiteral: _truth,
    ast.Call: _call,
    ast.Step: _step,
    ast.Sequence: _sequence,
    ast.PatternAnd: _every,
    ast.PatternOr: _either,
    ast.Repeat: _repeat,
    ast.Absence: _absent,
    ast.TimedPattern: _conditioned,
    ast.Composite: _composite,
}
