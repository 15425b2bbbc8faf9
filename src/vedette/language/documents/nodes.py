"""The syntax tree of an event pattern: plain, frozen nodes.

EventPattern    alternatives, one for every combination of its `$or`s: some of them must hold
Alternative     fields, all of which must hold, in the order of their paths
Field           tests of the leaves at a path: some leaf passes some test

LeafTest        Equal Constant SameAddress InNetwork | TextTest Wildcard | Numeric | AnythingBut | Exists
Test            LeafTest | Missing (there is no leaf)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias
from typing import Literal as OneOf


@dataclass(frozen=True, slots=True)
class LeafEquals:
    """The leaf is this string."""

    text: str


@dataclass(frozen=True, slots=True)
class LeafConstant:
    """The leaf is this number, true, false or null, as canonical JSON text: 300 also for 300.0 and 3e2."""

    json: str


@dataclass(frozen=True, slots=True)
class LeafAddress:
    """The leaf is a string with the same IP address, in any notation."""

    address: str


@dataclass(frozen=True, slots=True)
class LeafInNetwork:
    """The leaf is a string with an IP address of the network."""

    network: str


@dataclass(frozen=True, slots=True)
class LeafTextTest:
    """The leaf is a string that begins with, ends with or (ignoring case) equals the text."""

    kind: OneOf["equals", "prefix", "suffix"]
    text: str
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class LeafWildcard:
    """The leaf is a string made of these pieces with any text between them; one piece: just that text."""

    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LeafRange:
    """The leaf is a number between the ends; None is unbounded."""

    low: float | None
    high: float | None
    low_closed: bool = True
    high_closed: bool = True


@dataclass(frozen=True, slots=True)
class LeafExists:
    """There is a leaf, whatever it is."""


@dataclass(frozen=True, slots=True)
class LeafMissing:
    """There is no leaf."""


@dataclass(frozen=True, slots=True)
class LeafAnythingBut:
    """The leaf passes none of these tests; a leaf of another type passes none of them."""

    excluded: tuple[LeafEquals | LeafConstant | LeafTextTest | LeafWildcard, ...]


LeafTest: TypeAlias = (
    LeafEquals
    | LeafConstant
    | LeafAddress
    | LeafInNetwork
    | LeafTextTest
    | LeafWildcard
    | LeafRange
    | LeafAnythingBut
    | LeafExists
)
FieldTest: TypeAlias = LeafTest | LeafMissing
MISSING: Final = LeafMissing()


@dataclass(frozen=True, slots=True)
class EventPatternField:
    """Some leaf at the path (its keys, joined by dots) passes some test."""

    path: str
    tests: tuple[FieldTest, ...]

    @property
    def leaf_tests(self) -> tuple[LeafTest, ...]:
        """The tests that a leaf can pass."""
        return tuple(test for test in self.tests if not isinstance(test, LeafMissing))

    @property
    def may_miss(self) -> bool:
        """Whether the field also holds where there is no leaf."""
        return MISSING in self.tests


@dataclass(frozen=True, slots=True)
class EventPatternAlternative:
    """Fields that must all hold, with leaves that do not lie in different elements of one list.

    They are in the order in which AWS tests them: that of their paths, by UTF-16 code units. It decides what
    `exists: false` means inside a list, since a leaf is missing relative to those that were found before it.
    """

    fields: tuple[EventPatternField, ...]


@dataclass(frozen=True, slots=True)
class EventPattern:
    """Some alternative holds."""

    alternatives: tuple[EventPatternAlternative, ...]


def in_order(fields: dict[str, EventPatternField]) -> EventPatternAlternative:
    """An alternative of the fields, in AWS's order."""
    return EventPatternAlternative(tuple(fields[path] for path in sorted(fields, key=_code_units)))


def _code_units(path: str) -> bytes:
    return path.encode("utf-16-be", "surrogatepass")
