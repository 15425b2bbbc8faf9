"""Cells: the keys by which Spark joins disjuncts, so that two disjuncts make one pair.

A design is one to three axes; its cells are products of their bins. A disjunct is in every cell that it touches. Two
that share several cells count in the lowest only: a key has a bit for every axis that is set where the cell is the
lowest of the disjunct, and the pair counts where each bit is set by one of the two. A disjunct that is wide on an axis
is in one cell for all of its bins; those that it is joined with know that by the masks of the other side.

    key = path (15 bits) | coordinates (45 bits) | lowest (3 bits)        path = design, mask here, mask there
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vedette.spark.meeting.axes import COORDINATES, BinAxis, BinReach, reach
from vedette.spark.meeting.terms import TermColumns

LOWEST = 3  # bits
ALL_LOWEST = (1 << LOWEST) - 1
PATHS = 1 << (63 - COORDINATES - LOWEST)
CellKeys = tuple[NDArray[np.int64], NDArray[np.int64]]  # disjunct and key, in step


@dataclass(frozen=True, slots=True)
class CellDesign:
    """Up to three axes, and the masks (bit i: wide on axis i) that disjuncts of both sides may have."""

    axes: tuple[BinAxis, ...]
    attributes: frozenset[int]  # all of which a disjunct must have
    masks: tuple[tuple[int, ...], tuple[int, ...]] = ((0,), (0,))
    path: int = 0  # the first of its paths

    @property
    def paths(self) -> int:
        """Number of paths."""
        return len(self.masks[0]) * len(self.masks[1])

    def reaches(self, columns: Sequence[TermColumns], rows: NDArray[np.int64]) -> list[BinReach]:
        """The bins of each axis that some disjuncts touch, all of which have its attributes."""
        return [reach(axis, columns[axis.attribute]).at(rows) for axis in self.axes]

    def keys(self, columns: Sequence[TermColumns], rows: NDArray[np.int64], side: int) -> CellKeys:
        """The keys of disjuncts of one side (0: publications)."""
        found = self.reaches(columns, rows)
        natural = wide_masks(found) if found else np.zeros(len(rows), np.int64)
        mask = allowed_masks(natural, self.masks[side])
        listed = sorted({position for one in found for position in one.lists})
        plain = np.ones(len(rows), np.bool_)
        plain[listed] = False
        made: list[CellKeys] = []
        for mine, own in enumerate(self.masks[side]):
            some = np.flatnonzero(mask == own)
            if not len(some):
                continue
            for theirs, other in enumerate(self.masks[1 - side]):
                here = (mine, theirs) if side == 0 else (theirs, mine)
                path = self.path + here[0] * len(self.masks[1]) + here[1]
                of_boxes = some[plain[some]]
                row, key = _box_keys(found, of_boxes, own | other)
                made.append((rows[row], key | path << (COORDINATES + LOWEST)))
                for position in some[~plain[some]].tolist():
                    key = _list_keys(found, position, own | other)
                    made.append((np.full(len(key), rows[position]), key | path << (COORDINATES + LOWEST)))
        return _joined(made)


def wide_masks(found: Sequence[BinReach]) -> NDArray[np.int64]:
    """On which axes disjuncts are wide, as bits."""
    mask = np.zeros(len(found[0].row) if found else 0, np.int64)
    for number, one in enumerate(found):
        mask |= one.wide.astype(np.int64) << number
    return mask


def allowed_masks(masks: NDArray[np.int64], known: Sequence[int]) -> NDArray[np.int64]:
    """The nearest masks that the other side knows: a disjunct may always be in all cells that it touches."""
    best = [
        max((mask for mask in known if mask & ~natural == 0), key=int.bit_count) for natural in range(ALL_LOWEST + 1)
    ]
    return np.array(best, np.int64)[masks]


def sizes(found: Sequence[BinReach], mask: int) -> NDArray[np.int64]:
    """Number of cells of each disjunct, if all are wide on the axes of the mask."""
    total = np.ones(len(found[0].row), np.int64)
    for number, one in enumerate(found):
        if not mask >> number & 1:
            size = one.high - one.low + 1
            for position, bins in one.lists.items():
                size[position] = len(bins)
            total *= size
    return total


def _box_keys(found: Sequence[BinReach], some: NDArray[np.int64], mask: int) -> CellKeys:
    """Positions and keys of disjuncts that touch a range of bins on every axis."""
    used = [number for number in range(len(found)) if not mask >> number & 1]
    spread = [(found[number].high - found[number].low + 1)[some] for number in used]
    total = np.ones(len(some), np.int64)
    for size in spread:
        total *= size
    at = np.repeat(np.arange(len(some)), total)
    inside = np.arange(len(at)) - np.repeat(np.cumsum(total) - total, total)
    lowest = np.full(len(at), ALL_LOWEST, np.int64)
    key = np.zeros(len(at), np.int64)
    room = COORDINATES // max(1, len(found))
    for number, size in zip(used, spread, strict=True):
        step = inside % size[at]
        inside //= size[at]
        key |= (found[number].low[some][at] + step) << (room * number + LOWEST)
        lowest ^= (step > 0).astype(np.int64) << number
    return some[at], key | lowest


def _list_keys(found: Sequence[BinReach], position: int, mask: int) -> NDArray[np.int64]:
    """Keys of a disjunct with lists of values; its cells all count as lowest, so a pair may come several times."""
    room = COORDINATES // max(1, len(found))
    choices: list[list[int]] = []
    for number, one in enumerate(found):
        if mask >> number & 1:
            continue
        bins = one.lists.get(position)
        low, high, shift = int(one.low[position]), int(one.high[position]), room * number + LOWEST
        if bins is None:
            higher = 1 << number
            choices.append([low << shift] + [each << shift | higher for each in range(low + 1, high + 1)])
        else:
            choices.append([each << shift for each in bins])
    keys = np.array([sum(cell) for cell in itertools.product(*choices)], np.int64)
    return keys ^ ALL_LOWEST  # until here a bit was set where the cell is not the lowest


def _joined(parts: Sequence[CellKeys]) -> CellKeys:
    if not parts:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return np.concatenate([row for row, _ in parts]), np.concatenate([key for _, key in parts])
