"""What does a subscription cost? A rough number, known before it stands, so that nobody can make others pay.

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
_TEXT: Final = {"matches": _MATCHES, "contains": _CONTAINS, "endswith": _CONTAINS, "like": _CONTAINS}


def cost_of(text: str, *, predicts: bool = False) -> float:
    """The cost of a filter or pattern; FilterError if it is none."""
    return _cost(parse(text)) + (_PREDICTION if predicts else 0.0)


def _cost(node: Any) -> float:
    """Of a node and all below it; patterns and filters alike."""
    match node:
        case ast.Composite():
            return _cost(node.pattern)
        case ast.And() | ast.Or() | ast.Every() | ast.Either() | ast.Sequence():
            return sum(map(_cost, node.parts))
        case ast.Not() | ast.Conditioned():
            return _cost(node.part)
        case ast.Repeat():
            return node.most * _cost(node.part)
        case ast.Absent():
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
