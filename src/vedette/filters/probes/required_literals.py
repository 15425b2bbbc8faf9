"""Finds a literal that every text matched by a regular expression must contain.

Not every such literal is found, but what is found is always right: for syntax that is not understood here, there is
no required literal.
"""

from __future__ import annotations

import re
from typing import NamedTuple

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
        character = pattern[place]
        following = place + 1
        plain = ""
        if character == "(":
            end = _after_group(pattern, place)
            if end is None:
                return None
            following = end
        elif character == "[":
            end = _after_class(pattern, place)
            if end is None:
                return None
            following = end
        elif character in "|)":
            return None
        elif character == "\\":
            escaped = pattern[place + 1 : place + 2]
            if not escaped or (escaped.isalnum() and escaped not in _LETTER_ESCAPES) or not escaped.isascii():
                return None
            following = place + 2
            plain = "" if escaped.isalnum() or escaped == "_" else escaped
        elif character not in ".^$*+?{}]":
            plain = character
        if plain and not _optional(pattern, following):
            run += plain
            if pattern[following : following + 1] != "+":
                place = following
                continue
        if run:
            runs.append(run)
            run = ""
        place = following
        repeat = _REPEAT.match(pattern, place)
        place = repeat.end() if repeat else place
        if repeat is None and pattern[place : place + 1] in ("*", "+", "?"):
            place += 1
            if _REPEAT.match(pattern, place):
                return None
    if run:
        runs.append(run)
    return runs


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
