"""`place within region '…'`: points and regions in a region."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from vedette.language.checked_tree import Atom, Part
from vedette.language.checker import FilterChecker
from vedette.language.constant_errors import refusal
from vedette.language.evaluate import Truth
from vedette.language.normalform import RegionProbe
from vedette.language.render import render, string
from vedette.language.subjects import SubjectNode
from vedette.language.syntax import Evidence, Operand, Region, Span, ValueTest, span_field
from vedette.language.type_families import named
from vedette.schema.keys import read
from vedette.schema.types import Kind, Type


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

    def evidence(self) -> Iterator[Evidence]:
        """The operand is a point."""
        yield Evidence(self.operand, None, Kind.POINT)

    def check(self, checker: FilterChecker) -> Part:
        """An atom of a point or region."""
        reason = refusal(_shape, self.region.wkt)
        if reason is not None:
            checker.fail(reason, self.span)
        return place_atom(self, self.operand, checker, (Kind.POINT, Kind.REGION))

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


def place_atom(test: ValueTest, operand: Operand, checker: FilterChecker, kinds: tuple[Kind, ...]) -> Part:
    """The atom of a test of a place, which has to be of one of these kinds."""
    if not isinstance(operand, SubjectNode):
        return checker.residual(test, operand)
    subject = checker.subject(operand)
    kind = Kind.POINT if subject.type is None else subject.type.kind
    if kind not in kinds:
        wanted = " or ".join(each.value for each in kinds)
        checker.fail(f"{subject.name} is {named(Type(kind))}, and within is a test of a {wanted}", operand.span)
    return Atom(test, test, subject.elements(kind), subject.quantifier)
