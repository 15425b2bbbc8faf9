"""Chooses the fixed total order of tests: when and how columns are tested, and which are factored out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.errors import InputError
from vedette.filters.tree.kernels.tree_layout import EQUALITY, RANGES, TOKEN_TESTS, TOKENS, TreeLayoutOptions
from vedette.filters.tree.kernels.tree_order import simplify
from vedette.kernels.bundles import CodedBatch, PredicateTable

_WORD = 0xFFFFFFFF
_ASKED = 4096  # predicates of a column that are tested on the sample
_REPLICATION = 8  # automatic factoring stores a conjunction at most this many times, on average
MOST_TREES = 1 << 24


class OrderedPredicates(NamedTuple):
    """The predicates that are worth testing, by conjunction; `possible` marks the conjunctions that can hold."""

    conjunction: NDArray[np.int64]
    column: NDArray[np.int32]
    low: NDArray[np.int32]
    width: NDArray[np.uint32]
    possible: NDArray[np.int64]


def simplified(table: PredicateTable, ranks: int) -> OrderedPredicates:
    """The table without predicates that are implied and conjunctions that never hold."""
    keep, possible = simplify(table, ranks)
    conjunction = np.repeat(np.arange(possible.size, dtype=np.int64), np.diff(table.start))
    keep &= possible[conjunction]
    return OrderedPredicates(
        conjunction[keep], table.column[keep], table.low[keep], table.width[keep], np.flatnonzero(possible)
    )


def kind_of(column: int, ranks: int, exact: bool) -> int:
    """How a column is tested; `exact`: all its predicates have width 0."""
    if column < ranks:
        return EQUALITY if exact else RANGES
    return TOKENS if exact else TOKEN_TESTS


def form_of(columns: Sequence[int], exact: Iterable[bool], ranks: int, filled: bool) -> TreeLayoutOptions:
    """The form of a tree over these columns, in this order."""
    kinds = [kind_of(column, ranks, plain) for column, plain in zip(columns, exact, strict=True)]
    levels = next((i for i, kind in enumerate(kinds) if kind != EQUALITY), len(kinds))
    return TreeLayoutOptions(np.array(columns, np.int32), np.array(kinds, np.int8), levels, filled)


def place_of(column: int, order: Sequence[int]) -> int:
    """The position of a column if `order` comes first and all others follow by number."""
    return order.index(column) if column in order else len(order) + column


def inexact_columns(predicates: OrderedPredicates) -> set[int]:
    """The columns that some predicate of width > 0 tests."""
    return {int(column) for column in np.unique(predicates.column[predicates.width > 0])}


def chosen_order(predicates: OrderedPredicates, ranks: int, sample: CodedBatch) -> list[int]:
    """The columns: equality first, then tokens, then ranges; within these, those that rule out most conjunctions first.

    A *-edge near the root is followed by nearly every event, so attributes that few conjunctions leave open
    belong there.
    """
    inexact = inexact_columns(predicates)
    columns, inverse, tests = np.unique(predicates.column, return_inverse=True, return_counts=True)
    by_column = np.split(np.argsort(inverse, kind="stable"), np.cumsum(tests)[:-1]) if columns.size else []
    keys = []
    for column, members in zip(columns.tolist(), by_column, strict=True):
        asked = members[:: max(1, members.size // _ASKED)]
        passing = _passing(column, predicates.low[asked], predicates.width[asked], ranks, sample)
        keys.append((kind_of(column, ranks, column not in inexact), -members.size * (1 - passing), column))
    return [column for _, _, column in sorted(keys)]


def _passing(column: int, low: NDArray[np.int32], width: NDArray[np.uint32], ranks: int, sample: CodedBatch) -> float:
    """The share of (sample event, predicate) pairs that hold."""
    events = int(sample.ranks.shape[1])
    if events == 0:
        return 0.5
    if column < ranks:
        seen = np.sort(sample.ranks[column].astype(np.int64))
        begin = low.astype(np.int64)
        end = begin + width.astype(np.int64)
        # Ranks are modulo 2 ** 32: an interval that wraps around also covers its image one turn earlier.
        held = np.zeros(low.size, np.int64)
        for turn in (0, _WORD + 1):
            held += np.searchsorted(seen, end - turn, side="right") - np.searchsorted(seen, begin - turn, side="left")
        return float(held.mean()) / events
    sets, times = np.unique(sample.sets[column - ranks], return_counts=True)
    holding: dict[int, int] = {}
    for number, count in zip(sets.tolist(), times.tolist(), strict=True):
        for token in sample.set_tokens[sample.set_start[number] : sample.set_start[number + 1]] if number >= 0 else ():
            holding[int(token)] = holding.get(int(token), 0) + count
    shares = np.array([holding.get(token, 0) for token in low.tolist()]) / events
    return float(np.where(width == 0, shares, 1 - shares).mean())


def index_columns(predicates: OrderedPredicates, ranks: int, wanted: int | tuple[int, ...]) -> tuple[int, ...]:
    """The columns to factor out (Aguilera 1999, §5): the given ones, or those that are most rarely left open."""
    inexact = inexact_columns(predicates)
    if isinstance(wanted, tuple):
        for column in wanted:
            check_index_column(column, ranks, exact=column not in inexact)
        return wanted
    if wanted == 0:
        return ()
    columns, tests = np.unique(predicates.column, return_counts=True)
    candidates = [column for column in columns[np.argsort(-tests, kind="stable")].tolist() if column < ranks]
    copies = np.ones(predicates.possible.size)
    trees = 1
    chosen: list[int] = []
    for column in candidates:
        on_column = predicates.column == column
        buckets = np.unique(predicates.low[on_column]).size + 1
        cares = np.isin(predicates.possible, predicates.conjunction[on_column])
        more = copies * np.where(cares, 1, buckets)
        if column in inexact or trees * buckets > MOST_TREES or more.sum() > _REPLICATION * more.size:
            continue
        chosen.append(column)
        copies = more
        trees *= buckets
        if len(chosen) == wanted:
            break
    return tuple(chosen)


def check_index_column(column: int, ranks: int, *, exact: bool) -> None:
    """Error if the column is not tested by equality only, since only such columns can be factored out."""
    if column >= ranks or not exact:
        raise InputError(
            f"column {column} cannot be factored out of the tree: it has tests other than equality. "
            "Leave it out of the index columns."
        )
