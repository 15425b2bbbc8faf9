"""Cost estimate of a subscription, known at registration, for quotas.

One plain test of an attribute is 1. What is dearer counts more: a regular expression, a look into the whole event, a
step of a pattern (which waits), a call of an operator (which runs somebody's code).
"""

from __future__ import annotations

from typing import Any, Final

from vedette.language import ast
from vedette.language.parser import parse

_TEST: Final = 1.0
_MATCHES: Final = 5.0
_CONTAINS: Final = 2.0
_PLACE: Final = 5.0
_CALL: Final = 50.0
_STEP: Final = 10.0
_ITEM: Final = 0.01  # of a list of constants
_PREDICTION: Final = 20.0
_HORIZON: Final = 0.02  # of every event that a forecast looks ahead, for every step that a partial match may stand at
_TEXT: Final = {"matches": _MATCHES, "contains": _CONTAINS, "endswith": _CONTAINS, "like": _CONTAINS}


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
        case ast.Composite():
            return _cost(node.pattern)
        case ast.And() | ast.Or() | ast.PatternAnd() | ast.PatternOr() | ast.Sequence():
            return sum(map(_cost, node.parts))
        case ast.Not() | ast.TimedPattern():
            return _cost(node.part)
        case ast.Repeat():
            return node.most * _cost(node.part)
        case ast.Absence():
            return _cost(node.step)
        case ast.Step():
            return _STEP + _cost(node.filter)
        case ast.Call():
            return _CALL
        case ast.TextTest():
            return _TEXT.get(node.kind, _TEST)
        case ast.Within() | ast.Near():
            return _PLACE
        case ast.In():
            return _TEST + _ITEM * len(node.items)
        case ast.InNetwork():
            return _TEST + _ITEM * len(node.networks)
        case _:
            return _TEST
