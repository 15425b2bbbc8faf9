"""A picture of a subscription with two attributes, those that meet it, and the witness against covering, as SVG."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from typing import Literal as OneOf

from vedette.covering.boxes import EVERYTHING, Box, BoxSpace, DimensionSpan
from vedette.covering.cover_set import CoverAnswer, CoveringSet
from vedette.covering.order_labels import FIRST, HIGHEST, LOWEST
from vedette.covering.witness import has_value, value_at
from vedette.errors import NotSupported
from vedette.schema.keys import key, read
from vedette.schema.types import Kind

_SIDE, _MARGIN, _LINE = 420, 60, 16  # pixels
_SEEN = 2  # pixels, at least, of what is a single value
_PAD = 0.08  # of a side, beyond the outermost bounds
_MOST = 100  # boxes that are drawn
_BETWEEN = 0.12  # of a side, from one label to the next
_COLOURS: Final = {"asked": "#0969da", "covers": "#1a7f37", "other": "#8c959f"}
_SAYS: Final = {"asked": "the subscription", "covers": "covers it", "other": "meets it"}

RectangleRole: TypeAlias = OneOf["asked", "covers", "other"]


@dataclass(frozen=True, slots=True)
class PictureRectangle:
    """A rectangle, in fractions of the sides; dashed if further attributes make it smaller than it looks."""

    label: str
    part: RectangleRole
    x: tuple[float, float]
    y: tuple[float, float]
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class PictureAxis:
    """An attribute, and the positions of values along its side."""

    name: str
    ticks: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class CoverPicture:
    """Rectangles in a plane. `to_svg()` draws them; a notebook shows that."""

    title: str
    x: PictureAxis
    y: PictureAxis
    shapes: tuple[PictureRectangle, ...]
    witness: tuple[float, float] | None = None

    def to_svg(self) -> str:
        """A self-contained SVG: no scripts, no fonts, nothing from elsewhere."""
        parts = [part for part in _COLOURS if any(shape.part == part for shape in self.shapes)]
        told = self._told(parts)
        height = _SIDE + 2 * _MARGIN + _LINE * len(told)
        width, title = _SIDE + 2 * _MARGIN, html.escape(self.title)
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
                f"<title>{title}</title>",
                f'<text x="{_MARGIN}" y="24" font-weight="bold">{title}</text>',
                f'<rect x="{_MARGIN}" y="{_MARGIN}" width="{_SIDE}" height="{_SIDE}" fill="none" stroke="#d0d7de"/>',
                *(line for shape in self.shapes for line in _rectangle(shape)),
                *self._sides(),
                *self._point(),
                *_legend(told),
                "</svg>\n",
            ]
        )

    def _repr_html_(self) -> str:
        return self.to_svg()

    def _sides(self) -> Iterator[str]:
        low = _MARGIN + _SIDE
        for at, label in self.x.ticks:
            yield _text(_across(at), low + 14, label, "middle", 10)
        for at, label in self.y.ticks:
            yield _text(_MARGIN - 4, _down(at) + 3, label, "end", 10)
        yield _text(_MARGIN + _SIDE / 2, low + 32, self.x.name, "middle", 12)
        yield _text(_MARGIN - 4, _MARGIN - 10, self.y.name, "end", 12)

    def _point(self) -> Iterator[str]:
        if self.witness is not None:
            x, y = _across(self.witness[0]), _down(self.witness[1])
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="#cf222e"><title>the witness</title></circle>'

    def _told(self, parts: Sequence[str]) -> list[tuple[str, str]]:
        """The legend: colours and their meanings."""
        told = [(_COLOURS[part], _SAYS[part]) for part in parts]
        if any(shape.dashed for shape in self.shapes):
            told.append(("none", "dashed: asks for further attributes, too"))
        if self.witness is not None:
            told.append(("#cf222e", "an event that only the subscription matches"))
        return told


def _legend(told: Sequence[tuple[str, str]]) -> Iterator[str]:
    for line, (colour, says) in enumerate(told):
        y = _SIDE + 2 * _MARGIN - 8 + _LINE * line
        dash = ' stroke="#8c959f" stroke-dasharray="3 2"' if colour == "none" else ""
        yield f'<rect x="{_MARGIN}" y="{y - 9}" width="10" height="10" fill="{colour}"{dash}/>'
        yield _text(_MARGIN + 16, y, says, "start", 11)


def _rectangle(shape: PictureRectangle) -> Iterator[str]:
    (left, right), (low, high) = shape.x, shape.y
    colour, dash = _COLOURS[shape.part], ' stroke-dasharray="5 4"' if shape.dashed else ""
    width = 2.5 if shape.part == "asked" else 1.2
    yield (
        f'<rect x="{_across(left):.1f}" y="{_down(high):.1f}" width="{max(_SEEN, _SIDE * (right - left)):.1f}" '
        f'height="{max(_SEEN, _SIDE * (high - low)):.1f}" fill="{colour}" fill-opacity="0.13" stroke="{colour}" '
        f'stroke-width="{width}"{dash}><title>{html.escape(shape.label)}</title></rect>'
    )
    yield _text(_across(left) + 4, _down(high) + 13, shape.label, "start", 11, colour)


def _text(x: float, y: float, text: str, anchor: str, size: int, colour: str = "#24292f") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">'
        f"{html.escape(text)}</text>"
    )


def _across(at: float) -> float:
    return _MARGIN + _SIDE * at


def _down(at: float) -> float:
    return _MARGIN + _SIDE * (1 - at)


# ---------------------------------------------------------------- what is drawn


def picture(found: CoveringSet, answer: CoverAnswer) -> CoverPicture:
    """A picture of a subscription that was just decided; NotSupported if it does not have two attributes."""
    own = found.boxes(answer.subscription)
    others = _meeting(found, answer, own)
    axes = _axes(own, (box for _, _, box in others), answer.subscription)
    drawn: list[tuple[str, RectangleRole, Box]] = [*others, *((answer.subscription, "asked", box) for box in own)]
    sides = [_AxisScale(found.space, axis, [_span(box, axis) for _, _, box in drawn], answer) for axis in axes]
    shapes = tuple(
        PictureRectangle(
            label,
            part,
            sides[0].part(_span(box, axes[0])),
            sides[1].part(_span(box, axes[1])),
            dashed=not set(box.dimensions) <= set(axes),
        )
        for label, part, box in drawn
    )
    verdict = "is covered" if answer.covered else "is not covered"
    sure = "" if answer.certain else ", which is not certain"
    points = [side.witness for side in sides]
    witness = None if points[0] is None or points[1] is None else (points[0], points[1])
    return CoverPicture(f"{answer.subscription} {verdict}{sure}", sides[0].axis, sides[1].axis, shapes, witness)


def _meeting(found: CoveringSet, answer: CoverAnswer, own: Sequence[Box]) -> list[tuple[str, RectangleRole, Box]]:
    """The subscriptions that meet it, those that cover it first, as there may be no room for all."""
    named = [*answer.by, *(id_ for id_ in found.active if id_ not in answer.by)]
    met: list[tuple[str, RectangleRole, Box]] = []
    for id_ in named:
        if id_ != answer.subscription and len(met) < _MOST:
            part: RectangleRole = "covers" if id_ in answer.by else "other"
            met += [(id_, part, box) for box in found.boxes(id_) if any(_overlap(box, mine) for mine in own)]
    return met


def _overlap(one: Box, other: Box) -> bool:
    shared = set(one.dimensions) & set(other.dimensions)
    return all(_span(one, d)[0] < _span(other, d)[1] and _span(other, d)[0] < _span(one, d)[1] for d in shared)


def _span(box: Box, dimension: int) -> DimensionSpan:
    for number, low, high in zip(box.dimensions, box.low, box.high, strict=True):
        if number == dimension:
            return low, high
    return EVERYTHING


def _axes(own: Sequence[Box], others: Iterable[Box], id_: str) -> tuple[int, int]:
    """The two dimensions in which the subscription is constrained; if there are fewer, one of the others'."""
    asked = dict.fromkeys(d for box in own for d in box.dimensions)
    further = dict.fromkeys(d for box in others for d in box.dimensions)
    axes = [*asked, *(d for d in further if d not in asked)]
    if len(asked) > 2 or len(axes) < 2:
        raise NotSupported(
            f"a picture has two attributes, and subscription {id_!r} speaks of {len(asked)}\n"
            "Hint: choose another subscription, or leave --picture out"
        )
    return axes[0], axes[1]


