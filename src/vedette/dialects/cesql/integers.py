"""Which texts are an Integer of some range? Regular expressions for what casts to it: `5`, `+5`, `005`, `-0`.

An event may have an Integer as a number or as a String. A number's text is the Integer as it is written, so that one
expression says of both whether they are in a range.
"""

from __future__ import annotations

import functools
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


@functools.lru_cache(maxsize=4_096)
def expression(intervals: Intervals, *, is_integer: bool = False) -> str:
    """What matches the texts that cast to one of the Integers; `is_integer`: of those that do cast to an Integer.

    The latter is shorter, as it does not have to know which is the largest.
    """
    if intervals == ALL:
        return _ANY
    parts = []
    most, least = (INTEGERS[-1], INTEGERS[0]) if is_integer else (None, None)
    above = _digits((max(low, 0), None if high == most else high) for low, high in intervals if high >= 0)
    below = _digits((max(-high, 0), None if low == least else -low) for low, high in intervals if low <= 0)
    if above:
        parts.append(rf"\+?0*{_grouped(above)}")
    if below:
        parts.append(f"-0*{_grouped(below)}")
    return f"^{_grouped(parts)}$"


def other_forms(number: int) -> str:
    """What matches the texts that cast to an Integer, but for the way in which a number is written."""
    if number == 0:
        return r"^(?:[+-]0+|0{2,})$"
    return rf"^-0+{-number}$" if number < 0 else rf"^(?:\+0*|0+){number}$"


def _grouped(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 and "|" not in parts[0] else f"(?:{'|'.join(parts)})"


def _digits(intervals: Iterable[tuple[int, int | None]]) -> list[str]:
    """Expressions for numbers from 0 on, without zeros before them; those of one interval may have no end."""
    found: list[str] = []
    for low, high in intervals:
        last = len(str(low)) + 1 if high is None else len(str(high))
        whole: list[int] = []  # lengths of which all numbers are meant
        for length in range(len(str(low)), last + 1):
            least, most = (0 if length == 1 else 10 ** (length - 1)), 10**length - 1
            if low <= least and (high is None or most <= high):
                whole.append(length)
            else:
                found += _of_one_length(str(max(low, least)), str(most if high is None else min(high, most)))
        if whole:
            first = whole[0] - 1
            digits = rf"[1-9]\d{_times(first, None if high is None else whole[-1] - 1)}" if first else ""
            found.append(digits or rf"\d{_times(1, None if high is None else whole[-1])}")
    return found


def _of_one_length(low: str, high: str) -> list[str]:
    """From the first digit on: numbers below all that begin with the next one, those between, those above."""
    rest = len(low) - 1
    if rest == 0:
        return [_digit(low, high)]
    if low[0] == high[0]:
        return [low[0] + _grouped(_of_one_length(low[1:], high[1:]))]
    first, last, parts = int(low[0]), int(high[0]), []
    if low[1:] != "0" * rest:
        parts.append(low[0] + _grouped(_of_one_length(low[1:], "9" * rest)))
        first += 1
    if high[1:] != "9" * rest:
        last -= 1
    if first <= last:
        parts.append(rf"{_digit(str(first), str(last))}\d{_times(rest, rest)}")
    if last < int(high[0]):
        parts.append(high[0] + _grouped(_of_one_length("0" * rest, high[1:])))
    return parts


def _digit(low: str, high: str) -> str:
    return low if low == high else f"[{low}-{high}]"


def _any_integer() -> str:
    """Both signs at once, which is shorter."""
    return rf"^(?:[+-]?0*{_grouped(_digits([(0, INTEGERS[-1])]))}|-0*{-INTEGERS[0]})$"


def _times(least: int, most: int | None) -> str:
    if least == most:
        return "" if least == 1 else f"{{{least}}}"
    if most is None:
        return "+" if least == 1 else f"{{{least},}}"
    return f"{{{least},{most}}}"


_ANY: Final = _any_integer()
