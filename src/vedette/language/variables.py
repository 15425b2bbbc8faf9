"""The variables of a filter that operators bind, and the parts of operands."""

from __future__ import annotations

from collections.abc import Iterator

from vedette.language.syntax import Arithmetic, Call, Filter, Operand, Variable, leaves_of


def inside(operand: Operand) -> Iterator[Operand]:
    """The operand, and all operands inside its arithmetic."""
    yield operand
    if isinstance(operand, Arithmetic):
        yield from inside(operand.left)
        yield from inside(operand.right)


def bound_in(node: Filter) -> frozenset[str]:
    """The variables that operators of the filter bind, i.e. their arguments that are variables."""
    calls = (leaf for leaf in leaves_of(node) if isinstance(leaf, Call))
    return frozenset(each.name for call in calls for each in call.arguments if isinstance(each, Variable))
