"""The demo's page: one file, to be opened in any browser."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template

import orjson

from vedette.cli.demo import heatmap
from vedette.cli.demo.demo_findings import DayCount, DemoCase, DemoFindings
from vedette.cli.demo.heatmap import Heatmap
from vedette.cli.match_job import JobTally
from vedette.filters.explanation import PartExplanation
from vedette.language.three_valued import Truth

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
        left=heatmap.LEFT,
        top=heatmap.TOP,
        width=heatmap.CELL_WIDTH,
        height=heatmap.CELL_HEIGHT,
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
