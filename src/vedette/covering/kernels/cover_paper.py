"""Ouksel 2006 to the letter, for comparison: the conflict table written out, and MCS by comparing its entries.

Also a part of sampling: whether one of some points is outside of all boxes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vedette.covering.kernels.cover_rows import DenseBox, DenseBoxes
from vedette.kernels.compile import kernel


@kernel
def conflict_table(box: DenseBox, boxes: DenseBoxes) -> NDArray[np.bool_]:
    """Definition 2, for all candidates: the defined entries; by dimension the lower one, then the upper one."""
    low, high = boxes.low, boxes.high
    count, dimensions = low.shape
    table = np.empty((count, 2 * dimensions), np.bool_)
    for row in range(count):
        for j in range(dimensions):
            table[row, 2 * j] = low[row, j] > box.low[j]
            table[row, 2 * j + 1] = high[row, j] < box.high[j]
    return table


@kernel
def minimized(box: DenseBox, boxes: DenseBoxes, table: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Algorithm 3 with f >= 1: the remaining candidates."""
    low, high = boxes.low, boxes.high
    count, entries = table.shape
    left = np.ones(count, np.bool_)
    many = count
    changed = True
    while changed:
        changed = False
        for row in range(count):
            if not left[row]:
                continue
            defined, free = 0, 0
            for entry in range(entries):
                if not table[row, entry]:
                    continue
                defined += 1
                j, upper = entry // 2, entry % 2 == 1
                conflicting = False
                for other in range(count):
                    if other == row or not left[other] or not table[other, 2 * j + (not upper)]:
                        continue
                    begin = max(box.low[j], high[row, j] if upper else high[other, j])
                    end = min(box.high[j], low[other, j] if upper else low[row, j])
                    if begin >= end:
                        conflicting = True
                        break
                free += not conflicting
            if free >= 1 or defined >= many:
                left[row] = False
                many -= 1
                changed = True
    return left


@kernel
def first_outside(points: NDArray[np.int64], boxes: DenseBoxes) -> int:
    """The first of the points that is in none of the boxes, or -1."""
    low, high = boxes.low, boxes.high
    count, dimensions = low.shape
    for number in range(len(points)):
        inside = False
        for row in range(count):
            inside = True
            for j in range(dimensions):
                if points[number, j] < low[row, j] or points[number, j] >= high[row, j]:
                    inside = False
                    break
            if inside:
                break
        if not inside:
            return number
    return -1
