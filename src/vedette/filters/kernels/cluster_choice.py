"""Chooses the access predicates of conjunctions: at a node, those that the fewest events pass.

How often values occur, and attributes are present, is counted in a sample of events. That steers the layout and
never an answer: a sample rules nothing out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.bundles import PredicateTable
from vedette.kernels.compile import inlined, kernel

UNUSABLE = np.float32(2.0)  # shares that no predicate has: a conjunction cannot be filed under it,
IMPLIED = np.float32(3.0)  # and every event that arrives here passes it
HIGHEST = 2**31 - 1  # ranks may be larger than any in the predicates and the sample
FINEST = 8192  # bins of a column's frequencies: few enough to stay in the cache


class ColumnFrequencies(NamedTuple):
    """Frequencies of ranks and tokens, estimated from a sample of events.

    `cumulative[at[c] + ((r + 2) >> shift[c])]` is the share of events whose rank in column c is <= r, at the
    edges of the bins; between them it is interpolated.
    """

    cumulative: NDArray[np.float32]
    at: NDArray[np.int64]  # per rank column
    shift: NDArray[np.int64]  # per rank column
    largest: NDArray[np.int64]  # per rank column: its largest rank
    token: NDArray[np.float32]  # share of events that have a token, all token columns one after the other
    token_at: NDArray[np.int64]  # per token column


class ClusterSettings(NamedTuple):
    """Tuning parameters; none of them changes an answer."""

    batch: float  # events that are expected to be matched together
    page: int  # conjunctions in a page that few events reach; many times more where many do
    widest: float  # a range is filed only if it covers at most this share of the values reaching the node
    slack: float  # a predicate is as good as the best if it passes at most this many times the events
    replication: float  # copies of a conjunction that one branch may make on average
    replication_in_all: float


class NodePath(NamedTuple):
    """What the path to a node implies: ranks lie in [low, high] (low = -1: may be missing)."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    reaching: NDArray[np.float32]  # the share of all events with such a rank,
    present: NDArray[np.float32]  # and with such a rank that is not missing


@inlined
def below(frequencies: ColumnFrequencies, column: int, place: int) -> np.float32:
    """The share of events with rank + 2 <= place."""
    shift = frequencies.shift[column]
    at = frequencies.at[column] + (place >> shift)
    left = frequencies.cumulative[at]
    if shift == 0:
        return left
    inside = np.float32(place & ((1 << shift) - 1)) / np.float32(1 << shift)
    return left + (frequencies.cumulative[at + 1] - left) * inside


@inlined
def mass(frequencies: ColumnFrequencies, column: int, low: int, high: int) -> np.float32:
    """The share of events whose rank lies in [low, high]."""
    high = min(high, frequencies.largest[column])
    low = min(low, high)
    return max(below(frequencies, column, high + 2) - below(frequencies, column, low + 1), np.float32(1e-9))


@kernel
def weigh(path: NodePath, frequencies: ColumnFrequencies, column: int) -> None:
    """Bring the path's shares of a column up to date."""
    path.reaching[column] = mass(frequencies, column, path.low[column], path.high[column])
    path.present[column] = mass(frequencies, column, max(path.low[column], 0), path.high[column])


@kernel
def first_predicates(table: PredicateTable, conjunctions: NDArray[np.int32]) -> NDArray[np.int64]:
    """Where the predicates of each conjunction begin, if those of the whole list were stored one after another."""
    start = np.zeros(conjunctions.shape[0] + 1, np.int64)
    for i in range(conjunctions.shape[0]):
        start[i + 1] = start[i] + table.start[conjunctions[i] + 1] - table.start[conjunctions[i]]
    return start


