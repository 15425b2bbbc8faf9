"""An index of the constraints of one side, which finds those that meet constraints of the other side.

A probe looks where the fewest candidates are: among the terms of that one of its attributes that the fewest overlap.
If instead all attributes of the indexed side have to be present, each disjunct is filed under that one of its terms
that overlaps the fewest, and a probe looks under all of its own. Every candidate is then tested in all attributes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vedette.meeting.constraint_table import AttributeSlots, ConstraintTable, meet_between
from vedette.meeting.direction import Direction, RankSide
from vedette.meeting.kernels.meet_pairs import LISTED_WITHIN, OPEN, PROBE_WITHIN, MeetScratch, meeting_pairs
from vedette.meeting.kernels.meet_rows import BLOCK, MASK_BITS, SET, SpanIndex, fill_trees
from vedette.meeting.place_tree import PlaceTree, no_places
from vedette.meeting.sketches import SketchLevels, companions, sketches
from vedette.schema.keys import INT_MIN

_ROOM = 1 << 20  # pairs at a time
_PLACE_SHARE = 0.1  # of the places that one meets, where nothing is known of them


class MeetingIndex:
    """An index of one side of a meeting: any number of threads may use it."""

    def __init__(self, table: ConstraintTable) -> None:
        self.table = table
        self._attributes = len(table.space)  # of which more may become known later
        self._levels = SketchLevels.of(table, self._attributes)
        self._own_levels = self._levels.levels(table)
        self._terms = table.terms(self._own_levels)

    @property
    def slots(self) -> AttributeSlots:
        """The slots in which probes have to be expressed."""
        return self.table.slots

    def pairs(
        self, probes: ConstraintTable, direction: Direction, side: RankSide
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The disjuncts of `probes` that meet disjuncts of this side (`side`: which this is), by probe, each pair once.

        The probes have been expressed in the slots of this side.
        """
        found = list(self.parts(probes, direction, side))
        if not found:
            return np.zeros(0, np.int32), np.zeros(0, np.int32)
        one, other = (np.concatenate(each) for each in zip(*found, strict=True))
        return one, other

    def parts(
        self, probes: ConstraintTable, direction: Direction, side: RankSide
    ) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """The same, some pairs at a time: constraints with many disjuncts may have more than memory holds."""
        mode = OPEN if direction == "open" else LISTED_WITHIN if direction == side else PROBE_WITHIN
        listed = self._filed if mode == LISTED_WITHIN else self._listed
        spoken = mode == LISTED_WITHIN
        places = no_places(probes)
        if len(probes.places) and self._places is not None:
            places = self._places.pairs(probes, self._chosen if spoken else None)
        disjuncts = len(self.table.owner)
        room = MeetScratch(
            term_of=np.full(len(self.table.space), -1, np.int32),
            bits=np.zeros(disjuncts // 64 + 1, np.uint64),
            words=np.zeros(disjuncts // 4096 + 1, np.uint64),
            candidates=np.empty(sum(map(len, (listed.disjunct, listed.other, listed.null, listed.free))), np.int32),
            probe=np.empty(max(min(_ROOM, disjuncts * len(probes.owner)), disjuncts, 1), np.int32),
            met=np.empty(max(min(_ROOM, disjuncts * len(probes.owner)), disjuncts, 1), np.int32),
        )
        terms = probes.terms(self._levels.levels(probes))
        begin = 0
        while begin < len(probes.owner):
            written, begin = meeting_pairs(terms, self._terms, listed, places, room, mode, begin)
            one, other = room.probe[:written].copy(), room.met[:written].copy()
            if probes.between and self.table.between:
                pairs = zip(one.tolist(), other.tolist(), strict=True)
                exact = np.array([meet_between(probes, mine, self.table, theirs) for mine, theirs in pairs], np.bool_)
                one, other = one[exact], other[exact]
            yield one, other

    # ------------------------------------------------------------ lists by attribute

    @cached_property
    def _places(self) -> PlaceTree | None:
        return PlaceTree(self.table) if len(self.table.places) else None

    @cached_property
    def _listed(self) -> SpanIndex:
        """List every term under its attribute."""
        return self._list(np.ones(len(self.table.attribute), np.bool_), False)

    @cached_property
    def _filed(self) -> SpanIndex:
        """File every disjunct under one term."""
        return self._list(self._chosen, True)

    @cached_property
    def _share(self) -> NDArray[np.float64]:
        """The share of its attribute's spans that a term overlaps."""
        table = self.table
        share = np.ones(len(table.attribute))
        share[table.place >= 0] = _PLACE_SHARE
        overlapping = np.zeros(len(table.low))
        term = self._term_of_span
        attribute = table.attribute[term]
        order = np.argsort(attribute, kind="stable")
        starts = _starts(attribute[order], self._attributes)
        for begin, end in itertools.pairwise(starts):
            own = order[begin:end]
            begun = np.searchsorted(np.sort(table.low[own]), table.last[own], "right")
            over = np.searchsorted(np.sort(table.last[own]), table.low[own], "left")
            overlapping[own] = (begun - over) / max(1, end - begin)
        sets = table.sort == SET
        share[sets] = np.minimum(np.bincount(term, overlapping, len(share)), 1.0)[sets]
        return share

    @cached_property
    def _chosen(self) -> NDArray[np.bool_]:
        """The term of every disjunct that overlaps the least share."""
        disjunct = self.table.disjunct
        chosen = np.zeros(len(disjunct), np.bool_)
        order = np.lexsort((self._share, disjunct))
        chosen[order[np.flatnonzero(np.diff(disjunct[order], prepend=-1))]] = True
        return chosen

    @cached_property
    def _term_of_span(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.table.attribute)), np.diff(self.table.span_start))

    @cached_property
    def _masks(self) -> NDArray[np.int64]:
        """A mask of every disjunct's attributes."""
        masks = np.zeros(len(self.table.owner), np.int64)
        np.bitwise_or.at(masks, self.table.disjunct, np.int64(1) << (self.table.attribute % MASK_BITS).astype(np.int64))
        return masks

    @cached_property
    def _companions(self) -> NDArray[np.int32]:
        return companions(self.table, self._share, self._attributes)

    def _list(self, chosen: NDArray[np.bool_], listed_within: bool) -> SpanIndex:
        table, span_term = self.table, self._term_of_span
        attributes = self._attributes
        disjunct, sets = table.disjunct, table.sort == SET
        spans = np.flatnonzero((chosen & sets)[span_term])
        attribute = table.attribute[span_term[spans]]
        order = np.lexsort((table.last[spans], table.low[spans], attribute))
        spans, attribute = spans[order], attribute[order]
        start = _starts(attribute, attributes)
        last = table.last[spans]
        sizes = np.maximum(1, -(-np.diff(start) // BLOCK))
        leaves = 1 << np.ceil(np.log2(sizes)).astype(np.int64)
        tree_start = np.concatenate([[0], np.cumsum(2 * leaves)]).astype(np.int64)
        others, nulls = (_by_attribute(np.flatnonzero(chosen & each), table) for each in (~sets, sets & table.null))
        whose = disjunct[span_term[spans]]
        again = spans > table.span_start[span_term[spans]]
        words = sketches(table, self._own_levels, self._companions, (attribute, whose), listed_within)
        listed = SpanIndex(
            start=start,
            low=table.low[spans],
            last=last,
            disjunct=whose,
            before=np.where(again, table.last[np.maximum(spans - 1, 0)], INT_MIN),
            again=again,
            mask=self._masks[whose],
            sketch_low=words[0],
            sketch_last=words[1],
            companion=self._companions,
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


def _by_attribute(terms: NDArray[np.int64], table: ConstraintTable) -> NDArray[np.int64]:
    return terms[np.argsort(table.attribute[terms], kind="stable")]
