"""Sub-Order (Liu 2007 §4.2): the order in which chains of predicates are walked, so that shared ones come early.

An alternative is a chain; its predicates are evaluated from the top until one fails. Chains that share a predicate
save each other evaluations. The order follows from the chance that a chain gets as far as the shared predicate,
and from what has been spent until then.

Where this departs from the paper:

- With unequal costs a chain is ordered by cost / (1 - selectivity), and a difference counts what nodes above a shared
  one cost. §4.3 multiplies probabilities by costs instead, which is not an expected cost.
- The paper draws the greedy path through the complete graph of chains. Such a path keeps one difference in a chain's
  dozens, so the default adds up all of them; `greedy_path=True` is the paper's, over a graph that is linear in size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_CHEAPEST = 1e-12  # so that what costs nothing has an order too


class Chains(NamedTuple):
    """Chain i is links `start[i] .. start[i + 1]`, from the top; in all chains predicates stand in the same order."""

    start: NDArray[np.int64]
    predicate: NDArray[np.int32]
    rank: NDArray[np.int64]  # of every predicate in that order: links between chains never cross
    selectivity: NDArray[np.float64]  # of every predicate
    cost: NDArray[np.float64]


class ChainExpectations(NamedTuple):
    """Expectations for a chain walked alone, at each of its links."""

    reach: NDArray[np.float64]  # the chance that it does: P of §4.2.4
    spent: NDArray[np.float64]  # what was evaluated above it: C of §4.2.4


def chain_order(
    start: NDArray[np.int64],
    predicate: NDArray[np.int32],
    selectivity: NDArray[np.float64],
    cost: NDArray[np.float64],
    *,
    greedy_path: bool = False,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The order of the chains, and `predicate` with each chain's own in order."""
    chains = sorted_chains(start, predicate, selectivity, cost)
    saving = total_saving(chains)
    if greedy_path:
        return _fragments(_next_in_path(chains), saving), chains.predicate
    return np.argsort(-saving, kind="stable"), chains.predicate


def sorted_chains(
    start: NDArray[np.int64],
    predicate: NDArray[np.int32],
    selectivity: NDArray[np.float64],
    cost: NDArray[np.float64],
) -> Chains:
    """Cheap and unlikely predicates on top: the least expected cost of a chain by itself."""
    order = np.argsort(-(1 - selectivity) / np.maximum(cost, _CHEAPEST), kind="stable")
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    inside = np.lexsort((rank[predicate], _chain_of(start)))
    return Chains(start, predicate[inside], rank, selectivity, cost)


def chain_expectations(chains: Chains) -> ChainExpectations:
    """Link by link from the top, all chains at a time."""
    reach, spent = np.ones(chains.predicate.size), np.zeros(chains.predicate.size)
    length = np.diff(chains.start)
    for depth in range(1, int(length.max(initial=0))):
        here = chains.start[:-1][length > depth] + depth
        above = chains.predicate[here - 1]
        reach[here] = reach[here - 1] * chains.selectivity[above]
        spent[here] = spent[here - 1] + reach[here - 1] * chains.cost[above]
    return ChainExpectations(reach, spent)


def total_saving(chains: Chains) -> NDArray[np.float64]:
    """What each chain saves all others by being before them, less what they would save it.

    The sum of §4.2.4's differences over all chains that share a predicate, each shared predicate by itself: a
    predicate's chains enter by their sums alone, so no pair is ever looked at.
    """
    reach, spent = chain_expectations(chains)
    predicate, count = chains.predicate, chains.selectivity.size
    all_reach = np.bincount(predicate, reach, count)[predicate]
    all_spent = np.bincount(predicate, spent, count)[predicate]
    saved = (1 - chains.selectivity[predicate]) * (reach * all_spent - spent * all_reach)
    return np.bincount(_chain_of(chains.start), saved, chains.start.size - 1).astype(np.float64)


