"""Precomputes successor sets (Aguilera 1999, §5).

The path to a node of the equality form is a sequence of values and *s, one for each level. Where it ends in n
values, its successors are the n paths with a * in place of one of these: for each the node there, or, if there is
none, that path's own successors; and the node at the end of the node's *-edge. A walk goes down value edges only;
where it is blocked, or after a leaf, it continues at the successors. Each path that an event satisfies is found
exactly once, since *s are put in from left to right.

Sets grow downwards: with R(x, v) the child of x under v, or else R(y, v) of x's own successors y on the same
level together with the end of x's *-edge, the successors of the child of x under v are R(y, v) of all
successors y of x, and the end of x's *-edge.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.filters.tree.kernels.tree_layout import TreeLayout
from vedette.filters.tree.kernels.tree_nodes import (
    CHILD,
    EXAMINE,
    FORK,
    GREEDY,
    HEAD,
    KIND,
    NONE,
    SKIP,
    STAR,
    TEST,
    VALUE,
    A,
    B,
    find_slot,
    grown,
)
from vedette.kernels.compile import kernel


class SuccessorSets(NamedTuple):
    """The set of row i is `items[begin[i] : end[i]]`, ascending."""

    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    items: NDArray[np.int32]


@kernel
def _child(layout: TreeLayout, row: int, value: int) -> int:
    """The end of the value edge, or NONE."""
    kind = layout.nodes[row, HEAD] & KIND
    if kind == TEST:
        return row + 1 if layout.nodes[row, A] == value else NONE
    if kind == EXAMINE:
        slot = find_slot(layout.slots, layout.nodes[row, A], layout.nodes[row, B], value)
        return NONE if slot == NONE else layout.slots[slot, CHILD]
    return NONE


@kernel
def _edges(layout: TreeLayout, row: int) -> int:
    """The number of slots to examine for the value edges of a row."""
    kind = layout.nodes[row, HEAD] & KIND
    if kind == TEST:
        return 1
    return 1 << layout.nodes[row, B] if kind == EXAMINE else 0


@kernel
def _edge(layout: TreeLayout, row: int, number: int) -> tuple[int, int]:
    """The value and the end of an edge; a free slot has NONE as its end."""
    if layout.nodes[row, HEAD] & KIND == TEST:
        return layout.nodes[row, A], row + 1
    slot = layout.nodes[row, A] + number
    return layout.slots[slot, VALUE], layout.slots[slot, CHILD]


@kernel
def _rows_by_level(level: NDArray[np.int32], levels: int) -> NDArray[np.int64]:
    """The rows on levels before the last, level after level."""
    start = np.zeros(levels + 1, np.int64)
    for row in range(level.size):
        if 0 <= level[row] < levels:
            start[level[row] + 1] += 1
    for i in range(levels):
        start[i + 1] += start[i]
    rows = np.empty(start[levels], np.int64)
    for row in range(level.size):
        if 0 <= level[row] < levels:
            rows[start[level[row]]] = row
            start[level[row]] += 1
    return rows


@kernel
def same_level_successors(layout: TreeLayout, levels: int) -> SuccessorSets:
    """The successors of every row that come from its path, without the end of the row's own *-edge."""
    begin = np.zeros(layout.level.size, np.int64)
    end = np.zeros(layout.level.size, np.int64)
    items = np.empty(1024, np.int32)
    stack = np.empty(1024, np.int32)
    size = 0
    for row in _rows_by_level(layout.level, levels):
        for number in range(_edges(layout, row)):
            value, child = _edge(layout, row, number)
            if child == NONE:
                continue
            begin[child] = size
            if layout.nodes[row, STAR] != NONE:
                if size == items.size:
                    items = grown(items, size)
                items[size] = layout.nodes[row, STAR]
                size += 1
            waiting, node, missing = 0, row, True
            while True:
                if missing:
                    while waiting + end[node] - begin[node] > stack.size:
                        stack = grown(stack, stack.size)
                    for i in range(begin[node], end[node]):
                        stack[waiting] = items[i]
                        waiting += 1
                if waiting == 0:
                    break
                waiting -= 1
                node = int(stack[waiting])
                target = int(_child(layout, node, value))
                missing = target == NONE
                if missing:
                    target = int(layout.nodes[node, STAR])
                if target != NONE:
                    if size == items.size:
                        items = grown(items, size)
                    items[size] = target
                    size += 1
            end[child] = size
            items[begin[child] : size].sort()
    return SuccessorSets(begin, end, items[:size])


