"""Modifiers that test a part (`minute`, `hour`, `day`, `month`, `year`) of a time, which is a text of ISO 8601.

The part is read as it is written: in UTC for values that Vedette reads as times, unchanged for texts.
"""

from __future__ import annotations

from typing import Final

from sigma.types import CompareOperators, SigmaTimestampPart, TimestampPart

from vedette.dialects.sigma.refusals import UnsupportedSigmaFeature
from vedette.language import ast

_DATE: Final = "^[0-9]{4}-[0-9]{2}-[0-9]{2}"
# The text before the part, and the least and greatest number that it can be.
_PARTS: Final = {
    TimestampPart.MONTH: ("^[0-9]{4}-", 1, 12),
    TimestampPart.DAY: ("^[0-9]{4}-[0-9]{2}-", 1, 31),
    TimestampPart.HOUR: (f"{_DATE}[T ]", 0, 23),
    TimestampPart.MINUTE: (f"{_DATE}[T ][0-9]{{2}}:", 0, 59),
}
_HOLDS: Final = {
    None: int.__eq__,
    CompareOperators.LT: int.__lt__,
    CompareOperators.LTE: int.__le__,
    CompareOperators.GT: int.__gt__,
    CompareOperators.GTE: int.__ge__,
    CompareOperators.NEQ: int.__ne__,
}


def time_test(operand: ast.Operand, value: SigmaTimestampPart, op: CompareOperators | None = None) -> ast.Filter:
    """The test that the part of the time equals the number, or compares with it by `op`."""
    number = int(value.number)
    if value.timestamp_part is TimestampPart.YEAR:
        return _year(operand, number, op)
    if value.timestamp_part not in _PARTS:
        raise UnsupportedSigmaFeature(
            "the number of a week is not written in a time, so no test of its text finds it",
            "compare with month and day",
        )
    before, least, most = _PARTS[value.timestamp_part]
    allowed = [f"{one:02}" for one in range(least, most + 1) if _HOLDS[op](one, number)]
    return _matches(operand, f"{before}({'|'.join(allowed)})([^0-9]|$)") if allowed else ast.TruthLiteral(False)


def _year(operand: ast.Operand, number: int, op: CompareOperators | None) -> ast.Filter:
    """Years are written with four digits, so they compare as texts do."""
    is_time = _matches(operand, _DATE)
    this, following = (ast.Literal(_year_text(year)) for year in (number, number + 1))
    below = ast.Comparison(operand, ast.Comparator.LT, this)
    above = ast.Comparison(operand, ast.Comparator.GE, following)
    match op:
        case CompareOperators.LT:
            return ast.And((is_time, below))
        case CompareOperators.LTE:
            return ast.And((is_time, ast.Comparison(operand, ast.Comparator.LT, following)))
        case CompareOperators.GT:
            return ast.And((is_time, above))
        case CompareOperators.GTE:
            return ast.And((is_time, ast.Comparison(operand, ast.Comparator.GE, this)))
        case CompareOperators.NEQ:
            return ast.And((is_time, ast.Or((below, above))))
    return _matches(operand, f"^{number:04}-[0-9]{{2}}-[0-9]{{2}}")


def _year_text(year: int) -> str:
    """A year as four digits; the empty text before the first year; after the last, a text that follows all digits."""
    return "" if year < 0 else f"{year:04}" if year < 10_000 else ":"


def _matches(operand: ast.Operand, pattern: str) -> ast.Filter:
    return ast.TextTest(operand, "matches", ast.Literal(pattern))
