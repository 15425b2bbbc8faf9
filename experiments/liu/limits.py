"""How good planners are where costs differ, and how near the schedule that knows every outcome is to the best one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.liu import clairvoyant
from experiments.liu.figures import OUTCOMES, draw, selectivities
from experiments.liu.planners import PLANNERS, measure, plan
from experiments.liu.workload import Setting, generate
from experiments.report.findings import Figure, beyond
from experiments.report.plots import COLOURS, finish, panels
from experiments.report.tracking import track

COSTLY, QUICK_COSTLY = (20_000, 5_000, 100), (2_000, 500, 10)  # subscriptions, predicates, events
SMALL = (Setting(100, 60), Setting(200, 100, zipf=1.0))  # where the best schedule can be found
LARGE = (
    Setting(80_000, 40_000),
    Setting(20_000, 5_000),
    Setting(20_000, 30_000, zipf=1.0),
    Setting(20_000, 5_000, 11, 1.0),
)


@dataclass(frozen=True)
class Optimum:
    """The greedy clairvoyant schedule beside the best one (of small workloads) and beside what is needed at least."""

    outcomes: str
    subscriptions: int
    predicates: int
    longest: int
    popularity: str
    greedy: float
    best: float | None
    bound: float


@dataclass(frozen=True)
class Costly:
    """Planners where evaluations cost from 1 to 100, evenly over the logarithm."""

    popularity: str
    planner: str
    cost: float
    of_clairvoyant: float


def optimum(settings: tuple[Setting, ...], events: int, exact: bool) -> list[Optimum]:
    """How far the greedy schedule is from the best, or may be."""
    rows = []
    for setting in track("How far from the best", settings):
        workload = generate(setting, seed=4)
        for outcomes in OUTCOMES:
            truths = draw(selectivities(workload, outcomes), events, seed=4)
            rows.append(
                Optimum(
                    outcomes,
                    setting.subscriptions,
                    setting.predicates,
                    setting.longest,
                    setting.popularity,
                    float(np.mean([clairvoyant.greedy(workload, truth) for truth in truths])),
                    float(np.mean([clairvoyant.best(workload, truth) for truth in truths])) if exact else None,
                    float(np.mean([clairvoyant.bound(workload, truth) for truth in truths])),
                )
            )
    return rows


def unequal_costs(subscriptions: int, predicates: int, events: int) -> list[Costly]:
    """§4.3: what matters then is what is spent."""
    rows = []
    for zipf in track("Costs", (None, 1.0)):
        setting = Setting(subscriptions, predicates, zipf=zipf)
        workload = generate(setting, seed=7)
        selectivity = selectivities(workload, "spread")
        cost = 100 ** np.random.default_rng(8).random(predicates)
        truths = draw(selectivity, events, seed=9)
        knowing = np.array([clairvoyant.greedy(workload, truth, cost) for truth in truths])
        for name in PLANNERS:
            spent, _ = measure(plan(name, workload, selectivity, cost), truths, cost)
            rows.append(Costly(setting.popularity, name, float(spent.mean()), float(spent.sum() / knowing.sum())))
    return rows


def figures(quick: bool) -> Iterator[Figure]:
    """Costs, and the schedule that planners are held against."""
    costly = unequal_costs(*(QUICK_COSTLY if quick else COSTLY))
    by = {(row.popularity, row.planner): row for row in costly}
    kinds = list(dict.fromkeys(row.popularity for row in costly))
    less = [by[kind, "sequential"].cost / by[kind, "adaptive"].cost for kind in kinds]
    adaptive, chains = ([by[kind, name].of_clairvoyant for kind in kinds] for name in ("adaptive", "suborder"))
    yield Figure(
        "costs",
        "Unequal costs (§4.3)",
        "Evaluations cost from 1 to 100, evenly over the logarithm; selectivities are spread. What counts is what is "
        "spent, held against a schedule that knows every outcome.",
        {"": costly},
        plot(costly),
        [
            beyond(
                f"adaptive spends {_between(less)} times less than Sequential, and {_between(adaptive)} times what a "
                f"schedule spends that knows all outcomes (Sub-Order {_between(chains)} times)"
            )
        ],
    )
    best = optimum(SMALL, 5 if quick else 20, exact=True) + ([] if quick else optimum(LARGE, 3, exact=False))
    small = [row.greedy / row.best for row in best if row.best]
    large = [row.greedy / row.bound for row in best if row.best is None]
    told = f"it needs {_between(small)} times the evaluations of the best schedule on small workloads"
    yield Figure(
        "optimum",
        "The schedule that knows every outcome",
        "It evaluates what matches and, for the rest, a greedy cover by false predicates. The best schedule is found "
        "by branch and bound on small workloads; on large ones a Lagrangean bound says what none can do without.",
        {"": best},
        optimum_plot(best),
        [beyond(f"{told}, at most {_between(large)} times on large ones" if large else told)],
    )


def _between(ratios: list[float]) -> str:
    return f"{min(ratios):.2f} - {max(ratios):.2f}"


def plot(rows: Sequence[Costly]) -> Any:
    """Bars, by planner."""
    figure, (panel,) = panels(1, 1, 6.4, 3.4)
    kinds = list(dict.fromkeys(row.popularity for row in rows))
    for number, kind in enumerate(kinds):
        own = [row for row in rows if row.popularity == kind]
        places = np.arange(len(own)) + (number - (len(kinds) - 1) / 2) * 0.38
        panel.bar(places, [row.of_clairvoyant for row in own], 0.36, color=COLOURS[number], label=kind)
    panel.set_xticks(range(len(PLANNERS)), PLANNERS)
    panel.axhline(1, color="#1b1f24", linewidth=0.8)
    finish(panel, "", "spent / clairvoyant")
    return figure


def optimum_plot(rows: Sequence[Optimum]) -> Any:
    """The greedy schedule beside the best one and the bound."""
    figure, (panel,) = panels(1, 1, 7.4, 0.9 + 0.32 * len(rows))
    places = range(len(rows))
    labels = [f"{r.subscriptions:,} x {r.predicates:,}, {r.popularity}, up to {r.longest}, {r.outcomes}" for r in rows]
    panel.plot([row.greedy / row.bound for row in rows], places, ls="", label="greedy, knowing")
    known = [(row.best / row.bound, place) for place, row in enumerate(rows) if row.best]
    panel.plot(*zip(*known, strict=True), ls="", label="the best")
    panel.axvline(1, color="#1b1f24", linewidth=0.8)
    panel.set_yticks(places, labels)
    panel.invert_yaxis()
    finish(panel, "evaluations / bound", "")
    return figure
