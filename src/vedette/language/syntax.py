"""The nodes of the syntax tree but for the tests, what every test answers, and walks that need not know which it is.

Each test is a module of `vedette.language.test_nodes`; `vedette.language.ast` has all nodes.
"""

from __future__ import annotations

import datetime as dt
import enum
import ipaddress
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self, TypeAlias, get_args
from typing import Literal as OneOf

if TYPE_CHECKING:
    from vedette.language.check import FilterChecker
    from vedette.language.checked_tree import Part
    from vedette.language.distances import Miss
    from vedette.language.normalform import ValueProbe
    from vedette.language.value_bounds import Bounds
    from vedette.language.valuesets import ValueSet
    from vedette.schema.columns import Column
    from vedette.schema.types import Kind


@dataclass(frozen=True, slots=True)
class Span:
    """A range of the text: [start, end) in characters."""

    start: int = 0
    end: int = 0


def span_field() -> Span:
    """The span of a node, which takes no part in equality."""
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
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Attribute:
    """A dotted path into the event, e.g. `order.total`."""

    path: str
    span: Span = span_field()


Reading: TypeAlias = OneOf["text", "items", "integer", "texts", "strings", "numbers", "figures", "leaves", "nested"]
READINGS: Final[tuple[Reading, ...]] = get_args(Reading)
EVERYTHING: Final = "*"  # the path of the whole event


