"""The overlap (`vedette.meeting.overlap`) of many pairs of disjuncts of two sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vedette.meeting.allowed_values import AllowedValues
from vedette.meeting.constraint_table import ConstraintTable
from vedette.meeting.kernels.meet_rows import SET
from vedette.meeting.overlap import SpanSize, elements, is_counted, ratio, share, sizes
from vedette.meeting.shapes import place_shares
from vedette.meeting.spans import CommonTerms, Pieces, Places, common, own, spans_of, term_of, text_spans
from vedette.schema.types import Kind, Type

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class OverlapShares:
    """The overlap of pairs of disjuncts, as a share of the first table's allowed values.

    Attributes that one of them does not test do not count; if none is left, the share is 1.
    """

    def __init__(self, first: tuple[ConstraintTable, Places], second: tuple[ConstraintTable, Places]) -> None:
        self._one, self._mine = first
        self._other, self._theirs = second
        self._shared = CommonTerms(self._one, self._other)
        self._texts: dict[int, _TextSets] = {}

    def of(self, some: slice) -> Floats:
        """The overlap of some pairs: the product of the shares of all attributes that both disjuncts test."""
        mine, theirs = self._mine[some], self._theirs[some]
        found = np.ones(len(mine))
        pair, my_term, their_term = self._shared.terms(mine, theirs)
        if not len(pair):
            return found
        each = self._each(my_term, their_term)
        first = np.flatnonzero(np.diff(pair, prepend=-1))
        found[pair[first]] = np.multiply.reduceat(each, first)
        return found

    def _each(self, mine: Places, theirs: Places) -> Floats:
        """The share of each pair of terms."""
        found = np.ones(len(mine))
        attribute = self._one.attribute[mine]
        for number in np.unique(attribute).tolist():
            rows = np.flatnonzero(attribute == number)
            type_ = self._one.space.columns[number].type
            if type_.kind.keyed:
                found[rows] = self._keyed(type_, mine[rows], theirs[rows])
            elif type_.kind.textual:
                found[rows] = self._textual(number).shares(mine[rows], theirs[rows])
            else:
                found[rows] = self._places(mine[rows], theirs[rows])
        return found

    def _keyed(self, type_: Type, mine: Places, theirs: Places) -> Floats:
        terms, row = np.unique(mine, return_inverse=True)
        spans = spans_of(self._one)
        whole = _summed(type_.kind, own(spans, terms), len(terms), _null(self._one, type_, terms))
        both = common(spans, spans_of(self._other), mine, theirs)
        null = _null(self._one, type_, mine) & _null(self._other, type_, theirs)
        part = _summed(type_.kind, both, len(mine), null)
        found = ratio(part, SpanSize(whole.rays[row], whole.length[row], whole.values[row]))
        if type_.kind is Kind.FLOAT and (self._one.between or self._other.between):
            rows = np.flatnonzero(_is_between(self._one, mine) | _is_between(self._other, theirs))
            some, others = allowed_by(self._one, mine[rows]), allowed_by(self._other, theirs[rows])
            found[rows] = [share(type_, one, other) for one, other in zip(some, others, strict=True)]
        return found

    def _textual(self, attribute: int) -> _TextSets:
        """The texts and addresses of all pairs, read once."""
        if attribute not in self._texts:
            terms = (
                np.unique(term_of(table, attribute)[disjuncts])
                for table, disjuncts in ((self._one, self._mine), (self._other, self._theirs))
            )
            mine, theirs = (found[found >= 0] for found in terms)
            self._texts[attribute] = _TextSets(self._one, self._other, mine, theirs)
        return self._texts[attribute]

    def _places(self, mine: Places, theirs: Places) -> Floats:
        my_terms, my_place = np.unique(mine, return_inverse=True)
        their_terms, their_place = np.unique(theirs, return_inverse=True)
        some, others = allowed_by(self._one, my_terms), allowed_by(self._other, their_terms)
        return place_shares([some[one] for one in my_place], [others[one] for one in their_place])


class _TextSets:
    """Sets of texts or addresses: only partial overlaps have to be measured one by one."""

    def __init__(self, one: ConstraintTable, other: ConstraintTable, mine: Places, theirs: Places) -> None:
        type_ = one.space.columns[int(one.attribute[mine[0]])].type
        self._kind = type_.kind
        self._terms = mine, theirs
        self._sets = [
            [elements(type_, allowed) for allowed in allowed_by(table, terms)]
            for table, terms in ((one, mine), (other, theirs))
        ]
        self._one, self._other = text_spans(*self._sets)
        self._null = [np.array([values.null for values in sets], np.bool_) for sets in self._sets]
        self._counted = np.array([is_counted(self._kind, values) for values in self._sets[0]], np.bool_)
        self._spans = np.diff(self._one.start)
        self._slots = np.diff(np.concatenate([[0], np.cumsum(self._one.last - self._one.low + 1)])[self._one.start])
        self._known: dict[tuple[AllowedValues, AllowedValues], float] = {}

    def shares(self, my_terms: Places, their_terms: Places) -> Floats:
        """The share of each pair of terms."""
        mine, theirs = (np.searchsorted(*both) for both in zip(self._terms, (my_terms, their_terms), strict=True))
        both = common(self._one, self._other, mine, theirs)
        my_null = self._null[0][mine]
        null = my_null & self._null[1][theirs]
        slots = np.bincount(both.row, both.last - both.low + 1, len(mine))
        inside = (slots == self._slots[mine]) & (null == my_null)
        counted = np.flatnonzero(self._counted[mine] & ~inside)
        pieces = np.bincount(both.row, minlength=len(mine)) + null
        found = np.ones(len(mine))
        found[counted] = np.minimum(pieces[counted] / (self._spans[mine] + my_null)[counted], 1.0)
        for row in np.flatnonzero(~inside & ~self._counted[mine]).tolist():
            found[row] = self._measured(self._sets[0][mine[row]], self._sets[1][theirs[row]])
        return found

    def _measured(self, one: AllowedValues, other: AllowedValues) -> float:
        found = self._known.get((one, other))
        if found is None:
            found = self._known[one, other] = share(Type(self._kind), one, other)
        return found


def allowed_by(table: ConstraintTable, terms: Places) -> list[AllowedValues]:
    """The values that terms of a table allow, as parsed."""
    disjunct = table.disjunct[terms]
    owner = table.owner[disjunct]
    ordinal = disjunct - np.searchsorted(table.owner, owner)
    paths = [table.space.attributes[number] for number in table.attribute[terms].tolist()]
    found: list[AllowedValues] = []
    for constraint, which, path in zip(owner.tolist(), ordinal.tolist(), paths, strict=True):
        several = table.constraints[constraint].disjuncts[which].terms
        found.append(next(term.allowed for term in several if term.attribute == path))
    return found


def _is_between(table: ConstraintTable, terms: Places) -> Flags:
    """Terms of disjuncts with a bound between two floats, which spans represent only roughly."""
    return np.isin(table.disjunct[terms], list(table.between))


def _null(table: ConstraintTable, type_: Type, terms: Places) -> Flags:
    """Whether null is one of the values, or elements: a constraint that only requires a list allows it."""
    found: Flags = table.null[terms]
    if type_.is_list:
        found = found | ((table.sort[terms] == SET) & (table.span_start[terms] < table.span_start[terms + 1]))
    return found


def _summed(kind: Kind, pieces: Pieces, rows: int, null: Flags) -> SpanSize:
    """The total size of each row's pieces."""
    each = sizes(kind, pieces.low, pieces.last)
    rays, length, values = (np.bincount(pieces.row, one, rows).astype(np.float64) for one in each)
    return SpanSize(rays, length, values + null)
