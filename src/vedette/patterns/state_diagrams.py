"""Diagrams of states and the steps between them, as Mermaid or SVG."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from typing import Literal as OneOf

_CUT, _LINES = 22, 2  # characters of a line of a step's label, and the most lines
_DOWN, _WIDE, _HIGH, _MARGIN = 84, 100, 40, 30  # pixels
_LETTER, _SMALL_LETTER = 7, 5.6  # pixels, about
_ARROW = 40  # pixels, at least
_BEND = 30  # pixels by which a step gets out of the way
_FILL: Final = {"start": "#ddf4ff", "state": "#ffffff", "match": "#dafbe1", "more": "#fff8c5"}
_MERMAID: Final = {"start": ("([", "])"), "state": ("[", "]"), "match": ("(((", ")))"), "more": ("[", "]")}


@dataclass(frozen=True, slots=True)
class PictureNode:
    """A state of partial matches."""

    label: str
    kind: OneOf["start", "state", "match", "more"]
    depth: int  # events taken, at least, to get there
    probability: float | None = None  # of completing from there
    standing: int | None = None  # how many partial matches are there now

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of its label."""
        told = [] if self.probability is None else [f"{self.probability:.0%}"]
        told += [] if not self.standing else [f"{self.standing:,} here"]
        return (self.label, " · ".join(told)) if told else (self.label,)


@dataclass(frozen=True, slots=True)
class PictureEdge:
    """A step from one state to another: at the very next event (`next`), or at any later one."""

    source: int
    target: int
    label: str
    next: bool

    @property
    def lines(self) -> tuple[str, ...]:
        """The beginning of its label, as far as there is room."""
        lines = textwrap.wrap(self.label, _CUT) or [""]
        return tuple(lines) if len(lines) <= _LINES else (*lines[: _LINES - 1], _cut(lines[_LINES - 1] + " …", _CUT))


@dataclass(frozen=True, slots=True)
class Picture:
    """A diagram of states and steps. `to_mermaid()` and `to_svg()` draw it; a notebook shows the latter."""

    title: str
    nodes: tuple[PictureNode, ...]
    edges: tuple[PictureEdge, ...]

    def to_mermaid(self) -> str:
        """A flow chart in Mermaid's language; steps that may come later are dashed."""
        lines = ["---", f"title: {_quoted(self.title)}", "---", "flowchart LR"]
        for number, node in enumerate(self.nodes):
            left, right = _MERMAID[node.kind]
            text = "<br>".join(_entities(line) for line in node.lines)
            lines.append(f'    s{number}{left}"{text}"{right}')
        for edge in self.edges:
            arrow = f'-- "{_entities(edge.label)}" -->' if edge.next else f'-. "{_entities(edge.label)}" .->'
            lines.append(f"    s{edge.source} {arrow} s{edge.target}")
        return "\n".join(lines) + "\n"

    def to_svg(self) -> str:
        """A self-contained SVG: no scripts, no fonts, nothing from elsewhere."""
        places = self._places()
        bends = self._bends()
        width = max(max(x for x, _ in places) + _WIDE, _LETTER * len(self.title)) + _MARGIN
        height = max(y for _, y in places) + _HIGH + 2 * _MARGIN + max(bends, default=0)
        shapes = [*self._drawn_edges(places, bends), *self._drawn_nodes(places)]
        title, legend = html.escape(self.title), "dashed: any later event; solid: the very next one"
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
                f"<title>{title}</title>",
                '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
                'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#57606a"/></marker></defs>',
                f'<text x="{_MARGIN}" y="{_MARGIN - 10}" font-weight="bold">{title}</text>',
                f'<text x="{_MARGIN}" y="{height - 10}" font-size="10" fill="#57606a">{legend}</text>',
                *shapes,
                "</svg>\n",
            ]
        )

    def _repr_html_(self) -> str:
        return self.to_svg()

    def _places(self) -> list[tuple[int, int]]:
        """The upper left corners: a column per depth."""
        rows: dict[int, int] = {}
        places = []
        longest = max((len(line) for edge in self.edges for line in edge.lines), default=0)
        across = _WIDE + round(_SMALL_LETTER * longest) + _ARROW
        for node in self.nodes:
            row = rows.get(node.depth, 0)
            rows[node.depth] = row + 1
            places.append((_MARGIN + node.depth * across, _MARGIN + row * _DOWN + 10))
        return places

    def _drawn_nodes(self, places: list[tuple[int, int]]) -> Iterator[str]:
        for node, (x, y) in zip(self.nodes, places, strict=True):
            yield (
                f'<rect x="{x}" y="{y}" width="{_WIDE}" height="{_HIGH}" rx="{20 if node.kind != "state" else 6}" '
                f'fill="{_FILL[node.kind]}" stroke="#57606a"/>'
            )
            step = 16
            top = y + _HIGH / 2 + 4 - step * (len(node.lines) - 1) / 2
            for row, line in enumerate(node.lines):
                text = html.escape(_cut(line, 15))
                yield f'<text x="{x + _WIDE / 2}" y="{top + row * step}" text-anchor="middle">{text}</text>'

    def _bends(self) -> list[int]:
        """How far each step bends down: steps between the same two states, and steps that pass over a column, do."""
        beside: dict[tuple[int, int], int] = {}
        bends = []
        for edge in self.edges:
            over = self.nodes[edge.target].depth - self.nodes[edge.source].depth > 1
            drawn = beside.get((edge.source, edge.target), int(over))
            beside[edge.source, edge.target] = drawn + 1
            bends.append(_BEND * drawn)
        return bends

    def _drawn_edges(self, places: list[tuple[int, int]], bends: list[int]) -> Iterator[str]:
        for edge, bend in zip(self.edges, bends, strict=True):
            (x1, y1), (x2, y2) = places[edge.source], places[edge.target]
            x1, y1, y2 = x1 + _WIDE, y1 + _HIGH // 2, y2 + _HIGH // 2
            middle = (x1 + x2) / 2
            dash = "" if edge.next else ' stroke-dasharray="5 4"'
            yield (
                f'<path d="M{x1} {y1} Q{middle} {(y1 + y2) / 2 + 2 * bend} {x2} {y2}" fill="none" '
                f'stroke="#57606a"{dash} marker-end="url(#tip)"/>'
            )
            full = html.escape(edge.label)
            for row, line in enumerate(reversed(edge.lines)):
                yield (
                    f'<text x="{middle}" y="{(y1 + y2) / 2 + bend - 5 - 12 * row}" text-anchor="middle" font-size="10" '
                    f'fill="#24292f"><title>{full}</title>{html.escape(line)}</text>'
                )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _entities(text: str) -> str:
    """Text with the characters escaped that Mermaid would interpret."""
    return "".join(one if one.isalnum() or one in " .,:;…✓·∥_-=" else f"#{ord(one)};" for one in text)


def _quoted(text: str) -> str:
    """Text as YAML, which Mermaid's titles are."""
    return "'" + text.replace("'", "''") + "'"
