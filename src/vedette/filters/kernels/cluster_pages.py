"""Writes pages: conjunctions that are verified together, without the predicates that their path implies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.filters.kernels.cluster_choice import IMPLIED, ColumnFrequencies, NodePath, first_predicates, weigh_all
from vedette.filters.kernels.clusters import TOKEN_COLUMN
from vedette.kernels.bundles import PredicateTable
from vedette.kernels.compile import kernel
from vedette.kernels.growing_arrays import grown

SLOTS = 16384  # slots of the hash that finds equal predicates; a page has a quarter as many, or one conjunction
MOST_PREDICATES = SLOTS // 4
TOKENS_LAST = np.float32(4.0)

# Indexes into `used`.
PAGES, WORDS, ENTRIES = range(3)


class ClusterPages(NamedTuple):
    """Pages being written (see `ClusterArrays`); `used` counts the elements in use."""

    pages: NDArray[np.int64]
    body: NDArray[np.int32]
    used: NDArray[np.int64]
    slots: NDArray[np.int32]  # hash of the open page's distinct predicates, -1 between uses
    place: NDArray[np.int32]  # per rank column: its number in the open page, -1 between uses


@kernel
def no_pages(ranks: int) -> ClusterPages:
    """Empty arrays to write pages to."""
    return ClusterPages(
        np.zeros(64, np.int64),
        np.empty(1024, np.int32),
        np.zeros(3, np.int64),
        np.full(SLOTS, -1, np.int32),
        np.full(ranks, -1, np.int32),
    )


@kernel
def with_room(pages: ClusterPages, entries: int, predicates: int) -> ClusterPages:
    """The same pages, with room for one more of that size."""
    used = pages.used
    most = 3 + 4 * entries + 5 * predicates
    return ClusterPages(
        grown(pages.pages, used[PAGES] + 2), grown(pages.body, used[WORDS] + most), used, pages.slots, pages.place
    )


@kernel
def predicate_slot(column: int, low: int, width: int) -> int:
    """The hash by which a predicate is searched for in the open page."""
    mixed = np.int64(column) * 40503 + np.int64(low) * 2654435769 + np.int64(width) * 668265263
    return mixed ^ (mixed >> 17) ^ (mixed >> 31)


@kernel
def write_page(
    pages: ClusterPages,
    table: PredicateTable,
    conjunctions: NDArray[np.int32],
    frequencies: ColumnFrequencies,
    path: NodePath,
) -> None:
    """Append one page; the most selective predicates come first, tokens last."""
    ranks = path.low.shape[0]
    used = pages.used
    n = conjunctions.shape[0]
    start = first_predicates(table, conjunctions)
    passing = weigh_all(table, conjunctions, start, frequencies, path, 1.0, np.empty(start[n], np.int32))
    column_of, low_of, width_of, slots = table.column, table.low, table.width, pages.slots
    size = slots.shape[0]
    while size < 2 * start[n]:
        size *= 2
    if size > slots.shape[0]:  # one conjunction with very many predicates: the search must always find a free slot
        slots = np.full(size, -1, np.int32)
    kept = np.empty(start[n], np.int64)  # per kept predicate: its number in the table,
    share = np.empty(start[n], np.float32)  # the share of events that pass it,
    number = np.empty(start[n], np.int32)  # and its number among the distinct ones
    first_use = np.empty(start[n], np.int64)  # per distinct predicate
    slot_of = np.empty(start[n], np.int32)
    uses = np.zeros(start[n], np.int32)
    ends = np.empty(n, np.int64)
    k = 0
    distinct = 0
    for i in range(n):
        begin = k
        for j in range(start[i], start[i + 1]):
            if passing[j] == IMPLIED:
                continue
            p = table.start[conjunctions[i]] + j - start[i]
            column = column_of[p]
            passed = passing[j] if column < ranks else TOKENS_LAST
            slot = predicate_slot(column, low_of[p], width_of[p]) & (size - 1)
            while True:
                known = slots[slot]
                if known < 0:
                    known = np.int32(distinct)
                    slots[slot] = known
                    slot_of[known] = slot
                    first_use[known] = p
                    distinct += 1
                    break
                other = first_use[known]
                if column_of[other] == column and low_of[other] == low_of[p] and width_of[other] == width_of[p]:
                    break
                slot = (slot + 1) & (size - 1)
            uses[known] += 1
            # Insertion sort by selectivity: a handful of predicates.
            place = k
            while place > begin and share[place - 1] > passed:
                kept[place] = kept[place - 1]
                share[place] = share[place - 1]
                number[place] = number[place - 1]
                place -= 1
            kept[place] = p
            share[place] = passed
            number[place] = known
            k += 1
        ends[i] = k
    body, place_of = pages.body, pages.place
    page = used[WORDS]
    columns = 0
    shared = 0
    local = np.full(distinct, -1, np.int32)
    for d in range(distinct):
        slots[slot_of[d]] = -1
        column = column_of[first_use[d]]
        if column < ranks:
            if place_of[column] < 0:
                place_of[column] = columns
                body[page + 3 + columns] = column
                columns += 1
            if uses[d] > 1:
                local[d] = shared
                shared += 1
    body[page] = n
    body[page + 1] = shared
    body[page + 2] = columns
    at = page + 3 + columns
    for d in range(distinct):
        if local[d] >= 0:
            p = first_use[d]
            body[at] = place_of[column_of[p]]
            body[at + 1] = low_of[p]
            body[at + 2] = as_word(width_of[p])
            at += 3
    for i in by_shape(ends, number, local):
        first = ends[i - 1] if i > 0 else 0
        references = 0
        for k in range(first, ends[i]):
            references += np.int64(local[number[k]] >= 0)
        owned = ends[i] - first - references
        body[at] = conjunctions[i]
        body[at + 1] = references + 65536 * owned
        reference = at + 2
        own_column = reference + ((references + 1) >> 1)
        own = own_column + ((owned + 1) >> 1)
        at = own + 2 * owned
        references = 0
        owned = 0
        for k in range(first, ends[i]):
            if local[number[k]] >= 0:
                put_half(body, reference, references, local[number[k]])
                references += 1
            else:
                p = kept[k]
                column = column_of[p]
                put_half(body, own_column, owned, place_of[column] if column < ranks else TOKEN_COLUMN + column - ranks)
                body[own + 2 * owned] = low_of[p]
                body[own + 2 * owned + 1] = as_word(width_of[p])
                owned += 1
    for k in range(columns):
        place_of[body[page + 3 + k]] = -1
    used[WORDS] = at
    used[ENTRIES] += n
    used[PAGES] += 1
    pages.pages[used[PAGES]] = at


@kernel
def by_shape(ends: NDArray[np.int64], number: NDArray[np.int32], local: NDArray[np.int32]) -> NDArray[np.int64]:
    """The entries ordered by shape, i.e. by their numbers of shared and own predicates."""
    n = ends.shape[0]
    shape = np.empty(n, np.int64)
    starts = np.zeros(257, np.int64)
    first = 0
    for i in range(n):
        references = 0
        for k in range(first, ends[i]):
            references += np.int64(local[number[k]] >= 0)
        shape[i] = min(references, 15) * 16 + min(ends[i] - first - references, 15)
        starts[shape[i] + 1] += 1
        first = ends[i]
    for s in range(256):
        starts[s + 1] += starts[s]
    order = np.empty(n, np.int64)
    for i in range(n):
        order[starts[shape[i]]] = i
        starts[shape[i]] += 1
    return order


@kernel
def as_word(width: int) -> int:
    """A width reinterpreted as a signed word."""
    wide = np.int64(width)
    return wide - 4294967296 if wide >= 2147483648 else wide


@kernel
def put_half(body: NDArray[np.int32], at: int, number: int, value: int) -> None:
    """Write a value (0 .. 65535) as half word `number`, counted from word `at`."""
    word = at + (number >> 1)
    if number & 1:
        body[word] |= as_word(np.int64(value) << 16)
    else:
        body[word] = value


@kernel
def write_pages(
    pages: ClusterPages,
    table: PredicateTable,
    conjunctions: NDArray[np.int32],
    frequencies: ColumnFrequencies,
    path: NodePath,
    most: int,
) -> ClusterPages:
    """Append as many pages as the list needs, with at most `most` conjunctions each."""
    begin = 0
    while begin < conjunctions.shape[0]:
        end = begin
        predicates = np.int64(0)
        while end < conjunctions.shape[0] and end - begin < most:
            c = conjunctions[end]
            size = table.start[c + 1] - table.start[c]
            if end > begin and predicates + size > MOST_PREDICATES:
                break
            predicates += size
            end += 1
        pages = with_room(pages, end - begin, predicates)
        write_page(pages, table, conjunctions[begin:end], frequencies, path)
        begin = end
    return pages
