"""Writes an AST as canonical text: `parse(render(x)) == x`."""

from __future__ import annotations

import datetime as dt
import ipaddress
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from vedette.language import ast
from vedette.language.lexer import RESERVED, quote_name
from vedette.language.literals import MICROSECONDS

# Words that would be parsed as the beginning of something else without backticks.
_ATTRIBUTE_WORDS: Final = RESERVED | {"exists"}
_OPERATOR_WORDS: Final = RESERVED | {"exists", "any", "all", "point"}
_PRECEDENCE: Final = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2}
_UNITS: Final = ("d", "h", "min", "s", "ms", "us")
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_Test: TypeAlias = ast.Range | ast.In | ast.IsNull | ast.TextTest | ast.InNetwork | ast.Within | ast.Near


def render(expression: ast.Expression | ast.Pattern | ast.Operand) -> str:
    """An expression, or any part of one, as text."""
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
        return _point(value)
    return f"region {string(value.wkt)}"


def _moment(value: dt.datetime) -> str:
    aware = value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)
    return aware.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")


def _point(value: ast.Point) -> str:
    return f"point({_number(value.x)}, {_number(value.y)})"


def _number(value: float) -> str:
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
    if isinstance(part, ast.Comparison) and part.op is ast.Comparator.SAME:
        if not isinstance(part.left, ast.QuantifiedAttribute):
            return f"{render(part.left)} is distinct from {render(part.right)}"
    elif isinstance(part, ast.TextPair):
        return " not ".join(_text_pair(part))
    elif isinstance(part, _Test) and not isinstance(
        part.operand, ast.QuantifiedAttribute
    ):  # `any(x) not …` has another meaning
        operand, words = _TESTS[type(part)](part)
        return f"{operand} is not null" if words == "is null" else f"{operand} not {words}"
    return f"not {render(part)}" if isinstance(part, ast.Call | ast.TruthLiteral) else f"not ({render(part)})"


def _truth(node: ast.TruthLiteral) -> str:
    return constant(node.value)


def _comparison(node: ast.Comparison) -> str:
    return f"{render(node.left)} {node.op.value} {render(node.right)}"


def _call(node: ast.Call) -> str:
    return f"{quote_name(node.name, _OPERATOR_WORDS)}({', '.join(render(one) for one in node.arguments)})"


# Tests whose negation is written inside them: the operand, and the rest of the test.


def _range(node: ast.Range) -> tuple[str, str]:
    low, high = render(node.low), render(node.high)
    if node.low_closed and node.high_closed:
        return render(node.operand), f"between {low} and {high}"
    return render(node.operand), f"in {'(['[node.low_closed]}{low} .. {high}{')]'[node.high_closed]}"


def _in(node: ast.In) -> tuple[str, str]:
    return render(node.operand), f"in ({', '.join(constant(item.value) for item in node.items)})"


def _is_null(node: ast.IsNull) -> tuple[str, str]:
    return render(node.operand), "is null"


def _text_test(node: ast.TextTest) -> tuple[str, str]:
    word = ("i" if node.ignore_case else "") + node.kind
    escape = f" escape {string(node.escape)}" if node.kind == "like" and node.escape != "\\" else ""
    return render(node.operand), f"{word} {constant(node.pattern.value)}{escape}"


def _text_pair(node: ast.TextPair) -> tuple[str, str]:
    return render(node.left), f"{'i' if node.ignore_case else ''}{node.kind} {render(node.right)}"


def _in_network(node: ast.InNetwork) -> tuple[str, str]:
    networks = [string(network) for network in node.networks]
    return render(node.operand), "in cidr " + (networks[0] if len(networks) == 1 else f"({', '.join(networks)})")


def _within(node: ast.Within) -> tuple[str, str]:
    return render(node.operand), f"within region {string(node.region.wkt)}"


def _near(node: ast.Near) -> tuple[str, str]:
    return render(node.operand), f"within {_number(node.metres)} m of {_point(node.centre)}"


_TESTS: Final[Mapping[type, Callable[[Any], tuple[str, str]]]] = {
    ast.Range: _range,
    ast.In: _in,
    ast.IsNull: _is_null,
    ast.TextTest: _text_test,
    ast.TextPair: _text_pair,
    ast.InNetwork: _in_network,
    ast.Within: _within,
    ast.Near: _near,
}


def _test(node: ast.Filter) -> str:
    return " ".join(_TESTS[type(node)](node))


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
    ast.Comparison: _comparison,
    ast.Call: _call,
    **dict.fromkeys(_TESTS, _test),
    ast.Step: _step,
    ast.Sequence: _sequence,
    ast.PatternAnd: _every,
    ast.PatternOr: _either,
    ast.Repeat: _repeat,
    ast.Absence: _absent,
    ast.TimedPattern: _conditioned,
    ast.Composite: _composite,
}
