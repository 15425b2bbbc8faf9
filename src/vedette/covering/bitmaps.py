"""Bitmaps that exclude boxes which certainly miss a box, 64 boxes at a time.

A dimension in which enough boxes are constrained has cut points, quantiles of where these begin and end. For each cut
there is a bitmap of the boxes that begin at or after it, and one of those that end at or before it. A box misses those
that begin after the first cut behind its end, or end before the last cut in front of its beginning: two bitmaps a
dimension. A box that is not constrained in a dimension has no bit there, so the rest costs nothing.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.covering.boxes import Box
from vedette.covering.kernels.cover_bitmaps import BoxEntries
from vedette.covering.order_labels import FIRST, HIGHEST, Relabelling

MOST_CUTS = 64
FEWEST = 64  # boxes constrained in a dimension that make cuts worth while
_PER_CUT = 8  # ends of boxes, at least
_RARE = 64  # a dimension that less than one of so many boxes is constrained in has no bitmaps

Words: TypeAlias = NDArray[np.uint64]


@dataclass(slots=True)
class _Cuts:
    """One dimension: a row of bits for every cut."""

    cuts: list[int]
    late: Words  # begins at or after the cut
    early: Words  # ends at or before the cut
    constrained: Words


class Bitmaps:
    """Bitmaps of boxes 0 … `room` - 1; cuts are chosen once, from the boxes present at first."""

    def __init__(self, entries: BoxEntries, size: int, room: int) -> None:
        words = (room + 63) // 64
        self._dimensions: dict[int, _Cuts] = {}
        used = entries.start[size]
        dimension = entries.dimension[:used]
        counts = np.bincount(dimension)
        box = np.repeat(np.arange(size), np.diff(entries.start[: size + 1]))
        for number in np.flatnonzero(counts >= max(FEWEST, size / _RARE)).tolist():
            here = np.flatnonzero(dimension == number)
            cuts = _quantiles(entries.low[here], entries.high[here])
            if cuts:
                made = [_bits(box[here], words, entries.low[here] >= cut) for cut in cuts]
                ended = [_bits(box[here], words, entries.high[here] <= cut) for cut in cuts]
                self._dimensions[number] = _Cuts(cuts, np.array(made), np.array(ended), _bits(box[here], words))

    @property
    def nbytes(self) -> int:
        """The bytes of all bitmaps."""
        return sum(one.late.nbytes + one.early.nbytes + one.constrained.nbytes for one in self._dimensions.values())

    def note(self, number: int, box: Box) -> None:
        """Set the bits of a box that was added later."""
        word, bit = number // 64, np.uint64(1 << (number % 64))
        for dimension, low, high in zip(box.dimensions, box.low, box.high, strict=True):
            found = self._dimensions.get(dimension)
            if found is not None:
                found.late[: bisect_right(found.cuts, low), word] |= bit
                found.early[bisect_left(found.cuts, high) :, word] |= bit
                found.constrained[word] |= bit

    def leave_out(self, box: Box, useless: NDArray[np.bool_], among: Words) -> None:
        """Clear the bits of boxes that miss this one, or are constrained in a dimension where they are of no use."""
        missed = np.zeros_like(among)
        asked = zip(box.dimensions, box.low, box.high, strict=True)
        for found, low, high in ((self._dimensions.get(dimension), low, high) for dimension, low, high in asked):
            if found is None:
                continue
            behind = bisect_left(found.cuts, high)
            if behind < len(found.cuts):
                missed |= found.late[behind, : len(among)]
            before = bisect_right(found.cuts, low) - 1
            if before >= 0:
                missed |= found.early[before, : len(among)]
        for dimension, found in self._dimensions.items():
            if useless[dimension]:
                missed |= found.constrained[: len(among)]
        np.bitwise_and(among, ~missed, out=among)

    def renumber(self, dimension: int, move: Relabelling) -> None:
        """Renumber the labels of a dimension, whose order is unchanged."""
        found = self._dimensions.get(dimension)
        if found is not None:
            found.cuts = move.moved(np.array(found.cuts, np.int64)).tolist()


def _quantiles(low: NDArray[np.int64], high: NDArray[np.int64]) -> list[int]:
    ends = np.concatenate((low[low > FIRST], high[high < HIGHEST]))
    ends.sort()
    count = min(MOST_CUTS, len(ends) // _PER_CUT)
    if not count:
        return []
    chosen: list[int] = np.unique(ends[(np.arange(count) * len(ends)) // count + len(ends) // (2 * count)]).tolist()
    return chosen


def _bits(boxes: NDArray[np.int64], words: int, chosen: NDArray[np.bool_] | None = None) -> Words:
    marked = np.zeros(64 * words, np.bool_)
    marked[boxes if chosen is None else boxes[chosen]] = True
    return np.packbits(marked, bitorder="little").view(np.uint64)
