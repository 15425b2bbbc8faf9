"""All factors of §4: publications 1 or 100, subscriptions 1,000 or 100,000, variables 1 or 50, operators = or four."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.meeting_workloads import Factors, Name
from experiments.report.findings import Figure, beyond
from experiments.report.plots import panels
from experiments.report.tracking import gather
from experiments.tomasic.measuring import ENGINES, WORKLOADS, Row, measure


@dataclass(frozen=True)
class Sizes:
    """The two values of each factor, and how many single publications are timed."""

    publications: tuple[int, ...]
    subscriptions: tuple[int, ...]
    variables: tuple[int, ...]
    singles: int


FULL = Sizes((1, 100), (1_000, 100_000), (1, 50), 5)
QUICK = Sizes((1, 20), (500, 5_000), (1, 50), 2)


Case = tuple[Name, Factors, tuple[int, ...]]


def cases(sizes: Sizes) -> Iterator[Case]:
    """Every combination, batched and, where there are several publications, one by one."""
    for name in WORKLOADS:
        operators = (True,) if name == "fixed-geometric" else (False, True)
        chosen = itertools.product(sizes.publications, sizes.subscriptions, sizes.variables, operators)
        for publications, subscriptions, variables, all_operators in chosen:
            batches = (1,) if publications == 1 else (publications, 1)
            yield name, Factors(publications, subscriptions, variables, all_operators), batches


def figures(quick: bool) -> Iterator[Figure]:
    """All factors in one figure."""
    sizes = QUICK if quick else FULL
    rows = gather("All factors", cases(sizes), lambda case: list(measure(*case, sizes.singles)))
    yield Figure(
        "factors",
        "All factors (§4)",
        f"Every combination of publications ({_either(sizes.publications)}), subscriptions "
        f"({_either(sizes.subscriptions)}), variables ({_either(sizes.variables)}) and operators (= alone, or =, !=, "
        "<, >=), batched and one by one. The paper says (§5) that it did not analyse them so.",
        {"": rows},
        plot(rows),
        [
            beyond(
                f"{name}: the paper's queries take {min(found):,.0f} to {max(found):,.0f} times as long as the local "
                f"engine, in {len(found)} cases",
                timed=True,
            )
            for name in WORKLOADS
            for found in [ratios([row for row in rows if row.workload == name])]
        ],
    )


def _either(values: Sequence[int]) -> str:
    return " or ".join(f"{value:,}" for value in values)


def ratios(rows: Sequence[Row]) -> list[float]:
    """How many times as long the paper's queries take, case by case."""
    local, paper = ([row.response_ms for row in rows if row.engine == engine] for engine in ENGINES)
    return [other / own for own, other in zip(local, paper, strict=True)]


def plot(rows: Sequence[Row]) -> Any:
    """A panel for each workload; a place for each combination."""
    figure, shown = panels(1, len(WORKLOADS), 3.6, 4.6)
    for panel, name in zip(shown, WORKLOADS, strict=True):
        own = [row for row in rows if row.workload == name]
        labels = [
            f"{row.batch} of {row.publications} x {row.subscriptions:,}, {row.variables} var., {row.operators}"
            for row in own
            if row.engine == "local"
        ]
        places = range(len(labels))
        for engine in ENGINES:
            panel.plot([row.response_ms for row in own if row.engine == engine], places, linestyle="", label=engine)
        panel.set(xscale="log", xlabel="ms for a batch", title=name)
        panel.set_yticks(places, labels, fontsize=5.5)
        panel.invert_yaxis()
    shown[0].legend()
    return figure
