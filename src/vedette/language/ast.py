"""The abstract syntax tree of a text, before it is checked: plain, frozen nodes.

    Filter     And Or Not Truth | Comparison Range In IsNull TextTest TextPair InNetwork Within Near Call
    Operand    Attribute View Quantified | Literal | Variable JoinVariable | Arithmetic
    Pattern    Step Sequence Every (and) Either (or) Repeat Absent Conditioned | Composite (the whole)

Every node carries the span of its text; spans do not take part in equality.
"""

from __future__ import annotations

import datetime as dt
import enum
import ipaddress
from dataclasses import dataclass, field
from typing import Final, TypeAlias, get_args
from typing import Literal as OneOf


@dataclass(frozen=True, slots=True)
class Span:
    """A range of the text: [start, end) in characters."""

    start: int = 0
    end: int = 0


def _span() -> Span:
    return field(default=Span(), compare=False, repr=False)


# ---------------------------------------------------------------- operands


@dataclass(frozen=True, slots=True)
class Point:
    """A geographic point: longitude (x) first, as in GeoJSON."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Region:
    """An area, as well-known text (POLYGON or MULTIPOLYGON), longitude first."""

    wkt: str


Constant: TypeAlias = (
    bool
    | int
    | float
    | str
    | dt.datetime
    | dt.date
    | ipaddress.IPv4Address
    | ipaddress.IPv6Address
    | Point
    | Region
    | None
)


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant. A datetime is aware, in UTC; None is SQL's null."""

    value: Constant
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Attribute:
    """A dotted path into the event, e.g. `order.total`."""

    path: str
    span: Span = _span()


Reading: TypeAlias = OneOf["text", "items", "integer", "texts", "strings", "numbers", "figures", "leaves", "nested"]
READINGS: Final[tuple[Reading, ...]] = get_args(Reading)
EVERYTHING: Final = "*"  # the path of the whole event


