"""Writing pages: the conjunctions that are verified together, without what their path implies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.bundles import PredicateTable
from vedette.kernels.cluster_choice import IMPLIED, Frequencies, Path, first_predicates, weigh_all
from vedette.kernels.compile import kernel

SLOTS = 16384  # of the hash that finds equal predicates; a page has at most a quarter as many
MOST_PREDICATES = SLOTS // 4
TOKENS_LAST = np.float32(4.0)

# What `used` counts.
PAGES, SHARED, ENTRIES, REFERENCES, OWN = range(5)


class Pages(NamedTuple):
    """Pages being written (see `ClusterArrays`); `used` says how much of the arrays is."""

    pages: NDArray[np.int64]
    shared_column: NDArray[np.int16]
    shared_low: NDArray[np.int32]
    shared_width: NDArray[np.uint32]
    conjunction: NDArray[np.int32]
    references: NDArray[np.uint16]
    owned: NDArray[np.uint16]
    reference: NDArray[np.uint16]
    own_column: NDArray[np.int16]
    own_low: NDArray[np.int32]
    own_width: NDArray[np.uint32]
    used: NDArray[np.int64]
    slots: NDArray[np.int32]  # hash of the open page's distinct predicates, -1 between uses


@kernel
def no_pages() -> Pages:
    """Nothing written yet."""
    return Pages(
        np.zeros((64, 4), np.int64),
        np.empty(1024, np.int16),
        np.empty(1024, np.int32),
        np.empty(1024, np.uint32),
        np.empty(1024, np.int32),
        np.empty(1024, np.uint16),
        np.empty(1024, np.uint16),
        np.empty(1024, np.uint16),
        np.empty(1024, np.int16),
        np.empty(1024, np.int32),
        np.empty(1024, np.uint32),
        np.zeros(5, np.int64),
        np.full(SLOTS, -1, np.int32),
    )


@kernel
def longer(array: NDArray, used: int, more: int) -> NDArray:
    """The array, or a copy with room for `more` after the `used`."""
    if used + more <= array.shape[0]:
        return array
    copy = np.empty(2 * array.shape[0] + more, array.dtype)
    for i in range(used):
        copy[i] = array[i]
    return copy


@kernel
def with_room(pages: Pages, entries: int, predicates: int) -> Pages:
    """The same pages, with room for one more of that size."""
    used = pages.used
    rows = pages.pages
    if used[PAGES] + 2 > rows.shape[0]:
        rows = np.empty((2 * rows.shape[0], 4), np.int64)
        for i in range(used[PAGES] + 1):
            for j in range(4):
                rows[i, j] = pages.pages[i, j]
    return Pages(
        rows,
        longer(pages.shared_column, used[SHARED], predicates),
        longer(pages.shared_low, used[SHARED], predicates),
        longer(pages.shared_width, used[SHARED], predicates),
        longer(pages.conjunction, used[ENTRIES], entries),
        longer(pages.references, used[ENTRIES], entries),
        longer(pages.owned, used[ENTRIES], entries),
        longer(pages.reference, used[REFERENCES], predicates),
        longer(pages.own_column, used[OWN], predicates),
        longer(pages.own_low, used[OWN], predicates),
        longer(pages.own_width, used[OWN], predicates),
        used,
        pages.slots,
    )


@kernel
def predicate_slot(column: int, low: int, width: int) -> int:
    """Where to look for a predicate among those of the open page."""
    mixed = np.int64(column) * 40503 + np.int64(low) * 2654435769 + np.int64(width) * 668265263
    return (mixed ^ (mixed >> 17) ^ (mixed >> 31)) & (SLOTS - 1)


@kernel
def write_page(
    pages: Pages, table: PredicateTable, conjunctions: NDArray[np.int32], frequencies: Frequencies, path: Path
) -> None:
    """Append one page; the most selective predicates come first, tokens last."""
    ranks = path.low.shape[0]
    used = pages.used
    n = conjunctions.shape[0]
    start = first_predicates(table, conjunctions)
    passing = weigh_all(table, conjunctions, start, frequencies, path, 1.0, np.empty(start[n], np.int32))
    column_of, low_of, width_of, slots = table.column, table.low, table.width, pages.slots
    kept = np.empty(start[n], np.int64)  # per kept predicate: which it is,
    share = np.empty(start[n], np.float32)  # how many events pass it,
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
            slot = predicate_slot(column, low_of[p], width_of[p])
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
                slot = (slot + 1) & (SLOTS - 1)
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
    first_shared = used[SHARED]
    local = np.full(distinct, -1, np.int32)
    for d in range(distinct):
        slots[slot_of[d]] = -1
        p = first_use[d]
        if uses[d] > 1 and table.column[p] < ranks:
            s = used[SHARED]
            local[d] = s - first_shared
            pages.shared_column[s] = table.column[p]
            pages.shared_low[s] = table.low[p]
            pages.shared_width[s] = table.width[p]
            used[SHARED] += 1
    k = 0
    for i in range(n):
        e = used[ENTRIES]
        begin_references = used[REFERENCES]
        begin_own = used[OWN]
        while k < ends[i]:
            if local[number[k]] >= 0:
                pages.reference[used[REFERENCES]] = local[number[k]]
                used[REFERENCES] += 1
            else:
                p = kept[k]
                pages.own_column[used[OWN]] = table.column[p]
                pages.own_low[used[OWN]] = table.low[p]
                pages.own_width[used[OWN]] = table.width[p]
                used[OWN] += 1
            k += 1
        pages.conjunction[e] = conjunctions[i]
        pages.references[e] = used[REFERENCES] - begin_references
        pages.owned[e] = used[OWN] - begin_own
        used[ENTRIES] += 1
    used[PAGES] += 1
    pages.pages[used[PAGES], 0] = used[SHARED]
    pages.pages[used[PAGES], 1] = used[ENTRIES]
    pages.pages[used[PAGES], 2] = used[REFERENCES]
    pages.pages[used[PAGES], 3] = used[OWN]


@kernel
def write_pages(
    pages: Pages,
    table: PredicateTable,
    conjunctions: NDArray[np.int32],
    frequencies: Frequencies,
    path: Path,
    most: int,
) -> Pages:
    """Append as many pages as the list needs, with at most so many conjunctions each."""
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
