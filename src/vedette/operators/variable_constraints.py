"""Value constraints on variables: `?people > 50`, `?y > 2 * ?z - speed`, `not ?name like 'a%'`.

Tests mean the same as in filters. A value of another kind than the test needs (a text instead of a point) makes it
unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from vedette.errors import FilterError
from vedette.language.ast import (
    MIRRORED,
    Arithmetic,
    Attribute,
    Comparator,
    Comparison,
    In,
    JoinVariable,
    Literal,
    Not,
    Operand,
    QuantifiedAttribute,
    ValueTest,
    Variable,
    View,
)
from vedette.language.check import check
from vedette.language.render import render
from vedette.language.subjects import attribute_of, named_subject
from vedette.language.three_valued import Truth, every, opposite, some
from vedette.language.variables import inside
from vedette.operators.values import calculated, compare
from vedette.schema.keys import read
from vedette.schema.types import Kind

Bindings: TypeAlias = Mapping[str, Any]
Value: TypeAlias = Callable[[str], Any]  # an attribute's path -> what the event has there
ValueGetter: TypeAlias = Callable[[Bindings, Value], Any]
_Decider: TypeAlias = Callable[[Bindings, Value], Truth]


@dataclass(frozen=True)
class VariableConstraint:
    """A test of variables, or its negation; constraints with the same text are equal."""

    text: str
    variables: frozenset[str] = field(compare=False)
    paths: frozenset[str] = field(compare=False)  # of the attributes that it looks at
    holds: _Decider = field(compare=False, repr=False)
    node: ValueTest = field(compare=False, repr=False)
    positive: bool = field(compare=False, repr=False)

    def renamed(self, names: Mapping[str, str]) -> VariableConstraint:
        """The same constraint on other variables."""
        return constraint(self.node.with_operands(lambda each: renamed(each, names)), self.positive)


def constraint(node: ValueTest, positive: bool = True, text: str = "") -> VariableConstraint:
    """The constraint that a node expresses; FilterError, with its place in the text, if it is invalid."""
    if node.READ_AS:  # every test of an attribute can be a test of a variable
        check(node.with_operands(lambda operand: Attribute("value", operand.span)), None, text)
    parts = [each for operand in node.operands() for each in inside(operand)]
    for each in parts:
        if isinstance(each, QuantifiedAttribute) and not (
            isinstance(node, Comparison) and each in (node.left, node.right)
        ):
            message = "elements of a list are compared with a value, without arithmetic"
            hint = "write any(tags) = ?x"
            raise FilterError(message, text=text, start=each.span.start, end=each.span.end, hint=hint)
    decider = _decider(node)
    return VariableConstraint(
        render(node if positive else Not(node)),
        frozenset(each.name for each in parts if isinstance(each, Variable)),
        frozenset(_paths(parts)),
        decider if positive else _negated(decider),
        node,
        positive,
    )


def evaluated(operand: Operand, bindings: Bindings, value: Value) -> Any:
    """The value of an operand: a constant, an attribute, a variable, or arithmetic over them."""
    return reader(operand)(bindings, value)


def reader(operand: Operand) -> ValueGetter:
    """A function that evaluates the operand, for repeated use."""
    if isinstance(operand, Literal):
        constant = operand.value
        return lambda bindings, value: constant
    if isinstance(operand, Variable):
        name = operand.name
        return lambda bindings, value: bindings[name]
    if isinstance(operand, Attribute | QuantifiedAttribute):
        path = attribute_of(operand).path
        return lambda bindings, value: value(path)
    if isinstance(operand, JoinVariable):
        raise TypeError(f"${operand.name} belongs to a pattern, not to operators")
    if isinstance(operand, View):
        raise TypeError(f"{named_subject(operand)} is a view, which is compared with constants only")
    op, left, right = operand.op, reader(operand.left), reader(operand.right)
    return lambda bindings, value: calculated(op, left(bindings, value), right(bindings, value))


# ---------------------------------------------------------------- deciding


def _decider(node: ValueTest) -> _Decider:
    if isinstance(node, Comparison):
        return _comparison(node)
    if len(node.conjuncts()) > 1:
        deciders = [_decider(each) for each in node.conjuncts() if isinstance(each, ValueTest)]
        return lambda bindings, value: every([decide(bindings, value) for decide in deciders])
    read_operand = reader(node.operands()[0])
    if isinstance(node, In):
        items = [item.value for item in node.items]

        def among(bindings: Bindings, value: Value) -> Truth:
            found = read_operand(bindings, value)
            return some(compare(found, Comparator.EQ, item) for item in items)

        return among
    kinds = node.READ_AS or ()
    return lambda bindings, value: _of_kind(node, kinds, read_operand(bindings, value))


def _comparison(node: Comparison) -> _Decider:
    if isinstance(node.right, QuantifiedAttribute):
        node = Comparison(node.right, MIRRORED[node.op], node.left, node.span)
    op, left, right = node.op, reader(node.left), reader(node.right)
    if not isinstance(node.left, QuantifiedAttribute):
        return lambda bindings, value: compare(left(bindings, value), op, right(bindings, value))
    decide = some if node.left.quantifier == "any" else every

    def of_elements(bindings: Bindings, value: Value) -> Truth:
        elements, other = left(bindings, value), right(bindings, value)
        return None if elements is None else decide(compare(each, op, other) for each in elements)

    return of_elements


def _of_kind(test: ValueTest, kinds: tuple[Kind, ...], value: Any) -> Truth:
    """The truth of a test of a value, read as the first of the kinds as which it can be read; none: as it is."""
    if value is None or not kinds:
        return test.holds(value)
    for kind in kinds:
        try:
            return test.holds(read(kind, value))
        except ValueError:
            continue
    return None


def _negated(decider: _Decider) -> _Decider:
    return lambda bindings, value: opposite(decider(bindings, value))


# ---------------------------------------------------------------- what it speaks of


def _paths(operands: Iterable[Operand]) -> Iterator[str]:
    for each in operands:
        if isinstance(each, Attribute | QuantifiedAttribute):
            yield attribute_of(each).path


def renamed(operand: Operand, names: Mapping[str, str]) -> Operand:
    """The operand with other names for its variables."""
    if isinstance(operand, Variable):
        return replace(operand, name=names[operand.name])
    if isinstance(operand, Arithmetic):
        return replace(operand, left=renamed(operand.left, names), right=renamed(operand.right, names))
    return operand
