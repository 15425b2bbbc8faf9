"""All factors of §4: publications 1 or 100, subscriptions 1,000 or 100,000, variables 1 or 50, operators = or four."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.meeting_workloads import Factors, Name
from experiments.muthusamy.output import axes, finish
from experiments.tomasic.measuring import ENGINES, Row, measure, save, write

WORKLOADS: tuple[Name, ...] = ("fixed", "proportional", "large-intermediate-results", "fixed-geometric")


@dataclass(frozen=True)
class Sizes:
    """The two values of each factor, and how many single publications are timed."""

    publications: tuple[int, ...]
    subscriptions: tuple[int, ...]
    variables: tuple[int, ...]
    singles: int


FULL = Sizes((1, 100), (1_000, 100_000), (1, 50), 5)
QUICK = Sizes((1, 20), (500, 5_000), (1, 50), 2)


def all_rows(sizes: Sizes) -> list[Row]:
    """Every combination, batched and, where there are several publications, one by one."""
    rows: list[Row] = []
    for name in WORKLOADS:
        operators = (True,) if name == "fixed-geometric" else (False, True)
        chosen = itertools.product(sizes.publications, sizes.subscriptions, sizes.variables, operators)
        for publications, subscriptions, variables, all_operators in chosen:
            batches = (1,) if publications == 1 else (publications, 1)
            factors = Factors(publications, subscriptions, variables, all_operators)
            rows += measure(name, factors, batches, sizes.singles)
    return rows


def run(out: Path, quick: bool) -> str:
    """Write data and a plot; what stands out."""
    rows = all_rows(QUICK if quick else FULL)
    write(out, "factors", rows)
    plot(rows, out)
    return told(rows)


def told(rows: Sequence[Row]) -> str:
    """By how much the engines differ, by workload."""
    parts = []
    for name in WORKLOADS:
        found = ratios([row for row in rows if row.workload == name])
        parts.append(f"{name} {min(found):.3g} - {max(found):.3g}")
    return f"All factors: the paper's queries take so many times as long as the local engine: {'; '.join(parts)}."


def ratios(rows: Sequence[Row]) -> list[float]:
    """How many times as long the paper's queries take, case by case."""
    local, paper = ([row.response_ms for row in rows if row.engine == engine] for engine in ENGINES)
    return [other / own for own, other in zip(local, paper, strict=True)]


def plot(rows: Sequence[Row], out: Path) -> None:
    """A panel for each workload; a place for each combination."""
    picture, panels = axes(2, 2)
    for panel, name in zip(panels, WORKLOADS, strict=True):
        own = [row for row in rows if row.workload == name]
        cases = [row for row in own if row.engine == "local"]
        for engine in ENGINES:
            panel.plot([row.response_ms for row in own if row.engine == engine], "o", markersize=4, label=engine)
        labels = [
            f"{row.batch} of {row.publications} x {row.subscriptions:,}, {row.variables} vars, {row.operators}"
            for row in cases
        ]
        panel.set(yscale="log")
        panel.set_xticks(range(len(cases)), labels, rotation=90, fontsize=4)
        finish(panel, name, "", "response time of a batch (ms)")
    picture.suptitle("Tomasic 2006: all factors")
    save(picture, out, "factors")
