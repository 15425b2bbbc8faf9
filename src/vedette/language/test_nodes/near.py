"""`place within 5 km of point(x, y)`: points around a centre."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from vedette.language.checked_tree import Part
from vedette.language.checker import FilterChecker
from vedette.language.distances import Miss, length, radius
from vedette.language.evaluate import Truth
from vedette.language.great_circle import distance
from vedette.language.normalform import NearProbe
from vedette.language.render import plain_number, point, render
from vedette.language.syntax import Evidence, Operand, Point, Span, ValueTest, span_field
from vedette.language.test_nodes.within import place_atom
from vedette.schema.types import Kind


@dataclass(frozen=True, slots=True)
class Near(ValueTest):
    """`place within 5 km of point(x, y)`: great-circle distance, inclusive."""

    NAME = "place test"
    READ_AS: ClassVar[tuple[Kind, ...] | None] = (Kind.POINT,)

    operand: Operand
    centre: Point
    metres: float
    span: Span = span_field()

    def words(self) -> tuple[str, str]:
        """Its text."""
        return render(self.operand), f"within {plain_number(self.metres)} m of {point(self.centre)}"

    def evidence(self) -> Iterator[Evidence]:
        """The operand is a point."""
        yield Evidence(self.operand, None, Kind.POINT)

    def check(self, checker: FilterChecker) -> Part:
        """An atom of a point."""
        if not (self.metres >= 0 and math.isfinite(self.metres)):
            checker.fail("a distance is a number from 0 on", self.span)
        if not (math.isfinite(self.centre.x) and math.isfinite(self.centre.y)):
            checker.fail("a point has two finite coordinates: longitude, latitude", self.span)
        return place_atom(self, self.operand, checker, (Kind.POINT,))

    def holds(self, value: Any) -> Truth:
        """By the haversine."""
        return None if value is None else distance(value, (self.centre.x, self.centre.y)) <= self.metres

    def values(self, kind: Kind, positive: bool) -> NearProbe:
        """A probe: places have no order."""
        return NearProbe(self.centre, self.metres)

    def phrase(self) -> str:
        """`within 5 km of point(1, 2)`."""
        return f"within {radius(self.metres)} of point({self.centre.x:g}, {self.centre.y:g})"

    def missed(self, value: Any, wanted: bool) -> Miss | None:
        """The distance from the circle."""
        away = distance(value, (self.centre.x, self.centre.y)) - self.metres
        return Miss(length(abs(away)), abs(away) / max(self.metres, 1.0))
