"""Preconditions for an expression to have no error: tests before the operator that evaluates the rest."""

from __future__ import annotations

from typing import Final

from vedette.dialects.cesql.conditions import FALSE, TRUE, TruthConditions, all_of, is_text, present
from vedette.dialects.cesql.nodes import (
    CesqlArithmetic,
    CesqlAttribute,
    CesqlCall,
    CesqlComparison,
    CesqlExpression,
    CesqlLogic,
    CesqlNegate,
    children,
)
from vedette.dialects.cesql.values import NO_ATTRIBUTES, STRINGS, CesqlType, find
from vedette.language import ast
from vedette.language.ast import Filter

OPERATOR: Final = "cesql"  # see vedette.operators.shipped.cesql
_INTEGRAL: Final = "^[+-]?[0-9]+$"  # the syntax of an Integer; the operator checks its range
_INTEGRAL_OR_TRUTH: Final = "^(?:[+-]?[0-9]+|true|false)$"


def left_to_operator(node: CesqlExpression, source: str, kind: CesqlType | None) -> TruthConditions:
    """The conditions of an expression that the operator evaluates; one of another type is cast to Boolean."""
    said = source[node.span.start : node.span.end]
    if kind is not CesqlType.BOOLEAN:
        said = f"BOOL({said})"
    return TruthConditions(
        lambda: all_of(_demands_of_all(node), _asked(said)),
        lambda: all_of(demands(node), _asked(f"NOT ({said})")),
        lambda: all_of(demands(node), _asked(f"({said}) OR TRUE")),
    )


def _asked(said: str) -> Filter:
    return ast.Call(OPERATOR, (ast.Literal(said),))


def demands(node: CesqlExpression) -> Filter:
    """A filter that holds whenever the expression has no error."""
    match node:
        case CesqlAttribute(name):
            return FALSE if name in NO_ATTRIBUTES else present(name)
        case CesqlLogic("AND" | "OR", parts):
            return demands(parts[0])  # only the first operand is always evaluated
        case CesqlNegate(operand):
            return _integral(operand)
        case CesqlArithmetic(_, left, right):
            return all_of(_integral(left), _integral(right))
        case CesqlComparison("<" | "<=" | ">" | ">=", left, right):
            return all_of(_integral(left), _integral(right))
        case CesqlCall(name, arguments):
            function = find(name, len(arguments))
            if function is None:
                return FALSE
            kinds = [CesqlType.INTEGER if name == "INT" else function.kind_of(place) for place in range(len(arguments))]
            pairs = zip(arguments, kinds, strict=True)
            return all_of(*(_integral(each) if kind is CesqlType.INTEGER else demands(each) for each, kind in pairs))
    return all_of(TRUE, *map(demands, children(node)))


def _demands_of_all(node: CesqlExpression) -> Filter:
    """A filter that holds whenever the expression is true."""
    match node:
        case CesqlLogic("AND", parts):
            return all_of(*map(_demands_of_all, parts))
    return demands(node)


def _integral(node: CesqlExpression) -> Filter:
    """The demands of an expression that is cast to Integer."""
    if not isinstance(node, CesqlAttribute) or node.name in NO_ATTRIBUTES:
        return demands(node)
    return is_text("matches", node.name, _INTEGRAL if node.name in STRINGS else _INTEGRAL_OR_TRUTH)
