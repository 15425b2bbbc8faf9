"""Whether one event satisfies a step of a pattern, given the values of join variables: slow, with explanations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from vedette.errors import FilterError, SchemaError
from vedette.filters.explain import FilterExplanation, explain
from vedette.filters.subscription_set import SubscriptionSet
from vedette.language.ast import Filter, JoinVariable, Literal, Operand, Step, with_operands
from vedette.language.check import check
from vedette.language.checked_tree import CheckedExpression
from vedette.language.evaluate import Event, value_of
from vedette.language.join_variables import VariableTest, variable_tests
from vedette.language.render import render
from vedette.operators.calling import Calling
from vedette.operators.explain import OperatorExplanation, explain_operators
from vedette.operators.matcher import OperatorMatcher
from vedette.patterns.step_alternatives import alternatives
from vedette.schema.schema import Schema

Bindings: TypeAlias = tuple[tuple[str, Any], ...]  # variable and value, sorted by variable


class StepFilterResult(NamedTuple):
    """The result of a step for an event: every part of its filter, and the variables' values if it takes the event."""

    explanation: FilterExplanation | None  # None: the values of variables cannot even be compared with the event's
    bindings: Bindings | None


class StepFilters:
    """The steps of one pattern, in which known variables are replaced by values."""

    def __init__(self, schema: Schema | None, text: str, calling: Calling | None = None) -> None:
        self._schema, self._text = schema, text
        self._calling = calling or Calling()
        self._callers: dict[int, OperatorMatcher] = {}  # by the filter that calls operators
        self._called: tuple[Event | None, dict[int, OperatorExplanation]] = (None, {})  # of the latest event
        self._tests: dict[Step, tuple[VariableTest, ...]] = {}
        self._filled: dict[tuple[Step, Bindings], CheckedExpression | None] = {}

    def take(self, step: Step, event: Event, bindings: Bindings) -> StepFilterResult:
        """Whether the event satisfies the step, and the values of variables that it binds."""
        known = dict(bindings)
        for test in self._tests_of(step):
            if test.binds and known.get(test.variable) is None:
                known[test.variable] = self._value(test.path, event)
        checked = self._checked(step, known)
        if checked is None:
            return StepFilterResult(None, None)
        try:
            if checked.calls:
                called = self._explained(checked, event)
                explanation, matched = called.parts, called.matched
            else:
                explanation = explain(checked, event)
                matched = explanation.matched
        except SchemaError:
            return StepFilterResult(None, None)
        return StepFilterResult(explanation, tuple(sorted(known.items())) if matched else None)

    def _explained(self, checked: CheckedExpression, event: Event) -> OperatorExplanation:
        """The explanation of operators for an event: each filter is evaluated once for all partial matches."""
        key = id(checked)  # which stays in _filled
        if self._called[0] is not event:
            self._called = event, {}
        if key not in self._callers:
            alone = SubscriptionSet(self._schema)
            alone.add("step", render(checked.expression))
            self._callers[key] = self._calling.matcher(alone)
        known = self._called[1]
        if key not in known:
            known[key] = explain_operators(self._callers[key], event, "step")
        return known[key]

    def alone(self, step: Step, event: Event) -> bool:
        """Whether the event satisfies the step for some values of its variables: tests of variables are left out."""
        return any(
            self.take(replace(step, filter=each.filter), event, ()).bindings is not None
            for each in alternatives(step, self._text)
        )

    def _tests_of(self, step: Step) -> tuple[VariableTest, ...]:
        if step not in self._tests:
            self._tests[step] = tuple(test for test, _ in variable_tests(step, self._text))
        return self._tests[step]

    def _value(self, path: str, event: Event) -> Any:
        try:
            return value_of(path, None, event, self._schema)
        except SchemaError:
            return None

    def _checked(self, step: Step, known: Mapping[str, Any]) -> CheckedExpression | None:
        """The step's filter with values for variables; None if their types do not fit its attributes."""
        spoken_of = {test.variable for test in self._tests_of(step)}
        key = step, tuple(sorted((name, value) for name, value in known.items() if name in spoken_of))
        if key not in self._filled:
            try:
                self._filled[key] = check(_filled(step.filter, known), self._schema, self._text)
            except FilterError:
                self._filled[key] = None
        return self._filled[key]


def _filled(node: Filter, known: Mapping[str, Any]) -> Filter:
    """The filter with a value in place of every variable; a variable without a value becomes null."""
    return with_operands(node, lambda operand: _value(operand, known))


def _value(operand: Operand, known: Mapping[str, Any]) -> Operand:
    return Literal(known.get(operand.name), operand.span) if isinstance(operand, JoinVariable) else operand
