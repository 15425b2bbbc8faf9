"""Axes: bins of the values of an attribute, and which bins a term touches.

Bins begin at quantiles of the bounds that both sides have, whatever the type. Where every term of both sides is a
value, or a list of values, a bin is a hash: equal values, and few others, are in one.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.schema.keys import INT_MAX, INT_MIN
from vedette.spark.meeting.terms import PLACE, SET, TermColumns, TermSpan

COORDINATES = 45  # bits of a cell, for all of its axes together
LEVELS = (2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096)  # bins that are tried
_MIX = np.uint64(0x9E37_79B9_7F4A_7C15)


@dataclass(frozen=True, slots=True)
class BinAxis:
    """Bins of one attribute."""

    attribute: int
    begins: Sequence[Any]  # keys that bins begin with; the first bin begins before them
    north: bool = False  # latitudes of a place, not its longitudes
    hashed: int = 0  # bits, if bins are hashes

    @property
    def bins(self) -> int:
        """Number of bins."""
        return 1 << self.hashed if self.hashed else len(self.begins) + 1

    @property
    def most(self) -> int:
        """A term that touches more bins than this is wide: it is not searched for by this axis."""
        return max(2, self.bins // 4)


@dataclass(frozen=True, slots=True)
class BinReach:
    """The bins that the terms of an attribute touch, by disjunct."""

    row: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]  # the last bin
    wide: NDArray[np.bool_]
    lists: dict[int, list[int]]  # position -> bins, of lists of values

    def at(self, rows: NDArray[np.int64]) -> BinReach:
        """The bins of some disjuncts, all of which have a term."""
        place = np.searchsorted(self.row, rows)
        where = {int(self.row[position]): bins for position, bins in self.lists.items()}
        lists = {at: where[row] for at, row in enumerate(rows.tolist()) if row in where} if where else {}
        return BinReach(rows, self.low[place], self.high[place], self.wide[place], lists)


def reach(axis: BinAxis, terms: TermColumns) -> BinReach:
    """The bins that terms touch."""
    if axis.hashed:
        return _hashed(axis, terms)
    attribute = terms.attribute
    lows, highs = (terms.south, terms.north) if axis.north else (terms.low, terms.high)
    first, last = _bins(axis.begins, lows, highs, attribute.textual)
    # Null is in no bin, and of lists, and of whether there is a place, bins say nothing.
    right = PLACE if attribute.place else SET
    anywhere = np.array(terms.null, np.bool_) | (np.array(terms.sort, np.int8) != right)
    first[anywhere], last[anywhere] = 0, axis.bins - 1
    wide = anywhere | (last - first + 1 > axis.most)
    lists: dict[int, list[int]] = {}
    if not axis.north:
        for position, spans in enumerate(terms.spans):
            if spans is None or anywhere[position]:
                continue
            bins = _list_bins(axis, spans, attribute.textual)
            wide[position] = bins is None
            if bins is not None:
                lists[position] = bins
    return BinReach(terms.rows, first, last, wide, lists)


def is_bounded(spans: Sequence[TermSpan], textual: bool) -> bool:
    """Whether a set ends on both sides: x in (1, 2) does, x != 1 does not."""
    if textual:
        return bool(spans[0][0] != b"" and spans[-1][1] is not None)
    return bool(spans[0][0] != INT_MIN and spans[-1][1] != INT_MAX)


def _list_bins(axis: BinAxis, spans: Sequence[TermSpan], textual: bool) -> list[int] | None:
    if not is_bounded(spans, textual) or len(spans) > 4 * axis.most:
        return None
    lows, highs = _bins(axis.begins, [low for low, _ in spans], [high for _, high in spans], textual)
    found: set[int] = set()
    for low, high in zip(lows.tolist(), highs.tolist(), strict=True):
        if len(found) + high - low > axis.most:
            return None
        found.update(range(low, high + 1))
    return sorted(found) if len(found) <= axis.most else None


def _bins(
    begins: Sequence[Any], lows: Sequence[Any], highs: Sequence[Any], textual: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if not textual:
        edges = np.asarray(begins, np.int64)
        first = np.searchsorted(edges, np.array(lows, np.int64), "right")
        last = np.searchsorted(edges, np.array(highs, np.int64), "right")
        return first.astype(np.int64), last.astype(np.int64)
    end = len(begins)
    return (
        np.array([bisect_right(begins, low) for low in lows], np.int64),
        np.array([end if high is None else bisect_left(begins, high) for high in highs], np.int64),
    )


def _hashed(axis: BinAxis, terms: TermColumns) -> BinReach:
    keys = _hashes(terms.low, axis.hashed)
    lists = {
        position: sorted(set(_hashes([low for low, _ in spans], axis.hashed).tolist()))
        for position, spans in enumerate(terms.spans)
        if spans is not None
    }
    return BinReach(terms.rows, keys, keys.copy(), np.zeros(len(keys), np.bool_), lists)


def _hashes(keys: Sequence[Any], bits: int) -> NDArray[np.int64]:
    if keys and isinstance(keys[0], bytes):
        words = [int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little") for key in keys]
        mixed = np.array(words, np.uint64)
    else:
        mixed = np.array(keys, np.int64).astype(np.uint64) * _MIX
        mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIX
    return (mixed >> np.uint64(64 - bits)).astype(np.int64)


# ---------------------------------------------------------------- which axes there may be


def axes_of(attribute: int, sides: Sequence[TermColumns]) -> list[list[BinAxis]]:
    """The axes for an attribute, each with more and more bins; none if terms cannot be told apart by bins."""
    kind = sides[0].attribute
    if kind.is_list:
        return []
    if kind.points:
        return [[BinAxis(attribute, (), hashed=COORDINATES)]]
    if kind.place:
        west = [key for side in sides for key in (*side.low, *side.high)]
        south = [key for side in sides for key in (*side.south, *side.north)]
        return [_levels(BinAxis(attribute, ()), west), _levels(BinAxis(attribute, (), north=True), south)]
    bounds: list[Any] = []
    for side in sides:
        spans = zip(side.low, side.high, side.spans, side.null, strict=True)
        for low, high, several, _ in spans:
            for begin, end in several or ((low, high),):
                bounds.append(begin)
                bounds.append(end if kind.textual or end == INT_MAX else end + 1)
    return [_levels(BinAxis(attribute, ()), bounds)]


def _levels(axis: BinAxis, bounds: Sequence[Any]) -> list[BinAxis]:
    proper = sorted(bound for bound in bounds if bound not in (INT_MIN, INT_MAX, b"", None))
    made: list[BinAxis] = []
    for bins in LEVELS:
        begins = sorted({proper[number * len(proper) // bins] for number in range(1, bins)}) if proper else []
        if begins and (not made or len(begins) > len(made[-1].begins)):
            made.append(replace(axis, begins=begins))
    return made


def with_bits(axes: Sequence[BinAxis]) -> tuple[BinAxis, ...]:
    """The axes of one design, with as many bits for hashes as cells have room for."""
    room = COORDINATES // max(1, len(axes))
    return tuple(replace(axis, hashed=min(room, COORDINATES)) if axis.hashed else axis for axis in axes)
