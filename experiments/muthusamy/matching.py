"""Figure 9: states, time and transitions of matching.

States are all that can be reached; final ones, of which a pattern has one, are not counted. `commonality` is the share
of states that merging saves. Time is that of the step function, on events whose filters are matched already, with all
states built.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.pattern_workloads import UNCAPPED, Sequences, Stream, graph, read, work
from experiments.report.findings import Figure, Finding, compared, partly
from experiments.report.plots import finish, panels
from experiments.report.tables import clocked
from experiments.report.tracking import gather
from vedette.patterns.graph import Graph
from vedette.patterns.kernels import runs
from vedette.patterns.machines import PatternNumbering
from vedette.patterns.pattern_step import step

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
    transitions: float  # for each event
    active: float  # partial matches at any time
    matches: int
    microseconds: float = clocked()  # for each event


def measure(panel: str, sequences: Sequences, events: int, publications: Sequence[bool]) -> list[Row]:
    """Build the machines, and let events happen to them, of streams that are `gaussian` or not."""
    merged, numbers = graph(sequences.records())
    merged.expand_all()
    return [_measured(panel, sequences, merged, numbers, events, gaussian) for gaussian in publications]


def unmerged_states(sequences: Sequences) -> int:
    """Of machines that share nothing: one after each step but the last."""
    return sequences.patterns * (sequences.length - 1)


def _measured(
    panel: str, sequences: Sequences, merged: Graph, numbers: PatternNumbering, events: int, gaussian: bool
) -> Row:
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
        float(np.mean([each.transitions for each in done])),
        float(np.mean([each.active for each in done])),
        len(found.matches),
        1e6 * took / batch.size,
    )


def figure_9(sizes: Sizes) -> list[Row]:
    """All panels; (a) and (b) are of the same runs, and so are (e) and (f)."""
    return gather(
        "Figure 9",
        _cases(sizes),
        lambda case: measure(*case, sizes.events, (False, True) if case[0] == "ef" else (False,)),
    )


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


def plot(rows: Sequence[Row]) -> Any:
    """The six panels."""
    figure, shown = panels(2, 3)
    for panel, (letter, part, x, y, title) in zip(shown, _PANELS, strict=True):
        for label, own in _curves(rows, part, by_publication=letter == "f"):
            panel.plot([getattr(r, x) for r in own], [getattr(r, y) for r in own], label=label)
        finish(panel, _WORDS[x], _WORDS[y], f"({letter}) {title}")
        panel.legend(fontsize=6.5)
    return figure


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


def figures(quick: bool) -> Iterator[Figure]:
    """Measured, drawn and judged."""
    sizes = QUICK if quick else Sizes()
    rows = figure_9(sizes)
    yield Figure(
        "figure9",
        "Figure 9",
        f"Patterns of 10 steps with 2 non-contiguous operators over a pool of 50 events, but where it is varied; "
        f"{sizes.default:,} patterns but in (a) and (b); streams of {sizes.events:,} events. Time is the processor's, "
        "of the step function on events whose filters are matched already.",
        {"": rows},
        plot(rows),
        [*of_size(rows), *of_shape(rows), *of_pool(rows)],
    )


def _drawn(rows: Sequence[Row], panel: str, drawn: str = "uniform_cs", published: str = "uniform_pub") -> list[Row]:
    return [row for row in rows if (row.panel, row.subscriptions, row.publications) == (panel, drawn, published)]


def of_size(rows: Sequence[Row]) -> list[Finding]:
    """§6.1 of (a) and (b)."""
    uniform, gaussian = _drawn(rows, "ab"), _drawn(rows, "ab", "gaussian_cs")
    growth = [slope(own, "patterns", "states") for _, own in _curves(rows, "ab", by_publication=False)]
    times = [slope(own, "patterns", "microseconds") for _, own in _curves(rows, "ab", by_publication=False)]
    pools = sorted({row.pool for row in uniform})
    last = max(row.patterns for row in uniform)
    at = {row.pool: row for row in uniform if row.patterns == last}
    other = {row.pool: row for row in gaussian if row.patterns == last}
    states, least, most = ", ".join(f"{at[p].states:,} (pool {p})" for p in pools), at[pools[0]], at[pools[-1]]
    return [
        compared(
            "§6.1",
            "(a) states grow linearly with the number of patterns",
            f"as N^{min(growth):.2f} to N^{max(growth):.2f}",
            min(growth) > 0.85 and max(growth) < 1.1,
        ),
        compared(
            "§6.1",
            "(a) fewer with a small pool, and fewer still for gaussian_cs",
            f"with {last:,} patterns {states}; gaussian_cs "
            f"{', '.join(f'{other[p].states:,} (pool {p})' for p in pools)}",
            partly(least.states < most.states, all(other[p].states < at[p].states for p in pools)),
        ),
        compared(
            "§6.1",
            "(b) matching takes longer with more patterns, and longer with a small pool or gaussian_cs",
            f"time grows as N^{min(times):.2f} to N^{max(times):.2f}; with {last:,} patterns an event takes "
            f"{least.microseconds:.1f} µs with a pool of {pools[0]}, {most.microseconds:.1f} with one of {pools[-1]}, "
            f"{other[pools[0]].microseconds:.1f} and {other[pools[-1]].microseconds:.1f} for gaussian_cs",
            partly(
                min(times) > 0,
                least.microseconds > most.microseconds,
                other[pools[-1]].microseconds > most.microseconds,
            ),
            timed=True,
        ),
    ]


def of_shape(rows: Sequence[Row]) -> list[Finding]:
    """§6.1 of (c) and (d)."""
    loose, long = _drawn(rows, "c"), _drawn(rows, "d")
    shares = [row.commonality for row in long]
    return [
        compared(
            "§6.1",
            "(c) time grows with the number of non-contiguous operators, as more partial matches wait",
            f"{loose[0].microseconds:.1f} µs without any and {loose[-1].microseconds:.1f} with {loose[-1].loose}; "
            f"{loose[0].active:,.1f} and {loose[-1].active:,.1f} partial matches at any time",
            partly(loose[0].microseconds < loose[-1].microseconds, loose[0].active < loose[-1].active),
            timed=True,
        ),
        compared(
            "§6.1",
            "(d) commonality, the share that merging saves, decreases with length",
            ", ".join(f"{row.commonality:.0%} at length {row.length}" for row in long),
            shares == sorted(shares, reverse=True),
        ),
    ]


def of_pool(rows: Sequence[Row]) -> list[Finding]:
    """§6.1 of (e) and (f)."""
    uniform, gaussian = _drawn(rows, "ef"), _drawn(rows, "ef", "gaussian_cs")
    published = _drawn(rows, "ef", published="gaussian_pub")
    states, moves = [row.states for row in uniform], [row.transitions for row in uniform]
    fewer = [one.transitions < two.transitions for one, two in zip(published, uniform, strict=True)]
    return [
        compared(
            "§6.1",
            "(e) states grow with the pool, and gaussian_cs has fewer",
            f"{states[0]:,} to {states[-1]:,}; gaussian_cs {gaussian[0].states:,} to {gaussian[-1].states:,}",
            partly(states == sorted(states), all(g.states < u.states for g, u in zip(gaussian, uniform, strict=True))),
        ),
        compared(
            "§6.1",
            "(f) transitions decrease with the pool",
            f"{moves[0]:.2f} to {moves[-1]:.2f} for an event",
            moves == sorted(moves, reverse=True),
        ),
        compared(
            "§6.1",
            "(f) gaussian_pub has shorter partial matches and fewer transitions than uniform_pub",
            f"{published[0].transitions:.2f} to {published[-1].transitions:.2f} for an event",
            partly(all(fewer), any(fewer)),
            why="the paper gives no centre for its Gaussian; ours is in the middle of the lengths, so that partial "
            "matches are as long on average as uniform ones",
        ),
    ]
