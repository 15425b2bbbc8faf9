"""Many subscriptions through the product's covering set, as no table of all pairs could hold them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.ouksel.arrivals import covering_set
from experiments.ouksel.workload import SETTINGS, subscriptions
from experiments.report.findings import Figure, beyond
from experiments.report.plots import finish, panels
from experiments.report.tables import clocked
from experiments.report.tracking import track

FULL, QUICK = (1_000, 3_000, 10_000, 30_000, 100_000), (500, 1_000)


@dataclass(frozen=True)
class Row:
    """So many arrivals, from the first."""

    attributes: int
    draws: int
    arrivals: int
    active: int
    uncertain: int
    cpu_seconds: float = clocked()


def figures(quick: bool) -> Iterator[Figure]:
    """What is left active, and how long it takes."""
    sizes = QUICK if quick else FULL
    rows = []
    for setting in track("Many subscriptions", SETTINGS):
        low, high = subscriptions(setting, sizes[-1])
        rows += [Row(setting.attributes, setting.draws, size, *covering_set(low[:size], high[:size])) for size in sizes]
    last = [row for row in rows if row.arrivals == sizes[-1]]
    left = ", ".join(f"{row.active:,} (m = {row.attributes}, {row.draws} draws)" for row in last)
    yield Figure(
        "many",
        "A hundred thousand arrivals" if not quick else f"{sizes[-1]:,} arrivals",
        "Subscriptions as in Figure 13 through the product's covering set, which finds candidates with an index.",
        {"": rows},
        plot(rows),
        [
            beyond(
                f"of {sizes[-1]:,} subscriptions {left} stay active; {sum(row.uncertain for row in rows)} uncertain"
            ),
            beyond(
                f"that takes {min(row.cpu_seconds for row in last):.0f} to {max(row.cpu_seconds for row in last):.0f} "
                "s of one processor, filters read from text included",
                timed=True,
            ),
        ],
    )


def plot(rows: Sequence[Row]) -> Any:
    """Active ones over arrivals."""
    figure, (panel,) = panels(1, 1, 6.4, 3.6)
    for attributes, draws in dict.fromkeys((row.attributes, row.draws) for row in rows):
        own = [row for row in rows if (row.attributes, row.draws) == (attributes, draws)]
        panel.plot([row.arrivals for row in own], [row.active for row in own], label=f"m = {attributes}, {draws} draws")
    panel.set(xscale="log", yscale="log")
    finish(panel, "arrivals", "active")
    return figure
