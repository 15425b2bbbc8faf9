"""Geographic tests: points in regions, regions that intersect, points near a centre.

Shapely is imported when the first such test is evaluated.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.filters.probes.test_pairs import Arrays, PairsOfTests, crossed, frozen, joined, no_holds, pack, unpack
from vedette.language.great_circle import EARTH_RADIUS, distance
from vedette.language.test_nodes.near import NearProbe
from vedette.language.test_nodes.within import RegionProbe
from vedette.lazy import once

# Candidates that are examined at a time, whatever the number of values: it bounds the memory.
CANDIDATES = 1 << 20
FIRST_PIECE = 1024

# Boxes are this much larger than necessary, in degrees, because of rounding (about 0.1 mm).
SLACK = 1e-9


class Points(NamedTuple):
    """Longitudes and latitudes."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]


class RegionTests:
    """Numbered regions; their borders are inside."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = {name: frozen(array) for name, array in arrays.items()}
        self._alone = threading.Lock()

    @classmethod
    def build(cls, tests: Sequence[RegionProbe]) -> RegionTests:
        """Number the regions in their order."""
        text, start = pack([test.region.wkt.encode() for test in tests])
        return cls({"wkt": text, "start": start})

    def arrays(self) -> Arrays:
        """Plain arrays from which the tests can be made again."""
        return dict(self._arrays)

    @once
    def _tree(self) -> tuple[Any, NDArray[Any]]:
        import shapely

        texts = unpack(self._arrays["wkt"], self._arrays["start"])
        regions = shapely.from_wkt([text.decode() for text in texts])
        shapely.prepare(regions)
        return shapely.STRtree(regions), regions

    def holds_for_points(self, points: Points) -> PairsOfTests:
        """The regions that each point is in."""
        import shapely

        tree, regions = self._tree

        def look(first: int, end: int) -> tuple[int, PairsOfTests]:
            x, y = points.x[first:end], points.y[first:end]
            point, region = tree.query(shapely.points(x, y))
            # Prepared regions complete themselves lazily: GEOS crashes when two threads do that at once.
            with self._alone:
                inside = shapely.intersects_xy(regions[region], x[point], y[point])
            return len(point), _holds(point[inside] + first, region[inside])

        return _in_pieces(len(points.x), look)

    def holds_for_regions(self, geometries: NDArray[Any]) -> PairsOfTests:
        """The regions that each geometry intersects."""
        tree, _ = self._tree

        def look(first: int, end: int) -> tuple[int, PairsOfTests]:
            geometry, region = tree.query(geometries[first:end], predicate="intersects")
            return len(geometry), _holds(geometry + first, region)

        return _in_pieces(len(geometries), look)


class NearTests:
    """Numbered centres, each with a largest distance (inclusive) in metres along the great circle."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = {name: frozen(array) for name, array in arrays.items()}

    @classmethod
    def build(cls, tests: Sequence[NearProbe]) -> NearTests:
        """Number the centres in their order."""
        return cls(
            {
                "x": np.array([test.centre.x for test in tests], np.float64),
                "y": np.array([test.centre.y for test in tests], np.float64),
                "metres": np.array([test.metres for test in tests], np.float64),
            }
        )

    def arrays(self) -> Arrays:
        """Plain arrays from which the tests can be made again."""
        return dict(self._arrays)

    @once
    def _tree(self) -> tuple[Any, NDArray[np.int64]]:
        """A tree of boxes around the circles, and the number of each box's test."""
        import shapely

        own = self._arrays
        boxes = np.array(list(boxes_around(own["x"], own["y"], own["metres"])), np.float64).reshape(-1, 5)
        return shapely.STRtree(shapely.box(*boxes[:, :4].T)), boxes[:, 4].astype(np.int64)

    def holds_for_points(self, points: Points) -> PairsOfTests:
        """The centres that each point is near to."""
        import shapely

        tree, test_of = self._tree
        x = wrapped(points.x)
        usual = np.flatnonzero(np.abs(points.y) <= 90)

        def look(first: int, end: int) -> tuple[int, PairsOfTests]:
            piece = usual[first:end]
            point, box = tree.query(shapely.points(x[piece], points.y[piece]))
            return len(point), self._within(points, _holds(piece[point], test_of[box]))

        found = _in_pieces(len(usual), look)
        if len(usual) == len(points.x):
            return found
        # Points beyond a pole are in no box, but still have a distance.
        beyond = np.flatnonzero(np.abs(points.y) > 90)
        return joined([found, self._within(points, crossed(beyond, np.arange(len(self._arrays["x"]))))])

    def _within(self, points: Points, candidates: PairsOfTests) -> PairsOfTests:
        own = self._arrays
        value, test = candidates
        metres = own["metres"][test]
        away = great_circle(points.x[value], points.y[value], own["x"][test], own["y"][test])
        near = away <= metres
        # Where rounding matters, give the same result as the evaluation of a single event.
        for doubt in np.flatnonzero(np.abs(away - metres) <= 1e-6 + 1e-9 * metres):
            place = (float(points.x[value[doubt]]), float(points.y[value[doubt]]))
            centre = (float(own["x"][test[doubt]]), float(own["y"][test[doubt]]))
            near[doubt] = distance(place, centre) <= metres[doubt]
        return PairsOfTests(value[near], test[near])


