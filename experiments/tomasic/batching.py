"""Throughput as more publications are batched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.meeting_workloads import Factors
from experiments.muthusamy.output import axes, finish
from experiments.tomasic.factors import WORKLOADS
from experiments.tomasic.measuring import ENGINES, Row, measure, save, write


@dataclass(frozen=True)
class Sizes:
    """The sizes of batches, of how many publications, against how many subscriptions; and batches timed of a size."""

    batches: tuple[int, ...]
    publications: int
    subscriptions: int
    most: int


FULL = Sizes((1, 3, 10, 30, 100), 100, 10_000, 5)
QUICK = Sizes((1, 10), 10, 2_000, 2)


def all_rows(sizes: Sizes) -> list[Row]:
    """All workloads: 50 variables, four operators."""
    factors = Factors(sizes.publications, sizes.subscriptions)
    return [row for name in WORKLOADS for row in measure(name, factors, sizes.batches, sizes.most)]


def run(out: Path, quick: bool) -> str:
    """Write data and a plot; what a batch gains."""
    rows = all_rows(QUICK if quick else FULL)
    write(out, "batching", rows)
    plot(rows, out)
    return told(rows)


def told(rows: Sequence[Row]) -> str:
    """Publications a second, one by one and in the largest batch."""
    parts = []
    for name in WORKLOADS:
        gains = []
        for engine in ENGINES:
            own = [row for row in rows if (row.workload, row.engine) == (name, engine)]
            gains.append(f"{engine} {own[0].publications_per_s:,.0f} -> {own[-1].publications_per_s:,.0f}")
        parts.append(f"{name} {', '.join(gains)}")
    last = rows[-1]
    return (
        f"Publications a second against {last.subscriptions:,} subscriptions, one by one -> {last.batch} at a time: "
        f"{'; '.join(parts)}."
    )


def plot(rows: Sequence[Row], out: Path) -> None:
    """A panel for each workload."""
    picture, panels = axes(1, len(WORKLOADS))
    for panel, name in zip(panels, WORKLOADS, strict=True):
        for engine in ENGINES:
            own = [row for row in rows if (row.workload, row.engine) == (name, engine)]
            panel.plot([row.batch for row in own], [row.publications_per_s for row in own], marker="o", label=engine)
        panel.set(xscale="log", yscale="log")
        finish(panel, name, "publications at a time", "publications / s")
    picture.suptitle("Tomasic 2006: throughput, batched")
    save(picture, out, "batching")
