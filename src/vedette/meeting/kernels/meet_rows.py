"""Constraints of one side as rows of integers, and a search for those that may meet a term of the other side.

A term is a row: its attribute, the hull of its values, and where its spans begin (there is one row more at the
end). An index lists the spans of every attribute by their low ends, with the highest ends of blocks of them as a tree,
so that those that overlap a span are found in the time that listing them takes, and counted in that of two searches.

Each listed span has a sketch: what its disjunct allows four other attributes, in levels, so that most
candidates are excluded without being looked up. A sketch is two words of four lanes. A lane has a level, or MARK
on the side where an attribute without a test has to fail: no level reaches it. And there is a mask of all attributes
that the disjunct tests, of which some may share a bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.compile import kernel

# Columns of a row, and bits of the first one above the number of the attribute.
ABOUT, LOW, LAST, SPANS = 0, 1, 2, 3
SORT_SHIFT = 32
ATTRIBUTE = (1 << SORT_SHIFT) - 1
SORT = 3  # after the shift
SET, ANY, ALL, PLACE = 0, 1, 2, 3
NULL_BIT = 1 << 34
SEVERAL_BIT = 1 << 35  # more spans than one
EMPTY_BIT = 1 << 36  # no span
BLOCK = 32
LOWEST = -(2**63)

MASK_BITS = 63
COMPANIONS = 4
LANE = 15  # bits of a level, and one more that is free
MARK = 4095
_FREE = sum(1 << (LANE * (lane + 1) - 1) for lane in range(COMPANIONS))


class TermRows(NamedTuple):
    """Disjuncts of one side: the terms of d are rows term_start[d] to term_start[d + 1], by attribute."""

    term_start: NDArray[np.int64]
    rows: NDArray[np.int64]  # terms + 1, 4
    low: NDArray[np.int64]  # closed spans, ascending and apart within a term
    last: NDArray[np.int64]
    level_low: NDArray[np.int64]  # of each term
    level_last: NDArray[np.int64]


class SpanIndex(NamedTuple):
    """The spans of terms by attribute, ascending by low; ends sorted for themselves; terms that have no such spans."""

    start: NDArray[np.int64]  # attributes + 1
    low: NDArray[np.int64]
    last: NDArray[np.int64]
    disjunct: NDArray[np.int32]
    before: NDArray[np.int64]  # where the span of the same term that comes before it ends
    again: NDArray[np.bool_]  # there is such a span
    mask: NDArray[np.int64]
    sketch_low: NDArray[np.int64]
    sketch_last: NDArray[np.int64]
    companion: NDArray[np.int32]  # attributes, 4: whose levels stand in the sketches; -1: nobody's
    sorted_last: NDArray[np.int64]
    tree_start: NDArray[np.int64]  # attributes + 1
    tree: NDArray[np.int64]
    other_start: NDArray[np.int64]  # lists and places
    other: NDArray[np.int32]
    null_start: NDArray[np.int64]  # sets that null is in
    null: NDArray[np.int32]
    free: NDArray[np.int32]  # disjuncts without terms


class PlacePairs(NamedTuple):
    """The terms that meet a term about a place: those of t are term[start[t]] to term[start[t + 1]], ascending."""

    start: NDArray[np.int64]  # terms of the probing side + 1
    term: NDArray[np.int32]  # rows of the listed side
    disjunct: NDArray[np.int32]  # of each of them, if it is listed, else -1


@kernel
def leaves_of(blocks: int) -> int:
    """The number of leaves of the tree over so many blocks: a power of two."""
    size = 1
    while size < blocks:
        size *= 2
    return size


@kernel
def fill_trees(listed: SpanIndex) -> None:
    """Write the highest ends of blocks, and of pairs of them, and so on."""
    start, last, tree_start, tree = listed.start, listed.last, listed.tree_start, listed.tree
    for attribute in range(start.shape[0] - 1):
        first, end, at = start[attribute], start[attribute + 1], tree_start[attribute]
        size = (tree_start[attribute + 1] - at) // 2
        for place in range(first, end):
            node = at + size + (place - first) // BLOCK
            tree[node] = max(tree[node], last[place])
        for node in range(size - 1, 0, -1):
            tree[at + node] = max(tree[at + 2 * node], tree[at + 2 * node + 1])


@kernel
def above(values: NDArray[np.int64], begin: int, end: int, value: int) -> int:
    """The first place in [begin, end) of ascending values that is greater."""
    while begin < end:
        middle = (begin + end) // 2
        if values[middle] <= value:
            begin = middle + 1
        else:
            end = middle
    return begin


@kernel
def count_candidates(listed: SpanIndex, places: PlacePairs, probes: TermRows, term: int) -> int:
    """The number of rows that `list_candidates` would visit, at most."""
    rows = probes.rows
    about = rows[term, ABOUT]
    attribute, sort = about & ATTRIBUTE, (about >> SORT_SHIFT) & SORT
    if attribute >= listed.start.shape[0] - 1:
        return 0
    begin, end = listed.start[attribute], listed.start[attribute + 1]
    others = listed.other_start[attribute + 1] - listed.other_start[attribute]
    if sort == PLACE:
        return end - begin + places.start[term + 1] - places.start[term]
    if sort != SET:
        return end - begin + others
    found = 0
    if about & NULL_BIT:
        found += listed.null_start[attribute + 1] - listed.null_start[attribute]
    if not about & EMPTY_BIT:
        found += others
    for span in range(rows[term, SPANS], rows[term + 1, SPANS]):
        low, last = probes.low[span], probes.last[span]
        found += above(listed.low, begin, end, last) - begin
        if low > LOWEST:
            found -= above(listed.sorted_last, begin, end, low - 1) - begin
    return found


class SketchQuery(NamedTuple):
    """The conditions of a quick test: bits that a mask must have, and those that it may have; a sketch."""

    needed: int
    allowed: int
    low: int
    last: int


@kernel
def glance_of(
    listed: SpanIndex, probes: TermRows, attribute: int, term_of: NDArray[np.int32], mask: int, listed_within: bool
) -> SketchQuery:
    """The quick test for a probe with this mask, whose terms are in `term_of`, of spans listed under an attribute."""
    words_low, words_last = np.int64(0), np.int64(0)
    for lane in range(COMPANIONS):
        companion = listed.companion[attribute, lane]
        low, last = np.int64(0), np.int64(MARK)
        if companion >= 0:
            term = term_of[companion]
            if term >= 0:
                low, last = probes.level_low[term], probes.level_last[term]
            elif listed_within:
                low, last = np.int64(MARK), np.int64(0)
        words_low |= low << (LANE * lane)
        words_last |= last << (LANE * lane)
    if listed_within:
        return SketchQuery(np.int64(0), np.int64(mask), words_low, words_last)
    return SketchQuery(np.int64(mask), np.int64(-1), words_low, words_last)


@kernel
def list_candidates(
    listed: SpanIndex,
    places: PlacePairs,
    probes: TermRows,
    term: int,
    glance: SketchQuery,
    candidates: NDArray[np.int32],
    count: int,
) -> int:
    """Write the disjuncts that may meet a term behind `count`: no row twice. Returns how many there are then."""
    rows = probes.rows
    about = rows[term, ABOUT]
    attribute, sort = about & ATTRIBUTE, (about >> SORT_SHIFT) & SORT
    if attribute >= listed.start.shape[0] - 1:
        return count
    begin, end = listed.start[attribute], listed.start[attribute + 1]
    disjunct = listed.disjunct
    if sort == SET and about & NULL_BIT:
        for place in range(listed.null_start[attribute], listed.null_start[attribute + 1]):
            candidates[count] = listed.null[place]
            count += 1
    if sort == PLACE:
        for place in range(places.start[term], places.start[term + 1]):
            if places.disjunct[place] >= 0:
                candidates[count] = places.disjunct[place]
                count += 1
    elif sort != SET or not about & EMPTY_BIT:
        for place in range(listed.other_start[attribute], listed.other_start[attribute + 1]):
            candidates[count] = listed.other[place]
            count += 1
    if sort != SET:  # the sets of lists and places say whether there is a value: few, and all may do
        for place in range(begin, end):
            candidates[count] = disjunct[place]
            count += 1
        return count
    for span in range(rows[term, SPANS], rows[term + 1, SPANS]):
        # Those that begin within or before the span of the probe that comes before have been listed for it.
        after = begin
        if span > rows[term, SPANS]:
            after = above(listed.low, begin, end, probes.last[span - 1])
        stop = above(listed.low, after, end, probes.last[span])
        count = _list_span(listed, attribute, after, stop, probes.low[span], glance, candidates, count)
    return count


@kernel
def _list_span(
    listed: SpanIndex,
    attribute: int,
    after: int,
    stop: int,
    low: int,
    glance: SketchQuery,
    candidates: NDArray[np.int32],
    count: int,
) -> int:
    """List those of [after, stop) that end at `low` or later, and pass the quick test; of each term the first only."""
    begin, at = listed.start[attribute], listed.tree_start[attribute]
    size = (listed.tree_start[attribute + 1] - at) // 2
    last, tree, disjunct, before, again = listed.last, listed.tree, listed.disjunct, listed.before, listed.again
    sketch_low, sketch_last = listed.sketch_low, listed.sketch_last
    mask, needed, excluded = listed.mask, glance.needed, ~glance.allowed
    mine_low, mine_last = glance.low, glance.last | _FREE
    if after >= stop:
        return count
    block = (after - begin) // BLOCK
    final = (stop - 1 - begin) // BLOCK
    while block <= final:
        node = size + block
        if tree[at + node] < low:
            # The next subtree to the right that holds such an end, and its leftmost block that does.
            while node > 0:
                while node & 1:
                    node >>= 1
                if node == 0:
                    break
                node += 1
                if tree[at + node] >= low:
                    break
            if node == 0:
                return count
            while node < size:
                node *= 2
                if tree[at + node] < low:
                    node += 1
            block = node - size
            if block > final:
                return count
        for place in range(max(after, begin + block * BLOCK), min(stop, begin + (block + 1) * BLOCK)):
            # A lane keeps its free bit where the one level does not exceed the other.
            fits = ((sketch_last[place] | _FREE) - mine_low) & (mine_last - sketch_low[place]) & _FREE
            off = (needed & ~mask[place]) | (mask[place] & excluded)
            if last[place] >= low and fits == _FREE and off == 0 and not (again[place] and before[place] >= low):
                candidates[count] = disjunct[place]
                count += 1
        block += 1
    return count
