"""Explains why a constant of a test is invalid: what its reader says, or a name in the wrong quotes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vedette.language.hints import shortened
from vedette.language.lexer import backticked
from vedette.language.syntax import Arithmetic, Literal, Operand, Span

_EXAMPLE = 60  # characters of a test that a hint repeats


def of_names(operands: Sequence[Operand], test: Span, text: str) -> tuple[str, Literal, str] | None:
    """The error for a test without any attribute, if a text in double quotes could be the name of one.

    In standard SQL it would be. `test` is the span of the test in `text`. Returns message, constant and hint.
    """
    if not all(isinstance(each, Literal | Arithmetic) for each in operands):
        return None
    for each in operands:
        if isinstance(each, Literal) and each.value and text.startswith('"', each.span.start):
            written = text[each.span.start : each.span.end]
            rest = text[each.span.end : test.end] if each.span.start == test.start else ""
            example = backticked(str(each.value)) + (rest if len(rest) <= _EXAMPLE and "\n" not in rest else "")
            message = f"this test has no attribute: {shortened(written)} is a text, not a name"
            return message, each, f"a name stands in backticks: {example}"
    return None


def refusal(reader: Callable[..., object], *arguments: object) -> str | None:
    """Why a reader refuses a constant; None if it does not."""
    try:
        reader(*arguments)
    except ValueError as error:
        return str(error)
    return None
