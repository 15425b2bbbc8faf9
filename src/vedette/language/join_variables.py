"""Join variables: finds and checks the steps of a pattern that bind `$x` or test it.

`attribute = $x`, alone or joined with `and`, binds: it gives the variable its value, or, if it has one already, tests
for the same value. Every other use is a test, and needs an earlier step that always binds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from vedette.errors import FilterError, LimitError, NotSupported
from vedette.language import limits
from vedette.language.infer import inferred
from vedette.language.syntax import (
    MIRRORED,
    Absence,
    And,
    Attribute,
    Comparator,
    Composite,
    Filter,
    FilterLeaf,
    JoinVariable,
    Not,
    Or,
    Pattern,
    PatternAnd,
    PatternOr,
    Sequence,
    Span,
    Step,
    leaves_of,
)
from vedette.language.test_nodes.comparison import Comparison
from vedette.language.type_families import FAMILY_OF_KIND, named
from vedette.language.variables import inside
from vedette.schema.schema import Schema
from vedette.schema.types import Kind, Type

_ORDERING = frozenset({Comparator.LT, Comparator.LE, Comparator.GT, Comparator.GE})
_EQUAL_OR_NOT = frozenset({Kind.STRING, Kind.IP})  # kinds that join by equality only


@dataclass(frozen=True, slots=True)
class VariableTest:
    """`path op $variable`; one that binds is an equality, and gives the variable its value if it has none."""

    variable: str
    op: Comparator
    path: str
    binds: bool


def join_variables(node: Filter) -> Iterator[JoinVariable]:
    """The join variables of a filter, from left to right."""
    for leaf in leaves_of(node):
        for operand in leaf.operands():
            yield from (each for each in inside(operand) if isinstance(each, JoinVariable))


def speaks_of_variables(node: Filter) -> bool:
    """Whether there is a join variable in the filter."""
    return next(join_variables(node), None) is not None


def variable_test(node: Filter, text: str, *, joined: bool) -> VariableTest:
    """The test in a condition with a join variable; `joined`: it is alone or joined with `and` only.

    NotSupported if it is anything but a comparison of an attribute with a variable.
    """
    if isinstance(node, Comparison):
        left, op, right = node.left, node.op, node.right
        if isinstance(left, JoinVariable):
            left, op, right = right, MIRRORED[op], left
        if isinstance(left, Attribute) and isinstance(right, JoinVariable):
            return VariableTest(right.name, op, left.path, joined and op is Comparator.EQ)
    variable = next(join_variables(node)).name
    hint = f"write a comparison such as ip = ${variable} or price > ${variable}"
    return _unsupported(f"${variable} can only be compared with a single attribute", node.span, text, hint)


def joined_conditions(node: Filter) -> Iterator[Filter]:
    """The conditions joined by `and` at the top; the filter itself if it is not an AND."""
    if isinstance(node, And):
        for part in node.parts:
            yield from joined_conditions(part)
    else:
        yield node


def variable_tests(step: Step, text: str) -> Iterator[tuple[VariableTest, Span]]:
    """All comparisons of the step with join variables, as written, with their spans."""
    for condition in joined_conditions(step.filter):
        for leaf in _leaves(condition):
            yield variable_test(leaf, text, joined=leaf is condition), leaf.span


def _leaves(node: Filter) -> Iterator[Filter]:
    """The conditions of a filter that have join variables."""
    if isinstance(node, And | Or):
        for part in node.parts:
            yield from _leaves(part)
    elif isinstance(node, Not):
        yield from _leaves(node.part)
    elif isinstance(node, FilterLeaf):
        yield from (each for each in node.conjuncts() if speaks_of_variables(each))


# ---------------------------------------------------------------- whether it makes sense


def check_variables(composite: Composite, schema: Schema | None, text: str) -> None:
    """FilterError if a variable is tested where it may have no value yet, or has values of several types.

    NotSupported if it is used other than in a comparison with an attribute, or strings or addresses are ordered.
    """
    _JoinChecker(schema, text).after(composite.pattern, frozenset())


class _JoinChecker:
    """Follows a pattern in the order of its events."""

    def __init__(self, schema: Schema | None, text: str) -> None:
        self._schema = schema
        self._text = text
        self._first: dict[str, tuple[str, Type]] = {}  # variable -> the first attribute of a known type, and that

    def after(self, pattern: Pattern, before: frozenset[str]) -> frozenset[str]:
        """The variables that always have a value after the pattern, if those in `before` had one."""
        if isinstance(pattern, Step):
            return before | self._bound(pattern, before, absent=False)
        if isinstance(pattern, Absence):
            self._bound(pattern.step, before, absent=True)
            return before
        if isinstance(pattern, Sequence):
            for part in pattern.parts:
                before = self.after(part, before)
            return before
        if isinstance(pattern, PatternAnd):  # the parts may come in any order
            return before.union(*[self.after(part, before) for part in pattern.parts])
        if isinstance(pattern, PatternOr):
            return frozenset.intersection(*[self.after(part, before) for part in pattern.parts])
        return self.after(pattern.part, before)

    def _bound(self, step: Step, before: frozenset[str], *, absent: bool) -> frozenset[str]:
        bound: set[str] = set()
        for test, span in variable_tests(step, self._text):
            self._check_type(test, span, step)
            if test.binds and not absent:
                bound.add(test.variable)
            elif test.variable not in before:
                self._fail_unbound(test, span, absent)
        if _alternatives(step.filter, True) > limits.ALTERNATIVES:
            raise LimitError(
                f"the join variables of this step satisfy it in more than {limits.ALTERNATIVES} ways",
                text=self._text,
                start=step.span.start,
                end=step.span.end,
                hint="write fewer of them inside 'or' and 'not'",
            )
        return frozenset(bound)

    def _fail_unbound(self, test: VariableTest, span: Span, absent: bool) -> NoReturn:
        name = f"${test.variable}"
        what = "a step that must not happen only tests" if absent else "this only tests"
        message = f"{what} {name}, and no step before it surely gives {name} a value"
        raise self._error(message, span, f"begin with a step that has attribute = {name}, alone or joined with 'and'")

    def _check_type(self, test: VariableTest, span: Span, step: Step) -> None:
        declared = self._schema.type_of(test.path) if self._schema is not None else None
        found = declared or inferred(step.filter, self._text).get(test.path)
        if found is None:
            return
        if found.is_list or not found.kind.ordered:
            message = f"{test.path} is {named(found)}: a join variable stands for a single value that can be compared"
            raise self._error(message, span)
        if test.op in _ORDERING and found.kind in _EQUAL_OR_NOT:
            message = f"{test.path} is {named(found)}, which is compared with join variables by = and != only"
            _unsupported(message, span, self._text, f"write {test.path} = ${test.variable}")
        if declared is None:  # types inferred from the constants of one step do not apply to the others
            return
        path, other = self._first.setdefault(test.variable, (test.path, declared))
        if FAMILY_OF_KIND[other.kind] != FAMILY_OF_KIND[declared.kind]:
            message = f"${test.variable} stands for {named(other)} ({path}) and for {named(declared)} ({test.path})"
            raise self._error(message, span, "a join variable stands for one value in all steps")

    def _error(self, message: str, span: Span, hint: str | None = None) -> FilterError:
        return FilterError(message, text=self._text, start=span.start, end=span.end, hint=hint)


def _alternatives(node: Filter, holds: bool) -> int:
    """The number of conjunctions of variable tests for which the filter is true (or, if not `holds`, false)."""
    if isinstance(node, Not):
        return _alternatives(node.part, not holds)
    if isinstance(node, And | Or):
        counts = [_alternatives(part, holds) for part in node.parts if speaks_of_variables(part)]
        if isinstance(node, And) == holds:
            return math.prod(counts)
        return sum(counts) + (len(counts) < len(node.parts))
    simpler = node.conjuncts() if isinstance(node, FilterLeaf) else ()
    if len(simpler) > 1:
        return 1 if holds else 1 + sum(map(speaks_of_variables, simpler))
    distinct = isinstance(node, Comparison) and node.op is Comparator.SAME and speaks_of_variables(node)
    return 2 if distinct and not holds else 1


def _unsupported(message: str, span: Span, text: str, hint: str) -> NoReturn:
    raise NotSupported(FilterError(message, text=text, start=span.start, end=span.end, hint=hint).render())
