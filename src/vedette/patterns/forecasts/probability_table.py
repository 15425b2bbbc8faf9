"""The table of forecasts: each node by as much of its past as has been seen often enough, shrunk towards less past.

Muthusamy 2010, §5.2, corrected: rows are divided by departures, and the final state absorbs (first passage). The chain
is that of the machine that looks for the pattern anywhere, so a broken match may begin again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.errors import InputError
from vedette.patterns.forecasts.counts import WeightedMoves
from vedette.patterns.forecasts.pattern_nodes import CONTEXT, STATE_MASK, NodeNames, is_hit, level_mask, state_number

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


Mode: TypeAlias = Literal["first passage", "paper"]


@dataclass(frozen=True, slots=True)
class ForecastSettings:
    """Settings of forecasts."""

    # Chosen on heat waves, learnt from the years before: the context on 2002 to 2004, the smoothing by the likelihood
    # of all forecasts of 2000 to 2004 and of 2002 to 2004, best with 30 among 10, 30, 100 and 300.
    context: int = 6  # so many of the last events refine a state
    smoothing: float = 30.0  # how often the shorter context counts as seen in the longer one
    horizon: float | None = 1e6  # learning online, a move weighs 1/e of a new one after so many events; None: as much
    mode: Mode = "first passage"

    def __post_init__(self) -> None:
        if not 0 <= self.context <= CONTEXT:
            raise InputError(f"a context of {self.context} events\nHint: from 0 to {CONTEXT}")
        if not self.smoothing >= 0:
            raise InputError(f"a smoothing of {self.smoothing}\nHint: 0 or more; 0 believes every single count")
        if self.horizon is not None and not self.horizon > 0:
            raise InputError(f"a horizon of {self.horizon} events\nHint: a number above 0, or None to forget nothing")
        if self.mode not in ("first passage", "paper"):
            raise InputError(
                f"{self.mode!r} is no mode\nHint: 'first passage', or 'paper' for the paper's own formulas"
            )


class ForecastReason(NamedTuple):
    """One level of the past of a node: how often it was seen, and the probability shrunk so far."""

    seen_as: str
    weight: float
    probability: float


@dataclass(slots=True)
class ContextLevel:
    """The nodes with so much of the past, and their values."""

    seen_as: str
    mask: int
    chain: Chain
    values: NDArray[np.float64]

    def places(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The places of nodes in this level, and whether they are in it."""
        own, seen = self.chain.nodes, nodes & self.mask
        if not own.size:
            return np.zeros(nodes.size, np.int64), np.zeros(nodes.size, np.bool_)
        place = np.minimum(np.searchsorted(own, seen), own.size - 1)
        return place, own[place] == seen


