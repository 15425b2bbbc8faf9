"""Number evaluations, predicates and alternatives of filters, each distinct one once.

An event satisfies the filter if, for one of them, the plain filter is true and some values of the variables make every
call and every constraint true. Only what contains operators or variables is split up: everything else stays whole,
for the index.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from vedette.errors import FilterError, InputError, LimitError, NotSupported
from vedette.language import limits
from vedette.language.ast import And, Call, JoinVariable, Literal, Not, Operand, Span, TruthLiteral, ValueTest, Variable
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
from vedette.language.normalform import NormalForm
from vedette.language.normalise import normal_form
from vedette.language.render import render
from vedette.language.variables import inside
from vedette.operators.bindings import Join, OutputPattern, Row
from vedette.operators.evaluation import Evaluation
from vedette.operators.registry import Operators
from vedette.operators.variable_constraints import Value, VariableConstraint, constraint, renamed


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
