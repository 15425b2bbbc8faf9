"""The completion of a pattern's parts in one partition, and the combined forecast of parts, assumed independent.

A curve is an array whose n-th number is the probability of completing within n events; the 0-th is 0. The chain of a
whole pattern knows how its parts depend on each other. If it is too large, only the parts are known, and the result
is the figure for independent ones, with the bounds that hold whatever their dependence (Fréchet). `paper_…` are
the paper's own formulas (Muthusamy 2010, §5.2.3), for comparison.

Of an `and`, the parts that are not complete have to complete; when all are, any part that completes again completes
the pattern. Parts in sequence take turns, and a later part starts anew with its turn: what it began before does not
count. A turn lasts until it is too old. An event that fits steps of two parts counts for both, though a match takes it
only once. (Muthusamy 2010, §5.2.3, corrected.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.patterns.forecast_parts import SplitLeaf, SplitTree

Curve: TypeAlias = NDArray[np.float64]


class CombinedProbability(NamedTuple):
    """The probability for independent parts, and the bounds of the true one."""

    independent: Curve
    low: Curve
    high: Curve


def both(one: Curve, other: Curve) -> CombinedProbability:
    """`p and q`: both within n events."""
    return CombinedProbability(one * other, np.maximum(0.0, one + other - 1.0), np.minimum(one, other))


def either(one: Curve, other: Curve) -> CombinedProbability:
    """`p or q`: at least one within n events."""
    return CombinedProbability(1.0 - (1.0 - one) * (1.0 - other), np.maximum(one, other), np.minimum(1.0, one + other))


def then(one: Curve, other: Curve) -> Curve:
    """`p ; q`: p within some of the n events, q within the rest, which begins anew after p."""
    return np.convolve(exactly(one), other)[: one.size]


def single_part_curve(curve: Curve) -> CombinedProbability:
    """The curve of a single part."""
    return CombinedProbability(curve, curve, curve)


def all_of(parts: Sequence[CombinedProbability]) -> CombinedProbability:
    """All of them within n events."""
    return reduce(lambda one, other: _fieldwise(both, one, other), parts)


def any_of(parts: Sequence[CombinedProbability]) -> CombinedProbability:
    """At least one of them within n events."""
    return reduce(lambda one, other: _fieldwise(either, one, other), parts)


def together(parts: Sequence[CombinedProbability], done: Sequence[bool]) -> CombinedProbability:
    """`and`, if some parts are complete already: the others have to complete; if there are none, any has to again."""
    missing = [part for part, complete in zip(parts, done, strict=True) if not complete]
    return all_of(missing) if missing else any_of(parts)


def completion_curve(curve: Curve, left: int, last: int) -> Curve:
    """The probability that a part is complete, and not too old, after n events.

    For `last` more events it is complete by past events. A part still to complete has to do so within n, and its past
    events become too old after `left`.
    """
    n = np.arange(curve.size)
    stands = np.where(n <= left, curve, curve - curve[min(max(left, 0), curve.size - 1)])
    return np.asarray(np.where(n <= last, 1.0, stands))


def together_while(parts: Sequence[Curve], stands: Sequence[Curve], done: Sequence[bool]) -> Curve:
    """`and` of independent parts that expire: at some of the n events the last completes while all others are complete.

    Each is assumed to complete once, so that they are complete together for one stretch of time at most.
    """
    every = np.prod(stands, axis=0)
    if all(done):
        anew = [np.cumsum(exactly(part) * _others(stands, number)) for number, part in enumerate(parts)]
        return np.asarray(1.0 - np.prod([1.0 - each for each in anew], axis=0))
    before = [
        stand if complete else np.maximum(0.0, stand - exactly(part))
        for part, stand, complete in zip(parts, stands, done, strict=True)
    ]
    return np.asarray(np.minimum(1.0, np.cumsum(every - np.prod(before, axis=0))))


def _others(stands: Sequence[Curve], number: int) -> Curve:
    """The probability that all but one of them are complete."""
    others = [stand for each, stand in enumerate(stands) if each != number]
    return np.asarray(np.prod(others, axis=0)) if others else np.ones_like(stands[number])


def in_turn(first: CombinedProbability, rest: Sequence[Curve]) -> CombinedProbability:
    """A sequence of parts. Whatever their dependence, the first leaves each of the rest at least one event."""
    if not rest:
        return first
    independent = reduce(then, rest, first.independent)
    late = np.zeros(min(len(rest), first.high.size))
    return CombinedProbability(
        independent, np.zeros_like(independent), np.concatenate([late, first.high])[: first.high.size]
    )


def _fieldwise(
    formula: Callable[[Curve, Curve], CombinedProbability], one: CombinedProbability, other: CombinedProbability
) -> CombinedProbability:
    """Apply a formula to figures and bounds; formulas rise with their arguments, so bounds stay bounds."""
    return CombinedProbability(
        formula(one.independent, other.independent).independent,
        formula(one.low, other.low).low,
        formula(one.high, other.high).high,
    )


def exactly(curve: Curve) -> Curve:
    """The probability of completing for the first time at the n-th event."""
    return np.diff(curve, prepend=0.0)


Moment: TypeAlias = tuple[int, int]  # a time, and the arrival number of an event: as events are ordered

_UNSET: Final = np.iinfo(np.int64).min
_ALWAYS: Final[Moment] = (_UNSET, -1)  # before all others
NEVER: Final[Moment] = (np.iinfo(np.int64).max, -1)  # after all others
_ENDLESS: Final = 1 << 60  # events


class PartObservation(NamedTuple):
    """The observations of one event by all parts."""

    ordinal: int  # the how-manieth of its partition
    moment: Moment
    starts: list[Moment | None]  # of each part: when the match began that the event completed
    begun: list[Moment]  # of each part: when its most advanced partial match began; NEVER if there is none
    curves: list[Curve]

    def is_after(self, begun: Moment, turn: Moment) -> bool:
        """Whether something began after a turn did; with a later event of the same time it may have, and counts."""
        return begun > turn or (self.moment[0] == turn[0] and self.moment != turn)


@dataclass(frozen=True, slots=True)
class _SplitTreeNode:
    """A part, or a combination of parts, and the places of its integers in a row."""

    how: Literal["part", "and", "or", "then"]
    number: int  # of a part
    parts: tuple[_SplitTreeNode, ...]
    place: int
    width: int  # its own integers, and those of all that it is made of


class PartCompletion:
    """The completed parts of one partition, as a row of integers.

    The first two are the ordinal and the time of an event, to measure how fast events come. Every part of the tree has
    one: the time of the first event of its newest match. A sequence has four more: whose turn it is, the moment at
    which the turn began (two), and the time of the first event of all.
    """

    def __init__(self, tree: SplitTree, window: int | None) -> None:
        self._root, self._window = _laid_out(tree, 2), window
        self.width = 2 + self._root.width
        self._nodes = list(_nodes(self._root))

    def begun(self, seen: PartObservation) -> list[int]:
        """The row of a partition without events."""
        row = [seen.ordinal, seen.moment[0], *[_UNSET] * self._root.width]
        _clear(self._root, row)
        return row

    def take(self, row: list[int], seen: PartObservation) -> None:
        """Process an event: complete parts, and drop what began too long before it."""
        self._expire(row, seen.moment[0])
        self._take(self._root, row, seen, _ALWAYS)

    def _expire(self, row: list[int], now: int) -> None:
        if self._window is None:
            return
        for node in self._nodes:
            place = node.place
            if row[place] != _UNSET and now - row[place] > self._window:
                row[place] = _UNSET
            if node.how == "then" and row[place + 1] and now - row[place + 4] > self._window:
                _clear(node, row)

    def _take(self, node: _SplitTreeNode, row: list[int], seen: PartObservation, after: Moment) -> int:
        """The beginning of the match that the event completed; what began before its turn does not count."""
        place = node.place
        start = _UNSET
        if node.how == "part":
            moment = seen.starts[node.number]
            if moment is not None and seen.is_after(moment, after):
                start = moment[0]
        elif node.how == "then":
            turn = row[place + 1]
            since = (row[place + 2], row[place + 3]) if turn else after
            start = self._take(node.parts[turn], row, seen, since)
            if start != _UNSET:
                first = row[place + 4] if turn else start
                start = first
                if turn + 1 < len(node.parts):
                    start = _UNSET
                    _clear(node.parts[turn + 1], row)
                    row[place + 1 : place + 5] = turn + 1, *seen.moment, first
        else:
            completed = [self._take(part, row, seen, after) for part in node.parts]
            start = max(completed)
            if node.how == "and" and start != _UNSET:
                start = min(row[part.place] for part in node.parts)
        row[place] = max(row[place], start)
        return start

    def says(self, row: list[int], seen: PartObservation, anew: Sequence[Curve]) -> CombinedProbability:
        """The curve of the whole; `anew` are the curves of parts that have not begun."""
        return self._says(self._root, row, seen, anew, _ALWAYS)[0]

    def _says(
        self, node: _SplitTreeNode, row: list[int], seen: PartObservation, anew: Sequence[Curve], after: Moment
    ) -> tuple[CombinedProbability, int]:
        """The curve of a node, and after how many events its past will be too old."""
        place = node.place
        if node.how == "part":
            begun = seen.begun[node.number]
            if not seen.is_after(begun, after):
                return single_part_curve(anew[node.number]), _ENDLESS
            return single_part_curve(seen.curves[node.number]), _ENDLESS if begun == NEVER else self._left(
                row, seen, begun[0]
            )
        if node.how == "then":
            turn = row[place + 1]
            since = (row[place + 2], row[place + 3]) if turn else after
            first, left = self._says(node.parts[turn], row, seen, anew, since)
            said = in_turn(first, [self._anew(part, anew) for part in node.parts[turn + 1 :]])
            return said, self._left(row, seen, row[place + 4]) if turn else left
        return self._says_together(node, row, seen, anew, after)

    def _says_together(
        self, node: _SplitTreeNode, row: list[int], seen: PartObservation, anew: Sequence[Curve], after: Moment
    ) -> tuple[CombinedProbability, int]:
        """As `_says`, of an `and` or `or`."""
        inner = [self._says(part, row, seen, anew, after) for part in node.parts]
        if node.how == "or":
            return any_of([said for said, _ in inner]), min(left for _, left in inner)
        lasts = [
            _ENDLESS if row[part.place] == _UNSET else self._left(row, seen, row[part.place]) for part in node.parts
        ]
        done = [row[part.place] != _UNSET for part in node.parts]
        said = together([said for said, _ in inner], done)
        left = min(*lasts, *(each for (_, each), complete in zip(inner, done, strict=True) if not complete), _ENDLESS)
        if self._window is None:
            return said, left
        stands = [
            completion_curve(curve.independent, each, last if complete else 0)
            for (curve, each), last, complete in zip(inner, lasts, done, strict=True)
        ]
        figure = together_while([curve.independent for curve, _ in inner], stands, done)
        return CombinedProbability(figure, np.zeros_like(figure), said.high), left

    def _left(self, row: list[int], seen: PartObservation, start: int) -> int:
        """How many more events come before something is too old, if they come as fast as before."""
        passed, now = seen.ordinal - row[0], seen.moment[0]
        if self._window is None or passed <= 0 or now <= row[1]:
            return _ENDLESS
        return int((start + self._window - now) * passed / (now - row[1]))

    def _anew(self, node: _SplitTreeNode, anew: Sequence[Curve]) -> Curve:
        """The curve of a part that has not begun."""
        if node.how == "part":
            return anew[node.number]
        inner = [self._anew(part, anew) for part in node.parts]
        if node.how == "then":
            return in_turn(single_part_curve(inner[0]), inner[1:]).independent
        return (all_of if node.how == "and" else any_of)([single_part_curve(each) for each in inner]).independent


def _laid_out(tree: SplitTree, place: int) -> _SplitTreeNode:
    """The tree with places for its integers, from `place` on."""
    if isinstance(tree, SplitLeaf):
        return _SplitTreeNode("part", tree.number, (), place, 1)
    width = 5 if tree.how == "then" else 1
    parts: list[_SplitTreeNode] = []
    for part in tree.parts:
        parts.append(_laid_out(part, place + width))
        width += parts[-1].width
    return _SplitTreeNode(tree.how, -1, tuple(parts), place, width)


def _nodes(node: _SplitTreeNode) -> Iterator[_SplitTreeNode]:
    """A node and all nodes below it."""
    yield node
    for part in node.parts:
        yield from _nodes(part)


def _clear(node: _SplitTreeNode, row: list[int]) -> None:
    """Reset a node and all nodes below it."""
    for each in _nodes(node):
        row[each.place] = _UNSET
        if each.how == "then":
            row[each.place + 1 : each.place + 5] = 0, *_ALWAYS, _UNSET
