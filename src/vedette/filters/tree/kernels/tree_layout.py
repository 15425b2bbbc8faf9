"""Lays out the trie of ordered predicates as the rows of a matching tree (Aguilera 1999, §3, §4, appendices).

Every conjunction is the sequence of its predicates in one total order: by column, then by lower bound, then the
wider interval first. The trie of these sequences is what the paper builds one subscription at a time. Here its
branching is turned into binary and hashed nodes:

- the values of an equality column become one node with an edge for each value;
- the intervals of a column become a chain of tests joined by *-edges. Implication shortens the chain (Figure 3):
  an interval goes below the nearest one before it that contains it, so that it is tested only where that one
  holds. In this order the nearest earlier interval that reaches as far contains it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.filters.tree.kernels.tree_nodes import (
    CHILD,
    COLUMN_SHIFT,
    EXAMINE,
    EXAMINE_TOKENS,
    HEAD,
    LEAF,
    NO_TOKEN,
    NONE,
    SKIP,
    STAR,
    TEST,
    TOKEN,
    VALUE,
    A,
    B,
    grown,
    grown_rows,
    slot_of,
)
from vedette.kernels.compile import kernel

EQUALITY, TOKENS, RANGES, TOKEN_TESTS = range(4)  # how a column is tested

_PENDING = -2
_FIRST_PATCH = -2  # slot s is patched through -2 - s


class TrieArrays(NamedTuple):
    """A trie, breadth first: the roots, then the children of node 0, of node 1, and so on, in the total order."""

    position: NDArray[np.int32]  # the predicate on the edge into the node: its column's position in the order
    low: NDArray[np.int32]
    width: NDArray[np.uint32]
    child_start: NDArray[np.int64]  # nodes + 1
    own_start: NDArray[np.int64]  # nodes + 1: the conjunctions whose sequence ends at the node
    own: NDArray[np.int32]


class TreeLayoutOptions(NamedTuple):
    """How to lay out a trie."""

    columns: NDArray[np.int32]  # by position
    kinds: NDArray[np.int8]  # by position
    levels: int  # number of leading equality columns that are in the equality form (§4)
    filled: bool  # a node on every such level, even where only a *-edge leaves it


class TreeLayout(NamedTuple):
    """Rows, as in `tree_nodes`, and the level of each: `levels` at the border, -1 beyond it (of use if filled)."""

    nodes: NDArray[np.int32]
    slots: NDArray[np.int32]
    members: NDArray[np.int32]
    roots: NDArray[np.int32]
    level: NDArray[np.int32]


@kernel
def next_uncovered(trie: TrieArrays, kinds: NDArray[np.int8]) -> NDArray[np.int64]:
    """For each edge, the next one of the same node and column whose interval it does not contain."""
    edges = trie.position.size
    following = np.empty(edges, np.int64)
    for parent in range(edges):
        end = trie.child_start[parent + 1]
        for i in range(end - 1, trie.child_start[parent] - 1, -1):
            step = i + 1
            if kinds[trie.position[i]] == RANGES:
                high = int(trie.low[i]) + int(trie.width[i])
                while (
                    step < end
                    and trie.position[step] == trie.position[i]
                    and int(trie.low[step]) + int(trie.width[step]) <= high
                ):
                    step = following[step]
            following[i] = step
    return following


@kernel
def _slot_bits(edges: int) -> int:
    """The log2 of a hash table's slots: small tables may be full, larger ones are at most two thirds full."""
    wanted = edges if edges <= 4 else edges + edges // 2
    bits = 0
    while (1 << bits) < wanted:
        bits += 1
    return bits


@kernel
def _take_slot(slots: NDArray[np.int32], start: int, bits: int, value: int) -> int:
    """Claim the first free slot for a value."""
    mask = (1 << bits) - 1
    place = slot_of(value, bits)
    while slots[start + place, CHILD] != NONE:
        place = (place + 1) & mask
    slots[start + place, VALUE] = value
    slots[start + place, CHILD] = _PENDING
    return start + place


@kernel
def _write_row(nodes: NDArray[np.int32], row: int, head: int, a: int, b: int, star: int) -> None:
    nodes[row, HEAD] = head
    nodes[row, A] = a
    nodes[row, B] = b if b < 1 << 31 else b - (1 << 32)
    nodes[row, STAR] = star


@kernel
def _put(
    tasks: NDArray[np.int64], place: int, node: int, edge: int, last: int, container: int, level: int, patch: int
) -> int:
    """Push a task; returns the number of tasks."""
    tasks[place, 0] = node
    tasks[place, 1] = edge
    tasks[place, 2] = last
    tasks[place, 3] = container
    tasks[place, 4] = level
    tasks[place, 5] = patch
    return place + 1


