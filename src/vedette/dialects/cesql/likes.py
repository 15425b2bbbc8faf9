"""LIKE patterns of CloudEvents SQL: `%` any text, `_` one character, `\\%` and `\\_` these signs themselves.

Before anything else a backslash is a backslash, which Vedette's own patterns do not allow.
"""

from __future__ import annotations

import functools
import re
from typing import Final

from vedette.language.likes import LikePiece, LikeWildcard, pieces

_BACKSLASH: Final = re.compile(r"\\([%_]?)")


def own_pattern(pattern: str) -> str:
    """The equivalent pattern of Vedette's language."""
    return _BACKSLASH.sub(lambda found: found.group() if found.group(1) else r"\\", pattern)


def parts_of(pattern: str) -> list[LikePiece]:
    """Split a pattern into plain texts and wildcards."""
    return pieces(own_pattern(pattern))


def is_like(text: str, pattern: str) -> bool:
    """Whether the whole text matches the pattern."""
    segments = _segments(pattern)
    first, last = segments[0], segments[-1]
    if len(segments) == 1:
        return len(text) == first.length and first.at(text, 0)
    place, end = first.length, len(text) - last.length
    if place > end or not first.at(text, 0) or not last.at(text, end):
        return False
    for segment in segments[1:-1]:  # each at its first occurrence, which leaves the most text for those after it
        found = segment.search(text, place, end)
        if found is None:
            return False
        place = found.end()
    return True


class _LikeSegment:
    """The part of a pattern between two `%`; its length is fixed, so the search never backtracks."""

    def __init__(self, parts: list[LikePiece]) -> None:
        self.length = sum(1 if isinstance(part, LikeWildcard) else len(part) for part in parts)
        written = ("." if isinstance(part, LikeWildcard) else re.escape(part) for part in parts)
        compiled = re.compile("".join(written), re.DOTALL)
        self.search, self._match = compiled.search, compiled.match

    def at(self, text: str, place: int) -> bool:
        return self._match(text, place) is not None


@functools.lru_cache(maxsize=4_096)
def _segments(pattern: str) -> list[_LikeSegment]:
    found: list[list[LikePiece]] = [[]]
    for part in parts_of(pattern):
        if part is LikeWildcard.ANY:
            found.append([])
        else:
            found[-1].append(part)
    return [_LikeSegment(parts) for parts in found]
