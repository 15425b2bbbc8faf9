"""Cost estimate of a subscription, known at registration, for quotas.

One plain test of an attribute is 1. What is dearer counts more: a regular expression, a place, a step of a pattern
(which waits), a call of an operator (which runs somebody's code). Tests and calls know their costs.
"""

from __future__ import annotations

from typing import Any, Final

from vedette.language import ast
from vedette.language.parser import parse

_TRUTH: Final = 1.0  # of `true` and `false`
_STEP: Final = 10.0
_PREDICTION: Final = 20.0
_HORIZON: Final = 0.02  # of every event that a forecast looks ahead, for every step that a partial match may stand at


def cost_of(text: str, *, within: int | None = None) -> float:
    """The cost of a filter or pattern, with forecasts over `within` events if given; FilterError for a bad text."""
    tree = parse(text)
    return _cost(tree) + (0.0 if within is None else _PREDICTION + _HORIZON * within * _steps(tree))


def _steps(node: Any) -> int:
    """Number of steps of a pattern, with repetitions written out."""
    match node:
        case ast.Composite():
            return _steps(node.pattern)
        case ast.PatternAnd() | ast.PatternOr() | ast.Sequence():
            return sum(map(_steps, node.parts))
        case ast.Repeat():
            return node.most * _steps(node.part)
        case ast.TimedPattern():
            return _steps(node.part)
        case _:
            return 1


def _cost(node: Any) -> float:
    """The cost of a node and all nodes below it, of patterns and filters alike."""
    match node:
        case ast.FilterLeaf():
            return node.cost
        case ast.TruthLiteral():
            return _TRUTH
        case ast.Step():
            return _STEP + _cost(node.filter)
        case ast.Repeat():
            return node.most * _cost(node.part)
    return sum(map(_cost, ast.parts_of(node)))
