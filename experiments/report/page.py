"""One page of all experiments: the paper's claim beside what was found, with nothing that comes from elsewhere."""

from __future__ import annotations

import html
import json
import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from experiments.report.findings import Verdict
from experiments.report.svg import inlined

NAME = "experiments.html"
_STYLE = Path(__file__).with_name("page.css")
_CLASS = {Verdict.AGREES: "agrees", Verdict.PARTLY: "partly", Verdict.DIFFERS: "differs", Verdict.BEYOND: "beyond"}
_QUICK = "A quick run with small sizes: it shows that everything works, not what is true. "
_JUDGED = (Verdict.AGREES, Verdict.PARTLY, Verdict.DIFFERS)
_Record = dict[str, Any]


def build(out: Path, names: Sequence[str]) -> Path:
    """Write the page of the experiments whose records are under `out`."""
    records = [json.loads((out / f"{name}.json").read_text(encoding="utf-8")) for name in names]
    path = out / NAME
    path.write_text(page(records, out), encoding="utf-8")
    return path


def page(records: Sequence[_Record], out: Path) -> str:
    """All of it."""
    quick = any(record["quick"] for record in records)
    minutes = sum(record["seconds"] for record in records) / 60
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        "<title>Vedette: the papers' figures, measured anew</title>",
        f"<style>\n{_STYLE.read_text(encoding='utf-8')}</style></head><body><main>",
        "<h1>The papers' figures, measured anew</h1>",
        "<p>Vedette stands on five papers. For every figure of theirs that speaks of measurements, this page has what "
        "the paper claims, what was found, whether the two agree, and, where they do not, why. Everything on it comes "
        "from the data of one run; verdicts are computed.</p>",
        f'<p class="soft">{_QUICK if quick else ""}'
        f"<code>make experiments{' QUICK=1' if quick else ''}</code>, {minutes:.0f} minutes on {_escape(_machine())}. "
        "Seeds are fixed: counts come out the same again. What a clock told is marked ◷, and only ratios of it mean "
        "something. “Papers” are cited by section; what they say is told in our words.</p>",
        _summary(records),
        *(_paper(record, out) for record in records),
        "</main></body></html>\n",
    ]
    return "\n".join(parts)


def _escape(text: str) -> str:
    return html.escape(text, quote=False)


def _machine() -> str:
    return f"{platform.system()}, {platform.machine()}, Python {platform.python_version()}"


def _verdicts(figures: Iterable[_Record]) -> Counter[Verdict]:
    return Counter(Verdict(one["verdict"]) for figure in figures for one in figure["findings"])


def worst(figure: _Record) -> Verdict:
    """What a figure is shown as: as its claims on the whole."""
    found = _verdicts([figure])
    judged = [verdict for verdict in _JUDGED if found[verdict]]
    if not judged:
        return Verdict.BEYOND
    return judged[0] if len(judged) == 1 else Verdict.PARTLY


def _summary(records: Sequence[_Record]) -> str:
    rows = []
    for record in records:
        found = _verdicts(record["figures"])
        total = sum(found[verdict] for verdict in _JUDGED)
        bar = "".join(
            f'<span class="{_CLASS[v]}" style="width:{100 * found[v] / max(1, total):.1f}%"></span>' for v in _JUDGED
        )
        numbers = "".join(f'<td class="n {_CLASS[v]}">{found[v]}</td>' for v in (*_JUDGED, Verdict.BEYOND))
        chips = "".join(
            f'<li><a href="#{record["name"]}-{figure["name"]}"><span class="dot {_CLASS[worst(figure)]}"></span>'
            f"{_escape(figure['title'])}</a></li>"
            for figure in record["figures"]
        )
        rows.append(
            f'<tr><td><a href="#{record["name"]}">{_escape(record["short"])}</a><ul class="chips">{chips}</ul></td>'
            f'<td><div class="bar">{bar}</div></td>{numbers}</tr>'
        )
    heads = "".join(f"<th>{verdict}</th>" for verdict in (*_JUDGED, Verdict.BEYOND))
    return (
        f'<table class="summary"><thead><tr><th>paper</th><th>claims</th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _paper(record: _Record, out: Path) -> str:
    parts = [
        f'<section id="{record["name"]}"><h2>{_escape(record["short"])}</h2>',
        f'<p class="cite">{_escape(record["authors"])}: <cite>{_escape(record["title"])}</cite></p>',
        f"<p>{_code(record['about'])}</p>",
        *(_figure(record, figure, out) for figure in record["figures"]),
        *(
            f'<p class="missing">{_escape(o["title"])} is left out: {_escape(o["why"])}.</p>'
            for o in record["left_out"]
        ),
        "</section>",
    ]
    return "\n".join(parts)


def _figure(record: _Record, figure: _Record, out: Path) -> str:
    name = f"{record['name']}-{figure['name']}"
    drawn = inlined((out / figure["plot"]).read_text(encoding="utf-8"), name, f"{record['short']}, {figure['title']}")
    rows = "".join(_finding(one) for one in figure["findings"])
    files = ", ".join(f"<code>{_escape(file)}</code>" for file in figure["data"])
    return (
        f'<h3 id="{name}">{_escape(figure["title"])}</h3><p class="soft">{_code(figure["setting"])}</p>'
        f"<figure>{drawn}<figcaption>Data: {files}</figcaption></figure>"
        '<table class="findings"><thead><tr><th>The paper says</th><th>Found here</th><th></th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _finding(one: _Record) -> str:
    verdict = Verdict(one["verdict"])
    said = f'{_escape(one["claim"])} <span class="where">({_escape(one["where"])})</span>' if one["claim"] else "—"
    why = f'<span class="why"><b>Why:</b> {_escape(one["why"])}</span>' if one["why"] else ""
    clock = ' <span class="clock" title="told by a clock: differs from run to run">◷</span>' if one["timed"] else ""
    return (
        f"<tr><td>{said}</td><td>{_code(one['found'])}{clock}{why}</td>"
        f'<td><span class="v {_CLASS[verdict]}">{verdict}</span></td></tr>'
    )


def _code(text: str) -> str:
    """Escaped, with what stands between grave accents as code."""
    parts = _escape(text).split("`")
    return "".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts))
