"""Explains why a constant of a test is invalid: a text's pattern, a network, a region, a name in the wrong quotes."""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Callable, Sequence

from vedette.language.ast import Arithmetic, Literal, Operand, Span, TextTest
from vedette.language.hints import shortened
from vedette.language.lexer import backticked
from vedette.language.literals import check_like, event_pattern_fields, regex_instructions
from vedette.language.type_families import not_text
from vedette.schema.keys import read
from vedette.schema.types import Kind

_EXAMPLE = 60  # characters of a test that a hint repeats


def of_pattern(test: TextTest, pattern: str) -> str | None:
    """Why a text is not a pattern of the test; None if it is one."""
    reason = not_text(pattern)
    if reason is None and test.kind == "like":
        return _refusal(check_like, pattern, test.escape)
    if reason is None and test.kind == "matches":
        return _refusal(regex_instructions, pattern, test.ignore_case)
    if reason is None and test.kind == "fits":
        return _refusal(event_pattern_fields, pattern)
    return reason


def of_network(text: str) -> str | None:
    """Why a text is not a network; None if it is one."""
    return _refusal(ipaddress.ip_network, text)


def of_region(wkt: str) -> str | None:
    """Why a text is not a region; None if it is one."""
    return _refusal(_read_region, wkt)


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


def _refusal(reader: Callable[..., object], *arguments: object) -> str | None:
    try:
        reader(*arguments)
    except ValueError as error:
        return str(error)
    return None


@functools.lru_cache(maxsize=256)
def _read_region(wkt: str) -> None:
    read(Kind.REGION, wkt)
