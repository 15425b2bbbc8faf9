"""Walks a matching tree with a batch of events together, or with one event (Aguilera 1999, §3, Figure 4).

The batch goes through the tree as lists of events: all that reach a node are handled together, so that a row is
read once for many events. The lists are stored one after another in an arena that is used like a stack.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.filters.tree.kernels.tree_events import (
    EventGroups,
    SlotLists,
    file_tokens,
    file_values,
    has_token,
    root_of,
    sift,
    tokens_in,
)
from vedette.filters.tree.kernels.tree_nodes import (
    CHILD,
    COLUMN_SHIFT,
    EXAMINE,
    EXAMINE_TOKENS,
    FORK,
    GREEDY,
    HEAD,
    KIND,
    LEAF,
    NONE,
    SKIP,
    STAR,
    TEST,
    TOKEN,
    WORD,
    A,
    B,
    FlatTree,
    find_slot,
    grown,
    grown_rows,
)
from vedette.kernels.bundles import CodedBatch, ConjunctionPairs
from vedette.kernels.compile import kernel


class TreePairs(NamedTuple):
    """Buffers for pairs."""

    event: NDArray[np.int32]
    conjunction: NDArray[np.int32]


@kernel
def _push(frames: NDArray[np.int64], depth: int, row: int, first: int, last: int) -> int:
    """Push a row with its list; returns the number of frames."""
    frames[depth, 0] = row
    frames[depth, 1] = first
    frames[depth, 2] = last
    return depth + 1


@kernel
def _push_successors(tree: FlatTree, row: int, frames: NDArray[np.int64], depth: int, first: int, last: int) -> int:
    for i in range(tree.successor_start[row], tree.successor_start[row + 1]):
        depth = _push(frames, depth, tree.successors[i], first, last)
    return depth


@kernel
def _output(
    tree: FlatTree, row: int, arena: NDArray[np.int32], first: int, last: int, found: TreePairs, size: int
) -> TreePairs:
    """Append the pairs of a leaf to the `size` pairs written so far."""
    begin, count = tree.nodes[row, A], tree.nodes[row, B]
    wanted = size + count * (last - first)
    if wanted > found.event.size:
        found = TreePairs(grown(found.event, wanted), grown(found.conjunction, wanted))
    for m in range(begin, begin + count):
        for i in range(first, last):
            found.event[size] = arena[i]
            found.conjunction[size] = tree.members[m]
            size += 1
    return found


@kernel
def walk_batch(
    tree: FlatTree, ranks: int, batch: CodedBatch, groups: EventGroups, visits: NDArray[np.int64], forks: bool
) -> ConjunctionPairs:
    """Every (event, conjunction) that holds; `visits`, if not empty, counts the rows that each event visits.

    Without `forks`, rows that stand for an edge to several successors are not counted.

    A frame is a row and the list of events that arrive there. A list is stored behind those of all frames below it on
    the stack, so everything behind the list of the current frame is free.
    """
    arena = np.empty(4 * groups.event.size + 1024, np.int32)
    arena[: groups.event.size] = groups.event
    frames = np.empty((groups.root.size + 1024, 3), np.int64)
    links = SlotLists(
        np.full(tree.widest[0], NONE, np.int64),
        np.empty(tree.widest[0], np.int64),
        np.empty(1024, np.int32),
        np.empty(1024, np.int64),
    )
    found, size, depth = TreePairs(np.empty(1024, np.int32), np.empty(1024, np.int32)), 0, 0
    chained = tree.successors.size > 0
    for group in range(groups.root.size):
        if groups.root[group] != NONE and groups.start[group] < groups.start[group + 1]:
            depth = _push(frames, depth, groups.root[group], groups.start[group], groups.start[group + 1])
    while depth > 0:
        depth -= 1
        row, first, last = frames[depth, 0], frames[depth, 1], frames[depth, 2]
        while row != NONE:
            kind, greedy = tree.nodes[row, HEAD] & KIND, tree.nodes[row, HEAD] & GREEDY != 0
            star = int(tree.nodes[row, STAR])
            many = last - first
            if visits.size > 0 and (forks or kind != FORK):
                for i in range(first, last):
                    visits[arena[i]] += 1
            entries = many
            if kind == EXAMINE_TOKENS:
                column = (tree.nodes[row, HEAD] >> COLUMN_SHIFT) - ranks
                entries = tokens_in(batch, column, arena, first, last)
            if last + many + entries > arena.size:
                arena = grown(arena, last + many + entries)
            room = depth + 2 + min(entries, tree.widest[0])
            if chained:
                room += tree.successor_start[row + 1] - tree.successor_start[row]
            if room > frames.shape[0]:
                frames = grown_rows(frames, room)
            if chained and not greedy:
                depth = _push_successors(tree, row, frames, depth, first, last)

            if kind == LEAF:
                found = _output(tree, row, arena, first, last, found, size)
                size += tree.nodes[row, B] * many
                row = NONE
            elif kind >= SKIP:
                if greedy:
                    depth = _push_successors(tree, row, frames, depth, first, last)
                row = star
            elif kind in (EXAMINE, EXAMINE_TOKENS):
                if entries > links.event.size:
                    links = SlotLists(
                        links.latest, links.touched, np.empty(2 * entries, np.int32), np.empty(2 * entries, np.int64)
                    )
                if star != NONE:
                    depth = _push(frames, depth, star, first, last)
                blocked = 0
                if kind == EXAMINE:
                    touched, blocked = file_values(tree, row, batch, arena, links, first, last)
                else:
                    touched = file_tokens(tree, row, batch, ranks, arena, links, (first, last))
                if greedy and blocked > 0:
                    depth = _push_successors(tree, row, frames, depth, last, last + blocked)
                top = last + blocked
                for t in range(touched):
                    slot, begin = links.touched[t], top
                    link = links.latest[slot]
                    links.latest[slot] = NONE
                    while link != NONE:
                        arena[top] = links.event[link]
                        link = links.before[link]
                        top += 1
                    depth = _push(frames, depth, tree.slots[tree.nodes[row, A] + slot, CHILD], begin, top)
                row = NONE
            else:
                passed = sift(tree.nodes, row, batch, ranks, arena, first, last)
                if greedy:
                    if passed > last:
                        depth = _push(frames, depth, row + 1, last, passed)
                    if passed < last + many:
                        depth = _push_successors(tree, row, frames, depth, passed, last + many)
                    row = NONE
                elif passed > last:
                    if star != NONE:
                        depth = _push(frames, depth, star, first, last)
                    row += 1
                    first, last = last, passed
                else:
                    row = star
    return ConjunctionPairs(found.event[:size].copy(), found.conjunction[:size].copy())


@kernel
def _push_one(stack: NDArray[np.int32], depth: int, row: int) -> NDArray[np.int32]:
    """Push a row; returns the stack, or a larger copy of it."""
    if depth == stack.size:
        stack = grown(stack, depth)
    stack[depth] = row
    return stack


@kernel
def walk_one(tree: FlatTree, ranks: int, batch: CodedBatch) -> tuple[NDArray[np.int32], int]:
    """The conjunctions that hold for the only event of a batch, and the number of nodes it visits."""
    out, size = np.empty(256, np.int32), 0
    stack, depth = np.empty(256, np.int32), 0
    chained = tree.successors.size > 0
    visits = 0
    root = int(root_of(tree, batch, 0))
    if root != NONE:
        stack[0] = root
        depth = 1
    while depth > 0:
        depth -= 1
        row = int(stack[depth])
        while row != NONE:
            head, a, b = tree.nodes[row, HEAD], tree.nodes[row, A], tree.nodes[row, B]
            star = int(tree.nodes[row, STAR])
            kind, column = head & KIND, head >> COLUMN_SHIFT
            visits += 1
            child = int(NONE)
            if kind == TEST:
                if (int(batch.ranks[column, 0]) - int(a)) & WORD <= int(b) & WORD:
                    child = row + 1
            elif kind == LEAF:
                if size + b > out.size:
                    out = grown(out, size + b)
                out[size : size + b] = tree.members[a : a + b]
                size += b
            elif kind == EXAMINE:
                slot = find_slot(tree.slots, a, b, batch.ranks[column, 0])
                if slot != NONE:
                    child = int(tree.slots[slot, CHILD])
            elif kind == EXAMINE_TOKENS:
                number = batch.sets[column - ranks, 0]
                if number >= 0:
                    for t in range(batch.set_start[number], batch.set_start[number + 1]):
                        slot = find_slot(tree.slots, a, b, batch.set_tokens[t])
                        if slot != NONE:
                            stack = _push_one(stack, depth, tree.slots[slot, CHILD])
                            depth += 1
            elif kind < SKIP and has_token(batch, column - ranks, 0, a) == (kind == TOKEN):
                child = row + 1
            if chained and (child == NONE or head & GREEDY == 0):
                for i in range(tree.successor_start[row], tree.successor_start[row + 1]):
                    stack = _push_one(stack, depth, tree.successors[i])
                    depth += 1
            if child == NONE:
                row = star
            else:
                row = child
                if star != NONE:
                    stack = _push_one(stack, depth, star)
                    depth += 1
    return out[:size].copy(), visits
