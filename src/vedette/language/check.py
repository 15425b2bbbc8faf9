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
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

from vedette.errors import FilterError
from vedette.language import constant_errors
from vedette.language.ast import (
    MIRRORED,
    And,
    Arithmetic,
    Attribute,
    Call,
    Comparator,
    Comparison,
    Composite,
    Expression,
    Filter,
    In,
    InNetwork,
    IsNull,
    JoinVariable,
    Literal,
    Near,
    Not,
    Operand,
    Or,
    QuantifiedAttribute,
    Range,
    Span,
    Step,
    TextPair,
    TextTest,
    TruthLiteral,
    Variable,
    View,
    Within,
)
from vedette.language.checked_tree import (
    AndPart,
    Atom,
    CheckedExpression,
    CheckedStep,
    NotPart,
    OrPart,
    PairAtom,
    Part,
    Residual,
    TruthPart,
)
from vedette.language.evaluate import compared
from vedette.language.hints import of_another_step
from vedette.language.infer import inferred
from vedette.language.join_variables import check_variables
from vedette.language.likes import ESCAPE, escaped
from vedette.language.steps import check_names, steps_of
from vedette.language.subjects import Subject, SubjectNode, named_subject
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
from vedette.language.variables import bound_in, ends, inside
from vedette.schema.columns import Column
from vedette.schema.readings import EVERYTHING, TYPES
from vedette.schema.schema import Schema
from vedette.schema.types import INT, Kind, Type

_VIEWS = {ADDRESS: Kind.IP, TIME: Kind.TIMESTAMP}
_ORDERED = {kind: family for kind, family in FAMILY_OF_KIND.items() if kind.ordered}
_PARSED = frozenset({Kind.TIMESTAMP, Kind.DATE, Kind.IP})


def check(expression: Expression, schema: Schema | None = None, text: str = "") -> CheckedExpression:
    """Check a filter or pattern, and give it types; FilterError shows the place where it makes no sense."""
    if not isinstance(expression, Composite):
        return CheckedExpression(expression, _FilterChecker(expression, schema, text).root(), (), schema, text)
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
        return CheckedStep(step, _FilterChecker(step.filter, schema, text, labels).root())

    return [functools.partial(checked, step) for step in written]


