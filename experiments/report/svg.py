"""A plot as part of a page: its colours become the page's, its ids its own, what only a file needs goes."""

from __future__ import annotations

import html
import re

from experiments.report.plots import COLOURS, FAINT, INK, PAPER

_VARIABLES = {
    **{colour: f"var(--c{number})" for number, colour in enumerate(COLOURS)},
    INK: "currentColor",
    FAINT: "var(--line)",
    PAPER: "none",
}
_REFERENCE = re.compile(r'(?:url\(#|href="#)([^")]+)')
_ID = re.compile(r' id="([^"]*)"')
_SCALE = 1.35  # pixels of the page for a point of the plot, at most
_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def inlined(text: str, name: str, label: str) -> str:
    """The SVG of a file, to be put into HTML; `name` tells it from others, `label` is for who cannot see it."""
    body = text[text.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    used = set(_REFERENCE.findall(body))
    body = _ID.sub(lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", body)
    body = _REFERENCE.sub(lambda found: found[0].replace(found[1], f"{name}-{found[1]}"), body)
    for colour, variable in _VARIABLES.items():
        body = body.replace(colour, variable)
    body = _NUMBER.sub(lambda found: f"{float(found[0]):.2f}", body)
    box = re.search(r'viewBox="([^"]*)"', body)
    if box is None:
        raise ValueError(f"the plot {name} has no size")
    wide = round(_SCALE * float(box[1].split()[2]))
    begin = f'<svg viewBox="{box[1]}" style="max-width:{wide}px" role="img" aria-label="{html.escape(label)}">'
    body = re.sub(r"<svg [^>]*>", begin, body, count=1)
    body = body.replace("xlink:href", "href")
    return re.sub(r"\s*\n\s*", "\n", body).strip()
