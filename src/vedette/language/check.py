"""Checks filters and patterns against a schema: `vedette.language.checker` says how."""

from __future__ import annotations

import functools
from collections.abc import Callable

from vedette.errors import FilterError
from vedette.language.checked_tree import CheckedExpression, CheckedStep
from vedette.language.checker import FilterChecker
from vedette.language.join_variables import check_variables
from vedette.language.steps import check_names, steps_of
from vedette.language.syntax import Composite, Expression, Step
from vedette.schema.schema import Schema


def check(expression: Expression, schema: Schema | None = None, text: str = "") -> CheckedExpression:
    """Check a filter or pattern, and give it types; FilterError shows the place where it makes no sense."""
    if not isinstance(expression, Composite):
        return CheckedExpression(expression, FilterChecker(expression, schema, text).root(), (), schema, text)
    check_names(expression, schema, text)
    steps = tuple(one() for one in _steps(expression, schema, text))
    check_variables(expression, schema, text)
    return CheckedExpression(expression, None, steps, schema, text)


def mistakes(expression: Expression, schema: Schema | None, text: str) -> list[FilterError]:
    """The first mistake of every step of a pattern, and of its names, in the order of the text; empty for a filter."""
    found: list[FilterError] = []
    if not isinstance(expression, Composite):
        return found
    for one in (lambda: check_names(expression, schema, text), *_steps(expression, schema, text)):
        try:
            one()
        except FilterError as error:
            found.append(error)
    return sorted(found, key=lambda error: error.start)


def _steps(composite: Composite, schema: Schema | None, text: str) -> list[Callable[[], CheckedStep]]:
    """Functions that check each step of a pattern."""
    written = tuple(steps_of(composite.pattern))
    labels = frozenset(step.label for step in written if step.label is not None)

    def checked(step: Step) -> CheckedStep:
        return CheckedStep(step, FilterChecker(step.filter, schema, text, labels).root())

    return [functools.partial(checked, step) for step in written]
