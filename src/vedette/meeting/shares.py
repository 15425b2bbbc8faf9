"""How much of what disjuncts of one side allow do those of the other allow, too: `vedette.meeting.overlap`, of many."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.meet_rows import SET
from vedette.meeting.allowed import Allowed
from vedette.meeting.overlap import Size, elements, is_counted, ratio, share, sizes
from vedette.meeting.shapes import place_shares
from vedette.meeting.spans import Pieces, Places, Shared, common, own, spans_of, text_spans
from vedette.meeting.table import Table
from vedette.schema.types import Kind, Type

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Shares:
    """The overlap of pairs of disjuncts, as a share of what the first table's allow.

    Attributes that one of them does not ask about do not count; where none is left, the share is 1.
    """

    def __init__(self, one: Table, other: Table) -> None:
        self._one, self._other = one, other
        self._shared = Shared(one, other)

    def of(self, mine: Places, theirs: Places) -> Numbers:
        """The product of the shares of all attributes that both disjuncts of a pair ask about."""
        found = np.ones(len(mine))
        pair, my_term, their_term = self._shared.terms(mine, theirs)
        if not len(pair):
            return found
        each = self._each(my_term, their_term)
        first = np.flatnonzero(np.diff(pair, prepend=-1))
        found[pair[first]] = np.multiply.reduceat(each, first)
        return found

    def _each(self, mine: Places, theirs: Places) -> Numbers:
        """The share of each pair of terms."""
        found = np.ones(len(mine))
        attribute = self._one.attribute[mine]
        for number in np.unique(attribute).tolist():
            rows = np.flatnonzero(attribute == number)
            type_ = self._one.space.columns[number].type
            share_of: Callable[[Type, Places, Places], Numbers] = self._places
            if type_.kind.keyed:
                share_of = self._keyed
            elif type_.kind.textual:
                share_of = self._texts
            found[rows] = share_of(type_, mine[rows], theirs[rows])
        return found

    # ------------------------------------------------------------ by sort of attribute

    def _keyed(self, type_: Type, mine: Places, theirs: Places) -> Numbers:
        terms, row = np.unique(mine, return_inverse=True)
        spans = spans_of(self._one)
        whole = _summed(type_.kind, own(spans, terms), len(terms), _null(self._one, type_, terms))
        both = common(spans, spans_of(self._other), mine, theirs)
        null = _null(self._one, type_, mine) & _null(self._other, type_, theirs)
        part = _summed(type_.kind, both, len(mine), null)
        return ratio(part, Size(whole.rays[row], whole.length[row], whole.values[row]))

    def _texts(self, type_: Type, mine: Places, theirs: Places) -> Numbers:
        my_terms, my_set = np.unique(mine, return_inverse=True)
        their_terms, their_set = np.unique(theirs, return_inverse=True)
        my_sets = [elements(type_, allowed) for allowed in allowed_by(self._one, my_terms)]
        their_sets = [elements(type_, allowed) for allowed in allowed_by(self._other, their_terms)]
        one, other = text_spans(my_sets, their_sets)
        both = common(one, other, my_set, their_set)
        null = np.array([values.null for values in my_sets])[my_set]
        both_null = null & np.array([values.null for values in their_sets])[their_set]
        # Most texts are single ones, or all that is allowed is allowed by the other side: neither needs a measure.
        slots = np.bincount(both.row, both.last - both.low + 1, len(mine))
        widths = np.concatenate([[0], np.cumsum(one.last - one.low + 1)])
        inside = (slots == np.diff(widths[one.start])[my_set]) & (both_null == null)
        counted = np.array([is_counted(type_.kind, values) for values in my_sets])[my_set] & ~inside
        found = np.ones(len(mine))
        pieces = np.bincount(both.row, minlength=len(mine)) + both_null
        found[counted] = np.minimum(pieces[counted] / (np.diff(one.start)[my_set] + null)[counted], 1.0)
        rest = np.flatnonzero(~inside & ~counted)
        known: dict[tuple[Allowed, Allowed], float] = {}
        for row in rest.tolist():
            key = my_sets[my_set[row]], their_sets[their_set[row]]
            if key not in known:
                known[key] = share(Type(type_.kind), *key)
            found[row] = known[key]
        return found

    def _places(self, type_: Type, mine: Places, theirs: Places) -> Numbers:
        my_terms, my_place = np.unique(mine, return_inverse=True)
        their_terms, their_place = np.unique(theirs, return_inverse=True)
        some, others = allowed_by(self._one, my_terms), allowed_by(self._other, their_terms)
        return place_shares([some[one] for one in my_place], [others[one] for one in their_place])


def allowed_by(table: Table, terms: Places) -> list[Allowed]:
    """What terms of a table allow, as it was read."""
    disjunct = table.disjunct[terms]
    owner = table.owner[disjunct]
    ordinal = disjunct - np.searchsorted(table.owner, owner)
    paths = [table.space.attributes[number] for number in table.attribute[terms].tolist()]
    found: list[Allowed] = []
    for constraint, which, path in zip(owner.tolist(), ordinal.tolist(), paths, strict=True):
        several = table.constraints[constraint].disjuncts[which].terms
        found.append(next(term.allowed for term in several if term.attribute == path))
    return found


def _null(table: Table, type_: Type, terms: Places) -> Flags:
    """Whether null is one of the values, or elements: one that asks only for a list allows it."""
    found: Flags = table.null[terms]
    if type_.is_list:
        found = found | ((table.sort[terms] == SET) & (table.span_start[terms] < table.span_start[terms + 1]))
    return found


def _summed(kind: Kind, pieces: Pieces, rows: int, null: Flags) -> Size:
    """The sizes of the pieces of each row together."""
    each = sizes(kind, pieces.low, pieces.last)
    rays, length, values = (np.bincount(pieces.row, one, rows).astype(np.float64) for one in each)
    return Size(rays, length, values + null)