@kernel
def _within(layout: TreeLayout, inner: int, outer: int) -> bool:
    """Whether an event that is blocked at `outer` finds no value edge at `inner` either."""
    for number in range(_edges(layout, inner)):
        value, child = _edge(layout, inner, number)
        if child != NONE and _child(layout, outer, value) == NONE:
            return False
    return True


@kernel
def complete_successors(
    layout: TreeLayout, paths: SuccessorSets, levels: int, collapse: bool, refine: bool
) -> SuccessorSets:
    """All successors of each row, including the end of its *-edge.

    `collapse` replaces a row that tests nothing by its successors. `refine` does the same for a row whose test must
    fail, because it failed where the walk comes from (§5, "more aggressive").
    """
    rows = layout.level.size
    begin = np.zeros(rows, np.int64)
    end = np.zeros(rows, np.int64)
    items = np.empty(1024, np.int32)
    size = 0
    for row in range(rows - 1, -1, -1):  # successors have higher numbers
        begin[row] = size
        level = layout.level[row]
        if level == NONE:
            end[row] = size
            continue
        own = paths.end[row] - paths.begin[row]
        for number in range(own + 1):
            if number < own:
                target = int(paths.items[paths.begin[row] + number])
            else:
                target = int(layout.nodes[row, STAR] if level < levels else NONE)
            if target == NONE:
                continue
            replace = collapse and layout.nodes[target, HEAD] & KIND == SKIP
            if refine and level < levels and layout.level[target] == level:
                replace = replace or _within(layout, target, row)
            first, last = (begin[target], end[target]) if replace else (0, 1)
            while size + last - first > items.size:
                items = grown(items, items.size)
            for i in range(first, last):
                items[size] = items[i] if replace else target
                size += 1
        items[begin[row] : size].sort()
        end[row] = size
    return SuccessorSets(begin, end, items[:size])


@kernel
def compact(
    layout: TreeLayout, sets: SuccessorSets, levels: int, collapse: bool
) -> tuple[TreeLayout, NDArray[np.int64], NDArray[np.int32]]:
    """The rows with their sets, without those that test nothing and have just one successor (if `collapse`)."""
    rows = layout.level.size
    moved = np.empty(rows, np.int32)
    kept = 0
    for row in range(rows):
        moved[row] = kept
        single = sets.end[row] - sets.begin[row] == 1
        kept += not (collapse and single and layout.nodes[row, HEAD] & KIND == SKIP)
    # A removed row gets the number of the next row that stays, which is its only successor.
    nodes = np.empty((kept, 4), np.int32)
    level = np.empty(kept, np.int32)
    start = np.zeros(kept + 1, np.int64)
    items = np.empty(sets.items.size, np.int32)
    size = 0
    for row in range(rows):
        if row + 1 < rows and moved[row + 1] == moved[row]:
            continue
        place = moved[row]
        nodes[place] = layout.nodes[row]
        level[place] = layout.level[row]
        if 0 <= layout.level[row] < levels:
            if collapse and nodes[place, HEAD] & KIND == SKIP:
                nodes[place, HEAD] |= FORK  # all bits: SKIP is among them
            nodes[place, HEAD] |= GREEDY
            nodes[place, STAR] = NONE
        elif nodes[place, STAR] != NONE:
            nodes[place, STAR] = moved[nodes[place, STAR]]
        for i in range(sets.begin[row], sets.end[row]):
            items[size] = moved[sets.items[i]]
            size += 1
        start[place + 1] = size
    slots = layout.slots.copy()
    for slot in range(slots.shape[0]):
        if slots[slot, CHILD] != NONE:
            slots[slot, CHILD] = moved[slots[slot, CHILD]]
    roots = moved[layout.roots]
    return TreeLayout(nodes, slots, layout.members, roots, level), start, items[:size].copy()
