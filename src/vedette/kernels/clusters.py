"""Matching in recursive access clusters: events are routed together, pages of conjunctions verified in lanes.

A batch goes through the nodes as lists of events. A branch looks at one column and sends every event to at
most one child (for a token column: to one child per token), so a page is read once per batch, and all events
that reached it are tested 64 at a time. A predicate that several conjunctions of a page share is tested once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.bundles import CodedBatch
from vedette.kernels.compile import kernel
from vedette.kernels.lanes import FEW_LANES, LANES, lowest_bit, within16, within64
from vedette.kernels.tokens import contains_token

# Kinds of branches.
GRID = 0  # child = table[(rank - base) >> shift]; equality is the grid of cells of one rank
HASH = 1  # child by hashing the rank
TOKEN = 2  # children by hashing every token of the event's set

NO_CHILD = -1  # a child is a node (>= 0), or a page p as -2 - p


class ClusterArrays(NamedTuple):
    """The whole index, flat."""

    nodes: NDArray[np.int32]  # [n, 4]: first branch, branches, first page, pages
    branches: NDArray[np.int32]  # [b, 6]: column, kind, base, shift, size, first slot of its children
    children: NDArray[np.int32]  # a grid's children, or a hash's keys followed by its children
    pages: NDArray[np.int64]  # [p + 1, 4]: first shared predicate, entry, reference, own predicate
    shared_column: NDArray[np.int16]  # predicates that several entries of a page have
    shared_low: NDArray[np.int32]
    shared_width: NDArray[np.uint32]
    conjunction: NDArray[np.int32]  # per entry
    references: NDArray[np.uint16]  # per entry: how many shared predicates it has
    owned: NDArray[np.uint16]  # per entry: how many predicates of its own
    reference: NDArray[np.uint16]  # an entry's shared predicates, counted from its page's first
    own_column: NDArray[np.int16]  # predicates that one entry of a page has alone
    own_low: NDArray[np.int32]
    own_width: NDArray[np.uint32]


class Scratch(NamedTuple):
    """Working memory of one call of `route`."""

    slot_count: NDArray[np.int32]  # per slot of `children`, zero between uses
    lanes: NDArray[np.int32]  # 64 ranks per column
    lanes_of: NDArray[np.int64]  # per column: the block that `lanes` holds
    mask: NDArray[np.uint64]  # per shared predicate of a page
    mask_of: NDArray[np.int64]  # per shared predicate: the block that `mask` holds


@kernel
def hash_place(key: int, size: int) -> int:
    """Where to begin looking for a key in a hash of `size` (a power of two) places."""
    mixed = np.int64(key) * 2654435769
    return (mixed ^ (mixed >> 16)) & (size - 1)


@kernel
def hash_slot(children: NDArray[np.int32], at: int, size: int, key: int) -> int:
    """Where the child of `key` stands, or -1. Keys are at `at`, children `size` further on."""
    place = hash_place(key, size)
    while True:
        found = children[at + place]
        if found == key:
            return at + size + place
        if found == NO_CHILD:
            return -1
        place = (place + 1) & (size - 1)


@kernel
def with_token(
    batch: CodedBatch, events: NDArray[np.int32], mask: np.uint64, column: int, token: int, wanted: bool
) -> np.uint64:
    """Those of the lanes in `mask` whose events have the token (or have not)."""
    left = mask
    while left != np.uint64(0):
        lane = lowest_bit(left)
        left &= left - np.uint64(1)
        number = batch.sets[column, events[lane]]
        if contains_token(batch.set_start, batch.set_tokens, number, token) != wanted:
            mask &= ~(np.uint64(1) << np.uint64(lane))
    return mask


@kernel
def verify(
    index: ClusterArrays,
    batch: CodedBatch,
    lists: NDArray[np.int32],
    visits: NDArray[np.int64],
    scratch: Scratch,
    out: tuple[NDArray[np.int32], NDArray[np.int32]],
    counts: NDArray[np.int64],
) -> None:
    """Test the entries of pages, each for its list of events.

    `visits` has rows of page, first and last of its list; `counts` holds the pairs found and the blocks done so
    far. Many pages in one call, and all arrays in local names: a call that takes arrays is dear.
    """
    ranks = batch.ranks.shape[0]
    pages, references, owned, reference = index.pages, index.references, index.owned, index.reference
    shared_column, shared_low, shared_width = index.shared_column, index.shared_low, index.shared_width
    own_column, own_low, own_width = index.own_column, index.own_low, index.own_width
    values, conjunction = batch.ranks, index.conjunction
    count = counts[0]
    block = counts[1]
    out_event, out_conjunction = out
    room = out_event.shape[0]
    lanes, lanes_of, masks, mask_of = scratch.lanes, scratch.lanes_of, scratch.mask, scratch.mask_of
    for v in range(visits.shape[0]):
        page = visits[v, 0]
        first_shared = pages[page, 0]
        for base in range(visits[v, 1], visits[v, 2], LANES):
            alive = min(visits[v, 2] - base, LANES)
            few = alive <= FEW_LANES
            block += 1
            everyone = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(LANES - alive)
            next_reference = pages[page, 2]
            next_own = pages[page, 3]
            for e in range(pages[page, 1], pages[page + 1, 1]):
                mask = everyone
                r = next_reference
                p = next_own
                next_reference = r + np.int64(references[e])
                next_own = p + np.int64(owned[e])
                while r < next_reference and mask != np.uint64(0):
                    local = np.int64(reference[r])
                    if mask_of[local] != block:
                        mask_of[local] = block
                        s = first_shared + local
                        column = np.int64(shared_column[s])
                        at = column * LANES
                        if lanes_of[column] != block:
                            lanes_of[column] = block
                            for i in range(alive):
                                lanes[at + i] = values[column, lists[base + i]]
                        if few:
                            masks[local] = within16(lanes, at, shared_low[s], shared_width[s])
                        else:
                            masks[local] = within64(lanes, at, shared_low[s], shared_width[s])
                    mask &= masks[local]
                    r += 1
                while p < next_own and mask != np.uint64(0):
                    column = np.int64(own_column[p])
                    if column < ranks:
                        at = column * LANES
                        if lanes_of[column] != block:
                            lanes_of[column] = block
                            for i in range(alive):
                                lanes[at + i] = values[column, lists[base + i]]
                        if few:
                            mask &= within16(lanes, at, own_low[p], own_width[p])
                        else:
                            mask &= within64(lanes, at, own_low[p], own_width[p])
                    else:
                        # Tokens cost more than a comparison: only the lanes still alive are asked.
                        mask = with_token(
                            batch, lists[base : base + alive], mask, column - ranks, own_low[p], own_width[p] == 0
                        )
                    p += 1
                while mask != np.uint64(0):
                    if count < room:
                        out_event[count] = lists[base + lowest_bit(mask)]
                        out_conjunction[count] = conjunction[e]
                    mask &= mask - np.uint64(1)
                    count += 1
    counts[0] = count
    counts[1] = block


@kernel
def grown(array: NDArray[np.int32], needed: int) -> NDArray[np.int32]:
    """The array itself, or a longer copy with room for `needed`."""
    if needed <= array.shape[0]:
        return array
    longer = np.empty(max(needed, 2 * array.shape[0]), np.int32)
    for i in range(array.shape[0]):
        longer[i] = array[i]
    return longer


@kernel
def destinations(
    index: ClusterArrays,
    batch: CodedBatch,
    branch: int,
    events: NDArray[np.int32],
    to_event: NDArray[np.int32],
    to_slot: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """For each event that a branch lets through, the slot of its child."""
    column = index.branches[branch, 0]
    kind = index.branches[branch, 1]
    base = np.int64(index.branches[branch, 2])
    shift = np.int64(index.branches[branch, 3])
    size = index.branches[branch, 4]
    at = index.branches[branch, 5]
    children = index.children
    moved = 0
    if kind == TOKEN:
        numbers = batch.sets[column - batch.ranks.shape[0]]
        for i in range(events.shape[0]):
            event = events[i]
            number = numbers[event]
            if number < 0:
                continue
            for t in range(batch.set_start[number], batch.set_start[number + 1]):
                slot = hash_slot(children, at, size, batch.set_tokens[t])
                if slot >= 0:
                    to_event = grown(to_event, moved + 1)
                    to_slot = grown(to_slot, moved + 1)
                    to_event[moved] = event
                    to_slot[moved] = slot
                    moved += 1
        return to_event, to_slot, moved
    to_event = grown(to_event, events.shape[0])
    to_slot = grown(to_slot, events.shape[0])
    values = batch.ranks[column]
    if kind == GRID:
        for i in range(events.shape[0]):
            event = events[i]
            cell = (values[event] - base) >> shift
            if 0 <= cell < size:
                slot = at + cell
                if children[slot] != NO_CHILD:
                    to_event[moved] = event
                    to_slot[moved] = slot
                    moved += 1
    else:
        for i in range(events.shape[0]):
            event = events[i]
            if values[event] >= 0:
                slot = hash_slot(children, at, size, values[event])
                if slot >= 0:
                    to_event[moved] = event
                    to_slot[moved] = slot
                    moved += 1
    return to_event, to_slot, moved


@kernel
def route(
    index: ClusterArrays,
    batch: CodedBatch,
    scratch: Scratch,
    out_event: NDArray[np.int32],
    out_conjunction: NDArray[np.int32],
) -> int:
    """Write the pairs that fit into the output, return how many there are."""
    out = (out_event, out_conjunction)
    events = batch.ranks.shape[1]
    counts = np.zeros(2, np.int64)
    slot_count = scratch.slot_count
    visits = np.empty((256, 3), np.int64)
    # Lists of events lie one after the other; a list is given up when all that came after it is done.
    lists = np.empty(max(4 * events, 64), np.int32)
    for i in range(events):
        lists[i] = i
    stack = np.empty((64, 4), np.int64)  # node, next branch, first and last of its list
    stack[0, 0] = 0
    stack[0, 1] = 0
    stack[0, 2] = 0
    stack[0, 3] = events
    depth = 1
    to_event = np.empty(events, np.int32)
    to_slot = np.empty(events, np.int32)
    touched = np.empty(256, np.int32)
    while depth > 0:
        depth -= 1
        node = stack[depth, 0]
        branch = stack[depth, 1]
        first = stack[depth, 2]
        last = stack[depth, 3]
        here = lists[first:last]
        if branch == 0:
            many = np.int64(index.nodes[node, 3])
            if many > 0:
                if many > visits.shape[0]:
                    visits = np.empty((2 * many, 3), np.int64)
                for i in range(many):
                    visits[i, 0] = index.nodes[node, 2] + i
                    visits[i, 1] = first
                    visits[i, 2] = last
                verify(index, batch, lists, visits[:many], scratch, out, counts)
        if branch >= index.nodes[node, 1]:
            continue
        if branch + 1 < index.nodes[node, 1]:
            stack[depth, 1] = branch + 1
            depth += 1
        to_event, to_slot, moved = destinations(index, batch, index.nodes[node, 0] + branch, here, to_event, to_slot)
        # Group by child: count, place, scatter; only the slots that were reached are looked at.
        touching = 0
        touched = grown(touched, moved)
        for i in range(moved):
            slot = to_slot[i]
            if slot_count[slot] == 0:
                touched[touching] = slot
                touching += 1
            slot_count[slot] += 1
        lists = grown(lists, last + moved)
        place = last
        for i in range(touching):
            size = slot_count[touched[i]]
            slot_count[touched[i]] = place
            place += size
        for i in range(moved):
            slot = to_slot[i]
            lists[slot_count[slot]] = to_event[i]
            slot_count[slot] += 1
        if depth + touching >= stack.shape[0]:
            taller = np.empty((2 * (depth + touching), 4), np.int64)
            for i in range(depth):
                for j in range(4):
                    taller[i, j] = stack[i, j]
            stack = taller
        if touching > visits.shape[0]:
            visits = np.empty((2 * touching, 3), np.int64)
        begin = last
        visiting = 0
        for i in range(touching):
            slot = touched[i]
            end = np.int64(slot_count[slot])
            slot_count[slot] = 0
            child = index.children[slot]
            if child >= 0:
                stack[depth, 0] = child
                stack[depth, 1] = 0
                stack[depth, 2] = begin
                stack[depth, 3] = end
                depth += 1
            else:
                visits[visiting, 0] = -2 - child
                visits[visiting, 1] = begin
                visits[visiting, 2] = end
                visiting += 1
            begin = end
        if visiting > 0:
            verify(index, batch, lists, visits[:visiting], scratch, out, counts)
    return counts[0]
