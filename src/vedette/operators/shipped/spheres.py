"""The distance of a point from a shape, along the surface of the Earth as a sphere.

Edges are straight in longitude and latitude, as GeoJSON has them. They are cut into pieces of at most `PIECE` degrees,
and each piece is followed along its great circle, which leaves the straight line by less than 0.1 m (a piece of length
L bends by at most L²/8R away from it). From there on the arithmetic is exact but for rounding, however far away the
point is, and neither poles nor the meridian of 180 degrees are anything special.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.language.great_circle import EARTH_RADIUS

Floats = NDArray[np.float64]
Vectors = NDArray[np.float64]  # (…, 3): points on the unit sphere

PIECE = 0.02  # degrees
_AT_ONCE = 1 << 17  # pairs of point and group or arc: bounds the memory
_SLACK = 1e-9  # radians, about 6 mm: so much a bound may be off by rounding


class Outline:
    """The points, lines and borders of a shape, as short arcs in groups of neighbours."""

    def __init__(self, shape: Any) -> None:
        start, end = _arcs(shape)
        # Most groups are passed over: so large they cost the least. The last one is filled up with the last arc.
        self._size = max(1, math.isqrt(len(start)) // 4)
        which = np.minimum(np.arange(-(-len(start) // self._size) * self._size), len(start) - 1)
        which = which.reshape(-1, self._size)
        self._start, self._end = start[which], end[which]
        # The same as start x end, without the cancellation that it has where the two are near each other.
        normal = np.cross(self._start - self._end, self._start + self._end)
        self._normal = normal / np.maximum(_norm(normal), 1e-300)[..., None]
        self._onward, self._back = np.cross(self._normal, self._start), np.cross(self._end, self._normal)
        self._centre = _middle(self._start)
        # An arc is nowhere farther from the centre than its start, by more than its length.
        reach = angles(self._start, self._centre[:, None]) + angles(self._start, self._end)
        self._reach = reach.max(axis=1) + _SLACK

    def metres(self, longitude: Floats, latitude: Floats) -> Floats:
        """The distance in metres from each point to the nearest part of the outline."""
        points = vectors(longitude, latitude)
        if self._size == len(self._centre) == 1:  # most places are a point: no group is passed over
            return self._to_arcs(points[:, None], np.zeros(len(points), np.int64))[:, 0] * EARTH_RADIUS
        found = np.full(len(points), np.inf)
        for point, group in self._near(points):
            np.minimum.at(found, point, self._to_arcs(points[point][:, None], group).min(axis=1))
        return found * EARTH_RADIUS

    def _near(self, points: Vectors) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Pairs of point and group: among them, for each point, the group that has the nearest part."""
        step = max(1, _AT_ONCE // len(self._centre))
        for first in range(0, len(points), step):
            away = angles(points[first : first + step, None], self._centre)
            at_most = (away + self._reach).min(axis=1, keepdims=True)
            point, group = np.nonzero(away - self._reach <= at_most)
            few = max(1, _AT_ONCE // self._size)
            for begin in range(0, len(point), few):
                some = slice(begin, begin + few)
                yield point[some] + first, group[some]

    def _to_arcs(self, points: Vectors, group: NDArray[np.int64]) -> Floats:
        """Radians from each point to each arc of its group."""
        start = self._start[group]
        to_ends = np.minimum(angles(points, start), angles(points, self._end[group]))
        onward = _dot(points, self._onward[group])
        across = np.arctan2(np.abs(_dot(points, self._normal[group])), np.hypot(onward, _dot(points, start)))
        beside = (onward > 0) & (_dot(points, self._back[group]) > 0)  # of an arc without length no point is
        return np.where(beside, across, to_ends)


def vectors(longitude: Floats, latitude: Floats) -> Vectors:
    """Positions on the unit sphere."""
    x, y = np.radians(longitude), np.radians(latitude)
    return np.stack([np.cos(y) * np.cos(x), np.cos(y) * np.sin(x), np.sin(y)], axis=-1)


def angles(one: Vectors, other: Vectors) -> Floats:
    """Radians between unit vectors, as exact for those that are near as for those that are opposite (Kahan)."""
    angle: Floats = 2 * np.arctan2(_norm(one - other), _norm(one + other))
    return angle


def _middle(vectors: Vectors) -> Vectors:
    """About the middle of each group; any point is correct, a central one is faster."""
    total = vectors.sum(axis=1)
    length = _norm(total)[:, None]
    return np.where(length > 1e-3, total / np.maximum(length, 1e-3), vectors[:, 0])


def _arcs(shape: Any) -> tuple[Vectors, Vectors]:
    """Both ends of the pieces of all lines and borders, and points as arcs without length."""
    import shapely

    places, line = shapely.get_coordinates(shapely.segmentize(list(_lines(shape)), PIECE), return_index=True)
    on_sphere = vectors(places[:, 0], places[:, 1])
    goes_on = np.flatnonzero(line[1:] == line[:-1])
    alone = np.flatnonzero(np.bincount(line)[line] == 1)
    return on_sphere[np.concatenate([goes_on, alone])], on_sphere[np.concatenate([goes_on + 1, alone])]


def _lines(shape: Any) -> Iterator[Any]:
    import shapely

    if isinstance(shape, shapely.Polygon):
        yield from shapely.get_rings(shape)
    elif hasattr(shape, "geoms"):
        for part in shape.geoms:
            yield from _lines(part)
    else:
        yield shape


def _dot(one: Vectors, other: Vectors) -> Floats:
    product: Floats = np.einsum("...i,...i->...", one, other)
    return product


def _norm(vector: Vectors) -> Floats:
    return np.sqrt(_dot(vector, vector))
