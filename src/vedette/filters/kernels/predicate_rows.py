"""Regroups predicates that were coded by column into one table by conjunction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.bundles import PredicateTable
from vedette.kernels.compile import kernel


class ColumnPredicates(NamedTuple):
    """The tests on one column: conjunction `row[i]` has the predicate `low[i]`, `width[i]`."""

    row: NDArray[np.int32]
    low: NDArray[np.int32]
    width: NDArray[np.uint32]


@kernel
def _count(row: NDArray[np.int32], start: NDArray[np.int64]) -> None:
    for i in range(row.size):
        start[row[i] + 2] += 1


@kernel
def _scatter(part: ColumnPredicates, column: int, place: NDArray[np.int64], table: PredicateTable) -> None:
    for i in range(part.row.size):
        to = place[part.row[i] + 1]
        table.column[to] = column
        table.low[to] = part.low[i]
        table.width[to] = part.width[i]
        place[part.row[i] + 1] = to + 1


def table_of(conjunctions: int, parts: Sequence[ColumnPredicates]) -> PredicateTable:
    """The predicates of column c are `parts[c]`; within a conjunction they are ordered by column."""
    start = np.zeros(conjunctions + 2, np.int64)
    for part in parts:
        _count(part.row, start)
    start = np.cumsum(start)
    size = int(start[-1])
    # While predicates are placed, start[i + 1] is where the next one of conjunction i goes.
    table = PredicateTable(
        start[: conjunctions + 1], np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.uint32)
    )
    for column, part in enumerate(parts):
        _scatter(part, column, start, table)
    return table