class _FilterChecker:
    """Checks one filter."""

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
        return self._part(self._node)

    def _part(self, node: Filter) -> Part:
        return _METHODS[type(node)](self, node)

    def _fail(self, message: str, span: Span, hint: str | None = None) -> NoReturn:
        raise FilterError(message, text=self._text, start=span.start, end=span.end, hint=hint)

    # ------------------------------------------------------------ logic

    def _and(self, node: And) -> Part:
        return AndPart(node, tuple([_METHODS[type(part)](self, part) for part in node.parts]))

    def _or(self, node: Or) -> Part:
        return OrPart(node, tuple([_METHODS[type(part)](self, part) for part in node.parts]))

    def _not(self, node: Not) -> Part:
        return NotPart(node, self._part(node.part))

    def _truth(self, node: TruthLiteral) -> Part:
        return TruthPart(node, node.value)

    # ------------------------------------------------------------ comparisons

    def _comparison(self, node: Comparison) -> Part:
        left, right = node.left, node.right
        test = node
        if not isinstance(right, Literal) and isinstance(left, Literal):
            test = Comparison(right, MIRRORED[node.op], left, node.span)
            left, right = test.left, test.right
        if isinstance(right, Literal):
            if isinstance(left, SubjectNode):
                subject = self._subject(left)
                column, (literal,) = self._fitted(subject, (right,))
                if literal is not right:
                    test = Comparison(left, test.op, literal, node.span)
                return Atom(node, test, column, subject.quantifier)
            if isinstance(left, Literal):
                self._refuse_quoted_name(node.span, left, right)
                return self._constant(node, left, right)
        if isinstance(left, Attribute) and isinstance(right, Attribute):
            return self._pair(node, left, right)
        if isinstance(left, View) and isinstance(right, View):
            return self._pair_of_views(node, left, right)
        return self._residual(node, left, right)

    def _constant(self, node: Comparison, left: Literal, right: Literal) -> Part:
        if left.value is not None and right.value is not None and family(left.value) != family(right.value):
            self._fail(f"{shown(left.value)} cannot be compared with {shown(right.value)}", node.span)
        if family(left.value) in (FAMILY_OF_KIND[Kind.POINT], FAMILY_OF_KIND[Kind.REGION]):
            self._fail("places have no order and are not compared", node.span)
        return TruthPart(node, compared(left.value, node.op, right.value))

    def _pair(self, node: Comparison, left: Attribute, right: Attribute) -> Part:
        test = node
        if right.path < left.path:
            left, right = right, left
            test = Comparison(left, MIRRORED[node.op], right, node.span)
        columns: list[Column] = []
        kinds: list[Kind] = []
        for attribute in (left, right):
            subject = self._subject(attribute)
            if subject.type is None:
                columns.append(subject.presence())
                continue
            if not subject.type.kind.ordered:
                self._unordered(subject, subject.type)
            kinds.append(subject.type.kind)
            columns.append(subject.column(subject.type.kind, False))
        if len(kinds) == 2 and FAMILY_OF_KIND[kinds[0]] != FAMILY_OF_KIND[kinds[1]]:
            one, other = (named(Type(kind)) for kind in kinds)
            self._fail(f"{left.path} is {one} and {right.path} {other}: they cannot be compared", node.span)
        return PairAtom(node, test, Column(left.path, INT, right.path), columns[0], columns[1])

    def _pair_of_views(self, node: Comparison, left: View, right: View) -> Part:
        """Check a comparison of two views, both `text(…)`."""
        test = node
        if right.attribute.path < left.attribute.path:
            left, right = right, left
            test = Comparison(left, MIRRORED[node.op], right, node.span)
        columns = self._check_texts(left, right)
        both = Column(left.attribute.path, INT, right.attribute.path, "text")
        return PairAtom(node, test, both, columns[0], columns[1])

    def _range(self, node: Range) -> Part:
        operand, low, high = node.operand, node.low, node.high
        if not (isinstance(low, Literal) and isinstance(high, Literal) and isinstance(operand, SubjectNode)):
            return self._wide_range(node)
        subject = self._subject(operand)
        column, (first, last) = self._fitted(subject, (low, high))
        test = node if first is low and last is high else replace(node, low=first, high=last)
        return Atom(node, test, column, subject.quantifier)

    def _wide_range(self, node: Range) -> Part:
        """Check a range whose ends are not all constants, as two comparisons."""
        if isinstance(node.operand, QuantifiedAttribute):
            self._fail("the ends of a range of elements must be constants", node.span)
        self._refuse_quoted_name(node.span, node.operand, node.low, node.high)
        return AndPart(node, tuple(self._end(end) for end in ends(node)))

    def _end(self, node: Comparison) -> Part:
        if isinstance(node.left, Literal) and isinstance(node.right, Literal):
            return self._constant(node, node.left, node.right)
        return self._comparison(node)

    def _in(self, node: In) -> Part:
        if not isinstance(node.operand, SubjectNode):
            return self._residual(node, node.operand)
        subject = self._subject(node.operand)
        column, items = self._fitted(subject, node.items)
        test = node if items is node.items else In(node.operand, items, node.span)
        return Atom(node, test, column, subject.quantifier)

    def _is_null(self, node: IsNull) -> Part:
        if not isinstance(node.operand, SubjectNode):
            return self._residual(node, node.operand)
        subject = self._subject(node.operand, list_is_fine=True)
        if subject.type is None:
            return Atom(node, node, subject.presence(), subject.quantifier)
        return Atom(node, node, subject.column(subject.type.kind, subject.type.is_list), subject.quantifier)

    # ------------------------------------------------------------ tests

    def _text_test(self, node: TextTest) -> Part:
        if not isinstance(node.operand, SubjectNode):
            return self._residual(node, node.operand)
        subject = self._subject(node.operand, list_is_fine=node.kind == "contains")
        pattern, declared = node.pattern.value, subject.type
        if declared is not None and declared.is_list and subject.quantifier is None:
            return self._list_contains(node, subject, declared)
        kind = Kind.STRING if declared is None else declared.kind
        if kind is not Kind.STRING:
            hint = f"write {subject.name} in cidr '10.0.0.0/8'" if kind is Kind.IP else None
            self._fail(
                f"{subject.name} is {named(Type(kind))}, and {node.kind} is a test of text", node.operand.span, hint
            )
        if pattern is not None:
            if not isinstance(pattern, str):
                self._fail(f"{node.kind} needs a text, not {shown(pattern)}", node.pattern.span, example(Kind.STRING))
            reason = constant_errors.of_pattern(node, pattern)
            if reason is not None:
                self._fail(reason, node.pattern.span)
        return Atom(node, node, subject.elements(Kind.STRING), subject.quantifier)

    def _text_pair(self, node: TextPair) -> Part:
        """Check a test of one text in another, which gets a column of its own."""
        self._check_texts(node.left, node.right)
        relation = ("i" if node.ignore_case else "") + node.kind
        column = Column(node.left.attribute.path, INT, node.right.attribute.path, relation)
        return Atom(node, Comparison(node.left, Comparator.EQ, Literal(1), node.span), column)

    def _check_texts(self, left: View, right: View) -> list[Column]:
        """Refuse to compare anything but `text(…)`."""
        columns = []
        for view, other in ((left, right), (right, left)):
            if view.reading != "text":
                hint = "a view is compared with a constant, and text(…) also with another text(…)"
                self._fail(f"{named_subject(view)} cannot be compared with {named_subject(other)}", view.span, hint)
            columns.append(self._subject(view).column(Kind.STRING, False))
        return columns

    def _list_contains(self, node: TextTest, subject: Subject, declared: Type) -> Part:
        """Check `contains` on a list: some element equals the constant."""
        element = QuantifiedAttribute("any", subject.of, subject.of.span)
        if node.ignore_case and declared.kind is Kind.STRING and isinstance(node.pattern.value, str):
            same = replace(node.pattern, value=escaped(node.pattern.value))
            test = TextTest(element, "like", same, True, ESCAPE, node.span)
            return Atom(node, test, subject.column(Kind.STRING, True), "any")
        column, (literal,) = self._fitted(subject, (node.pattern,))
        return Atom(node, Comparison(element, Comparator.EQ, literal, node.span), column, "any")

    def _in_network(self, node: InNetwork) -> Part:
        if not isinstance(node.operand, SubjectNode):
            return self._residual(node, node.operand)
        subject = self._subject(node.operand)
        if subject.type is not None and subject.type.kind not in (Kind.IP, Kind.STRING):
            self._fail(f"{subject.name} is {named(subject.type.element)}, not an ip address", node.operand.span)
        for network in node.networks:
            reason = constant_errors.of_network(network)
            if reason is not None:
                self._fail(reason, node.span, "write a network such as '10.0.0.0/8' or '2001:db8::/32'")
        return Atom(node, node, subject.elements(Kind.IP), subject.quantifier)

    def _within(self, node: Within) -> Part:
        reason = constant_errors.of_region(node.region.wkt)
        if reason is not None:
            self._fail(reason, node.span)
        return self._place(node, (Kind.POINT, Kind.REGION))

    def _near(self, node: Near) -> Part:
        if not (node.metres >= 0 and math.isfinite(node.metres)):
            self._fail("a distance is a number from 0 on", node.span)
        if not (math.isfinite(node.centre.x) and math.isfinite(node.centre.y)):
            self._fail("a point has two finite coordinates: longitude, latitude", node.span)
        return self._place(node, (Kind.POINT,))

    def _place(self, node: Within | Near, kinds: tuple[Kind, ...]) -> Part:
        if not isinstance(node.operand, SubjectNode):
            return self._residual(node, node.operand)
        subject = self._subject(node.operand)
        kind = Kind.POINT if subject.type is None else subject.type.kind
        if kind not in kinds:
            wanted = " or ".join(each.value for each in kinds)
            self._fail(f"{subject.name} is {named(Type(kind))}, and within is a test of a {wanted}", node.operand.span)
        return Atom(node, node, subject.elements(kind), subject.quantifier)

    # ------------------------------------------------------------ attributes and constants

    def _subject(self, operand: SubjectNode, list_is_fine: bool = False) -> Subject:
        """The subject of a test; `list_is_fine`: it may be a list as a whole."""
        of, quantifier = (
            (operand.attribute, operand.quantifier) if isinstance(operand, QuantifiedAttribute) else (operand, None)
        )
        declared = self._type_of(of)
        if declared is None:
            if quantifier is not None:
                self._fail(f"nothing tells what the elements of {named_subject(of)} are", operand.span, _DECLARE)
        elif declared.is_list != (quantifier is not None):
            name = named_subject(of)
            if quantifier is not None:
                message = f"{quantifier}() is about the elements of a list, and {name} is {named(declared)}"
                self._fail(message, operand.span, f"write {name} without {quantifier}()")
            if not list_is_fine:
                message = f"{name} is {named(declared)}: a test must say which elements it is about"
                self._fail(message, operand.span, f"write any({name}) or all({name})")
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
            self._fail(f"unknown attribute {attribute.path}", attribute.span, hint)
        return self._inferred.get(attribute.path)

    def _check_known(self, attribute: Attribute) -> None:
        """Check that a closed schema has the attribute that a view reads, or something below it."""
        path = attribute.path
        if self._inferred is not None or path == EVERYTHING:
            return
        if not any(known.startswith(f"{path}.") for known in self._schema or ()):
            self._type_of(attribute)

    def _fitted(self, subject: Subject, literals: tuple[Literal, ...]) -> tuple[Column, tuple[Literal, ...]]:
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
            self._unordered(subject, declared)
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
                self._fail(reason, literal.span)
        if found == FAMILY_OF_KIND[kind]:
            return literal
        if isinstance(value, str) and kind in _PARSED:
            try:
                return Literal(parsed(kind, value), literal.span)
            except ValueError as error:
                self._fail(f"{subject.name} is {named(Type(kind))}, and {error}", literal.span)
        hint = example(kind)
        message = f"{subject.name} is {named(Type(kind))} and cannot be compared with {shown(value)}"
        return self._fail(message, literal.span, f"write {hint}" if hint else None)

    def _unordered(self, subject: Subject, declared: Type) -> NoReturn:
        self._fail(
            f"{subject.name} is {named(declared)}: places have no order and are not compared",
            subject.of.span,
            f"write {subject.name} within region 'POLYGON((…))'",
        )

    # ------------------------------------------------------------ what one event cannot decide

    def _call(self, node: Call) -> Part:
        for argument in node.arguments:
            self._check_operand(argument)
        return Residual(node, f"the operator {node.name}")

    def _residual(self, node: Any, *operands: Operand) -> Part:
        parts = [each for operand in operands for each in inside(operand)]
        for operand in parts:
            self._check_operand(operand)
        variable = next((each for each in parts if isinstance(each, Variable)), None)
        if variable is not None:
            return Residual(node, f"the variable ?{variable.name}")
        join = next((each for each in parts if isinstance(each, JoinVariable)), None)
        if join is not None:
            return Residual(node, f"the join variable ${join.name}")
        self._refuse_quoted_name(node.span, *parts)
        arithmetic = next((each for each in parts if isinstance(each, Arithmetic)), None)
        if arithmetic is not None:
            hint = "arithmetic is for the variables that operators bind, such as ?people * 2 > 50"
            self._fail("arithmetic with attributes and constants is not part of the language", arithmetic.span, hint)
        if any(isinstance(each, QuantifiedAttribute) for each in parts):
            self._fail("elements of a list are compared with constants only", node.span)
        return self._fail("this test needs an attribute", node.span)

    def _refuse_quoted_name(self, test: Span, *operands: Operand) -> None:
        meant = constant_errors.of_names(operands, test, self._text)
        if meant is not None:
            message, literal, hint = meant
            self._fail(message, literal.span, hint)

    def _check_operand(self, operand: Operand) -> None:
        view = operand.attribute if isinstance(operand, QuantifiedAttribute) else operand
        if isinstance(view, View):
            hint = "compare the view with a constant, and hand the attribute itself to operators"
            self._fail(f"{named_subject(view)} is a view, which is compared with constants only", view.span, hint)
        if isinstance(operand, Attribute | QuantifiedAttribute):
            self._type_of(operand.attribute if isinstance(operand, QuantifiedAttribute) else operand)
        elif isinstance(operand, JoinVariable):
            if self._labels is None:
                hint = "it stands for the same value in several steps, as in [ip = $x] ; [ip = $x]"
                self._fail(f"the join variable ${operand.name} has a meaning only in a pattern", operand.span, hint)
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
                self._fail(f"nothing binds the variable ?{operand.name}", operand.span, hint)


_DECLARE = "declare it in the schema, for example as list of string"


_METHODS: dict[type, Callable[[_FilterChecker, Any], Part]] = {
    And: _FilterChecker._and,
    Or: _FilterChecker._or,
    Not: _FilterChecker._not,
    TruthLiteral: _FilterChecker._truth,
    Comparison: _FilterChecker._comparison,
    Range: _FilterChecker._range,
    In: _FilterChecker._in,
    IsNull: _FilterChecker._is_null,
    TextTest: _FilterChecker._text_test,
    TextPair: _FilterChecker._text_pair,
    InNetwork: _FilterChecker._in_network,
    Within: _FilterChecker._within,
    Near: _FilterChecker._near,
    Call: _FilterChecker._call,
}
