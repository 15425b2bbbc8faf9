"""The table of forecasts: each node by as much of the past as has been seen often enough, shrunk towards less of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.errors import InputError
from vedette.prediction.chain import Chain, by_arrivals, first_passage, power_sum
from vedette.prediction.counts import Weighed
from vedette.prediction.nodes import CONTEXT, STATE_MASK, Names, level_mask, state_number

Mode: TypeAlias = Literal["first passage", "paper"]


@dataclass(frozen=True, slots=True)
class Settings:
    """How forecasts are made."""

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


class Reason(NamedTuple):
    """What one level of the past says of a node: how often it was seen, and the probability shrunk so far."""

    seen_as: str
    weight: float
    probability: float


@dataclass(slots=True)
class Level:
    """The nodes as seen by so much of the past, and what each is worth."""

    seen_as: str
    mask: int
    chain: Chain
    values: NDArray[np.float64]

    def places(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Where nodes stand among those of this level, and whether they do."""
        own, seen = self.chain.nodes, nodes & self.mask
        if not own.size:
            return np.zeros(nodes.size, np.int64), np.zeros(nodes.size, np.bool_)
        place = np.minimum(np.searchsorted(own, seen), own.size - 1)
        return place, own[place] == seen


class Table:
    """The probability of completing within a number of events, for every node that was seen; never changes."""

    def __init__(self, moves: Weighed, names: Names, within: int, settings: Settings, *, aged: bool) -> None:
        self.within, self.moves = within, moves
        self._names = names
        chain = Chain.of(*moves, STATE_MASK)
        passage = first_passage(chain, names.depth(state_number(chain.nodes)), within, settings.smoothing)
        self._depths, self._states = passage.depths, passage.states
        masks = _masks(settings.context, aged)
        if settings.mode == "paper":
            self._depths, self._states = np.zeros((within + 1, 1)), power_sum(chain, by_arrivals(chain), within)
            masks = []
        self._levels = [Level("state", STATE_MASK, chain, self._states[-1])]
        for seen_as, mask in masks:
            longer = Chain.of(*moves, mask)
            self._levels.append(Level(seen_as, mask, longer, np.zeros(longer.nodes.size)))
        self._refine(settings.smoothing)

    def _refine(self, smoothing: float) -> None:
        """F_k(q, n) = (sum of N(q, next) F_k(next, n - 1) + a F_(k-1)(q, n)) / (N(q) + a), n by n.

        Only the last n is kept: there may be very many nodes.
        """
        longer = self._levels[1:]
        above = [shorter.places(level.chain.nodes)[0] for shorter, level in zip(self._levels, longer, strict=False)]
        for n in range(1, self.within + 1):
            shorter = self._states[n]
            for level, places in zip(longer, above, strict=True):
                shorter = level.values = level.chain.shrunk(level.values, shorter[places], smoothing)

    def probability(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The probability of completing within `within` more events, by the longest past that is known of each node."""
        distinct, which = np.unique(nodes, return_inverse=True)
        found = self._by_depth(distinct)[-1]
        for level in self._levels:
            place, known = level.places(distinct)
            found[known] = level.values[place[known]]
        return np.asarray(found[which.reshape(-1)])

    def curve(self, node: int) -> NDArray[np.float64]:
        """The probability of completing within 0, 1, … more events, by the state alone."""
        one = np.asarray([node], np.int64)
        place, known = self._levels[0].places(one)
        return np.asarray(self._states[:, place[0]] if known[0] else self._by_depth(one)[:, 0])

    def states(self) -> dict[int, NDArray[np.float64]]:
        """Signature of a state -> the probability of completing within 0, 1, … more events."""
        chain, values = self._levels[0].chain, self._states
        numbers = state_number(chain.nodes)
        # A state that was entered by completing is told apart in forecasts, and is not another state for people.
        shown = {int(numbers[place]): values[:, place] for place in np.argsort(~chain.hits, kind="stable").tolist()}
        named = {self._names.signature(number): curve for number, curve in shown.items()}
        return {signature: curve for signature, curve in named.items() if signature is not None}

    def reasons(self, node: int) -> list[Reason]:
        """Why a node has its probability: what each level of the past says, the shortest first."""
        one = np.asarray([node], np.int64)
        reasons = [Reason("depth", float("nan"), float(self._by_depth(one)[-1, 0]))]
        for level in self._levels:
            place, known = level.places(one)
            if known[0]:
                departures = float(level.chain.departures[place[0]])
                reasons.append(Reason(level.seen_as, departures, float(level.values[place[0]])))
        return reasons

    def _by_depth(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """What is said of nodes whose state was never seen: that of others which are as far."""
        if not self._depths.shape[1]:
            return np.zeros((self.within + 1, nodes.size))
        depths = self._names.depth(state_number(nodes))
        return np.asarray(self._depths[:, np.minimum(depths, self._depths.shape[1] - 1)])


def _masks(context: int, aged: bool) -> list[tuple[str, int]]:
    """More and more of the past, each with its name."""
    masks = [("state and age", level_mask(0, aged=True))] if aged else []
    for symbols in range(1, context + 1):
        masks.append((f"state{', age' * aged} and last {symbols}", level_mask(symbols, aged=aged)))
    return masks
