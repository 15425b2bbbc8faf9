"""The variables of a filter: which ones operators bind, and what stands inside operands and ranges."""

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
    """The operand, and those that its arithmetic is made of."""
    yield operand
    if isinstance(operand, Arithmetic):
        yield from inside(operand.left)
        yield from inside(operand.right)


def ends(node: Range) -> tuple[Comparison, Comparison]:
    """A range as the two comparisons that it stands for."""
    at_low = Comparator.GE if node.low_closed else Comparator.GT
    at_high = Comparator.LE if node.high_closed else Comparator.LT
    return (
        Comparison(node.operand, at_low, node.low, node.span),
        Comparison(node.operand, at_high, node.high, node.span),
    )


def bound_in(node: Filter) -> frozenset[str]:
    """The variables that operators of the filter bind: those among their arguments."""
    if isinstance(node, And | Or):
        return frozenset().union(*map(bound_in, node.parts))
    if isinstance(node, Not):
        return bound_in(node.part)
    if isinstance(node, Call):
        return frozenset(each.name for each in node.arguments if isinstance(each, Variable))
    return frozenset()
