"""Simplifies the predicates of each conjunction: implied ones, and contradictions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.bundles import PredicateTable
from vedette.kernels.compile import kernel

_WORD = 0xFFFFFFFF


@kernel
def simplify(table: PredicateTable, ranks: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Compute which predicates are worth testing, and which conjunctions can hold at all.

    A predicate that is always true, or that another one of its conjunction implies, is not worth testing; of equal
    ones only the first is. Two on one column that exclude each other make the conjunction impossible.
    """
    keep = np.ones(table.column.size, np.bool_)
    possible = np.ones(table.start.size - 1, np.bool_)
    for c in range(table.start.size - 1):
        for i in range(table.start[c], table.start[c + 1]):
            low, width = int(table.low[i]), int(table.width[i])
            on_ranks = table.column[i] < ranks
            if on_ranks and width == _WORD:
                keep[i] = False
                continue
            for j in range(table.start[c], table.start[c + 1]):
                if i == j or table.column[i] != table.column[j]:
                    continue
                other_low, other_width = int(table.low[j]), int(table.width[j])
                if on_ranks:
                    ahead, behind = (other_low - low) & _WORD, (low - other_low) & _WORD
                    implied = ahead + other_width <= width
                    apart = ahead > width and behind > other_width
                else:
                    implied = low == other_low and width == other_width
                    apart = low == other_low and width != other_width
                if apart:
                    possible[c] = False
                if implied and (j < i or low != other_low or width != other_width):
                    keep[i] = False
    return keep, possible