def great_circle(
    x1: NDArray[np.float64], y1: NDArray[np.float64], x2: NDArray[np.float64], y2: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Distance in metres between points given in degrees (haversine)."""
    x1, y1, x2, y2 = (np.radians(part) for part in (x1, y1, x2, y2))
    half = np.sin((y2 - y1) / 2) ** 2 + np.cos(y1) * np.cos(y2) * np.sin((x2 - x1) / 2) ** 2
    metres: NDArray[np.float64] = 2 * EARTH_RADIUS * np.arcsin(np.minimum(1.0, np.sqrt(half)))
    return metres


def wrapped(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Longitudes wrapped into [-180, 180)."""
    return np.mod(x + 180.0, 360.0) - 180.0


def boxes_around(
    x: NDArray[np.float64], y: NDArray[np.float64], metres: NDArray[np.float64]
) -> Iterator[tuple[float, float, float, float, int]]:
    """West, south, east, north and number of the boxes that hold each circle: two where it crosses 180 degrees."""
    for number, (lon, lat, reach) in enumerate(zip(wrapped(x).tolist(), y.tolist(), metres.tolist(), strict=True)):
        if reach < 0:
            continue
        angle = reach / EARTH_RADIUS
        degrees = float(np.degrees(angle)) + SLACK
        south, north = lat - degrees, lat + degrees
        if south <= -90 or north >= 90 or abs(lat) > 90:
            # Around a pole every longitude is near; a centre beyond a pole may be anywhere.
            low, high = (max(south, -90.0), min(north, 90.0)) if abs(lat) <= 90 else (-90.0, 90.0)
            yield -180.0, low, 180.0, high, number
            continue
        half = float(np.degrees(np.arcsin(min(1.0, np.sin(angle) / np.cos(np.radians(lat)))))) + SLACK
        west, east = lon - half, lon + half
        if west < -180:
            yield west + 360, south, 180.0, north, number
        if east > 180:
            yield -180.0, south, east - 360, north, number
        yield max(west, -180.0), south, min(east, 180.0), north, number


def _holds(value: NDArray[Any], test: NDArray[Any]) -> PairsOfTests:
    return PairsOfTests(value.astype(np.int32), test.astype(np.int32))


def _in_pieces(size: int, look: Callable[[int, int], tuple[int, PairsOfTests]]) -> PairsOfTests:
    """Examine all values slice by slice; a slice is as long as the number of candidates allows."""
    parts = [no_holds()]
    first, piece = 0, FIRST_PIECE
    while first < size:
        end = min(size, first + piece)
        candidates, found = look(first, end)
        parts.append(found)
        per_value = max(candidates, 1) / (end - first)
        piece = int(min(max(CANDIDATES / per_value, 1), 16 * (end - first), 1 << 16))
        first = end
    return joined(parts)
