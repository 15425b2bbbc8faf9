"""Boxes and their candidates as section 6 describes them, and what it leaves open.

Figures 6 to 12 ask whether a box is covered by k candidates that meet it, none of which covers it alone. The paper does
not say how far candidates reach into the box, nor from where. It matters: MCS drops a candidate if one of its bounds is
in conflict with no bound of another one, that is, if in some attribute no other begins before it ends. Candidates that
reach in from one side, not more than 70 % of the way (REACH; at 60 % all are dropped, at 72 % there is more than half a
guess in Figure 10), are dropped as in Figures 6 and 8. If they may be anywhere in the box, as in
`benchmarks.micro.covering`, MCS drops few or none. We measure both, as "from a side" and "anywhere".

What covers the box is cut along the first attribute, as it is in Figures 11 and 12, where the paper says that
candidates cover it entirely in all other attributes. There, too, we measure another reading beside it: the union covers
it entirely, and is cut along all attributes. This is what explains that more attributes mean fewer wrong answers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.micro import covering as anywhere
from benchmarks.micro.covering import SIDE, Question, Random
from vedette.covering.box_decision import ConflictTable

Boxes = tuple[ConflictTable, ConflictTable]
REACH = 0.7  # of the box, from one of its sides
GAP = 0.05  # of the first attribute, where the box is not covered
_OVERLAP = 0.5  # at most, of a slice's width: how far it reaches into the next one

FROM_A_SIDE, ANYWHERE = "from a side", "anywhere"


def asked(attributes: int) -> Boxes:
    """The box in question."""
    return np.full(attributes, SIDE), np.full(attributes, 2 * SIDE)


def _around(random: Random, count: int, attributes: int) -> Boxes:
    """Candidates that have all of the box."""
    over = random.integers(0, SIDE, (2, count, attributes))
    return SIDE - over[0], 2 * SIDE + over[1]


def _from_a_side(random: Random, count: int, attributes: int) -> Boxes:
    """Candidates that have all of the box in about half of the attributes, and reach into it in the others."""
    low, high = _around(random, count, attributes)
    partial = random.random((count, attributes)) < 0.5
    partial[np.arange(count), random.integers(0, attributes, count)] = True  # none of them covers the box alone
    upper = random.random((count, attributes)) < 0.5
    part = random.integers(1, round(REACH * SIDE), (count, attributes))
    return np.where(partial & upper, 2 * SIDE - part, low), np.where(partial & ~upper, SIDE + part, high)


def _slices(random: Random, begin: int, end: int, count: int) -> Boxes:
    """A range cut into so many at random places; each reaches into its neighbours, but not out of the range."""
    inner = np.sort(random.choice(np.arange(begin + 1, end), count - 1, replace=False))
    cuts = np.concatenate([[begin], inner, [end]])
    over = (_OVERLAP * random.random((2, count)) * np.diff(cuts)).astype(np.int64)
    low, high = cuts[:-1].copy(), cuts[1:].copy()
    low[1:] -= over[0, :-1]
    high[:-1] += over[1, 1:]
    return low, high


def _shuffled(random: Random, attributes: int, *parts: Boxes) -> Question:
    low, high = (np.vstack(bounds) for bounds in zip(*parts, strict=True))
    order = random.permutation(len(low))
    return Question(*asked(attributes), low[order], high[order])


def needed(count: int) -> int:
    """How many of the candidates cover the box in the redundant covering scenario; all others are redundant."""
    return max(2, count // 5)


def redundant_covering(random: Random, count: int, attributes: int) -> Question:
    """Scenario 1.b: a fifth of the candidates covers the box."""
    covering = _around(random, needed(count), attributes)
    covering[0][:, 0], covering[1][:, 0] = _slices(random, SIDE, 2 * SIDE, needed(count))
    return _shuffled(random, attributes, covering, _from_a_side(random, count - needed(count), attributes))


def non_cover(random: Random, count: int, attributes: int) -> Question:
    """Scenario 2.b: the candidates leave a range of the first attribute free, and end anywhere on its other side."""
    low, high = _from_a_side(random, count, attributes)
    wide = round(GAP * SIDE)
    gap = random.integers(SIDE + 1, 2 * SIDE - wide)
    below = random.random(count) < 0.5
    low[:, 0] = np.where(below, random.integers(0, gap, count), gap + wide)
    high[:, 0] = np.where(below, gap, random.integers(gap + wide + 1, 3 * SIDE, count))
    return _shuffled(random, attributes, (low, high))


def extreme_non_cover(random: Random, count: int, attributes: int, gap: float) -> Question:
    """Scenario 2.c: slices of the first attribute cover all of the box but one slice, this part of it."""
    wide = round(gap * SIDE)
    begin = int(random.integers(SIDE + SIDE // 10, 2 * SIDE - wide - SIDE // 10))
    below = min(max(1, round(count * (begin - SIDE) / (SIDE - wide))), count - 1)
    low, high = _around(random, count, attributes)
    ranges = ((SIDE, begin, below), (begin + wide, 2 * SIDE, count - below))
    sides = [_slices(random, *one) for one in ranges]
    low[:, 0], high[:, 0] = (np.concatenate(bounds) for bounds in zip(*sides, strict=True))
    return _shuffled(random, attributes, (low, high))


Make = Callable[[Random, int, int], Question]
REDUNDANT: dict[str, Make] = {FROM_A_SIDE: redundant_covering, ANYWHERE: anywhere.redundant_covering}
NON_COVER: dict[str, Make] = {FROM_A_SIDE: non_cover, ANYWHERE: anywhere.non_cover}
EXTREME: dict[str, Callable[[Random, int, int, float], Question]] = {
    "one attribute": extreme_non_cover,
    "all attributes": anywhere.extreme_non_cover,
}
