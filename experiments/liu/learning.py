"""Selectivities that are learned while events come, against those that are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.liu import clairvoyant
from experiments.liu.figures import draw
from experiments.liu.planners import Plan, measure, plan
from experiments.liu.workload import Setting, Workload, generate, spread
from experiments.report.findings import Figure, beyond
from experiments.report.plots import below, finish, panels
from experiments.report.tracking import track

SETTINGS = (Setting(20_000, 5_000), Setting(20_000, 5_000, zipf=1.0), Setting(20_000, 30_000, zipf=1.0))
QUICK_SETTINGS = SETTINGS[1:2]
EVENTS, QUICK_EVENTS, STRETCH = 300, 40, 20
_LEARNERS = ("suborder", "adaptive")
_PRIOR = 4.0  # observations that all other predicates are worth to one of which nothing is known
_REORDER = 20  # events after which chains are put in order anew


@dataclass(frozen=True)
class Row:
    """Some events in a row, with what was learned until each of them."""

    subscriptions: int
    predicates: int
    popularity: str
    planner: str
    first_event: int
    learned: float  # evaluated for an event
    known: float
    clairvoyant: float


class Learner:
    """Counts of what was evaluated: nothing is learned of what was not."""

    def __init__(self, predicates: int) -> None:
        self.tried, self.held = np.zeros(predicates), np.zeros(predicates)

    def selectivity(self) -> NDArray[np.float64]:
        """Drawn towards what predicates are like on the whole."""
        usual = (self.held.sum() + 1) / (self.tried.sum() + 2)
        return (self.held + _PRIOR * usual) / (self.tried + _PRIOR)

    def learn(self, evaluated: NDArray[np.int64], truth: NDArray[np.bool_]) -> None:
        """What an event told."""
        self.tried[evaluated] += 1
        self.held[evaluated] += truth[evaluated]


def learned(name: str, workload: Workload, truths: list[NDArray[np.bool_]]) -> NDArray[np.int64]:
    """Evaluations of one event after another, by a planner that begins with nothing."""
    learner = Learner(workload.predicates)
    made = plan(name, workload, learner.selectivity())
    counts = []
    for number, truth in enumerate(truths):
        if number % _REORDER == 0 and name == "suborder":
            made = plan(name, workload, learner.selectivity())
        elif name == "adaptive":
            made = _told(made, learner.selectivity())
        evaluated = made.evaluated(truth)
        learner.learn(evaluated, truth)
        counts.append(evaluated.size)
    return np.array(counts)


def _told(made: Plan, selectivity: NDArray[np.float64]) -> Plan:
    return Plan.of(made.number, made.problem._replace(fails=np.maximum(1 - selectivity, 1e-6)))


def compare(settings: tuple[Setting, ...], events: int, stretch: int) -> list[Row]:
    """Stretches of events, where selectivities are spread."""
    rows = []
    for setting in track("Learning", settings):
        workload = generate(setting, seed=5)
        selectivity = spread(workload, seed=1)
        truths = draw(selectivity, events, seed=6)
        knowing = np.array([clairvoyant.greedy(workload, truth) for truth in truths])
        for name in _LEARNERS:
            by_learning = learned(name, workload, truths)
            by_knowing, _ = measure(plan(name, workload, selectivity), truths)
            for first in range(0, events, stretch):
                part = slice(first, first + stretch)
                means = [float(each[part].mean()) for each in (by_learning, by_knowing, knowing)]
                rows.append(Row(setting.subscriptions, setting.predicates, setting.popularity, name, first, *means))
    return rows


def figures(quick: bool) -> Iterator[Figure]:
    """What learning costs."""
    rows = compare(QUICK_SETTINGS if quick else SETTINGS, QUICK_EVENTS if quick else EVENTS, STRETCH)
    last = max(row.first_event for row in rows)
    more, begin = (
        [row.learned / row.known - 1 for row in rows if (row.first_event, row.planner) == (when, "adaptive")]
        for when in (last, 0)
    )
    yield Figure(
        "learning",
        "Selectivities that are learned",
        f"Planners that begin with nothing and learn from what they evaluate, beside those that know selectivities; "
        f"these are spread, and means are of {STRETCH} events in a row.",
        {"": rows},
        plot(rows),
        [
            beyond(
                f"adaptive evaluates {min(begin):.1%} to {max(begin):.1%} more than if it knew them over the first "
                f"{STRETCH} events, {min(more):.1%} to {max(more):.1%} more after {last:,}"
            )
        ],
    )


def plot(rows: list[Row]) -> Any:
    """Evaluations against those of the schedule that knows, over the events."""
    workloads = list(dict.fromkeys((row.subscriptions, row.predicates, row.popularity) for row in rows))
    figure, shown = panels(1, len(workloads), 4.4, 3.6)
    for panel, workload in zip(shown, workloads, strict=True):
        for name in _LEARNERS:
            own = [
                row
                for row in rows
                if (row.subscriptions, row.predicates, row.popularity) == workload and row.planner == name
            ]
            first = [row.first_event for row in own]
            panel.plot(first, [row.learned / row.clairvoyant for row in own], label=f"{name}, learned")
            panel.plot(first, [row.known / row.clairvoyant for row in own], ls="--", label=f"{name}, known")
        title = "{:,} subscriptions, {:,} predicates, {}".format(*workload)
        finish(panel, "event", "evaluated / clairvoyant", title, legend=False)
    below(figure, shown[0], 4)
    return figure
