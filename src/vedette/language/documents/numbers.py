"""How is a number written, so that equal ones are written alike?"""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from typing import Final

_MOST_DIGITS: Final = 400  # more than any float has


def number_text(value: int | float) -> str:
    """The canonical JSON text of a number: 300, 300.0 and 3e2 are all `300`."""
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return repr(value)
    if value.is_integer():
        return str(int(Decimal(repr(value))))  # 1e23 is one and 23 zeros, as it was written, and not the float's digits
    return repr(value)


def canonical(text: str) -> str | None:
    """The canonical text of a number of JSON; None if no event can have it."""
    value = _decimal(text)
    if value is None or value.adjusted() > _MOST_DIGITS:
        return None
    if value == value.to_integral_value():
        return str(int(value))
    return number_text(float(text))


def comparable(text: str) -> float | None:
    """The float that a number of JSON is; None if it has more digits than a float, or is beyond all of them."""
    value, nearest = _decimal(text), float(text)
    return nearest + 0.0 if value is not None and math.isfinite(nearest) and value == Decimal(repr(nearest)) else None


def as_float(value: int | float) -> float:
    """The nearest float; infinite beyond them."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond those of Decimal
        return None
