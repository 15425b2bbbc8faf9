"""Numbers (labels) for texts and addresses, in their order, with gaps for later ones."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LOWEST, HIGHEST = -(2**63), 2**63 - 1  # a missing value; above every number
FIRST = LOWEST + 1  # the first number of a value

_STRIDE = 2**40  # between neighbours at either end
_EVEN = 2**44  # between neighbours after renumbering


class Relabelling(NamedTuple):
    """The former numbers of keys, ascending, and the new ones."""

    old: NDArray[np.int64]
    new: NDArray[np.int64]

    def moved(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Ends of intervals after the move; ends that are no key's label stay."""
        place = np.minimum(np.searchsorted(self.old, numbers), len(self.old) - 1)
        return np.where(self.old[place] == numbers, self.new[place], numbers)


class OrderLabels:
    """Every key that bounds an interval has a number above FIRST and below HIGHEST, in the order of the keys.

    No interval begins or ends between two neighbours: a text there has the number of the key below it.
    """

    def __init__(self) -> None:
        self._keys: list[bytes] = []
        self._numbers: list[int] = []
        self._number: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, key: bytes) -> int:
        return self._number[key]

    def add(self, keys: Iterable[bytes]) -> Relabelling | None:
        """Number new keys; return the moves of others, if a gap was used up."""
        move: Relabelling | None = None
        for key in keys:
            if key not in self._number and not self._squeeze(key):
                move = _joined(move, self._spread())
                self._squeeze(key)
        return move

    def at(self, key: bytes) -> int:
        """The number of any key: that of the nearest known one that is not above it."""
        place = bisect_right(self._keys, key)
        return self._numbers[place - 1] if place else FIRST

    def key_at(self, number: int) -> bytes | None:
        """The known key for a number between it and its neighbour; None below all of them."""
        place = bisect_right(self._numbers, number)
        return self._keys[place - 1] if place else None

    def _squeeze(self, key: bytes) -> bool:
        place = bisect_left(self._keys, key)
        below = self._numbers[place - 1] if place else FIRST
        above = self._numbers[place] if place < len(self._numbers) else HIGHEST
        if above - below < 2:
            return False
        number = (below + above) // 2
        if place == len(self._keys):
            number = min(number, below + _STRIDE) if place else 0
        elif not place:
            number = max(number, above - _STRIDE)
        self._keys.insert(place, key)
        self._numbers.insert(place, number)
        self._number[key] = number
        return True

    def _spread(self) -> Relabelling:
        """Number all keys anew, evenly."""
        old = np.array(self._numbers, np.int64)
        step = min(_EVEN, (HIGHEST - FIRST) // (len(old) + 2))
        begin = -(len(old) // 2) * step
        new = begin + step * np.arange(len(old), dtype=np.int64)
        self._numbers = new.tolist()
        self._number = dict(zip(self._keys, self._numbers, strict=True))
        return Relabelling(old, new)


def _joined(first: Relabelling | None, then: Relabelling) -> Relabelling:
    """Two moves, one after the other; keys added in between were unknown before."""
    return then if first is None else Relabelling(first.old, then.moved(first.new))
