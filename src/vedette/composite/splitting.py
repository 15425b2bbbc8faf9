"""The parts of a pattern that may be forecast apart: the operands of its `and` and `or`, and what stands around them.

The machine of the whole counts combinations of where its parts stand, and they may be too many to learn from. Each part
is then a machine of its own, over the same partitions and with the same window. Parts must not know of each other: a
variable or a time condition that links two of them keeps them together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.composite.alternatives import shared_variable
from vedette.language.ast import (
    Absent,
    Composite,
    Conditioned,
    Either,
    Every,
    Pattern,
    Repeat,
    Sequence,
    Step,
)
from vedette.language.joins import variable_tests
from vedette.language.steps import conditions_of, steps_of

_NUMBER = 32  # bits for the number of a pattern
_FEW = 1_000  # states of a whole, about: a forecast can tell them apart, and does without the parts


class Leaf(NamedTuple):
    """A part that is not split any further."""

    number: int  # among all parts
    pattern: Pattern


class Split(NamedTuple):
    """A pattern made of parts: all of them, one of them, or one after the other."""

    how: Literal["and", "or", "then"]
    parts: tuple[Tree, ...]


Tree: TypeAlias = Leaf | Split


def part_number(pattern: int, part: int) -> int:
    """The number by which observations know a part of a pattern."""
    return pattern | (part + 1) << _NUMBER


def is_part(patterns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether numbers are those of parts."""
    return patterns >> _NUMBER > 0


def split(composite: Composite) -> Split | None:
    """How a pattern is made of parts; None where it has none, or so few states that the whole can be learnt."""
    tree = _tree(composite.pattern, itertools.count())
    if isinstance(tree, Leaf) or math.prod(_states(leaf.pattern) for leaf in leaves(tree)) <= _FEW:
        return None
    if _linked(composite, tree):
        return None
    return tree


def leaves(tree: Tree) -> Iterator[Leaf]:
    """The parts, in the order of their numbers."""
    if isinstance(tree, Leaf):
        yield tree
    else:
        for part in tree.parts:
            yield from leaves(part)


def _tree(pattern: Pattern, numbers: Iterator[int]) -> Tree:
    if isinstance(pattern, Every) or (
        isinstance(pattern, Either) and not all(isinstance(part, Step) for part in pattern.parts)
    ):
        how: Literal["and", "or"] = "and" if isinstance(pattern, Every) else "or"
        return Split(how, tuple(_tree(part, numbers) for part in pattern.parts))
    pieces = list(_pieces(pattern)) if isinstance(pattern, Sequence) else []
    if len(pieces) > 1 and any(_splits(piece) for piece in pieces):
        parts = tuple(_tree(piece, numbers) for piece in pieces)
        return Split("then", parts)
    return Leaf(next(numbers), pattern)


def _splits(pattern: Pattern) -> bool:
    return isinstance(_tree(pattern, itertools.count()), Split)


def _pieces(sequence: Sequence) -> Iterator[Pattern]:
    """What splits, and the sequences in between; only where one follows the other after a while."""
    begin = 0
    parts, links = sequence.parts, sequence.links
    for end in range(1, len(parts) + 1):
        if end < len(parts):
            beside = parts[end - 1], parts[end]
            apart = links[end - 1] == ";" and not any(isinstance(part, Absent) for part in beside)
            if not apart or not any(_splits(part) for part in beside):
                continue
        inner = parts[begin:end]
        yield inner[0] if len(inner) == 1 else Sequence(inner, links[begin : end - 1], sequence.span)
        begin = end


def _states(pattern: Pattern) -> int:
    """About how many sets of places the partial matches of a part may stand in."""
    places = _places(pattern)
    # Of what is followed after a while all earlier places stay taken, so a set is known by its last one.
    sequence = pattern if isinstance(pattern, Sequence) else Sequence((pattern,), ())
    nested = all(isinstance(part, Step) for part in sequence.parts) and "," not in sequence.links
    return places + 1 if nested else 1 << min(places, _FEW.bit_length())


def _places(pattern: Pattern) -> int:
    match pattern:
        case Repeat(part=part, most=most):
            return most * _places(part)
        case Conditioned(part=part):
            return _places(part)
        case Sequence(parts=parts) | Every(parts=parts) | Either(parts=parts):
            return sum(_places(part) for part in parts)
        case Absent():
            return 0
    return 1


def _linked(composite: Composite, tree: Split) -> bool:
    """Whether a variable or a time condition speaks of two parts; what partitions the stream is the same in all."""
    shared = shared_variable(composite)
    met: set[str] = set()
    for leaf in leaves(tree):
        steps = list(steps_of(leaf.pattern))
        tests = [test for step in steps for test, _ in variable_tests(step, "")]
        mine = {test.variable for test in tests if not (test.binds and test.path == shared)}
        if mine & met:
            return True
        met |= mine
        labels = {step.label for step in steps}
        for condition in (one for each in conditions_of(leaf.pattern) for one in each.conditions):
            if not {condition.later, condition.earlier or condition.later} <= labels:
                return True
    return False
