"""Parses a text into its abstract syntax tree."""

from __future__ import annotations

from vedette.errors import FilterError, LimitError
from vedette.language import ast, limits
from vedette.language.patterns import PatternParser


def parse(text: str) -> ast.Expression:
    """Parse a filter, or a pattern if the text has steps `[ … ]`.

    FilterError says what is wrong and where; LimitError refuses what would cost too much.
    """
    _check_text(text)
    parser = PatternParser(text)
    return parser.composite() if parser.is_pattern() else parser.whole()


def parse_filter(text: str) -> ast.Filter:
    """Parse a filter over one event."""
    _check_text(text)
    parser = PatternParser(text)
    if parser.is_pattern():
        raise parser.error(
            "this is a pattern over several events; a filter is expected",
            0,
            len(text),
            "a filter is the condition for one event, without [ ]: status = 'denied'",
        )
    return parser.whole()


def _check_text(text: str) -> None:
    """Refuse anything but a text, and texts that are too long."""
    if not isinstance(text, str):
        raise FilterError(f"a filter is text, not {type(text).__name__}")
    size = len(text)
    if not text.isascii():
        try:
            size = len(text.encode()) if size <= limits.TEXT_BYTES else size
        except UnicodeEncodeError as problem:
            at = problem.start
            raise FilterError(
                "half of a surrogate pair, which is no text", text=_printable(text), start=at, end=at + 1
            ) from None
    if size > limits.TEXT_BYTES:
        raise LimitError(
            f"a text of {size:,} bytes: the limit is {limits.TEXT_BYTES:,}",
            hint="split it into several subscriptions",
        )


def _printable(text: str) -> str:
    return text.encode(errors="replace").decode()
