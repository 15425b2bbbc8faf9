"""The syntax tree of CloudEvents SQL: plain, frozen nodes, each with its span of the text.

    Literal Attribute | Exists Not Negate | Logic Comparison Arithmetic Like In | Call

The span of a parenthesised expression includes the parentheses, so that it is the text of a whole expression.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias
from typing import Literal as OneOf

from vedette.language.ast import Span

Value: TypeAlias = str | int | bool  # String, Integer (of 32 bits), Boolean
Connective: TypeAlias = OneOf["AND", "OR", "XOR"]
CesqlComparator: TypeAlias = OneOf["=", "!=", "<", "<=", ">", ">="]
Sign: TypeAlias = OneOf["+", "-", "*", "/", "%"]


def _span() -> Span:
    return field(default=Span(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CesqlLiteral:
    """A constant."""

    value: Value
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class CesqlAttribute:
    """The value of a context attribute, by its name in lower case."""

    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class CesqlExists:
    """`EXISTS subject`."""

    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class CesqlNot:
    """`NOT x`."""

    operand: CesqlExpression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class CesqlNegate:
    """`-x`."""

    operand: CesqlExpression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class CesqlLogic:
    """`x AND y AND …`: two parts or more, associated from the left."""

    op: Connective
    parts: tuple[CesqlExpression, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class CesqlComparison:
    """`x = y`; `<>` is `!=`."""

    op: CesqlComparator
    left: CesqlExpression
    right: CesqlExpression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class CesqlArithmetic:
    """`x + y`."""

    op: Sign
    left: CesqlExpression
    right: CesqlExpression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class CesqlLike:
    """`x LIKE 'a%'`, or `x NOT LIKE 'a%'`."""

    operand: CesqlExpression
    pattern: str
    negated: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class CesqlIn:
    """`x IN (y, z)`, or `x NOT IN (y, z)`."""

    operand: CesqlExpression
    items: tuple[CesqlExpression, ...]
    negated: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class CesqlCall:
    """`LENGTH(x)`: the name is in upper case; there may be no such function."""

    name: str
    arguments: tuple[CesqlExpression, ...]
    span: Span = _span()


CesqlExpression: TypeAlias = (
    CesqlLiteral
    | CesqlAttribute
    | CesqlExists
    | CesqlNot
    | CesqlNegate
    | CesqlLogic
    | CesqlComparison
    | CesqlArithmetic
    | CesqlLike
    | CesqlIn
    | CesqlCall
)

MIRRORED: Final[dict[CesqlComparator, CesqlComparator]] = {
    "=": "=",
    "!=": "!=",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}


def children(node: CesqlExpression) -> tuple[CesqlExpression, ...]:
    """The operands of a node, from left to right."""
    match node:
        case CesqlNot(operand) | CesqlNegate(operand) | CesqlLike(operand):
            return (operand,)
        case CesqlComparison(_, left, right) | CesqlArithmetic(_, left, right):
            return (left, right)
        case CesqlLogic(_, parts):
            return parts
        case CesqlIn(operand, items):
            return (operand, *items)
        case CesqlCall(_, arguments):
            return arguments
        case _:
            return ()
