"""Tables for a person: of every workload, Vedette first, then the fastest."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from benchmarks.peers.record import OURS, Record, Row
from benchmarks.tables import short

COLUMNS = (
    "rules",
    "peer",
    "events/s, parsed in",
    "x slower",
    "events/s, JSON in",
    "x slower",
    "one event p50 µs",
    "p99 µs",
    "one JSON text p50 µs",
    "p99 µs",
    "build s",
    "B/rule",
)


def workloads(record: Record) -> list[str]:
    """In the order of the record."""
    return list(dict.fromkeys(row.workload for row in record.rows))


def ordered(record: Record, workload: str) -> list[Row]:
    """By size; ours, then the fastest, then those without figures."""
    rows = [row for row in record.rows if row.workload == workload]
    return sorted(rows, key=lambda row: (row.size, row.peer != OURS, not row.counts, -best(row)))


def best(row: Row) -> float:
    """Events a second, whatever goes in."""
    return max(row.figures.parsed_per_s or 0.0, row.figures.text_per_s or 0.0)


def cells(record: Record, row: Row) -> list[str]:
    """One line of a table; what has no figures says why."""
    size, figures = f"{row.size if row.workload != 'sigma' else row.of or row.size:,}", row.figures
    if not row.counts:
        why = f"void, wrong answers: {row.void}" if row.void else figures.failed or ""
        return [size, row.peer, why, *[""] * (len(COLUMNS) - 3)]
    ours = record.ours(row)
    named = row.peer if row.rules == row.of or not row.of else f"{row.peer} ({row.rules:,} of {row.of:,} rules)"
    return [
        size,
        named,
        _rate(figures.parsed_per_s),
        _ratio(ours.figures.parsed_per_s if ours else None, figures.parsed_per_s, row),
        _rate(figures.text_per_s),
        _ratio(ours.figures.text_per_s if ours else None, figures.text_per_s, row),
        *(_us(figures.parsed_us, place) for place in (0, 1)),
        *(_us(figures.text_us, place) for place in (0, 1)),
        "" if figures.build_s is None else f"{figures.build_s:.2f}",
        "" if row.bytes_per_rule is None else short(row.bytes_per_rule),
    ]


def _rate(number: float | None) -> str:
    return "" if number is None else f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def _ratio(ours: float | None, theirs: float | None, row: Row) -> str:
    return "" if ours is None or theirs is None or row.peer == OURS else short(ours / theirs)


def _us(pair: tuple[float, float] | None, place: int) -> str:
    return "" if pair is None else short(pair[place])


def show(record: Record, console: Console) -> None:
    """All tables, then what was left out."""
    for workload in workloads(record):
        table = Table(title=workload, title_justify="left", pad_edge=False)
        for number, name in enumerate(COLUMNS):
            table.add_column(name, justify="left" if number == 1 else "right", overflow="fold")
        last = None
        for row in ordered(record, workload):
            if last not in (None, row.size):
                table.add_section()
            last = row.size
            table.add_row(*cells(record, row))
        console.print(table)
    for name, why in record.missing.items():
        console.print(f"{name} is left out: {why}", markup=False)
    for note in record.notes:
        console.print(note, markup=False)