@kernel
def lay_out(trie: TrieArrays, roots: int, form: TreeLayoutOptions) -> TreeLayout:
    """Write the rows depth first, with a stack of tasks for what is still to be written.

    A task is (node, edge, last, container, level, patch): write the tests of the trie node from this edge on. With
    `last` it is the siblings edge .. last of one chain of tests, after which comes `container`, the edge whose
    interval contains theirs. `patch` says where the number of the first row goes: >= 0 the *-edge of that row,
    < -1 a slot.
    """
    following = next_uncovered(trie, form.kinds)
    nodes = np.empty((1024, 4), np.int32)
    slots = np.empty((1024, 2), np.int32)
    level_of = np.empty(1024, np.int32)
    members = np.empty(trie.own.size, np.int32)
    first_rows = np.empty(roots, np.int32)
    tasks = np.empty((1024, 6), np.int64)
    row, used, listed = 0, 0, 0
    for root in range(roots):
        first_rows[root] = row
        waiting = _put(tasks, 0, root, trie.child_start[root], NONE, NONE, 0, NONE)
        while waiting > 0:
            waiting -= 1
            node, edge, last = tasks[waiting, 0], tasks[waiting, 1], tasks[waiting, 2]
            container, level, patch = tasks[waiting, 3], tasks[waiting, 4], tasks[waiting, 5]
            end = trie.child_start[node + 1]
            own = trie.own_start[node + 1] - trie.own_start[node]
            if row == nodes.shape[0]:
                nodes = grown_rows(nodes, row)
                level_of = grown(level_of, row)
            level_of[row] = level if level <= form.levels else NONE
            if patch >= 0:
                nodes[patch, STAR] = row
            elif patch < NONE:
                slots[_FIRST_PATCH - patch, CHILD] = row
            if last == NONE:
                if form.filled and level < form.levels and (edge == end or trie.position[edge] > level):
                    _write_row(nodes, row, form.columns[level] << COLUMN_SHIFT | SKIP, 0, 0, row + 1)
                    waiting = _put(tasks, waiting, node, edge, NONE, NONE, level + 1, NONE)
                    row += 1
                    continue
                if edge == end:
                    _write_row(nodes, row, LEAF, listed, own, NONE)
                    members[listed : listed + own] = trie.own[trie.own_start[node] : trie.own_start[node + 1]]
                    listed += own
                    row += 1
                    continue
                last = edge + 1
                while last < end and trie.position[last] == trie.position[edge]:
                    last += 1
            position = trie.position[edge]
            kind = form.kinds[position]
            head = form.columns[position] << COLUMN_SHIFT
            below = position + 1 if position < form.levels else form.levels + 1
            if waiting + last - edge + 2 > tasks.shape[0]:
                tasks = grown_rows(tasks, waiting + last - edge + 2)

            beyond = following[edge] if kind >= RANGES else last
            if beyond < last:
                waiting = _put(tasks, waiting, node, beyond, last, container, below, row)
            elif container != NONE:
                waiting = _put(tasks, waiting, container, trie.child_start[container], NONE, NONE, below, row)
            elif last < end or own > 0:
                waiting = _put(tasks, waiting, node, last, NONE, NONE, below, row)

            if kind <= TOKENS and last - edge > 1:
                bits = _slot_bits(last - edge)
                if used + (1 << bits) > slots.shape[0]:
                    slots = grown_rows(slots, used + (1 << bits))
                slots[used : used + (1 << bits)] = NONE
                _write_row(nodes, row, head | (EXAMINE if kind == EQUALITY else EXAMINE_TOKENS), used, bits, NONE)
                for child in range(last - 1, edge - 1, -1):
                    slot = _take_slot(slots, used, bits, trie.low[child])
                    patch = _FIRST_PATCH - slot
                    waiting = _put(tasks, waiting, child, trie.child_start[child], NONE, NONE, below, patch)
                used += 1 << bits
            else:
                width = int(trie.width[edge])
                if kind in (EQUALITY, RANGES):
                    _write_row(nodes, row, head | TEST, trie.low[edge], width, NONE)
                else:
                    _write_row(nodes, row, head | (TOKEN if width == 0 else NO_TOKEN), trie.low[edge], 0, NONE)
                if edge + 1 < beyond:
                    waiting = _put(tasks, waiting, node, edge + 1, beyond, edge, below, NONE)
                else:
                    waiting = _put(tasks, waiting, edge, trie.child_start[edge], NONE, NONE, below, NONE)
            row += 1
    return TreeLayout(nodes[:row].copy(), slots[:used].copy(), members, first_rows, level_of[:row].copy())
