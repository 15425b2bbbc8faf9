"""`text(a) startswith text(b)`: tests of one text in another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias, get_args
from typing import Literal as OneOf

from vedette.language.checked_tree import Atom, Part
from vedette.language.render import render
from vedette.language.syntax import Comparator, Literal, Span, Test, View, span_field
from vedette.language.test_nodes.comparison import Comparison
from vedette.schema.columns import Column
from vedette.schema.types import INT

if TYPE_CHECKING:
    from vedette.language.check import FilterChecker

PairKind: TypeAlias = OneOf["contains", "startswith", "endswith"]
PAIR_KINDS: Final[tuple[PairKind, ...]] = get_args(PairKind)


@dataclass(frozen=True, slots=True)
class TextPair(Test):
    """`text(a) startswith text(b)`: the text of one attribute contains, or begins or ends with, that of another."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("left", "right")
    NAME = "text test"

    left: View
    kind: PairKind
    right: View
    ignore_case: bool = False
    span: Span = span_field()

    def words(self) -> tuple[str, str]:
        """Its text."""
        return render(self.left), f"{'i' if self.ignore_case else ''}{self.kind} {render(self.right)}"

    def check(self, checker: FilterChecker) -> Part:
        """An atom of a column of its own, which is 1 where the test is true."""
        checker.text_columns(self.left, self.right)
        relation = ("i" if self.ignore_case else "") + self.kind
        column = Column(self.left.attribute.path, INT, self.right.attribute.path, relation)
        return Atom(self, Comparison(self.left, Comparator.EQ, Literal(1), self.span), column)
