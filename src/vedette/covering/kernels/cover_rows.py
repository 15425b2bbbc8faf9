"""Candidates against one box: which meet it, which are not needed (MCS), and a point outside of all of them.

A row of the conflict table (Ouksel 2006, definition 2) has two entries per dimension: what the box has below the
candidate, and what it has at or above its end. An entry is defined if that is not empty, which is one comparison,
so the table is never written down.

Candidates are listed in an arena, ranges of which are lists: the number of a candidate, and how many entries of its
row are defined.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.compile import inlined, kernel

ROW, DEFINED = 0, 1
_TOP, _TOP_ROW, _NEXT_TOP, _BOTTOM, _BOTTOM_ROW, _NEXT_BOTTOM = range(6)


class DenseBox(NamedTuple):
    """Half-open intervals by dimension, none of them empty."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]


class DenseBoxes(NamedTuple):
    """Candidates, a row each; one with an empty interval has no points."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]


@inlined
def width(low: int, high: int) -> float:
    """The number of values in [low, high), which may exceed an int64."""
    # Of one sign the difference is exact; of two signs nothing cancels out.
    return float(high - low) if (low < 0) == (high < 0) else float(high) - float(low)


@kernel
def sift(
    box: DenseBox, boxes: DenseBoxes, arena: NDArray[np.int32], begin: int, end: int, at: int, used: NDArray[np.bool_]
) -> tuple[int, int]:
    """List at `at` which of [begin, end) meet the box; return where that ends, and one that covers it alone (or -1).

    If several cover it, one that is used anyway comes first; the list is complete only if none does.
    """
    box_low, box_high, low, high = box.low, box.high, boxes.low, boxes.high
    dimensions = len(box_low)
    covering = -1
    for place in range(begin, end):
        row = arena[place, ROW]
        defined = 0
        meets = True
        for j in range(dimensions):
            if max(low[row, j], box_low[j]) >= min(high[row, j], box_high[j]):
                meets = False
                break
            defined += int(low[row, j] > box_low[j]) + int(high[row, j] < box_high[j])
        if not meets:
            continue
        if defined == 0:
            if used[row]:
                return at, row
            if covering < 0:
                covering = row
        arena[at, ROW] = row
        arena[at, DEFINED] = defined
        at += 1
    return at, covering


@inlined
def _swap(arena: NDArray[np.int32], one: int, other: int) -> None:
    row, defined = arena[one, ROW], arena[one, DEFINED]
    arena[one, ROW], arena[one, DEFINED] = arena[other, ROW], arena[other, DEFINED]
    arena[other, ROW], arena[other, DEFINED] = row, defined


@kernel
def without_wide(arena: NDArray[np.int32], begin: int, end: int) -> int:
    """Drop candidates with as many defined entries as there are candidates (proposition 4), until none has.

    Returns where the remaining ones end; behind it are the others, the last one dropped first. None remains exactly
    if corollary 3 holds: sorted by defined entries, the j-th row has at least j.
    """
    changed = True
    while changed:
        changed = False
        place = begin
        while place < end:
            if arena[place, DEFINED] >= end - begin:
                end -= 1
                _swap(arena, place, end)
                changed = True
            else:
                place += 1
    return end


@kernel
def reduced(box: DenseBox, boxes: DenseBoxes, arena: NDArray[np.int32], begin: int, end: int) -> int:
    """The minimized cover set (algorithm 3): drop candidates with a conflict-free entry, or too many, until none has.

    Returns as `without_wide` does. Entries conflict only within a dimension, a lower one with all upper ones at or
    above it: so the largest upper and the smallest lower entry of others say which ones are free, and a pass costs
    as much as reading the table once.
    """
    box_low, box_high, low, high = box.low, box.high, boxes.low, boxes.high
    dimensions = len(box_low)
    extremes = np.empty((dimensions, 6), np.int64)
    while True:
        end = without_wide(arena, begin, end)
        for j in range(dimensions):
            floor, ceiling = box_low[j], box_high[j]
            top, next_top, bottom, next_bottom = floor, floor, ceiling, ceiling
            top_row, bottom_row = -1, -1
            for place in range(begin, end):
                row = arena[place, ROW]
                lower, upper = low[row, j], high[row, j]
                if next_top < upper < ceiling:
                    if upper > top:
                        next_top, top, top_row = top, upper, row
                    else:
                        next_top = upper
                if floor < lower < next_bottom:
                    if lower < bottom:
                        next_bottom, bottom, bottom_row = bottom, lower, row
                    else:
                        next_bottom = lower
            extremes[j, _TOP], extremes[j, _NEXT_TOP], extremes[j, _TOP_ROW] = top, next_top, top_row
            extremes[j, _BOTTOM], extremes[j, _NEXT_BOTTOM], extremes[j, _BOTTOM_ROW] = bottom, next_bottom, bottom_row
        before = end
        place = begin
        while place < end:
            row = arena[place, ROW]
            free = False
            for j in range(dimensions):
                lower, upper = low[row, j], high[row, j]
                if lower > box_low[j]:
                    top = extremes[j, _NEXT_TOP] if extremes[j, _TOP_ROW] == row else extremes[j, _TOP]
                    if top < lower:
                        free = True
                        break
                if upper < box_high[j]:
                    bottom = extremes[j, _NEXT_BOTTOM] if extremes[j, _BOTTOM_ROW] == row else extremes[j, _BOTTOM]
                    if bottom > upper:
                        free = True
                        break
            if free:
                end -= 1
                _swap(arena, place, end)
            else:
                place += 1
        if end == before:
            return end


@kernel
def leave_out(box: DenseBox, boxes: DenseBoxes, arena: NDArray[np.int32], begin: int, end: int) -> None:
    """Shrink the box until no candidate meets it: by one entry of each, as in the proof of proposition 4."""
    box_low, box_high, low, high = box.low, box.high, boxes.low, boxes.high
    dimensions = len(box_low)
    for place in range(begin, end):
        row = arena[place, ROW]
        entry, upper = -1, False
        for j in range(dimensions):
            if max(low[row, j], box_low[j]) >= min(high[row, j], box_high[j]):
                entry = -1
                break
            if low[row, j] > box_low[j]:
                entry, upper = j, False
            elif high[row, j] < box_high[j]:
                entry, upper = j, True
        if entry >= 0 and upper:
            box_low[entry] = high[row, entry]
        elif entry >= 0:
            box_high[entry] = low[row, entry]


@kernel
def extend(
    point: NDArray[np.int64],
    box: DenseBox,
    boxes: DenseBoxes,
    arena: NDArray[np.int32],
    begin: int,
    kept: int,
    end: int,
) -> None:
    """Move a point of the box that is outside of [begin, kept) to one that is outside of [begin, end).

    What MCS dropped can be left out of any polyhedron witness (definition 3) of those that it kept, so the point
    becomes such a witness first: an entry of each that it lies in.
    """
    low, high = boxes.low, boxes.high
    shrunk = DenseBox(box.low.copy(), box.high.copy())
    box_low, box_high = shrunk.low, shrunk.high
    for place in range(begin, kept):
        row = arena[place, ROW]
        for j in range(len(point)):
            if point[j] < low[row, j]:
                box_high[j] = min(box_high[j], low[row, j])
                break
            if point[j] >= high[row, j]:
                box_low[j] = max(box_low[j], high[row, j])
                break
    leave_out(shrunk, boxes, arena, kept, end)
    for j in range(len(point)):
        point[j] = box_low[j]