@dataclass(frozen=True, slots=True)
class View:
    """`text(p)`, `strings(p)`, …: an attribute read leniently, whatever its type; the path `*` is the whole event."""

    reading: Reading
    attribute: Attribute
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class QuantifiedAttribute:
    """`any(tags)` or `all(tags)`: the comparison holds for some / every element."""

    quantifier: OneOf["any", "all"]
    attribute: Attribute | View
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Variable:
    """`?people`: bound by an operator."""

    name: str
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class JoinVariable:
    """`$x`: the same value in several steps of a pattern."""

    name: str
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left op right`, for value constraints over variables."""

    op: OneOf["+", "-", "*", "/", "%"]
    left: Operand
    right: Operand
    span: Span = span_field()


Operand: TypeAlias = Attribute | View | QuantifiedAttribute | Literal | Variable | JoinVariable | Arithmetic

# ---------------------------------------------------------------- filters


@dataclass(frozen=True, slots=True)
class And:
    """Every part (two or more) holds."""

    parts: tuple[Filter, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Or:
    """Some part (of two or more) holds."""

    parts: tuple[Filter, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Not:
    """The part is false (unknown stays unknown)."""

    part: Filter
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class TruthLiteral:
    """`true`, `false`, or `null` (unknown) written as a filter."""

    value: bool | None
    span: Span = span_field()


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


def directed(op: Comparator, wanted: bool) -> Comparator:
    """The comparator that has to hold so that `op` holds, or (if not `wanted`) does not."""
    return op if wanted else OPPOSITE.get(op, Comparator.NE)


# ---------------------------------------------------------------- tests and calls

TextKind: TypeAlias = OneOf["like", "contains", "startswith", "endswith", "matches", "fits"]
PER_CONSTANT: Final = 0.01  # the cost of each constant in a list


class Evidence(NamedTuple):
    """What a test says about the type of an operand: it is compared with another operand, or with a kind of values."""

    operand: Operand
    other: Operand | None = None
    kind: Kind | None = None
    or_list: bool = False  # the operand may also be a list of such values


@dataclass(frozen=True, slots=True)
class FilterLeaf:
    """A part of a filter without parts of its own: a test, or a call of an operator."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("operand",)  # the names of its fields that hold operands
    NAME: ClassVar[str]  # in pictures of the tree

    @property
    def span(self) -> Span:
        """Its place in the text."""
        raise NotImplementedError

    def operands(self) -> tuple[Operand, ...]:
        """Its operands, from left to right."""
        return tuple([getattr(self, name) for name in self.OPERANDS])

    def with_operands(self, change: Callable[[Operand], Operand]) -> Self:
        """The same of other operands."""
        return replace(self, **{name: change(getattr(self, name)) for name in self.OPERANDS})

    @property
    def cost(self) -> float:
        """What it costs to decide it for an event, roughly, where a plain test costs 1."""
        return 1.0

    def conjuncts(self) -> tuple[FilterLeaf, ...]:
        """Simpler conditions whose AND means the same; itself if there are none."""
        return (self,)

    def evidence(self) -> Iterator[Evidence]:
        """What it says about the types of its operands; of each at least that it is there."""
        return map(Evidence, self.operands())


@dataclass(frozen=True, slots=True)
class Call(FilterLeaf):
    """`locIn('Bronx')`, `mobPattern(?people)`: a call of an operator of the application."""

    NAME = "operator"

    name: str
    arguments: tuple[Operand, ...]
    span: Span = span_field()

    @property
    def cost(self) -> float:
        """It runs somebody's code."""
        return 50.0

    def operands(self) -> tuple[Operand, ...]:
        """Its arguments."""
        return self.arguments

    def with_operands(self, change: Callable[[Operand], Operand]) -> Call:
        """The same of other arguments."""
        return Call(self.name, tuple(map(change, self.arguments)), self.span)


@dataclass(frozen=True, slots=True)
class Test(FilterLeaf):
    """A test of an event: what differs between tests, each class answers for itself."""

    @abstractmethod
    def check(self, checker: FilterChecker) -> Part:
        """The checked part that it becomes; FilterError if names, types or constants make no sense."""

    @abstractmethod
    def words(self) -> tuple[str, str]:
        """Its text, in two parts: the first operand, and the rest."""

    def negated_text(self) -> str | None:
        """The text of its negation; None if that is written before the test and not inside it."""
        if isinstance(self.operands()[0], QuantifiedAttribute):
            return None  # `any(x) not …` has another meaning
        first, rest = self.words()
        return f"{first} not {rest}"

    @property
    def needs_values(self) -> bool:
        """Whether it can only be true or false where none of its operands is null."""
        return True


@dataclass(frozen=True, slots=True)
class ValueTest(Test):
    """A test of one value: that of an attribute, or of some or every element of a list."""

    READ_AS: ClassVar[tuple[Kind, ...] | None] = None  # the kinds of values that it is for; (): all; None: by comparing
    OTHER_LEAVES: ClassVar[OneOf[False] | None] = None  # its truth for leaves of an event that are of another kind

    @abstractmethod
    def holds(self, value: Any) -> bool | None:
        """Whether it is true of a value: the slow and obvious way, which everything fast is compared with."""

    @abstractmethod
    def values(self, kind: Kind, positive: bool) -> ValueSet[Any] | ValueProbe:
        """The values of a kind for which it is true, or (if not `positive`) false; or, if they have no order, a probe.

        They are computed independently of `holds`. A probe is for what is true, whatever `positive`.
        """

    def bounds(self, positive: bool = True) -> Bounds | None:
        """What it, or its negation, asks for as bounds and lists of constants; None if it is not that simple."""
        return None

    @abstractmethod
    def phrase(self) -> str:
        """What it asks of a value, as in `needed …`."""

    def needed(self, wanted: bool) -> str:
        """What would have made it true, or (if not `wanted`) false."""
        return f"{'' if wanted else 'not '}{self.phrase()}"

    def missed(self, value: Any, wanted: bool) -> Miss | None:
        """By how much a value misses what was needed; None if that cannot be measured."""
        return None

    def why_never(self, column: Column) -> tuple[str, str | None]:
        """Why it can never hold, as the end of a sentence, and a hint at what may have been meant."""
        return "", None


Filter: TypeAlias = And | Or | Not | TruthLiteral | FilterLeaf


def leaves_of(node: Filter) -> Iterator[FilterLeaf]:
    """The tests and calls of a filter, from left to right."""
    if isinstance(node, And | Or):
        for part in node.parts:
            yield from leaves_of(part)
    elif isinstance(node, Not):
        yield from leaves_of(node.part)
    elif not isinstance(node, TruthLiteral):
        yield node


def with_operands(node: Filter, change: Callable[[Operand], Operand]) -> Filter:
    """The same filter of other operands."""
    if isinstance(node, And | Or):
        return replace(node, parts=tuple(with_operands(part, change) for part in node.parts))
    if isinstance(node, Not):
        return replace(node, part=with_operands(node.part, change))
    return node if isinstance(node, TruthLiteral) else node.with_operands(change)


# ---------------------------------------------------------------- patterns


@dataclass(frozen=True, slots=True)
class Step:
    """`label:[filter]`: a step, which one event satisfies."""

    filter: Filter
    label: str | None = None
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Sequence:
    """`a , b ; c`: `links[i]` is between `parts[i]` and `parts[i + 1]`."""

    parts: tuple[Pattern, ...]
    links: tuple[OneOf[",", ";"], ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class PatternAnd:
    """`a and b` between sub-patterns, in any order."""

    parts: tuple[Pattern, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class PatternOr:
    """`a or b` between sub-patterns."""

    parts: tuple[Pattern, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Repeat:
    """`p{n}` or `p{n,m}`: contiguous repetition."""

    part: Pattern
    least: int
    most: int
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Absence:
    """`not [ … ]` between two steps: no such event in between."""

    step: Step
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class TimeCondition:
    """`t(later) - t(earlier) op microseconds`; with `earlier` None an absolute time in microseconds."""

    later: str
    earlier: str | None
    op: Comparator
    microseconds: int
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class TimedPattern:
    """`p @ (t(b) - t(a) < 5 min and …)`."""

    part: Pattern
    conditions: tuple[TimeCondition, ...]
    span: Span = span_field()


Pattern: TypeAlias = Step | Sequence | PatternAnd | PatternOr | Repeat | Absence | TimedPattern


@dataclass(frozen=True, slots=True)
class Composite:
    """A whole pattern: its shape, its partition (`by user, host`) and its window (`within 10 min`)."""

    pattern: Pattern
    by: tuple[str, ...] = ()
    within: int | None = None  # microseconds
    span: Span = span_field()
    by_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False)  # one for each of `by`, or none


Expression: TypeAlias = Filter | Composite


# ---------------------------------------------------------------- of all nodes


def parts_of(node: Filter | Pattern | Composite) -> tuple[Filter | Pattern, ...]:
    """The filters and patterns of which a filter or pattern directly consists."""
    match node:
        case And() | Or() | Sequence() | PatternAnd() | PatternOr():
            return node.parts
        case Not() | Repeat() | TimedPattern():
            return (node.part,)
        case Step():
            return (node.filter,)
        case Absence():
            return (node.step,)
        case Composite():
            return (node.pattern,)
    return ()
