"""Parses and writes LIKE patterns: their wildcards and escapes."""

from __future__ import annotations

import enum
import re
from typing import Final, TypeAlias

ESCAPE: Final = "\\"
_SPECIAL = re.compile(r"([\\%_])")


class LikeWildcard(enum.Enum):
    """The wildcards: `%` matches any text, `_` one character."""

    ANY = "%"
    ONE = "_"


LikePiece: TypeAlias = str | LikeWildcard


def pieces(pattern: str, escape: str = ESCAPE) -> list[LikePiece]:
    """Split a pattern into plain texts and wildcards, repeated `%` as one; ValueError for an invalid escape."""
    found: list[LikePiece] = []
    plain: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, None)
            if escaped is None:
                raise ValueError(f"the pattern ends with its escape character {escape}")
            if escaped not in ("%", "_", escape):
                raise ValueError(f"{escape}{escaped} is no escape: {escape} stands before %, _ or itself")
            plain.append(escaped)
        elif character in ("%", "_"):
            wildcard = LikeWildcard(character)
            if plain:
                found.append("".join(plain))
                plain.clear()
            if wildcard is LikeWildcard.ONE or found[-1:] != [LikeWildcard.ANY]:
                found.append(wildcard)
        else:
            plain.append(character)
    if plain:
        found.append("".join(plain))
    return found


def escaped(text: str) -> str:
    """A pattern that matches only this text."""
    return _SPECIAL.sub(r"\\\1", text)


def pattern_of(found: list[LikePiece]) -> str:
    """The pattern made of these pieces, with backslash escapes."""
    return "".join(piece.value if isinstance(piece, LikeWildcard) else escaped(piece) for piece in found)
