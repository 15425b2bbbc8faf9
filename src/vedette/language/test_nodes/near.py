"""`place within 5 km of point(x, y)`: points around a centre."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from vedette.language.checked_tree import Part
from vedette.language.distances import Miss, length, radius
from vedette.language.great_circle import distance
from vedette.language.normalform import ValueProbe
from vedette.language.render import plain_number, point, render
from vedette.language.syntax import Evidence, Operand, Point, Span, ValueTest, span_field
from vedette.language.three_valued import Truth
from vedette.schema.types import Kind

if TYPE_CHECKING:
    from vedette.language.check import FilterChecker


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

    @property
    def cost(self) -> float:
        """Places are dear."""
        return 5.0

    def evidence(self) -> Iterator[Evidence]:
        """The operand is a point."""
        yield Evidence(self.operand, None, Kind.POINT)

    def check(self, checker: FilterChecker) -> Part:
        """An atom of a point."""
        if not (self.metres >= 0 and math.isfinite(self.metres)):
            checker.fail("a distance is a number from 0 on", self.span)
        if not (math.isfinite(self.centre.x) and math.isfinite(self.centre.y)):
            checker.fail("a point has two finite coordinates: longitude, latitude", self.span)
        return checker.place(self, self.operand, (Kind.POINT,))

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


@dataclass(frozen=True, slots=True)
class NearProbe(ValueProbe):
    """A point within a great-circle distance of a centre."""

    NAMES = ("near",)

    centre: Point
    metres: float

    def phrase(self) -> str:
        """`within 500 m of point(1, 2)`."""
        return f"within {self.metres:g} m of point({self.centre.x:g}, {self.centre.y:g})"

    def fields(self) -> dict[str, Any]:
        """The centre and the distance."""
        return {"test": "near", "x": self.centre.x, "y": self.centre.y, "metres": self.metres}

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any]) -> NearProbe:
        """From the centre and the distance."""
        return cls(Point(fields["x"], fields["y"]), fields["metres"])
