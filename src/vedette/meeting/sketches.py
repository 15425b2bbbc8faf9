"""Sketches: what a disjunct allows other attributes, in levels, coarse but enough to exclude most candidates."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vedette.meeting.constraint_table import ConstraintTable
from vedette.meeting.kernels.meet_rows import COMPANIONS, LANE, MARK, SET

_WORTH = 4096  # terms, below which looking candidates up is as fast
_ATTRIBUTES = 1000  # the most common ones, which alone become companions
_SAMPLE = 2000  # disjuncts that tell which attributes occur together


@dataclass(frozen=True, slots=True)
class SketchLevels:
    """For every attribute, the values at which the next level begins."""

    cuts: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, table: ConstraintTable, attributes: int) -> SketchLevels:
        """Choose levels so that about as many bounds of the table fall into each."""
        term = np.repeat(np.arange(len(table.attribute)), np.diff(table.span_start))
        attribute = table.attribute[term]
        order = np.argsort(attribute, kind="stable")
        starts = np.searchsorted(attribute[order], np.arange(attributes + 1))
        cuts = []
        for begin, end in itertools.pairwise(starts):
            own = order[begin:end]
            ends = np.unique(np.concatenate([table.low[own], table.last[own]]))
            places = np.unique(np.linspace(0, len(ends) - 1, min(len(ends), MARK - 2)).astype(np.int64))
            cuts.append(ends[places] if len(ends) else ends)
        return cls(tuple(cuts))

    def levels(self, table: ConstraintTable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The lowest and the highest level of every term; all levels if it has not only spans, or is unknown."""
        low = np.zeros(len(table.attribute), np.int64)
        last = np.full(len(table.attribute), MARK - 1, np.int64)
        simple = (table.sort == SET) & ~table.null & (np.diff(table.span_start) > 0)
        order = np.flatnonzero(simple)
        order = order[np.argsort(table.attribute[order], kind="stable")]
        starts = np.searchsorted(table.attribute[order], np.arange(len(self.cuts) + 1))
        for number in np.flatnonzero(np.diff(starts)):
            own = order[starts[number] : starts[number + 1]]
            low[own] = np.searchsorted(self.cuts[number], table.low[table.span_start[own]], "right")
            last[own] = np.searchsorted(self.cuts[number], table.last[table.span_start[own + 1] - 1], "right")
        return low, last


def companions(table: ConstraintTable, share: NDArray[np.float64], attributes: int) -> NDArray[np.int32]:
    """For every attribute, attributes that often occur with it, and whose terms overlap few (`share` of them)."""
    found = np.full((attributes, COMPANIONS), -1, np.int32)
    if len(table.attribute) < _WORTH or attributes < 2:
        return found
    often = np.bincount(table.attribute, minlength=attributes)
    known = np.argsort(-often, kind="stable")[:_ATTRIBUTES]
    telling = 1.0 - np.bincount(table.attribute, share, attributes) / np.maximum(often, 1)
    place = np.full(attributes, -1)
    place[known] = np.arange(len(known))
    stride = max(1, len(table.owner) // _SAMPLE)
    sampled = table.disjunct % stride == 0
    occurs = np.zeros((len(table.owner) // stride + 1, len(known)), np.float32)
    column = place[table.attribute[sampled]]
    occurs[table.disjunct[sampled][column >= 0] // stride, column[column >= 0]] = 1
    worth = (occurs.T @ occurs) * telling[known]
    np.fill_diagonal(worth, 0)
    best = np.argsort(-worth, axis=1, kind="stable")[:, :COMPANIONS]
    chosen = np.where(np.take_along_axis(worth, best, 1) > 0, known[best], -1)
    found[known, : chosen.shape[1]] = chosen
    return found


def sketches(
    table: ConstraintTable,
    terms: tuple[NDArray[np.int64], NDArray[np.int64]],
    beside: NDArray[np.int32],
    rows: tuple[NDArray[np.int32], NDArray[np.int32]],
    listed_within: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Both words of every row (its attribute, its disjunct); attributes that a disjunct lacks never fit, or always."""
    attribute, disjunct = rows
    low, last = np.zeros(len(attribute), np.int64), np.zeros(len(attribute), np.int64)
    lacking = (0, MARK) if listed_within else (MARK, 0)
    starts = np.searchsorted(attribute, np.arange(len(beside) + 1))
    term_at = np.full(len(table.owner), -1, np.int64)
    order = np.argsort(table.attribute, kind="stable")
    terms_of = np.searchsorted(table.attribute[order], np.arange(len(beside) + 1))
    whose = table.disjunct
    for lane in range(COMPANIONS):
        for companion in np.unique(beside[:, lane]):
            users = np.flatnonzero(beside[:, lane] == companion)
            places = np.concatenate([np.arange(starts[user], starts[user + 1]) for user in users])
            if companion < 0:
                last[places] |= MARK << (LANE * lane)
                continue
            own = order[terms_of[companion] : terms_of[companion + 1]]
            term_at[whose[own]] = own
            found = term_at[disjunct[places]]
            term_at[whose[own]] = -1
            there = found >= 0
            low[places] |= np.where(there, terms[0][found], lacking[0]) << (LANE * lane)
            last[places] |= np.where(there, terms[1][found], lacking[1]) << (LANE * lane)
    return low, last
