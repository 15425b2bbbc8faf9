"""Patterns of LIKE in CloudEvents SQL: `%` any text, `_` one character, `\\%` and `\\_` these signs themselves.

Before anything else a backslash is a backslash, which Vedette's own patterns do not allow.
"""

from __future__ import annotations

import functools
import re
from typing import Final

from vedette.language.likes import Piece, Wildcard, pieces

_BACKSLASH: Final = re.compile(r"\\([%_]?)")


def own_pattern(pattern: str) -> str:
    """The same as a pattern of Vedette's language."""
    return _BACKSLASH.sub(lambda found: found.group() if found.group(1) else r"\\", pattern)


def parts_of(pattern: str) -> list[Piece]:
    """Plain texts and wildcards in turn."""
    return pieces(own_pattern(pattern))


def is_like(text: str, pattern: str) -> bool:
    """Whether the whole text is as the pattern says."""
    segments = _segments(pattern)
    first, last = segments[0], segments[-1]
    if len(segments) == 1:
        return len(text) == first.length and first.at(text, 0)
    place, end = first.length, len(text) - last.length
    if place > end or not first.at(text, 0) or not last.at(text, end):
        return False
    for segment in segments[1:-1]:  # each where it comes first: what is behind it then has the most room
        found = segment.search(text, place, end)
        if found is None:
            return False
        place = found.end()
    return True


class _Segment:
    """What stands between two `%`, which is of one length: so no search has to go back."""

    def __init__(self, parts: list[Piece]) -> None:
        self.length = sum(1 if isinstance(part, Wildcard) else len(part) for part in parts)
        written = ("." if isinstance(part, Wildcard) else re.escape(part) for part in parts)
        compiled = re.compile("".join(written), re.DOTALL)
        self.search, self._match = compiled.search, compiled.match

    def at(self, text: str, place: int) -> bool:
        return self._match(text, place) is not None


@functools.lru_cache(maxsize=4_096)
def _segments(pattern: str) -> list[_Segment]:
    found: list[list[Piece]] = [[]]
    for part in parts_of(pattern):
        if part is Wildcard.ANY:
            found.append([])
        else:
            found[-1].append(part)
    return [_Segment(parts) for parts in found]
