"""Choosing access predicates: which of a conjunction's predicates do the fewest events pass, where it stands?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.bundles import PredicateTable
from vedette.kernels.compile import kernel

UNUSABLE = np.float32(2.0)  # a share that no predicate has
FINEST = 8192  # bins of a column's frequencies: few enough to stay in the cache


class Frequencies(NamedTuple):
    """What a sample of events says of the columns.

    `cumulative[at[c] + ((r + 2) >> shift[c])]` is the share of events whose rank in column c is <= r, at the
    edges of the bins; between them it is interpolated.
    """

    cumulative: NDArray[np.float32]
    at: NDArray[np.int64]  # per rank column
    shift: NDArray[np.int64]  # per rank column
    largest: NDArray[np.int64]  # per rank column: its largest rank
    token: NDArray[np.float32]  # share of events that have a token, all token columns one after the other
    token_at: NDArray[np.int64]  # per token column


class Settings(NamedTuple):
    """What can be tuned; none of it changes an answer."""

    batch: float  # events that are expected to be matched together
    page: int  # conjunctions in a page that few events reach; many times more where many do
    widest: float  # a range is filed only if it covers at most this share of the values reaching the node
    slack: float  # a predicate is as good as the best if it passes at most this many times the events
    replication: float  # copies of a conjunction that one branch may make on average
    replication_in_all: float


class Path(NamedTuple):
    """What the path to a node has established: ranks lie in [low, high] (low = -1: may be missing)."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]


@kernel
def below(frequencies: Frequencies, column: int, place: int) -> np.float32:
    """The share of events with rank + 2 <= place."""
    shift = frequencies.shift[column]
    at = frequencies.at[column] + (place >> shift)
    left = frequencies.cumulative[at]
    if shift == 0:
        return left
    inside = np.float32(place & ((1 << shift) - 1)) / np.float32(1 << shift)
    return left + (frequencies.cumulative[at + 1] - left) * inside


@kernel
def mass(frequencies: Frequencies, column: int, low: int, high: int) -> np.float32:
    """The share of events whose rank lies in [low, high]."""
    return max(below(frequencies, column, high + 2) - below(frequencies, column, low + 1), np.float32(1e-9))


@kernel
def covers(path: Path, column: int, low: int, width: int) -> bool:
    """Whether every rank that the path admits passes the predicate (which may wrap around)."""
    first = np.int64(low)
    last = first + np.int64(width)
    if first <= path.low[column] and path.high[column] <= last:
        return True
    return bool(path.high[column] <= last - 4294967296)


@kernel
def clipped(table: PredicateTable, p: int, path: Path) -> tuple[int, int]:
    """The ranks of a predicate on a rank column that the path leaves."""
    low = np.int64(table.low[p])
    high = low + np.int64(table.width[p])
    column = table.column[p]
    return max(low, path.low[column]), min(high, path.high[column])


@kernel
def group_of(table: PredicateTable, p: int, path: Path) -> int:
    """2c for a point of column c (or a token), 2c + 1 for a range."""
    column = np.int64(table.column[p])
    if column >= path.low.shape[0]:
        return 2 * column
    low, high = clipped(table, p, path)
    return 2 * column + np.int64(low < high)


@kernel
def share_passing(table: PredicateTable, p: int, frequencies: Frequencies, path: Path, widest: float) -> np.float32:
    """The share of the events reaching a node that pass a predicate, or UNUSABLE as an access predicate."""
    ranks = path.low.shape[0]
    column = table.column[p]
    if column >= ranks:
        if table.width[p] != 0:
            return UNUSABLE
        return frequencies.token[frequencies.token_at[column - ranks] + table.low[p]]
    if table.low[p] < 0 or np.int64(table.low[p]) + np.int64(table.width[p]) > frequencies.largest[column]:
        return UNUSABLE
    low, high = clipped(table, p, path)
    if low > high or (low <= path.low[column] and high >= path.high[column]):
        return UNUSABLE
    passing = mass(frequencies, column, low, high)
    if low < high and passing > widest * mass(frequencies, column, max(path.low[column], 0), path.high[column]):
        return UNUSABLE
    return passing / mass(frequencies, column, path.low[column], path.high[column])


@kernel
def choose(
    table: PredicateTable,
    conjunctions: NDArray[np.int32],
    frequencies: Frequencies,
    path: Path,
    settings: Settings,
    least: int,
    sizes: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Each conjunction's access predicate (-1: none); `sizes` counts them per group, groups below `least` are closed.

    Among predicates that are about as selective, the one in the most popular group is taken, so that there are
    few branches.
    """
    groups = sizes.shape[0]
    n = conjunctions.shape[0]
    start = np.zeros(n + 1, np.int64)
    for i in range(n):
        start[i + 1] = start[i] + table.start[conjunctions[i] + 1] - table.start[conjunctions[i]]
    share = np.empty(start[n], np.float32)
    group = np.empty(start[n], np.int32)
    best = np.empty(n, np.float32)
    popular = np.zeros(groups, np.int64)
    for i in range(n):
        first = table.start[conjunctions[i]]
        best[i] = UNUSABLE
        for k in range(start[i], start[i + 1]):
            p = first + k - start[i]
            group[k] = group_of(table, p, path)
            share[k] = share_passing(table, p, frequencies, path, settings.widest)
            best[i] = min(best[i], share[k])
        if best[i] < UNUSABLE:
            accepted = settings.slack * best[i]
            for k in range(start[i], start[i + 1]):
                if share[k] <= accepted:
                    popular[group[k]] += 1
    chosen = np.empty(n, np.int64)
    closed = np.zeros(groups, np.bool_)
    for last in range(2):
        sizes[:] = 0
        for i in range(n):
            accepted = settings.slack * best[i]
            most = np.int64(0)
            second = np.float32(0.5)
            found = np.int64(-1)
            second_best = np.int64(-1)
            for k in range(start[i], start[i + 1]):
                if share[k] == UNUSABLE or closed[group[k]]:
                    continue
                if share[k] <= accepted:
                    if popular[group[k]] > most:
                        most = popular[group[k]]
                        found = k
                elif share[k] < second:
                    second = share[k]
                    second_best = k
            # Groups that came out too small are closed the second time; their members look elsewhere.
            if last == 1 and found < 0:
                found = second_best
            chosen[i] = -1
            if found >= 0:
                sizes[group[found]] += 1
                chosen[i] = table.start[conjunctions[i]] + found - start[i]
        if last == 0:
            for g in range(groups):
                closed[g] = sizes[g] < least
    for g in range(groups):
        if sizes[g] < least:
            sizes[g] = 0
    return chosen
