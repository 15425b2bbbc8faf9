"""The normal form of filters: an OR of conjunctions, each literal over one column, with vetoes for exceptions.

A filter matches when it is *true*, so after negation has been pushed to the atoms a literal is just a set:
those values (null among them or not) that satisfy it. Literals over an ordered column are `ValueSet`s and
merge by intersection (within a conjunction) and union (within a disjunction). What has no useful order
- contains, regular expressions, geometry, lists - is a `Probe`: a set of elementary tests of which one
must hold, evaluated once per distinct value.

Filters with many exceptions would become too many conjunctions. They get vetoes, which are conjunctions too: an event
that satisfies one of them does not match (see `vedette.language.vetoes`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias, get_args
from typing import Literal as OneOf

from vedette.language.render import string
from vedette.language.syntax import TextKind
from vedette.language.valuesets import AnySet
from vedette.schema.columns import Column


@dataclass(frozen=True, slots=True)
class ValueProbe:
    """An elementary test of one value; filters/probes has the loops that decide each for many values."""

    NAMES: ClassVar[tuple[str, ...]]  # in snapshots

    @abstractmethod
    def phrase(self) -> str:
        """Its text, without the attribute."""

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """Its content as plain data, for snapshots; `test` is one of the names."""

    @classmethod
    @abstractmethod
    def of_fields(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `fields`."""


@dataclass(frozen=True, slots=True)
class TextProbe(ValueProbe):
    """An elementary test of a string that is not an interval; the `pattern` of `like` has backslash escapes.

    `ignore_case` compares `lower()` of both sides; the pattern is already in lower case. `matches` never has it:
    its pattern begins with `(?i)` instead.
    """

    NAMES = get_args(TextKind)

    kind: TextKind
    pattern: str
    ignore_case: bool = False

    def phrase(self) -> str:
        """`like 'a%'`."""
        return f"{'i' if self.ignore_case else ''}{self.kind} {string(self.pattern)}"

    def fields(self) -> dict[str, Any]:
        """Its pattern, and `ignore_case` if it does."""
        fields = {"test": self.kind, "pattern": self.pattern}
        return {**fields, "ignore_case": True} if self.ignore_case else fields

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any]) -> TextProbe:
        """From its pattern."""
        return cls(fields["test"], fields["pattern"], fields.get("ignore_case", False))


@dataclass(frozen=True, slots=True)
class ElementProbe:
    """A test of the elements of a list, in SQL's three-valued logic (Spark's `exists` / `forall`).

    `any`: some element satisfies `test`. `all`: every element does (an empty list satisfies it).
    `test` is a ValueSet of the elements' keys, or an elementary probe of an element. A null element satisfies a
    set that null belongs to (`any(x) is null`); else it makes the comparison unknown for that element.
    """

    quantifier: OneOf["any", "all"]
    test: AnySet | ValueProbe


Elementary: TypeAlias = ValueProbe | ElementProbe


@dataclass(frozen=True, slots=True)
class Probe:
    """An OR of tests: one of them holds (`positive`), or the value is present and none holds (`not positive`).

    For `ElementProbe`s "does not hold" means that the quantified comparison is *false*, not unknown.
    """

    tests: frozenset[Elementary]
    positive: bool = True


@dataclass(frozen=True, slots=True)
class Conjunction:
    """An AND of literals: at most one value set per column, and any number of probes.

    Of columns without an order (points, regions, lists) the value set is all values or null: `is not null`, `is null`.
    """

    values: tuple[tuple[Column, AnySet], ...] = ()
    probes: tuple[tuple[Column, Probe], ...] = ()


@dataclass(frozen=True, slots=True)
class NormalForm:
    """An OR of conjunctions, except where a veto holds; without any it is never true, with an empty one always."""

    conjunctions: tuple[Conjunction, ...]
    vetoes: tuple[Conjunction, ...] = ()
