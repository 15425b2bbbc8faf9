"""Plans tests of strings: the literal to search for in many values at once, and what is left to do if it is found.

Not every such literal is found, but what is found is always right: for syntax that is not understood here, there is
no required literal.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import NamedTuple

from vedette.filters.probes.kernels.automaton import ANYWHERE, AT_END, AT_START, WHOLE
from vedette.filters.probes.kernels.wildcards import ANY_TEXT, ONE_CHARACTER
from vedette.language.likes import LikePiece, LikeWildcard, pieces
from vedette.language.normalform import TextProbe

_FOLDED = "(?i)"
_REPEAT = re.compile(r"\{\d+(,\d*)?\}")
_POSIX_CLASS = re.compile(r"\[:\^?\w+:\]")
_HARMLESS_GROUP = re.compile(r"\(\?(:|P<\w+>|<\w+>)")
# Escapes of one letter that stand for one character, or for none.
_LETTER_ESCAPES = frozenset("dDsSwWbBAzafnrtv")


class RequiredLiteral(NamedTuple):
    """The longest known literal ("": none), and whether it is the whole expression.

    With `ignore_case` the text's lower case must contain it.
    """

    text: str
    whole: bool
    ignore_case: bool


def required_text(pattern: str, ignore_case: bool = False) -> RequiredLiteral:
    """The literal that a text must contain for RE2 to find the pattern in it."""
    while pattern.startswith(_FOLDED):
        ignore_case, pattern = True, pattern[len(_FOLDED) :]
    runs = _plain_runs(pattern)
    if runs is None:
        return RequiredLiteral("", False, ignore_case)
    if ignore_case:
        runs = [piece for run in runs for piece in _foldable_pieces(run)]
    best = max(runs, key=lambda run: len(run.encode("utf-8", "surrogatepass")), default="")
    return RequiredLiteral(best, not ignore_case and runs == [pattern] and _is_plain(pattern), ignore_case)


def _is_plain(pattern: str) -> bool:
    return not any(character in r"\^$.|?*+()[]{}" for character in pattern)


def _foldable_pieces(run: str) -> list[str]:
    """The pieces of a run in which RE2 folds case as lower() does: ASCII without `s`, which also matches U+017F."""
    return [piece.lower() for piece in re.split(r"[^\x00-\x7f]|[sS]", run) if piece]


def _plain_runs(pattern: str) -> list[str] | None:
    """The runs of plain characters outside of groups and classes; None for alternatives and syntax not understood."""
    runs: list[str] = []
    run = ""
    place = 0
    while place < len(pattern):
        element = _element(pattern, place)
        if element is None:
            return None
        plain, following = element
        if plain and not _optional(pattern, following):
            run += plain
            if pattern[following : following + 1] != "+":
                place = following
                continue
        if run:
            runs.append(run)
            run = ""
        end = _after_repeat(pattern, following)
        if end is None:
            return None
        place = end
    if run:
        runs.append(run)
    return runs


def _element(pattern: str, place: int) -> tuple[str, int] | None:
    """The plain character at a place, if it is one, and where the next element begins; None if not understood."""
    character = pattern[place]
    if character in "([":
        end = _after_group(pattern, place) if character == "(" else _after_class(pattern, place)
        return None if end is None else ("", end)
    if character in "|)":
        return None
    if character == "\\":
        escaped = pattern[place + 1 : place + 2]
        if not escaped or (escaped.isalnum() and escaped not in _LETTER_ESCAPES) or not escaped.isascii():
            return None
        return "" if escaped.isalnum() or escaped == "_" else escaped, place + 2
    return "" if character in ".^$*+?{}]" else character, place + 1


def _after_repeat(pattern: str, place: int) -> int | None:
    """The place after a repetition, if there is one; None if it is repeated again."""
    repeat = _REPEAT.match(pattern, place)
    if repeat is not None:
        return repeat.end()
    if pattern[place : place + 1] not in ("*", "+", "?"):
        return place
    return None if _REPEAT.match(pattern, place + 1) else place + 1


def _optional(pattern: str, place: int) -> bool:
    """Whether the item before this position may be absent, or repeated."""
    return pattern[place : place + 1] in ("*", "?") or _REPEAT.match(pattern, place) is not None


def _after_class(pattern: str, place: int) -> int | None:
    """The position behind the `]` that closes the class; None if there is none."""
    place += 2 if pattern[place + 1 : place + 2] == "^" else 1
    first = place
    while place < len(pattern):
        character = pattern[place]
        if character == "]" and place > first:
            return place + 1
        named = _POSIX_CLASS.match(pattern, place)
        if named:
            place = named.end()
        elif character == "\\":
            if pattern[place + 1 : place + 2] == "Q":
                return None
            place += 2
        else:
            place += 1
    return None


def _after_group(pattern: str, place: int) -> int | None:
    """The position behind the `)` that closes the group; None if the group changes flags, or does not close."""
    depth = 0
    while place < len(pattern):
        character = pattern[place]
        if character == "(":
            if pattern[place + 1 : place + 2] == "?":
                harmless = _HARMLESS_GROUP.match(pattern, place)
                if not harmless:
                    return None
                place = harmless.end() - 1
            depth += 1
        elif character == ")":
            depth -= 1
            if depth == 0:
                return place + 1
        elif character == "[":
            end = _after_class(pattern, place)
            if end is None:
                return None
            place = end
            continue
        elif character == "\\":
            if pattern[place + 1 : place + 2] == "Q":
                return None
            place += 1
        place += 1
    return None


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
