"""`x between a and b`, `x in [a .. b)`: ranges of values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from vedette.language.checked_tree import AndPart, Atom, Part
from vedette.language.distances import Miss, nearest, shown_literal
from vedette.language.render import render
from vedette.language.subjects import SubjectNode
from vedette.language.syntax import (
    Comparator,
    Evidence,
    Literal,
    Operand,
    QuantifiedAttribute,
    Span,
    ValueTest,
    span_field,
)
from vedette.language.test_nodes.comparison import Comparison
from vedette.language.three_valued import Truth, compared, every
from vedette.language.value_bounds import Bounds, Values, between, constant_of, from_low, to_high
from vedette.language.valuesets import NOTHING, complement
from vedette.schema.columns import Column
from vedette.schema.keys import above, at_least
from vedette.schema.types import Kind

if TYPE_CHECKING:
    from vedette.language.check import FilterChecker


@dataclass(frozen=True, slots=True)
class Range(ValueTest):
    """`x between a and b` (closed) or `x in [a .. b)` with open and closed ends."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("operand", "low", "high")
    NAME = "range"

    operand: Operand
    low: Operand
    high: Operand
    low_closed: bool = True
    high_closed: bool = True
    span: Span = span_field()

    def words(self) -> tuple[str, str]:
        """Its text."""
        low, high = render(self.low), render(self.high)
        if self.low_closed and self.high_closed:
            return render(self.operand), f"between {low} and {high}"
        return render(self.operand), f"in {'(['[self.low_closed]}{low} .. {high}{')]'[self.high_closed]}"

    def conjuncts(self) -> tuple[Comparison, Comparison]:
        """The two equivalent comparisons."""
        at_low = Comparator.GE if self.low_closed else Comparator.GT
        at_high = Comparator.LE if self.high_closed else Comparator.LT
        return (
            Comparison(self.operand, at_low, self.low, self.span),
            Comparison(self.operand, at_high, self.high, self.span),
        )

    # ------------------------------------------------------------ types

    def evidence(self) -> Iterator[Evidence]:
        """The operand has the type of the ends."""
        yield Evidence(self.operand, self.low)
        yield Evidence(self.operand, self.high)

    def check(self, checker: FilterChecker) -> Part:
        """An atom if the ends are constants, else two comparisons."""
        operand, low, high = self.operand, self.low, self.high
        if isinstance(low, Literal) and isinstance(high, Literal) and isinstance(operand, SubjectNode):
            subject = checker.subject(operand)
            column, (first, last) = checker.fitted(subject, (low, high))
            test = self if first is low and last is high else replace(self, low=first, high=last)
            return Atom(self, test, column, subject.quantifier)
        if isinstance(operand, QuantifiedAttribute):
            checker.fail("the ends of a range of elements must be constants", self.span)
        checker.refuse_quoted_name(self.span, operand, low, high)
        return AndPart(self, tuple(_check_end(end, checker) for end in self.conjuncts()))

    # ------------------------------------------------------------ meaning

    def holds(self, value: Any) -> Truth:
        """Compare with both ends."""
        low, high = constant_of(self.low), constant_of(self.high)
        return every(
            (
                compared(value, Comparator.GE if self.low_closed else Comparator.GT, low),
                compared(value, Comparator.LE if self.high_closed else Comparator.LT, high),
            )
        )

    def values(self, kind: Kind, positive: bool) -> Values:
        """The values between the ends, or outside of them."""
        low, high = constant_of(self.low), constant_of(self.high)
        if low is None or high is None:
            if positive:
                return NOTHING
            # It is false where the known end makes it false.
            if low is not None:
                return to_high(kind, at_least(kind, low) if self.low_closed else above(kind, low))
            if high is not None:
                return from_low(kind, above(kind, high) if self.high_closed else at_least(kind, high))
            return NOTHING
        start = at_least(kind, low) if self.low_closed else above(kind, low)
        stop = above(kind, high) if self.high_closed else at_least(kind, high)
        inside = between(kind, start, stop)
        return inside if positive else complement(inside)

    def bounds(self, positive: bool = True) -> Bounds | None:
        """Both ends; what is outside has none."""
        if not positive:
            return None
        low, high = (at_least if self.low_closed else above), (above if self.high_closed else at_least)
        return Bounds((low, self.low), (high, self.high))

    # ------------------------------------------------------------ explanations

    def phrase(self) -> str:
        """`between 1 and 5`."""
        low, high = shown_literal(self.low), shown_literal(self.high)
        if self.low_closed and self.high_closed:
            return f"between {low} and {high}"
        return f"in {'[' if self.low_closed else '('}{low} .. {high}{']' if self.high_closed else ')'}"

    def missed(self, value: Any, wanted: bool) -> Miss | None:
        """The distance from the nearer end, on either side."""
        return nearest(value, (self.low, self.high))

    def why_never(self, column: Column) -> tuple[str, str | None]:
        """Null, or no value between the ends."""
        if any(isinstance(end, Literal) and end.value is None for end in (self.low, self.high)):
            return ": a comparison with null is always unknown", None
        return ": the range is empty", "the lower end comes first"


def _check_end(end: Comparison, checker: FilterChecker) -> Part:
    if isinstance(end.left, Literal) and isinstance(end.right, Literal):
        return end.check_constants(checker, end.left, end.right)
    return end.check(checker)
