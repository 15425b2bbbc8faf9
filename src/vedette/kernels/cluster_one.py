"""A single event through the clusters: no lists, no lanes, and as little as possible at the border to Python."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.addresses import array_at
from vedette.kernels.bundles import CodedBatch
from vedette.kernels.clusters import GRID, NO_CHILD, TOKEN, grown, hash_place
from vedette.kernels.compile import kernel
from vedette.kernels.lanes import passes
from vedette.kernels.tokens import contains_token


@kernel
def route_one(
    addresses: NDArray[np.int64], batch: CodedBatch, stack: NDArray[np.int32], out: NDArray[np.int32]
) -> tuple[int, NDArray[np.int32], NDArray[np.int32]]:
    """The conjunctions that hold for event 0: how many, and the (perhaps longer) `stack` and `out`.

    `addresses` are those of `ClusterArrays`, in their order.
    """
    nodes = array_at(addresses, 0, np.int32)
    branches = array_at(addresses, 1, np.int32)
    children = array_at(addresses, 2, np.int32)
    pages = array_at(addresses, 3, np.int64)
    shared_column = array_at(addresses, 4, np.int16)
    shared_low = array_at(addresses, 5, np.int32)
    shared_width = array_at(addresses, 6, np.uint32)
    conjunction = array_at(addresses, 7, np.int32)
    references = array_at(addresses, 8, np.uint16)
    owned = array_at(addresses, 9, np.uint16)
    reference = array_at(addresses, 10, np.uint16)
    own_column = array_at(addresses, 11, np.int16)
    own_low = array_at(addresses, 12, np.int32)
    own_width = array_at(addresses, 13, np.uint32)
    event, sets, set_start, set_tokens = batch.ranks, batch.sets, batch.set_start, batch.set_tokens
    ranks = event.shape[0]
    count = 0
    stack[0] = 0
    depth = 1
    while depth > 0:
        depth -= 1
        at = np.int64(stack[depth])
        first_page = -2 - at
        last_page = first_page + 1
        if at >= 0:
            first_page = np.int64(nodes[4 * at + 2])
            last_page = first_page + nodes[4 * at + 3]
            for branch in range(nodes[4 * at], nodes[4 * at] + nodes[4 * at + 1]):
                row = np.int64(branch) * 6
                column = branches[row]
                kind = branches[row + 1]
                size = np.int64(branches[row + 4])
                slots = np.int64(branches[row + 5])
                if kind == GRID:
                    cell = (np.int64(event[column, 0]) - branches[row + 2]) >> branches[row + 3]
                    if 0 <= cell < size and children[slots + cell] != NO_CHILD:
                        stack = grown(stack, depth + 1)
                        stack[depth] = children[slots + cell]
                        depth += 1
                    continue
                # Hashed: by the rank, or by every token of the set.
                first = np.int64(0)
                last = np.int64(1)
                if kind == TOKEN:
                    number = sets[column - ranks, 0]
                    first = set_start[max(number, 0)]
                    last = set_start[number + 1] if number >= 0 else first
                elif event[column, 0] < 0:
                    last = first
                for t in range(first, last):
                    key = set_tokens[t] if kind == TOKEN else event[column, 0]
                    place = hash_place(key, size)
                    while children[slots + place] != NO_CHILD and children[slots + place] != key:
                        place = (place + 1) & (size - 1)
                    if children[slots + place] == key:
                        stack = grown(stack, depth + 1)
                        stack[depth] = children[slots + size + place]
                        depth += 1
        for page in range(first_page, last_page):
            first_shared = pages[4 * page]
            next_reference = pages[4 * page + 2]
            next_own = pages[4 * page + 3]
            for e in range(pages[4 * page + 1], pages[4 * page + 5]):
                r = next_reference
                p = next_own
                next_reference = r + np.int64(references[e])
                next_own = p + np.int64(owned[e])
                holds = True
                while holds and r < next_reference:
                    s = first_shared + np.int64(reference[r])
                    holds = passes(event[shared_column[s], 0], shared_low[s], shared_width[s])
                    r += 1
                while holds and p < next_own:
                    column = own_column[p]
                    if column < ranks:
                        holds = passes(event[column, 0], own_low[p], own_width[p])
                    else:
                        found = contains_token(set_start, set_tokens, sets[column - ranks, 0], own_low[p])
                        holds = found == (own_width[p] == 0)
                    p += 1
                if holds:
                    out = grown(out, count + 1)
                    out[count] = conjunction[e]
                    count += 1
    return count, stack, out