class _AxisScale:
    """The positions of a dimension's coordinates along a side: numbers by size, all else by order."""

    def __init__(self, space: BoxSpace, dimension: int, spans: Sequence[DimensionSpan], answer: CoverAnswer) -> None:
        self._space, self._dimension = space, dimension
        column = space.dimensions[dimension].column
        point = self._coordinate(None if column.reading else (answer.witness or {}).get(column.path))
        bounds = sorted({end for span in spans for end in span if FIRST < end < HIGHEST})
        known = sorted({*bounds, *([] if point is None else [point])}) or [0]
        self._place = self._by_size(known) or self._by_order(known)
        self.axis = PictureAxis(self._title(), tuple(self._ticks(bounds)))
        self.witness = None if point is None else self._place(point)

    def part(self, span: DimensionSpan) -> tuple[float, float]:
        """The beginning and end of a span."""
        low, high = span
        return (0.0 if low <= FIRST else self._place(low)), (1.0 if high == HIGHEST else self._place(high))

    def _title(self) -> str:
        dimension = self._space.dimensions[self._dimension]
        column = dimension.column
        test = "" if dimension.test is None else ", a test"
        if dimension.rest:
            return f"{column.name}, integers above a float"
        return (column.name if column.other in (None, column.path) else f"{column.name} and {column.other}") + test

    def _coordinate(self, value: Any) -> int | None:
        dimension = self._space.dimensions[self._dimension]
        type_, kind = dimension.column.type, dimension.column.type.kind
        if value is None or dimension.test is not None or dimension.rest or not kind.ordered or type_.is_list:
            return None
        real = float(value) if kind is Kind.FLOAT and isinstance(value, str) else value  # 'inf', 'nan'
        return self._space.coordinate(self._dimension, key(kind, read(kind, real)))

    def _ticks(self, bounds: Sequence[int]) -> Iterator[tuple[float, str]]:
        """The bounds, as far as there is room for them."""
        free = 0.0
        for end in bounds:
            place = self._place(end)
            if place >= free:
                free = place + _BETWEEN
                yield place, self._name(end)

    def _name(self, coordinate: int) -> str:
        """The value, without marks of open bounds."""
        known = has_value(self._space, self._dimension, coordinate)
        value = value_at(self._space, self._dimension, coordinate) if known else coordinate
        return f"{value:g}" if isinstance(value, float) else str(value).rstrip("\0")[:10]

    def _by_size(self, known: Sequence[int]) -> Callable[[int], float] | None:
        column = self._space.dimensions[self._dimension].column
        rest = self._space.dimensions[self._dimension].rest
        if column.type.is_list or not column.type.kind.keyed or column.other is not None or rest:
            return None

        def size(coordinate: int) -> float:
            if column.type.kind is not Kind.FLOAT:
                return float(coordinate)
            return float(value_at(self._space, self._dimension, coordinate))

        least, most = size(known[0]), size(known[-1])
        if not least < most or most - least == float("inf"):
            return None
        return lambda at: _PAD + (1 - 2 * _PAD) * (size(at) - least) / (most - least) if at != LOWEST else 0.0

    @staticmethod
    def _by_order(known: Sequence[int]) -> Callable[[int], float]:
        places = {end: (number + 1) / (len(known) + 1) for number, end in enumerate(known)}
        return lambda at: places.get(at, 0.0)
