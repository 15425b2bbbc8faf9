"""Three-valued logic, and comparisons of plain Python values in it: obvious, and independent of keys and ranks."""

from __future__ import annotations

import datetime as dt
import ipaddress
import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from vedette.errors import SchemaError
from vedette.language.syntax import Comparator

Truth: TypeAlias = bool | None  # None is unknown


def every(truths: Iterable[Truth]) -> Truth:
    """SQL's AND."""
    result: Truth = True
    for one in truths:
        if one is False:
            return False
        if one is None:
            result = None
    return result


def some(truths: Iterable[Truth]) -> Truth:
    """SQL's OR."""
    return opposite(every(opposite(one) for one in truths))


def opposite(one: Truth) -> Truth:
    """SQL's NOT."""
    return None if one is None else not one


def compared(left: Any, op: Comparator, right: Any) -> Truth:
    """The truth of a comparison of two values, either of which may be null."""
    if left is None or right is None:
        return (left is None and right is None) if op is Comparator.SAME else None
    return _HOLDS[op](order(left, right))


def order(left: Any, right: Any) -> int:
    """-1, 0, 1 as left is before, equal to or after right; NaN equals itself and comes after every number."""
    a, b = _plain(left), _plain(right)
    if type(a) is not type(b) and not {type(a), type(b)} <= {int, float}:
        raise SchemaError(f"{left!r} and {right!r} are of different types and cannot be compared")
    if isinstance(a, float) and math.isnan(a):
        return 0 if isinstance(b, float) and math.isnan(b) else 1
    if isinstance(b, float) and math.isnan(b):
        return -1
    try:
        return int(a > b) - int(a < b)
    except TypeError:  # of lists and objects, or of their elements
        raise SchemaError(f"{left!r} and {right!r} cannot be compared") from None


def _plain(value: Any) -> Any:
    """A value that Python orders as Vedette does: dates become midnights, IPv4 addresses their mapped IPv6 ones."""
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, dt.datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
    if isinstance(value, ipaddress.IPv4Address):
        return _Address(0xFFFF_0000_0000 + int(value))
    if isinstance(value, ipaddress.IPv6Address):
        return _Address(int(value))
    return value


def address_number(value: ipaddress.IPv4Address | ipaddress.IPv6Address) -> int:
    """The number by which an address is ordered."""
    return int(_plain(value))


class _Address(int):
    """The number of an address, as a type that is not comparable with numbers."""


_HOLDS: dict[Comparator, Callable[[int], bool]] = {
    Comparator.EQ: lambda found: found == 0,
    Comparator.NE: lambda found: found != 0,
    Comparator.LT: lambda found: found < 0,
    Comparator.LE: lambda found: found <= 0,
    Comparator.GT: lambda found: found > 0,
    Comparator.GE: lambda found: found >= 0,
    Comparator.SAME: lambda found: found == 0,
}
