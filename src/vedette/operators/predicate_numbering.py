"""Number evaluations, predicates and alternatives of filters, each distinct one once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vedette.errors import FilterError, InputError, NotSupported
from vedette.language.ast import JoinVariable, Literal, Operand, Span, Variable
from vedette.language.checked_tree import CheckedExpression
from vedette.language.normalform import NormalForm
from vedette.language.normalise import normal_form
from vedette.language.render import render
from vedette.language.variables import inside
from vedette.operators.alternatives import Alternative, SignedCall, alternatives
from vedette.operators.bindings import Join, OutputPattern, Row
from vedette.operators.evaluation import Evaluation
from vedette.operators.registry import Operators
from vedette.operators.variable_constraints import Value, VariableConstraint, renamed


@dataclass(frozen=True)
class Predicate:
    """An evaluation, its output positions, and the constraints on these values alone.

    Two predicates are the same up to the names of variables, which are ?0, ?1, … here: p(?x, ?y) is p(?a, ?b), and not
    p(?x, ?x); all three share one evaluation.
    """

    evaluation: int
    positive: bool
    text: str  # canonical: the identity over restarts
    pattern: OutputPattern = field(compare=False, repr=False)
    constraints: tuple[VariableConstraint, ...] = field(compare=False, repr=False)  # of its own variables alone

    def selected(self, rows: Sequence[Row] | None, value: Value) -> Sequence[Row]:
        """The values of its variables among the rows that the operator found; None: it found only that it is true."""
        if rows is None:
            return [()]
        found = self.pattern.select(rows, value)
        if not self.constraints:
            return found
        names = self.pattern.names
        return [
            row
            for row in found
            if all(each.holds(dict(zip(names, row, strict=True)), value) is True for each in self.constraints)
        ]

    def holds(self, truth: int, selected: Sequence[Row]) -> bool:
        """Whether an alternative with this predicate may still be true, for an event whose evaluation gave `truth`.

        Under `not`, values bound by other calls are not excluded before they are known, so then it holds.
        """
        if truth < 0:
            return False
        if self.positive:
            return len(selected) > 0
        return len(selected) == 0 or bool(self.pattern.names)


@dataclass(frozen=True, slots=True)
class PlannedAlternative:
    """A planned alternative: its plain filter, its predicates (each once), and the join of their bindings."""

    plain: NormalForm
    predicates: tuple[int, ...]  # in the order in which they are written
    parts: tuple[int, ...]  # the predicate of every call
    calls: tuple[tuple[int, tuple[str, ...]], ...]  # its evaluation, and its variables as they are written
    join: Join | None  # None: without variables there is nothing to join
    paths: frozenset[str]  # the attributes that constraints across predicates look at


class PredicateNumbering:
    """Numbers evaluations and predicates while filters are read."""

    def __init__(self, operators: Operators) -> None:
        self._operators = operators
        self.evaluations: list[Evaluation] = []
        self.predicates: list[Predicate] = []
        self._evaluation_numbers: dict[Evaluation, int] = {}
        self._predicate_numbers: dict[Predicate, int] = {}

    def planned(self, checked: CheckedExpression) -> list[PlannedAlternative]:
        """The alternatives of a filter that can be true; FilterError if a call is invalid."""
        made = []
        for alternative in alternatives(checked):
            plain = normal_form(alternative.plain, text=checked.text)
            one = self._planned(alternative, plain, checked.text)
            if plain.conjunctions:
                made.append(one)
        return made

    def _planned(self, alternative: Alternative, plain: NormalForm, text: str) -> PlannedAlternative:
        calls = [self._call(call, text) for call in alternative.calls]
        bound = {
            name for call, (_, names) in zip(alternative.calls, calls, strict=True) if call.positive for name in names
        }
        _check_bound(alternative, calls, bound, text)
        local: list[list[VariableConstraint]] = [[] for _ in calls]
        across: list[VariableConstraint] = []
        for each in alternative.constraints:
            home = next(
                (
                    place
                    for place, (call, (_, names)) in enumerate(zip(alternative.calls, calls, strict=True))
                    if call.positive and each.variables and each.variables.issubset(names)
                ),
                None,
            )
            (across if home is None else local[home]).append(each)
        parts = tuple(
            self._predicate(call, evaluation, names, tuple(own), text)
            for call, (evaluation, names), own in zip(alternative.calls, calls, local, strict=True)
        )
        shapes = [(names, call.positive) for call, (_, names) in zip(alternative.calls, calls, strict=True)]
        join = Join(shapes, across) if any(names for names, _ in shapes) or across else None
        paths = frozenset().union(*(each.paths for each in across))
        return PlannedAlternative(plain, tuple(dict.fromkeys(parts)), parts, tuple(calls), join, paths)

    def _call(self, call: SignedCall, text: str) -> tuple[int, tuple[str, ...]]:
        """The number of a call's evaluation, and the variables at its output positions."""
        node = call.node
        try:
            operator = self._operators.find(node.name)
            inputs = operator.inputs_of(len(node.arguments))
            for operand in node.arguments[:inputs]:
                _check_input(operand, operator.signature, text)
            evaluation = Evaluation(operator, node.arguments[:inputs])
            if operator.check is not None:
                constants = (each.value if isinstance(each, Literal) else None for each in node.arguments[:inputs])
                operator.check(tuple(constants))
        except FilterError:
            raise
        except (InputError, ValueError) as error:
            raise _placed(str(error), node.span, text) from None
        number = self._evaluation_numbers.setdefault(evaluation, len(self.evaluations))
        if number == len(self.evaluations):
            self.evaluations.append(evaluation)
        found = node.arguments[inputs:]
        return number, tuple(dict.fromkeys(each.name for each in found if isinstance(each, Variable)))

    def _predicate(
        self, call: SignedCall, evaluation: int, names: tuple[str, ...], own: tuple[VariableConstraint, ...], text: str
    ) -> int:
        new = {name: str(number) for number, name in enumerate(names)}
        node = call.node
        found = node.arguments[len(self.evaluations[evaluation].inputs) :]
        pattern = OutputPattern([renamed(each, {**_themselves(each), **new}) for each in found], text)
        constraints = tuple(sorted({each.renamed(new) for each in own}, key=lambda each: each.text))
        operator = self.evaluations[evaluation].operator.name
        arguments = [*map(render, self.evaluations[evaluation].inputs), *map(render, pattern.outputs)]
        shown = " and ".join([f"{operator}({', '.join(arguments)})", *(each.text for each in constraints)])
        predicate = Predicate(
            evaluation, call.positive, shown if call.positive else f"not {shown}", pattern, constraints
        )
        number = self._predicate_numbers.setdefault(predicate, len(self.predicates))
        if number == len(self.predicates):
            self.predicates.append(predicate)
        return number


