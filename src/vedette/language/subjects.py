"""The subject of a test: an attribute or a view of one, its type, and the quantifier over its elements."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias

from vedette.language.syntax import Attribute, QuantifiedAttribute, View
from vedette.schema.columns import Column
from vedette.schema.types import INT, Kind, Type

# The operands that can be read as a column.
SubjectNode: TypeAlias = Attribute | View | QuantifiedAttribute


@dataclass(frozen=True, slots=True)
class Subject:
    """The attribute or view, the quantifier, and the type if it is known."""

    of: Attribute | View
    quantifier: OneOf["any", "all"] | None
    type: Type | None

    @property
    def name(self) -> str:
        """The name in messages."""
        return named_subject(self.of)

    def column(self, kind: Kind, is_list: bool) -> Column:
        """The column to read, as a kind."""
        if isinstance(self.of, View):
            return _column(self.of.attribute.path, kind, is_list, self.of.reading)
        return _column(self.of.path, kind, is_list, None)

    def elements(self, kind: Kind) -> Column:
        """The column of a test with a quantifier over elements."""
        return self.column(kind, self.quantifier is not None)

    def presence(self) -> Column:
        """The column of an attribute of unknown type of which only the presence is tested."""
        path = self.of.attribute.path if isinstance(self.of, View) else self.of.path
        return Column(path, INT, path)


def attribute_of(operand: Attribute | QuantifiedAttribute) -> Attribute:
    """The attribute that an operand is, or whose elements it quantifies; TypeError for a view, which is neither."""
    found = operand.attribute if isinstance(operand, QuantifiedAttribute) else operand
    if isinstance(found, View):
        raise TypeError(f"{named_subject(found)} is a view")
    return found


def named_subject(of: Attribute | View) -> str:
    """The name of an attribute or a view in messages."""
    return f"{of.reading}({of.attribute.path})" if isinstance(of, View) else of.path


@functools.lru_cache(maxsize=1 << 16)
def _column(path: str, kind: Kind, is_list: bool, reading: str | None) -> Column:
    return Column(path, Type(kind, is_list), None, reading)
