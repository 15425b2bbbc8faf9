"""Distances on the Earth, along great circles."""

from __future__ import annotations

import math
from typing import Final

EARTH_RADIUS: Final = 6_371_008.8  # metres


def distance(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Distance in metres along the great circle between two points (haversine)."""
    (x1, y1), (x2, y2) = (tuple(map(math.radians, place)) for place in (one, other))
    half = math.sin((y2 - y1) / 2) ** 2 + math.cos(y1) * math.cos(y2) * math.sin((x2 - x1) / 2) ** 2
    return 2 * EARTH_RADIUS * math.asin(min(1.0, math.sqrt(half)))
