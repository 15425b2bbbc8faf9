"""What an event must have if an expression is not to go wrong: tests before the operator that evaluates the rest."""

from __future__ import annotations

from typing import Final

from vedette.dialects.cesql.conditions import FALSE, TRUE, Outcome, all_of, is_text, present
from vedette.dialects.cesql.functions import find
from vedette.dialects.cesql.nodes import (
    Arithmetic,
    Attribute,
    Call,
    Comparison,
    Expression,
    Logic,
    Negate,
    children,
)
from vedette.dialects.cesql.values import NO_ATTRIBUTES, STRINGS, Kind
from vedette.language import ast
from vedette.language.ast import Filter

OPERATOR: Final = "cesql"  # see vedette.operators.shipped.cesql
_INTEGRAL: Final = "^[+-]?[0-9]+$"  # what an Integer looks like; whether it is one is left to the operator
_INTEGRAL_OR_TRUTH: Final = "^(?:[+-]?[0-9]+|true|false)$"


def left_to_operator(node: Expression, source: str, kind: Kind | None) -> Outcome:
    """A Boolean expression that the operator evaluates; of another type: what it is as a Boolean."""
    said = source[node.span.start : node.span.end]
    if kind is not Kind.BOOLEAN:
        said = f"BOOL({said})"
    return Outcome(
        lambda: all_of(_demands_of_all(node), _asked(said)),
        lambda: all_of(demands(node), _asked(f"NOT ({said})")),
        lambda: all_of(demands(node), _asked(f"({said}) OR TRUE")),
    )


def _asked(said: str) -> Filter:
    return ast.Call(OPERATOR, (ast.Literal(said),))


def demands(node: Expression) -> Filter:
    """What is so wherever nothing goes wrong."""
    match node:
        case Attribute(name):
            return FALSE if name in NO_ATTRIBUTES else present(name)
        case Logic("AND" | "OR", parts):
            return demands(parts[0])  # whether the others are evaluated depends on it
        case Negate(operand):
            return _integral(operand)
        case Arithmetic(_, left, right):
            return all_of(_integral(left), _integral(right))
        case Comparison("<" | "<=" | ">" | ">=", left, right):
            return all_of(_integral(left), _integral(right))
        case Call(name, arguments):
            function = find(name, len(arguments))
            if function is None:
                return FALSE
            kinds = [Kind.INTEGER if name == "INT" else function.kind_of(place) for place in range(len(arguments))]
            pairs = zip(arguments, kinds, strict=True)
            return all_of(*(_integral(each) if kind is Kind.INTEGER else demands(each) for each, kind in pairs))
    return all_of(TRUE, *map(demands, children(node)))


def _demands_of_all(node: Expression) -> Filter:
    """What is so wherever it is true."""
    match node:
        case Logic("AND", parts):
            return all_of(*map(_demands_of_all, parts))
    return demands(node)


def _integral(node: Expression) -> Filter:
    """Demands of what is cast to Integer."""
    if not isinstance(node, Attribute) or node.name in NO_ATTRIBUTES:
        return demands(node)
    return is_text("matches", node.name, _INTEGRAL if node.name in STRINGS else _INTEGRAL_OR_TRUTH)
