"""The overlap of two constraints in one attribute: the share of what one allows that the other allows, too.

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
from vedette.meeting.shapes import place_shares
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
