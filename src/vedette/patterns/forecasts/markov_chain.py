"""The Markov chain of a pattern's machine: the probability of completing within n events, from every node.

Muthusamy 2010, §5.2, corrected: rows are divided by departures, and the final state absorbs (first passage). The chain
is that of the machine that looks for the pattern anywhere, so a broken match may begin again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vedette.patterns.forecasts.pattern_nodes import is_hit

_NOTHING: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Chain:
    """Nodes, and counts of their successors; a move to a node that `hits` completes the pattern."""

    nodes: NDArray[np.int64]  # sorted
    hits: NDArray[np.bool_]  # a node's event completed the pattern
    source: NDArray[np.int64]  # of each move, as a place among the nodes
    target: NDArray[np.int64]
    weight: NDArray[np.float64]
    departures: NDArray[np.float64]  # of each node

    @staticmethod
    def of(source: NDArray[np.int64], target: NDArray[np.int64], weight: NDArray[np.float64], mask: int) -> Chain:
        """The chain of moves, in whose nodes only the bits of the mask are used."""
        source, target = source & mask, target & mask
        nodes, where = np.unique(np.concatenate([source, target]), return_inverse=True)
        source, target = where[: source.size], where[source.size :]
        pairs, which = np.unique(source * max(1, nodes.size) + target, return_inverse=True)
        total = _summed(which.reshape(-1), weight, pairs.size)
        source, target = np.divmod(pairs, max(1, nodes.size))
        departures = _summed(source, total, nodes.size)
        return Chain(nodes, is_hit(nodes), source, target, total, departures)

    def onward(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each move, its weight times the value of its target, which is 1 if it completes the pattern."""
        return self.weight * np.where(self.hits, 1.0, values)[self.target]

    def shrunk(self, values: NDArray[np.float64], prior: NDArray[np.float64], smoothing: float) -> NDArray[np.float64]:
        """The value of each node one event earlier: its own moves, and the prior as additional observations."""
        own = _summed(self.source, self.onward(values), self.nodes.size)
        total = self.departures + smoothing
        return np.divide(own + smoothing * prior, total, out=np.array(prior, np.float64), where=total > 0)


@dataclass(frozen=True, slots=True)
class Passage:
    """The probability of a first completion within n events: `states[n]` by node, `depths[n]` by depth."""

    states: NDArray[np.float64]
    depths: NDArray[np.float64]


def first_passage(chain: Chain, depth: NDArray[np.int64], within: int, smoothing: float) -> Passage:
    """F(n) for every node and every n up to `within`; once it no longer rises, it stays as it is."""
    size = int(depth.max(initial=-1)) + 1
    states, depths = np.zeros((within + 1, chain.nodes.size)), np.zeros((within + 1, size))
    for n, (states[n], depths[n]) in enumerate(passages(chain, depth, within, smoothing)):
        if n and settled(within - n, [states[n] - states[n - 1], depths[n] - depths[n - 1]]):
            states[n:], depths[n:] = states[n], depths[n]
            break
    return Passage(states, depths)


def passages(
    chain: Chain, depth: NDArray[np.int64], within: int, smoothing: float
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """F(n) by node and by depth, for n from 0 on.

    A node's row is smoothed towards the row of all nodes of its depth, that one towards the row of all:
    (N_qr + a prior_r) / (sum of N_qj + a). So a node without departures has a row, too.
    """
    size = int(depth.max(initial=-1)) + 1
    state, by_depth = np.zeros(chain.nodes.size), np.zeros(size)
    yield state, by_depth
    left = _summed(depth, chain.departures, size)
    total = left.sum()
    for _ in range(within):
        onward = chain.onward(state)
        anywhere = onward.sum() / total if total > 0 else 0.0
        own = _summed(depth[chain.source], onward, size)
        rows = left + smoothing
        by_depth = np.divide(own + smoothing * anywhere, rows, out=np.full(size, anywhere, np.float64), where=rows > 0)
        state = chain.shrunk(state, by_depth[depth], smoothing)
        yield state, by_depth


def settled(left: int, rises: Sequence[NDArray[np.float64]]) -> bool:
    """Whether values that rise like this can no longer rise by a relevant amount in the remaining events.

    Every row of a chain sums to at most 1, so nothing rises more in one event than the most that anything rose in the
    one before.
    """
    return left * max(float(rise.max(initial=0.0)) for rise in rises) < _NOTHING


def by_departures(chain: Chain) -> NDArray[np.float64]:
    """The probability of each move, without smoothing: every row sums to 1."""
    return chain.weight / chain.departures[chain.source]


def by_arrivals(chain: Chain) -> NDArray[np.float64]:
    """The paper's figure for each move (§5.2.1): rows need not sum to 1, and a node without arrivals has none."""
    arrivals = _summed(chain.target, chain.weight, chain.nodes.size)[chain.source]
    return np.divide(chain.weight, arrivals, out=np.zeros_like(arrivals), where=arrivals > 0)


def power_sum(chain: Chain, moves: NDArray[np.float64], within: int) -> NDArray[np.float64]:
    """The paper's figure for "within n" (§5.2.2), by n and node: the sum of P^k over k <= n.

    It is no probability: a path that is in the final state at several k counts several times.
    """
    sums = np.zeros((within + 1, chain.nodes.size))
    for n in range(1, within + 1):
        worth = chain.hits + sums[n - 1]
        sums[n] = _summed(chain.source, moves * worth[chain.target], chain.nodes.size)
    return sums


def _summed(groups: NDArray[np.int64], weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """The sum of the weights of each group."""
    return np.asarray(np.bincount(groups, weights=weights, minlength=size), np.float64)
