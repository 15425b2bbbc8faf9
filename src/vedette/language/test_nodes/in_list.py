"""`x in (a, b, c)`: lists of constants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vedette.language.checked_tree import Atom, Part
from vedette.language.distances import Miss, nearest, shown_literal
from vedette.language.render import constant, render
from vedette.language.subjects import SubjectNode
from vedette.language.syntax import PER_CONSTANT, Comparator, Evidence, Literal, Operand, Span, ValueTest, span_field
from vedette.language.three_valued import Truth, compared, some
from vedette.language.value_bounds import Bounds, Values
from vedette.language.valuesets import NOTHING, complement, of_intervals
from vedette.schema.columns import Column
from vedette.schema.keys import LOWEST, above, at_least
from vedette.schema.types import Kind

if TYPE_CHECKING:
    from vedette.language.check import FilterChecker

_SHOWN = 6  # constants in a message


@dataclass(frozen=True, slots=True)
class In(ValueTest):
    """`x in (a, b, c)`; a null among the items makes a miss unknown, as in SQL."""

    NAME = "list"

    operand: Operand
    items: tuple[Literal, ...]
    span: Span = span_field()

    def words(self) -> tuple[str, str]:
        """Its text."""
        return render(self.operand), f"in ({', '.join(constant(item.value) for item in self.items)})"

    @property
    def cost(self) -> float:
        """It grows with the list."""
        return 1.0 + PER_CONSTANT * len(self.items)

    def evidence(self) -> Iterator[Evidence]:
        """The operand has the type of the constants."""
        for item in self.items:
            yield Evidence(self.operand, item)

    def check(self, checker: FilterChecker) -> Part:
        """An atom with the constants in the attribute's type."""
        if not isinstance(self.operand, SubjectNode):
            return checker.residual(self, self.operand)
        subject = checker.subject(self.operand)
        column, items = checker.fitted(subject, self.items)
        test = self if items is self.items else In(self.operand, items, self.span)
        return Atom(self, test, column, subject.quantifier)

    def holds(self, value: Any) -> Truth:
        """Compare with every constant."""
        return some(compared(value, Comparator.EQ, item.value) for item in self.items)

    def values(self, kind: Kind, positive: bool) -> Values:
        """One interval for each constant, or the rest."""
        constants = [item.value for item in self.items if item.value is not None]
        if not positive and len(constants) < len(self.items):
            return NOTHING
        lowest = LOWEST[kind]
        bounds = []
        for value in constants:
            low = at_least(kind, value)
            if low is not None:
                bounds.append((None if low == lowest else low, above(kind, value)))
        found: Values = of_intervals(bounds)
        return found if positive else complement(found)

    def bounds(self, positive: bool = True) -> Bounds | None:
        """The constants."""
        return Bounds(listed=self.items, outside=not positive)

    def phrase(self) -> str:
        """`one of 1, 2`."""
        more = f", … ({len(self.items)} in all)" if len(self.items) > _SHOWN else ""
        return f"one of {', '.join(map(shown_literal, self.items[:_SHOWN]))}{more}"

    def missed(self, value: Any, wanted: bool) -> Miss | None:
        """The distance from the nearest constant."""
        return nearest(value, self.items) if wanted else None

    def why_never(self, column: Column) -> tuple[str, str | None]:
        """Null, as in SQL."""
        if any(item.value is None for item in self.items):
            return ": null is among the items, so a miss is unknown", f"write {column.name} is null apart from the list"
        return "", None