@kernel
def weigh_all(
    table: PredicateTable,
    conjunctions: NDArray[np.int32],
    start: NDArray[np.int64],
    frequencies: ColumnFrequencies,
    path: NodePath,
    widest: float,
    group: NDArray[np.int32],
) -> NDArray[np.float32]:
    """For every predicate of a list: the share of the events reaching a node that pass it, and its group.

    Group 2c holds the points of column c (or its tokens), 2c + 1 its ranges. One long loop over local arrays on
    purpose: calls that take arrays cost more here than the work itself.
    """
    first, column_of, low_of, width_of = table.start, table.column, table.low, table.width
    cumulative, at, shift_of, largest = frequencies.cumulative, frequencies.at, frequencies.shift, frequencies.largest
    token, token_at = frequencies.token, frequencies.token_at
    path_low, path_high, reaching, present = path.low, path.high, path.reaching, path.present
    ranks = path_low.shape[0]
    share = np.empty(start[conjunctions.shape[0]], np.float32)
    for i in range(conjunctions.shape[0]):
        p = first[conjunctions[i]]
        for k in range(start[i], start[i + 1]):
            column = np.int64(column_of[p])
            low = np.int64(low_of[p])
            high = low + np.int64(width_of[p])
            p += 1
            group[k] = 2 * column
            share[k] = UNUSABLE
            if column >= ranks:
                if low == high:
                    share[k] = token[token_at[column - ranks] + low]
                continue
            if low <= path_low[column] and path_high[column] <= high:
                share[k] = IMPLIED
                continue
            if low < 0 or high > largest[column]:
                if path_high[column] <= high - 4294967296:  # wrapped around
                    share[k] = IMPLIED
                continue
            low = max(low, path_low[column])
            high = min(high, path_high[column])
            if low > high:
                continue
            shift = shift_of[column]
            within = (np.int64(1) << shift) - 1
            bin_width = np.float32(within + 1)
            above = at[column] + ((high + 2) >> shift)
            below = at[column] + ((low + 1) >> shift)
            passing = cumulative[above] - cumulative[below]
            if shift > 0:
                passing += (cumulative[above + 1] - cumulative[above]) * np.float32((high + 2) & within) / bin_width
                passing -= (cumulative[below + 1] - cumulative[below]) * np.float32((low + 1) & within) / bin_width
            passing = max(passing, np.float32(1e-9))
            if low < high:
                group[k] += 1
                if passing > widest * present[column]:
                    continue
            share[k] = passing / reaching[column]
    return share


@kernel
def choose(
    table: PredicateTable,
    conjunctions: NDArray[np.int32],
    frequencies: ColumnFrequencies,
    path: NodePath,
    settings: ClusterSettings,
    least: int,
    sizes: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Each conjunction's access predicate and its group (-1: none); `sizes` counts per group.

    Among predicates that are about as selective, the one in the most popular group is taken, so that there are
    few branches. Groups with fewer than `least` members are closed.
    """
    groups = sizes.shape[0]
    n = conjunctions.shape[0]
    start = first_predicates(table, conjunctions)
    group = np.empty(start[n], np.int32)
    share = weigh_all(table, conjunctions, start, frequencies, path, settings.widest, group)
    slack = np.float32(settings.slack)
    best = np.empty(n, np.float32)
    popular = np.zeros(groups, np.int64)
    for i in range(n):
        best[i] = UNUSABLE
        for k in range(start[i], start[i + 1]):
            best[i] = min(best[i], share[k])
        if best[i] < UNUSABLE:
            for k in range(start[i], start[i + 1]):
                if share[k] <= slack * best[i]:
                    popular[group[k]] += 1
    chosen = np.empty(n, np.int64)
    chosen_group = np.empty(n, np.int32)
    closed = np.zeros(groups, np.bool_)
    for last in range(2):
        for g in range(groups):
            sizes[g] = 0
        for i in range(n):
            accepted = slack * best[i]
            most = np.int64(0)
            second = np.float32(0.5)
            found = np.int64(-1)
            second_best = np.int64(-1)
            for k in range(start[i], start[i + 1]):
                if share[k] >= UNUSABLE or closed[group[k]]:
                    continue
                if share[k] <= accepted:
                    if popular[group[k]] > most:
                        most = popular[group[k]]
                        found = k
                elif share[k] < second:
                    second = share[k]
                    second_best = k
            # Groups that turned out too small are closed in the second round; their members choose other ones.
            if last == 1 and found < 0:
                found = second_best
            chosen[i] = found
            chosen_group[i] = -1
            if found >= 0:
                chosen_group[i] = group[found]
                sizes[group[found]] += 1
        if last == 0:
            for g in range(groups):
                closed[g] = sizes[g] < least
    for g in range(groups):
        if sizes[g] < least:
            sizes[g] = 0
    for i in range(n):
        if chosen_group[i] >= 0 and sizes[chosen_group[i]] == 0:
            chosen_group[i] = -1
        chosen[i] += table.start[conjunctions[i]] - start[i]
    return chosen, chosen_group
