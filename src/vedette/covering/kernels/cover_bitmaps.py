"""Find the boxes that meet a box, and tabulate their constraints: each box is a row of entries, one per dimension."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.compile import kernel


class BoxEntries(NamedTuple):
    """Box i has the entries `start[i] : start[i + 1]`; in dimensions without an entry it is unbounded."""

    start: NDArray[np.int64]
    dimension: NDArray[np.int32]
    low: NDArray[np.int64]
    high: NDArray[np.int64]


class BoxQuery(NamedTuple):
    """The box to be covered in all dimensions, and those in which a constrained box is of no use to it."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    useless: NDArray[np.bool_]


@kernel
def meeting(
    boxes: BoxEntries, among: NDArray[np.uint64], wanted: BoxQuery, found: NDArray[np.int32]
) -> tuple[int, int]:
    """Write the useful boxes that meet the given one; return how many, and one that contains it or -1.

    If one contains it, the search ends there. `among` has a bit for every box to be considered.
    """
    start, dimension, low, high = boxes.start, boxes.dimension, boxes.low, boxes.high
    wanted_low, wanted_high, useless = wanted.low, wanted.high, wanted.useless
    one, lowest = np.uint64(1), np.uint64(0)
    count = 0
    for word in range(among.shape[0]):
        bits = among[word]
        box = 64 * word
        while bits != lowest:
            if bits & one:
                meets = contains = True
                for entry in range(start[box], start[box + 1]):
                    d = dimension[entry]
                    if useless[d] or low[entry] >= wanted_high[d] or high[entry] <= wanted_low[d]:
                        meets = contains = False
                        break
                    if low[entry] > wanted_low[d] or high[entry] < wanted_high[d]:
                        contains = False
                if contains:
                    return count, box
                if meets:
                    found[count] = box
                    count += 1
            bits >>= one
            box += 1
    return count, -1


@kernel
def number_dimensions(
    boxes: BoxEntries, rows: NDArray[np.int32], place: NDArray[np.int32], found: NDArray[np.int32]
) -> int:
    """Write the dimensions in which any of the rows is constrained, and into `place` (-1 so far) the number of each."""
    start, dimension = boxes.start, boxes.dimension
    count = 0
    for i in range(rows.shape[0]):
        row = rows[i]
        for entry in range(start[row], start[row + 1]):
            d = dimension[entry]
            if place[d] < 0:
                place[d] = count
                found[count] = d
                count += 1
    return count


@kernel
def fill_table(
    boxes: BoxEntries,
    rows: NDArray[np.int32],
    place: NDArray[np.int32],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> None:
    """Write the rows' bounds in the dimensions that have a place; `low` and `high` are unbounded everywhere so far."""
    start, dimension = boxes.start, boxes.dimension
    for i in range(rows.shape[0]):
        row = rows[i]
        for entry in range(start[row], start[row + 1]):
            column = place[dimension[entry]]
            low[i, column] = boxes.low[entry]
            high[i, column] = boxes.high[entry]
