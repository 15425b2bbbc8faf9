"""An evaluation: an operator with its inputs, `distanceFrom('Statue')` of `distanceFrom('Statue', ?metres)`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from vedette.errors import InputError
from vedette.language.ast import Arithmetic, Attribute, Literal, Operand, QuantifiedAttribute
from vedette.language.render import render
from vedette.language.variables import inside
from vedette.operators.operator import Operator
from vedette.operators.variable_constraints import Value, ValueGetter, reader


@dataclass(frozen=True)
class Evaluation:
    """An operator and its input operands; equal if the operator is the same and the operands have the same text.

    Texts are compared, not operands: for Python 1, 1.0 and true are equal, for an operator they are not.
    """

    operator: Operator
    inputs: tuple[Operand, ...] = field(compare=False)
    text: str = field(init=False)  # canonical: the identity over restarts

    def __post_init__(self) -> None:
        for operand in self.inputs:
            _check(operand)
        inputs = ", ".join(render(operand) for operand in self.inputs)
        object.__setattr__(self, "text", f"{self.operator.name}({inputs})")

    @cached_property
    def paths(self) -> frozenset[str]:
        """The attributes among the inputs."""
        return frozenset().union(*map(paths_of, self.inputs))

    def values(self, value: Value) -> tuple[Any, ...]:
        """The values of the inputs for an event whose attributes `value` returns."""
        return tuple([read({}, value) for read in self._readers])

    @cached_property
    def _readers(self) -> list[ValueGetter]:
        return [reader(operand) for operand in self.inputs]


def paths_of(operand: Operand) -> frozenset[str]:
    """The attributes that an operand reads."""
    return frozenset(each.path for each in inside(operand) if isinstance(each, Attribute))


def _check(operand: Operand) -> None:
    if isinstance(operand, Arithmetic):
        _check(operand.left)
        _check(operand.right)
    elif not isinstance(operand, Literal | Attribute):
        hint = (
            f"hand in the list itself: {render(operand.attribute)}"
            if isinstance(operand, QuantifiedAttribute)
            else None
        )
        what = f"{render(operand)} cannot go into an operator: inputs are constants, attributes and arithmetic of them"
        raise InputError(what + (f"\nHint: {hint}" if hint else ""))
