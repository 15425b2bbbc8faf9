"""Sub-Order: its cost differences are exact, and its orders save evaluations."""

from __future__ import annotations

import math
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.liu.workload import Setting, Workload, generate, spread
from tests.operators import slow_planners
from vedette.operators.suborder import (
    Chains,
    chain_expectations,
    chain_order,
    cost_difference,
    greedy_path,
    sorted_chains,
    total_saving,
)

_SHARES = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])
_COSTS = st.sampled_from([0.5, 1.0, 2.0, 7.0])
_PREDICATES = 6


def _chains(lists: list[list[int]], selectivity: list[float], cost: list[float]) -> Chains:
    start = np.cumsum([0, *map(len, lists)])
    predicate = np.array([each for one in lists for each in one], np.int32)
    return sorted_chains(start, predicate, np.array(selectivity), np.array(cost))


def _lists(chains: Chains) -> list[list[int]]:
    cuts = chains.start.tolist()
    return [chains.predicate[low:high].tolist() for low, high in pairwise(cuts)]


def _expected_cost(lists: list[list[int]], selectivity: list[float], cost: list[float]) -> float:
    """Over all outcomes there are."""
    total = 0.0
    for truth in product((False, True), repeat=len(selectivity)):
        chance = math.prod([p if holds else 1 - p for p, holds in zip(selectivity, truth, strict=True)])
        if chance:
            total += chance * sum(cost[each] for each in slow_planners.suborder(lists, truth))
    return float(total)


_CASES = st.tuples(
    st.lists(st.sets(st.integers(0, _PREDICATES - 1), min_size=1, max_size=5).map(sorted), min_size=2, max_size=2),
    st.lists(_SHARES, min_size=_PREDICATES, max_size=_PREDICATES),
    st.lists(_COSTS, min_size=_PREDICATES, max_size=_PREDICATES),
)


@given(_CASES)
def test_the_difference_of_two_chains_is_that_of_all_outcomes(
    case: tuple[list[list[int]], list[float], list[float]],
) -> None:
    lists, selectivity, cost = case
    chains = _chains(lists, selectivity, cost)
    one, other = _lists(chains)
    exact = _expected_cost([one, other], selectivity, cost) - _expected_cost([other, one], selectivity, cost)
    assert cost_difference(chains, np.array([0]), np.array([1]))[0] == pytest.approx(exact, abs=1e-9)
    assert cost_difference(chains, np.array([1]), np.array([0]))[0] == pytest.approx(-exact, abs=1e-9)


def _printed_difference(chains: Chains, multiplied: bool) -> float:
    """§4.2.4 to the letter for one shared predicate, its P and C with or without §4.3's products of p and cost."""
    one, other = _lists(chains)
    (shared,) = set(one) & set(other)

    def share(predicate: int) -> float:
        return float(chains.selectivity[predicate] * (chains.cost[predicate] if multiplied else 1))

    def p_and_c(chain: list[int]) -> tuple[float, float]:
        above = [share(each) for each in chain[: chain.index(shared)]]
        return float(np.prod(above)), 1 + sum(float(np.prod(above[:i])) for i in range(1, len(above)))

    (p_one, c_one), (p_other, c_other) = p_and_c(one), p_and_c(other)
    return (1 - share(shared)) * (p_other * c_one - p_one * c_other)


def test_the_printed_difference_is_off_where_the_shared_predicate_is_on_top() -> None:
    selectivity, cost = [0.2, 0.5, 0.1], [1.0, 1.0, 1.0]
    chains = _chains([[0, 1], [2, 0]], selectivity, cost)
    lists = _lists(chains)
    assert lists == [[0, 1], [2, 0]]
    exact = _expected_cost(lists, selectivity, cost) - _expected_cost(lists[::-1], selectivity, cost)
    assert exact == pytest.approx(-0.8)
    assert cost_difference(chains, np.array([0]), np.array([1]))[0] == pytest.approx(-0.8)
    assert _printed_difference(chains, multiplied=False) == pytest.approx(-0.72)
    below = _chains([[0, 1], [2, 1]], selectivity, cost)  # not on top of either: as printed
    assert cost_difference(below, np.array([0]), np.array([1]))[0] == pytest.approx(-0.05)
    assert _printed_difference(below, multiplied=False) == pytest.approx(-0.05)


def test_probabilities_multiplied_by_costs_put_the_wrong_chain_first() -> None:
    selectivity, cost = [0.1, 0.3, 0.9], [4.0, 1.0, 1.0]
    chains = _chains([[0, 2], [1, 2]], selectivity, cost)
    lists = _lists(chains)
    exact = _expected_cost(lists, selectivity, cost) - _expected_cost(lists[::-1], selectivity, cost)
    assert exact == pytest.approx(0.11)
    assert cost_difference(chains, np.array([0]), np.array([1]))[0] == pytest.approx(0.11)
    assert _printed_difference(chains, multiplied=True) == pytest.approx(-0.01)


