"""Pairs of terms as arrays: the common attributes of two disjuncts, and the common spans of two terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.meeting.allowed_values import Values
from vedette.meeting.constraint_table import ConstraintTable

Places = NDArray[np.int64]
KeyArray = NDArray[np.int64]


class Spans(NamedTuple):
    """Closed spans of many sets, ascending and apart: those of set i are low[start[i]:start[i + 1]]."""

    start: Places
    low: KeyArray
    last: KeyArray


class Pieces(NamedTuple):
    """Closed spans with the rows that they belong to, ascending by both."""

    row: Places
    low: KeyArray
    last: KeyArray


def spans_of(table: ConstraintTable) -> Spans:
    """The spans of all terms."""
    return Spans(table.span_start, table.low, table.last)


class CommonTerms:
    """Finds the terms of pairs of disjuncts of two tables that have the same attribute."""

    def __init__(self, one: ConstraintTable, other: ConstraintTable) -> None:
        self._one = one
        # Both sides number attributes alike, so that disjunct and attribute are one number to look for.
        self._width = np.int64(max(len(one.space), 1))
        numbers = other.disjunct * self._width + other.attribute
        self._order = np.argsort(numbers, kind="stable")
        self._numbers = numbers[self._order]

    def terms(self, mine: Places, theirs: Places) -> tuple[Places, Places, Places]:
        """For pairs of disjuncts: rows of pair, term of the one, term of the other; by pair."""
        one = self._one
        pair, term = expanded(one.term_start[mine], one.term_start[mine + 1])
        wanted = theirs[pair] * self._width + one.attribute[term]
        place = np.searchsorted(self._numbers, wanted)
        inside = np.flatnonzero(place < len(self._numbers))
        inside = inside[self._numbers[place[inside]] == wanted[inside]]
        return pair[inside], term[inside], self._order[place[inside]]


def term_of(table: ConstraintTable, attribute: int) -> Places:
    """The term of each disjunct for an attribute, or -1."""
    found = np.full(len(table.owner), -1, np.int64)
    terms = np.flatnonzero(table.attribute == attribute)
    found[table.disjunct[terms]] = terms
    return found


def expanded(begin: Places, end: Places) -> tuple[Places, Places]:
    """The numbers of each range [begin, end), one after the other: row of the range, and number."""
    counts = np.maximum(end - begin, 0)
    row = np.repeat(np.arange(len(counts)), counts)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts) + begin[row]


def own(spans: Spans, sets: Places) -> Pieces:
    """The spans of one set per row."""
    row, place = expanded(spans.start[sets], spans.start[sets + 1])
    return Pieces(row, spans.low[place], spans.last[place])


def common(one: Spans, other: Spans, mine: Places, theirs: Places) -> Pieces:
    """The intersection of two sets per row, in about as many steps as they have spans."""
    row, low, last = own(one, mine)
    begin, end = other.start[theirs][row], other.start[theirs + 1][row]
    first = _first(other.last, begin, end, low, False)
    behind = _first(other.low, first, end, last, True)
    piece, place = expanded(first, behind)
    return Pieces(row[piece], np.maximum(low[piece], other.low[place]), np.minimum(last[piece], other.last[place]))


def _first(keys: KeyArray, begin: Places, end: Places, wanted: KeyArray, above: bool) -> Places:
    """The first place of each range whose key is not below (or is above) the given one."""
    while (wide := np.flatnonzero(begin < end)).size:
        middle = (begin[wide] + end[wide]) // 2
        small = keys[middle] <= wanted[wide] if above else keys[middle] < wanted[wide]
        begin, end = begin.copy(), end.copy()
        begin[wide[small]] = middle[small] + 1
        end[wide[~small]] = middle[~small]
    return begin


def text_spans(some: Sequence[Values], others: Sequence[Values]) -> tuple[Spans, Spans]:
    """Sets of texts or addresses as spans of slots between all bounds, which loses nothing."""
    bounds = {b""}
    for values in (*some, *others):
        for one in values.intervals:
            bounds.update(end for end in (one.low, one.high) if end is not None)
    rank = {bound: place for place, bound in enumerate(sorted(bounds))}
    return _slotted(some, rank), _slotted(others, rank)


def _slotted(sets: Sequence[Values], rank: dict[bytes, int]) -> Spans:
    start, low, last = [0], [], []
    for values in sets:
        for one in values.intervals:
            low.append(rank[one.low or b""])
            last.append(len(rank) if one.high is None else rank[one.high] - 1)
        start.append(len(low))
    return Spans(np.array(start, np.int64), np.array(low, np.int64), np.array(last, np.int64))
