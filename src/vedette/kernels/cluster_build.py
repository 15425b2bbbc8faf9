"""Building recursive access clusters: every conjunction is filed under its most selective predicates.

A node takes a list of conjunctions. Each is filed under the predicate that the fewest events pass, given what
the path has tested already; conjunctions that agree on a column share a branch. Equality becomes a direct table
or a hash, ranges a grid whose cells a conjunction may occupy several of (bounded replication; an event is in
one cell only, so no pair comes twice). Where no predicate is worth a branch, a page is written.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.bundles import PredicateTable
from vedette.kernels.clusters import GRID, HASH, NO_CHILD, TOKEN, ClusterArrays, hash_place
from vedette.kernels.compile import kernel

UNUSABLE = 2.0  # a selectivity that no predicate has


class Frequencies(NamedTuple):
    """What a sample of events says of columns; `cumulative[at[c] + r + 2]` is the share of events with rank <= r."""

    cumulative: NDArray[np.float32]
    at: NDArray[np.int64]  # rank columns + 1
    token: NDArray[np.float32]  # share of events that have a token, all token columns one after the other
    token_at: NDArray[np.int64]  # token columns + 1


class Settings(NamedTuple):
    """What can be tuned; none of it changes an answer."""

    page: int  # conjunctions up to which a list becomes a page, and the most in one page
    least: int  # conjunctions that make a branch worth routing to
    widest: float  # a range is filed only if it covers at most this share of the values reaching the node
    slack: float  # a predicate is as good as the best if it passes at most this many times the events
    replication: float  # copies of a conjunction that one branch may make on average
    replication_in_all: float


class Path(NamedTuple):
    """What the path to a node has established: ranks lie in [low, high] (low = -1: may be missing)."""

    low: NDArray[np.int32]
    high: NDArray[np.int32]


class Pages(NamedTuple):
    """Pages being written; `used` holds how much of each array is: pages, predicates, entries, references."""

    pages: NDArray[np.int32]
    column: NDArray[np.int32]
    low: NDArray[np.int32]
    width: NDArray[np.uint32]
    entry: NDArray[np.int32]
    reference: NDArray[np.uint16]
    used: NDArray[np.int64]
    slots: NDArray[np.int32]  # hash of the open page's distinct predicates, -1 between uses
    taken: NDArray[np.int32]  # the slots in use


PAGE_SLOTS = 8192
MOST_REFERENCES = 2048  # per page, so that its distinct predicates fill at most a quarter of the slots


@kernel
def mass(frequencies: Frequencies, column: int, low: int, high: int) -> float:
    """The share of events whose rank lies in [low, high]."""
    at = frequencies.at[column]
    return frequencies.cumulative[at + high + 2] - frequencies.cumulative[at + low + 1]


@kernel
def covers(path: Path, column: int, low: int, width: int) -> bool:
    """Whether every rank that the path admits passes the predicate (which may wrap around)."""
    first = np.int64(low)
    last = first + np.int64(width)
    if first <= path.low[column] and path.high[column] <= last:
        return True
    return bool(path.high[column] <= last - 4294967296)


@kernel
def selectivity(table: PredicateTable, p: int, frequencies: Frequencies, path: Path, widest: float) -> float:
    """The share of the events reaching a node that pass a predicate, or UNUSABLE as an access predicate."""
    ranks = path.low.shape[0]
    column = table.column[p]
    if column >= ranks:
        if table.width[p] != 0:
            return UNUSABLE
        return frequencies.token[frequencies.token_at[column - ranks] + table.low[p]]
    low = np.int64(table.low[p])
    high = low + np.int64(table.width[p])
    whole_high = frequencies.at[column + 1] - frequencies.at[column] - 3
    if low < 0 or high > whole_high or covers(path, column, table.low[p], table.width[p]):
        return UNUSABLE
    low = max(low, np.int64(path.low[column]))
    high = min(high, np.int64(path.high[column]))
    if low > high:
        return UNUSABLE
    reaching = mass(frequencies, column, path.low[column], path.high[column])
    present = mass(frequencies, column, max(path.low[column], 0), path.high[column])
    passing = mass(frequencies, column, low, high)
    if low < high and passing > widest * present:
        return UNUSABLE
    return passing / max(reaching, np.float32(1e-12))


@kernel
def assign(
    table: PredicateTable,
    conjunctions: NDArray[np.int32],
    frequencies: Frequencies,
    path: Path,
    settings: Settings,
    chosen: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> None:
    """Choose each conjunction's access predicate (-1: none); `sizes` counts per group.

    Group 2c holds the points of column c (or its tokens), 2c + 1 its ranges. Among predicates that are about as
    selective, the one on the most popular column is taken, so that there are few branches.
    """
    groups = sizes.shape[0]
    ranks = path.low.shape[0]
    popular = np.zeros(groups, np.int64)
    best = np.empty(conjunctions.shape[0], np.float32)
    for i in range(conjunctions.shape[0]):
        c = conjunctions[i]
        least = np.float32(UNUSABLE)
        for p in range(table.start[c], table.start[c + 1]):
            least = min(least, selectivity(table, p, frequencies, path, settings.widest))
        best[i] = least
        if least < 1.0:
            for p in range(table.start[c], table.start[c + 1]):
                if selectivity(table, p, frequencies, path, settings.widest) <= settings.slack * least + 1e-6:
                    popular[2 * table.column[p] + np.int64(is_range(table, p, path, ranks))] += 1
    keep = np.ones(groups, np.bool_)
    for last in range(2):
        sizes[:] = 0
        for i in range(conjunctions.shape[0]):
            c = conjunctions[i]
            chosen[i] = -1
            if best[i] >= 1.0:
                continue
            accepted = settings.slack * best[i] + 1e-6
            most = np.int64(0)
            second = np.float32(0.5)
            second_best = np.int64(-1)
            for p in range(table.start[c], table.start[c + 1]):
                group = 2 * table.column[p] + np.int64(is_range(table, p, path, ranks))
                if keep[group]:
                    share = selectivity(table, p, frequencies, path, settings.widest)
                    if share <= accepted:
                        if popular[group] > most:
                            most = popular[group]
                            chosen[i] = p
                    elif share < second:
                        second = share
                        second_best = p
            # Groups that came out too small are closed the second time; their members look elsewhere.
            if last == 1 and chosen[i] < 0:
                chosen[i] = second_best
            if chosen[i] >= 0:
                p = chosen[i]
                sizes[2 * table.column[p] + np.int64(is_range(table, p, path, ranks))] += 1
        if last == 0:
            for group in range(groups):
                keep[group] = sizes[group] >= settings.least


@kernel
def is_range(table: PredicateTable, p: int, path: Path, ranks: int) -> bool:
    """Whether a predicate admits more than one rank of those the path leaves."""
    column = table.column[p]
    if column >= ranks:
        return False
    low = max(np.int64(table.low[p]), np.int64(path.low[column]))
    high = min(np.int64(table.low[p]) + np.int64(table.width[p]), np.int64(path.high[column]))
    return bool(low < high)


@kernel
def predicate_slot(column: int, low: int, width: int) -> int:
    """Where to look for a predicate among those of the open page."""
    mixed = np.int64(column) * 40503 + np.int64(low) * 2654435769 + np.int64(width) * 668265263
    return (mixed ^ (mixed >> 17) ^ (mixed >> 31)) & (PAGE_SLOTS - 1)


@kernel
def write_page(
    pages: Pages,
    table: PredicateTable,
    conjunctions: NDArray[np.int32],
    frequencies: Frequencies,
    path: Path,
) -> None:
    """Append one page; what the path implies is left out, the most selective predicate comes first."""
    ranks = path.low.shape[0]
    used = pages.used
    first = used[1]
    for i in range(conjunctions.shape[0]):
        c = conjunctions[i]
        pages.entry[used[2], 0] = c
        pages.entry[used[2], 1] = used[3]
        used[2] += 1
        begin = used[3]
        shares = np.empty(table.start[c + 1] - table.start[c], np.float32)
        for p in range(table.start[c], table.start[c + 1]):
            column = table.column[p]
            if column < ranks:
                if covers(path, column, table.low[p], table.width[p]):
                    continue
                share = selectivity(table, p, frequencies, path, 1.0)
            else:
                share = np.float32(4.0)  # tokens cost the most: last
            slot = predicate_slot(column, table.low[p], table.width[p])
            while True:
                known = pages.slots[slot]
                if known < 0:
                    known = used[1]
                    pages.slots[slot] = known
                    pages.taken[known - first] = slot
                    pages.column[known] = column
                    pages.low[known] = table.low[p]
                    pages.width[known] = table.width[p]
                    used[1] += 1
                    break
                if (
                    pages.column[known] == column
                    and pages.low[known] == table.low[p]
                    and pages.width[known] == table.width[p]
                ):
                    break
                slot = (slot + 1) & (PAGE_SLOTS - 1)
            # Insertion sort by selectivity: a handful of predicates.
            place = used[3]
            while place > begin and shares[place - begin - 1] > share:
                pages.reference[place] = pages.reference[place - 1]
                shares[place - begin] = shares[place - begin - 1]
                place -= 1
            pages.reference[place] = known - first
            shares[place - begin] = share
            used[3] += 1
    for i in range(used[1] - first):
        pages.slots[pages.taken[i]] = -1
    used[0] += 1
    pages.pages[used[0], 0] = used[1]
    pages.pages[used[0], 1] = used[2]
    pages.entry[used[2], 1] = used[3]


@kernel
def with_room(pages: Pages, entries: int, references: int) -> Pages:
    """The same pages, with room for one more of that size."""
    used = pages.used
    page_rows = pages.pages
    if used[0] + 2 > page_rows.shape[0]:
        page_rows = np.empty((2 * page_rows.shape[0], 2), np.int32)
        page_rows[: used[0] + 1] = pages.pages[: used[0] + 1]
    entry = pages.entry
    if used[2] + entries + 1 > entry.shape[0]:
        entry = np.empty((2 * entry.shape[0] + entries, 2), np.int32)
        entry[: used[2] + 1] = pages.entry[: used[2] + 1]
    reference = pages.reference
    if used[3] + references > reference.shape[0]:
        reference = np.empty(2 * reference.shape[0] + references, np.uint16)
        reference[: used[3]] = pages.reference[: used[3]]
    column, low, width = pages.column, pages.low, pages.width
    if used[1] + references > column.shape[0]:
        size = 2 * column.shape[0] + references
        column = np.empty(size, np.int32)
        low = np.empty(size, np.int32)
        width = np.empty(size, np.uint32)
        column[: used[1]] = pages.column[: used[1]]
        low[: used[1]] = pages.low[: used[1]]
        width[: used[1]] = pages.width[: used[1]]
    return Pages(page_rows, column, low, width, entry, reference, used, pages.slots, pages.taken)


@kernel
def write_pages(
    pages: Pages,
    table: PredicateTable,
    conjunctions: NDArray[np.int32],
    frequencies: Frequencies,
    path: Path,
    most: int,
) -> Pages:
    """Append as many pages as the list needs."""
    begin = 0
    while begin < conjunctions.shape[0]:
        end = begin
        references = 0
        while end < conjunctions.shape[0] and end - begin < most:
            c = conjunctions[end]
            size = table.start[c + 1] - table.start[c]
            if end > begin and references + size > MOST_REFERENCES:
                break
            references += size
            end += 1
        pages = with_room(pages, end - begin, references)
        write_page(pages, table, conjunctions[begin:end], frequencies, path)
        begin = end
    return pages


@kernel
def grid_shift(lows: NDArray[np.int64], highs: NDArray[np.int64], span: int, replication: float, page: int) -> int:
    """The finest grid (as a shift of ranks) that neither copies too much nor makes too many cells."""
    n = lows.shape[0]
    shift = 0
    while True:
        cells = (span >> shift) + 1
        if cells <= 2:
            return shift
        if cells <= max(4 * n // page, 2) or cells <= 8:
            copies = 0
            for i in range(n):
                copies += (highs[i] >> shift) - (lows[i] >> shift) + 1
            if copies <= replication * n:
                return shift
        shift += 1


@kernel
def build(
    table: PredicateTable, groups: int, ranks: int, frequencies: Frequencies, settings: Settings
) -> ClusterArrays:
    """Index all conjunctions; `groups` is twice the number of columns."""
    n = table.start.shape[0] - 1
    nodes = np.empty((64, 4), np.int32)
    branches = np.empty((64, 6), np.int32)
    children = np.empty(1024, np.int32)
    node_used, branch_used, children_used = 0, 0, 0
    pages = Pages(
        np.zeros((64, 2), np.int32),
        np.empty(1024, np.int32),
        np.empty(1024, np.int32),
        np.empty(1024, np.uint32),
        np.zeros((1024, 2), np.int32),
        np.empty(1024, np.uint16),
        np.zeros(4, np.int64),
        np.full(PAGE_SLOTS, -1, np.int32),
        np.empty(PAGE_SLOTS, np.int32),
    )
    path = Path(np.full(ranks, -1, np.int32), np.empty(ranks, np.int32))
    for column in range(ranks):
        path.high[column] = frequencies.at[column + 1] - frequencies.at[column] - 3
    lists = np.empty(max(4 * n, 64), np.int32)
    for i in range(n):
        lists[i] = i
    # Work to do: first and last of the list, the slot that waits for the child, the last step of the path,
    # depth, and how many steps were in use.
    stack = np.empty((256, 6), np.int64)
    stack[0] = np.array([0, n, -1, -1, 0, 0])
    copies = np.ones(256, np.float64)
    waiting = 1
    # Steps of paths: column, low, high, the step before.
    steps = np.empty((256, 4), np.int64)
    sizes = np.zeros(groups, np.int64)
    while waiting > 0:
        waiting -= 1
        first = stack[waiting, 0]
        last = stack[waiting, 1]
        slot = stack[waiting, 2]
        step = stack[waiting, 3]
        depth = stack[waiting, 4]
        steps_used = stack[waiting, 5]
        copied = copies[waiting]
        taken = step
        while taken >= 0:
            column = steps[taken, 0]
            path.low[column] = max(path.low[column], steps[taken, 1])
            path.high[column] = min(path.high[column], steps[taken, 2])
            taken = steps[taken, 3]
        here = lists[first:last].copy()
        size = here.shape[0]
        inner = size > settings.page and depth < 40
        chosen = np.empty(size, np.int64)
        if inner:
            assign(table, here, frequencies, path, settings, chosen, sizes)
            inner = np.any(sizes >= settings.least)
        if not inner:
            page = pages.used[0]
            pages = write_pages(pages, table, here, frequencies, path, settings.page)
            many = pages.used[0] - page
            if slot >= 0 and many == 1:
                children[slot] = -2 - page
            else:
                nodes = room_for_rows(nodes, node_used + 1)
                nodes[node_used] = np.array([branch_used, 0, page, many], np.int32)
                if slot >= 0:
                    children[slot] = node_used
                node_used += 1
            reset(path, steps, step, frequencies)
            continue
        nodes = room_for_rows(nodes, node_used + 1)
        node = node_used
        node_used += 1
        if slot >= 0:
            children[slot] = node
        # The list by group: what no branch takes first, then each group.
        place = np.zeros(groups + 1, np.int64)
        for group in range(groups):
            if sizes[group] < settings.least:
                sizes[group] = 0
        for group in range(groups):
            place[group + 1] = place[group] + sizes[group]
        rest = np.empty(size - place[groups], np.int32)
        grouped = np.empty(place[groups], np.int64)
        member = np.empty(place[groups], np.int32)
        resting = 0
        fill = place.copy()
        for i in range(size):
            group = -1
            if chosen[i] >= 0:
                p = chosen[i]
                group = 2 * table.column[p] + np.int64(is_range(table, p, path, ranks))
            if group < 0 or sizes[group] == 0:
                rest[resting] = here[i]
                resting += 1
            else:
                grouped[fill[group]] = chosen[i]
                member[fill[group]] = here[i]
                fill[group] += 1
        page = pages.used[0]
        pages = write_pages(pages, table, rest, frequencies, path, settings.page)
        nodes[node, 0] = branch_used
        nodes[node, 2] = page
        nodes[node, 3] = pages.used[0] - page
        top = last
        for group in range(groups):
            count = sizes[group]
            if count == 0:
                continue
            column = group // 2
            lows = np.empty(count, np.int64)
            highs = np.empty(count, np.int64)
            for i in range(count):
                p = grouped[place[group] + i]
                low = np.int64(table.low[p])
                high = low + np.int64(table.width[p])
                if column < ranks:
                    low = max(low, np.int64(path.low[column]))
                    high = min(high, np.int64(path.high[column]))
                lows[i] = low
                highs[i] = high
            kind = GRID
            shift = 0
            base = np.int64(0)
            cells = 0
            if column >= ranks:
                kind = TOKEN
            else:
                base = lows.min()
                span = highs.max() - base
                if group % 2 == 1:
                    allowed = min(settings.replication, settings.replication_in_all / copied)
                    shift = grid_shift(lows - base, highs - base, span, max(allowed, 1.25), settings.page)
                elif span > 16 * count + 1024:
                    kind = HASH
                cells = (span >> shift) + 1
            branches = room_for_rows(branches, branch_used + 1)
            if kind == GRID:
                # Count per cell, then fill the lists of the cells one after the other.
                starts = np.zeros(cells + 1, np.int64)
                for i in range(count):
                    for cell in range((lows[i] - base) >> shift, ((highs[i] - base) >> shift) + 1):
                        starts[cell + 1] += 1
                for cell in range(cells):
                    starts[cell + 1] += starts[cell]
                total = starts[cells]
                lists = room_for(lists, top + total)
                at = starts.copy()
                for i in range(count):
                    for cell in range((lows[i] - base) >> shift, ((highs[i] - base) >> shift) + 1):
                        lists[top + at[cell]] = member[place[group] + i]
                        at[cell] += 1
                children = room_for(children, children_used + cells)
                branches[branch_used] = np.array([column, kind, base, shift, cells, children_used], np.int32)
                # Ascending, so that the list popped next always lies above all others that wait.
                for cell in range(cells):
                    children[children_used + cell] = NO_CHILD
                    if starts[cell + 1] == starts[cell]:
                        continue
                    steps = room_for_steps(steps, steps_used + 1)
                    steps[steps_used, 0] = column
                    steps[steps_used, 1] = base + (np.int64(cell) << shift)
                    steps[steps_used, 2] = base + (np.int64(cell + 1) << shift) - 1
                    steps[steps_used, 3] = step
                    if waiting + 1 > stack.shape[0]:
                        stack, copies = taller(stack, copies)
                    stack[waiting, 0] = top + starts[cell]
                    stack[waiting, 1] = top + starts[cell + 1]
                    stack[waiting, 2] = children_used + cell
                    stack[waiting, 3] = steps_used
                    stack[waiting, 4] = depth + 1
                    steps_used += 1
                    stack[waiting, 5] = steps_used
                    copies[waiting] = copied * total / count
                    waiting += 1
                children_used += cells
            else:
                order = np.argsort(lows)
                distinct = 1
                for i in range(1, count):
                    distinct += np.int64(lows[order[i]] != lows[order[i - 1]])
                size_of_hash = 4
                while size_of_hash < 2 * distinct:
                    size_of_hash *= 2
                children = room_for(children, children_used + 2 * size_of_hash)
                children[children_used : children_used + 2 * size_of_hash] = NO_CHILD
                branches[branch_used] = np.array([column, kind, 0, 0, size_of_hash, children_used], np.int32)
                lists = room_for(lists, top + count)
                begin = 0
                for i in range(count):
                    lists[top + i] = member[place[group] + order[i]]
                    if i + 1 < count and lows[order[i + 1]] == lows[order[i]]:
                        continue
                    key = np.int32(lows[order[i]])
                    spot = hash_place(key, size_of_hash)
                    while children[children_used + spot] != NO_CHILD:
                        spot = (spot + 1) & (size_of_hash - 1)
                    children[children_used + spot] = key
                    child_step = step
                    if kind == HASH:
                        steps = room_for_steps(steps, steps_used + 1)
                        steps[steps_used, 0] = column
                        steps[steps_used, 1] = key
                        steps[steps_used, 2] = key
                        steps[steps_used, 3] = step
                        child_step = steps_used
                        steps_used += 1
                    if waiting + 1 > stack.shape[0]:
                        stack, copies = taller(stack, copies)
                    stack[waiting, 0] = top + begin
                    stack[waiting, 1] = top + i + 1
                    stack[waiting, 2] = children_used + size_of_hash + spot
                    stack[waiting, 3] = child_step
                    stack[waiting, 4] = depth + 1
                    stack[waiting, 5] = steps_used
                    copies[waiting] = copied
                    waiting += 1
                    begin = i + 1
                total = count
                children_used += 2 * size_of_hash
            branch_used += 1
            top += total
        nodes[node, 1] = branch_used - nodes[node, 0]
        reset(path, steps, step, frequencies)
    used = pages.used
    return ClusterArrays(
        nodes[:node_used].copy(),
        branches[:branch_used].copy(),
        children[:children_used].copy(),
        pages.pages[: used[0] + 1].copy(),
        pages.column[: used[1]].copy(),
        pages.low[: used[1]].copy(),
        pages.width[: used[1]].copy(),
        pages.entry[: used[2] + 1].copy(),
        pages.reference[: used[3]].copy(),
    )


@kernel
def reset(path: Path, steps: NDArray[np.int64], step: int, frequencies: Frequencies) -> None:
    """Forget the path."""
    while step >= 0:
        column = steps[step, 0]
        path.low[column] = -1
        path.high[column] = frequencies.at[column + 1] - frequencies.at[column] - 3
        step = steps[step, 3]


@kernel
def room_for(array: NDArray[np.int32], needed: int) -> NDArray[np.int32]:
    """The array, or a longer copy."""
    if needed <= array.shape[0]:
        return array
    longer = np.empty(max(needed, 2 * array.shape[0]), np.int32)
    longer[: array.shape[0]] = array
    return longer


@kernel
def room_for_rows(array: NDArray[np.int32], needed: int) -> NDArray[np.int32]:
    """As `room_for`, for rows."""
    if needed <= array.shape[0]:
        return array
    longer = np.empty((2 * array.shape[0], array.shape[1]), np.int32)
    longer[: array.shape[0]] = array
    return longer


@kernel
def room_for_steps(array: NDArray[np.int64], needed: int) -> NDArray[np.int64]:
    """As `room_for`, for steps."""
    if needed <= array.shape[0]:
        return array
    longer = np.empty((2 * array.shape[0], array.shape[1]), np.int64)
    longer[: array.shape[0]] = array
    return longer


@kernel
def taller(stack: NDArray[np.int64], copies: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """A stack with twice the room."""
    more = np.empty((2 * stack.shape[0], stack.shape[1]), np.int64)
    more[: stack.shape[0]] = stack
    more_copies = np.empty(2 * copies.shape[0], np.float64)
    more_copies[: copies.shape[0]] = copies
    return more, more_copies
