"""`left op right`: comparisons with constants, of two attributes, and of constants, which are decided at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from vedette.language.checked_tree import Atom, PairAtom, Part, TruthPart
from vedette.language.distances import Miss, nearest, shown_literal
from vedette.language.render import constant, render
from vedette.language.subjects import SubjectNode
from vedette.language.syntax import (
    MIRRORED,
    OPPOSITE,
    Attribute,
    Comparator,
    Evidence,
    Literal,
    Operand,
    QuantifiedAttribute,
    Span,
    ValueTest,
    View,
    directed,
    span_field,
)
from vedette.language.three_valued import Truth, compared
from vedette.language.type_families import FAMILY_OF_KIND, family, named, shown
from vedette.language.value_bounds import Bound, Bounds, Values, constant_of, equal, from_low, to_high
from vedette.language.valuesets import NOTHING, NULL, PRESENT, complement, union
from vedette.schema.columns import Column
from vedette.schema.keys import above, at_least
from vedette.schema.types import INT, Kind, Type

if TYPE_CHECKING:
    from vedette.language.check import FilterChecker


@dataclass(frozen=True, slots=True)
class Comparison(ValueTest):
    """`left op right`. A boolean attribute alone is `attribute = true`."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("left", "right")
    NAME = "comparison"

    left: Operand
    op: Comparator
    right: Operand
    span: Span = span_field()

    def words(self) -> tuple[str, str]:
        """Its text."""
        return render(self.left), f"{self.op.value} {render(self.right)}"

    def negated_text(self) -> str | None:
        """`is distinct from`, the only negation that is written inside."""
        if self.op is not Comparator.SAME or isinstance(self.left, QuantifiedAttribute):
            return None
        return f"{render(self.left)} is distinct from {render(self.right)}"

    @property
    def needs_values(self) -> bool:
        """`<=>` is decided also for null."""
        return self.op is not Comparator.SAME

    # ------------------------------------------------------------ types

    def evidence(self) -> Iterator[Evidence]:
        """Each side has the type of the other one."""
        yield Evidence(self.left, self.right)
        yield Evidence(self.right, self.left)

    def check(self, checker: FilterChecker) -> Part:
        """An atom with the attribute on the left; or a test of two attributes, or of none."""
        left, right = self.left, self.right
        test = self
        if not isinstance(right, Literal) and isinstance(left, Literal):
            test = Comparison(right, MIRRORED[self.op], left, self.span)
            left, right = test.left, test.right
        if isinstance(right, Literal):
            if isinstance(left, SubjectNode):
                subject = checker.subject(left)
                column, (literal,) = checker.fitted(subject, (right,))
                if literal is not right:
                    test = Comparison(left, test.op, literal, self.span)
                return Atom(self, test, column, subject.quantifier)
            if isinstance(left, Literal):
                checker.refuse_quoted_name(self.span, left, right)
                return self.check_constants(checker, left, right)
        if isinstance(left, Attribute) and isinstance(right, Attribute):
            return self._check_pair(checker, left, right)
        if isinstance(left, View) and isinstance(right, View):
            return self._check_views(checker, left, right)
        return checker.residual(self, left, right)

    def check_constants(self, checker: FilterChecker, left: Literal, right: Literal) -> Part:
        """Decide a comparison of two constants."""
        if left.value is not None and right.value is not None and family(left.value) != family(right.value):
            checker.fail(f"{shown(left.value)} cannot be compared with {shown(right.value)}", self.span)
        if family(left.value) in (FAMILY_OF_KIND[Kind.POINT], FAMILY_OF_KIND[Kind.REGION]):
            checker.fail("places have no order and are not compared", self.span)
        return TruthPart(self, compared(left.value, self.op, right.value))

    def _check_pair(self, checker: FilterChecker, left: Attribute, right: Attribute) -> Part:
        op = self.op
        if right.path < left.path:
            left, right, op = right, left, MIRRORED[op]
        columns: list[Column] = []
        kinds: list[Kind] = []
        for attribute in (left, right):
            subject = checker.subject(attribute)
            if subject.type is None:
                columns.append(subject.presence())
                continue
            if not subject.type.kind.ordered:
                checker.refuse_unordered(subject, subject.type)
            kinds.append(subject.type.kind)
            columns.append(subject.column(subject.type.kind, False))
        if len(kinds) == 2 and FAMILY_OF_KIND[kinds[0]] != FAMILY_OF_KIND[kinds[1]]:
            one, other = (named(Type(kind)) for kind in kinds)
            checker.fail(f"{left.path} is {one} and {right.path} {other}: they cannot be compared", self.span)
        return PairAtom(self, op, Column(left.path, INT, right.path), columns[0], columns[1])

    def _check_views(self, checker: FilterChecker, left: View, right: View) -> Part:
        """Check a comparison of two views, both `text(…)`."""
        op = self.op
        if right.attribute.path < left.attribute.path:
            left, right, op = right, left, MIRRORED[op]
        columns = checker.text_columns(left, right)
        both = Column(left.attribute.path, INT, right.attribute.path, "text")
        return PairAtom(self, op, both, columns[0], columns[1])

    # ------------------------------------------------------------ meaning

    def holds(self, value: Any) -> Truth:
        """Compare with the constant on the right."""
        return compared(value, self.op, constant_of(self.right))

    def values(self, kind: Kind, positive: bool) -> Values:
        """The values on one side of the constant, or but for it."""
        value = constant_of(self.right)
        if self.op is Comparator.SAME:
            same = NULL if value is None else equal(kind, value)
            if positive:
                return same
            return PRESENT if value is None else union(complement(same), NULL)
        if value is None:
            return NOTHING
        return _VALUES[self.op if positive else OPPOSITE[self.op]](kind, value)

    def bounds(self, positive: bool = True) -> Bounds | None:
        """One bound or both, or a list of one that is left out."""
        op = self.op if positive else OPPOSITE.get(self.op)
        if op is Comparator.NE:
            return Bounds(listed=(self.right,), outside=True)
        sides = None if op is None else _SIDES.get(op)
        if sides is None:
            return None
        low, high = sides
        return Bounds(low and (low, self.right), high and (high, self.right))

    # ------------------------------------------------------------ explanations

    def phrase(self) -> str:
        """`< 5`."""
        return f"{self.op.value} {shown_literal(self.right)}"

    def needed(self, wanted: bool) -> str:
        """`< 5`, and for its negation `>= 5`."""
        return f"{directed(self.op, wanted).value} {shown_literal(self.right)}"

    def missed(self, value: Any, wanted: bool) -> Miss | None:
        """The distance from the constant; of `!=` none, since any other value would have done."""
        return None if directed(self.op, wanted) is Comparator.NE else nearest(value, (self.right,))

    def why_never(self, column: Column) -> tuple[str, str | None]:
        """Null, or a constant that no value of the type equals, or lies beyond."""
        if not isinstance(self.right, Literal):
            return "", None
        if self.right.value is None:
            negation = "not " if self.op is Comparator.NE else ""
            return ": a comparison with null is always unknown", f"write {column.name} is {negation}null"
        if self.op in (Comparator.EQ, Comparator.SAME):
            value = constant(self.right.value)
            return f": {column.name} is {named(column.type.element)}, and none equals {value}", None
        return f": no {column.type.kind.value} is so", None


_VALUES: Final[dict[Comparator, Callable[[Kind, Any], Values]]] = {
    Comparator.EQ: equal,
    Comparator.NE: lambda kind, value: complement(equal(kind, value)),
    Comparator.LT: lambda kind, value: to_high(kind, at_least(kind, value)),
    Comparator.LE: lambda kind, value: to_high(kind, above(kind, value)),
    Comparator.GT: lambda kind, value: from_low(kind, above(kind, value)),
    Comparator.GE: lambda kind, value: from_low(kind, at_least(kind, value)),
}
_SIDES: Final[dict[Comparator, tuple[Bound | None, Bound | None]]] = {
    Comparator.EQ: (at_least, above),
    Comparator.LT: (None, at_least),
    Comparator.LE: (None, above),
    Comparator.GT: (above, None),
    Comparator.GE: (at_least, None),
}
