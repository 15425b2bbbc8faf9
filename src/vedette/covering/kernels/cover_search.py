"""Search whether boxes cover a box: fast decisions first, then exactly, subtracting one candidate after another.

The question is coNP-complete (Ouksel 2006 guesses instead), so the search has a budget.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.covering.kernels.cover_rows import (
    DEFINED,
    ROW,
    DenseBox,
    DenseBoxes,
    extend,
    leave_out,
    reduced,
    sift,
    width,
    without_wide,
)
from vedette.kernels.compile import kernel
from vedette.kernels.growing_arrays import grown_rows

COVERED, OPEN, EMPTY, WITNESS, PAIRWISE, BUDGET, NO_BOX = range(7)
_BEGIN, _END, _CHOSEN = range(3)


class CoverSearchResult(NamedTuple):
    """The results of the search, in memory that the caller provides."""

    arena: NDArray[np.int32]  # [2 * candidates, 2]; from `candidates` on those that meet the box, those needed first
    used: NDArray[np.bool_]  # by candidate: is it one of those that cover the box? False at first
    point: NDArray[np.int64]  # a point of the box outside of all candidates


@kernel
def settle(box: DenseBox, boxes: DenseBoxes, answer: CoverSearchResult, alone: bool) -> tuple[int, int, int]:
    """The fast decisions (algorithm 4), then MCS: the result, and where the kept and the dropped candidates end.

    OPEN if nothing is decided yet; `alone`: only decide whether one candidate covers the box by itself.
    """
    arena, used, point = answer
    count, dimensions = boxes.low.shape
    for j in range(dimensions):
        if box.low[j] >= box.high[j]:
            return NO_BOX, count, count
    for row in range(count):
        arena[row, ROW] = row
    end, covering = sift(box, boxes, arena, 0, count, count, used)
    if covering >= 0:
        used[covering] = True
        return PAIRWISE, end, end
    kept, outcome = end, EMPTY
    if not alone and end > count:
        kept = without_wide(arena, count, end)
        if kept == count:
            outcome = WITNESS
        kept = reduced(box, boxes, arena, count, kept)
    if kept > count:
        return OPEN, kept, end
    shrunk = DenseBox(box.low.copy(), box.high.copy())
    leave_out(shrunk, boxes, arena, kept, end)
    for j in range(dimensions):
        point[j] = shrunk.low[j]
    return outcome, kept, end


@kernel
def _compacted(
    box: DenseBox, boxes: DenseBoxes, arena: NDArray[np.int32], kept: int
) -> tuple[NDArray[np.int64], DenseBox, DenseBoxes]:
    """The dimensions that have a defined entry, and the candidates that MCS kept."""
    low, high = boxes.low, boxes.high
    count, dimensions = low.shape
    active = np.empty(dimensions, np.int64)
    many = 0
    for j in range(dimensions):
        for place in range(count, kept):
            row = arena[place, ROW]
            if low[row, j] > box.low[j] or high[row, j] < box.high[j]:
                active[many] = j
                many += 1
                break
    small = DenseBox(np.empty(many, np.int64), np.empty(many, np.int64))
    rows = DenseBoxes(np.empty((kept - count, many), np.int64), np.empty((kept - count, many), np.int64))
    for at in range(many):
        j = active[at]
        small.low[at] = box.low[j]
        small.high[at] = box.high[j]
        for place in range(count, kept):
            rows.low[place - count, at] = low[arena[place, ROW], j]
            rows.high[place - count, at] = high[arena[place, ROW], j]
    return active[:many], small, rows


@kernel
def _chosen(piece: DenseBox, rows: DenseBoxes, arena: NDArray[np.int32], begin: int, end: int) -> int:
    """The candidate to subtract next: with the fewest defined entries, so the fewest pieces; then the smallest rest."""
    piece_low, piece_high, low, high = piece.low, piece.high, rows.low, rows.high
    fewest = arena[begin, DEFINED]
    for place in range(begin, end):
        fewest = min(fewest, arena[place, DEFINED])
    best, most = -1, -1.0
    for place in range(begin, end):
        if arena[place, DEFINED] != fewest:
            continue
        row = arena[place, ROW]
        share = 1.0
        for j in range(len(piece_low)):
            inner_low, inner_high = max(low[row, j], piece_low[j]), min(high[row, j], piece_high[j])
            if inner_low > piece_low[j] or inner_high < piece_high[j]:
                share *= width(inner_low, inner_high) / width(piece_low[j], piece_high[j])
        if share > most:
            best, most = row, share
    return best


@kernel
def _cut(rest: NDArray[np.int64], rows: DenseBoxes, chosen: int, piece: DenseBox) -> bool:
    """Cut off the piece that one entry of the chosen candidate leaves uncovered; False if it covers all of the rest.

    The rest has its lows, then its highs. The widest part comes first, so that the others are narrow.
    """
    low, high = rows.low, rows.high
    dimensions = len(piece.low)
    entry, most = -1, -1.0
    for j in range(dimensions):
        floor, ceiling = rest[j], rest[dimensions + j]
        if low[chosen, j] > floor:
            share = width(floor, low[chosen, j]) / width(floor, ceiling)
        elif high[chosen, j] < ceiling:
            share = width(high[chosen, j], ceiling) / width(floor, ceiling)
        else:
            continue
        if share > most:
            entry, most = j, share
    if entry < 0:
        return False
    for j in range(dimensions):
        piece.low[j] = rest[j]
        piece.high[j] = rest[dimensions + j]
    if low[chosen, entry] > rest[entry]:
        piece.high[entry] = rest[entry] = low[chosen, entry]
    else:
        piece.low[entry] = rest[dimensions + entry] = high[chosen, entry]
    return True


@kernel
def _keep_needed(small: DenseBox, rows: DenseBoxes, used: NDArray[np.bool_]) -> None:
    """The used candidates cover the box: apply MCS to them alone, which drops some more."""
    count = len(rows.low)
    arena = np.empty((2 * count, 2), np.int32)
    many = 0
    for row in range(count):
        if used[row]:
            arena[many, ROW] = row
            many += 1
            used[row] = False
    end, _ = sift(small, rows, arena, 0, many, many, used)
    kept = reduced(small, rows, arena, many, end)
    for place in range(many, kept):
        used[arena[place, ROW]] = True


@kernel
def search(
    box: DenseBox, boxes: DenseBoxes, answer: CoverSearchResult, kept: int, end: int, budget: int
) -> tuple[int, int]:
    """Decide whether those that `settle` kept cover the box: COVERED, OPEN (a point is not) or BUDGET, and the nodes.

    A node is a piece of the box, with the candidates that meet it. One of those is subtracted, and the rest of the
    piece falls into disjoint pieces, one per defined entry of its row. MCS at every node saves few nodes and costs
    more.
    """
    active, small, rows = _compacted(box, boxes, answer.arena, kept)
    all_rows = len(boxes.low)
    count, dimensions = rows.low.shape
    used = np.zeros(count, np.bool_)
    arena = np.empty((4 * count, 2), np.int32)
    for row in range(count):
        arena[row, ROW] = row
        arena[row, DEFINED] = answer.arena[all_rows + row, DEFINED]
    rests = np.empty((8, 2 * dimensions), np.int64)  # by depth: what of a piece has not been looked at yet
    spans = np.empty((8, 3), np.int64)
    piece = DenseBox(small.low.copy(), small.high.copy())
    begin, last, covering = 0, count, -1
    depth, nodes = -1, 1
    while True:
        if covering >= 0:
            used[covering] = True
        elif begin == last:
            break  # no candidate meets the piece
        else:
            depth += 1
            rests = grown_rows(rests, depth + 1)
            spans = grown_rows(spans, depth + 1)
            for j in range(dimensions):
                rests[depth, j] = piece.low[j]
                rests[depth, dimensions + j] = piece.high[j]
            chosen = _chosen(piece, rows, arena, begin, last)
            used[chosen] = True
            spans[depth, _BEGIN] = begin
            spans[depth, _END] = last
            spans[depth, _CHOSEN] = chosen
        while depth >= 0 and not _cut(rests[depth], rows, spans[depth, _CHOSEN], piece):
            depth -= 1
        if depth < 0:
            _keep_needed(small, rows, used)
            for row in range(count):
                if used[row]:
                    answer.used[answer.arena[all_rows + row, ROW]] = True
            return COVERED, nodes
        if nodes >= budget:
            return BUDGET, nodes
        nodes += 1
        begin = spans[depth, _END]
        arena = grown_rows(arena, 2 * begin - spans[depth, _BEGIN])
        last, covering = sift(piece, rows, arena, spans[depth, _BEGIN], begin, begin, used)
    for j in range(len(box.low)):
        answer.point[j] = box.low[j]
    for j in range(dimensions):
        answer.point[active[j]] = piece.low[j]
    extend(answer.point, box, boxes, answer.arena, all_rows, kept, end)
    return OPEN, nodes
