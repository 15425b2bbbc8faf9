"""Predicates evaluated for an event, by planner, over one parameter of the workload at a time (Figures 4 to 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.liu import clairvoyant
from experiments.liu.planners import PLANNERS, measure, plan
from experiments.liu.workload import Setting, Workload, equally_likely, generate, spread
from experiments.report.tables import clocked
from experiments.report.tracking import gather

KNOWING = "clairvoyant"
OUTCOMES = ("equally likely", "spread")

_SIZES = (2_000, 5_000, 10_000, 20_000, 40_000, 80_000)
FIGURES: dict[str, tuple[str, tuple[Setting, ...]]] = {
    "4": ("subscriptions", tuple(Setting(size, 40_000) for size in _SIZES)),
    "5": ("subscriptions", tuple(Setting(size, 40_000, zipf=1.0) for size in _SIZES)),
    "6": ("predicates", tuple(Setting(20_000, n, zipf=1.0) for n in (2_000, 5_000, 10_000, 20_000, 30_000))),
    "7": ("longest", tuple(Setting(20_000, 5_000, longest, 1.0) for longest in (5, 7, 9, 11))),
    "8": ("popularity", tuple(Setting(20_000, 5_000, zipf=zipf) for zipf in (None, 0.8, 1.0, 1.2))),
}
EVENTS = {"uniform": 30, "Zipf": 100}  # where a few predicates are in everything, events differ from each other


@dataclass(frozen=True)
class Row:
    """One planner on one workload; `error` is the standard error of `evaluated`, over events."""

    figure: str
    outcomes: str
    subscriptions: int
    predicates: int
    longest: int
    popularity: str
    events: int
    matched: float  # of the subscriptions, by an event
    planner: str
    evaluated: float
    error: float
    of_clairvoyant: float
    microseconds: float = clocked()  # of planning, for one evaluation


def selectivities(workload: Workload, outcomes: str) -> NDArray[np.float64]:
    """How likely predicates are to hold."""
    return equally_likely(workload) if outcomes == "equally likely" else spread(workload, seed=1)


def draw(selectivity: NDArray[np.float64], events: int, seed: int) -> list[NDArray[np.bool_]]:
    """Which predicates hold, for some events."""
    random = np.random.default_rng(seed)
    return [random.random(selectivity.size) < selectivity for _ in range(events)]


def rows_of(figure: str, setting: Setting, outcomes: str, events: int) -> list[Row]:
    """All planners on one workload, on the same events."""
    workload = generate(setting, seed=setting.subscriptions + setting.predicates)
    selectivity = selectivities(workload, outcomes)
    truths = draw(selectivity, events, seed=2)
    matched = float(np.mean([workload.matched(truth).mean() for truth in truths]))
    knowing = np.array([clairvoyant.greedy(workload, truth) for truth in truths])
    measured = {name: measure(plan(name, workload, selectivity), truths) for name in PLANNERS}
    return [
        Row(
            figure,
            outcomes,
            setting.subscriptions,
            setting.predicates,
            setting.longest,
            setting.popularity,
            events,
            matched,
            name,
            float(evaluated.mean()),
            float(evaluated.std(ddof=1) / np.sqrt(events)),
            float(evaluated.sum() / knowing.sum()),
            1e6 * seconds,
        )
        for name, (evaluated, seconds) in {**measured, KNOWING: (knowing, 0.0)}.items()
    ]


def all_rows(figures: dict[str, tuple[str, tuple[Setting, ...]]], events: dict[str, int]) -> list[Row]:
    """Every figure, with both ways in which predicates come out."""
    cases = [
        (figure, setting, outcomes, events["uniform" if setting.zipf is None else "Zipf"])
        for figure, (_, settings) in figures.items()
        for outcomes in OUTCOMES
        for setting in settings
    ]
    return gather("Figures 4 to 8", cases, lambda case: rows_of(*case))


def ratios(rows: Sequence[Row], over: str, under: str, outcomes: str | None = None) -> list[float]:
    """How many times as much one planner evaluates as another, workload by workload."""
    by: dict[tuple[Any, ...], dict[str, float]] = {}
    for row in rows:
        if outcomes in (None, row.outcomes):
            workload = (row.outcomes, row.subscriptions, row.predicates, row.longest, row.popularity)
            by.setdefault(workload, {})[row.planner] = row.evaluated
    return [each[over] / each[under] for each in by.values()]
