"""What a schedule needs that knows every outcome in advance, and what none can do without.

Whoever knows the outcomes evaluates all predicates of the subscriptions that match, and for the others a set of false
predicates that has one of each: set cover. The greedy cover is the schedule that planners are held against. How far it
may be from the best one is said by a bound, and on small workloads by the best one itself.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from experiments.liu.workload import Workload

_ROUNDS = 400


@dataclass(frozen=True)
class Cover:
    """Element i is in sets `sets[start[i]:start[i + 1]]`; choose cheap sets that have every element."""

    start: NDArray[np.int64]
    sets: NDArray[np.int32]
    cost: NDArray[np.float64]  # of every set

    @property
    def element(self) -> NDArray[np.int64]:
        """The element of each entry of `sets`."""
        return np.repeat(np.arange(self.start.size - 1), np.diff(self.start))


def greedy(workload: Workload, truth: NDArray[np.bool_], cost: NDArray[np.float64] | None = None) -> float:
    """The cost of the schedule that knows (without costs: its length): what matches, and a greedy cover of the rest."""
    needed, cover = split(workload, truth, cost)
    return needed + float(cover.cost[greedy_cover(cover)].sum())


def bound(workload: Workload, truth: NDArray[np.bool_], cost: NDArray[np.float64] | None = None) -> float:
    """No schedule costs less than this."""
    needed, cover = split(workload, truth, cost)
    return needed + cover_bound(cover, float(cover.cost[greedy_cover(cover)].sum()))


def best(workload: Workload, truth: NDArray[np.bool_]) -> float:
    """The fewest evaluations there can be; for small workloads only."""
    needed, cover = split(workload, truth)
    return needed + smallest_cover(cover)


def hitting_bound(workload: Workload) -> float:
    """No schedule needs fewer evaluations than this, whatever comes out: each subscription needs one at least."""
    return bound(workload, np.zeros(workload.predicates, np.bool_))


def split(workload: Workload, truth: NDArray[np.bool_], cost: NDArray[np.float64] | None = None) -> tuple[float, Cover]:
    """What the predicates of those that match cost, and the false predicates of the others."""
    cost = np.ones(workload.predicates) if cost is None else cost
    matched, owner = workload.matched(truth), workload.owner
    needed = float(cost[np.unique(workload.predicate[matched[owner]])].sum())
    false = ~truth[workload.predicate]
    _, element = np.unique(owner[false], return_inverse=True)
    start = np.concatenate([[0], np.cumsum(np.bincount(element))]).astype(np.int64)
    return needed, Cover(start, workload.predicate[false], cost)


def greedy_cover(cover: Cover) -> list[int]:
    """Always the set that has the most of what is left for its cost."""
    start, sets, cost = cover.start.tolist(), cover.sets.tolist(), cover.cost.tolist()
    members: dict[int, list[int]] = {}
    for element, one in zip(cover.element.tolist(), sets, strict=True):
        members.setdefault(one, []).append(element)
    left = {one: len(theirs) for one, theirs in members.items()}
    open_ = [True] * (len(start) - 1)
    heap = [(cost[one] / count, one) for one, count in left.items()]
    heapq.heapify(heap)
    chosen = []
    while heap:
        price, one = heapq.heappop(heap)
        if left[one] == 0:
            continue
        if cost[one] / left[one] > price:  # what is left of a set only falls, so it may be best no more
            heapq.heappush(heap, (cost[one] / left[one], one))
            continue
        chosen.append(one)
        for element in members[one]:
            if open_[element]:
                open_[element] = False
                for other in sets[start[element] : start[element + 1]]:
                    left[other] -= 1
    return chosen


def cover_bound(cover: Cover, known: float) -> float:
    """A Lagrangean bound, by Held's and Karp's steps towards `known`, the cost of some cover.

    For any prices y >= 0 of the elements, sum(y) + sum over the sets of min(0, cost - the prices of its elements) is at
    most the cost of every cover.
    """
    if cover.sets.size == 0:
        return 0.0
    used, sets = np.unique(cover.sets, return_inverse=True)
    cost, element, elements = cover.cost[used], cover.element, cover.start.size - 1
    price = np.minimum.reduceat((cost / np.bincount(sets))[sets], cover.start[:-1])
    best_found, step, stale = 0.0, 2.0, 0
    for _ in range(_ROUNDS):
        worth = cost - np.bincount(sets, price[element], used.size)
        found = float(price.sum() + np.minimum(worth, 0).sum())
        stale = 0 if found > best_found * (1 + 1e-5) else stale + 1
        best_found = max(best_found, found)
        if stale >= 10:
            step, stale = step / 1.5, 0
        slope = 1 - np.bincount(element, worth[sets] < 0, elements)
        slope[(price <= 0) & (slope < 0)] = 0
        steepness = float(slope @ slope)
        if steepness == 0:
            break
        price = np.maximum(0, price + step * (known - found) / steepness * slope)
    return min(best_found, known)


def smallest_cover(cover: Cover) -> int:
    """How few sets do, if all cost the same, by branch and bound over the sets of the element that has the fewest."""
    start, sets = cover.start.tolist(), cover.sets.tolist()
    options = {frozenset(sets[low:high]) for low, high in pairwise(start)}
    best_known = len(greedy_cover(cover))

    def search(left: set[frozenset[int]], chosen: int) -> None:
        nonlocal best_known
        if not left:
            best_known = min(best_known, chosen)
            return
        by_size = sorted(left, key=lambda each: (len(each), sorted(each)))
        if chosen + _disjoint(by_size) >= best_known:
            return
        refused: set[int] = set()
        popular = {one: sum(one in each for each in left) for one in by_size[0]}
        for one in sorted(by_size[0], key=lambda each: (-popular[each], each)):
            # Covers with a set that was tried before have been looked at: it is refused from here on.
            rest = {each - refused for each in left if one not in each}
            if frozenset() not in rest:
                search(rest, chosen + 1)
            refused.add(one)

    search(_without_implied(options), 0)
    return best_known


def _disjoint(by_size: list[frozenset[int]]) -> int:
    """Elements no two of which are in one set: each needs a set of its own."""
    used: set[int] = set()
    count = 0
    for each in by_size:
        if used.isdisjoint(each):
            used |= each
            count += 1
    return count


def _without_implied(options: set[frozenset[int]]) -> set[frozenset[int]]:
    """An element that is covered whenever another one is needs no thought."""
    return {each for each in options if not any(other < each for other in options)}