def _themselves(operand: Operand) -> dict[str, str]:
    return {each.name: each.name for each in inside(operand) if isinstance(each, Variable)}


def _check_input(operand: Operand, signature: str, text: str) -> None:
    for each in inside(operand):
        if isinstance(each, Variable):
            raise _placed(
                f"?{each.name} stands where the operator is given a value\nHint: write {signature}", each.span, text
            )
        if isinstance(each, JoinVariable):
            raise NotSupported(f"the join variable ${each.name} cannot be handed to an operator")


def _check_bound(
    alternative: Alternative, calls: Sequence[tuple[int, tuple[str, ...]]], bound: set[str], text: str
) -> None:
    for call, (_, names) in zip(alternative.calls, calls, strict=True):
        for name in names:
            if name not in bound:
                hint = "under `not` an operator tests values that another one binds, as in q(?x) and not p(?x)"
                raise _placed(f"nothing binds ?{name} here\nHint: {hint}", _span_of(name, call), text)
    for each in alternative.constraints:
        for name in sorted(each.variables - bound):
            hint = "an operator in the same alternative binds it: beside `or`, each side needs its own"
            raise _placed(f"nothing binds ?{name} in {each.text}\nHint: {hint}", each.node.span, text)


def _span_of(name: str, call: SignedCall) -> Span:
    return next(each.span for each in call.node.arguments if isinstance(each, Variable) and each.name == name)


def _placed(message: str, span: Span, text: str) -> FilterError:
    what, _, hint = message.partition("\nHint: ")
    return FilterError(what, text=text, start=span.start, end=span.end, hint=hint or None)
