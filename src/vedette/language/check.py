"""Does a filter make sense: are its attributes known, and do its constants fit their types?

Literals are brought to the type of the attribute they are compared with, and every test learns which column it
reads. Where the schema is open (or there is none) an unknown attribute takes the type that the constants it is
compared with suggest. A string attribute compared with an address, a network or a time is read as such: a view
(as a timestamp also beside a date, since a text may well hold more than a date). An attribute of which nothing but
its presence is asked, and whose type nobody knows, is compared with itself: `Column(path, INT, other=path)`.
"""

from __future__ import annotations

import functools
import ipaddress
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

from vedette.errors import FilterError
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
    Quantified,
    Range,
    Span,
    Step,
    TextTest,
    Truth,
    Variable,
    Within,
)
from vedette.language.checked import (
    AndPart,
    Atom,
    Checked,
    CheckedStep,
    NotPart,
    OrPart,
    PairAtom,
    Part,
    Residual,
    TruthPart,
)
from vedette.language.evaluate import compared
from vedette.language.families import (
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
from vedette.language.hints import of_another_step
from vedette.language.infer import inferred
from vedette.language.joins import check_variables
from vedette.language.likes import ESCAPE, escaped
from vedette.language.literals import check_like, regex_instructions
from vedette.language.steps import check_names, steps_of
from vedette.language.variables import bound_in, ends, inside
from vedette.schema.columns import Column
from vedette.schema.keys import read
from vedette.schema.schema import Schema
from vedette.schema.types import INT, Kind, Type

_VIEWS = {ADDRESS: Kind.IP, TIME: Kind.TIMESTAMP}
_ORDERED = {kind: family for kind, family in FAMILY_OF_KIND.items() if kind.ordered}
_PARSED = frozenset({Kind.TIMESTAMP, Kind.DATE, Kind.IP})


def check(expression: Expression, schema: Schema | None = None, text: str = "") -> Checked:
    """The filter or pattern with its types known; FilterError at the place where it makes no sense."""
    if not isinstance(expression, Composite):
        return Checked(expression, _Checker(expression, schema, text).root(), (), schema, text)
    check_names(expression, schema, text)
    steps = tuple(one() for one in _steps(expression, schema, text))
    check_variables(expression, schema, text)
    return Checked(expression, None, steps, schema, text)


def mistakes(composite: Composite, schema: Schema | None, text: str) -> list[FilterError]:
    """Of every step of a pattern and of its names the first mistake, in the order of the text."""
    found = []
    for one in (lambda: check_names(composite, schema, text), *_steps(composite, schema, text)):
        try:
            one()
        except FilterError as error:
            found.append(error)
    return sorted(found, key=lambda error: error.start)


def _steps(composite: Composite, schema: Schema | None, text: str) -> list[Callable[[], CheckedStep]]:
    """What checks each step of a pattern."""
    written = tuple(steps_of(composite.pattern))
    labels = frozenset(step.label for step in written if step.label is not None)

    def checked(step: Step) -> CheckedStep:
        return CheckedStep(step, _Checker(step.filter, schema, text, labels).root())

    return [functools.partial(checked, step) for step in written]


@functools.lru_cache(maxsize=1 << 16)
def _column(path: str, kind: Kind, is_list: bool) -> Column:
    return Column(path, Type(kind, is_list))


class _Checker:
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

    def _truth(self, node: Truth) -> Part:
        return TruthPart(node, node.value)

    # ------------------------------------------------------------ comparisons

    def _comparison(self, node: Comparison) -> Part:
        left, right = node.left, node.right
        test = node
        if not isinstance(right, Literal) and isinstance(left, Literal):
            test = Comparison(right, MIRRORED[node.op], left, node.span)
            left, right = test.left, test.right
        if isinstance(right, Literal):
            if isinstance(left, Attribute | Quantified):
                attribute, quantifier, declared = self._subject(left)
                column, (literal,) = self._fitted(attribute, declared, (right,))
                if literal is not right:
                    test = Comparison(left, test.op, literal, node.span)
                return Atom(node, test, column, quantifier)
            if isinstance(left, Literal):
                return self._constant(node, left, right)
        if isinstance(left, Attribute) and isinstance(right, Attribute):
            return self._pair(node, left, right)
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
            _, _, declared = self._subject(attribute)
            if declared is None:
                columns.append(self._presence(attribute))
                continue
            if not declared.kind.ordered:
                self._unordered(attribute, declared)
            kinds.append(declared.kind)
            columns.append(_column(attribute.path, declared.kind, False))
        if len(kinds) == 2 and FAMILY_OF_KIND[kinds[0]] != FAMILY_OF_KIND[kinds[1]]:
            one, other = (named(Type(kind)) for kind in kinds)
            self._fail(f"{left.path} is {one} and {right.path} {other}: they cannot be compared", node.span)
        return PairAtom(node, test, Column(left.path, INT, right.path), columns[0], columns[1])

    def _range(self, node: Range) -> Part:
        operand, low, high = node.operand, node.low, node.high
        if not (isinstance(low, Literal) and isinstance(high, Literal) and isinstance(operand, Attribute | Quantified)):
            return self._wide_range(node)
        attribute, quantifier, declared = self._subject(operand)
        column, (first, last) = self._fitted(attribute, declared, (low, high))
        test = node if first is low and last is high else replace(node, low=first, high=last)
        return Atom(node, test, column, quantifier)

    def _wide_range(self, node: Range) -> Part:
        """Attributes among the ends: two comparisons."""
        if isinstance(node.operand, Quantified):
            self._fail("the ends of a range of elements must be constants", node.span)
        return AndPart(node, tuple(self._comparison(end) for end in ends(node)))

    def _in(self, node: In) -> Part:
        if not isinstance(node.operand, Attribute | Quantified):
            return self._residual(node, node.operand)
        attribute, quantifier, declared = self._subject(node.operand)
        column, items = self._fitted(attribute, declared, node.items)
        return Atom(node, node if items is node.items else In(node.operand, items, node.span), column, quantifier)

    def _is_null(self, node: IsNull) -> Part:
        if not isinstance(node.operand, Attribute | Quantified):
            return self._residual(node, node.operand)
        attribute, quantifier, declared = self._subject(node.operand, list_is_fine=True)
        if declared is None:
            return Atom(node, node, self._presence(attribute), quantifier)
        return Atom(node, node, _column(attribute.path, declared.kind, declared.is_list), quantifier)

    # ------------------------------------------------------------ tests

    def _text_test(self, node: TextTest) -> Part:
        if not isinstance(node.operand, Attribute | Quantified):
            return self._residual(node, node.operand)
        attribute, quantifier, declared = self._subject(node.operand, list_is_fine=node.kind == "contains")
        pattern = node.pattern.value
        if declared is not None and declared.is_list and quantifier is None:
            return self._list_contains(node, attribute, declared)
        kind = Kind.STRING if declared is None else declared.kind
        if kind is not Kind.STRING:
            hint = f"write {attribute.path} in cidr '10.0.0.0/8'" if kind is Kind.IP else None
            self._fail(
                f"{attribute.path} is {named(Type(kind))}, and {node.kind} is a test of text", node.operand.span, hint
            )
        if pattern is not None:
            if not isinstance(pattern, str):
                self._fail(f"{node.kind} needs a text, not {shown(pattern)}", node.pattern.span, example(Kind.STRING))
            self._check_pattern(node, pattern)
        return Atom(node, node, _column(attribute.path, Kind.STRING, quantifier is not None), quantifier)

    def _list_contains(self, node: TextTest, attribute: Attribute, declared: Type) -> Part:
        """Some element equals the constant."""
        element = Quantified("any", attribute, attribute.span)
        if node.ignore_case and declared.kind is Kind.STRING and isinstance(node.pattern.value, str):
            same = replace(node.pattern, value=escaped(node.pattern.value))
            test = TextTest(element, "like", same, True, ESCAPE, node.span)
            return Atom(node, test, _column(attribute.path, Kind.STRING, True), "any")
        column, (literal,) = self._fitted(attribute, declared, (node.pattern,))
        return Atom(node, Comparison(element, Comparator.EQ, literal, node.span), column, "any")

    def _check_pattern(self, node: TextTest, pattern: str) -> None:
        reason = not_text(pattern)
        if reason is None and node.kind == "like":
            reason = _refusal(check_like, pattern, node.escape)
        elif reason is None and node.kind == "matches":
            reason = _refusal(regex_instructions, pattern, node.ignore_case)
        if reason is not None:
            self._fail(reason, node.pattern.span)

    def _in_network(self, node: InNetwork) -> Part:
        if not isinstance(node.operand, Attribute | Quantified):
            return self._residual(node, node.operand)
        attribute, quantifier, declared = self._subject(node.operand)
        if declared is not None and declared.kind not in (Kind.IP, Kind.STRING):
            self._fail(f"{attribute.path} is {named(declared.element)}, not an ip address", node.operand.span)
        for network in node.networks:
            reason = _refusal(ipaddress.ip_network, network)
            if reason is not None:
                self._fail(reason, node.span, "write a network such as '10.0.0.0/8' or '2001:db8::/32'")
        return Atom(node, node, _column(attribute.path, Kind.IP, quantifier is not None), quantifier)

    def _within(self, node: Within) -> Part:
        reason = _refusal(_read_region, node.region.wkt)
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
        if not isinstance(node.operand, Attribute | Quantified):
            return self._residual(node, node.operand)
        attribute, quantifier, declared = self._subject(node.operand)
        kind = Kind.POINT if declared is None else declared.kind
        if kind not in kinds:
            wanted = " or ".join(each.value for each in kinds)
            self._fail(
                f"{attribute.path} is {named(Type(kind))}, and within is a test of a {wanted}", node.operand.span
            )
        return Atom(node, node, _column(attribute.path, kind, quantifier is not None), quantifier)

    # ------------------------------------------------------------ attributes and constants

    def _subject(
        self, operand: Attribute | Quantified, list_is_fine: bool = False
    ) -> tuple[Attribute, Any, Type | None]:
        """The attribute, the quantifier, and the type if it is known."""
        if isinstance(operand, Attribute):
            attribute, quantifier = operand, None
        else:
            attribute, quantifier = operand.attribute, operand.quantifier
        declared = self._type_of(attribute)
        if declared is None:
            if quantifier is not None:
                self._fail(f"nothing tells what the elements of {attribute.path} are", operand.span, _DECLARE)
        elif declared.is_list != (quantifier is not None):
            path = attribute.path
            if quantifier is not None:
                message = f"{quantifier}() is about the elements of a list, and {path} is {named(declared)}"
                self._fail(message, operand.span, f"write {path} without {quantifier}()")
            if not list_is_fine:
                message = f"{path} is {named(declared)}: a test must say which elements it is about"
                self._fail(message, operand.span, f"write any({path}) or all({path})")
        return attribute, quantifier, declared

    def _type_of(self, attribute: Attribute) -> Type | None:
        declared = self._schema.type_of(attribute.path) if self._schema is not None else None
        if declared is not None:
            return declared
        if self._inferred is None:
            known = self._schema or ()
            hint = of_another_step(attribute.path, self._labels or ()) or similar(attribute.path, known)
            self._fail(f"unknown attribute {attribute.path}", attribute.span, hint)
        return self._inferred.get(attribute.path)

    def _presence(self, attribute: Attribute) -> Column:
        return Column(attribute.path, INT, attribute.path)

    def _fitted(
        self, attribute: Attribute, declared: Type | None, literals: tuple[Literal, ...]
    ) -> tuple[Column, tuple[Literal, ...]]:
        """The column to read and the constants in its type (the very same tuple if nothing had to be done)."""
        if declared is not None:
            wanted = _ORDERED.get(declared.kind)
            if wanted is not None:
                for literal in literals:
                    value = literal.value
                    if family(value) is not wanted or (wanted is TEXT and not value.isascii()):  # type: ignore[union-attr]
                        break
                else:
                    return _column(attribute.path, declared.kind, declared.is_list), literals
        else:
            known = [family(literal.value) for literal in literals if literal.value is not None]
            if not known or known[0] is None:
                return self._presence(attribute), literals
            declared = Type(SUGGESTED[known[0]])
        kind = declared.kind
        if kind not in _ORDERED:
            self._unordered(attribute, declared)
        if kind is Kind.STRING:
            families = [family(literal.value) for literal in literals]
            kind = next((_VIEWS[each] for each in families if each in _VIEWS), kind)
        fitted = tuple([self._fit(attribute, kind, literal) for literal in literals])
        return _column(attribute.path, kind, declared.is_list), fitted

    def _fit(self, attribute: Attribute, kind: Kind, literal: Literal) -> Literal:
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
                self._fail(f"{attribute.path} is {named(Type(kind))}, and {error}", literal.span)
        hint = example(kind)
        message = f"{attribute.path} is {named(Type(kind))} and cannot be compared with {shown(value)}"
        return self._fail(message, literal.span, f"write {hint}" if hint else None)

    def _unordered(self, attribute: Attribute, declared: Type) -> NoReturn:
        self._fail(
            f"{attribute.path} is {named(declared)}: places have no order and are not compared",
            attribute.span,
            f"write {attribute.path} within region 'POLYGON((…))'",
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
        arithmetic = next((each for each in parts if isinstance(each, Arithmetic)), None)
        if arithmetic is not None:
            hint = "arithmetic is for the variables that operators bind, such as ?people * 2 > 50"
            self._fail("arithmetic with attributes and constants is not part of the language", arithmetic.span, hint)
        if any(isinstance(each, Quantified) for each in parts):
            self._fail("elements of a list are compared with constants only", node.span)
        return self._fail("this test needs an attribute", node.span)

    def _check_operand(self, operand: Operand) -> None:
        if isinstance(operand, Attribute | Quantified):
            self._type_of(operand.attribute if isinstance(operand, Quantified) else operand)
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


def _refusal(reader: Callable[..., object], *arguments: object) -> str | None:
    """Why a reader refuses its arguments, if it does."""
    try:
        reader(*arguments)
    except ValueError as error:
        return str(error)
    return None


@functools.lru_cache(maxsize=256)
def _read_region(wkt: str) -> None:
    read(Kind.REGION, wkt)


_METHODS: dict[type, Callable[[_Checker, Any], Part]] = {
    And: _Checker._and,
    Or: _Checker._or,
    Not: _Checker._not,
    Truth: _Checker._truth,
    Comparison: _Checker._comparison,
    Range: _Checker._range,
    In: _Checker._in,
    IsNull: _Checker._is_null,
    TextTest: _Checker._text_test,
    InNetwork: _Checker._in_network,
    Within: _Checker._within,
    Near: _Checker._near,
    Call: _Checker._call,
}
