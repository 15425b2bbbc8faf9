"""Which number is written here, and how is it written so that equal ones are written alike?"""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from typing import Final

from vedette.schema.readings import number_text

_MOST_DIGITS: Final = 400  # more than any float has


def canonical(text: str) -> str | None:
    """The text that all numbers of this value have in `leaves(p)`: 300 for 300.0 and 3e2; None if no event has it."""
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


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond those of Decimal
        return None
