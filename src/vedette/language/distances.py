"""Says how far a value is from what was needed, and values, in words."""

from __future__ import annotations

import datetime as dt
import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vedette.language.render import constant, render
from vedette.language.syntax import Literal, Operand
from vedette.schema.keys import DENSE, UINT_MAX


@dataclass(frozen=True, slots=True)
class Miss:
    """How far a value was from what was needed: in words, and as a share of the constant."""

    words: str
    share: float


# ---------------------------------------------------------------- values in words

_SHORT = reprlib.Repr()
_SHORT.maxstring = 60


def shown(value: Any) -> str:
    """A value as people write it, truncated if it is long."""
    if isinstance(value, list | tuple | set | frozenset) and not _is_point(value):
        inside = ", ".join(shown(each) for each in list(value)[:6])
        return f"[{inside}{', …' if len(value) > 6 else ''}]"
    if _is_point(value):
        return f"point({value[0]:g}, {value[1]:g})"
    if isinstance(value, float) and DENSE < abs(value) <= UINT_MAX:
        return constant(int(value))  # it is whole, and may be compared with a neighbouring integer
    if value is None or isinstance(value, bool | int | float):
        return constant(value)
    if isinstance(value, str):
        return _SHORT.repr(value)
    if isinstance(value, dt.datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, Mapping):
        return reprlib.repr(value)
    text = str(value)
    return text if len(text) <= 60 else text[:59] + "…"


def shown_literal(operand: Operand) -> str:
    """A constant as people write it."""
    return shown(operand.value) if isinstance(operand, Literal) else render(operand)


def _is_point(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(type(each) is float for each in value)


def _duration(seconds: float) -> str:
    for size, name in ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{_rounded(seconds / size)} {name}"
    return f"{seconds:.6g} s"


def length(metres: float) -> str:
    """A measured length, rounded."""
    return f"{_rounded(metres / 1000)} km" if metres >= 1000 else f"{_rounded(metres)} m"


def _rounded(number: float) -> str:
    """The number with three significant digits, and never with an exponent for large numbers."""
    return f"{float(f'{number:.3g}'):,.15g}"


def radius(metres: float) -> str:
    """A length that was written, as it is."""
    return f"{metres / 1000:,.9g} km" if metres >= 1000 else f"{metres:.9g} m"


# ---------------------------------------------------------------- by how much it was missed


def nearest(value: Any, literals: Sequence[Operand]) -> Miss | None:
    """The distance of a value from the nearest of some constants, if it can be measured."""
    constants = [each.value for each in literals if isinstance(each, Literal)]
    misses = [between(value, each) for each in constants if each is not None]
    measured = [each for each in misses if each is not None]
    return min(measured, key=lambda each: each.share) if measured else None


def between(value: Any, other: Any) -> Miss | None:
    """The distance between two values."""
    if isinstance(value, bool) or isinstance(other, bool):
        return None
    if isinstance(value, int | float) and isinstance(other, int | float):
        return _apart(value, other)
    if isinstance(value, dt.date) and isinstance(other, dt.date):
        seconds = abs((_moment(value) - _moment(other)).total_seconds())
        return Miss(_duration(seconds), seconds / 86_400)
    return None


def _apart(value: float, other: float) -> Miss | None:
    try:
        gap = _gap(value, other)
        largest = max(abs(float(value)), abs(float(other)))
    except OverflowError:  # an integer beyond every float
        return None
    if not math.isfinite(gap):
        return None
    # 125.3 - 120 is 5.299999999999997 in binary: show the decimal result.
    words = str(gap) if isinstance(gap, int) else repr(float(f"{gap:.12g}"))
    return Miss(words, gap / largest if largest else 0.0)


def _gap(value: float, other: float) -> float:
    """The difference; an integer is not rounded to a float: it may be 1 from a float where floats are 256 apart."""
    whole = all(isinstance(each, int) or (each.is_integer() and abs(each) > DENSE) for each in (value, other))
    return abs(int(value) - int(other)) if whole else abs(value - other)


def _moment(value: dt.date) -> dt.datetime:
    if isinstance(value, dt.datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)
    return dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
