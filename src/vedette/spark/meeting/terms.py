"""Terms of disjuncts as columns, by attribute: the same for a sample on the driver and a batch in a worker.

A set of values is its hull, and its spans where it is not all of the hull. Keys of 64 bits are closed spans; texts and
addresses are bytes, half open, since they have no last one. A place is the box around it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.language.ast import Point, Region
from vedette.language.great_circle import EARTH_RADIUS
from vedette.language.valuesets import AnyKey, ValueSet, single
from vedette.meeting.allowed_values import Area, Disc, Elements, PlaceTerm, Values, geometry
from vedette.meeting.constraint_parser import Constraint, Disjunct, Term
from vedette.meeting.constraint_table import AttributeSpace
from vedette.schema.keys import INT_MAX, INT_MIN, float_key, split
from vedette.schema.types import Kind

SET, ANY, ALL, PLACE = range(4)  # what is said of an attribute
_SORTS = {"any": ANY, "all": ALL}
_MARGIN = 1.001  # a box around a disc may be too large, never too small
_WHOLE_WORLD = (-math.inf, math.inf)
TermSpan: TypeAlias = tuple[Any, Any]
GeoBox: TypeAlias = tuple[float, float, float, float]  # west, east, south, north


@dataclass(frozen=True, slots=True)
class CommonAttribute:
    """An attribute that both sides test, and which terms it has."""

    path: str
    kind: Kind
    is_list: bool
    null: bool = True  # sets of both sides have null in them
    several: bool = True  # some set is of several spans
    empty: bool = True  # some set has no value in it, only null
    points: bool = False  # every term of both sides is a value, or a list of values
    between: bool = False  # some number of either side lies between two floats: keys are pairs, in bytes

    @property
    def place(self) -> bool:
        """Whether its terms are places, or ask whether there is one."""
        return self.kind in (Kind.POINT, Kind.REGION)

    @property
    def textual(self) -> bool:
        """Whether its keys are bytes."""
        return self.kind.textual or self.between


@dataclass(slots=True)
class TermColumns:
    """The terms of one attribute, as parallel lists."""

    attribute: CommonAttribute
    row: list[int] = field(default_factory=list)  # the disjunct, ascending
    low: list[Any] = field(default_factory=list)
    high: list[Any] = field(default_factory=list)  # the last key; of bytes the first one after it, None: there is none
    null: list[bool] = field(default_factory=list)
    spans: list[tuple[TermSpan, ...] | None] = field(default_factory=list)  # None: the hull
    sort: list[int] = field(default_factory=list)
    south: list[int] = field(default_factory=list)  # of places, as their low and high are west and east
    north: list[int] = field(default_factory=list)
    place: list[str | None] = field(default_factory=list)

    def add(self, row: int, term: Term) -> None:
        """Add the term of a later disjunct."""
        allowed, attribute = term.allowed, self.attribute
        self.row.append(row)
        if isinstance(allowed, Area | Disc):
            west, east, south, north = map(float_key, box(allowed))
            self._append(west, east, False, None, PLACE)
            self._place(south, north, place_text(allowed))
            return
        values, sort = (allowed.values, _SORTS[allowed.quantifier]) if isinstance(allowed, Elements) else (allowed, SET)
        spans = spans_of(values, attribute.textual)
        low: Any
        high: Any
        low, high = (spans[0][0], spans[-1][1]) if spans else (b"", b"") if attribute.textual else (INT_MAX, INT_MIN)
        self._append(low, high, values.null, spans if len(spans) > 1 else None, sort)
        if attribute.place:
            self._place(low, high, None)

    def _append(self, low: Any, high: Any, null: bool, spans: tuple[TermSpan, ...] | None, sort: int) -> None:
        self.low.append(low)
        self.high.append(high)
        self.null.append(null)
        self.spans.append(spans)
        self.sort.append(sort)

    def _place(self, south: int, north: int, text: str | None) -> None:
        self.south.append(south)
        self.north.append(north)
        self.place.append(text)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The disjuncts that have a term."""
        return np.array(self.row, np.int64)


