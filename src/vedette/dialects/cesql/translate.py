"""Expressions of CloudEvents SQL -> filters: an event matches if the expression is true for it, and nothing goes wrong.

As much as can be said by tests of single attributes goes into the index. The rest is left to the operator `cesql`,
which evaluates it for events that have what it needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

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


def translate(rule: str | Mapping[str, Any]) -> Filter:
    """What an expression says in Vedette's language; DialectError if it is none."""
    if not isinstance(rule, str):
        raise DialectError(
            f"an expression of CloudEvents SQL is a text, not a {type(rule).__name__}",
            hint="filters such as {'exact': …} are of the dialect 'cloudevents'",
        )
    root = parse(rule)
    made = _holds(root, Outcomes(rule))
    if not _fits(made):
        parts = root.parts if isinstance(root, Logic) and root.op == "AND" else (root,)
        made = _some_left(parts, rule)
    return made if _fits(made) else left_to_operator(root, rule, Kind.BOOLEAN).holds


def _some_left(parts: Sequence[Expression], source: str) -> Filter:
    """All parts hold, which are too much together: those that say the most by the least are tests, others are left."""
    outcomes = Outcomes(source)
    made = {number: outcomes.as_boolean(part).holds for number, part in enumerate(parts)}
    sizes = {number: _size(each, {}) for number, each in made.items()}
    total = _Size(0, 1, 0)
    for number in sorted(made, key=sizes.__getitem__):
        larger = total.beside(sizes[number])
        if larger.is_too_much:
            made[number] = left_to_operator(parts[number], source, type_of(parts[number])).holds
        else:
            total = larger
    return all_of(*made.values())


def _holds(root: Expression, outcomes: Outcomes) -> Filter:
    """Where the whole is the Boolean true: nothing is cast to it."""
    result = known(root)
    if result is not None:
        return TRUE if result.holds else FALSE
    if isinstance(root, Attribute):
        return FALSE if root.name in NO_ATTRIBUTES else attributes.is_true(root.name)
    return outcomes.of(root).holds if type_of(root) is Kind.BOOLEAN else FALSE


class _Size(NamedTuple):
    """Of a filter, as it is written: its conjunctions if ORs are taken apart, tests, characters of expressions."""

    tests: int = 1
    conjunctions: int = 1
    expressions: int = 0

    def beside(self, other: _Size) -> _Size:
        """Of both joined with AND."""
        return _Size(
            self.tests + other.tests, self.conjunctions * other.conjunctions, self.expressions + other.expressions
        )

    def or_else(self, other: _Size) -> _Size:
        """Of both joined with OR."""
        return _Size(
            self.tests + other.tests, self.conjunctions + other.conjunctions, self.expressions + other.expressions
        )

    @property
    def is_little(self) -> bool:
        """No limit forbids it."""
        return max(self.tests, self.conjunctions) <= 20 and self.expressions <= 200

    @property
    def is_too_much(self) -> bool:
        """Some limit forbids it."""
        return (
            self.tests > limits.NODES
            or self.conjunctions > limits.CONJUNCTIONS // 4
            or self.expressions > limits.REGEX_CHARACTERS
        )


def _fits(made: Filter) -> bool:
    """Whether the language takes it: some expressions, such as many XORs, are too much once they are written out."""
    size = _size(made, {})
    if size.is_little or size.is_too_much:
        return size.is_little
    try:
        parse_filter(render(made))
    except LimitError:
        return False
    return True


def _size(made: Filter, sizes: dict[int, _Size]) -> _Size:
    """Each part, which may be shared, is measured once."""
    found = sizes.get(id(made))
    if found is None:
        found = sizes[id(made)] = _measured(made, sizes)
    return found


def _measured(made: Filter, sizes: dict[int, _Size]) -> _Size:
    match made:
        case ast.And(parts):
            return reduce(_Size.beside, (_size(part, sizes) for part in parts))
        case ast.Or(parts):
            return reduce(_Size.or_else, (_size(part, sizes) for part in parts))
        case ast.Not(part):
            return _measured(part, sizes)
        case ast.TextTest(_, "matches", ast.Literal(str() as pattern)):
            return _Size(expressions=len(pattern))
        case ast.In(_, items):
            return _Size(tests=len(items))
    return _Size()
