"""Plans tests of strings: the literal to search for in many values at once, and what is left to do if it is found."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from vedette.filters.probes.kernels.automaton import ANYWHERE, AT_END, AT_START, WHOLE
from vedette.filters.probes.kernels.wildcards import ANY_TEXT, ONE_CHARACTER
from vedette.filters.probes.required_literals import required_text
from vedette.language.likes import LikePiece, LikeWildcard, pieces
from vedette.language.normalform import TextProbe

# A regular expression is tried where its literal is found; shorter literals are found nearly everywhere.
SHORTEST_GUIDE = 3


class TextAction(enum.IntEnum):
    """What is left to do for a value in which the literal was found where the mode asks for it."""

    NOTHING = 0  # the test holds
    LIKE = 1  # match the whole pattern
    EXPRESSION = 2  # search with RE2


@dataclass(frozen=True, slots=True)
class TextPlan:
    """The plan of one test: find `literal` (b"": everywhere) in the value, or in its lower case; then do `action`."""

    literal: bytes
    mode: int = ANYWHERE
    lower: bool = False
    action: TextAction = TextAction.NOTHING
    operations: tuple[int, ...] = ()  # of a LIKE pattern


def encoded(text: str) -> bytes:
    """The text as UTF-8; text decoded from invalid bytes becomes these bytes again."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def lowered(value: bytes) -> bytes:
    """`str.lower` of a text that is given as UTF-8."""
    if value.isascii():
        return value.lower()
    return value.decode("utf-8", "surrogateescape").lower().encode("utf-8", "surrogateescape")


def plan(test: TextProbe) -> TextPlan:
    """Plan one test."""
    if test.kind == "matches":
        return _plan_expression(test)
    if test.kind == "like":
        return _plan_like(test)
    pattern = encoded(test.pattern.lower() if test.ignore_case else test.pattern)
    mode = {"contains": ANYWHERE, "startswith": AT_START, "endswith": AT_END}[test.kind]
    return TextPlan(pattern, mode if pattern else ANYWHERE, test.ignore_case)


def _plan_expression(test: TextProbe) -> TextPlan:
    if not test.pattern:
        return TextPlan(b"")
    guide = required_text(test.pattern, test.ignore_case)
    literal = encoded(guide.text)
    if guide.whole:
        return TextPlan(literal)
    if len(literal) < SHORTEST_GUIDE:
        return TextPlan(b"", action=TextAction.EXPRESSION)
    return TextPlan(literal, lower=guide.ignore_case, action=TextAction.EXPRESSION)


def _plan_like(test: TextProbe) -> TextPlan:
    lower = test.ignore_case
    parts: list[LikePiece] = [
        part.lower() if lower and isinstance(part, str) else part for part in pieces(test.pattern)
    ]
    texts = [encoded(part) if isinstance(part, str) else b"" for part in parts]
    match parts:
        case []:
            return TextPlan(b"", WHOLE)
        case [LikeWildcard.ANY]:
            return TextPlan(b"")
        case [str()]:
            return TextPlan(texts[0], WHOLE, lower)
        case [str(), LikeWildcard.ANY]:
            return TextPlan(texts[0], AT_START, lower)
        case [LikeWildcard.ANY, str()]:
            return TextPlan(texts[1], AT_END, lower)
        case [LikeWildcard.ANY, str(), LikeWildcard.ANY]:
            return TextPlan(texts[1], ANYWHERE, lower)
    longest = max(range(len(parts)), key=lambda number: len(texts[number]))
    mode = AT_START if longest == 0 else AT_END if longest == len(parts) - 1 else ANYWHERE
    operations: list[int] = []
    for part, text in zip(parts, texts, strict=True):
        operations += text if isinstance(part, str) else [ANY_TEXT if part is LikeWildcard.ANY else ONE_CHARACTER]
    literal = texts[longest]
    return TextPlan(literal, mode if literal else ANYWHERE, lower, TextAction.LIKE, tuple(operations))
