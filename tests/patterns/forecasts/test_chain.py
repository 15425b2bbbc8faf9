"""What is wrong in the paper's formulas, and what is right."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from experiments.muthusamy.paper_formulas import by_departures, expiring, paper_both, paper_either, paper_then
from vedette.patterns.forecasts.part_completion import both, either, then
from vedette.patterns.forecasts.pattern_nodes import STATE_MASK, node_of
from vedette.patterns.forecasts.probability_table import (
    Chain,
    by_arrivals,
    first_passage,
    passages,
    power_sum,
)

DONE = 99  # where a chain has completed


def node(state: int) -> int:
    """The node of a state; the final one is entered by completing."""
    states = np.array([state], np.int64)
    return int(node_of(states, states == DONE, np.zeros(1, np.int64), np.zeros(1, np.int64))[0])


def chain(moves: Mapping[tuple[int, int], float]) -> Chain:
    """The chain of these moves."""
    source, target = (np.array([node(move[side]) for move in moves], np.int64) for side in (0, 1))
    return Chain.of(source, target, np.array(list(moves.values())), STATE_MASK)


def within(one: Chain, state: int, n: int, smoothing: float = 0.0) -> float:
    """The probability of completing within n events."""
    passage = first_passage(one, np.zeros(one.nodes.size, np.int64), n, smoothing)
    return float(passage.states[n, np.searchsorted(one.nodes, node(state))])


def curve(p: float, n: int) -> NDArray[np.float64]:
    """Waiting for an event that comes with probability p."""
    return np.asarray(1 - (1 - p) ** np.arange(n + 1), np.float64)


def streak(p: float, *, restart: bool) -> Chain:
    """Five in a row, each with probability p; a streak that breaks begins again, or never."""
    moves: dict[tuple[int, int], float] = {}
    for length in range(5):
        moves[length, DONE if length == 4 else length + 1] = p
        moves[length, 0 if restart else 50] = 1 - p
    return chain({**moves, (50, 50): 1.0, (DONE, DONE): 1.0})


def test_the_sum_of_powers_is_no_probability() -> None:
    waiting = chain({(0, DONE): 0.1, (0, 0): 0.9, (DONE, DONE): 1.0})
    at = np.searchsorted(waiting.nodes, node(0))
    assert power_sum(waiting, by_departures(waiting), 10)[10, at] == pytest.approx(4.14, abs=0.005)
    assert within(waiting, 0, 10) == pytest.approx(0.651, abs=0.0005)
    assert within(waiting, 0, 10) == pytest.approx(1 - 0.9**10)


def test_a_broken_match_begins_again() -> None:
    assert within(streak(0.9, restart=False), 1, 20) == pytest.approx(0.656, abs=0.0005)
    assert within(streak(0.9, restart=True), 1, 20) == pytest.approx(0.995, abs=0.0005)


def test_rows_are_divided_by_departures() -> None:
    """A hundred partitions of two events each: the start is left a hundred times, and entered only twenty times."""
    moves = chain({(0, 1): 80.0, (0, 0): 20.0, (1, DONE): 40.0, (1, 0): 40.0})
    rows = {
        name: np.bincount(moves.source, weights=values)[np.searchsorted(moves.nodes, node(0))]
        for name, values in (("paper", by_arrivals(moves)), ("mended", by_departures(moves)))
    }
    assert rows == {"paper": pytest.approx(100 / 60), "mended": pytest.approx(1.0)}
    never_entered = chain({(0, DONE): 5.0, (0, 1): 5.0, (1, 1): 3.0})
    assert power_sum(never_entered, by_arrivals(never_entered), 1)[1].max() == 0.0
    assert within(never_entered, 0, 1) == 0.5


def test_or_is_no_sum_and_and_is_no_product_of_exactly() -> None:
    """Of every event: a with 0.3, b with 0.2, never both. The truth is that of the trained product of the two."""
    n, a, b = 5, curve(0.3, 5), curve(0.2, 5)
    one_of_them = chain({(0, DONE): 0.5, (0, 0): 0.5})
    both_of_them = chain(
        {(0, 1): 0.3, (0, 2): 0.2, (0, 0): 0.5, (1, DONE): 0.2, (1, 1): 0.8, (2, DONE): 0.3, (2, 2): 0.7}
    )
    assert paper_either(a, b)[n] == pytest.approx(1.50, abs=0.005)
    assert within(one_of_them, 0, n) == pytest.approx(0.969, abs=0.0005)
    assert paper_both(a, b)[n] == pytest.approx(0.0059, abs=0.00005)
    assert within(both_of_them, 0, n) == pytest.approx(0.536, abs=0.0006)
    for combined, truth in ((either(a, b), one_of_them), (both(a, b), both_of_them)):
        for steps in range(n + 1):
            assert combined.low[steps] - 1e-12 <= within(truth, 0, steps) <= combined.high[steps] + 1e-12
            assert combined.low[steps] - 1e-12 <= combined.independent[steps] <= combined.high[steps] + 1e-12
    assert either(a, b).independent[n] == pytest.approx(1 - 0.7**5 * 0.8**5)
    assert both(a, b).independent[n] == pytest.approx((1 - 0.7**5) * (1 - 0.8**5))


def test_one_after_the_other() -> None:
    n = 8
    sequence = chain({(0, 1): 0.3, (0, 0): 0.7, (1, DONE): 0.2, (1, 1): 0.8})
    assert then(curve(0.3, n), curve(0.2, n))[n] == pytest.approx(within(sequence, 0, n))
    exactly = within(sequence, 0, n) - within(sequence, 0, n - 1)
    assert paper_then(curve(0.3, n), curve(0.2, n))[n] == pytest.approx(exactly)


def test_a_match_that_expires_loses_its_probability() -> None:
    waiting = curve(0.1, 10)
    surely_three = np.array([0.0, 0.0, 0.0, 1.0])
    assert expiring(waiting, surely_three)[10] == pytest.approx(waiting[3])
    assert expiring(waiting, surely_three)[2] == pytest.approx(waiting[2])
    assert expiring(waiting, np.array([1.0]))[10] == 0.0
    halves = np.array([0.5, 0.0, 0.5])
    assert expiring(waiting, halves)[10] == pytest.approx(0.5 * waiting[2])


@pytest.mark.parametrize("seed", range(20))
def test_first_passage_is_one_minus_the_power_of_the_other_states(seed: int) -> None:
    """F_q(n) = 1 - e_q Q^n 1, with rows (N_qr + a prior_r) / (sum of N_qj + a)."""
    random = np.random.default_rng(seed)
    states, smoothing, n = 6, float(random.choice([0.5, 3.0])), 7
    counts = random.integers(0, 5, (states, states + 1)).astype(np.float64)  # the last column completes
    counts[0, 0] += 1
    moves = {
        (q, DONE if r == states else r): counts[q, r]
        for q in range(states)
        for r in range(states + 1)
        if counts[q, r] > 0
    }
    made = chain(moves)
    prior = counts.sum(axis=0) / counts.sum()
    depth_row = (counts.sum(axis=0) + smoothing * prior) / (counts.sum() + smoothing)
    rows = (counts + smoothing * depth_row) / (counts.sum(axis=1, keepdims=True) + smoothing)
    # The final state is left in the same way as any state that was never left.
    expected = 1 - np.linalg.matrix_power(rows[:, :states], n).sum(axis=1)
    for state in {q for q, _ in moves}:
        assert within(made, state, n, smoothing) == pytest.approx(expected[state])


def test_a_chain_without_moves_says_nothing() -> None:
    empty = Chain.of(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), STATE_MASK)
    passage = first_passage(empty, np.zeros(0, np.int64), 3, 10.0)
    assert passage.states.shape == (4, 0)


@pytest.mark.parametrize("seed", range(4))
def test_far_horizons_are_cut_short_where_nothing_rises_any_more(seed: int) -> None:
    """Against the same, event by event, up to the end."""
    random = np.random.default_rng(seed)
    names = [*range(6), DONE]
    rarely = 0.001 if seed % 2 else 1.0  # then it rises up to the end
    moves = {(a, b): random.random() * (rarely if b == DONE else 1.0) for a in range(6) for b in names}
    one = chain({**moves, (DONE, DONE): 1.0})
    depth = np.minimum(np.arange(one.nodes.size), 3)
    far, smoothing = 2_000, 3.0
    passage = first_passage(one, depth, far, smoothing)
    for n, (states, depths) in enumerate(passages(one, depth, far, smoothing)):
        assert passage.states[n] == pytest.approx(states, abs=1e-11)
        assert passage.depths[n] == pytest.approx(depths, abs=1e-11)
    assert n == far
