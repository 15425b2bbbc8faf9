"""`place within region '…'`: points and regions in a region."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from vedette.language.checked_tree import Part
from vedette.language.constant_errors import refusal
from vedette.language.normalform import ValueProbe
from vedette.language.render import render, string
from vedette.language.syntax import Evidence, Operand, Region, Span, ValueTest, span_field
from vedette.language.three_valued import Truth
from vedette.schema.keys import read
from vedette.schema.types import Kind

if TYPE_CHECKING:
    from vedette.language.check import FilterChecker


@dataclass(frozen=True, slots=True)
class Within(ValueTest):
    """`place within region '…'`: the point is inside or on the border, or the region intersects it."""

    NAME = "place test"
    READ_AS: ClassVar[tuple[Kind, ...] | None] = (Kind.POINT, Kind.REGION)

    operand: Operand
    region: Region
    span: Span = span_field()

    def words(self) -> tuple[str, str]:
        """Its text."""
        return render(self.operand), f"within region {string(self.region.wkt)}"

    @property
    def cost(self) -> float:
        """Places are dear."""
        return 5.0

    def evidence(self) -> Iterator[Evidence]:
        """The operand is a point."""
        yield Evidence(self.operand, None, Kind.POINT)

    def check(self, checker: FilterChecker) -> Part:
        """An atom of a point or region."""
        reason = refusal(_shape, self.region.wkt)
        if reason is not None:
            checker.fail(reason, self.span)
        return checker.place(self, self.operand, (Kind.POINT, Kind.REGION))

    def holds(self, value: Any) -> Truth:
        """By Shapely, unprepared."""
        if value is None:
            return None
        import shapely

        shape = shapely.Point(*value) if isinstance(value, tuple) else value
        return bool(shapely.intersects(_shape(self.region.wkt), shape))

    def values(self, kind: Kind, positive: bool) -> RegionProbe:
        """A probe: places have no order."""
        return RegionProbe(self.region)

    def phrase(self) -> str:
        """`inside the region`."""
        return "inside the region"


@functools.lru_cache(maxsize=256)
def _shape(wkt: str) -> Any:
    return read(Kind.REGION, wkt)


@dataclass(frozen=True, slots=True)
class RegionProbe(ValueProbe):
    """A point inside the region, or a region that intersects it."""

    NAMES = ("region",)

    region: Region

    def phrase(self) -> str:
        """`within region '…'`."""
        return f"within region {string(self.region.wkt)}"

    def fields(self) -> dict[str, Any]:
        """The region as well-known text."""
        return {"test": "region", "wkt": self.region.wkt}

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any]) -> RegionProbe:
        """From well-known text."""
        return cls(Region(fields["wkt"]))
