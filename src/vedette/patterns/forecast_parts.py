"""The patterns that are forecast, and the parts that can be forecast separately: operands of `and` and `or`.

The machine of a whole pattern counts combinations of its parts' states, which may be too many to learn from. Each part
is then a machine of its own, over the same partitions and with the same window. Parts must be independent: a
variable or a time condition that links two of them keeps them together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.filters.subscription_records import PatternRecord, Predict
from vedette.language import ast
from vedette.language.ast import (
    Absence,
    Composite,
    Pattern,
    PatternAnd,
    PatternOr,
    Repeat,
    Sequence,
    Step,
    TimedPattern,
)
from vedette.language.join_variables import variable_tests
from vedette.language.parser import parse
from vedette.language.render import render
from vedette.language.steps import conditions_of, steps_of
from vedette.patterns.step_alternatives import shared_variable

_NUMBER = 32  # bits for the number of a pattern
_FEW = 1_000  # states of a whole, about: up to here a forecast can distinguish them, and needs no parts


class SplitLeaf(NamedTuple):
    """A part that is not split further."""

    number: int  # among all parts
    pattern: Pattern


class SplitNode(NamedTuple):
    """A pattern made of parts: `and`, `or`, or a sequence."""

    how: Literal["and", "or", "then"]
    parts: tuple[SplitTree, ...]


SplitTree: TypeAlias = SplitLeaf | SplitNode


def part_number(pattern: int, part: int) -> int:
    """The number of a part of a pattern in observations."""
    return pattern | (part + 1) << _NUMBER


def is_part(patterns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which numbers are those of parts."""
    return patterns >> _NUMBER > 0


def split(composite: Composite) -> SplitNode | None:
    """The tree of parts of a pattern; None if it has none, or so few states that the whole can be learned."""
    tree = _tree(composite.pattern, itertools.count())
    if isinstance(tree, SplitLeaf) or math.prod(_states(leaf.pattern) for leaf in leaves(tree)) <= _FEW:
        return None
    if _linked(composite, tree):
        return None
    return tree


def leaves(tree: SplitTree) -> Iterator[SplitLeaf]:
    """The parts, in the order of their numbers."""
    if isinstance(tree, SplitLeaf):
        yield tree
    else:
        for part in tree.parts:
            yield from leaves(part)


def _tree(pattern: Pattern, numbers: Iterator[int]) -> SplitTree:
    if isinstance(pattern, PatternAnd) or (
        isinstance(pattern, PatternOr) and not all(isinstance(part, Step) for part in pattern.parts)
    ):
        how: Literal["and", "or"] = "and" if isinstance(pattern, PatternAnd) else "or"
        return SplitNode(how, tuple(_tree(part, numbers) for part in pattern.parts))
    pieces = list(_pieces(pattern)) if isinstance(pattern, Sequence) else []
    if len(pieces) > 1 and any(_splits(piece) for piece in pieces):
        parts = tuple(_tree(piece, numbers) for piece in pieces)
        return SplitNode("then", parts)
    return SplitLeaf(next(numbers), pattern)


def _splits(pattern: Pattern) -> bool:
    return isinstance(_tree(pattern, itertools.count()), SplitNode)


def _pieces(sequence: Sequence) -> Iterator[Pattern]:
    """The parts of a sequence that split, and the sequences between them; only where the next follows after a while."""
    begin = 0
    parts, links = sequence.parts, sequence.links
    for end in range(1, len(parts) + 1):
        if end < len(parts):
            beside = parts[end - 1], parts[end]
            apart = links[end - 1] == ";" and not any(isinstance(part, Absence) for part in beside)
            if not apart or not any(_splits(part) for part in beside):
                continue
        inner = parts[begin:end]
        yield inner[0] if len(inner) == 1 else Sequence(inner, links[begin : end - 1], sequence.span)
        begin = end


def _states(pattern: Pattern) -> int:
    """About how many sets of places the partial matches of a part may occupy."""
    places = _places(pattern)
    # Of what is followed after a while all earlier places stay taken, so a set is known by its last one.
    sequence = pattern if isinstance(pattern, Sequence) else Sequence((pattern,), ())
    nested = all(isinstance(part, Step) for part in sequence.parts) and "," not in sequence.links
    return places + 1 if nested else 1 << min(places, _FEW.bit_length())


def _places(pattern: Pattern) -> int:
    match pattern:
        case Repeat(part=part, most=most):
            return most * _places(part)
        case TimedPattern(part=part):
            return _places(part)
        case Sequence(parts=parts) | PatternAnd(parts=parts) | PatternOr(parts=parts):
            return sum(_places(part) for part in parts)
        case Absence():
            return 0
    return 1


def _linked(composite: Composite, tree: SplitNode) -> bool:
    """Whether a variable or a time condition links two parts; attributes of the partition do not."""
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


PatternRecords: TypeAlias = (
    Mapping[int, PatternRecord] | Iterable[PatternRecord]
)  # by number, or in the order of numbers


@dataclass(frozen=True, slots=True)
class ForecastPattern:
    """A pattern that is forecast."""

    id: str
    name: str  # text and features in canonical form: what a model knows it by
    within: int
    threshold: float
    aged: bool  # it has time conditions, so the age of a partial match matters
    window: int | None = None  # microseconds
    tree: SplitNode | None = None  # how it is made of parts, which are observed apart

    @property
    def parts(self) -> int:
        """The number of parts that are observed separately."""
        return 0 if self.tree is None else len(list(leaves(self.tree)))


def forecast_patterns(records: PatternRecords) -> dict[int, ForecastPattern]:
    """Number of a pattern -> its forecast options, for those that have any."""
    numbered = records.items() if isinstance(records, Mapping) else enumerate(records)
    return {number: _watched(record, record.predict) for number, record in numbered if record.predict is not None}


def _watched(record: PatternRecord, asked: Predict) -> ForecastPattern:
    tree = parse(record.text)
    name = "\n".join([render(tree), *(render(parse(feature)) for feature in asked.features)])
    whole = tree if isinstance(tree, ast.Composite) else None
    return ForecastPattern(
        record.id,
        name,
        asked.within,
        asked.threshold,
        _speaks_of_time(tree),
        None if whole is None else whole.within,
        None if whole is None else split(whole),
    )


def _speaks_of_time(tree: ast.Expression) -> bool:
    """Whether a pattern has a window or a time condition, so that a partial match can grow too old."""
    return isinstance(tree, ast.Composite) and (tree.within is not None or _conditioned(tree.pattern))


def _conditioned(pattern: ast.Pattern) -> bool:
    match pattern:
        case ast.TimedPattern():
            return True
        case ast.Sequence(parts=parts) | ast.PatternAnd(parts=parts) | ast.PatternOr(parts=parts):
            return any(_conditioned(part) for part in parts)
        case ast.Repeat(part=part):
            return _conditioned(part)
    return False
