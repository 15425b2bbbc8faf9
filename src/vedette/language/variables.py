"""The variables of a filter: which ones operators bind, and what stands inside an operand."""

from __future__ import annotations

from collections.abc import Iterator

from vedette.language.ast import And, Arithmetic, Call, Filter, Not, Operand, Or, Variable


def inside(operand: Operand) -> Iterator[Operand]:
    """The operand, and those that its arithmetic is made of."""
    yield operand
    if isinstance(operand, Arithmetic):
        yield from inside(operand.left)
        yield from inside(operand.right)


def bound_in(node: Filter) -> frozenset[str]:
    """The variables that operators of the filter bind: those among their arguments."""
    if isinstance(node, And | Or):
        return frozenset().union(*map(bound_in, node.parts))
    if isinstance(node, Not):
        return bound_in(node.part)
    if isinstance(node, Call):
        return frozenset(each.name for each in node.arguments if isinstance(each, Variable))
    return frozenset()