def spans_of(values: Values, textual: bool) -> tuple[TermSpan, ...]:
    """The spans of a set, ascending."""
    if textual:
        ends = ((one.low, one.high) for one in values.intervals)
        return tuple(
            (b"" if low is None else _bytes(low), None if high is None else _bytes(high)) for low, high in ends
        )
    return tuple(
        (INT_MIN if one.low is None else one.low, INT_MAX if one.high is None else one.high - 1)
        for one in values.intervals
    )


def _bytes(key: AnyKey) -> bytes:
    """A key as bytes that sort in the order of keys."""
    if isinstance(key, bytes):
        return key
    below, rest = split(key)
    return (below - INT_MIN).to_bytes(8) + rest.to_bytes(2)


def columns_of(
    disjuncts: Iterable[Disjunct], attributes: Mapping[str, int], kinds: Sequence[CommonAttribute]
) -> list[TermColumns]:
    """The terms of disjuncts, by attribute; attributes that the other side does not test are left out."""
    found = [TermColumns(attribute) for attribute in kinds]
    for row, disjunct in enumerate(disjuncts):
        for term in disjunct.terms:
            number = attributes.get(term.column.path)
            if number is not None:
                found[number].add(row, term)
    return found


def disjuncts_of(constraints: Iterable[Constraint]) -> list[Disjunct]:
    """All disjuncts, in order."""
    return [disjunct for constraint in constraints for disjunct in constraint.disjuncts]


def number_all(space: AttributeSpace, constraint: Constraint) -> None:
    """Register the attributes of a constraint in a space; FilterError if one has another type there."""
    for disjunct in constraint.disjuncts:
        for term in disjunct.terms:
            space.number(term.column)


def is_points(term: Term) -> bool:
    """Whether a term allows single values only."""
    allowed = term.allowed
    if not isinstance(allowed, ValueSet) or allowed.null or not allowed.intervals or term.column.other is not None:
        return False
    return all(single(term.column.type.kind, one) is not None for one in allowed.intervals)


# ---------------------------------------------------------------- places


def place_text(place: PlaceTerm) -> str:
    """A place as text, the same for equal ones."""
    if isinstance(place, Area):
        return json.dumps([place.region.wkt])
    return json.dumps([place.centre.x, place.centre.y, place.metres])


def place_of(text: str) -> PlaceTerm:
    """The reverse of `place_text`."""
    said = json.loads(text)
    return Area(Region(said[0])) if len(said) == 1 else Disc(Point(said[0], said[1]), said[2])


def box(place: PlaceTerm) -> GeoBox:
    """Longitudes and latitudes around a place; all longitudes if it does not lie between two (poles, 180 degrees)."""
    if isinstance(place, Area):
        west, south, east, north = geometry(place.region).bounds
        within = west >= -180 and east <= 180 and south >= -90 and north <= 90
        # Discs meet what lies beyond 180 degrees on the other side of the world.
        return (west, east, south, north) if within else (*_WHOLE_WORLD, *_WHOLE_WORLD)
    x, y = place.centre.x, place.centre.y
    angle = place.metres / EARTH_RADIUS * _MARGIN + 1e-9
    south, north = y - math.degrees(angle), y + math.degrees(angle)
    if not (-180 <= x <= 180 and -90 <= y <= 90):
        return (*_WHOLE_WORLD, *_WHOLE_WORLD)
    if south <= -90 or north >= 90:
        return (*_WHOLE_WORLD, south, north)
    wide = math.degrees(math.asin(min(1.0, math.sin(angle) / math.cos(math.radians(y))))) * _MARGIN + 1e-9
    west, east = x - wide, x + wide
    return (west, east, south, north) if west >= -180 and east <= 180 else (*_WHOLE_WORLD, south, north)
