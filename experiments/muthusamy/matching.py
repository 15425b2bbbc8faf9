"""Figure 9: states, time and transitions of matching.

States are all that can be reached; final ones, of which a pattern has one, are not counted. `commonality` is the share
of states that merging saves. Time is that of the step function, on events whose filters are matched already, with all
states built.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pattern_workloads import UNCAPPED, Sequences, Stream, graph, read, work
from experiments.muthusamy.output import axes, finish, save, write_csv
from vedette.composite.graph import Graph
from vedette.composite.machines import Numbers
from vedette.composite.step import step
from vedette.kernels import runs

STREAMS = 5  # over which transitions by pool are averaged


@dataclass(frozen=True)
class Sizes:
    """What is measured."""

    patterns: tuple[int, ...] = (250, 500, 1000, 2000)
    pools: tuple[int, ...] = (25, 50, 100)
    loose: tuple[int, ...] = (0, 1, 2, 4, 6)
    lengths: tuple[int, ...] = (4, 6, 8, 10, 14)
    more_pools: tuple[int, ...] = (25, 50, 100, 200)
    default: int = 1000  # patterns
    events: int = 20_000


QUICK = Sizes((50, 100, 150), (25, 50), (0, 2, 4), (4, 8, 12), (25, 50, 100), 100, 1_000)


@dataclass(frozen=True)
class Row:
    """One set of patterns and one stream, measured."""

    panel: str
    subscriptions: str  # uniform_cs or gaussian_cs
    publications: str  # uniform_pub or gaussian_pub
    patterns: int
    length: int
    pool: int
    loose: int
    states: int
    unmerged_states: int
    commonality: float
    microseconds: float  # for each event
    transitions: float  # for each event
    active: float  # partial matches at any time
    matches: int


def measure(panel: str, sequences: Sequences, events: int, publications: Sequence[bool]) -> list[Row]:
    """Build the machines, and let events happen to them, of streams that are `gaussian` or not."""
    merged, numbers = graph(sequences.records())
    merged.expand_all()
    return [_measured(panel, sequences, merged, numbers, events, gaussian) for gaussian in publications]


def unmerged_states(sequences: Sequences) -> int:
    """Of machines that share nothing: one after each step but the last."""
    return sequences.patterns * (sequences.length - 1)


def _measured(panel: str, sequences: Sequences, merged: Graph, numbers: Numbers, events: int, gaussian: bool) -> Row:
    batch = read(numbers, Stream(sequences, gaussian=gaussian).events(events))
    begun = runs.empty(merged.registers, merged.variables)
    step(merged, begun, batch.slice(0, min(100, batch.size)), cap=UNCAPPED)  # the kernel is loaded
    begin = time.process_time()
    _, found = step(merged, begun, batch, cap=UNCAPPED)
    took = time.process_time() - begin
    done = [work(merged, batch)]
    if panel == "ef":  # how much of a stream is irrelevant varies, and transitions with it
        more = [Stream(sequences, gaussian=gaussian, seed=seed).events(events) for seed in range(STREAMS - 1)]
        done += [work(merged, read(numbers, each)) for each in more]
    return Row(
        panel,
        "gaussian_cs" if sequences.gaussian else "uniform_cs",
        "gaussian_pub" if gaussian else "uniform_pub",
        sequences.patterns,
        sequences.length,
        sequences.pool,
        sequences.loose,
        len(merged),
        unmerged_states(sequences),
        1 - len(merged) / unmerged_states(sequences),
        1e6 * took / batch.size,
        float(np.mean([each.transitions for each in done])),
        float(np.mean([each.active for each in done])),
        len(found.matches),
    )


def figure_9(sizes: Sizes) -> list[Row]:
    """All panels; (a) and (b) are of the same runs, and so are (e) and (f)."""
    return [
        row
        for panel, sequences in _cases(sizes)
        for row in measure(panel, sequences, sizes.events, (False, True) if panel == "ef" else (False,))
    ]


def _cases(sizes: Sizes) -> Iterator[tuple[str, Sequences]]:
    default = Sequences(sizes.default)
    for drawn in (default, replace(default, gaussian=True)):
        for pool in sizes.pools:
            for patterns in sizes.patterns:
                yield "ab", replace(drawn, patterns=patterns, pool=pool)
        for loose in sizes.loose:
            yield "c", replace(drawn, loose=loose)
        for length in sizes.lengths:
            yield "d", replace(drawn, length=length)
        for pool in sizes.more_pools:
            yield "ef", replace(drawn, pool=pool)


def plot(rows: Sequence[Row], out: Path) -> None:
    """The six panels."""
    figure, panels = axes(2, 3)
    for axis, (letter, panel, x, y, title) in zip(panels, _PANELS, strict=True):
        for label, own in _curves(rows, panel, by_publication=letter == "f"):
            axis.plot([getattr(r, x) for r in own], [getattr(r, y) for r in own], marker="o", markersize=3, label=label)
        finish(axis, f"({letter}) {title}", _WORDS[x], _WORDS[y])
    figure.suptitle("Muthusamy 2010, Figure 9: matching")
    save(figure, out, "figure9")


_WORDS = {
    "patterns": "patterns",
    "loose": "non-contiguous operators",
    "length": "steps of a pattern",
    "pool": "events in the pool",
    "states": "states",
    "microseconds": "µs per event",
    "commonality": "share of states that merging saves",
    "transitions": "transitions per event",
}
_PANELS = (
    ("a", "ab", "patterns", "states", "states by patterns"),
    ("b", "ab", "patterns", "microseconds", "time by patterns"),
    ("c", "c", "loose", "microseconds", "time by operators"),
    ("d", "d", "length", "commonality", "commonality by length"),
    ("e", "ef", "pool", "states", "states by pool"),
    ("f", "ef", "pool", "transitions", "transitions by pool"),
)


def _curves(rows: Sequence[Row], panel: str, *, by_publication: bool) -> Iterator[tuple[str, list[Row]]]:
    own = [row for row in rows if row.panel == panel]

    def label(row: Row) -> str:
        pool = f", pool {row.pool}" if panel == "ab" else ""
        return f"{row.subscriptions}{f', {row.publications}' if by_publication else ''}{pool}"

    if not by_publication:
        own = [row for row in own if row.publications == "uniform_pub"]
    for each in dict.fromkeys(label(row) for row in own):
        yield each, [row for row in own if label(row) == each]


def slope(rows: Iterable[Any], x: str, y: str) -> float:
    """The exponent with which y grows: 1 is linear."""
    points = np.array([(getattr(row, x), getattr(row, y)) for row in rows], float)
    return float(np.polyfit(np.log(points[:, 0]), np.log(points[:, 1]), 1)[0])


def line(rows: Sequence[Row]) -> str:
    """What came of the paper's claims."""
    by_size = [row for row in rows if row.panel == "ab"]
    growth = [slope(own, "patterns", "states") for _, own in _curves(rows, "ab", by_publication=False)]
    least, most = min(row.pool for row in by_size), max(row.pool for row in by_size)
    largest = max(row.patterns for row in by_size)

    def at(pool: int, drawn: str, name: str) -> float:
        return next(
            float(getattr(r, name)) for r in by_size if (r.pool, r.patterns, r.subscriptions) == (pool, largest, drawn)
        )

    loose = [row for row in rows if row.panel == "c" and row.subscriptions == "uniform_cs"]
    long = [row for row in rows if row.panel == "d" and row.subscriptions == "uniform_cs"]
    pools = [row for row in rows if row.panel == "ef" and row.subscriptions == "uniform_cs"]
    uniform = [row for row in pools if row.publications == "uniform_pub"]
    other = [row for row in pools if row.publications == "gaussian_pub"]
    return (
        f"Figure 9: states grow as N^{min(growth):.2f} to N^{max(growth):.2f} (paper: linearly), to "
        f"{at(least, 'uniform_cs', 'states'):,.0f} with a pool of {least}, {at(most, 'uniform_cs', 'states'):,.0f} "
        f"with one of {most} (paper: a small pool has fewer), {at(least, 'gaussian_cs', 'states'):,.0f} of gaussian_cs "
        f"(fewer still); an event takes {at(least, 'uniform_cs', 'microseconds'):.1f} µs with the small pool and "
        f"{at(most, 'uniform_cs', 'microseconds'):.1f} with the large one (paper: the small one takes longer), "
        f"{loose[0].microseconds:.1f} µs without `;` and {loose[-1].microseconds:.1f} with {loose[-1].loose} (paper: "
        f"more); merging saves {long[0].commonality:.0%} of states at length {long[0].length}, "
        f"{long[-1].commonality:.0%} at {long[-1].length} (paper: less with length); transitions go from "
        f"{uniform[0].transitions:.2f} to {uniform[-1].transitions:.2f} with the pool (paper: fewer), in gaussian_pub "
        f"from {other[0].transitions:.2f} to {other[-1].transitions:.2f} (paper: fewer still)."
    )


def run(out: Path, quick: bool) -> str:
    """Measure, write, plot; what it says beside the paper."""
    rows = figure_9(QUICK if quick else Sizes())
    write_csv(out / "muthusamy2010-figure9.csv", rows)
    plot(rows, out)
    return line(rows)
