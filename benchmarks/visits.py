"""Nodes of the matching tree that an event visits, against the bound of Aguilera 1999, §4."""

from __future__ import annotations

import math
from dataclasses import dataclass

from benchmarks.indexes import prepare
from benchmarks.workloads import Aguilera
from vedette.filters.tree import MatchingTree, TreeOptions


@dataclass(frozen=True)
class Visits:
    """Mean visits per event, of the plain tree and of the one with the paper's optimisations."""

    workload: str
    subscriptions: int
    plain: float
    optimised: float
    bound: float


def bound(values: int, attributes: int, subscriptions: int) -> float:
    """Expected nodes visited, at most, if all events are equally likely."""
    wide = attributes + 1
    logs = math.log(values) + math.log(wide)
    factor = values * wide * logs / ((values * wide - 1) * math.log(wide))
    return factor * wide * math.pow(subscriptions, 1 - math.log(values) / logs)


def measure_visits(values: int, subscriptions: int, events: int = 1024) -> Visits:
    """On W1, whose events are uniform, as the bound asks for."""
    workload = Aguilera(values)
    case = prepare(workload.name, subscriptions)
    batch = case.batch(events)

    def mean(options: TreeOptions) -> float:
        tree = MatchingTree.build(case.coded.table, case.coded.ranks, case.sample, options)
        return float(tree.match_counting(batch)[1].mean())

    return Visits(
        workload.name,
        subscriptions,
        mean(TreeOptions(collapse=False)),
        mean(TreeOptions(collapse=True, successors=True)),
        bound(values, workload.attributes, subscriptions),
    )
