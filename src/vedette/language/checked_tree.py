"""The checked tree of a filter, with names and types resolved: made by `check`, read by all later stages.

The tree has the shape of the text. Its leaves are `Atom`s, each one test of one column, with the attribute
on the left and its constants in the attribute's type; `PairAtom`s, which compare two attributes; and `Residual`s,
parts whose truth depends on more than the event: operators, variables, join variables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias

from vedette.language.render import render
from vedette.language.syntax import Call, Comparator, Expression, Filter, Step, ValueTest
from vedette.schema.columns import Column
from vedette.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class Atom:
    """One test of one column: of its value, or (`quantifier`) of some or every element of its list.

    If the schema gives the attribute another type than the column has, the column is a view, and values that
    cannot be read as its type are missing.
    """

    node: Filter  # as written
    test: ValueTest  # the same with the attribute first and constants coerced
    column: Column
    quantifier: OneOf["any", "all"] | None = None

    @property
    def of_leaves(self) -> bool:
        """Whether it tests the leaves that a view finds, where every leaf counts, also one of another kind."""
        return self.column.reading is not None and self.quantifier is not None


@dataclass(frozen=True, slots=True)
class PairAtom:
    """Two attributes compared; `column` holds 0, 1, 2 for `left` <, =, > `right` (whose paths are in order)."""

    node: Filter
    op: Comparator  # with `left` on the left
    column: Column
    left: Column
    right: Column


@dataclass(frozen=True, slots=True)
class Residual:
    """A part that only an operator, a binding or another event can decide; `what` names it, for messages."""

    node: ValueTest | Call
    what: str


@dataclass(frozen=True, slots=True)
class AndPart:
    """Every part holds."""

    node: Filter
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class OrPart:
    """Some part holds."""

    node: Filter
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class NotPart:
    """The part is false."""

    node: Filter
    part: Part


@dataclass(frozen=True, slots=True)
class TruthPart:
    """True, false or unknown, whatever the event."""

    node: Filter
    value: bool | None


Leaf: TypeAlias = Atom | PairAtom | Residual | TruthPart
Part: TypeAlias = Leaf | AndPart | OrPart | NotPart


@dataclass(frozen=True, slots=True)
class CheckedStep:
    """A step of a pattern and its filter."""

    step: Step
    root: Part


@dataclass(frozen=True, slots=True)
class CheckedExpression:
    """An expression that was checked: a filter (`root`), or a pattern (`root` is None) with its `steps`."""

    expression: Expression
    root: Part | None
    steps: tuple[CheckedStep, ...] = ()
    schema: Schema | None = None
    text: str = ""

    def text_of(self, part: Part) -> str:
        """The text of one part, as written if known."""
        span = part.node.span
        return self.text[span.start : span.end] or render(part.node)

    def columns(self) -> frozenset[Column]:
        """Every column that the expression reads from an event."""
        roots = [self.root] if self.root is not None else [each.root for each in self.steps]
        return frozenset(column for root in roots for leaf in leaves(root) for column in columns_of(leaf))

    @property
    def calls(self) -> list[Residual]:
        """The parts for operators: in a filter all that no index can decide, in a pattern the calls in its steps."""
        if self.root is not None:
            return list(residuals(self.root))
        found = (leaf for step in self.steps for leaf in residuals(step.root))
        return [leaf for leaf in found if isinstance(leaf.node, Call)]


def leaves(part: Part) -> Iterator[Leaf]:
    """The leaves below a part, from left to right."""
    if isinstance(part, AndPart | OrPart):
        for each in part.parts:
            yield from leaves(each)
    elif isinstance(part, NotPart):
        yield from leaves(part.part)
    else:
        yield part


def residuals(part: Part) -> Iterator[Residual]:
    """The leaves below a part that only an operator, a binding or another event can decide."""
    return (leaf for leaf in leaves(part) if isinstance(leaf, Residual))


def columns_of(leaf: Leaf) -> tuple[Column, ...]:
    """The columns that a leaf reads."""
    if isinstance(leaf, Atom):
        return (leaf.column,)
    return (leaf.column, leaf.left, leaf.right) if isinstance(leaf, PairAtom) else ()
