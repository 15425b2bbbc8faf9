"""What a value of Sigma's asks of an attribute, as a test of its text.

A rule knows no schema, so whatever is in an attribute is read as text, and a number is the same as its text. Texts are
compared but for case unless the rule says `cased`.
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
    SpecialChars,
)

from vedette.dialects.sigma.refusals import Unsayable
from vedette.language import ast
from vedette.language.likes import Piece, Wildcard, pattern_of

KEYWORDS: Final = ast.Quantified("any", ast.View("texts", ast.Attribute(ast.EVERYTHING)))
_WILDCARDS: Final = {SpecialChars.WILDCARD_MULTI: Wildcard.ANY, SpecialChars.WILDCARD_SINGLE: Wildcard.ONE}
_COMPARATORS: Final = {
    CompareOperators.LT: ast.Comparator.LT,
    CompareOperators.LTE: ast.Comparator.LE,
    CompareOperators.GT: ast.Comparator.GT,
    CompareOperators.GTE: ast.Comparator.GE,
}


def field_text(field: str) -> ast.View:
    """A field of Sigma's: the attribute of that name, read as text."""
    return ast.View("text", ast.Attribute(field))


def missing(operand: ast.Operand) -> ast.Filter:
    """There is nothing."""
    return ast.IsNull(operand.attribute if isinstance(operand, ast.Quantified) else operand)


def text_test(operand: ast.Operand, value: SigmaString, *, cased: bool) -> ast.Filter:
    """The attribute is like the text, with its wildcards."""
    return _like(operand, _pieces(value.s), cased)


def keyword_test(value: SigmaString, *, cased: bool) -> ast.Filter:
    """Some attribute, whichever, contains the text."""
    return _like(KEYWORDS, [Wildcard.ANY, *_pieces(value.s), Wildcard.ANY], cased)


def number_test(operand: ast.Operand, number: int | float) -> ast.Filter:
    """The attribute is the number, or a text that is written like it."""
    return ast.Comparison(operand, ast.Comparator.EQ, ast.Literal(number_text(number)))


def number_text(number: int | float) -> str:
    """A number as the view of an attribute writes it."""
    return str(int(number)) if number == int(number) else repr(number)


def compared(field: str, op: CompareOperators, number: int | float) -> ast.Filter:
    """The attribute is a number below or above another, or a text that is written like one."""
    figures = ast.Quantified("any", ast.View("figures", ast.Attribute(field)))
    return ast.Comparison(figures, _COMPARATORS[op], ast.Literal(number))


def expression_test(operand: ast.Operand, value: SigmaRegularExpression) -> ast.Filter:
    """The regular expression matches somewhere in the attribute."""
    if value.contains_placeholder():
        raise unknown_placeholder(next(part.name for part in value.regexp.s if isinstance(part, Placeholder)))
    other = value.flags - {SigmaRegularExpressionFlag.IGNORECASE}
    letters = "".join(sorted(value.sigma_to_re_flag[flag] for flag in other))
    pattern = (f"(?{letters})" if letters else "") + value.to_plain()
    ignore_case = SigmaRegularExpressionFlag.IGNORECASE in value.flags
    return ast.TextTest(operand, "matches", ast.Literal(pattern), ignore_case)


def field_test(field: str, other: str, *, starts: bool, ends: bool) -> ast.Filter:
    """What one field holds is what another one does, but for case; or it is in it, or at an end of it."""
    one, two = field_text(field), field_text(other)
    if starts or ends:
        kind: ast.PairKind = "contains" if starts and ends else "startswith" if starts else "endswith"
        return ast.TextPair(one, kind, two, ignore_case=True)
    # Each begins with the other: they are the same.
    return ast.And((ast.TextPair(one, "startswith", two, True), ast.TextPair(two, "startswith", one, True)))


def unknown_placeholder(name: str) -> Unsayable:
    """What is said of a placeholder that nothing has replaced."""
    hint = f"a pipeline with `value_placeholders` replaces it by what its `vars` say of {name!r}"
    return Unsayable(f"the placeholder %{name}% has no value", hint)


def _pieces(parts: Sequence[SigmaStringPartType]) -> list[Piece]:
    found: list[Piece] = []
    for part in parts:
        if isinstance(part, Placeholder):
            raise unknown_placeholder(part.name)
        found.append(part if isinstance(part, str) else _WILDCARDS[part])
    return found


def _like(operand: ast.Operand, parts: Sequence[Piece], cased: bool) -> ast.Filter:
    """The test in its plainest form."""
    ignore_case = not cased
    match _tidied(parts):
        case []:
            return ast.Comparison(operand, ast.Comparator.EQ, ast.Literal(""))
        case [Wildcard.ANY] if not isinstance(operand, ast.Quantified):
            return ast.Not(missing(operand))
        case [str(text)] if cased or text.lower() == text == text.upper():
            return ast.Comparison(operand, ast.Comparator.EQ, ast.Literal(text))
        case [str(text), Wildcard.ANY]:
            return ast.TextTest(operand, "startswith", ast.Literal(text), ignore_case)
        case [Wildcard.ANY, str(text)]:
            return ast.TextTest(operand, "endswith", ast.Literal(text), ignore_case)
        case [Wildcard.ANY, str(text), Wildcard.ANY]:
            return ast.TextTest(operand, "contains", ast.Literal(text), ignore_case)
        case tidied:
            return ast.TextTest(operand, "like", ast.Literal(pattern_of(tidied)), ignore_case)


def _tidied(parts: Sequence[Piece]) -> list[Piece]:
    """Texts side by side as one, and several `*` as one."""
    made: list[Piece] = []
    for part in parts:
        if isinstance(part, str) and made and isinstance(made[-1], str):
            made[-1] += part
        elif part and not (part is Wildcard.ANY and made and made[-1] is Wildcard.ANY):
            made.append(part)
    return made
