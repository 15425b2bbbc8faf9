"""Why the constant of a test is none: the pattern of a text, a network, a region."""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Callable

from vedette.language.ast import TextTest
from vedette.language.families import not_text
from vedette.language.literals import check_like, event_pattern_fields, regex_instructions
from vedette.schema.keys import read
from vedette.schema.types import Kind


def of_pattern(test: TextTest, pattern: str) -> str | None:
    """Why a text is no pattern of the test, if it is none."""
    reason = not_text(pattern)
    if reason is None and test.kind == "like":
        return _refusal(check_like, pattern, test.escape)
    if reason is None and test.kind == "matches":
        return _refusal(regex_instructions, pattern, test.ignore_case)
    if reason is None and test.kind == "fits":
        return _refusal(event_pattern_fields, pattern)
    return reason


def of_network(text: str) -> str | None:
    """Why a text is no network, if it is none."""
    return _refusal(ipaddress.ip_network, text)


def of_region(wkt: str) -> str | None:
    """Why a text is no region, if it is none."""
    return _refusal(_read_region, wkt)


def _refusal(reader: Callable[..., object], *arguments: object) -> str | None:
    try:
        reader(*arguments)
    except ValueError as error:
        return str(error)
    return None


@functools.lru_cache(maxsize=256)
def _read_region(wkt: str) -> None:
    read(Kind.REGION, wkt)
