"""Where a peer is ahead of Vedette, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.peers.record import OURS, Record, Row
from benchmarks.tables import short

# What is compared; the greater the better, and how a figure is written.
_MEASURES: dict[str, tuple[Callable[[Row], float | None], Callable[[float], str]]] = {
    "events/s, parsed in": (lambda row: row.figures.parsed_per_s, lambda rate: f"{rate:,.0f}"),
    "events/s, JSON in": (lambda row: row.figures.text_per_s, lambda rate: f"{rate:,.0f}"),
    "p99 of one event, µs": (lambda row: _negative(_p99(row.figures.parsed_us)), lambda us: short(-us)),
    "p99 of one JSON text, µs": (lambda row: _negative(_p99(row.figures.text_us)), lambda us: short(-us)),
    "build s": (lambda row: _negative(row.figures.build_s), lambda seconds: short(-seconds)),
    "bytes per rule": (lambda row: _negative(row.bytes_per_rule), lambda size: short(-size)),
}


_ONE = (
    "one call crosses from Python into compiled code, which takes 5 to 10 µs before anything is matched, and about 30 "
    "for patterns, whose whole state crosses; engines that are compiled as a whole have no such border"
)
_WHY = {
    "p99 of one event, µs": _ONE,
    "p99 of one JSON text, µs": _ONE,
    "build s": "texts are read by a parser in Python, and brought into one normal form, up to 400 µs each; those that "
    "differ in constants only are read once (W1 - W4)",
    "bytes per rule": "what the whole process grew by: texts and ids as Python objects, and the room that building "
    "took, beside the index",
}


def reasons(record: Record) -> list[str]:
    """Why somebody is ahead, for each measure where somebody is and the reason is known."""
    found: dict[str, list[str]] = {}
    for measure, why in _WHY.items():
        if any(_of(record, measure)):
            found.setdefault(why, []).append(measure)
    return [f"- {'; '.join(measures)}: {why}." for why, measures in found.items()]


def losses(record: Record) -> list[str]:
    """A list for each measure: the workloads and sizes where somebody is ahead, the best one named."""
    return [line for measure in _MEASURES for line in _of(record, measure)]


def _of(record: Record, measure: str) -> Iterator[str]:
    figure, written = _MEASURES[measure]
    found = []
    for ours in (row for row in record.rows if row.peer == OURS and row.counts):
        mine = figure(ours)
        same_case = [row for row in record.rows if (row.workload, row.size) == (ours.workload, ours.size)]
        rivals = [(value, row) for row in same_case if row.counts and (value := figure(row)) is not None]
        if mine is None or not rivals:
            continue
        best, row = max(rivals, key=lambda pair: pair[0])
        if best > mine and row.peer != OURS:
            part = "" if row.rules == row.of else f", {row.rules:,} of {row.of:,} rules"
            found.append(
                f"  - {row.workload} at {row.size:,}: {row.peer} {written(best)}, Vedette {written(mine)}{part}"
            )
    if found:
        yield f"- {measure}:"
        yield from found


def _p99(pair: tuple[float, float] | None) -> float | None:
    return None if pair is None else pair[1]


def _negative(number: float | None) -> float | None:
    return None if number is None else -number
