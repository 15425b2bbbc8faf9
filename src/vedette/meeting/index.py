"""The constraints of one side, made ready: which of them meet those of the other side?

A probe looks where the fewest candidates are: among the terms of that one of its attributes that the fewest overlap.
Where instead all attributes of the standing side have to be there, each disjunct is filed under that one of its terms
that overlaps the fewest, and a probe looks under all of its own. Every candidate is then tested in all attributes.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.meet_pairs import LISTED_WITHIN, OPEN, PROBE_WITHIN, Room, meeting_pairs
from vedette.kernels.meet_rows import BLOCK, SET, Listed, fill_trees
from vedette.meeting.direction import Direction, Per
from vedette.meeting.places import PlaceTree, no_places
from vedette.meeting.table import Slots, Table
from vedette.schema.keys import INT_MIN

_ROOM = 1 << 20  # pairs at a time
_PLACE_SHARE = 0.1  # of the places that one meets, where nothing is known of them


class Index:
    """One side of a meeting: any number of threads may ask it."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._terms = table.terms()

    @property
    def slots(self) -> Slots:
        """The slots that probes have to be laid out in."""
        return self.table.slots

    def pairs(self, probes: Table, direction: Direction, side: Per) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Which disjuncts of `probes` meet which of this side (`side`: what this side is), by probe.

        The probes have been laid out in the slots of this side.
        """
        mode = OPEN if direction == "open" else LISTED_WITHIN if direction == side else PROBE_WITHIN
        listed = self._filed if mode == LISTED_WITHIN else self._listed
        spoken = mode == LISTED_WITHIN
        places = no_places(probes)
        if len(probes.places) and self._places is not None:
            places = self._places.pairs(probes, self._chosen if spoken else None)
        disjuncts = len(self.table.owner)
        room = Room(
            term_of=np.full(len(self.table.space), -1, np.int32),
            seen=np.full(disjuncts, -1, np.int32),
            candidates=np.empty(sum(map(len, (listed.disjunct, listed.other, listed.null, listed.free))), np.int32),
            probe=np.empty(max(min(_ROOM, disjuncts * len(probes.owner)), disjuncts, 1), np.int32),
            met=np.empty(max(min(_ROOM, disjuncts * len(probes.owner)), disjuncts, 1), np.int32),
        )
        terms = probes.terms()
        found: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
        begin = 0
        while begin < len(probes.owner):
            written, begin = meeting_pairs(terms, self._terms, listed, places, room, mode, begin)
            found.append((room.probe[:written].copy(), room.met[:written].copy()))
        if not found:
            return np.zeros(0, np.int32), np.zeros(0, np.int32)
        return np.concatenate([one for one, _ in found]), np.concatenate([other for _, other in found])

    # ------------------------------------------------------------ lists by attribute

    @cached_property
    def _places(self) -> PlaceTree | None:
        return PlaceTree(self.table) if len(self.table.places) else None

    @cached_property
    def _listed(self) -> Listed:
        """Every term under its attribute."""
        return self._list(np.ones(len(self.table.attribute), np.bool_))

    @cached_property
    def _filed(self) -> Listed:
        """Every disjunct under one term."""
        return self._list(self._chosen)

    @cached_property
    def _chosen(self) -> NDArray[np.bool_]:
        """The term of every disjunct that the least share of what is said of its attribute overlaps."""
        table, everyone = self.table, self._listed
        share = np.ones(len(table.attribute))
        share[table.place >= 0] = _PLACE_SHARE
        span_term = np.repeat(np.arange(len(table.attribute)), np.diff(table.span_start))
        overlapping = np.zeros(len(table.low))
        attribute = table.attribute[span_term]
        for number in np.unique(attribute):
            begin, end = everyone.start[number], everyone.start[number + 1]
            if begin == end:
                continue
            own = attribute == number
            begun = np.searchsorted(everyone.low[begin:end], table.last[own], "right")
            over = np.searchsorted(everyone.sorted_last[begin:end], table.low[own], "left")
            overlapping[own] = (begun - over) / (end - begin)
        sets = table.sort == SET
        share[sets] = np.minimum(np.bincount(span_term, overlapping, len(share)), 1.0)[sets]
        chosen = np.zeros(len(share), np.bool_)
        # The first of each disjunct, with the smallest share first.
        disjunct = table.disjunct
        order = np.lexsort((share, disjunct))
        firsts = np.flatnonzero(np.diff(disjunct[order], prepend=-1))
        chosen[order[firsts]] = True
        return chosen

    def _list(self, chosen: NDArray[np.bool_]) -> Listed:
        table = self.table
        attributes = len(table.space)
        disjunct, sets = table.disjunct, table.sort == SET
        span_term = np.repeat(np.arange(len(table.attribute)), np.diff(table.span_start))
        spans = np.flatnonzero((chosen & sets)[span_term])
        attribute = table.attribute[span_term[spans]]
        order = np.lexsort((table.last[spans], table.low[spans], attribute))
        spans, attribute = spans[order], attribute[order]
        start = _starts(attribute, attributes)
        last = table.last[spans]
        sizes = np.maximum(1, -(-np.diff(start) // BLOCK))
        leaves = 1 << np.ceil(np.log2(sizes)).astype(np.int64)
        tree_start = np.concatenate([[0], np.cumsum(2 * leaves)]).astype(np.int64)
        others, nulls = (_by_attribute(np.flatnonzero(chosen & each), table) for each in (~sets, table.null))
        listed = Listed(
            start=start,
            low=table.low[spans],
            last=last,
            disjunct=disjunct[span_term[spans]],
            sorted_last=last[np.lexsort((last, attribute))],
            tree_start=tree_start,
            tree=np.full(tree_start[-1], INT_MIN, np.int64),
            other_start=_starts(table.attribute[others], attributes),
            other=disjunct[others],
            null_start=_starts(table.attribute[nulls], attributes),
            null=disjunct[nulls],
            free=np.flatnonzero(np.diff(table.term_start) == 0).astype(np.int32),
        )
        fill_trees(listed)
        return listed


def _starts(attribute: NDArray[np.int32], attributes: int) -> NDArray[np.int64]:
    return np.searchsorted(attribute, np.arange(attributes + 1)).astype(np.int64)


def _by_attribute(terms: NDArray[np.int64], table: Table) -> NDArray[np.int64]:
    return terms[np.argsort(table.attribute[terms], kind="stable")]
