"""Liu 2007: Figures 4 to 8 (predicates evaluated for an event), the numbers that the paper prints, and what is best.

python -m experiments.liu2007 OUT [--quick]

The paper does not say how its events make predicates true: `liu.workload` says how ours do, and what else was tried.
Planners run as the product runs them, through its kernels; each predicate is an evaluation of its own, and all cost the
same but where it is said. The clairvoyant schedule knows every outcome; it is greedy, and `liu2007-optimum.csv` says
how far it is, or may be, from the best there is.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.liu import clairvoyant, figures, learning, quoted
from experiments.liu.figures import OUTCOMES, draw, selectivities
from experiments.liu.planners import PATH, PLANNERS, measure, plan
from experiments.liu.workload import Setting, generate
from experiments.muthusamy.output import write_csv

QUICK_FIGURES = {
    "4": ("subscriptions", (Setting(2_000, 4_000), Setting(8_000, 4_000))),
    "5": ("subscriptions", (Setting(2_000, 4_000, zipf=1.0), Setting(8_000, 4_000, zipf=1.0))),
    "6": ("predicates", (Setting(2_000, 500, zipf=1.0), Setting(2_000, 3_000, zipf=1.0))),
    "7": ("longest", (Setting(2_000, 500, 5, 1.0), Setting(2_000, 500, 11, 1.0))),
    "8": ("popularity", tuple(Setting(2_000, 500, zipf=zipf) for zipf in (None, 0.8, 1.0, 1.2))),
}
QUICK_EVENTS = {"uniform": 5, "Zipf": 20}
QUICK_QUOTED = {setting: numbers for setting, numbers in quoted.QUOTED.items() if setting.subscriptions < 80_000}
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
    for setting in settings:
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
    for zipf in (None, 1.0):
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


def run(out: Path, quick: bool) -> str:
    """Write data and plots under `out`; one line that compares with the paper."""
    out.mkdir(parents=True, exist_ok=True)
    drawn = QUICK_FIGURES if quick else figures.FIGURES
    rows = figures.all_rows(drawn, QUICK_EVENTS if quick else figures.EVENTS)
    numbers = quoted.compare(5 if quick else 100, QUICK_QUOTED if quick else quoted.QUOTED)
    stretches = learning.compare(learning.SETTINGS[1:2] if quick else learning.SETTINGS, 40 if quick else 300, 20)
    best = optimum(SMALL, 5 if quick else 20, exact=True) + ([] if quick else optimum(LARGE, 3, exact=False))
    costly = unequal_costs(*(QUICK_COSTLY if quick else COSTLY))
    for name, table in {
        "figures": rows,
        "quoted": numbers,
        "learning": stretches,
        "optimum": best,
        "costs": costly,
    }.items():
        write_csv(out / f"liu2007-{name}.csv", table)
    figures.plot(rows, drawn, out)
    learning.plot(stretches, out)
    return " ".join(
        [_told(rows), quoted.told(numbers), learning.told(stretches), _told_costs(costly), _told_best(best)]
    )


def _between(ratios: list[float]) -> str:
    return f"{min(ratios):.2f} - {max(ratios):.2f}"


def _told(rows: list[figures.Row]) -> str:
    fewer = {name: _between(figures.ratios(rows, name, "adaptive")) for name in ("naive", "sequential", "suborder")}
    path = _between(figures.ratios(rows, PATH, "suborder"))
    knowing = {each: _between(figures.ratios(rows, "adaptive", figures.KNOWING, each)) for each in OUTCOMES}
    return (
        f"Figures 4 - 8: adaptive evaluates {fewer['naive']} times fewer predicates than naive, {fewer['sequential']} "
        f"times fewer than Sequential, {fewer['suborder']} times fewer than Sub-Order (the paper's greedy path makes "
        f"it {path} times what ours is), and {knowing['equally likely']} times as many as one that knows all outcomes "
        f"({knowing['spread']} where selectivities differ)."
    )


def _told_costs(rows: list[Costly]) -> str:
    by = {(row.popularity, row.planner): row for row in rows}
    kinds = list(dict.fromkeys(row.popularity for row in rows))
    less = [by[kind, "sequential"].cost / by[kind, "adaptive"].cost for kind in kinds]
    adaptive, chains = ([by[kind, name].of_clairvoyant for kind in kinds] for name in ("adaptive", "suborder"))
    return (
        f"With costs of 1 to 100 adaptive spends {_between(less)} times less than Sequential, and {_between(adaptive)} "
        f"times what one spends that knows (Sub-Order {_between(chains)} times)."
    )


def _told_best(rows: list[Optimum]) -> str:
    small = [row.greedy / row.best for row in rows if row.best]
    large = [row.greedy / row.bound for row in rows if row.best is None]
    text = f"Who knows all outcomes is greedy: {_between(small)} times the best on small workloads"
    return f"{text}, at most {_between(large)} on large ones." if large else f"{text}."


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    print(run(arguments.out, arguments.quick))
