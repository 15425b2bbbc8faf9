"""Places as shapes in degrees, longitude first: shares of area, and intersections."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.language.ast import Point, Region
from vedette.language.great_circle import EARTH_RADIUS
from vedette.language.valuesets import ValueSet
from vedette.meeting.allowed_values import AllowedValues, Area, Disc, Elements, PlaceTerm, geometry

Floats = NDArray[np.float64]

_CORNERS = 64  # of a disc


def place_shares(some: Sequence[AllowedValues], others: Sequence[AllowedValues]) -> Floats:
    """The share of each place that its partner has, too: of their areas; a point counts as in what it meets."""
    import shapely

    mine = np.array([shape(one) for one in some], object)
    theirs = np.array([shape(other) for other in others], object)
    whole = shapely.area(mine)
    found = np.ones(len(mine))
    partly = np.flatnonzero((whole > 0) & ~shapely.covers(theirs, mine))
    found[partly] = np.minimum(shapely.area(shapely.intersection(mine[partly], theirs[partly])) / whole[partly], 1.0)
    return found


def common_place(one: PlaceTerm, other: PlaceTerm) -> PlaceTerm:
    """The intersection of two places that meet: one of them, or an area; if they only touch, a point."""
    first, second = shape(one), shape(other)
    if second.covers(first):
        return one
    if first.covers(second):
        return other
    found = first.intersection(second)
    parts = [part for part in getattr(found, "geoms", [found]) if part.area > 0]
    if parts:
        import shapely

        return Area(Region(shapely.union_all(parts).wkt))
    # A disc may touch with an arc that its polygon lacks.
    nearest = found if not found.is_empty else second.boundary.interpolate(second.boundary.project(first.centroid))
    at = nearest.representative_point()
    return Disc(Point(at.x, at.y), 0.0)


def shape(allowed: AllowedValues) -> Any:
    """A place as a Shapely geometry; a constraint that there is a place is the whole Earth."""
    if isinstance(allowed, Disc):
        return disc_shape(allowed.centre, allowed.metres)
    if isinstance(allowed, ValueSet):
        import shapely

        return _earth() if allowed.intervals else shapely.Polygon()
    if isinstance(allowed, Elements):
        raise TypeError("an attribute is a list or a place, not both")
    return geometry(allowed.region)


@lru_cache(maxsize=1)
def _earth() -> Any:
    import shapely

    return shapely.box(-180, -90, 180, 90)


@lru_cache(maxsize=1 << 12)
def disc_shape(centre: Point, metres: float) -> Any:
    """A disc as a polygon with its corners on the circle, cut at the meridian of 180 degrees; of no size, a point."""
    import shapely
    from shapely.affinity import translate

    angle = metres / EARTH_RADIUS
    from_equator = abs(math.radians(centre.y))
    if angle >= math.pi:
        return _earth()
    if angle > math.pi / 2 + from_equator:  # both poles are inside
        opposite = Point(centre.x - 180 if centre.x > 0 else centre.x + 180, -centre.y)
        return _earth().difference(disc_shape(opposite, math.pi * EARTH_RADIUS - metres))
    x, y = _circle(centre, max(angle, 0.0))
    if angle > math.pi / 2 - from_equator:
        # The outline runs along all longitudes, and what is between it and the pole is inside.
        order = np.argsort(x)
        x, y = x[order], y[order]
        pole = math.copysign(90.0, centre.y)
        along = [x[-1] - 360, *x, x[0] + 360, x[0] + 360, x[-1] - 360]
        return shapely.Polygon(list(zip(along, [y[-1], *y, y[0], pole, pole], strict=True))).intersection(_earth())
    beside = centre.x + (x - centre.x + 180) % 360 - 180  # so that the outline is in one piece
    whole = shapely.Polygon(np.column_stack([beside, y]))
    if not whole.area > 0:
        return shapely.Point(centre.x, centre.y)
    west, _, east, _ = whole.bounds
    if west >= -180 and east <= 180:
        return whole
    return shapely.union_all([translate(whole, by).intersection(_earth()) for by in (-360, 0, 360)])


def _circle(centre: Point, angle: float) -> tuple[Floats, Floats]:
    """A circle of places at an angle from the centre, in degrees."""
    bearing = np.arange(_CORNERS) * (2 * np.pi / _CORNERS)
    x, y = math.radians(centre.x), math.radians(centre.y)
    middle = np.array([math.cos(y) * math.cos(x), math.cos(y) * math.sin(x), math.sin(y)])
    east = np.array([-math.sin(x), math.cos(x), 0.0])
    north = np.array([-math.sin(y) * math.cos(x), -math.sin(y) * math.sin(x), math.cos(y)])
    away = np.cos(bearing)[:, None] * north + np.sin(bearing)[:, None] * east
    places = math.cos(angle) * middle + math.sin(angle) * away
    return np.degrees(np.arctan2(places[:, 1], places[:, 0])), np.degrees(np.arcsin(np.clip(places[:, 2], -1, 1)))
