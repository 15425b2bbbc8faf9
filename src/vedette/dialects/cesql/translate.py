"""Translates CloudEvents SQL to filters: an event matches if the expression is true for it, without errors.

As much as possible becomes tests of single attributes, for the index. The rest is left to the operator `cesql`,
which evaluates it for events that satisfy its preconditions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

from vedette.dialects.cesql import attribute_tests
from vedette.dialects.cesql.conditions import FALSE, TRUE, all_of
from vedette.dialects.cesql.expression_conditions import ExpressionConditions, constant_value, type_of
from vedette.dialects.cesql.nodes import CesqlAttribute, CesqlExpression, CesqlLogic
from vedette.dialects.cesql.parser import parse
from vedette.dialects.cesql.preconditions import left_to_operator
from vedette.dialects.cesql.values import NO_ATTRIBUTES, CesqlType
from vedette.errors import DialectError, LimitError
from vedette.language import ast, limits
from vedette.language.ast import Filter
from vedette.language.parser import parse_filter
from vedette.language.render import render


def translate(rule: str | Mapping[str, Any]) -> Filter:
    """Translate an expression; DialectError if it is invalid."""
    if not isinstance(rule, str):
        raise DialectError(
            f"an expression of CloudEvents SQL is a text, not a {type(rule).__name__}",
            hint="filters such as {'exact': …} are of the dialect 'cloudevents'",
        )
    root = parse(rule)
    made = _holds(root, ExpressionConditions(rule))
    if not _fits(made):
        parts = root.parts if isinstance(root, CesqlLogic) and root.op == "AND" else (root,)
        made = _some_left(parts, rule)
    return made if _fits(made) else left_to_operator(root, rule, CesqlType.BOOLEAN).holds


def _some_left(parts: Sequence[CesqlExpression], source: str) -> Filter:
    """The AND of parts that are too large together: the smallest become tests, the others are left to the operator."""
    outcomes = ExpressionConditions(source)
    made = {number: outcomes.as_boolean(part).holds for number, part in enumerate(parts)}
    sizes = {number: _size(each, {}) for number, each in made.items()}
    total = _CesqlSize(0, 1, 0)
    for number in sorted(made, key=sizes.__getitem__):
        larger = total.beside(sizes[number])
        if larger.is_too_much:
            made[number] = left_to_operator(parts[number], source, type_of(parts[number])).holds
        else:
            total = larger
    return all_of(*made.values())


def _holds(root: CesqlExpression, outcomes: ExpressionConditions) -> Filter:
    """When the whole expression is the Boolean true; its result is not cast."""
    result = constant_value(root)
    if result is not None:
        return TRUE if result.holds else FALSE
    if isinstance(root, CesqlAttribute):
        return FALSE if root.name in NO_ATTRIBUTES else attribute_tests.is_true(root.name)
    return outcomes.of(root).holds if type_of(root) is CesqlType.BOOLEAN else FALSE


class _CesqlSize(NamedTuple):
    """The size of a filter as written: conjunctions if ORs are distributed, tests, characters of expressions."""

    tests: int = 1
    conjunctions: int = 1
    expressions: int = 0

    def beside(self, other: _CesqlSize) -> _CesqlSize:
        """The size of both joined with AND."""
        return _CesqlSize(
            self.tests + other.tests, self.conjunctions * other.conjunctions, self.expressions + other.expressions
        )

    def or_else(self, other: _CesqlSize) -> _CesqlSize:
        """The size of both joined with OR."""
        return _CesqlSize(
            self.tests + other.tests, self.conjunctions + other.conjunctions, self.expressions + other.expressions
        )

    @property
    def is_little(self) -> bool:
        """Whether the size is within all limits."""
        return max(self.tests, self.conjunctions) <= 20 and self.expressions <= 200

    @property
    def is_too_much(self) -> bool:
        """Whether the size is over some limit."""
        return (
            self.tests > limits.NODES
            or self.conjunctions > limits.CONJUNCTIONS // 4
            or self.expressions > limits.REGEX_CHARACTERS
        )


def _fits(made: Filter) -> bool:
    """Whether a filter is within the language's limits; some expressions, such as many XORs, grow too large."""
    size = _size(made, {})
    if size.is_little or size.is_too_much:
        return size.is_little
    try:
        parse_filter(render(made))
    except LimitError:
        return False
    return True


def _size(made: Filter, sizes: dict[int, _CesqlSize]) -> _CesqlSize:
    """The size of a filter; each part, which may be shared, is measured once."""
    found = sizes.get(id(made))
    if found is None:
        found = sizes[id(made)] = _measured(made, sizes)
    return found


def _measured(made: Filter, sizes: dict[int, _CesqlSize]) -> _CesqlSize:
    match made:
        case ast.And(parts):
            return reduce(_CesqlSize.beside, (_size(part, sizes) for part in parts))
        case ast.Or(parts):
            return reduce(_CesqlSize.or_else, (_size(part, sizes) for part in parts))
        case ast.Not(part):
            return _measured(part, sizes)
        case ast.TextTest(_, "matches", ast.Literal(str() as pattern)):
            return _CesqlSize(expressions=len(pattern))
        case ast.In(_, items):
            return _CesqlSize(tests=len(items))
    return _CesqlSize()
