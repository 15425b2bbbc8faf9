"""Which parts of a pattern are complete in a partition, and what they then say together, taken to be independent.

Of an `and` those parts that are not complete have to complete; when all are, any of them that completes anew completes
the pattern. Parts that stand one after the other take turns, and whatever comes later begins anew with its turn: what
began before does not count. A turn is held until it grows too old. An event that fits steps of two parts counts for
both, though a match takes it only once. (Muthusamy 2010, §5.2.3, mended.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from vedette.composite.splitting import Leaf, Tree
from vedette.prediction.combine import (
    Combined,
    Curve,
    all_of,
    any_of,
    in_turn,
    known,
    standing,
    together,
    together_while,
)

Moment: TypeAlias = tuple[int, int]  # a time, and the arrival number of an event: as events are ordered

_UNSET: Final = np.iinfo(np.int64).min
_ALWAYS: Final[Moment] = (_UNSET, -1)  # before all others
NEVER: Final[Moment] = (np.iinfo(np.int64).max, -1)  # after all others
_ENDLESS: Final = 1 << 60  # events


class SeenByParts(NamedTuple):
    """One event, as all parts saw it."""

    ordinal: int  # the how-manieth of its partition
    moment: Moment
    starts: list[Moment | None]  # of each part: when the match began that the event completed
    begun: list[Moment]  # of each part: when its most advanced partial match began; NEVER if there is none
    curves: list[Curve]

    def is_after(self, begun: Moment, turn: Moment) -> bool:
        """Whether something began after a turn did; at a later event of the same time it may have, and counts so."""
        return begun > turn or (self.moment[0] == turn[0] and self.moment != turn)


@dataclass(frozen=True, slots=True)
class _Node:
    """A part, or what parts make up, and where its integers stand in a row."""

    how: Literal["part", "and", "or", "then"]
    number: int  # of a part
    parts: tuple[_Node, ...]
    place: int
    width: int  # its own integers, and those of all that it is made of


class Standing:
    """Which parts are complete, in one partition, as a row of integers.

    The first two are the ordinal and the time of an event, to tell how fast events come. Every part of the tree has
    one: the time of the first event of its newest match. What is in turn has four more: whose turn it is, the moment at
    which the turn began (two), and the time of the first event of all.
    """

    def __init__(self, tree: Tree, window: int | None) -> None:
        self._root, self._window = _laid_out(tree, 2), window
        self.width = 2 + self._root.width
        self._nodes = list(_nodes(self._root))

    def begun(self, seen: SeenByParts) -> list[int]:
        """A partition of which nothing has been seen before."""
        row = [seen.ordinal, seen.moment[0], *[_UNSET] * self._root.width]
        _clear(self._root, row)
        return row

    def take(self, row: list[int], seen: SeenByParts) -> None:
        """Let an event complete parts, and forget what began too long before it."""
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

    def _take(self, node: _Node, row: list[int], seen: SeenByParts, after: Moment) -> int:
        """When the match began that the event completed; what began before its turn does not count."""
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

    def says(self, row: list[int], seen: SeenByParts, anew: Sequence[Curve]) -> Combined:
        """The curve of the whole; `anew` are those of parts that have not begun."""
        return self._says(self._root, row, seen, anew, _ALWAYS)[0]

    def _says(
        self, node: _Node, row: list[int], seen: SeenByParts, anew: Sequence[Curve], after: Moment
    ) -> tuple[Combined, int]:
        """The curve of a node, and after how many events what it has so far will be too old."""
        place = node.place
        if node.how == "part":
            begun = seen.begun[node.number]
            if not seen.is_after(begun, after):
                return known(anew[node.number]), _ENDLESS
            return known(seen.curves[node.number]), _ENDLESS if begun == NEVER else self._left(row, seen, begun[0])
        if node.how == "then":
            turn = row[place + 1]
            since = (row[place + 2], row[place + 3]) if turn else after
            first, left = self._says(node.parts[turn], row, seen, anew, since)
            said = in_turn(first, [self._anew(part, anew) for part in node.parts[turn + 1 :]])
            return said, self._left(row, seen, row[place + 4]) if turn else left
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
            standing(curve.independent, each, last if complete else 0)
            for (curve, each), last, complete in zip(inner, lasts, done, strict=True)
        ]
        figure = together_while([curve.independent for curve, _ in inner], stands, done)
        return Combined(figure, np.zeros_like(figure), said.high), left

    def _left(self, row: list[int], seen: SeenByParts, start: int) -> int:
        """How many more events come before what began then is too old, if they come as fast as before."""
        passed, now = seen.ordinal - row[0], seen.moment[0]
        if self._window is None or passed <= 0 or now <= row[1]:
            return _ENDLESS
        return int((start + self._window - now) * passed / (now - row[1]))

    def _anew(self, node: _Node, anew: Sequence[Curve]) -> Curve:
        """The curve of what has not begun."""
        if node.how == "part":
            return anew[node.number]
        inner = [self._anew(part, anew) for part in node.parts]
        if node.how == "then":
            return in_turn(known(inner[0]), inner[1:]).independent
        return (all_of if node.how == "and" else any_of)([known(each) for each in inner]).independent


def _laid_out(tree: Tree, place: int) -> _Node:
    """A tree with places for its integers, from `place` on."""
    if isinstance(tree, Leaf):
        return _Node("part", tree.number, (), place, 1)
    width = 5 if tree.how == "then" else 1
    parts: list[_Node] = []
    for part in tree.parts:
        parts.append(_laid_out(part, place + width))
        width += parts[-1].width
    return _Node(tree.how, -1, tuple(parts), place, width)


def _nodes(node: _Node) -> Iterator[_Node]:
    """A node and all that it is made of."""
    yield node
    for part in node.parts:
        yield from _nodes(part)


def _clear(node: _Node, row: list[int]) -> None:
    """Let all of it begin anew."""
    for each in _nodes(node):
        row[each.place] = _UNSET
        if each.how == "then":
            row[each.place + 1 : each.place + 5] = 0, *_ALWAYS, _UNSET
