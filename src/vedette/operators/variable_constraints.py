"""Value constraints on variables: `?people > 50`, `?y > 2 * ?z - speed`, `not ?name like 'a%'`.

Tests mean the same as in filters. A value of another kind than the test needs (a text instead of a point) makes it
unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

from vedette.errors import FilterError
from vedette.language.ast import (
    MIRRORED,
    Arithmetic,
    Attribute,
    Comparator,
    Comparison,
    In,
    InNetwork,
    IsNull,
    JoinVariable,
    Literal,
    Near,
    Not,
    Operand,
    QuantifiedAttribute,
    Range,
    TextTest,
    Variable,
    View,
    Within,
)
from vedette.language.check import check
from vedette.language.checked_tree import Test
from vedette.language.evaluate import Truth, every, opposite, some, tested
from vedette.language.render import render
from vedette.language.subjects import attribute_of, named_subject
from vedette.language.variables import ends, inside
from vedette.operators.values import calculated, compare
from vedette.schema.keys import read
from vedette.schema.types import Kind

Bindings: TypeAlias = Mapping[str, Any]
Value: TypeAlias = Callable[[str], Any]  # an attribute's path -> what the event has there
ValueGetter: TypeAlias = Callable[[Bindings, Value], Any]
_Decider: TypeAlias = Callable[[Bindings, Value], Truth]
_N = TypeVar("_N", bound=Test)


@dataclass(frozen=True)
class VariableConstraint:
    """A test of variables, or its negation; constraints with the same text are equal."""

    text: str
    variables: frozenset[str] = field(compare=False)
    paths: frozenset[str] = field(compare=False)  # of the attributes that it looks at
    holds: _Decider = field(compare=False, repr=False)
    node: Test = field(compare=False, repr=False)
    positive: bool = field(compare=False, repr=False)

    def renamed(self, names: Mapping[str, str]) -> VariableConstraint:
        """The same constraint on other variables."""
        return constraint(_renamed(self.node, names), self.positive)


def constraint(node: Test, positive: bool = True, text: str = "") -> VariableConstraint:
    """The constraint that a node expresses; FilterError, with its place in the text, if it is invalid."""
    if isinstance(node, TextTest | InNetwork | Within | Near):
        # Every test of an attribute can be a test of a variable.
        check(replace(node, operand=Attribute("value", node.operand.span)), None, text)
    parts = [each for operand in _operands(node) for each in inside(operand)]
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


def _decider(node: Test) -> _Decider:
    if isinstance(node, Comparison):
        return _comparison(node)
    if isinstance(node, Range):
        low, high = (_comparison(end) for end in ends(node))
        return lambda bindings, value: every((low(bindings, value), high(bindings, value)))
    read_operand = reader(node.operand)
    if isinstance(node, In):
        items = [item.value for item in node.items]

        def among(bindings: Bindings, value: Value) -> Truth:
            found = read_operand(bindings, value)
            return some(compare(found, Comparator.EQ, item) for item in items)

        return among
    kinds = _KINDS[type(node)]
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


# How a value has to be read for a test to make sense, the first that does; none: as it is.
_KINDS: dict[type, tuple[Kind, ...]] = {
    IsNull: (),
    TextTest: (Kind.STRING,),
    InNetwork: (Kind.IP,),
    Within: (Kind.POINT, Kind.REGION),
    Near: (Kind.POINT,),
}


def _of_kind(test: Test, kinds: tuple[Kind, ...], value: Any) -> Truth:
    if value is None or not kinds:
        return tested(test, value)
    for kind in kinds:
        try:
            return tested(test, read(kind, value))
        except ValueError:
            continue
    return None


def _negated(decider: _Decider) -> _Decider:
    return lambda bindings, value: opposite(decider(bindings, value))


# ---------------------------------------------------------------- what it speaks of


def _operands(node: Test) -> tuple[Operand, ...]:
    if isinstance(node, Comparison):
        return node.left, node.right
    if isinstance(node, Range):
        return node.operand, node.low, node.high
    return (node.operand,)


def _paths(operands: Iterable[Operand]) -> Iterator[str]:
    for each in operands:
        if isinstance(each, Attribute | QuantifiedAttribute):
            yield attribute_of(each).path


def _renamed(node: _N, names: Mapping[str, str]) -> _N:
    if isinstance(node, Comparison):
        return replace(node, left=renamed(node.left, names), right=renamed(node.right, names))
    if isinstance(node, Range):
        low, high = renamed(node.low, names), renamed(node.high, names)
        return replace(node, operand=renamed(node.operand, names), low=low, high=high)
    return replace(node, operand=renamed(node.operand, names))


def renamed(operand: Operand, names: Mapping[str, str]) -> Operand:
    """The operand with other names for its variables."""
    if isinstance(operand, Variable):
        return replace(operand, name=names[operand.name])
    if isinstance(operand, Arithmetic):
        return replace(operand, left=renamed(operand.left, names), right=renamed(operand.right, names))
    return operand