class ProbabilityTable:
    """The probability of completing within a number of events, for every node that was seen; immutable."""

    def __init__(
        self, moves: WeightedMoves, names: NodeNames, within: int, settings: ForecastSettings, *, aged: bool
    ) -> None:
        self.within, self.moves = within, moves
        self._names = names
        self._smoothing, self._mode = settings.smoothing, settings.mode
        chain = Chain.of(*moves, STATE_MASK)
        self._chain, self._depth = chain, names.depth(state_number(chain.nodes))
        masks = _masks(settings.context, aged) if settings.mode == "first passage" else []
        self._levels = [ContextLevel("state", STATE_MASK, chain, np.zeros(chain.nodes.size))]
        for seen_as, mask in masks:
            longer = Chain.of(*moves, mask)
            self._levels.append(ContextLevel(seen_as, mask, longer, np.zeros(longer.nodes.size)))
        if settings.mode == "paper":
            passage = self._passage
            self._depths, self._levels[0].values = passage.depths[-1], passage.states[-1]
        else:
            self._refine()

    def _refine(self) -> None:
        """F_k(q, n) = (sum of N(q, next) F_k(next, n - 1) + a F_(k-1)(q, n)) / (N(q) + a), n by n.

        Only the last n is kept: there may be very many nodes. Once nothing rises any more, values stay as they are.
        """
        first, *longer = self._levels
        above = [shorter.places(level.chain.nodes)[0] for shorter, level in zip(self._levels, longer, strict=False)]
        steps = passages(self._chain, self._depth, self.within, self._smoothing)
        first.values, self._depths = next(steps)
        for n, (values, depths) in enumerate(steps, 1):
            rises = [values - first.values, depths - self._depths]
            shorter = first.values = values
            self._depths = depths
            for level, places in zip(longer, above, strict=True):
                before = level.values
                shorter = level.values = level.chain.shrunk(before, shorter[places], self._smoothing)
                rises.append(shorter - before)
            if settled(self.within - n, rises):
                return

    @cached_property
    def _passage(self) -> Passage:
        """The full curves, computed only on request."""
        if self._mode == "paper":
            sums = power_sum(self._chain, by_arrivals(self._chain), self.within)
            return Passage(sums, np.zeros((self.within + 1, 1)))
        return first_passage(self._chain, self._depth, self.within, self._smoothing)

    def probability(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The probability of completing within `within` more events, by the longest past that is known of each node."""
        distinct, which = np.unique(nodes, return_inverse=True)
        found = self._by_depth(distinct)
        for level in self._levels:
            place, known = level.places(distinct)
            found[known] = level.values[place[known]]
        return np.asarray(found[which.reshape(-1)])

    def curve(self, node: int) -> NDArray[np.float64]:
        """The probability of completing within 0, 1, … more events, by the state alone."""
        one = np.asarray([node], np.int64)
        place, known = self._levels[0].places(one)
        if known[0]:
            return np.asarray(self._passage.states[:, place[0]])
        at = self._places_of_depth(one)
        return np.asarray(self._passage.depths[:, at[0]]) if at.size else np.zeros(self.within + 1)

    def states(self) -> dict[int, NDArray[np.float64]]:
        """Signature of a state -> the probability of completing within 0, 1, … more events."""
        chain, values = self._levels[0].chain, self._passage.states
        numbers = state_number(chain.nodes)
        # A state entered by completing is another node in forecasts, but the same state for people.
        shown = {int(numbers[place]): values[:, place] for place in np.argsort(~chain.hits, kind="stable").tolist()}
        named = {self._names.signature(number): curve for number, curve in shown.items()}
        return {signature: curve for signature, curve in named.items() if signature is not None}

    def reasons(self, node: int) -> list[ForecastReason]:
        """The reasons of a node's probability: each level of the past, the shortest first."""
        one = np.asarray([node], np.int64)
        reasons = [ForecastReason("depth", float("nan"), float(self._by_depth(one)[0]))]
        for level in self._levels:
            place, known = level.places(one)
            if known[0]:
                departures = float(level.chain.departures[place[0]])
                reasons.append(ForecastReason(level.seen_as, departures, float(level.values[place[0]])))
        return reasons

    def by_state(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How often the state of each node was seen, and the probability by it alone; 0 and 0 if it was not seen."""
        first = self._levels[0]
        place, known = first.places(nodes)
        if not first.values.size:
            return np.zeros(nodes.size), np.zeros(nodes.size)
        return np.where(known, first.chain.departures[place], 0.0), np.where(known, first.values[place], 0.0)

    def _by_depth(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The probability of nodes whose state was never seen: that of other states of the same depth."""
        places = self._places_of_depth(nodes)
        return np.array(self._depths[places]) if places.size else np.zeros(nodes.size)

    def _places_of_depth(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of the nodes' depths, or the nearest ones; nothing if nothing was learned."""
        if not self._depths.size:
            return np.zeros(0, np.int64)
        return np.asarray(np.minimum(self._names.depth(state_number(nodes)), self._depths.size - 1))


def _masks(context: int, aged: bool) -> list[tuple[str, int]]:
    """Masks for more and more of the past, each with its name."""
    masks = [("state and age", level_mask(0, aged=True))] if aged else []
    for symbols in range(1, context + 1):
        masks.append((f"state{', age' * aged} and last {symbols}", level_mask(symbols, aged=aged)))
    return masks
