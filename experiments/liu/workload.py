"""The workloads of Table 1 and §5.2, and how predicates come out, which the paper does not say.

Predicates come out independently of each other, in one of two ways; both make an event match 0.2 % of subscriptions:

- `equally_likely`: all with the same probability, so that selectivities tell a planner nothing;
- `spread`: u ** e, with u uniform in [0, 1]. Some predicates nearly always hold then and many nearly never, as those of
  real operators do.

`as_printed` comes nearest to the numbers that the paper prints: all predicates with the probability with which a
subscription of *mean* length matches 0.2 % of events. (Short ones match more often, so that an event matches 0.4 % of
all, and 1.2 % where lengths are 3 to 11.)

Tried as well, and farther from those numbers: probabilities uniform in [0, b]; growing or falling with popularity;
events that make some subscriptions' predicates true and all others false, or true by chance; events for which all is
true but for one predicate of each other subscription.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

MATCHED = 0.002  # of the subscriptions, by an event
SHORTEST = 3


@dataclass(frozen=True)
class Setting:
    """One row of Table 1; `zipf` is the exponent of the predicates' popularity, None: weights uniform in [0, 1]."""

    subscriptions: int
    predicates: int
    longest: int = 5
    zipf: float | None = None

    @property
    def popularity(self) -> str:
        """In words."""
        return "uniform" if self.zipf is None else f"Zipf {self.zipf:g}"

    @property
    def mean_length(self) -> float:
        """Lengths are uniform."""
        return (SHORTEST + self.longest) / 2


@dataclass(frozen=True)
class Workload:
    """Subscription i asks for predicates `predicate[start[i]:start[i + 1]]`, all different, in no order."""

    start: NDArray[np.int64]
    predicate: NDArray[np.int32]
    predicates: int

    @property
    def subscriptions(self) -> int:
        """How many there are."""
        return self.start.size - 1

    @property
    def owner(self) -> NDArray[np.int64]:
        """The subscription of each entry of `predicate`."""
        return np.repeat(np.arange(self.subscriptions), np.diff(self.start))

    @property
    def in_use(self) -> int:
        """Predicates that somebody asks for."""
        return np.unique(self.predicate).size

    def lists(self) -> list[list[int]]:
        """The predicates of each subscription."""
        cuts, flat = self.start.tolist(), self.predicate.tolist()
        return [flat[low:high] for low, high in pairwise(cuts)]

    def matched(self, truth: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The subscriptions all of whose predicates hold."""
        return np.logical_and.reduceat(truth[self.predicate], self.start[:-1])

    def chance(self, selectivity: NDArray[np.float64]) -> float:
        """The share of subscriptions that an event is expected to match."""
        return float(np.multiply.reduceat(selectivity[self.predicate], self.start[:-1]).mean())


def generate(setting: Setting, seed: int) -> Workload:
    """Subscriptions as §5.2 makes them."""
    random = np.random.default_rng(seed)
    if setting.zipf is None:
        weight = random.random(setting.predicates)
    else:
        weight = 1 / np.arange(1, setting.predicates + 1) ** setting.zipf
    upto = np.cumsum(weight) / weight.sum()
    upto[-1] = 1

    def draw(shape: tuple[int, ...]) -> NDArray[np.int64]:
        return np.searchsorted(upto, random.random(shape), side="right")

    length = random.integers(SHORTEST, setting.longest + 1, setting.subscriptions)
    drawn = draw((setting.subscriptions, setting.longest))
    for column in range(1, setting.longest):
        while (again := (drawn[:, column, None] == drawn[:, :column]).any(axis=1)).any():
            drawn[again, column] = draw((int(again.sum()),))
    start = np.zeros(setting.subscriptions + 1, np.int64)
    np.cumsum(length, out=start[1:])
    kept = drawn[np.arange(setting.longest) < length[:, None]]
    return Workload(start, kept.astype(np.int32), setting.predicates)


def as_printed(setting: Setting) -> NDArray[np.float64]:
    """All predicates alike, and right for the mean length."""
    return np.full(setting.predicates, MATCHED ** (1 / setting.mean_length))


def equally_likely(workload: Workload) -> NDArray[np.float64]:
    """All predicates alike."""
    return _powers(workload, np.full(workload.predicates, 0.5))


def spread(workload: Workload, seed: int) -> NDArray[np.float64]:
    """From nearly never to nearly always."""
    return _powers(workload, np.random.default_rng(seed).random(workload.predicates))


def _powers(workload: Workload, base: NDArray[np.float64]) -> NDArray[np.float64]:
    """base ** e, with an e that makes an event match 0.2 % of the subscriptions."""
    low, high = 1e-3, 1e3
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        too_many = workload.chance(base**middle) > MATCHED
        low, high = (middle, high) if too_many else (low, middle)
    return base**high
