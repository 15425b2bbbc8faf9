"""What a CloudEvents SQL expression says: plain, frozen nodes, each with its place in the text.

    Literal Attribute | Exists Not Negate | Logic Comparison Arithmetic Like In | Call

The span of what stood in parentheses takes them in, so that it is the text of a whole expression.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias
from typing import Literal as OneOf

from vedette.language.ast import Span

Value: TypeAlias = str | int | bool  # String, Integer (of 32 bits), Boolean
Connective: TypeAlias = OneOf["AND", "OR", "XOR"]
Comparator: TypeAlias = OneOf["=", "!=", "<", "<=", ">", ">="]
Sign: TypeAlias = OneOf["+", "-", "*", "/", "%"]


def _span() -> Span:
    return field(default=Span(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    value: Value
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Attribute:
    """The value of a context attribute, by its name in lower case."""

    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Exists:
    """`EXISTS subject`."""

    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Not:
    """`NOT x`."""

    operand: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Negate:
    """`-x`."""

    operand: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Logic:
    """`x AND y AND …`: two parts or more, taken together from the left."""

    op: Connective
    parts: tuple[Expression, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Comparison:
    """`x = y`; `<>` is `!=`."""

    op: Comparator
    left: Expression
    right: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`x + y`."""

    op: Sign
    left: Expression
    right: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Like:
    """`x LIKE 'a%'`, or `x NOT LIKE 'a%'`."""

    operand: Expression
    pattern: str
    negated: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class In:
    """`x IN (y, z)`, or `x NOT IN (y, z)`."""

    operand: Expression
    items: tuple[Expression, ...]
    negated: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Call:
    """`LENGTH(x)`: the name is in upper case, and perhaps that of no function."""

    name: str
    arguments: tuple[Expression, ...]
    span: Span = _span()


Expression: TypeAlias = Literal | Attribute | Exists | Not | Negate | Logic | Comparison | Arithmetic | Like | In | Call

MIRRORED: Final[dict[Comparator, Comparator]] = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def children(node: Expression) -> tuple[Expression, ...]:
    """The expressions that a node is made of, from left to right."""
    match node:
        case Not(operand) | Negate(operand) | Like(operand):
            return (operand,)
        case Comparison(_, left, right) | Arithmetic(_, left, right):
            return (left, right)
        case Logic(_, parts):
            return parts
        case In(operand, items):
            return (operand, *items)
        case Call(_, arguments):
            return arguments
        case _:
            return ()
