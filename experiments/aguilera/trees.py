"""Trees over made-up subscriptions, as §7 makes them, and what matching costs: nodes visited, time, space.

Visits are counted in two ways. `visits` is every row that is read. `visits_without_forks` leaves out rows that
test nothing and only stand for a collapsed edge with several successors; one may call these edges, not nodes.
The two differ only where collapsing and successor sets come together, and there the choice decides whether
successor sets seem to save visits, so both are reported, beside the time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.report.tables import clocked
from vedette.filters.tree import MatchingTree, TreeOptions
from vedette.kernels.bundles import CodedBatch, PredicateTable

MATCHES = 100  # per event, whatever the number of subscriptions
INDEXED = 3
FIRST_POPULARITY = 0.95


@dataclass(frozen=True)
class Space:
    """An event schema: so many attributes of so many values each."""

    values: int = 3
    attributes: int = 30

    def events(self, count: int, seed: int) -> CodedBatch:
        """Uniform, all attributes present."""
        ranks = np.random.default_rng(seed).integers(0, self.values, (self.attributes, count)).astype(np.int32)
        return CodedBatch(ranks, np.empty((0, count), np.int32), np.zeros(1, np.int64), np.empty(0, np.int32))

    def subscriptions(self, popularity: NDArray[np.float64], count: int, seed: int) -> PredicateTable:
        """Attribute i is tested with probability `popularity[i]`, against values from a Zipf distribution."""
        random = np.random.default_rng(seed)
        tested = random.random((count, self.attributes)) < popularity
        weights = 1 / np.arange(1, self.values + 1)
        value = random.choice(self.values, int(tested.sum()), p=weights / weights.sum())
        start = np.zeros(count + 1, np.int64)
        np.cumsum(tested.sum(axis=1), out=start[1:])
        return PredicateTable(
            start,
            np.nonzero(tested)[1].astype(np.int32),
            value.astype(np.int32),
            np.zeros(value.size, np.uint32),
        )

    def popularity(self, degradation: float, first: float = FIRST_POPULARITY) -> NDArray[np.float64]:
        """Each attribute is `degradation` times as popular as the one before it."""
        return np.multiply(first, degradation ** np.arange(self.attributes), dtype=np.float64)

    def match_probability(self, popularity: NDArray[np.float64]) -> float:
        """A test holds for one of the V values of a uniform event, whatever value it asks for."""
        return float(np.prod(1 - popularity * (1 - 1 / self.values)))

    def popularity_for(self, count: int, matches: float = MATCHES) -> NDArray[np.float64]:
        """p1 is fixed; D is solved for, so that an event matches so many of `count` subscriptions."""
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            too_many = self.match_probability(self.popularity(middle)) * count > matches
            low, high = (middle, high) if too_many else (low, middle)
        return self.popularity((low + high) / 2)


@dataclass(frozen=True)
class Row:
    """One tree, measured."""

    variant: str
    values: int
    attributes: int
    subscriptions: int
    matches: float
    visits: float
    visits_without_forks: float
    edges: int
    successors: int
    bound: float
    microseconds: float = clocked()

    @property
    def links(self) -> int:
        """Space, as §7 counts it."""
        return self.edges + self.successors


def variants(attributes: int) -> dict[str, TreeOptions]:
    """The tree as it is, and with one optimisation of §5 after the other."""
    order, index = tuple(range(attributes)), tuple(range(INDEXED))
    return {
        "plain": TreeOptions(collapse=False, order=order),
        "collapsed": TreeOptions(order=order),
        "collapsed, successors": TreeOptions(successors=True, refine=True, order=order),
        "collapsed, factored": TreeOptions(index=index, order=order),
        "collapsed, successors, factored": TreeOptions(successors=True, refine=True, index=index, order=order),
    }


def bound(values: int, attributes: int, subscriptions: int) -> float:
    """Theorem 1: the expected number of nodes visited is at most this."""
    k = attributes + 1
    a = math.log(values) / (math.log(values) + math.log(k))
    factor = values * k * (math.log(values) + math.log(k)) / ((values * k - 1) * math.log(k))
    return factor * k * subscriptions ** (1 - a)


def measure(variant: str, options: TreeOptions, space: Space, table: PredicateTable, events: CodedBatch) -> Row:
    """Nodes visited, time and space of one tree; events are matched one at a time, as in the paper."""
    tree = MatchingTree.build(table, space.attributes, events, options)
    pairs, visits = tree.match_counting(events)
    _, without_forks = tree.match_counting(events, forks=False)
    count = events.ranks.shape[1]
    singles = [events._replace(ranks=events.ranks[:, e : e + 1].copy(), sets=events.sets[:, :1]) for e in range(count)]
    tree.match_one(singles[0])
    begin = time.process_time()
    for single in singles:
        tree.match_one(single)
    took = time.process_time() - begin
    subscriptions = table.start.size - 1
    return Row(
        variant,
        space.values,
        space.attributes,
        subscriptions,
        pairs.event.size / count,
        float(visits.mean()),
        float(without_forks.mean()),
        tree.edges,
        tree.successors,
        bound(space.values, space.attributes, subscriptions),
        1e6 * took / count,
    )


def exponent(rows: Iterable[Row], attribute: str = "visits") -> float:
    """How a measure grows with the number of subscriptions: the slope between logarithms."""
    points = [(row.subscriptions, getattr(row, attribute)) for row in rows]
    sizes, measured = np.log(np.array(points)).T
    return float(np.polyfit(sizes, measured, 1)[0])


def saved(rows: Sequence[Row], variant: str, against: str, attribute: str = "visits") -> float:
    """The mean share of a measure that one variant saves of another's."""
    by = {(row.variant, row.subscriptions): getattr(row, attribute) for row in rows}
    sizes = sorted({row.subscriptions for row in rows})
    return float(np.mean([1 - by[variant, size] / by[against, size] for size in sizes]))
