"""Tests every event against every conjunction, 64 events at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vedette.filters.kernels.tokens import contains_token
from vedette.kernels.bundles import CodedBatch, PredicateTable
from vedette.kernels.compile import kernel
from vedette.kernels.lanes import LANES, lowest_bit, passes, within64

# Events per tile: predicates are read once per tile, and the tile's ranks stay in the nearest cache.
TILE_BLOCKS = 16


@kernel
def scan(
    table: PredicateTable,
    batch: CodedBatch,
    events: int,
    out_event: NDArray[np.int32],
    out_conjunction: NDArray[np.int32],
) -> int:
    """Match a batch: write the pairs that fit into the output, return how many there are.

    `batch.ranks` and `batch.sets` are padded to a multiple of 64 events; the last lanes are ignored.
    """
    ranks = batch.ranks.shape[0]
    stride = batch.ranks.shape[1]
    flat = batch.ranks.reshape(-1)
    blocks = (events + LANES - 1) // LANES
    room = out_event.shape[0]
    count = 0
    for tile in range(0, blocks, TILE_BLOCKS):
        tile_end = min(tile + TILE_BLOCKS, blocks)
        for conjunction in range(table.start.shape[0] - 1):
            first = table.start[conjunction]
            last = table.start[conjunction + 1]
            for block in range(tile, tile_end):
                base = block * LANES
                alive = min(events - base, LANES)
                mask = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(LANES - alive)
                for p in range(first, last):
                    column = table.column[p]
                    low = table.low[p]
                    width = table.width[p]
                    if column < ranks:
                        mask &= within64(flat, column * stride + base, low, width)
                    else:
                        left = mask
                        while left != np.uint64(0):
                            lane = lowest_bit(left)
                            left &= left - np.uint64(1)
                            number = batch.sets[column - ranks, base + lane]
                            found = contains_token(batch.set_start, batch.set_tokens, number, low)
                            if found != (width == 0):
                                mask &= ~(np.uint64(1) << np.uint64(lane))
                    if mask == np.uint64(0):
                        break
                while mask != np.uint64(0):
                    if count < room:
                        out_event[count] = base + lowest_bit(mask)
                        out_conjunction[count] = conjunction
                    mask &= mask - np.uint64(1)
                    count += 1
    return count


@kernel
def scan_one(table: PredicateTable, batch: CodedBatch, out: NDArray[np.int32]) -> int:
    """Match event 0: write the conjunctions that hold to `out`, which has room for all, and return their number."""
    ranks = batch.ranks.shape[0]
    count = 0
    for conjunction in range(table.start.shape[0] - 1):
        holds = True
        for p in range(table.start[conjunction], table.start[conjunction + 1]):
            column = table.column[p]
            if column < ranks:
                holds = passes(batch.ranks[column, 0], table.low[p], table.width[p])
            else:
                number = batch.sets[column - ranks, 0]
                found = contains_token(batch.set_start, batch.set_tokens, number, table.low[p])
                holds = found == (table.width[p] == 0)
            if not holds:
                break
        if holds:
            out[count] = conjunction
            count += 1
    return count
