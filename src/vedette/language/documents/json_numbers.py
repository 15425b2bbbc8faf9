"""Reads JSON numbers from text, and gives equal ones the same canonical text."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from typing import Final

from vedette.schema.readings import number_text

_MOST_DIGITS: Final = 400  # more than any float has


def canonical(text: str) -> str | None:
    """The text of all numbers of this value in `leaves(p)`: 300 for 300.0 and 3e2; None if no event can have it."""
    value = _decimal(text)
    if value is None or value.adjusted() > _MOST_DIGITS:
        return None
    if value == value.to_integral_value():
        return str(int(value))
    return number_text(float(text))


def comparable(text: str) -> float | None:
    """A JSON number as a float; None if it has more digits than a float, or is out of range."""
    value, nearest = _decimal(text), float(text)
    return nearest + 0.0 if value is not None and math.isfinite(nearest) and value == Decimal(repr(nearest)) else None


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:  # the exponent is out of Decimal's range
        return None
