"""How a test of a string is carried out: what to look for in many values at once, and what to do where it is found."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from vedette.kernels.automaton import ANYWHERE, AT_END, AT_START, WHOLE
from vedette.kernels.wildcards import ANY_TEXT, ONE_CHARACTER
from vedette.language.likes import Piece, Wildcard, pieces
from vedette.language.normalform import TextProbe
from vedette.matching.probes.required import required_text

# A regular expression is tried where its literal is found; a shorter one is found nearly everywhere.
SHORTEST_GUIDE = 3


class Action(enum.IntEnum):
    """What is left to do for a value in which the literal stands where it should."""

    NOTHING = 0  # the test holds
    LIKE = 1  # match the whole pattern
    EXPRESSION = 2  # ask RE2


@dataclass(frozen=True, slots=True)
class Plan:
    """Find `literal` (b"": everywhere) in the value, or in its lower case; then act."""

    literal: bytes
    mode: int = ANYWHERE
    lower: bool = False
    action: Action = Action.NOTHING
    operations: tuple[int, ...] = ()  # of a LIKE pattern


def encoded(text: str) -> bytes:
    """UTF-8; what came from bytes that are none becomes those bytes again."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def lowered(value: bytes) -> bytes:
    """`str.lower` of the text that the bytes are."""
    if value.isascii():
        return value.lower()
    return value.decode("utf-8", "surrogateescape").lower().encode("utf-8", "surrogateescape")


def plan(test: TextProbe) -> Plan:
    """The way to carry out one test."""
    if test.kind == "matches":
        return _plan_expression(test)
    if test.kind == "like":
        return _plan_like(test)
    pattern = encoded(test.pattern.lower() if test.ignore_case else test.pattern)
    mode = {"contains": ANYWHERE, "startswith": AT_START, "endswith": AT_END}[test.kind]
    return Plan(pattern, mode if pattern else ANYWHERE, test.ignore_case)


def _plan_expression(test: TextProbe) -> Plan:
    if not test.pattern:
        return Plan(b"")
    guide = required_text(test.pattern, test.ignore_case)
    literal = encoded(guide.text)
    if guide.whole:
        return Plan(literal)
    if len(literal) < SHORTEST_GUIDE:
        return Plan(b"", action=Action.EXPRESSION)
    return Plan(literal, lower=guide.ignore_case, action=Action.EXPRESSION)


def _plan_like(test: TextProbe) -> Plan:
    lower = test.ignore_case
    parts: list[Piece] = [part.lower() if lower and isinstance(part, str) else part for part in pieces(test.pattern)]
    texts = [encoded(part) if isinstance(part, str) else b"" for part in parts]
    match parts:
        case []:
            return Plan(b"", WHOLE)
        case [Wildcard.ANY]:
            return Plan(b"")
        case [str()]:
            return Plan(texts[0], WHOLE, lower)
        case [str(), Wildcard.ANY]:
            return Plan(texts[0], AT_START, lower)
        case [Wildcard.ANY, str()]:
            return Plan(texts[1], AT_END, lower)
        case [Wildcard.ANY, str(), Wildcard.ANY]:
            return Plan(texts[1], ANYWHERE, lower)
    longest = max(range(len(parts)), key=lambda number: len(texts[number]))
    mode = AT_START if longest == 0 else AT_END if longest == len(parts) - 1 else ANYWHERE
    operations: list[int] = []
    for part, text in zip(parts, texts, strict=True):
        operations += text if isinstance(part, str) else [ANY_TEXT if part is Wildcard.ANY else ONE_CHARACTER]
    literal = texts[longest]
    return Plan(literal, mode if literal else ANYWHERE, lower, Action.LIKE, tuple(operations))
