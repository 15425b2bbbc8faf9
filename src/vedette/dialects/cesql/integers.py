"""Sets of Integers as intervals: what comparisons with constants ask for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, TypeAlias

from vedette.dialects.cesql.parser import INTEGERS

Interval: TypeAlias = tuple[int, int]  # both ends are in it
Intervals: TypeAlias = tuple[Interval, ...]  # ascending, without one that touches the next

ALL: Final[Intervals] = ((INTEGERS[0], INTEGERS[-1]),)
CANONICAL: Final = re.compile(r"(?:0|-?[1-9][0-9]*)\Z")  # as a number is written


def united(intervals: Iterable[Interval]) -> Intervals:
    """The same Integers in order, those beyond 32 bits left out."""
    found: list[Interval] = []
    clipped = ((max(low, INTEGERS[0]), min(high, INTEGERS[-1])) for low, high in intervals)
    for low, high in sorted(each for each in clipped if each[0] <= each[1]):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)


def others(intervals: Intervals) -> Intervals:
    """All other Integers."""
    begins = (INTEGERS[0], *(high + 1 for _, high in intervals))
    ends = (*(low - 1 for low, _ in intervals), INTEGERS[-1])
    return united(zip(begins, ends, strict=True))


def moved(intervals: Intervals, by: int) -> Intervals:
    """Each Integer plus a number, where that is one."""
    return united((low + by, high + by) for low, high in intervals)


def mirrored(intervals: Intervals, minuend: int = 0) -> Intervals:
    """A number minus each Integer, where that is one."""
    return united((minuend - high, minuend - low) for low, high in intervals)


def has(intervals: Intervals, number: int) -> bool:
    """Whether an Integer is among them."""
    return any(low <= number <= high for low, high in intervals)
