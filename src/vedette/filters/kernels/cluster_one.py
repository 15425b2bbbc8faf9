"""Matches a single event in the clusters: no lists, no lanes, and as few arguments from Python as possible."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vedette.filters.kernels.clusters import GRID, NO_CHILD, TOKEN, TOKEN_COLUMN, hash_place
from vedette.filters.kernels.tokens import contains_token
from vedette.kernels.addresses import array_at
from vedette.kernels.bundles import CodedBatch
from vedette.kernels.compile import kernel
from vedette.kernels.lanes import passes


@kernel
def route_one(addresses: NDArray[np.int64], batch: CodedBatch, stack: NDArray[np.int32], out: NDArray[np.int32]) -> int:
    """Count the conjunctions that hold for event 0, write those that fit to `out`; -1 if the stack is too small.

    `addresses` are those of `ClusterArrays`, in their order.
    """
    nodes = array_at(addresses, 0, np.int32)
    branches = array_at(addresses, 1, np.int32)
    children = array_at(addresses, 2, np.int32)
    pages = array_at(addresses, 3, np.int64)
    body = array_at(addresses, 4, np.int32)
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
                        if depth == stack.shape[0]:
                            return -1
                        stack[depth] = children[slots + cell]
                        depth += 1
                    continue
                # Hashed: by the rank, or by every token of the set.
                first = np.int64(0)
                last = np.int64(1)
                if kind == TOKEN:
                    tokens = sets[column - ranks, 0]
                    first = set_start[max(tokens, 0)]
                    last = set_start[tokens + 1] if tokens >= 0 else first
                elif event[column, 0] < 0:
                    last = first
                for t in range(first, last):
                    key = set_tokens[t] if kind == TOKEN else event[column, 0]
                    place = hash_place(key, size)
                    while children[slots + place] != NO_CHILD and children[slots + place] != key:
                        place = (place + 1) & (size - 1)
                    if children[slots + place] == key:
                        if depth == stack.shape[0]:
                            return -1
                        stack[depth] = children[slots + size + place]
                        depth += 1
        for number in range(first_page, last_page):
            page = pages[number]
            columns = page + 3
            shared = columns + np.int64(body[page + 2])
            entry = shared + 3 * np.int64(body[page + 1])
            for _ in range(body[page]):
                conjunction = body[entry]
                references = np.int64(body[entry + 1] & 0xFFFF)
                owned = np.int64(body[entry + 1] >> 16)
                reference = entry + 2
                own_column = reference + ((references + 1) >> 1)
                own = own_column + ((owned + 1) >> 1)
                entry = own + 2 * owned
                holds = True
                k = 0
                while holds and k < references:
                    s = shared + 3 * np.int64((body[reference + (k >> 1)] >> ((k & 1) << 4)) & 0xFFFF)
                    holds = passes(event[body[columns + body[s]], 0], body[s + 1], body[s + 2])
                    k += 1
                k = 0
                while holds and k < owned:
                    column = np.int64((body[own_column + (k >> 1)] >> ((k & 1) << 4)) & 0xFFFF)
                    low = body[own + 2 * k]
                    width = body[own + 2 * k + 1]
                    if column < TOKEN_COLUMN:
                        holds = passes(event[body[columns + column], 0], low, width)
                    else:
                        found = contains_token(set_start, set_tokens, sets[column - TOKEN_COLUMN, 0], low)
                        holds = found == (width == 0)
                    k += 1
                if holds:
                    if count < out.shape[0]:
                        out[count] = conjunction
                    count += 1
    return count
