"""A step with join variables as alternatives, each a plain filter and comparisons with variables.

An event satisfies a step if, for one of the alternatives, the filter is true and so is every comparison. Only what
contains a variable is split up: everything else stays whole, for the matcher of filters.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TypeAlias

from vedette.language.ast import (
    OPPOSITE,
    And,
    Attribute,
    Comparator,
    Composite,
    Filter,
    FilterLeaf,
    IsNull,
    Not,
    Or,
    Step,
    TruthLiteral,
)
from vedette.language.join_variables import (
    VariableTest,
    joined_conditions,
    speaks_of_variables,
    variable_test,
    variable_tests,
)
from vedette.language.steps import steps_of

__all__ = ["StepAlternative", "VariableTest", "alternatives", "shared_variable"]


@dataclass(frozen=True, slots=True)
class StepAlternative:
    """A filter without join variables, and comparisons with variables; all have to hold."""

    filter: Filter
    tests: tuple[VariableTest, ...]


_StepConjuncts: TypeAlias = tuple[tuple[Filter, ...], tuple[VariableTest, ...]]  # what has to be true, all of it


def alternatives(step: Step, text: str) -> tuple[StepAlternative, ...]:
    """The step as a disjunction, usually of one; NotSupported if a variable is used where none can be."""
    if not speaks_of_variables(step.filter):
        return (StepAlternative(step.filter, ()),)
    whole = _all([_ways(part, True, text, joined=True) for part in joined_conditions(step.filter)])
    return tuple(StepAlternative(_conjunction(filters), tests) for filters, tests in whole)


def _ways(node: Filter, holds: bool, text: str, *, joined: bool = False) -> list[_StepConjuncts]:
    """The ways in which a condition is true, or (if not `holds`) is false; null makes it neither."""
    if not speaks_of_variables(node):
        return [((node if holds else Not(node, node.span),), ())]
    if isinstance(node, Not):
        return _ways(node.part, not holds, text)
    simpler = node.conjuncts() if isinstance(node, FilterLeaf) else ()
    if len(simpler) > 1:
        return _ways(And(simpler, node.span), holds, text)
    if isinstance(node, And | Or):
        if isinstance(node, And) == holds:
            return _all([_ways(part, holds, text) for part in node.parts])
        plain = tuple(part for part in node.parts if not speaks_of_variables(part))
        others = [way for part in node.parts if speaks_of_variables(part) for way in _ways(part, holds, text)]
        if not plain:
            return others
        rest = plain[0] if len(plain) == 1 else type(node)(plain, node.span)
        return [*_ways(rest, holds, text), *others]
    test = variable_test(node, text, joined=joined)
    if test.op is not Comparator.SAME:
        return [_test(test.variable, test.op if holds else OPPOSITE[test.op], test.path, test.binds)]
    if holds:  # a variable is never null
        return [_test(test.variable, Comparator.EQ, test.path, False)]
    return [((IsNull(Attribute(test.path)),), ()), _test(test.variable, Comparator.NE, test.path, False)]


def _test(variable: str, op: Comparator, path: str, binds: bool) -> _StepConjuncts:
    return (), (VariableTest(variable, op, path, binds),)


def _all(parts: list[list[_StepConjuncts]]) -> list[_StepConjuncts]:
    """All combinations of one way of each part."""
    return [
        (
            tuple(itertools.chain.from_iterable(filters for filters, _ in ways)),
            tuple(itertools.chain.from_iterable(tests for _, tests in ways)),
        )
        for ways in itertools.product(*parts)
    ]


def _conjunction(filters: tuple[Filter, ...]) -> Filter:
    if not filters:
        return TruthLiteral(True)
    return filters[0] if len(filters) == 1 else And(filters)


def shared_variable(composite: Composite) -> str | None:
    """The attribute that every step binds to the same variable, so that each value is a partition."""
    if composite.by:
        return None
    shared: dict[tuple[str, str], None] | None = None
    for step in steps_of(composite.pattern):
        bound = {(test.variable, test.path): None for test, _ in variable_tests(step, "") if test.binds}
        shared = bound if shared is None else {each: None for each in shared if each in bound}
    return next((path for _, path in shared or ()), None)
