"""The progress of a pattern as one integer (node): the state of its machine, completion, age, the last events.

From the highest bit down: the number of the state (13 bits), whether the last event completed the pattern (1), the age
of the most advanced partial match (7), and the last six symbols (7 each), the latest first. So clearing low bits hides
more of the past, and sorted nodes stay sorted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

CONTEXT = 6  # the most symbols that a node remembers

_SYMBOL_BITS = 7
_AGE_SHIFT = CONTEXT * _SYMBOL_BITS
_HIT_SHIFT = _AGE_SHIFT + 7
_STATE_SHIFT = _HIT_SHIFT + 1

_MOST_STATES = 8_000  # beyond these a state is known by its depth alone
_MOST_DEPTHS = 192
_MOST_SYMBOLS = 126  # beyond these all symbols look alike; 0 is "before the first event"
_OLDEST = 127
_MICROSECOND_OCTAVES = 2.0  # ages within a factor of the square root of 2 look alike

START = 0  # where every partition begins: nothing seen, no partial match (state 0 has the number 0)


def level_mask(symbols: int, *, aged: bool) -> int:
    """The bits of a node that are used at a level: its state, perhaps its age, so many of the last symbols."""
    hidden = (CONTEXT - symbols) * _SYMBOL_BITS
    mask = ~((1 << hidden) - 1)
    return mask if aged else mask & ~(_OLDEST << _AGE_SHIFT)


STATE_MASK = ~((1 << _HIT_SHIFT) - 1)


def is_hit(nodes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the event that led here completed the pattern."""
    return np.asarray((nodes >> _HIT_SHIFT) & 1, np.bool_)


