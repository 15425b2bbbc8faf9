"""`x is null`: whether there is no value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from vedette.language.checked_tree import Atom, Part
from vedette.language.render import render
from vedette.language.subjects import SubjectNode
from vedette.language.syntax import Operand, QuantifiedAttribute, Span, ValueTest, span_field
from vedette.language.three_valued import Truth
from vedette.language.value_bounds import Values
from vedette.language.valuesets import NULL, PRESENT
from vedette.schema.types import Kind

if TYPE_CHECKING:
    from vedette.language.check import FilterChecker


@dataclass(frozen=True, slots=True)
class IsNull(ValueTest):
    """`x is null` (`exists x` and `x is not null` are its negation)."""

    NAME = "null test"
    READ_AS: ClassVar[tuple[Kind, ...] | None] = ()

    operand: Operand
    span: Span = span_field()

    def words(self) -> tuple[str, str]:
        """Its text."""
        return render(self.operand), "is null"

    def negated_text(self) -> str | None:
        """`is not null`."""
        return None if isinstance(self.operand, QuantifiedAttribute) else f"{render(self.operand)} is not null"

    @property
    def needs_values(self) -> bool:
        """It is for null."""
        return False

    def check(self, checker: FilterChecker) -> Part:
        """An atom; the attribute may be a list as a whole."""
        if not isinstance(self.operand, SubjectNode):
            return checker.residual(self, self.operand)
        subject = checker.subject(self.operand, list_is_fine=True)
        if subject.type is None:
            return Atom(self, self, subject.presence(), subject.quantifier)
        return Atom(self, self, subject.column(subject.type.kind, subject.type.is_list), subject.quantifier)

    def holds(self, value: Any) -> Truth:
        """Never unknown."""
        return value is None

    def values(self, kind: Kind, positive: bool) -> Values:
        """Null, or all values."""
        return NULL if positive else PRESENT

    def phrase(self) -> str:
        """As in `needed to be missing`."""
        return "to be missing"

    def needed(self, wanted: bool) -> str:
        """`to be missing`, or `to be there`."""
        return "to be missing" if wanted else "to be there"
