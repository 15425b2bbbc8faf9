"""A year as a heat map: days from left to right, hours from top to bottom, as SVG without a library."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEFT, TOP = 44.0, 20.0
CELL_WIDTH, CELL_HEIGHT = 2.9, 11.0
_GAP = 0.08  # of a cell, between hours
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH_STARTS = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
_SHARES = (0.4, 0.65, 0.82, 0.92, 0.975)  # of the hours with notifications that are below each limit


@dataclass(frozen=True)
class Heatmap:
    """Counts per hour (rows) and day (columns), from the first hour with any counts."""

    counts: NDArray[np.int64]
    first_hour: int

    @classmethod
    def of(cls, per_hour: NDArray[np.int64]) -> Heatmap:
        """Count by day and hour of day."""
        busy = np.flatnonzero(per_hour.sum(axis=0))
        first, last = (int(busy[0]), int(busy[-1])) if len(busy) else (0, 23)
        return cls(per_hour[:, first : last + 1].T, first)

    def svg(self, marks: Sequence[tuple[int, str]] = ()) -> str:
        """The picture, with some days marked below it."""
        hours, days = self.counts.shape
        bottom = TOP + hours * CELL_HEIGHT
        width, height = LEFT + days * CELL_WIDTH + 4, bottom + (56 if marks else 36)
        limits = _limits(self.counts)
        parts = [
            f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="Notifications per hour of the year">',
            f'<g transform="translate({LEFT:g} {TOP:g}) scale({CELL_WIDTH:g} {CELL_HEIGHT:g})">',
            *_cells(np.digitize(self.counts, limits)),
            "</g>",
            *self._hours(),
            *_months(),
            *_marks(marks, bottom),
            *_legend(limits, LEFT, height - 14),
            f'<rect id="hover" width="{CELL_WIDTH:g}" height="{CELL_HEIGHT:g}"/>',
            "</svg>",
        ]
        return "\n".join(parts)

    def _hours(self) -> Iterator[str]:
        for row in range(self.counts.shape[0]):
            hour = self.first_hour + row
            if hour % 3 == 0:
                y = TOP + (row + 0.8) * CELL_HEIGHT
                yield f'<text x="{LEFT - 6:g}" y="{y:g}" text-anchor="end">{hour}:00</text>'


def _limits(counts: NDArray[np.int64]) -> list[int]:
    """The counts at which the next colour begins; 0 has its own."""
    some = counts[counts > 0]
    if not len(some):
        return [1]
    found = [1]
    for share in _SHARES:
        limit = _round(float(np.quantile(some, share)))
        if limit > found[-1]:
            found.append(limit)
    return found


def _round(value: float) -> int:
    """Round to one of 1, 2, 5, 10, 20, 50 …, or half way between them."""
    scale: float = 10.0 ** math.floor(math.log10(max(1.0, value)))
    return max(1, round(min((1, 1.5, 2, 3, 5, 7.5, 10), key=lambda step: abs(step * scale - value)) * scale))


def _cells(levels: NDArray[np.int64]) -> Iterator[str]:
    """One SVG path per colour; neighbours of one colour are one rectangle."""
    for level in range(int(levels.max()) + 1):
        runs = []
        for row, line in enumerate(levels == level):
            edges = np.flatnonzero(np.diff(np.concatenate(([0], line.astype(np.int8), [0]))))
            for begin, end in edges.reshape(-1, 2).tolist():
                size = end - begin
                runs.append(f"M{begin} {row}h{size}v{1 - _GAP:g}h-{size}z")
        if runs:
            yield f'<path class="b{level}" d="{"".join(runs)}"/>'


def _months() -> Iterator[str]:
    for name, day in zip(_MONTHS, _MONTH_STARTS, strict=True):
        x = LEFT + day * CELL_WIDTH
        yield f'<line class="tick" x1="{x:g}" x2="{x:g}" y1="4" y2="{TOP - 2:g}"/>'
        yield f'<text x="{x + 4:g}" y="{TOP - 7:g}">{name}</text>'


def _marks(marks: Sequence[tuple[int, str]], bottom: float) -> Iterator[str]:
    """Labels under days; of overlapping ones the first stays."""
    taken: list[float] = []
    for day, label in marks:
        x = LEFT + (day + 0.5) * CELL_WIDTH
        if any(abs(x - other) < 7 * len(label) for other in taken):
            continue
        taken.append(x)
        yield f'<line class="mark" x1="{x:g}" x2="{x:g}" y1="{bottom + 1:g}" y2="{bottom + 7:g}"/>'
        yield f'<text class="note" x="{x:g}" y="{bottom + 19:g}" text-anchor="middle">{label}</text>'


def _legend(limits: Sequence[int], x: float, y: float) -> Iterator[str]:
    ends = [*(limit - 1 for limit in limits[1:]), None]
    labels = ["0", *(_span(low, high) for low, high in zip(limits, ends, strict=True))]
    for level, label in enumerate(labels):
        yield f'<rect class="b{level}" x="{x:g}" y="{y - 9:g}" width="16" height="11" rx="2"/>'
        yield f'<text x="{x + 21:g}" y="{y:g}">{label}</text>'
        x += 40 + 6.5 * len(label)


def _span(low: int, high: int | None) -> str:
    if high is None:
        return f"{low:,} or more"
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
