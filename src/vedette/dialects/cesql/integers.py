"""Sets of Integers as intervals, for comparisons with constants."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, TypeAlias

from vedette.dialects.cesql.parser import INTEGERS

IntegerInterval: TypeAlias = tuple[int, int]  # both ends are included
IntegerIntervals: TypeAlias = tuple[IntegerInterval, ...]  # ascending, without one that touches the next

ALL: Final[IntegerIntervals] = ((INTEGERS[0], INTEGERS[-1]),)
CANONICAL: Final = re.compile(r"(?:0|-?[1-9][0-9]*)\Z")  # the text of a number


def united(intervals: Iterable[IntegerInterval]) -> IntegerIntervals:
    """The union of intervals, in order, without Integers beyond 32 bits."""
    found: list[IntegerInterval] = []
    clipped = ((max(low, INTEGERS[0]), min(high, INTEGERS[-1])) for low, high in intervals)
    for low, high in sorted(each for each in clipped if each[0] <= each[1]):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)


def others(intervals: IntegerIntervals) -> IntegerIntervals:
    """The complement: all other Integers."""
    begins = (INTEGERS[0], *(high + 1 for _, high in intervals))
    ends = (*(low - 1 for low, _ in intervals), INTEGERS[-1])
    return united(zip(begins, ends, strict=True))


def moved(intervals: IntegerIntervals, by: int) -> IntegerIntervals:
    """Each Integer plus a number, if that is an Integer."""
    return united((low + by, high + by) for low, high in intervals)


def mirrored(intervals: IntegerIntervals, minuend: int = 0) -> IntegerIntervals:
    """A number minus each Integer, if that is an Integer."""
    return united((minuend - high, minuend - low) for low, high in intervals)


def has(intervals: IntegerIntervals, number: int) -> bool:
    """Whether an Integer is in one of the intervals."""
    return any(low <= number <= high for low, high in intervals)
