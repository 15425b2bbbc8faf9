"""Lists of events in a matching tree: the roots at which events begin, and how a node divides a list."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.filters.tree.kernels.tree_nodes import (
    COLUMN_SHIFT,
    HEAD,
    KIND,
    NONE,
    TEST,
    TOKEN,
    WORD,
    A,
    B,
    FlatTree,
    find_slot,
)
from vedette.kernels.bundles import CodedBatch
from vedette.kernels.compile import kernel


class EventGroups(NamedTuple):
    """Events by the tree they belong to: `event[start[g] : start[g + 1]]` begin at row `root[g]`."""

    event: NDArray[np.int32]
    start: NDArray[np.int64]
    root: NDArray[np.int32]


@kernel
def root_of(tree: FlatTree, batch: CodedBatch, event: int) -> int:
    """The row at which an event begins, given by its values of the index columns."""
    place = 0
    for i in range(tree.index_columns.size):
        rank = batch.ranks[tree.index_columns[i], event]
        first, last = tree.index_start[i], tree.index_start[i + 1]
        low, high = first, last
        while low < high:
            middle = (low + high) // 2
            if tree.index_values[middle] < rank:
                low = middle + 1
            else:
                high = middle
        found = low < last and tree.index_values[low] == rank
        place = place * (last - first + 1) + (low - first + 1 if found else 0)
    return int(tree.roots[place])


@kernel
def roots_of(tree: FlatTree, batch: CodedBatch) -> NDArray[np.int32]:
    """The row at which each event begins."""
    roots = np.empty(batch.ranks.shape[1], np.int32)
    for event in range(roots.size):
        roots[event] = root_of(tree, batch, event)
    return roots


@kernel
def has_token(batch: CodedBatch, column: int, event: int, token: int) -> bool:
    number = batch.sets[column, event]
    if number < 0:
        return False
    low, end = batch.set_start[number], batch.set_start[number + 1]
    high = end
    while low < high:
        middle = (low + high) // 2
        if batch.set_tokens[middle] < token:
            low = middle + 1
        else:
            high = middle
    return bool(low < end and batch.set_tokens[low] == token)


class SlotLists(NamedTuple):
    """Events filed under the slots of one node, as linked lists."""

    latest: NDArray[np.int64]  # by slot: the last link, NONE between nodes
    touched: NDArray[np.int64]  # the slots that are not empty
    event: NDArray[np.int32]
    before: NDArray[np.int64]  # the link before this one in the same slot


@kernel
def sift(
    nodes: NDArray[np.int32], row: int, batch: CodedBatch, ranks: int, arena: NDArray[np.int32], first: int, last: int
) -> int:
    """Copy the list behind itself: first the events that pass the test, up to the returned index, then the others."""
    kind, column = nodes[row, HEAD] & KIND, nodes[row, HEAD] >> COLUMN_SHIFT
    passed, failed = last, 2 * last - first
    if kind == TEST:
        low, width = int(nodes[row, A]), int(nodes[row, B]) & WORD
        for i in range(first, last):
            event = arena[i]
            if (int(batch.ranks[column, event]) - low) & WORD <= width:
                arena[passed] = event
                passed += 1
            else:
                failed -= 1
                arena[failed] = event
    else:
        for i in range(first, last):
            event = arena[i]
            if has_token(batch, column - ranks, event, nodes[row, A]) == (kind == TOKEN):
                arena[passed] = event
                passed += 1
            else:
                failed -= 1
                arena[failed] = event
    return passed


@kernel
def _link(links: SlotLists, link: int, touched: int, slot: int, event: int) -> int:
    """File an event under a slot; returns the number of slots touched."""
    links.event[link] = event
    links.before[link] = links.latest[slot]
    if links.latest[slot] == NONE:
        links.touched[touched] = slot
        touched += 1
    links.latest[slot] = link
    return touched


@kernel
def file_values(
    tree: FlatTree, row: int, batch: CodedBatch, arena: NDArray[np.int32], links: SlotLists, first: int, last: int
) -> tuple[int, int]:
    """File the list under the values of a column: the number of slots touched, and of events without a slot.

    The latter are copied behind the list.
    """
    column, start, bits = tree.nodes[row, HEAD] >> COLUMN_SHIFT, tree.nodes[row, A], tree.nodes[row, B]
    touched, blocked = 0, 0
    for i in range(first, last):
        slot = find_slot(tree.slots, start, bits, batch.ranks[column, arena[i]])
        if slot == NONE:
            arena[last + blocked] = arena[i]
            blocked += 1
        else:
            touched = _link(links, i - first, touched, slot - start, arena[i])
    return touched, blocked


@kernel
def file_tokens(
    tree: FlatTree,
    row: int,
    batch: CodedBatch,
    ranks: int,
    arena: NDArray[np.int32],
    links: SlotLists,
    span: tuple[int, int],
) -> int:
    """File the list under every token of each event's set: the number of slots touched."""
    column, start, bits = tree.nodes[row, HEAD] >> COLUMN_SHIFT, tree.nodes[row, A], tree.nodes[row, B]
    touched, link = 0, 0
    for i in range(span[0], span[1]):
        number = batch.sets[column - ranks, arena[i]]
        if number < 0:
            continue
        for t in range(batch.set_start[number], batch.set_start[number + 1]):
            slot = find_slot(tree.slots, start, bits, batch.set_tokens[t])
            if slot != NONE:
                touched = _link(links, link, touched, slot - start, arena[i])
                link += 1
    return touched


@kernel
def tokens_in(batch: CodedBatch, column: int, arena: NDArray[np.int32], first: int, last: int) -> int:
    """The total number of tokens of the events of a list."""
    total = 0
    for i in range(first, last):
        number = batch.sets[column, arena[i]]
        if number >= 0:
            total += batch.set_start[number + 1] - batch.set_start[number]
    return total
