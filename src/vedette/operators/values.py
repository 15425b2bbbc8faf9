"""Comparison and arithmetic of the values that operators return.

As in filters: 1 = 1.0, true is not 1, NaN equals itself and comes after every number, null compares with nothing. A
text compared with a time or an address is read as one. Values of other kinds (tuples, lists, dicts) are equal or not,
and have no order; comparisons of different kinds are unknown.
"""

from __future__ import annotations

import datetime as dt
import decimal
import ipaddress
import math
import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Final

import orjson

from vedette.language.ast import Comparator, Point
from vedette.language.three_valued import Truth, compared
from vedette.language.type_families import ADDRESS, BOOLEAN, NUMBER, TEXT, TIME, family, parsed
from vedette.schema.keys import INT_MAX, INT_MIN, at_least
from vedette.schema.types import Kind

_ORDERED: Final = frozenset({NUMBER, TEXT, BOOLEAN, TIME, ADDRESS})
_READ_FROM_TEXT: Final = {TIME: Kind.TIMESTAMP, ADDRESS: Kind.IP}
_NAN: Final = (NUMBER, "nan")
# What is compared most often, and as Python does it. (Floats are not: NaN equals itself here.)
_AS_IN_PYTHON: Final = frozenset({int, str})
_PYTHON: Final[dict[Comparator, Callable[[Any, Any], bool]]] = {
    Comparator.EQ: operator.eq,
    Comparator.NE: operator.ne,
    Comparator.LT: operator.lt,
    Comparator.LE: operator.le,
    Comparator.GT: operator.gt,
    Comparator.GE: operator.ge,
    Comparator.SAME: operator.eq,
}

# ---------------------------------------------------------------- comparing


def compare(left: Any, op: Comparator, right: Any) -> Truth:
    """`left op right`; None if it is unknown."""
    if type(left) is type(right) and type(left) in _AS_IN_PYTHON:
        return _PYTHON[op](left, right)
    if left is None or right is None:
        return compared(left, op, right)
    left, right = plain(left), plain(right)
    one, other = family(left), family(right)
    if one != other:
        try:
            if one == TEXT and other in _READ_FROM_TEXT:
                return compared(parsed(_READ_FROM_TEXT[other], left), op, right)
            if other == TEXT and one in _READ_FROM_TEXT:
                return compared(left, op, parsed(_READ_FROM_TEXT[one], right))
        except ValueError:
            pass
        return None
    return compared(left, op, right) if one in _ORDERED else _alike(left, op, right)


def _alike(left: Any, op: Comparator, right: Any) -> Truth:
    """Compare values that have no order: equal or not."""
    one, other = key(left), key(right)
    if one is None or other is None or op not in (Comparator.EQ, Comparator.NE, Comparator.SAME):
        return None
    return (one == other) is not (op is Comparator.NE)


def key(value: Any) -> Hashable | None:
    """A key that is equal for equal values; None for null, and for unhashable values, which equal nothing."""
    kind = type(value)
    if kind is str or kind is int:
        return value  # type: ignore[no-any-return]
    if kind is float:
        return _NAN if math.isnan(value) else value
    if kind is bool:
        return (BOOLEAN, value)
    if value is None:
        return None
    if isinstance(value, dt.date):
        return (TIME, at_least(Kind.TIMESTAMP, value))
    if isinstance(value, ipaddress.IPv4Address | ipaddress.IPv6Address):
        return (ADDRESS, at_least(Kind.IP, value))
    made = plain(value)
    return key(made) if made is not value else _frozen(value)


def _frozen(value: Any) -> Hashable | None:
    """The key of a value without order. It consists of its parts' keys, so that [1] is [1.0] and not [true]."""
    if isinstance(value, list | tuple):
        keys = [key(each) for each in value]
        return None if _nameless(value, keys) else ("several", tuple(keys))
    if isinstance(value, dict):
        keys = [key(each) for each in value.values()]
        return None if _nameless(value.values(), keys) else ("named", frozenset(zip(value, keys, strict=True)))
    try:
        hash(value)
    except TypeError:
        return None
    return (type(value).__name__, value)


def _nameless(values: Iterable[Any], keys: Sequence[Hashable | None]) -> bool:
    """Whether some part cannot be hashed. Nulls inside a value are equal."""
    return None in keys and any(made is None and each is not None for each, made in zip(values, keys, strict=True))


def plain(value: Any) -> Any:
    """The value as in filters: decimals become numbers; a point written in a filter becomes a pair."""
    if isinstance(value, decimal.Decimal):
        return int(value) if value.is_finite() and value == value.to_integral_value() else float(value)
    if isinstance(value, Point):
        return (value.x, value.y)
    return value


# ---------------------------------------------------------------- arithmetic


def calculated(op: str, left: Any, right: Any) -> int | float | None:
    """`left op right` as in Spark SQL; None if there is no result: null, no number, division by 0, overflow."""
    a, b = _number(left), _number(right)
    return None if a is None or b is None else _whole_or_none(_ARITHMETIC[op](a, b))


def _number(value: Any) -> int | float | None:
    if type(value) is not int and type(value) is not float:
        value = plain(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
    return _whole_or_none(value)


def _whole_or_none(value: float | None) -> int | float | None:
    """None unless the integer fits into 64 bits."""
    return None if isinstance(value, int) and not INT_MIN <= value <= INT_MAX else value


def _divided(a: float, b: float) -> float | None:
    return float(a) / float(b) if b else None


def _remainder(a: float, b: float) -> int | float | None:
    """The remainder has the sign of the dividend."""
    if not b:
        return None
    if isinstance(a, int) and isinstance(b, int):
        rest = abs(a) % abs(b)
        return -rest if a < 0 else rest
    return math.nan if math.isinf(a) else math.fmod(a, b)


_ARITHMETIC: Final[dict[str, Callable[[Any, Any], int | float | None]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divided,
    "%": _remainder,
}


# ---------------------------------------------------------------- telling


def as_text(value: Any) -> str:
    """A value as shown in outcomes: a text unchanged, anything else as JSON, if that has a form for it."""
    if isinstance(value, str):
        told = value
    elif isinstance(value, float) and not math.isfinite(value):
        told = str(value)
    else:
        try:
            told = orjson.dumps(value, default=str).decode().strip('"')
        except orjson.JSONEncodeError:
            told = str(value)
    return told.encode("utf-8", "replace").decode()  # half a character cannot be written
