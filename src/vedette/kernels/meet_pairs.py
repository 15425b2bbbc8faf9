"""Disjuncts of one side against those of the other: which pairs meet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.compile import kernel
from vedette.kernels.meet_rows import (
    ABOUT,
    ATTRIBUTE,
    EMPTY_BIT,
    LAST,
    LOW,
    NULL_BIT,
    PLACE,
    SET,
    SEVERAL_BIT,
    SORT,
    SORT_SHIFT,
    SPANS,
    Listed,
    Places,
    Terms,
    count_candidates,
    list_candidates,
    sketch_of,
)

# Whose attributes have to be among those of the other: the probe's, the listed one's, nobody's.
PROBE_WITHIN, LISTED_WITHIN, OPEN = 0, 1, 2


class Room(NamedTuple):
    """Memory that a kernel works in: what it needs is -1 (`term_of`, `seen`) before and `term_of` after a call."""

    term_of: NDArray[np.int32]  # attribute -> term of the probe
    seen: NDArray[np.int32]  # disjunct -> the probe that it met last
    candidates: NDArray[np.int32]
    probe: NDArray[np.int32]  # pairs that meet; room for one probe with all there are, at least
    met: NDArray[np.int32]


@kernel
def meeting_pairs(
    probes: Terms, standing: Terms, listed: Listed, places: Places, room: Room, mode: int, begin: int
) -> tuple[int, int]:
    """Write the pairs of probes from `begin` on while there is room; returns how many, and the next probe."""
    p_start, p_rows, p_low, p_last = probes.term_start, probes.rows, probes.low, probes.last
    s_start, s_rows, s_low, s_last = standing.term_start, standing.rows, standing.low, standing.last
    place_start, place_term = places.start, places.term
    term_of, seen, candidates, out_probe, out_met = room.term_of, room.seen, room.candidates, room.probe, room.met
    free = listed.free
    everyone = s_start.shape[0] - 1
    attributes = term_of.shape[0]
    written = 0
    for probe in range(begin, p_start.shape[0] - 1):
        if written + everyone > out_probe.shape[0]:
            return written, probe
        first, end = p_start[probe], p_start[probe + 1]
        asked = end - first
        every = mode == OPEN or (mode == PROBE_WITHIN and asked == 0)
        for term in range(first, end):
            attribute = p_rows[term, ABOUT] & ATTRIBUTE
            if attribute < attributes:
                term_of[attribute] = term
        count = 0
        exact = False  # whoever is listed, meets, but may be listed twice
        if every:
            count = everyone
        elif mode == PROBE_WITHIN:
            best, fewest = first, np.int64(-1)
            for term in range(first, end):
                may = count_candidates(listed, places, probes, term)
                if fewest < 0 or may < fewest:
                    best, fewest = term, may
                if may == 0:
                    break
            if fewest > 0:
                asks = p_rows[best, ABOUT]
                sketch = sketch_of(listed, probes, asks & ATTRIBUTE, term_of, False)
                exact = asked == 1 and (asks >> SORT_SHIFT) & SORT == SET
                if exact and not asks & (NULL_BIT | SEVERAL_BIT):
                    # All that is asked is that one span is touched: nobody is listed twice.
                    more = list_candidates(listed, places, probes, best, sketch, out_met, written)
                    for place in range(written, more):
                        out_probe[place] = probe
                    written = more
                else:
                    count = list_candidates(listed, places, probes, best, sketch, candidates, 0)
        else:
            for place in range(free.shape[0]):
                candidates[place] = free[place]
            count = free.shape[0]
            for term in range(first, end):
                attribute = p_rows[term, ABOUT] & ATTRIBUTE
                if attribute < listed.start.shape[0] - 1:
                    sketch = sketch_of(listed, probes, attribute, term_of, True)
                    count = list_candidates(listed, places, probes, term, sketch, candidates, count)
        for number in range(count):
            other = number if every else candidates[number]
            shared = 0
            meets = True
            for row in range(s_start[other], s_start[other] if exact else s_start[other + 1]):
                about = s_rows[row, ABOUT]
                term = term_of[about & ATTRIBUTE]
                if term < 0:
                    if mode == LISTED_WITHIN:
                        meets = False
                        break
                    continue
                asks = p_rows[term, ABOUT]
                sort, wanted = (about >> SORT_SHIFT) & SORT, (asks >> SORT_SHIFT) & SORT
                shared += 1
                if sort == SET and wanted == SET:
                    if about & asks & NULL_BIT:
                        continue
                    if (
                        (about | asks) & EMPTY_BIT
                        or s_rows[row, LOW] > p_rows[term, LAST]
                        or p_rows[term, LOW] > s_rows[row, LAST]
                    ):
                        meets = False
                        break
                    if not (about | asks) & SEVERAL_BIT:
                        continue
                elif sort == SET:  # of lists and places a set says whether there is a value
                    if about & EMPTY_BIT:
                        meets = False
                        break
                    continue
                elif wanted == SET:
                    if asks & EMPTY_BIT:
                        meets = False
                        break
                    continue
                elif sort == PLACE:
                    low, high = place_start[term], place_start[term + 1]
                    while low < high:
                        middle = (low + high) // 2
                        if place_term[middle] < row:
                            low = middle + 1
                        else:
                            high = middle
                    if low == place_start[term + 1] or place_term[low] != row:
                        meets = False
                        break
                    continue
                elif sort == wanted or about & asks & NULL_BIT:  # some and every element: null may be one
                    continue
                # Spans of both, side by side.
                i, i_end = s_rows[row, SPANS], s_rows[row + 1, SPANS]
                j, j_end = p_rows[term, SPANS], p_rows[term + 1, SPANS]
                meets = False
                while i < i_end and j < j_end:
                    if s_last[i] < p_low[j]:
                        i += 1
                    elif p_last[j] < s_low[i]:
                        j += 1
                    else:
                        meets = True
                        break
                if not meets:
                    break
            if not meets or (mode == PROBE_WITHIN and shared < asked and not exact) or seen[other] == probe:
                continue
            seen[other] = probe
            out_probe[written] = probe
            out_met[written] = other
            written += 1
        for term in range(first, end):
            attribute = p_rows[term, ABOUT] & ATTRIBUTE
            if attribute < attributes:
                term_of[attribute] = -1
    return written, p_start.shape[0] - 1
