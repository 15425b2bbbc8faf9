"""The obvious answers: every test put to every value, one after another, in plain Python."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import re2
import shapely

from vedette.filters.probes.probe_table import TokenSets
from vedette.language.likes import LikeWildcard, pieces
from vedette.language.normalform import Elementary, ElementProbe, TextProbe
from vedette.language.test_nodes.near import NearProbe
from vedette.language.test_nodes.within import RegionProbe
from vedette.language.valuesets import ValueSet
from vedette.schema.columns import TextColumn

Truth = bool | None
RADIUS = 6_371_008.8


def text_holds(test: TextProbe, value: bytes) -> bool:
    """One test of one string."""
    if test.kind == "matches":
        return re2.search(f"(?i){test.pattern}" if test.ignore_case else test.pattern, value) is not None
    text = value.decode("utf-8", "surrogateescape")
    if test.kind == "like":
        return like_holds(test.pattern, text, test.ignore_case)
    pattern = test.pattern
    if test.ignore_case:
        text, pattern = text.lower(), pattern.lower()
    if test.kind == "contains":
        return pattern in text
    return text.startswith(pattern) if test.kind == "startswith" else text.endswith(pattern)


def like_holds(pattern: str, text: str, ignore_case: bool = False) -> bool:
    """LIKE as a regular expression over characters."""
    made = ""
    for piece in pieces(pattern):
        if isinstance(piece, LikeWildcard):
            made += ".*" if piece is LikeWildcard.ANY else "."
        else:
            made += re.escape(piece.lower() if ignore_case else piece)
    return re.fullmatch(made, text.lower() if ignore_case else text, re.DOTALL) is not None


def metres_between(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Haversine."""
    (x1, y1), (x2, y2) = (tuple(map(math.radians, place)) for place in (one, other))
    half = math.sin((y2 - y1) / 2) ** 2 + math.cos(y1) * math.cos(y2) * math.sin((x2 - x1) / 2) ** 2
    return 2 * RADIUS * math.asin(min(1.0, math.sqrt(half)))


def holds(test: Elementary | ValueSet[Any], value: Any) -> Truth:
    """What a test says of a value: a text or address in bytes, a key, a pair, a geometry, a list, or None."""
    if isinstance(test, ValueSet):
        if value is None:
            return True if test.null else None
        return any(
            (interval.low is None or interval.low <= value) and (interval.high is None or value < interval.high)
            for interval in test.intervals
        )
    if value is None:
        return None
    if isinstance(test, TextProbe):
        return text_holds(test, value)
    if isinstance(test, RegionProbe):
        shape = shapely.Point(*value) if isinstance(value, tuple) else value
        return bool(shapely.intersects(shapely.from_wkt(test.region.wkt), shape))
    if isinstance(test, NearProbe):
        return metres_between(value, (test.centre.x, test.centre.y)) <= test.metres
    assert isinstance(test, ElementProbe)
    truths = [holds(test.test, element) for element in value]
    return some(truths) if test.quantifier == "any" else every(truths)


def some(truths: Sequence[Truth]) -> Truth:
    """SQL's OR."""
    return True if True in truths else None if None in truths else False


def every(truths: Sequence[Truth]) -> Truth:
    """SQL's AND."""
    return False if False in truths else None if None in truths else True


def token_holds(tests: frozenset[Elementary], value: Any) -> Truth:
    """What an OR of tests says."""
    return some([holds(test, value) for test in tests])


def token_is_elementwise(tests: frozenset[Elementary]) -> bool:
    """The token is about the elements of lists."""
    return any(isinstance(test, ElementProbe) for test in tests)


def as_sets(found: TokenSets) -> list[list[int]]:
    """The tokens of every event, in the order in which they stand."""
    return [
        [] if number < 0 else found.tokens[found.start[number] : found.start[number + 1]].tolist()
        for number in found.sets.tolist()
    ]


def text_column(values: Sequence[bytes | None]) -> TextColumn:
    """Strings, dictionary-encoded."""
    known = list(dict.fromkeys(value for value in values if value is not None))
    codes = [-1 if value is None else known.index(value) for value in values]
    return TextColumn(np.array(codes, np.int32), known)
