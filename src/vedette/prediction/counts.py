"""How often a pattern's machine moved from which node to which, with old moves forgotten at a stated pace."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.prediction import named
from vedette.prediction.nodes import Names, last_symbol

_FADED = 1e-3  # a weight below this no longer counts
MOST_MOVES: Final = 1_000_000  # distinct ones; beyond them the rarest are dropped
_WAITING = 1 << 17  # moves that are gathered before they are counted, or as many as are counted already


class Weighed(NamedTuple):
    """Distinct moves, sorted by source, then target, and what each weighs."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]


def kinds_of(moves: Weighed, names: Names) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The kinds of events (symbols) that led on, and the share of each; those that look alike are left out."""
    number, which = np.unique(last_symbol(moves.target), return_inverse=True)
    weight = np.bincount(which.reshape(-1), weights=moves.weight, minlength=number.size)
    symbols = [names.symbol(each) for each in number.tolist()]
    known = np.array([symbol is not None for symbol in symbols], np.bool_)
    share = weight[known] / max(float(weight.sum()), np.finfo(float).tiny)
    return np.array([symbol for symbol in symbols if symbol is not None], np.int64), share


class Counts:
    """Weights of moves (source, target), sorted; `horizon` is after how many events a move weighs 1/e of a new one.

    Of distinct moves at most so many are kept (MOST_MOVES), the heaviest.
    """

    def __init__(self, horizon: float | None = None, most: int | None = None) -> None:
        self.names = Names()
        self.horizon, self.most = horizon, MOST_MOVES if most is None else most
        self.events = 0  # seen in all, whatever they weigh now
        self._source = np.zeros(0, np.int64)
        self._target = np.zeros(0, np.int64)
        self._weight = np.zeros(0, np.float64)
        self._as_of = 0  # the number of events at which the weights are right
        self._waiting: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], int]] = []
        self.parts: list[Counts] = []  # of the parts that are observed apart

    def with_parts(self, count: int) -> Counts:
        """Itself, with counts of so many parts, which forget as it does."""
        self.parts += [Counts() for _ in range(count - len(self.parts))]
        for part in self.parts:
            part.horizon, part.most = self.horizon, self.most
        return self

    def numbering(self) -> Counts:
        """The same names, and nothing counted."""
        made = Counts(self.horizon, self.most)
        made.names = self.names.copy()
        made.parts = [part.numbering() for part in self.parts]
        return made

    @property
    def exhausted(self) -> bool:
        """Whether there was more, of the whole or of a part, than can be told apart."""
        return self.names.exhausted or any(part.exhausted for part in self.parts)

    def add(self, source: NDArray[np.int64], target: NDArray[np.int64], age: NDArray[np.int64]) -> None:
        """Count moves; `age` says how many of these events come after each of them."""
        self.events += source.size
        weight = np.ones(source.size) if self.horizon is None else np.exp(-age / self.horizon)
        self._waiting.append((source, target, weight, self.events))
        if sum(part[0].size for part in self._waiting) > max(_WAITING, self._source.size):
            self._gather()

    def moves(self) -> Weighed:
        """All moves with their present weights."""
        self._gather()
        return Weighed(self._source, self._target, self._weight)

    @property
    def weight(self) -> float:
        """What all moves weigh together."""
        self._gather()
        return float(self._weight.sum())

    @property
    def by_parts(self) -> bool:
        """Whether there are too many states to forecast the whole, and something is known of each of its parts."""
        return self.names.full and bool(self.parts) and all(part.events for part in self.parts)

    def fade(self, weight: float) -> None:
        """Let everything so far weigh together no more than this, so that what comes now soon prevails."""
        total = self.weight
        if total > weight:
            self._weight = self._weight * (weight / total)
        for part in self.parts:
            part.fade(weight)

    def __add__(self, other: Counts) -> Counts:
        """What both have seen: as if one had counted for both."""
        both = Counts(self.horizon, min(self.most, other.most))
        both.events = self.events + other.events
        both._as_of = both.events
        for part in (self, other):
            source, target, weight = part.moves()
            source, target = (part.names.renumbered(nodes, both.names) for nodes in (source, target))
            both._waiting.append((source, target, weight, both.events))
        both._gather()
        both.parts = [
            (one or Counts(self.horizon, both.most)) + (another or Counts(self.horizon, both.most))
            for one, another in zip_longest(self.parts, other.parts)
        ]
        return both

    def _gather(self) -> None:
        if not self._waiting:
            return
        parts = [(self._source, self._target, self._weight, self._as_of), *self._waiting]
        weight = np.concatenate([part[2] * self._faded(self.events - part[3]) for part in parts])
        source, target = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
        order = np.lexsort((target, source))
        source, target, weight = source[order], target[order], weight[order]
        begins = np.ones(source.size, np.bool_)
        begins[1:] = (source[1:] != source[:-1]) | (target[1:] != target[:-1])
        source, target = source[begins], target[begins]
        weight = np.add.reduceat(weight, np.flatnonzero(begins)) if begins.size else weight
        kept = weight > _FADED
        if source.size > self.most:
            least = np.partition(weight, source.size - self.most)[source.size - self.most]
            more, as_much = weight > least, weight == least
            kept &= more | (as_much & (np.cumsum(as_much) <= self.most - more.sum()))
        self._source, self._target, self._weight = source[kept], target[kept], weight[kept]
        self._waiting, self._as_of = [], self.events

    def _faded(self, events: int) -> float:
        return 1.0 if self.horizon is None else float(np.exp(-events / self.horizon))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The moves as named arrays."""
        arrays: dict[str, NDArray[Any]] = self.moves()._asdict()
        for number, part in enumerate(self.parts):
            arrays |= named.under(f"part {number}", part.arrays())
        return arrays

    def plain(self) -> dict[str, Any]:
        """All else, as it can be written as JSON."""
        plain: dict[str, Any] = {"events": self.events, "horizon": self.horizon, "names": self.names.as_plain()}
        return {**plain, "parts": [part.plain() for part in self.parts]} if self.parts else plain

    @classmethod
    def restored(cls, plain: dict[str, Any], arrays: dict[str, NDArray[Any]], most: int | None = None) -> Counts:
        """What `plain` and `arrays` gave."""
        counts = cls(None if plain["horizon"] is None else float(plain["horizon"]), most)
        counts.names = Names.from_plain(plain["names"])
        counts.events = counts._as_of = int(plain["events"])
        counts._source, counts._target = (np.array(arrays[name], np.int64) for name in ("source", "target"))
        counts._weight = np.array(arrays["weight"], np.float64)
        if not counts._source.size == counts._target.size == counts._weight.size:
            raise ValueError("sources, targets and weights do not belong together")
        for number, facts in enumerate(plain.get("parts", [])):
            counts.parts.append(cls.restored(facts, named.of(f"part {number}", arrays), most))
        return counts
