"""Matches batches in recursive access clusters: events are routed together, pages are verified in lanes.

A batch goes through the nodes as lists of events. A branch looks at one column and sends every event to at
most one child (for a token column: to one child per token), so a page is read once per batch, and all events
that reached it are tested 64 at a time. A predicate that several conjunctions of a page share is tested once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.filters.kernels.tokens import contains_token
from vedette.kernels.bundles import CodedBatch
from vedette.kernels.compile import kernel
from vedette.kernels.growing_arrays import grown, grown_rows
from vedette.kernels.lanes import FEW_LANES, LANES, bits_set, compress16, fill16, lowest_bit, within16, within64

# Kinds of branches.
GRID = 0  # child = table[(rank - base) >> shift]; equality is the grid of cells of one rank
HASH = 1  # child by hashing the rank
TOKEN = 2  # children by hashing every token of the event's set

TOKEN_COLUMN = 32768  # in a page, a token column t is number TOKEN_COLUMN + t
NO_CHILD = -1  # a child is a node (>= 0), or a page p as -2 - p


class ClusterArrays(NamedTuple):
    """The whole index as flat arrays."""

    nodes: NDArray[np.int32]  # [n, 4]: first branch, branches, first page, pages
    branches: NDArray[np.int32]  # [b, 6]: column, kind, base, shift, size, first slot of its children
    children: NDArray[np.int32]  # a grid's children, or a hash's keys followed by its children
    pages: NDArray[np.int64]  # [p + 1]: where each page begins in `body`
    body: NDArray[np.int32]
    # A page is contiguous, so that reading it is one stream. Its words are
    #   entries, shared predicates, columns;
    #   the columns that its predicates are on;
    #   per shared predicate: number of its column in the page, low, width;
    #   per entry: conjunction, references + 65536 * own predicates,
    #              references to shared predicates (two a word), columns of own ones (two a word),
    #              per own predicate: low, width.
    # Entries of the same shape are neighbours: branches of the loops over them are then predicted well.


class RouteScratch(NamedTuple):
    """Working memory of one call of `route`."""

    slot_count: NDArray[np.int32]  # per slot of `children`, zero between uses
    lanes: NDArray[np.int32]  # 64 ranks per column of a page
    mask: NDArray[np.uint64]  # per shared predicate of a page


@kernel
def hash_place(key: int, size: int) -> int:
    """Where the search for a key begins in a hash of `size` (a power of two) slots."""
    mixed = np.int64(key) * 2654435769
    return (mixed ^ (mixed >> 16)) & (size - 1)


@kernel
def with_token(
    batch: CodedBatch, events: NDArray[np.int32], mask: np.uint64, column: int, token: int, wanted: bool
) -> np.uint64:
    """The lanes of `mask` whose events have the token (or, if not `wanted`, do not)."""
    left = mask
    while left != np.uint64(0):
        lane = lowest_bit(left)
        left &= left - np.uint64(1)
        number = batch.sets[column, events[lane]]
        if contains_token(batch.set_start, batch.set_tokens, number, token) != wanted:
            mask &= ~(np.uint64(1) << np.uint64(lane))
    return mask


@kernel
def route(
    index: ClusterArrays,
    batch: CodedBatch,
    scratch: RouteScratch,
    out_event: NDArray[np.int32],
    out_conjunction: NDArray[np.int32],
) -> int:
    """Match a batch: write the pairs that fit into the output, return how many there are.

    The last 64 elements of the output are not counted as capacity: whole vectors are written. One function and all
    arrays in local names on purpose: a call that takes arrays costs as much as verifying a page.
    """
    nodes, branches, children, pages, body = index.nodes, index.branches, index.children, index.pages, index.body
    values, sets, set_start, set_tokens = batch.ranks, batch.sets, batch.set_start, batch.set_tokens
    slot_count, lanes, masks = scratch.slot_count, scratch.lanes, scratch.mask
    ranks = values.shape[0]
    events = values.shape[1]
    room = out_event.shape[0] - LANES
    count = 0
    # Lists of events are stored one after another; a list is freed when all later ones are done.
    lists = np.empty(4 * events + LANES, np.int32)
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
    visits = np.empty((256, 3), np.int64)  # page, first and last of the list that it is verified for
    while depth > 0:
        depth -= 1
        node = stack[depth, 0]
        number = stack[depth, 1]
        first = stack[depth, 2]
        last = stack[depth, 3]
        visiting = 0
        if number == 0:
            many = np.int64(nodes[node, 3])
            visits = grown_rows(visits, many)
            for i in range(many):
                visits[i, 0] = nodes[node, 2] + i
                visits[i, 1] = first
                visits[i, 2] = last
            visiting = many
        if number < nodes[node, 1]:
            if number + 1 < nodes[node, 1]:
                stack[depth, 1] = number + 1
                depth += 1

            # The child that each event goes to.
            branch = nodes[node, 0] + number
            column = np.int64(branches[branch, 0])
            kind = branches[branch, 1]
            base = np.int64(branches[branch, 2])
            shift = np.int64(branches[branch, 3])
            size = np.int64(branches[branch, 4])
            at = np.int64(branches[branch, 5])
            moved = 0
            to_event = grown(to_event, last - first)
            to_slot = grown(to_slot, last - first)
            if kind == GRID:
                for i in range(first, last):
                    event = lists[i]
                    cell = (values[column, event] - base) >> shift
                    if 0 <= cell < size and children[at + cell] != NO_CHILD:
                        to_event[moved] = event
                        to_slot[moved] = at + cell
                        moved += 1
            elif kind == HASH:
                for i in range(first, last):
                    event = lists[i]
                    key = values[column, event]
                    if key >= 0:
                        place = hash_place(key, size)
                        while children[at + place] != NO_CHILD and children[at + place] != key:
                            place = (place + 1) & (size - 1)
                        if children[at + place] == key:
                            to_event[moved] = event
                            to_slot[moved] = at + size + place
                            moved += 1
            else:
                for i in range(first, last):
                    event = lists[i]
                    tokens = sets[column - ranks, event]
                    if tokens < 0:
                        continue
                    to_event = grown(to_event, moved + set_start[tokens + 1] - set_start[tokens])
                    to_slot = grown(to_slot, moved + set_start[tokens + 1] - set_start[tokens])
                    for t in range(set_start[tokens], set_start[tokens + 1]):
                        key = set_tokens[t]
                        place = hash_place(key, size)
                        while children[at + place] != NO_CHILD and children[at + place] != key:
                            place = (place + 1) & (size - 1)
                        if children[at + place] == key:
                            to_event[moved] = event
                            to_slot[moved] = at + size + place
                            moved += 1

            # Group by child: count, place, scatter; only the slots that were reached are looked at.
            touching = 0
            touched = grown(touched, moved)
            for i in range(moved):
                slot = to_slot[i]
                if slot_count[slot] == 0:
                    touched[touching] = slot
                    touching += 1
                slot_count[slot] += 1
            lists = grown(lists, last + moved + LANES)
            begin = last
            for i in range(touching):
                slot = touched[i]
                end = begin + slot_count[slot]
                slot_count[slot] = begin
                begin = end
            for i in range(moved):
                slot = to_slot[i]
                lists[slot_count[slot]] = to_event[i]
                slot_count[slot] += 1
            stack = grown_rows(stack, depth + touching)
            visits = grown_rows(visits, visiting + touching)
            begin = last
            for i in range(touching):
                slot = touched[i]
                end = np.int64(slot_count[slot])
                slot_count[slot] = 0
                child = children[slot]
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

        # Test the entries of the reached pages, each for its list of events, 64 at a time.
        for v in range(visiting):
            page = pages[visits[v, 0]]
            entries = body[page]
            columns = page + 3
            shared = columns + np.int64(body[page + 2])
            first_entry = shared + 3 * np.int64(body[page + 1])
            for base in range(visits[v, 1], visits[v, 2], LANES):
                alive = min(visits[v, 2] - base, LANES)
                few = alive <= FEW_LANES
                everyone = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(LANES - alive)
                at = 0
                for k in range(columns, shared):
                    column = body[k]
                    for i in range(alive):
                        lanes[at + i] = values[column, lists[base + i]]
                    at += LANES
                for k in range(body[page + 1]):
                    at = np.int64(body[shared + 3 * k]) * LANES
                    low = body[shared + 3 * k + 1]
                    width = body[shared + 3 * k + 2]
                    if few:
                        masks[k] = within16(lanes, at, low, width)
                    else:
                        masks[k] = within64(lanes, at, low, width)
                entry = first_entry
                for _ in range(entries):
                    mask = everyone
                    conjunction = body[entry]
                    references = np.int64(body[entry + 1] & 0xFFFF)
                    owned = np.int64(body[entry + 1] >> 16)
                    reference = entry + 2
                    own_column = reference + ((references + 1) >> 1)
                    own = own_column + ((owned + 1) >> 1)
                    entry = own + 2 * owned
                    for k in range(references):
                        mask &= masks[np.int64((body[reference + (k >> 1)] >> ((k & 1) << 4)) & 0xFFFF)]
                    for k in range(owned):
                        # Early enough to save work, late enough for the branch to be predicted.
                        if k & 1 == 0 and mask == np.uint64(0):
                            break
                        column = np.int64((body[own_column + (k >> 1)] >> ((k & 1) << 4)) & 0xFFFF)
                        low = body[own + 2 * k]
                        width = body[own + 2 * k + 1]
                        if column >= TOKEN_COLUMN:
                            # A token test costs more than a comparison: only the lanes still alive are tested.
                            tokens = column - TOKEN_COLUMN
                            mask = with_token(batch, lists[base : base + alive], mask, tokens, low, width == 0)
                        elif few:
                            mask &= within16(lanes, column * LANES, low, width)
                        else:
                            mask &= within64(lanes, column * LANES, low, width)
                    if mask == np.uint64(0):
                        continue
                    if count > room:
                        count += bits_set(mask)
                    elif few:
                        compress16(lists, base, mask, out_event, count)
                        fill16(conjunction, out_conjunction, count)
                        count += bits_set(mask)
                    else:
                        for part in range(0, LANES, FEW_LANES):
                            chosen = (mask >> np.uint64(part)) & np.uint64(0xFFFF)
                            compress16(lists, base + part, chosen, out_event, count)
                            fill16(conjunction, out_conjunction, count)
                            count += bits_set(chosen)
    return count
