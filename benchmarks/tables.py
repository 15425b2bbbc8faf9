"""Rows of figures as tables on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from rich.table import Table

from benchmarks.indexes import Row

Item = TypeVar("Item")
_WORDS = ("workload", "index", "formulation", "form", "planner")


def table(
    title: str,
    items: Iterable[Item],
    columns: Mapping[str, Callable[[Item], str]],
    section: Callable[[Item], object] = lambda item: None,
) -> Table:
    """One line per item, one column per name, and a rule where the section changes."""
    made = Table(title=title, title_justify="left", pad_edge=False)
    for name in columns:
        made.add_column(name, justify="left" if name in _WORDS else "right")
    last: object = None
    for number, item in enumerate(items):
        if number and section(item) != last:
            made.add_section()
        last = section(item)
        made.add_row(*(cell(item) for cell in columns.values()))
    return made


def index_table(rows: Iterable[Row], peer: Callable[[Row], str] | None = None) -> Table:
    """What was measured of indexes; `peer` says how they stand to another engine."""
    columns: dict[str, Callable[[Row], str]] = {
        "workload": lambda r: r.workload,
        "subscriptions": lambda r: f"{r.subscriptions:,}",
        "index": lambda r: r.index,
        "batch": lambda r: f"{r.batch:,}",
        "events/s": lambda r: f"{r.events_per_s:,.0f}",
        "us/event": lambda r: short(r.us_per_event),
        "matches/event": lambda r: f"{r.matches_per_event:,.1f}",
        "x scan": lambda r: "" if r.ratio_to_scan is None else f"{r.ratio_to_scan:.1f}",
        "x DuckDB": peer or (lambda r: ""),
        "index B/sub": lambda r: f"{r.index_bytes:.1f}",
        "all B/sub": lambda r: f"{r.total_bytes:.1f}",
        "build s": lambda r: f"{r.build_s:.2f}",
        "timed on": lambda r: "" if r.events == r.batch else f"{r.events:,}",
        "checked on": lambda r: f"{r.verified_events:,}" if r.verified_events else "",
    }
    if peer is None:
        del columns["x DuckDB"]
    return table("Indexes in code space, one core", rows, columns, lambda r: (r.workload, r.subscriptions))


def short(number: float) -> str:
    """Three digits that matter."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
