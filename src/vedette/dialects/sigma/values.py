"""Translates Sigma's values, and modifiers that test a part of a time, to tests of an attribute's text.

The part is read as it is written: in UTC for values that Vedette reads as times, unchanged for texts.

A rule has no schema, so every value of an attribute is read as text, and a number equals its text. Case is ignored
unless the rule says `cased`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sigma.types import (
    CompareOperators,
    Placeholder,
    SigmaRegularExpression,
    SigmaRegularExpressionFlag,
    SigmaString,
    SigmaStringPartType,
    SigmaTimestampPart,
    SpecialChars,
    TimestampPart,
)

from vedette.dialects.sigma.refusals import UnsupportedSigmaFeature
from vedette.language import ast
from vedette.language.likes import LikePiece, LikeWildcard, pattern_of

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


KEYWORDS: Final = ast.QuantifiedAttribute("any", ast.View("texts", ast.Attribute(ast.EVERYTHING)))
_WILDCARDS: Final = {SpecialChars.WILDCARD_MULTI: LikeWildcard.ANY, SpecialChars.WILDCARD_SINGLE: LikeWildcard.ONE}
_COMPARATORS: Final = {
    CompareOperators.LT: ast.Comparator.LT,
    CompareOperators.LTE: ast.Comparator.LE,
    CompareOperators.GT: ast.Comparator.GT,
    CompareOperators.GTE: ast.Comparator.GE,
}


def field_items(field: str) -> ast.QuantifiedAttribute:
    """A field of Sigma's: the attribute of that name, read as text; in a list any element counts."""
    return ast.QuantifiedAttribute("any", ast.View("items", ast.Attribute(field)))


def field_text(field: str) -> ast.View:
    """The attribute of a name as one text."""
    return ast.View("text", ast.Attribute(field))


def missing(operand: ast.Operand) -> ast.Filter:
    """The test that an operand is missing."""
    return ast.IsNull(operand.attribute if isinstance(operand, ast.QuantifiedAttribute) else operand)


def text_test(operand: ast.Operand, value: SigmaString, *, cased: bool) -> ast.Filter:
    """The test that the attribute matches the text, with its wildcards."""
    return _like(operand, _pieces(value.s), cased)


def keyword_test(value: SigmaString, *, cased: bool) -> ast.Filter:
    """The test that any attribute contains the text."""
    return _like(KEYWORDS, [LikeWildcard.ANY, *_pieces(value.s), LikeWildcard.ANY], cased)


def number_test(operand: ast.Operand, number: int | float) -> ast.Filter:
    """The test that the attribute is the number, or its text."""
    return ast.Comparison(operand, ast.Comparator.EQ, ast.Literal(number_text(number)))


def number_text(number: int | float) -> str:
    """The text of a number, as views of attributes write it."""
    return str(int(number)) if number == int(number) else repr(number)


def compared(field: str, op: CompareOperators, number: int | float) -> ast.Filter:
    """The comparison of an attribute, which is a number or the text of one, with a number."""
    figures = ast.QuantifiedAttribute("any", ast.View("figures", ast.Attribute(field)))
    return ast.Comparison(figures, _COMPARATORS[op], ast.Literal(number))


def expression_test(operand: ast.Operand, value: SigmaRegularExpression) -> ast.Filter:
    """The test that the regular expression matches somewhere in the attribute."""
    if value.contains_placeholder():
        raise unknown_placeholder(next(part.name for part in value.regexp.s if isinstance(part, Placeholder)))
    other = value.flags - {SigmaRegularExpressionFlag.IGNORECASE}
    letters = "".join(sorted(value.sigma_to_re_flag[flag] for flag in other))
    pattern = (f"(?{letters})" if letters else "") + value.to_plain()
    ignore_case = SigmaRegularExpressionFlag.IGNORECASE in value.flags
    return ast.TextTest(operand, "matches", ast.Literal(pattern), ignore_case)


def field_test(field: str, other: str, *, starts: bool, ends: bool) -> ast.Filter:
    """The test that a field equals another one, contains it, or begins or ends with it, ignoring case."""
    one, two = field_text(field), field_text(other)
    if starts or ends:
        kind: ast.PairKind = "contains" if starts and ends else "startswith" if starts else "endswith"
        return ast.TextPair(one, kind, two, ignore_case=True)
    # Each begins with the other: they are equal.
    return ast.And((ast.TextPair(one, "startswith", two, True), ast.TextPair(two, "startswith", one, True)))


def unknown_placeholder(name: str) -> UnsupportedSigmaFeature:
    """The error for a placeholder that no pipeline has replaced."""
    hint = f"a pipeline with `value_placeholders` replaces it by what its `vars` say of {name!r}"
    return UnsupportedSigmaFeature(f"the placeholder %{name}% has no value", hint)


def _pieces(parts: Sequence[SigmaStringPartType]) -> list[LikePiece]:
    found: list[LikePiece] = []
    for part in parts:
        if isinstance(part, Placeholder):
            raise unknown_placeholder(part.name)
        found.append(part if isinstance(part, str) else _WILDCARDS[part])
    return found


def _like(operand: ast.Operand, parts: Sequence[LikePiece], cased: bool) -> ast.Filter:
    """The test in its simplest form."""
    ignore_case = not cased
    match _tidied(parts):
        case []:
            return ast.Comparison(operand, ast.Comparator.EQ, ast.Literal(""))
        case [LikeWildcard.ANY] if operand != KEYWORDS:
            return ast.Not(missing(operand))
        case [str(text)] if cased or text.lower() == text == text.upper():
            return ast.Comparison(operand, ast.Comparator.EQ, ast.Literal(text))
        case [str(text), LikeWildcard.ANY]:
            return ast.TextTest(operand, "startswith", ast.Literal(text), ignore_case)
        case [LikeWildcard.ANY, str(text)]:
            return ast.TextTest(operand, "endswith", ast.Literal(text), ignore_case)
        case [LikeWildcard.ANY, str(text), LikeWildcard.ANY]:
            return ast.TextTest(operand, "contains", ast.Literal(text), ignore_case)
        case tidied:
            return ast.TextTest(operand, "like", ast.Literal(pattern_of(tidied)), ignore_case)


def _tidied(parts: Sequence[LikePiece]) -> list[LikePiece]:
    """Merge adjacent texts, and repeated `*`."""
    made: list[LikePiece] = []
    for part in parts:
        if isinstance(part, str) and made and isinstance(made[-1], str):
            made[-1] += part
        elif part and not (part is LikeWildcard.ANY and made and made[-1] is LikeWildcard.ANY):
            made.append(part)
    return made