def state_number(nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of the state, as `NodeNames` gave it."""
    return nodes >> _STATE_SHIFT


def fills(nodes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether a state has the last number, or came too late to have a number."""
    return state_number(nodes) >= _MOST_STATES - 1


def symbols_of(node: int) -> list[int]:
    """The numbers of the last symbols, the latest first, up to the first event."""
    found = [(node >> (_AGE_SHIFT - (back + 1) * _SYMBOL_BITS)) & _OLDEST for back in range(CONTEXT)]
    return found[: found.index(0)] if 0 in found else found


def last_symbol(nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of the latest symbol; 0 where none is remembered."""
    return (nodes >> (_AGE_SHIFT - _SYMBOL_BITS)) & _OLDEST


class _NumberIndex:
    """An index of numbers given before, sorted by key: lookups need no sorting."""

    def __init__(self) -> None:
        self._which, self._numbers = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def of(self, numbers: dict[int, int], asked: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """The number of each key; None if some have none. `numbers` only grow."""
        if not numbers or not asked.size:
            return None
        if self._which.size != len(numbers):
            which = np.fromiter(numbers, np.int64, len(numbers))
            order = np.argsort(which)
            self._which, self._numbers = which[order], np.fromiter(numbers.values(), np.int64, which.size)[order]
        place = np.minimum(np.searchsorted(self._which, asked), self._which.size - 1)
        return self._numbers[place] if bool((self._which[place] == asked).all()) else None


class NodeNames:
    """The numbers of a pattern's states and symbols in its nodes, in the order in which they were first seen."""

    def __init__(self) -> None:
        self._states: dict[int, int] = {0: 0}
        self._depths: list[int] = [0]
        self._symbols: dict[int, int] = {}
        self._known_states, self._known_symbols = _NumberIndex(), _NumberIndex()

    @property
    def states(self) -> list[int]:
        """The signature of each numbered state."""
        return list(self._states)

    @property
    def full(self) -> bool:
        """Whether there are at least as many states as numbers."""
        return len(self._states) >= _MOST_STATES

    @property
    def exhausted(self) -> bool:
        """Whether some state or symbol may have come too late to get a number."""
        return self.full or len(self._symbols) >= _MOST_SYMBOLS

    def signature(self, number: int) -> int | None:
        """The signature of a state; None if only its depth is known."""
        return self.states[number] if number < len(self._states) else None

    def depth(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of steps taken by the most advanced partial match of a state."""
        known = np.asarray(self._depths, np.int64)
        return np.where(numbers < _MOST_STATES, known[np.minimum(numbers, known.size - 1)], numbers - _MOST_STATES)

    def number_states(self, states: NDArray[np.int64], depths: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """The number of each state; new ones get the next, and when there is none left, that of their depth."""
        known = self._known_states.of(self._states, states)
        if known is not None:
            return known
        distinct, first, which = np.unique(states, return_index=True, return_inverse=True)
        numbers = np.empty(distinct.size, np.int64)
        for place in np.argsort(first, kind="stable").tolist():
            signature, depth = int(distinct[place]), int(depths[first[place]])
            number = self._states.get(signature, -1)
            if number < 0 and len(self._states) < _MOST_STATES:
                number = self._states[signature] = len(self._states)
                self._depths.append(depth)
            numbers[place] = number
        found = numbers[which.reshape(-1)]
        # By its own depth, not by that of the first that is like it here: how events are cut makes no difference.
        return np.where(found < 0, _MOST_STATES + np.minimum(depths, _MOST_DEPTHS - 1), found)

    def number_symbols(self, symbols: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of each symbol, from 1; new ones get the next."""
        known = self._known_symbols.of(self._symbols, symbols)
        if known is not None:
            return known
        distinct, first, which = np.unique(symbols, return_index=True, return_inverse=True)
        numbers = np.empty(distinct.size, np.int64)
        for place in np.argsort(first, kind="stable").tolist():
            symbol = int(distinct[place])
            if symbol not in self._symbols and len(self._symbols) < _MOST_SYMBOLS:
                self._symbols[symbol] = len(self._symbols) + 1
            numbers[place] = self._symbols.get(symbol, _MOST_SYMBOLS + 1)
        return numbers[which.reshape(-1)]

    def symbol(self, number: int) -> int | None:
        """The symbol of a number; None for those that share one."""
        return list(self._symbols)[number - 1] if 1 <= number <= len(self._symbols) else None

    def renumbered(self, nodes: NDArray[np.int64], other: NodeNames) -> NDArray[np.int64]:
        """Nodes with these names, converted to the names of `other` (which adds unknown ones)."""
        numbers = state_number(nodes)
        numbered = numbers < _MOST_STATES
        signatures = np.asarray(self.states, np.int64)
        states = other.number_states(signatures, np.asarray(self._depths))
        new = np.where(numbered, states[np.where(numbered, numbers, 0)], numbers)
        symbols = np.zeros(_MOST_SYMBOLS + 2, np.int64)
        symbols[-1] = _MOST_SYMBOLS + 1
        if self._symbols:
            own = np.asarray(list(self._symbols), np.int64)
            symbols[1 : own.size + 1] = other.number_symbols(own)
        context = np.zeros_like(nodes)
        for back in range(CONTEXT):
            shift = back * _SYMBOL_BITS
            context |= symbols[(nodes >> shift) & _OLDEST] << shift
        between = nodes & ((1 << _STATE_SHIFT) - (1 << _AGE_SHIFT))
        return (new << _STATE_SHIFT) | between | context

    def copy(self) -> NodeNames:
        """An independent copy."""
        return NodeNames.from_plain(self.as_plain())

    def as_plain(self) -> dict[str, list[int]]:
        """Lists for JSON."""
        return {"states": list(self._states), "depths": list(self._depths), "symbols": list(self._symbols)}

    @classmethod
    def from_plain(cls, plain: dict[str, list[int]]) -> NodeNames:
        """Restore what `as_plain` returned."""
        names = cls()
        names._states = {int(state): number for number, state in enumerate(plain["states"])}
        names._depths = [int(depth) for depth in plain["depths"]]
        names._symbols = {int(symbol): number for number, symbol in enumerate(plain["symbols"], 1)}
        if len(names._depths) != len(names._states) or plain["states"][:1] != [0]:
            raise ValueError("states and depths do not belong together")
        return names


def age_bucket(ages: NDArray[np.int64]) -> NDArray[np.int64]:
    """Ages in microseconds as numbers from 1, on a logarithmic scale; 0 where there is no partial match."""
    scaled = np.log2(np.maximum(ages, 1).astype(np.float64)) * _MICROSECOND_OCTAVES
    return np.where(ages < 0, 0, np.minimum(scaled.astype(np.int64) + 1, _OLDEST))


def node_of(
    states: NDArray[np.int64], hits: NDArray[np.bool_], ages: NDArray[np.int64], context: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The node of each row, from numbers of states, hits, buckets of ages, and contexts."""
    return (states << _STATE_SHIFT) | (hits.astype(np.int64) << _HIT_SHIFT) | (ages << _AGE_SHIFT) | context


def contexts(
    symbols: NDArray[np.int64], back: NDArray[np.int64], before: NDArray[np.int64], length: int
) -> NDArray[np.int64]:
    """The last `length` symbols of each row, packed; rows of a partition follow each other.

    `back` is the number of rows of the same partition before a row, `before` the remembered context of its partition.
    """
    packed = np.zeros(symbols.size, np.int64)
    if length == 0:
        return packed
    for steps in range(length):
        shift = _AGE_SHIFT - (steps + 1) * _SYMBOL_BITS
        reach = back >= steps
        source = symbols if steps == 0 else np.concatenate([symbols[:steps], symbols[:-steps]])[: symbols.size]
        packed |= np.where(reach, source << shift, 0)
    older = np.where(back + 1 < CONTEXT, before >> (_SYMBOL_BITS * np.minimum(back + 1, CONTEXT)), 0)
    return (packed | older) & level_mask(length, aged=False) & ((1 << _AGE_SHIFT) - 1)


def context_of(nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The packed symbols of a node."""
    return nodes & ((1 << _AGE_SHIFT) - 1)
