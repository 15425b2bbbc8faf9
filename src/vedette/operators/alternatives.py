"""A filter with operators as alternatives: each a plain filter for the index, calls of operators, value constraints.

An event satisfies the filter if, for one of them, the plain filter is true and some values of the variables make every
call and every constraint true. Only what contains operators or variables is split up: everything else stays whole,
for the index.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TypeAlias

from vedette.errors import LimitError, NotSupported
from vedette.language import limits
from vedette.language.ast import And, Call, Not, TruthLiteral, ValueTest
from vedette.language.checked_tree import (
    AndPart,
    CheckedExpression,
    NotPart,
    OrPart,
    Part,
    Residual,
    TruthPart,
    residuals,
)
from vedette.operators.variable_constraints import VariableConstraint, constraint


@dataclass(frozen=True, slots=True)
class SignedCall:
    """`p(…)`, or (`positive` is false) `not p(…)`."""

    node: Call
    positive: bool


@dataclass(frozen=True, slots=True)
class Alternative:
    """A conjunction; its calls are in the order in which they are written."""

    plain: Part
    calls: tuple[SignedCall, ...]
    constraints: tuple[VariableConstraint, ...]


@dataclass(frozen=True, slots=True)
class _Conjuncts:
    """Conjuncts collected so far."""

    plain: tuple[Part, ...] = ()
    calls: tuple[SignedCall, ...] = ()
    constraints: tuple[VariableConstraint, ...] = field(default=())


_ConjunctLists: TypeAlias = list[_Conjuncts]


def has_operators(part: Part) -> bool:
    """Whether a part of a filter contains operators, or variables that they bind."""
    return next(residuals(part), None) is not None


def alternatives(checked: CheckedExpression, limit: int = limits.CONJUNCTIONS) -> tuple[Alternative, ...]:
    """The filter as a disjunction, usually of one; LimitError if it would have more than `limit` parts."""
    if checked.root is None:
        raise NotSupported("a pattern speaks of several events; each of its steps has alternatives")
    count = _count(checked.root, True)
    if count > limit:
        raise LimitError(
            f"operators stand in {count:,} combinations; the limit is {limit:,}",
            text=checked.text,
            end=len(checked.text),
            hint="ANDs of ORs multiply: write fewer alternatives, or several subscriptions",
        )
    ways = _ways(checked.root, True, checked.text)
    return tuple(Alternative(_conjunction(way.plain), way.calls, way.constraints) for way in ways)


def _count(part: Part, holds: bool) -> int:
    """The number of alternatives, computed before any is made."""
    if not has_operators(part):
        return 1
    if isinstance(part, NotPart):
        return _count(part.part, not holds)
    if isinstance(part, AndPart | OrPart):
        counts = [_count(each, holds) for each in part.parts if has_operators(each)]
        if isinstance(part, AndPart) == holds:
            return math.prod(counts)
        return sum(counts) + (len(counts) < len(part.parts))
    return 1


def _ways(part: Part, holds: bool, text: str) -> _ConjunctLists:
    """The ways in which a part is true, or (if not `holds`) is false; unknown is neither."""
    if not has_operators(part):
        return [_Conjuncts(plain=(part if holds else NotPart(Not(part.node, part.node.span), part),))]
    if isinstance(part, NotPart):
        return _ways(part.part, not holds, text)
    if isinstance(part, AndPart | OrPart):
        if isinstance(part, AndPart) == holds:
            return _all([_ways(each, holds, text) for each in part.parts])
        plain = tuple(each for each in part.parts if not has_operators(each))
        others = [way for each in part.parts if has_operators(each) for way in _ways(each, holds, text)]
        if not plain:
            return others
        rest = plain[0] if len(plain) == 1 else type(part)(part.node, plain)
        return [*_ways(rest, holds, text), *others]
    assert isinstance(part, Residual)  # every other leaf is plain
    return [_decided(part.node, holds, text)]


def _decided(node: Call | ValueTest, holds: bool, text: str) -> _Conjuncts:
    if isinstance(node, Call):
        return _Conjuncts(calls=(SignedCall(node, holds),))
    return _Conjuncts(constraints=(constraint(node, holds, text),))


def _all(parts: list[_ConjunctLists]) -> _ConjunctLists:
    """All combinations of one way of each part."""
    return [
        _Conjuncts(
            tuple(itertools.chain.from_iterable(way.plain for way in ways)),
            tuple(itertools.chain.from_iterable(way.calls for way in ways)),
            tuple(itertools.chain.from_iterable(way.constraints for way in ways)),
        )
        for ways in itertools.product(*parts)
    ]


def _conjunction(parts: tuple[Part, ...]) -> Part:
    if not parts:
        return TruthPart(TruthLiteral(True), True)
    return parts[0] if len(parts) == 1 else AndPart(And(tuple(part.node for part in parts)), parts)
