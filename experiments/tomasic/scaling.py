"""Response time as the number of subscriptions scales, for all workloads; result and intermediate sizes beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.meeting import fitted
from benchmarks.meeting_workloads import Factors
from experiments.muthusamy.output import axes, finish
from experiments.tomasic.factors import WORKLOADS
from experiments.tomasic.measuring import ENGINES, Row, measure, save, write


@dataclass(frozen=True)
class Sizes:
    """How many publications at once, and the numbers of subscriptions."""

    publications: int
    subscriptions: tuple[int, ...]


FULL = Sizes(100, (1_000, 3_000, 10_000, 30_000, 100_000))
QUICK = Sizes(20, (500, 1_500, 5_000))


def all_rows(sizes: Sizes) -> list[Row]:
    """All workloads at all sizes: 50 variables, four operators."""
    return [
        row
        for name in WORKLOADS
        for size in sizes.subscriptions
        for row in measure(name, Factors(sizes.publications, size), (sizes.publications,), 1)
    ]


def run(out: Path, quick: bool) -> str:
    """Write data and a plot; how both engines grow."""
    rows = all_rows(QUICK if quick else FULL)
    write(out, "scaling", rows)
    plot(rows, out)
    return told(rows)


def told(rows: Sequence[Row]) -> str:
    """Exponents, and the sizes that the workloads are named for."""
    parts = []
    for name in WORKLOADS:
        powers = []
        for engine in ENGINES:
            own = [row for row in rows if (row.workload, row.engine) == (name, engine)]
            power = fitted([row.subscriptions for row in own], [row.response_ms for row in own])
            powers.append(f"{engine} {power:.2f}")
        pairs, between = (f"{own[0][n]:,} -> {own[-1][n]:,}" for own in [_counts(rows, name)] for n in (0, 1))
        parts.append(f"{name} {', '.join(powers)} (pairs {pairs}, intermediate {between})")
    sizes = sorted({row.subscriptions for row in rows})
    return (
        f"From {sizes[0]:,} to {sizes[-1]:,} subscriptions response time grows as their number to the power of: "
        f"{'; '.join(parts)}."
    )


def _counts(rows: Sequence[Row], name: str) -> list[tuple[int, int]]:
    return [(row.pairs, row.intermediate) for row in rows if (row.workload, row.engine) == (name, "paper")]


def plot(rows: Sequence[Row], out: Path) -> None:
    """Times in one row, sizes of results in the other."""
    picture, panels = axes(2, len(WORKLOADS))
    for number, name in enumerate(WORKLOADS):
        above, below = panels[number], panels[number + len(WORKLOADS)]
        for engine in ENGINES:
            own = [row for row in rows if (row.workload, row.engine) == (name, engine)]
            sizes = [row.subscriptions for row in own]
            above.plot(sizes, [row.response_ms for row in own], marker="o", label=engine)
        counts = _counts(rows, name)
        below.plot(sizes, [each[0] for each in counts], marker="o", label="pairs")
        below.plot(sizes, [each[1] for each in counts], marker=".", linestyle="--", label="intermediate")
        for panel, what in ((above, "response time (ms)"), (below, "rows")):
            panel.set(xscale="log", yscale="log")
            finish(panel, name, "subscriptions", what)
    picture.suptitle("Tomasic 2006: response time as the number of subscriptions scales")
    save(picture, out, "scaling")
