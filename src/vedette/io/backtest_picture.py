"""A picture of a backtest: what each subscription would have reported when, and the calibration of forecasts."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from vedette.io.backtest_tally import NO_DAY, BacktestSummary, day_text
from vedette.patterns.forecasts.score import Decile

_MOST: Final = 30  # subscriptions that are drawn
_CURVES: Final = 6  # forecasts that are drawn
_WIDE: Final = 120  # cells of a row
_NAMES, _CELL, _ROW, _TOP = 170, 720, 16, 56  # pixels
_SIDE, _GAP = 240, 56
_LONG: Final = 24  # characters of an id
_COLOURS: Final = ("#0969da", "#cf222e", "#1a7f37", "#9a6700", "#8250df", "#57606a")


@dataclass(frozen=True, slots=True)
class Strip:
    """One subscription: what it would have reported in every span of days."""

    name: str
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BacktestPicture:
    """Strips of cells, darker where more was reported, and below them calibration curves of forecasts."""

    title: str
    spans: tuple[str, ...]  # the first day of each
    strips: tuple[Strip, ...]
    curves: tuple[tuple[str, tuple[Decile, ...]], ...] = ()

    def to_svg(self) -> str:
        """A self-contained SVG: no scripts, no fonts, nothing from elsewhere."""
        below = _TOP + _ROW * len(self.strips) + 24
        width = _NAMES + _CELL + 40
        height = below + (_SIDE + 2 * _GAP if self.curves else 0)
        title = html.escape(self.title)
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
                f"<title>{title}</title>",
                f'<text x="10" y="24" font-weight="bold">{title}</text>',
                *self._strips(),
                *(self._curves(below + _GAP / 2) if self.curves else ()),
                "</svg>\n",
            ]
        )

    def _repr_html_(self) -> str:
        return self.to_svg()

    def _strips(self) -> Iterator[str]:
        wide = _CELL / max(len(self.spans), 1)
        if self.spans:
            yield _text(_NAMES, _TOP - 6, self.spans[0], "start", 10)
        if len(self.spans) > 1:
            yield _text(_NAMES + _CELL, _TOP - 6, self.spans[-1], "end", 10)
        for number, strip in enumerate(self.strips):
            y = _TOP + _ROW * number
            yield _text(_NAMES - 6, y + 12, _short(strip.name), "end", 11)
            most = max(strip.counts, default=0)
            for place, count in enumerate(strip.counts):
                if count:
                    dark = 0.2 + 0.8 * math.log1p(count) / math.log1p(most)
                    told = html.escape(f"{strip.name}, {self.spans[place]}: {count:,}")
                    yield (
                        f'<rect x="{_NAMES + wide * place:.1f}" y="{y + 1}" width="{max(1.0, wide - 0.5):.1f}" '
                        f'height="{_ROW - 2}" fill="#0969da" fill-opacity="{dark:.2f}"><title>{told}</title></rect>'
                    )

    def _curves(self, top: float) -> Iterator[str]:
        """Calibration curves: the nearer to the diagonal, the better; the larger a point, the more forecasts."""
        low = top + _SIDE
        yield f'<rect x="{_NAMES}" y="{top}" width="{_SIDE}" height="{_SIDE}" fill="none" stroke="#d0d7de"/>'
        yield (
            f'<line x1="{_NAMES}" y1="{low}" x2="{_NAMES + _SIDE}" y2="{top}" stroke="#8c959f" stroke-dasharray="4 3"/>'
        )
        yield _text(_NAMES + _SIDE / 2, low + 30, "predicted probability", "middle", 12)
        yield _text(_NAMES - 6, top - 8, "came true", "end", 12)
        for at in (0.0, 0.5, 1.0):
            yield _text(_NAMES + _SIDE * at, low + 14, f"{at:.0%}", "middle", 10)
            yield _text(_NAMES - 6, low - _SIDE * at + 3, f"{at:.0%}", "end", 10)
        for number, (name, deciles) in enumerate(self.curves):
            colour = _COLOURS[number]
            points = [(_NAMES + _SIDE * one.predicted, low - _SIDE * one.observed) for one in deciles]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
            total = sum(one.forecasts for one in deciles)
            for (x, y), one in zip(points, deciles, strict=True):
                radius = 2 + 5 * math.sqrt(one.forecasts / total)
                told = f"{one.forecasts:,} forecasts of {one.predicted:.1%}: {one.observed:.1%} came true"
                place = f'cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"'
                yield f'<circle {place} fill="{colour}"><title>{told}</title></circle>'
            y = top + 14 + 18 * number
            yield f'<rect x="{_NAMES + _SIDE + 24}" y="{y - 9}" width="10" height="10" fill="{colour}"/>'
            yield _text(_NAMES + _SIDE + 40, y, _short(name), "start", 11)


def picture(summaries: Sequence[BacktestSummary], events: Mapping[int, int]) -> BacktestPicture:
    """A picture of those that would report the most; by days, or by spans of as many days as there is room for."""
    heard = sorted((one for one in summaries if one.total), key=lambda one: -one.total)
    days = [day for day in events if day != NO_DAY]
    first = min(days, default=0)
    whole = max(days, default=-1) - first + 1
    length = next((days for days in (1, 7) if whole <= days * _WIDE), math.ceil(whole / _WIDE))
    spans = tuple(day_text(first + length * place) for place in range(math.ceil(whole / length)))
    strips = []
    for one in heard[:_MOST]:
        dated = one.days != NO_DAY
        sums = np.bincount((one.days[dated] - first) // length, one.told[dated], minlength=len(spans))
        strips.append(Strip(one.subscription, tuple(sums.astype(np.int64).tolist())))
    judged = [(one.subscription, one.score) for one in heard if one.score is not None and one.score.forecasts]
    curves = tuple((name, tuple(score.calibration())) for name, score in judged[:_CURVES])
    of = "day" if length == 1 else f"{length:,} days"
    more = f" (the first {_MOST} of {len(heard):,})" if len(heard) > _MOST else ""
    return BacktestPicture(f"What would have been reported, by {of}{more}", spans, tuple(strips), curves)


def _short(name: str) -> str:
    return name if len(name) <= _LONG else f"{name[: _LONG - 1]}…"


def _text(x: float, y: float, text: str, anchor: str, size: int) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="#24292f">'
        f"{html.escape(text)}</text>"
    )
