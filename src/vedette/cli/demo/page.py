"""The demo's page: one file, to be opened in any browser."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path
from string import Template

import numpy as np
import orjson
from numpy.typing import NDArray

from vedette.cli.demo.demo_findings import DayCount, DemoCase, DemoFindings
from vedette.cli.match_job import JobTally
from vedette.filters.explanation import PartExplanation
from vedette.language.three_valued import Truth

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


_MARKS: dict[Truth, str] = {
    True: '<span class="mark-yes">✓</span>',
    False: '<span class="mark-no">✗</span>',
    None: '<span class="mark-maybe">?</span>',
}


def write_page(path: Path, findings: DemoFindings, tally: JobTally, commands: Sequence[str]) -> None:
    """Fill in the template."""
    picture = Heatmap.of(findings.per_hour)
    marks = [(day.number, _short_date(day)) for day in findings.days]
    template = Template(resources.files("vedette.cli.demo").joinpath("page.html").read_text(encoding="utf-8"))
    page = template.substitute(
        title=f"A year of New York flights, {tally.subscriptions:,} people waiting for news",
        subscriptions=f"{tally.subscriptions:,}",
        tiles=_tiles(findings, tally),
        heatmap=picture.svg(marks),
        days=_days(findings.days),
        cases=_cases(findings),
        kinds=_kinds(findings),
        busiest=_busiest(findings),
        commands=escape("\n".join(commands)),
        counts=orjson.dumps(picture.counts.tolist()).decode(),
        firsthour=picture.first_hour,
        left=LEFT,
        top=TOP,
        width=CELL_WIDTH,
        height=CELL_HEIGHT,
    )
    path.write_text(page, encoding="utf-8")


def _tiles(findings: DemoFindings, tally: JobTally) -> str:
    facts = (
        (f"{tally.events:,}", "flights of 2013"),
        (f"{tally.subscriptions:,}", "subscriptions"),
        (f"{tally.matches:,}", "notifications"),
        (f"{findings.told:,}", "heard something"),
        (f"{tally.rate:,.0f}", "flights matched a second"),
    )
    return "".join(f'<div class="tile"><b>{fact}</b><span>{what}</span></div>' for fact, what in facts)


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """A table of ready-made cells; those of the columns in `numbers` are aligned right."""

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f'<{tag} class="n">{cell}</{tag}>' if number in numbers else f"<{tag}>{cell}</{tag}>"
            for number, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells('th', headings)}</tr></thead><tbody>{body}</tbody></table>"


def _days(days: Sequence[DayCount]) -> str:
    rows = [
        (
            f"{day.date:%A}, {_short_date(day)}",
            f"{day.notifications:,}",
            f"{day.cancelled:,} of {day.flights:,}",
            "" if day.temperature is None else f"{day.temperature[0]:.0f} to {day.temperature[1]:.0f} °F",
            "" if day.gust is None else f"{day.gust:.0f} mph",
            "" if day.visibility is None else f"{day.visibility:g} mi",
        )
        for day in days
    ]
    headings = ("The loudest days", "notifications", "cancelled", "temperature", "strongest gust", "lowest visibility")
    return _table(headings, rows, (1, 2, 3, 4, 5))


def _short_date(day: DayCount) -> str:
    return f"{day.date.day} {day.date:%B}"


def _kinds(findings: DemoFindings) -> str:
    most = max((count.notifications for count in findings.kinds), default=1) or 1
    rows = [
        (
            escape(count.kind.title),
            f'<span class="soft">“{escape(count.kind.wants)}”</span>',
            f"{count.subscriptions:,}",
            f"{count.told:,}",
            f"{count.notifications:,}",
            f'<div class="bar" style="width:{100 * count.notifications / most:.1f}%"></div>',
        )
        for count in findings.kinds
    ]
    headings = ("kind", "tell me when", "subscriptions", "told something", "notifications", "")
    return _table(headings, rows, (2, 3, 4)).replace("<th></th>", '<th style="width:26%"></th>')


def _busiest(findings: DemoFindings) -> str:
    rows = [
        (escape(wish.subscriber), f"<code>{escape(wish.when)}</code>", f"{heard:,}") for wish, heard in findings.busiest
    ]
    return _table(("subscriber", "filter", "notifications"), rows, (2,))


def _cases(findings: DemoFindings) -> str:
    told = [_case(case) for case in findings.cases]
    if findings.miss is not None:
        told.insert(1, _case(findings.miss))
    return "".join(told)


def _case(case: DemoCase) -> str:
    matched = case.explanation.matched
    verb = "was told of" if matched else "was <b>not</b> told of"
    conclusion = ""
    if not matched and case.explanation.nearest:
        first = case.explanation.nearest[0]
        conclusion = f'<p class="verdict">Nearest miss: <code>{escape(first.text)}</code> {escape(first.why)}.</p>'
    return (
        f'<div class="case{"" if matched else " miss"}"><h3>{escape(case.wish.subscriber)}</h3>'
        f'<p class="what">{verb} {escape(case.headline)}</p>'
        f'<ul class="tree">{_tree(case.explanation.root)}</ul>{conclusion}</div>'
    )


def _tree(one: PartExplanation) -> str:
    why = f' <span class="why">{escape(one.why)}</span>' if one.why else ""
    inside = f"<ul>{''.join(_tree(part) for part in one.parts)}</ul>" if one.parts else ""
    return f"<li>{_MARKS[one.truth]}<code>{escape(' '.join(one.text.split()))}</code>{why}{inside}</li>"
