"""Expressions of CloudEvents SQL -> filters: an event matches if the expression is true for it, and nothing goes wrong.

As much as can be said by tests of single attributes goes into the index. The rest is left to the operator `cesql`,
which evaluates it for events that have what it needs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from vedette.dialects.cesql import attributes
from vedette.dialects.cesql.conditions import FALSE, TRUE, all_of
from vedette.dialects.cesql.demands import left_to_operator
from vedette.dialects.cesql.nodes import Attribute, Expression, Logic
from vedette.dialects.cesql.outcomes import Outcomes, known, type_of
from vedette.dialects.cesql.parser import parse
from vedette.dialects.cesql.values import NO_ATTRIBUTES, Kind
from vedette.errors import DialectError, LimitError
from vedette.language import ast, limits
from vedette.language.ast import Filter
from vedette.language.parser import parse_filter
from vedette.language.render import render

_SURE: Final = 20  # tests, conjunctions, and characters of regular expressions times ten, that no limit forbids
_CONJUNCTIONS: Final = limits.CONJUNCTIONS // 4


def translate(rule: str | Mapping[str, Any]) -> Filter:
    """What an expression says in Vedette's language; DialectError if it is none."""
    if not isinstance(rule, str):
        raise DialectError(
            f"an expression of CloudEvents SQL is a text, not a {type(rule).__name__}",
            hint="filters such as {'exact': …} are of the dialect 'cloudevents'",
        )
    root = parse(rule)
    for integers in (True, False):
        made = _holds(root, Outcomes(rule, integers=integers))
        if _fits(made):
            return made
    made = all_of(*(_sure(part, rule) for part in (root.parts if isinstance(root, Logic) and root.op == "AND" else ())))
    return made if made != TRUE and _fits(made) else left_to_operator(root, rule, Kind.BOOLEAN).holds


def _sure(part: Expression, source: str) -> Filter:
    """One of several parts, if they are too much together."""
    made = Outcomes(source, integers=False).as_boolean(part).holds
    return made if _fits(made) else left_to_operator(part, source, type_of(part)).holds


def _holds(root: Expression, outcomes: Outcomes) -> Filter:
    """Where the whole is the Boolean true: nothing is cast to it."""
    result = known(root)
    if result is not None:
        return TRUE if result.holds else FALSE
    if isinstance(root, Attribute):
        return FALSE if root.name in NO_ATTRIBUTES else attributes.is_true(root.name)
    return outcomes.of(root).holds if type_of(root) is Kind.BOOLEAN else FALSE


def _fits(made: Filter) -> bool:
    """Whether the language takes it: some expressions, such as many XORs, are too much once they are written out."""
    sizes: dict[int, tuple[int, int, int]] = {}
    tests, conjunctions, expressions = _size(made, sizes)
    if max(tests, conjunctions, expressions // 10) <= _SURE:
        return True
    if tests > limits.NODES or conjunctions > _CONJUNCTIONS or expressions > limits.REGEX_CHARACTERS:
        return False
    try:
        parse_filter(render(made))
    except LimitError:
        return False
    return True


def _size(made: Filter, sizes: dict[int, tuple[int, int, int]]) -> tuple[int, int, int]:
    """Tests, conjunctions and characters of regular expressions, each part (which may be shared) counted once."""
    found = sizes.get(id(made))
    if found is None:
        found = sizes[id(made)] = _measured(made, sizes)
    return found


def _measured(made: Filter, sizes: dict[int, tuple[int, int, int]]) -> tuple[int, int, int]:
    match made:
        case ast.And(parts):
            tests, conjunctions, expressions = zip(*(_size(part, sizes) for part in parts), strict=True)
            return sum(tests), math.prod(conjunctions), sum(expressions)
        case ast.Or(parts):
            tests, conjunctions, expressions = zip(*(_size(part, sizes) for part in parts), strict=True)
            return sum(tests), sum(conjunctions), sum(expressions)
        case ast.Not(ast.And(parts)):
            return _measured(ast.Or(tuple(ast.Not(part) for part in parts)), sizes)
        case ast.TextTest(_, "matches", ast.Literal(str() as pattern)) | ast.Not(
            ast.TextTest(_, "matches", ast.Literal(str() as pattern))
        ):
            return 1, 1, len(pattern)
        case ast.In(_, items):
            return len(items), 1, 0
    return 1, 1, 0
