"""The variables of a filter: those that operators bind, and the parts of operands and ranges."""

from __future__ import annotations

from collections.abc import Iterator

from vedette.language.ast import (
    And,
    Arithmetic,
    Call,
    Comparator,
    Comparison,
    Filter,
    Not,
    Operand,
    Or,
    Range,
    Variable,
)


def inside(operand: Operand) -> Iterator[Operand]:
    """The operand, and all operands inside its arithmetic."""
    yield operand
    if isinstance(operand, Arithmetic):
        yield from inside(operand.left)
        yield from inside(operand.right)


def ends(node: Range) -> tuple[Comparison, Comparison]:
    """A range as the two equivalent comparisons."""
    at_low = Comparator.GE if node.low_closed else Comparator.GT
    at_high = Comparator.LE if node.high_closed else Comparator.LT
    return (
        Comparison(node.operand, at_low, node.low, node.span),
        Comparison(node.operand, at_high, node.high, node.span),
    )


def bound_in(node: Filter) -> frozenset[str]:
    """The variables that operators of the filter bind, i.e. their arguments that are variables."""
    if isinstance(node, And | Or):
        return frozenset().union(*map(bound_in, node.parts))
    if isinstance(node, Not):
        return bound_in(node.part)
    if isinstance(node, Call):
        return frozenset(each.name for each in node.arguments if isinstance(each, Variable))
    return frozenset()
