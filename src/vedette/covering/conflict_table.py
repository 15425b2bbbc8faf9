"""The conflict table of a box and its candidates (Ouksel 2006, sections 3 and 4.2).

A box has a half-open interval of int64 per dimension: `low` and `high` of the candidates are [k, m], those
of the box to be covered [m].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vedette.covering.kernels.cover_rows import ROW, DenseBox, DenseBoxes, reduced, sift

ConflictTable = NDArray[np.int64]


def plain(bounds: ConflictTable) -> ConflictTable:
    """An array of the kind for which kernels are compiled: any other kind would compile them again."""
    laid_out = np.ascontiguousarray(bounds, np.int64)
    return laid_out if laid_out.flags.writeable else laid_out.copy()


def conflict_table(
    s_low: ConflictTable, s_high: ConflictTable, low: ConflictTable, high: ConflictTable
) -> NDArray[np.bool_]:
    """The defined entries, [k, 2 m]: has the box points below a candidate, has it points at or above its end?"""
    table = np.empty((len(low), 2 * len(s_low)), np.bool_)
    table[:, 0::2] = low > s_low
    table[:, 1::2] = high < s_high
    return table


def covering_alone(table: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Corollary 1: the candidates that cover the box by themselves have no defined entry."""
    return np.flatnonzero(~table.any(axis=1))


def has_polyhedron_witness(table: NDArray[np.bool_]) -> bool:
    """Corollary 3: sorted by defined entries, the j-th row has at least j, so the box is not covered."""
    defined = np.sort(table.sum(axis=1))
    return bool((defined >= np.arange(1, len(defined) + 1)).all())


def minimized_cover_set(
    s_low: ConflictTable, s_high: ConflictTable, low: ConflictTable, high: ConflictTable
) -> NDArray[np.int64]:
    """Algorithm 3 with f >= 1: the candidates that decide whether the box is covered; the others change nothing."""
    box, boxes = DenseBox(plain(s_low), plain(s_high)), DenseBoxes(plain(low), plain(high))
    count = len(low)
    arena = np.empty((2 * count, 2), np.int32)
    arena[:count, ROW] = np.arange(count)
    end, _ = sift(box, boxes, arena, 0, count, count, np.zeros(count, np.bool_))
    kept = reduced(box, boxes, arena, count, end)
    return np.sort(arena[count:kept, ROW]).astype(np.int64)


def covered_by(
    s_low: ConflictTable, s_high: ConflictTable, low: ConflictTable, high: ConflictTable
) -> NDArray[np.int64]:
    """The candidates that the box covers by itself, the purpose of corollary 2.

    The corollary takes those of which every entry is defined. That is right for proper ranges only: one without an end
    is not covered because its one bound conflicts. And it misses those that share a bound. Comparing is exact.
    """
    return np.flatnonzero(((low >= s_low) & (high <= s_high)).all(axis=1))
