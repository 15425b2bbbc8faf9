"""Counts of a machine's moves from node to node, with exponential decay."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.patterns.forecasts.pattern_nodes import NodeNames, last_symbol
from vedette.patterns.packing import arrays_of, arrays_under

_FADED = 1e-3  # a weight below this no longer counts
MOST_MOVES: Final = 1_000_000  # distinct ones; beyond them the rarest are dropped
_WAITING = 1 << 17  # moves that are gathered before they are counted, or as many as are counted already
_UNITS = float(1 << 40)  # of a new move, where old ones fade: fewer than there can be in an integer by then


class WeightedMoves(NamedTuple):
    """Distinct moves, sorted by source, then target, with their weights."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]


def kinds_of(moves: WeightedMoves, names: NodeNames) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The kinds of events (symbols) of the moves, with their shares; without those that have no symbol of their own."""
    number, which = np.unique(last_symbol(moves.target), return_inverse=True)
    weight = np.bincount(which.reshape(-1), weights=moves.weight, minlength=number.size)
    symbols = [names.symbol(each) for each in number.tolist()]
    known = np.array([symbol is not None for symbol in symbols], np.bool_)
    share = weight[known] / max(float(weight.sum()), np.finfo(float).tiny)
    return np.array([symbol for symbol in symbols if symbol is not None], np.int64), share


class MoveCounts:
    """Weights of moves (source, target), sorted; after `horizon` events a move weighs 1/e of a new one.

    At most so many distinct moves are kept (MOST_MOVES), the heaviest. The way events are cut into batches makes no
    difference, to the last bit: old moves decay at events that are fixed in advance (`_until`), and until then new ones
    are added up in whole numbers.
    """

    def __init__(self, horizon: float | None = None, most: int | None = None) -> None:
        self.names = NodeNames()
        self.horizon, self.most = horizon, MOST_MOVES if most is None else most
        self.events = 0  # seen in all, whatever they weigh now
        self._source = np.zeros(0, np.int64)
        self._target = np.zeros(0, np.int64)
        self._weight = np.zeros(0, np.float64)  # of what came up to `_as_of`, a number of events, as it was then
        self._units = np.zeros(0, np.int64)  # of what came since, as it will be at `_until`
        self._as_of = self._until = 0
        self._waiting: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = []
        self._waits = 0  # moves that wait, about
        self.parts: list[MoveCounts] = []  # of the parts that are observed apart

    def with_parts(self, count: int) -> MoveCounts:
        """Add counts for so many parts, with the same decay; return itself."""
        self.parts += [MoveCounts() for _ in range(count - len(self.parts))]
        for part in self.parts:
            part.horizon, part.most = self.horizon, self.most
        return self

    def numbering(self) -> MoveCounts:
        """The same names, without counts."""
        made = MoveCounts(self.horizon, self.most)
        made.names = self.names.copy()
        made.parts = [part.numbering() for part in self.parts]
        return made

    @property
    def exhausted(self) -> bool:
        """Whether the whole or a part had more states or symbols than there are numbers for."""
        return self.names.exhausted or any(part.exhausted for part in self.parts)

    def add(self, source: NDArray[np.int64], target: NDArray[np.int64]) -> None:
        """Count moves, in the order of their events."""
        begin = 0
        while begin < source.size:
            if self._until <= self.events:
                period = max(_WAITING, self._source.size)
                self._until = self.events + (period if self.horizon is None else min(period, max(1, int(self.horizon))))
            end = min(begin + self._until - self.events, source.size)
            left = self._until - self.events - 1 - np.arange(end - begin)
            units = np.rint(self._faded(left) * self._one).astype(np.int64)
            self._waiting.append((source[begin:end], target[begin:end], units))
            self.events += end - begin
            if self.events == self._until:
                self._settle()
            begin = end
        self._waits += source.size
        if self._waits > max(_WAITING, self._source.size):
            self._gather()

    def moves(self) -> WeightedMoves:
        """All moves with their current weights."""
        self._gather()
        weight = self._weight * self._faded(self.events - self._as_of)
        if self._until > self.events:
            weight = weight + self._units / (self._one * self._faded(self._until - self.events))
        elif self._until == self.events:
            weight = weight + self._units / self._one
        kept = weight > _FADED
        if self._source.size > self.most:
            least = np.partition(weight, weight.size - self.most)[weight.size - self.most]
            more, as_much = weight > least, weight == least
            kept &= more | (as_much & (np.cumsum(as_much) <= self.most - more.sum()))
        if kept.all():
            return WeightedMoves(self._source, self._target, weight)
        return WeightedMoves(self._source[kept], self._target[kept], weight[kept])

    @property
    def weight(self) -> float:
        """The sum of the weights of all moves."""
        return float(self.moves().weight.sum())

    @property
    def by_parts(self) -> bool:
        """Whether the whole has too many states to be forecast, and each of its parts has counts."""
        return self.names.full and bool(self.parts) and all(part.events for part in self.parts)

    def fade(self, weight: float) -> None:
        """Reduce the total weight to at most this, so that new moves soon dominate."""
        self._settle()
        total = float(self._weight.sum())
        if total > weight:
            self._weight = self._weight * (weight / total)
        for part in self.parts:
            part.fade(weight)

    def __add__(self, other: MoveCounts) -> MoveCounts:
        """The sum of two counts: as if one had counted both."""
        both = MoveCounts(self.horizon, min(self.most, other.most))
        both.events = self.events + other.events
        both._as_of = both.events
        parts = []
        for part in (self, other):
            source, target, weight = part.moves()
            parts.append((*(part.names.renumbered(nodes, both.names) for nodes in (source, target)), weight))
        source, target, weight = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        both._source, both._target, both._weight = _summed(source, target, weight)
        both._units = np.zeros(both._source.size, np.int64)
        both._settle()
        both.parts = [
            (one or MoveCounts(self.horizon, both.most)) + (another or MoveCounts(self.horizon, both.most))
            for one, another in zip_longest(self.parts, other.parts)
        ]
        return both

    def _gather(self) -> None:
        """Add up moves that wait; this does not change any result."""
        if not self._waiting:
            return
        none = np.zeros(self._source.size, np.int64)
        parts = [(self._source, self._target, self._units), *self._waiting]
        source, target, units = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        weight = np.concatenate([self._weight, np.zeros(source.size - none.size)])
        self._source, self._target, self._units, self._weight = _summed(source, target, units, weight)
        self._waiting, self._waits = [], 0

    def _settle(self) -> None:
        """Apply the decay, and drop moves without weight, and the lightest of too many."""
        self._source, self._target, self._weight = self.moves()
        self._units = np.zeros(self._source.size, np.int64)
        self._as_of = self._until = self.events

    @property
    def _one(self) -> float:
        """The units of one whole move."""
        return 1.0 if self.horizon is None else _UNITS

    def _faded(self, events: Any) -> Any:
        return np.ones_like(events, np.float64) if self.horizon is None else np.exp(-events / self.horizon)

    def arrays(self, *, exact: bool = False) -> dict[str, NDArray[Any]]:
        """The moves as named arrays; with `exact`, as needed to continue counting."""
        arrays: dict[str, NDArray[Any]] = self.moves()._asdict()  # which has gathered what waits
        if exact:
            arrays = {"source": self._source, "target": self._target, "weight": self._weight, "units": self._units}
        for number, part in enumerate(self.parts):
            arrays |= arrays_under(f"part {number}", part.arrays(exact=exact))
        return arrays

    def plain(self, *, exact: bool = False) -> dict[str, Any]:
        """Everything else, for JSON."""
        plain: dict[str, Any] = {"events": self.events, "horizon": self.horizon, "names": self.names.as_plain()}
        if exact:
            plain |= {"as_of": self._as_of, "until": self._until}
        return {**plain, "parts": [part.plain(exact=exact) for part in self.parts]} if self.parts else plain

    @classmethod
    def restored(cls, plain: dict[str, Any], arrays: dict[str, NDArray[Any]], most: int | None = None) -> MoveCounts:
        """Restore what `plain` and `arrays` returned."""
        counts = cls(None if plain["horizon"] is None else float(plain["horizon"]), most)
        counts.names = NodeNames.from_plain(plain["names"])
        counts.events = int(plain["events"])
        counts._as_of, counts._until = int(plain.get("as_of", counts.events)), int(plain.get("until", counts.events))
        counts._source, counts._target = (np.array(arrays[name], np.int64) for name in ("source", "target"))
        counts._weight = np.array(arrays["weight"], np.float64)
        counts._units = np.array(arrays.get("units", np.zeros(counts._weight.size)), np.int64)
        if not counts._source.size == counts._target.size == counts._weight.size == counts._units.size:
            raise ValueError("sources, targets and weights do not belong together")
        for number, facts in enumerate(plain.get("parts", [])):
            counts.parts.append(cls.restored(facts, arrays_of(f"part {number}", arrays), most))
        return counts


def _summed(source: NDArray[np.int64], target: NDArray[np.int64], *columns: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Distinct moves, sorted, and the sums of the columns."""
    order = np.lexsort((target, source))
    source, target = source[order], target[order]
    begins = np.ones(source.size, np.bool_)
    begins[1:] = (source[1:] != source[:-1]) | (target[1:] != target[:-1])
    first = np.flatnonzero(begins)
    sums = [np.add.reduceat(column[order], first) if first.size else column for column in columns]
    return source[begins], target[begins], *sums
