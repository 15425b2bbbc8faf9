"""Find places of two sides that meet: candidates by bounding boxes in an R-tree, then one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.filters.probes.geometry import boxes_around
from vedette.meeting.allowed_values import Area, Disc, PlaceTerm, geometry, places_meet
from vedette.meeting.constraint_table import ConstraintTable
from vedette.meeting.kernels.meet_rows import PlacePairs

_PIECE = 1 << 20  # candidates at a time


class PlaceTree:
    """The places of a table, by location."""

    def __init__(self, table: ConstraintTable) -> None:
        import shapely

        self._table = table
        self._terms = np.flatnonzero(table.place >= 0)
        self._boxes, self._of = _boxes(table.places)
        self._tree = shapely.STRtree(self._boxes)
        self._shapes = _shapes(table.places)
        self._discs = _are_discs(table.places)
        self._disjunct = table.disjunct

    def pairs(self, probes: ConstraintTable, listed: NDArray[np.bool_] | None = None) -> PlacePairs:
        """For every term of the probes, the terms that meet it; only those of `listed` are candidates."""
        wanted = np.flatnonzero(probes.place >= 0)
        left, right = self._candidates(probes)
        mine, theirs = wanted[left], self._terms[right]
        same = probes.attribute[mine] == self._table.attribute[theirs]
        left, right, mine, theirs = left[same], right[same], mine[same], theirs[same]
        meets = self._meet(_shapes(probes.places), probes.places, left, right)
        mine, theirs = mine[meets], theirs[meets]
        order = np.lexsort((theirs, mine))
        mine, theirs = mine[order], theirs[order].astype(np.int32)
        start = np.searchsorted(mine, np.arange(len(probes.attribute) + 1)).astype(np.int64)
        disjunct = self._disjunct[theirs]
        if listed is not None:
            disjunct = np.where(listed[theirs], disjunct, -1).astype(np.int32)
        return PlacePairs(start, theirs, disjunct)

    def _candidates(self, probes: ConstraintTable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of places (of the probes, of this table) whose boxes meet, each once."""
        boxes, of = _boxes(probes.places)
        box, other = self._tree.query(boxes, predicate="intersects")
        pairs = np.unique(of[box] * np.int64(max(1, len(self._table.places))) + self._of[other])
        return np.divmod(pairs, max(1, len(self._table.places)))

    def _meet(
        self, shapes: NDArray[Any], places: Sequence[PlaceTerm], left: NDArray[np.int64], right: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        import shapely

        found = np.zeros(len(left), np.bool_)
        for first in range(0, len(left), _PIECE):
            one, other = shapes[left[first : first + _PIECE]], self._shapes[right[first : first + _PIECE]]
            found[first : first + _PIECE] = shapely.intersects(one, other)  # False where one of them is a disc
        for number in np.flatnonzero(_are_discs(places)[left] | self._discs[right]):
            found[number] = places_meet(places[left[number]], self._table.places[right[number]])
        return found


def no_places(probes: ConstraintTable) -> PlacePairs:
    """No pairs, for sides without places."""
    nobody = np.zeros(0, np.int32)
    return PlacePairs(np.zeros(len(probes.attribute) + 1, np.int64), nobody, nobody)


def _are_discs(places: Sequence[PlaceTerm]) -> NDArray[np.bool_]:
    return np.fromiter((isinstance(place, Disc) for place in places), np.bool_, len(places))


def _shapes(places: Sequence[PlaceTerm]) -> NDArray[Any]:
    """The shapes of regions; None for discs."""
    return np.array([geometry(place.region) if isinstance(place, Area) else None for place in places], object)


def _boxes(places: Sequence[PlaceTerm]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Bounding boxes in degrees, and the place of each: a place that crosses 180 degrees has two."""
    import shapely

    found: list[tuple[float, float, float, float, int]] = []
    for number, place in enumerate(places):
        if isinstance(place, Area):
            west, south, east, north = geometry(place.region).bounds
            if west < -180 or east > 180:  # the same place has another longitude, too
                west, east = min(west, -180.0), max(east, 180.0)
            found.append((west, south, east, north, number))
        else:
            one = (np.array([value], np.float64) for value in (place.centre.x, place.centre.y, place.metres))
            found += [(*box[:4], number) for box in boxes_around(*one)]
    edges = np.array(found, np.float64).reshape(-1, 5)
    return shapely.box(*edges[:, :4].T), edges[:, 4].astype(np.int64)
