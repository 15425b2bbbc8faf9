"""LIKE patterns: what their wildcards and escapes mean."""

from __future__ import annotations

import enum
import re
from typing import Final, TypeAlias

ESCAPE: Final = "\\"
_SPECIAL = re.compile(r"([\\%_])")


class Wildcard(enum.Enum):
    """`%` stands for any text, `_` for one character."""

    ANY = "%"
    ONE = "_"


Piece: TypeAlias = str | Wildcard


def pieces(pattern: str, escape: str = ESCAPE) -> list[Piece]:
    """Plain texts and wildcards in turn, runs of `%` as one; ValueError where an escape makes no sense."""
    found: list[Piece] = []
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
            wildcard = Wildcard(character)
            if plain:
                found.append("".join(plain))
                plain.clear()
            if wildcard is Wildcard.ONE or found[-1:] != [Wildcard.ANY]:
                found.append(wildcard)
        else:
            plain.append(character)
    if plain:
        found.append("".join(plain))
    return found


def escaped(text: str) -> str:
    """A pattern that only this text satisfies."""
    return _SPECIAL.sub(r"\\\1", text)


def pattern_of(found: list[Piece]) -> str:
    """The pattern, with backslash escapes."""
    return "".join(piece.value if isinstance(piece, Wildcard) else escaped(piece) for piece in found)