@dataclass(frozen=True, slots=True)
class View:
    """`text(p)`, `strings(p)`, …: an attribute read leniently, whatever its type; the path `*` is the whole event."""

    reading: Reading
    attribute: Attribute
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class QuantifiedAttribute:
    """`any(tags)` or `all(tags)`: the comparison holds for some / every element."""

    quantifier: OneOf["any", "all"]
    attribute: Attribute | View
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Variable:
    """`?people`: bound by an operator."""

    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class JoinVariable:
    """`$x`: the same value in several steps of a pattern."""

    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left op right`, for value constraints over variables."""

    op: OneOf["+", "-", "*", "/", "%"]
    left: Operand
    right: Operand
    span: Span = _span()


Operand: TypeAlias = Attribute | View | QuantifiedAttribute | Literal | Variable | JoinVariable | Arithmetic

# ---------------------------------------------------------------- filters


@dataclass(frozen=True, slots=True)
class And:
    """Every part (two or more) holds."""

    parts: tuple[Filter, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Or:
    """Some part (of two or more) holds."""

    parts: tuple[Filter, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Not:
    """The part is false (unknown stays unknown)."""

    part: Filter
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class TruthLiteral:
    """`true`, `false`, or `null` (unknown) written as a filter."""

    value: bool | None
    span: Span = _span()


class Comparator(enum.Enum):
    """How two operands are compared; SAME is SQL's null-safe `<=>` (`is not distinct from`)."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    SAME = "<=>"

    __hash__ = object.__hash__  # Enum's own is written in Python


# `a op b` is `b MIRRORED[op] a`.
MIRRORED: Final = {
    Comparator.EQ: Comparator.EQ,
    Comparator.NE: Comparator.NE,
    Comparator.LT: Comparator.GT,
    Comparator.LE: Comparator.GE,
    Comparator.GT: Comparator.LT,
    Comparator.GE: Comparator.LE,
    Comparator.SAME: Comparator.SAME,
}
# `not a op b` is `a OPPOSITE[op] b`; SAME has no opposite comparator.
OPPOSITE: Final = {
    Comparator.EQ: Comparator.NE,
    Comparator.NE: Comparator.EQ,
    Comparator.LT: Comparator.GE,
    Comparator.LE: Comparator.GT,
    Comparator.GT: Comparator.LE,
    Comparator.GE: Comparator.LT,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left op right`. A boolean attribute alone is `attribute = true`."""

    left: Operand
    op: Comparator
    right: Operand
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Range:
    """`x between a and b` (closed) or `x in [a .. b)` with open and closed ends."""

    operand: Operand
    low: Operand
    high: Operand
    low_closed: bool = True
    high_closed: bool = True
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class In:
    """`x in (a, b, c)`; a null among the items makes a miss unknown, as in SQL."""

    operand: Operand
    items: tuple[Literal, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class IsNull:
    """`x is null` (`exists x` and `x is not null` are its negation)."""

    operand: Operand
    span: Span = _span()


TextKind: TypeAlias = OneOf["like", "contains", "startswith", "endswith", "matches", "fits"]


@dataclass(frozen=True, slots=True)
class TextTest:
    """A test of a string; `contains` on a list attribute looks for an equal element, `fits` tests an event pattern."""

    operand: Operand
    kind: TextKind
    pattern: Literal
    ignore_case: bool = False
    escape: str = "\\"
    span: Span = _span()


PairKind: TypeAlias = OneOf["contains", "startswith", "endswith"]
PAIR_KINDS: Final[tuple[PairKind, ...]] = get_args(PairKind)


@dataclass(frozen=True, slots=True)
class TextPair:
    """`text(a) startswith text(b)`: the text of one attribute contains, or begins or ends with, that of another."""

    left: View
    kind: PairKind
    right: View
    ignore_case: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class InNetwork:
    """`address in cidr '10.0.0.0/8'`; several networks are alternatives."""

    operand: Operand
    networks: tuple[str, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Within:
    """`place within region '…'`: the point is inside or on the border, or the region intersects it."""

    operand: Operand
    region: Region
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Near:
    """`place within 5 km of point(x, y)`: great-circle distance, inclusive."""

    operand: Operand
    centre: Point
    metres: float
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Call:
    """`locIn('Bronx')`, `mobPattern(?people)`: a call of an operator of the application."""

    name: str
    arguments: tuple[Operand, ...]
    span: Span = _span()


Filter: TypeAlias = (
    And
    | Or
    | Not
    | TruthLiteral
    | Comparison
    | Range
    | In
    | IsNull
    | TextTest
    | TextPair
    | InNetwork
    | Within
    | Near
    | Call
)

# ---------------------------------------------------------------- patterns


@dataclass(frozen=True, slots=True)
class Step:
    """`label:[filter]`: a step, which one event satisfies."""

    filter: Filter
    label: str | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Sequence:
    """`a , b ; c`: `links[i]` is between `parts[i]` and `parts[i + 1]`."""

    parts: tuple[Pattern, ...]
    links: tuple[OneOf[",", ";"], ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class PatternAnd:
    """`a and b` between sub-patterns, in any order."""

    parts: tuple[Pattern, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class PatternOr:
    """`a or b` between sub-patterns."""

    parts: tuple[Pattern, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Repeat:
    """`p{n}` or `p{n,m}`: contiguous repetition."""

    part: Pattern
    least: int
    most: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Absence:
    """`not [ … ]` between two steps: no such event in between."""

    step: Step
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class TimeCondition:
    """`t(later) - t(earlier) op microseconds`; with `earlier` None an absolute time in microseconds."""

    later: str
    earlier: str | None
    op: Comparator
    microseconds: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class TimedPattern:
    """`p @ (t(b) - t(a) < 5 min and …)`."""

    part: Pattern
    conditions: tuple[TimeCondition, ...]
    span: Span = _span()


Pattern: TypeAlias = Step | Sequence | PatternAnd | PatternOr | Repeat | Absence | TimedPattern


@dataclass(frozen=True, slots=True)
class Composite:
    """A whole pattern: its shape, its partition (`by user, host`) and its window (`within 10 min`)."""

    pattern: Pattern
    by: tuple[str, ...] = ()
    within: int | None = None  # microseconds
    span: Span = _span()
    by_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False)  # one for each of `by`, or none


Expression: TypeAlias = Filter | Composite