def cost_difference(chains: Chains, one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.float64]:
    """Expected cost of walking `one` and then `other`, less that of the other order; exact for these two.

    §4.2.4 for any number of shared predicates: (1 - p) (P_other C_one - P_one C_other) for each, where C leaves out
    the shared ones above it. (The printed C is 1 for a predicate on top, where nothing was spent: it has to be 0.)
    """
    at, end = [chains.start[one], chains.start[other]], [chains.start[one + 1], chains.start[other + 1]]
    reach = [np.ones(one.size), np.ones(one.size)]  # by predicates that are not shared
    spent = [np.zeros(one.size), np.zeros(one.size)]
    both_reach, difference = np.ones(one.size), np.zeros(one.size)
    going = np.flatnonzero((at[0] < end[0]) & (at[1] < end[1]))
    while going.size:
        top = [chains.predicate[place[going]] for place in at]
        ahead = chains.rank[top[0]] - chains.rank[top[1]]
        pairs, p = going[ahead == 0], chains.selectivity[top[0][ahead == 0]]
        crossed = reach[1][pairs] * spent[0][pairs] - reach[0][pairs] * spent[1][pairs]
        difference[pairs] += (1 - p) * both_reach[pairs] * crossed
        both_reach[pairs] *= p
        for side, alone in enumerate((ahead < 0, ahead > 0)):
            own, node = going[alone], top[side][alone]
            spent[side][own] += reach[side][own] * chains.cost[node]
            reach[side][own] *= chains.selectivity[node]
            at[side][own] += 1
            at[side][pairs] += 1
        going = going[(at[0][going] < end[0][going]) & (at[1][going] < end[1][going])]
    return difference


def _next_in_path(chains: Chains) -> NDArray[np.int64]:
    """§4.2.5: the chain that follows each (-1: none) when the greatest savings are taken first.

    Only chains that share a predicate differ. Of those that share one, each is compared with its neighbours by P / C at
    that predicate, so there are fewer edges than links.
    """
    reach, spent = chain_expectations(chains)
    owner = _chain_of(chains.start)
    ratio = np.divide(reach, spent, out=np.full(reach.size, np.inf), where=spent > 0)
    order = np.lexsort((-ratio, chains.predicate))
    beside = chains.predicate[order][1:] == chains.predicate[order][:-1]
    left, right = owner[order][:-1][beside], owner[order][1:][beside]
    difference = cost_difference(chains, left, right)
    first, then = np.where(difference < 0, (left, right), (right, left))
    best = np.argsort(-np.abs(difference), kind="stable")
    best = best[difference[best] != 0]
    return greedy_path(chains.start.size - 1, first[best], then[best])


def greedy_path(count: int, first: NDArray[np.int64], then: NDArray[np.int64]) -> NDArray[np.int64]:
    """Take edges in their order, as long as no node gets a second successor or predecessor and no cycle closes."""
    follower, followed, root = [-1] * count, [False] * count, list(range(count))
    for one, other in zip(first.tolist(), then.tolist(), strict=True):
        if follower[one] < 0 and not followed[other]:
            tops = []
            for node in (one, other):
                while root[node] != node:
                    root[node] = node = root[root[node]]
                tops.append(node)
            if tops[0] != tops[1]:
                root[tops[0]] = tops[1]
                follower[one], followed[other] = other, True
    return np.array(follower, np.int64)


def _fragments(follower: NDArray[np.int64], saving: NDArray[np.float64]) -> NDArray[np.int64]:
    """The paths one after another, those first whose chains save the most on average."""
    followed = np.zeros(follower.size, np.bool_)
    followed[follower[follower >= 0]] = True
    successor = follower.tolist()
    paths = []
    for node in np.flatnonzero(~followed).tolist():
        path = []
        while node >= 0:
            path.append(node)
            node = successor[node]
        paths.append(path)
    paths.sort(key=lambda path: -float(saving[path].mean()))
    return np.array([node for path in paths for node in path], np.int64)


def _chain_of(start: NDArray[np.int64]) -> NDArray[np.int64]:
    """The chain of each link."""
    return np.repeat(np.arange(start.size - 1), np.diff(start))
