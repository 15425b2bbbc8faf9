"""Find the pairs of disjuncts of two sides that meet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.compile import kernel
from vedette.kernels.lanes import lowest_bit
from vedette.meeting.kernels.meet_rows import (
    ABOUT,
    ATTRIBUTE,
    EMPTY_BIT,
    LAST,
    LOW,
    MASK_BITS,
    NULL_BIT,
    PLACE,
    SET,
    SEVERAL_BIT,
    SORT,
    SORT_SHIFT,
    SPANS,
    PlacePairs,
    SpanIndex,
    TermRows,
    count_candidates,
    glance_of,
    list_candidates,
)

# Whose attributes have to be among those of the other: the probe's, the listed one's, nobody's.
PROBE_WITHIN, LISTED_WITHIN, OPEN = 0, 1, 2


class MeetScratch(NamedTuple):
    """Working memory of a kernel; `term_of` is -1 throughout before and after a call."""

    term_of: NDArray[np.int32]  # attribute -> term of the probe
    bits: NDArray[np.uint64]  # a bit for every disjunct that meets the probe; all 0 before and after
    words: NDArray[np.uint64]  # a bit for every word of those that is not 0
    candidates: NDArray[np.int32]
    probe: NDArray[np.int32]  # pairs that meet; room for one probe with all there are, at least
    met: NDArray[np.int32]


@kernel
def meeting_pairs(
    probes: TermRows,
    standing: TermRows,
    listed: SpanIndex,
    places: PlacePairs,
    room: MeetScratch,
    mode: int,
    begin: int,
) -> tuple[int, int]:
    """Write the pairs of probes from `begin` on while there is room; return how many, and the next probe.

    They are ordered by probe, and for each by the disjuncts of the indexed side, without repetition.
    """
    p_start, p_rows, p_low, p_last = probes.term_start, probes.rows, probes.low, probes.last
    s_start, s_rows, s_low, s_last = standing.term_start, standing.rows, standing.low, standing.last
    place_start, place_term = places.start, places.term
    term_of, candidates, out_probe, out_met = room.term_of, room.candidates, room.probe, room.met
    bits, words = room.bits, room.words
    one = np.uint64(1)
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
        mask = np.int64(0)
        for term in range(first, end):
            attribute = p_rows[term, ABOUT] & ATTRIBUTE
            mask |= np.int64(1) << (attribute % MASK_BITS)
            if attribute < attributes:
                term_of[attribute] = term
        count = 0
        exact = False  # every listed disjunct meets
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
                glance = glance_of(listed, probes, asks & ATTRIBUTE, term_of, mask, False)
                exact = asked == 1 and (asks >> SORT_SHIFT) & SORT == SET
                count = list_candidates(listed, places, probes, best, glance, candidates, 0)
        else:
            for place in range(free.shape[0]):
                candidates[place] = free[place]
            count = free.shape[0]
            for term in range(first, end):
                attribute = p_rows[term, ABOUT] & ATTRIBUTE
                if attribute < listed.start.shape[0] - 1:
                    glance = glance_of(listed, probes, attribute, term_of, mask, True)
                    count = list_candidates(listed, places, probes, term, glance, candidates, count)
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
            if meets and (mode != PROBE_WITHIN or shared == asked or exact):
                word = other >> 6
                bits[word] |= one << np.uint64(other & 63)
                words[word >> 6] |= one << np.uint64(word & 63)
        for outer in range(words.shape[0]):
            while words[outer] != 0:
                word = (outer << 6) + lowest_bit(words[outer])
                words[outer] &= words[outer] - one
                left = bits[word]
                bits[word] = 0
                while left != 0:
                    out_probe[written] = probe
                    out_met[written] = (word << 6) + lowest_bit(left)
                    left &= left - one
                    written += 1
        for term in range(first, end):
            attribute = p_rows[term, ABOUT] & ATTRIBUTE
            if attribute < attributes:
                term_of[attribute] = -1
    return written, p_start.shape[0] - 1
