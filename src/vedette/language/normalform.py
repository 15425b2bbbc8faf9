"""The normal form that every dialect arrives at: an OR of conjunctions, each literal over one column, with exceptions.

A filter matches when it is *true*, so after negation has been pushed to the atoms a literal is just a set:
those values (null among them or not) that satisfy it. Literals over an ordered column are `ValueSet`s and
merge by intersection (within a conjunction) and union (within a disjunction). What has no useful order
- contains, regular expressions, geometry, lists - is a `Probe`: a set of elementary tests of which one
must hold, asked once per distinct value.

Filters with many exceptions would become too many conjunctions. These have vetoes, conjunctions too: an event that
satisfies one of them does not match (see `vedette.language.exceptions`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias

from vedette.language.ast import Point, Region, TextKind
from vedette.language.valuesets import ValueSet
from vedette.schema.columns import Column


@dataclass(frozen=True, slots=True)
class TextProbe:
    """An elementary test of a string that is not an interval. `pattern` of `like` is with backslash escapes.

    `ignore_case` compares `lower()` of both sides; the pattern is in lower case already. `matches` never has it:
    its pattern begins with `(?i)` instead.
    """

    kind: TextKind
    pattern: str
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class RegionProbe:
    """A point inside the region, or a region that intersects it."""

    region: Region


@dataclass(frozen=True, slots=True)
class NearProbe:
    """Within a great-circle distance."""

    centre: Point
    metres: float


@dataclass(frozen=True, slots=True)
class ElementProbe:
    """A test of the elements of a list, in SQL's three-valued logic (Spark's `exists` / `forall`).

    `any`: some element satisfies `test`. `all`: every element does (an empty list satisfies it).
    `test` is a ValueSet of the elements' keys, or an elementary probe of an element. A null element satisfies a
    set that null belongs to (`any(x) is null`); else it makes the comparison unknown for that element.
    """

    quantifier: OneOf["any", "all"]
    test: ValueSet[int] | ValueSet[bytes] | TextProbe | RegionProbe | NearProbe


Elementary: TypeAlias = TextProbe | RegionProbe | NearProbe | ElementProbe


@dataclass(frozen=True, slots=True)
class Probe:
    """Some of the tests holds (`positive`), or the value is present and none does (`not positive`).

    For `ElementProbe`s "does not hold" means that the quantified comparison is *false*, not unknown.
    """

    tests: frozenset[Elementary]
    positive: bool = True


@dataclass(frozen=True, slots=True)
class Conjunction:
    """All of these hold. At most one value set per column; any number of probes.

    Of columns without an order (places, lists) the value set is all values or null: `is not null`, `is null`.
    """

    values: tuple[tuple[Column, ValueSet[int] | ValueSet[bytes]], ...] = ()
    probes: tuple[tuple[Column, Probe], ...] = ()


@dataclass(frozen=True, slots=True)
class NormalForm:
    """An OR of conjunctions, except where a veto holds: none is never true, an empty conjunction is always true."""

    conjunctions: tuple[Conjunction, ...]
    vetoes: tuple[Conjunction, ...] = ()
