"""A filter with operators as alternatives: each a plain filter for the index, calls of operators, value constraints.

An event satisfies the filter if, for one of them, the plain filter is true and some values of the variables make every
call and every constraint true. Only what stands around operators and variables is taken apart: everything else stays
whole, for the index.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TypeAlias

from vedette.errors import LimitError, NotSupported
from vedette.language import limits
from vedette.language.ast import And, Call, Not, Truth
from vedette.language.checked import AndPart, Checked, NotPart, OrPart, Part, Residual, Test, TruthPart, leaves
from vedette.operators.constraints import Constraint, constraint


@dataclass(frozen=True, slots=True)
class SignedCall:
    """`p(…)`, or (`positive` is false) `not p(…)`."""

    node: Call
    positive: bool


@dataclass(frozen=True, slots=True)
class Alternative:
    """All of these hold; the calls in the order in which they are written."""

    plain: Part
    calls: tuple[SignedCall, ...]
    constraints: tuple[Constraint, ...]


@dataclass(frozen=True, slots=True)
class _Way:
    """What has to be so, all of it."""

    plain: tuple[Part, ...] = ()
    calls: tuple[SignedCall, ...] = ()
    constraints: tuple[Constraint, ...] = field(default=())


_Ways: TypeAlias = list[_Way]


def has_operators(part: Part) -> bool:
    """Only an operator, or what it binds, decides some of it."""
    return any(isinstance(leaf, Residual) for leaf in leaves(part))


def alternatives(checked: Checked, limit: int = limits.CONJUNCTIONS) -> tuple[Alternative, ...]:
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
    """How many ways there will be, before any of them is made."""
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


def _ways(part: Part, holds: bool, text: str) -> _Ways:
    """The ways in which a part is true, or (`holds` is false) is false: unknown is neither."""
    if not has_operators(part):
        return [_Way(plain=(part if holds else NotPart(Not(part.node, part.node.span), part),))]
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


def _decided(node: Call | Test, holds: bool, text: str) -> _Way:
    if isinstance(node, Call):
        return _Way(calls=(SignedCall(node, holds),))
    return _Way(constraints=(constraint(node, holds, text),))


def _all(parts: list[_Ways]) -> _Ways:
    """One way of each part, in all combinations."""
    return [
        _Way(
            tuple(itertools.chain.from_iterable(way.plain for way in ways)),
            tuple(itertools.chain.from_iterable(way.calls for way in ways)),
            tuple(itertools.chain.from_iterable(way.constraints for way in ways)),
        )
        for ways in itertools.product(*parts)
    ]


def _conjunction(parts: tuple[Part, ...]) -> Part:
    if not parts:
        return TruthPart(Truth(True), True)
    return parts[0] if len(parts) == 1 else AndPart(And(tuple(part.node for part in parts)), parts)
