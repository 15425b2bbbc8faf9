"""Checks filters and patterns: names, types, and whether constants fit the types of attributes.

Literals are converted to the type of the attribute they are compared with, and every test gets the column that it
reads. If the schema is open (or there is none) an unknown attribute takes the type that the constants it is
compared with suggest. A string attribute compared with an address, a network or a time is read as such: a view
(as a timestamp also beside a date, since a text may well hold more than a date). An attribute of which only the
presence is tested, and whose type is unknown, is compared with itself: `Column(path, INT, other=path)`. A view that
is written out, such as `text(p)`, has the type of the view, whatever type the schema gives the attribute.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

from vedette.errors import FilterError
from vedette.language import constant_errors
from vedette.language.checked_tree import (
    AndPart,
    Atom,
    CheckedExpression,
    CheckedStep,
    NotPart,
    OrPart,
    Part,
    Residual,
    TruthPart,
)
from vedette.language.hints import of_another_step
from vedette.language.infer import inferred
from vedette.language.join_variables import check_variables
from vedette.language.steps import check_names, steps_of
from vedette.language.subjects import Subject, SubjectNode, named_subject
from vedette.language.syntax import (
    And,
    Arithmetic,
    Attribute,
    Call,
    Composite,
    Expression,
    Filter,
    JoinVariable,
    Literal,
    Not,
    Operand,
    Or,
    QuantifiedAttribute,
    Span,
    Step,
    Test,
    TruthLiteral,
    ValueTest,
    Variable,
    View,
)
from vedette.language.type_families import (
    ADDRESS,
    FAMILY_OF_KIND,
    SUGGESTED,
    TEXT,
    TIME,
    example,
    family,
    named,
    not_text,
    parsed,
    shown,
    similar,
)
from vedette.language.variables import bound_in, inside
from vedette.schema.columns import Column
from vedette.schema.readings import EVERYTHING, TYPES
from vedette.schema.schema import Schema
from vedette.schema.types import Kind, Type

_VIEWS = {ADDRESS: Kind.IP, TIME: Kind.TIMESTAMP}
_ORDERED = {kind: family for kind, family in FAMILY_OF_KIND.items() if kind.ordered}
_PARSED = frozenset({Kind.TIMESTAMP, Kind.DATE, Kind.IP})


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


class FilterChecker:
    """Checks one filter; what it has for each test, it asks the test."""

    def __init__(
        self, node: Filter, schema: Schema | None, text: str, labels: frozenset[str] | None = None
    ) -> None:  # labels: those of the pattern that the filter is a step of
        self._node = node
        self._schema = schema
        self._text = text
        self._labels = labels
        self._bound: frozenset[str] | None = None
        closed = schema is not None and schema.closed
        self._inferred = None if closed else inferred(node, text)

    def root(self) -> Part:
        """The whole filter as a checked tree."""
        return self._part(self._node)

    def _part(self, node: Filter) -> Part:
        return node.check(self) if isinstance(node, Test) else _METHODS[type(node)](self, node)

    def fail(self, message: str, span: Span, hint: str | None = None) -> NoReturn:
        """Raise FilterError for a place in the text."""
        raise FilterError(message, text=self._text, start=span.start, end=span.end, hint=hint)

    # ------------------------------------------------------------ logic

    def _and(self, node: And) -> Part:
        return AndPart(node, tuple([self._part(part) for part in node.parts]))

    def _or(self, node: Or) -> Part:
        return OrPart(node, tuple([self._part(part) for part in node.parts]))

    def _not(self, node: Not) -> Part:
        return NotPart(node, self._part(node.part))

    def _truth(self, node: TruthLiteral) -> Part:
        return TruthPart(node, node.value)

    # ------------------------------------------------------------ attributes and constants

    def text_columns(self, left: View, right: View) -> list[Column]:
        """The columns of two views that are compared; FilterError for any but `text(…)`."""
        columns = []
        for view, other in ((left, right), (right, left)):
            if view.reading != "text":
                hint = "a view is compared with a constant, and text(…) also with another text(…)"
                self.fail(f"{named_subject(view)} cannot be compared with {named_subject(other)}", view.span, hint)
            columns.append(self.subject(view).column(Kind.STRING, False))
        return columns

    def subject(self, operand: SubjectNode, list_is_fine: bool = False) -> Subject:
        """The subject of a test; `list_is_fine`: it may be a list as a whole."""
        of, quantifier = (
            (operand.attribute, operand.quantifier) if isinstance(operand, QuantifiedAttribute) else (operand, None)
        )
        declared = self._type_of(of)
        if declared is None:
            if quantifier is not None:
                self.fail(f"nothing tells what the elements of {named_subject(of)} are", operand.span, _DECLARE)
        elif declared.is_list != (quantifier is not None):
            name = named_subject(of)
            if quantifier is not None:
                message = f"{quantifier}() is about the elements of a list, and {name} is {named(declared)}"
                self.fail(message, operand.span, f"write {name} without {quantifier}()")
            if not list_is_fine:
                message = f"{name} is {named(declared)}: a test must say which elements it is about"
                self.fail(message, operand.span, f"write any({name}) or all({name})")
        return Subject(of, quantifier, declared)

    def _type_of(self, attribute: Attribute | View) -> Type | None:
        if isinstance(attribute, View):
            self._check_known(attribute.attribute)
            return TYPES[attribute.reading]
        declared = self._schema.type_of(attribute.path) if self._schema is not None else None
        if declared is not None:
            return declared
        if self._inferred is None:
            known = self._schema or ()
            hint = of_another_step(attribute.path, self._labels or ()) or similar(attribute.path, known)
            self.fail(f"unknown attribute {attribute.path}", attribute.span, hint)
        return self._inferred.get(attribute.path)

    def _check_known(self, attribute: Attribute) -> None:
        """Check that a closed schema has the attribute that a view reads, or something below it."""
        path = attribute.path
        if self._inferred is not None or path == EVERYTHING:
            return
        if not any(known.startswith(f"{path}.") for known in self._schema or ()):
            self._type_of(attribute)

    def fitted(self, subject: Subject, literals: tuple[Literal, ...]) -> tuple[Column, tuple[Literal, ...]]:
        """The column to read, and the constants in its type (the same tuple object if nothing was converted)."""
        declared = subject.type
        if declared is not None:
            wanted = _ORDERED.get(declared.kind)
            if wanted is not None:
                for literal in literals:
                    value = literal.value
                    if family(value) is not wanted or (wanted is TEXT and not value.isascii()):  # type: ignore[union-attr]
                        break
                else:
                    return subject.column(declared.kind, declared.is_list), literals
        else:
            known = [family(literal.value) for literal in literals if literal.value is not None]
            if not known or known[0] is None:
                return subject.presence(), literals
            declared = Type(SUGGESTED[known[0]])
        kind = declared.kind
        if kind not in _ORDERED:
            self.refuse_unordered(subject, declared)
        if kind is Kind.STRING:
            families = [family(literal.value) for literal in literals]
            kind = next((_VIEWS[each] for each in families if each in _VIEWS), kind)
        fitted = tuple([self._fit(subject, kind, literal) for literal in literals])
        return subject.column(kind, declared.is_list), fitted

    def _fit(self, subject: Subject, kind: Kind, literal: Literal) -> Literal:
        value = literal.value
        found = family(value)
        if found is None:
            return literal
        if found == TEXT:
            reason = not_text(str(value))
            if reason is not None:
                self.fail(reason, literal.span)
        if found == FAMILY_OF_KIND[kind]:
            return literal
        if isinstance(value, str) and kind in _PARSED:
            try:
                return Literal(parsed(kind, value), literal.span)
            except ValueError as error:
                self.fail(f"{subject.name} is {named(Type(kind))}, and {error}", literal.span)
        hint = example(kind)
        message = f"{subject.name} is {named(Type(kind))} and cannot be compared with {shown(value)}"
        return self.fail(message, literal.span, f"write {hint}" if hint else None)

    def refuse_unordered(self, subject: Subject, declared: Type) -> NoReturn:
        """Raise FilterError for a comparison of places."""
        self.fail(
            f"{subject.name} is {named(declared)}: places have no order and are not compared",
            subject.of.span,
            f"write {subject.name} within region 'POLYGON((…))'",
        )

    def place(self, test: ValueTest, operand: Operand, kinds: tuple[Kind, ...]) -> Part:
        """The atom of a test of a place, which has to be of one of these kinds."""
        if not isinstance(operand, SubjectNode):
            return self.residual(test, operand)
        subject = self.subject(operand)
        kind = Kind.POINT if subject.type is None else subject.type.kind
        if kind not in kinds:
            wanted = " or ".join(each.value for each in kinds)
            self.fail(f"{subject.name} is {named(Type(kind))}, and within is a test of a {wanted}", operand.span)
        return Atom(test, test, subject.elements(kind), subject.quantifier)

    # ------------------------------------------------------------ what one event cannot decide

    def _call(self, node: Call) -> Part:
        for argument in node.arguments:
            self._check_operand(argument)
        return Residual(node, f"the operator {node.name}")

    def residual(self, node: ValueTest, *operands: Operand) -> Part:
        """A test that one event cannot decide, because of a variable; FilterError if there is none in its operands."""
        parts = [each for operand in operands for each in inside(operand)]
        for operand in parts:
            self._check_operand(operand)
        variable = next((each for each in parts if isinstance(each, Variable)), None)
        if variable is not None:
            return Residual(node, f"the variable ?{variable.name}")
        join = next((each for each in parts if isinstance(each, JoinVariable)), None)
        if join is not None:
            return Residual(node, f"the join variable ${join.name}")
        self.refuse_quoted_name(node.span, *parts)
        arithmetic = next((each for each in parts if isinstance(each, Arithmetic)), None)
        if arithmetic is not None:
            hint = "arithmetic is for the variables that operators bind, such as ?people * 2 > 50"
            self.fail("arithmetic with attributes and constants is not part of the language", arithmetic.span, hint)
        if any(isinstance(each, QuantifiedAttribute) for each in parts):
            self.fail("elements of a list are compared with constants only", node.span)
        return self.fail("this test needs an attribute", node.span)

    def refuse_quoted_name(self, test: Span, *operands: Operand) -> None:
        """Raise FilterError for a test without an attribute if a text in it could be the name of one."""
        meant = constant_errors.of_names(operands, test, self._text)
        if meant is not None:
            message, literal, hint = meant
            self.fail(message, literal.span, hint)

    def _check_operand(self, operand: Operand) -> None:
        view = operand.attribute if isinstance(operand, QuantifiedAttribute) else operand
        if isinstance(view, View):
            hint = "compare the view with a constant, and hand the attribute itself to operators"
            self.fail(f"{named_subject(view)} is a view, which is compared with constants only", view.span, hint)
        if isinstance(operand, Attribute | QuantifiedAttribute):
            self._type_of(operand.attribute if isinstance(operand, QuantifiedAttribute) else operand)
        elif isinstance(operand, JoinVariable):
            if self._labels is None:
                hint = "it stands for the same value in several steps, as in [ip = $x] ; [ip = $x]"
                self.fail(f"the join variable ${operand.name} has a meaning only in a pattern", operand.span, hint)
        elif isinstance(operand, Variable):
            if self._bound is None:
                self._bound = bound_in(self._node)
            if operand.name not in self._bound:
                hint = f"an operator binds it, as in people(?{operand.name})"
                if self._labels is not None:
                    hint = (
                        f"an attribute's value in several steps is a join variable: ${operand.name}; "
                        "what an operator binds is known in its own step only"
                    )
                self.fail(f"nothing binds the variable ?{operand.name}", operand.span, hint)


_DECLARE = "declare it in the schema, for example as list of string"


_METHODS: dict[type, Callable[[FilterChecker, Any], Part]] = {
    And: FilterChecker._and,
    Or: FilterChecker._or,
    Not: FilterChecker._not,
    TruthLiteral: FilterChecker._truth,
    Call: FilterChecker._call,
}
