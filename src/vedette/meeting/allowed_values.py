"""The values that a constraint allows an attribute, and whether two such sets have anything in common.

A disjunct tests an attribute at most once, so that two disjuncts meet if the allowed values meet, attribute
by attribute. This is the slow and obvious way; `vedette.meeting.constraint_table` does many of them as arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias
from typing import Literal as OneOf

from vedette.language.ast import Point, Region
from vedette.language.great_circle import distance
from vedette.language.valuesets import ValueSet, intersection
from vedette.operators.shipped.spheres import Outline

Values: TypeAlias = ValueSet[Any]


@dataclass(frozen=True, slots=True)
class Area:
    """A place inside, or on the border of, a region."""

    region: Region


@dataclass(frozen=True, slots=True)
class Disc:
    """A disc: places within a great-circle distance of a point, closed; with 0 metres the point itself."""

    centre: Point
    metres: float


@dataclass(frozen=True, slots=True)
class Elements:
    """Lists of which some (`any`) or every (`all`) element is one of the values."""

    quantifier: OneOf["any", "all"]
    values: Values


PlaceTerm: TypeAlias = Area | Disc
AllowedValues: TypeAlias = Values | Area | Disc | Elements


def meets(one: AllowedValues, other: AllowedValues) -> bool:
    """Whether both allow some common value (null may be one)."""
    if isinstance(one, ValueSet) and isinstance(other, ValueSet):
        return not intersection(one, other).is_empty
    if isinstance(one, ValueSet) or isinstance(other, ValueSet):
        # Of places and lists a set says only whether there is a value.
        only = one if isinstance(one, ValueSet) else other
        return isinstance(only, ValueSet) and bool(only.intervals)
    if isinstance(one, Elements) and isinstance(other, Elements):
        # Two elements may be different ones, and a list without any has every property that all of them must have.
        return one.quantifier == other.quantifier or not intersection(one.values, other.values).is_empty
    if isinstance(one, Elements) or isinstance(other, Elements):
        raise TypeError("an attribute is a list or a place, not both")
    return places_meet(one, other)


# ---------------------------------------------------------------- places


def places_meet(one: PlaceTerm, other: PlaceTerm) -> bool:
    """Whether two places have a point in common."""
    if isinstance(one, Disc):
        if isinstance(other, Disc):
            apart = distance((one.centre.x, one.centre.y), (other.centre.x, other.centre.y))
            return apart <= one.metres + other.metres
        return _disc_meets(one, other)
    if isinstance(other, Disc):
        return _disc_meets(other, one)
    return bool(geometry(one.region).intersects(geometry(other.region)))


def _disc_meets(disc: Disc, area: Area) -> bool:
    import shapely

    shape = geometry(area.region)
    if shapely.intersects_xy(shape, disc.centre.x, disc.centre.y):
        return True
    import numpy as np

    away = _outline(area.region).metres(np.array([disc.centre.x]), np.array([disc.centre.y]))
    return bool(away[0] <= disc.metres)


@lru_cache(maxsize=1 << 12)
def geometry(region: Region) -> Any:
    """The shape of a region, in degrees."""
    import shapely

    return shapely.from_wkt(region.wkt)


@lru_cache(maxsize=1 << 10)
def _outline(region: Region) -> Outline:
    return Outline(geometry(region))