@given(
    st.lists(_SHARES, min_size=4, max_size=4),
    st.lists(_COSTS, min_size=4, max_size=4),
)
def test_no_order_inside_a_chain_is_cheaper(selectivity: list[float], cost: list[float]) -> None:
    (chain,) = _lists(_chains([[0, 1, 2, 3]], selectivity, cost))
    ours = _expected_cost([chain], selectivity, cost)
    assert ours == pytest.approx(
        min(_expected_cost([list(order)], selectivity, cost) for order in permutations(range(4)))
    )


def test_reach_and_spent_are_those_of_a_chain_by_itself() -> None:
    chains = _chains([[2, 0, 1], [1]], [0.1, 0.5, 0.3], [1.0, 2.0, 1.0])
    assert _lists(chains) == [[0, 2, 1], [1]]
    reach, spent = chain_expectations(chains)
    np.testing.assert_allclose(reach, [1, 0.1, 0.03, 1])
    np.testing.assert_allclose(spent, [0, 1, 1.1, 0])


def test_what_a_chain_saves_is_the_sum_of_its_differences() -> None:
    """Where no two chains share more than one predicate, to the digit."""
    lists = [[0, 3], [1, 3], [2, 3, 4], [4, 5], [0, 5]]
    chains = _chains(lists, [0.1, 0.2, 0.3, 0.6, 0.7, 0.8], [1.0, 3.0, 1.0, 2.0, 1.0, 5.0])
    pairs = [
        [-cost_difference(chains, np.array([one]), np.array([other]))[0] for other in range(len(lists)) if other != one]
        for one in range(len(lists))
    ]
    np.testing.assert_allclose(total_saving(chains), np.sum(pairs, axis=1))


def test_a_greedy_path_has_no_forks_and_no_cycles() -> None:
    first, then = np.array([0, 1, 0, 2, 3, 4, 4]), np.array([1, 2, 2, 0, 2, 3, 0])
    assert greedy_path(5, first, then).tolist() == [1, 2, -1, -1, 3]


def _evaluations(workload: Workload, selectivity: np.ndarray, order: np.ndarray, predicate: np.ndarray) -> float:
    """The mean over some events, which are the same whatever the order."""
    random = np.random.default_rng(11)
    lists = Workload(workload.start, predicate, workload.predicates).lists()
    chains = [lists[each] for each in order]
    truths = random.random((20, workload.predicates)) < selectivity
    return float(np.mean([len(slow_planners.suborder(chains, truth)) for truth in truths.tolist()]))


def _complete_path(chains: Chains) -> np.ndarray:
    """The paper's graph, with an edge between any two chains."""
    one, other = np.triu_indices(chains.start.size - 1, 1)
    difference = cost_difference(chains, one, other)
    best = np.argsort(-np.abs(difference), kind="stable")
    best = best[difference[best] != 0]
    first, then = np.where(difference < 0, (one, other), (other, one))
    follower = greedy_path(chains.start.size - 1, first[best], then[best])
    saving, order = total_saving(chains), []
    for head in np.setdiff1d(np.arange(follower.size), follower):
        path = [int(head)]
        while follower[path[-1]] >= 0:
            path.append(int(follower[path[-1]]))
        order.append(path)
    order.sort(key=lambda path: -float(saving[path].mean()))
    return np.concatenate(order)


@pytest.mark.parametrize("zipf", [None, 1.0])
def test_orders_save_evaluations_and_need_no_complete_graph(zipf: float | None) -> None:
    arrival: list[float] = []
    complete: list[float] = []
    neighbours: list[float] = []
    summed: list[float] = []
    for seed in range(4):
        workload = generate(Setting(300, 120, 5, zipf), seed)
        selectivity = spread(workload, seed)
        cost = np.ones(workload.predicates)
        chains = sorted_chains(workload.start, workload.predicate, selectivity, cost)
        given_order = np.arange(workload.subscriptions)
        arrival.append(_evaluations(workload, selectivity, given_order, chains.predicate))
        complete.append(_evaluations(workload, selectivity, _complete_path(chains), chains.predicate))
        for found, path in ((neighbours, True), (summed, False)):
            order, predicate = chain_order(workload.start, workload.predicate, selectivity, cost, greedy_path=path)
            assert sorted(order.tolist()) == given_order.tolist()
            found.append(_evaluations(workload, selectivity, order, predicate))
    assert np.mean(neighbours) < np.mean(arrival)
    assert np.mean(neighbours) < 1.05 * np.mean(complete)
    assert np.mean(summed) < np.mean(neighbours)
    assert np.mean(summed) < np.mean(complete)


@pytest.mark.parametrize("path", [False, True])
def test_nothing_to_order(path: bool) -> None:
    none = np.zeros(0)
    order, predicate = chain_order(np.zeros(1, np.int64), none.astype(np.int32), none, none, greedy_path=path)
    assert order.size == predicate.size == 0
    order, _ = chain_order(np.array([0, 0, 1]), np.zeros(1, np.int32), np.ones(1), np.zeros(1), greedy_path=path)
    assert sorted(order.tolist()) == [0, 1]
