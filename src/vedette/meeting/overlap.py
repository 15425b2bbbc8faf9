"""The overlap of constraints in one attribute: the share of what one allows that the other allows; for many pairs.

The share of A that is in B is |A ∩ B| / |A|, between 0 and 1, and 1 if B allows all that A does. Sizes:

    int, date, timestamp   how many values; in the limit where A is unbounded: of (-inf, 5] the part (-inf, 3] is all,
                           [1, 3] is nothing, and of x != 5 the part x > 7 is a half (one of two ends)
    bool, ip               how many values; there are 2, and 2^128
    float                  length, in the limit as above; of single values, how many (price = 1.00 has no length)
    string                 length, of texts as fractions in base 256: the first 8 bytes behind what both ends of A
                           begin with, as databases do it in histograms; of single texts, how many
    null                   one value more, of no length
    lists                  as of the values that elements may have, be it any or all of them
    point, region          area in square degrees, discs as polygons; of a point, 1

`is not null` allows every element of a list, and the whole Earth.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.language.valuesets import EVERYTHING, ValueSet, intersection
from vedette.meeting.allowed_values import AllowedValues, Elements, PlaceTerm, Values
from vedette.meeting.constraint_table import ConstraintTable
from vedette.meeting.kernels.meet_rows import SET
from vedette.meeting.shapes import place_shares
from vedette.meeting.spans import CommonTerms, Pieces, Places, common, own, spans_of, term_of, text_spans
from vedette.schema.keys import INT_MAX, INT_MIN, float_key
from vedette.schema.types import Kind, Type

Floats = NDArray[np.float64]
KeyArray = NDArray[np.int64]

LOWEST_FLOAT, INFINITY_KEY = float_key(-np.inf), float_key(np.inf)
_SIGNLESS = np.int64(0x7FFF_FFFF_FFFF_FFFF)
_SIGNIFICANT = 8  # bytes of a text


class SpanSize(NamedTuple):
    """Sizes of spans of keys: number of unbounded ends, else length, else number of values."""

    rays: Floats
    length: Floats
    values: Floats


def share(type_: Type, one: AllowedValues, other: AllowedValues) -> float:
    """The share of what `one` allows that `other` allows, too."""
    if isinstance(one, PlaceTerm) or isinstance(other, PlaceTerm):
        return float(place_shares([one], [other])[0])
    mine, common = elements(type_, one), intersection(elements(type_, one), elements(type_, other))
    if common == mine:
        return 1.0
    if type_.kind.keyed:
        whole, part = _keyed_size(type_.kind, mine), _keyed_size(type_.kind, common)
        return float(ratio(part, whole)[0])
    return _text_share(type_.kind, mine, common)


def elements(type_: Type, allowed: AllowedValues) -> Values:
    """The set of values, or of elements of a list."""
    if isinstance(allowed, ValueSet):
        return EVERYTHING if type_.is_list and allowed.intervals else allowed
    if isinstance(allowed, Elements):
        return allowed.values
    raise TypeError("a place is no set of values")


def ratio(part: SpanSize, whole: SpanSize) -> Floats:
    """The share that the parts are of the wholes."""
    with np.errstate(all="ignore"):
        counted = np.where(whole.values > 0, part.values / whole.values, 1.0)  # no element is asked for: all of none
        counted = np.where(whole.length > 0, part.length / whole.length, counted)
        found: Floats = np.where(whole.rays > 0, part.rays / whole.rays, counted)
    return np.minimum(found, 1.0)


# ---------------------------------------------------------------- keys


def tidied(kind: Kind, low: KeyArray, last: KeyArray) -> tuple[KeyArray, KeyArray]:
    """The same closed spans with possible values as ends, as far as the kind has a lowest and a highest one."""
    if kind is Kind.BOOL:
        return np.maximum(low, 0), np.minimum(last, 1)
    if kind is not Kind.FLOAT:
        return low, last
    # -1 is the key of -0.0, which is no value of its own.
    low, last = np.where(low == -1, 0, low), np.where(last == -1, -2, last)
    return np.maximum(low, LOWEST_FLOAT), np.where(low <= INFINITY_KEY, np.minimum(last, INFINITY_KEY), last)


def sizes(kind: Kind, low: KeyArray, last: KeyArray) -> SpanSize:
    """The sizes of closed spans of keys, of a kind that has them as integers."""
    low, last = tidied(kind, low, last)
    count = (last.view(np.uint64) - low.view(np.uint64)).astype(np.float64) + 1.0
    nothing = np.zeros(len(low))
    if kind is Kind.BOOL:
        return SpanSize(nothing, nothing, count)
    lowest, highest = (LOWEST_FLOAT, INFINITY_KEY) if kind is Kind.FLOAT else (INT_MIN, INT_MAX)
    # All but the very last value is unbounded, too: x > float '-inf'.
    down = (low <= lowest + 1) & (last > lowest + 1)
    up = (last >= highest - 1) & (low < highest - 1)
    rays = down.astype(np.float64) + up
    if kind is not Kind.FLOAT:
        return SpanSize(rays, nothing, count)
    bounded = (low < last) & (rays == 0) & (low < INFINITY_KEY)
    # Halves, since the length of a span may be beyond every float.
    length = np.where(bounded, floats(last) / 2, 0.0) - np.where(bounded, floats(low) / 2, 0.0)
    return SpanSize(rays, length, np.ones(len(low)))


def floats(keys: KeyArray) -> Floats:
    """The numbers of these keys; a key above infinity is no number."""
    return np.where(keys < 0, keys ^ _SIGNLESS, keys).view(np.float64)


def _keyed_size(kind: Kind, values: Values) -> SpanSize:
    low = np.array([INT_MIN if one.low is None else math.floor(one.low) for one in values.intervals], np.int64)
    last = np.array([INT_MAX if one.high is None else math.ceil(one.high) - 1 for one in values.intervals], np.int64)
    found = sizes(kind, low, last)
    rays, length, count = (np.array([each.sum()]) for each in found)
    return SpanSize(rays, length, count + values.null)


# ---------------------------------------------------------------- texts and addresses


def _text_share(kind: Kind, mine: Values, common: Values) -> float:
    if kind is Kind.IP:
        return _addresses(common) / _addresses(mine)
    shared = common_beginning(mine)
    length = _text_length(mine, shared)
    if length:
        return min(1.0, _text_length(common, shared) / length)
    return min(1.0, (len(common.intervals) + common.null) / (len(mine.intervals) + mine.null))


def _addresses(values: Values) -> int:
    whole = 1 << 128
    ends = ((int.from_bytes(one.low or b""), one.high) for one in values.intervals)
    return sum((whole if high is None else int.from_bytes(high)) - low for low, high in ends) + values.null


def common_beginning(values: Values) -> bytes:
    """The common prefix of all texts of a set."""
    if not values.intervals or values.intervals[-1].high is None:
        return b""
    low, high = values.intervals[0].low or b"", values.intervals[-1].high
    same = 0
    while same < min(len(low), len(high)) and low[same] == high[same]:
        same += 1
    return bytes(low[:same])


def _text_length(values: Values, shared: bytes) -> int:
    """The length in units of 256 to the power of -8."""
    skip, whole = len(shared), 1 << 8 * _SIGNIFICANT

    def place(key: bytes) -> int:
        return int.from_bytes(key[skip : skip + _SIGNIFICANT].ljust(_SIGNIFICANT, b"\0"))

    return sum((whole if one.high is None else place(one.high)) - place(one.low or b"") for one in values.intervals)


def is_counted(kind: Kind, values: Values) -> bool:
    """Whether the set has no length, so that its intervals count as single texts."""
    return kind is Kind.STRING and not _text_length(values, common_beginning(values))


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
