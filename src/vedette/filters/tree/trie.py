"""The trie of the ordered predicates of all conjunctions, built at once, level by level; and the order of tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.errors import InputError
from vedette.filters.tree.kernels.tree_layout import (
    EQUALITY,
    RANGES,
    TOKEN_TESTS,
    TOKENS,
    TreeLayoutOptions,
    TrieArrays,
)
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


_MOST_ENTRIES = 1 << 30


class TrieEntries(NamedTuple):
    """The assignment of conjunctions to trees; without index columns there is one tree for all."""

    conjunction: NDArray[np.int64]
    root: NDArray[np.int64]  # 0 .. roots - 1, ascending
    places: NDArray[np.int64]  # by root: its position among all combinations of index values
    combinations: int
    index_start: NDArray[np.int64]
    index_values: NDArray[np.int32]


class TrieLabels(NamedTuple):
    """Distinct predicates in the total order."""

    position: NDArray[np.int32]
    low: NDArray[np.int32]
    width: NDArray[np.uint32]


class TrieSequences(NamedTuple):
    """The predicates of each conjunction, as labels, in the total order."""

    start: NDArray[np.int64]  # conjunctions + 1
    label: NDArray[np.int64]
    labels: TrieLabels


def factored(predicates: OrderedPredicates, index: tuple[int, ...]) -> TrieEntries:
    """Put each conjunction into every tree whose index values it allows (Aguilera 1999, §5)."""
    conjunction = predicates.possible
    place = np.zeros(conjunction.size, np.int64)
    combinations = 1
    start, values = [0], [np.empty(0, np.int32)]
    for column in index:
        on_column = predicates.column == column
        tested = np.unique(predicates.low[on_column])
        bucket = np.zeros(int(predicates.possible.max(initial=-1)) + 1, np.int64)
        bucket[predicates.conjunction[on_column]] = 1 + np.searchsorted(tested, predicates.low[on_column])
        own = bucket[conjunction]
        times = np.where(own == 0, tested.size + 1, 1)
        combinations *= tested.size + 1
        if combinations > MOST_TREES or times.sum() > _MOST_ENTRIES:
            raise InputError(
                f"factoring out columns {', '.join(map(str, index))} takes more than {MOST_TREES:,} trees or "
                f"{_MOST_ENTRIES:,} entries. Factor out fewer columns, or columns with fewer values."
            )
        offset = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        conjunction = np.repeat(conjunction, times)
        place = np.repeat(place, times) * (tested.size + 1) + np.repeat(own, times) + offset
        start.append(start[-1] + tested.size)
        values.append(tested)
    order = np.argsort(place, kind="stable")
    places, root = np.unique(place[order], return_inverse=True)
    return TrieEntries(
        conjunction[order], root, places, combinations, np.array(start, np.int64), np.concatenate(values)
    )


def sequences(predicates: OrderedPredicates, form: TreeLayoutOptions, conjunctions: int) -> TrieSequences:
    """Sort the predicates on the columns of `form` into the total order."""
    position_of = np.full(int(max(predicates.column.max(initial=-1), form.columns.max(initial=-1))) + 1, -1, np.int32)
    position_of[form.columns] = np.arange(form.columns.size, dtype=np.int32)
    position = position_of[predicates.column]
    kept = np.flatnonzero(position >= 0)
    position, low, width = position[kept], predicates.low[kept], predicates.width[kept]
    label, labels = _label(position, low, width, form)
    key = predicates.conjunction[kept] * max(1, labels.low.size) + label
    key.sort()
    start = np.zeros(conjunctions + 1, np.int64)
    np.cumsum(np.bincount(predicates.conjunction[kept], minlength=conjunctions), out=start[1:])
    return TrieSequences(start, key % max(1, labels.low.size), labels)


def _label(
    position: NDArray[np.int32], low: NDArray[np.int32], width: NDArray[np.uint32], form: TreeLayoutOptions
) -> tuple[NDArray[np.int64], TrieLabels]:
    """Number the predicates so that the order of numbers is the total order."""
    label = np.empty(position.size, np.int64)
    small = np.int16 if form.columns.size < 1 << 15 else np.int32  # 16-bit numbers are sorted by radix
    by_position = np.argsort(position.astype(small), kind="stable")
    bounds = np.cumsum([0, *np.bincount(position, minlength=form.columns.size)]).tolist()
    positions, lows, widths = [np.empty(0, np.int32)], [np.empty(0, np.int32)], [np.empty(0, np.uint32)]
    first = 0
    for place, (begin, end) in enumerate(pairwise(bounds)):
        members = by_position[begin:end]
        own_low = low[members]
        base, span = int(own_low.min(initial=0)), int(own_low.max(initial=0)) - int(own_low.min(initial=0)) + 1
        if form.kinds[place] in (EQUALITY, TOKENS) and span <= 4 * members.size + 1024:
            # Ranks and tokens are dense: the value itself can be the number.
            label[members] = own_low - np.int64(base) + first
            lows.append(np.arange(base, base + span, dtype=np.int32))
            widths.append(np.zeros(span, np.uint32))
        else:
            key = (own_low.astype(np.int64) << 32) | (_WORD - width[members].astype(np.int64))
            distinct, inverse = np.unique(key, return_inverse=True)
            label[members] = inverse + first
            lows.append((distinct >> 32).astype(np.int32))
            widths.append((_WORD - (distinct & _WORD)).astype(np.uint32))
        positions.append(np.full(lows[-1].size, place, np.int32))
        first += lows[-1].size
    return label, TrieLabels(np.concatenate(positions), np.concatenate(lows), np.concatenate(widths))


def build_trie(given: TrieSequences, entries: TrieEntries) -> TrieArrays:
    """Sort all entries by their first predicate, then by the second, and so on; equal prefixes become one node."""
    labels = max(1, given.labels.low.size)
    conjunction, node = entries.conjunction, entries.root
    first, count = 0, entries.places.size  # the nodes of the current level
    edge_labels: list[NDArray[np.int64]] = []
    children, owners, own = [], [], []
    depth = 0
    while count:
        at = given.start[conjunction] + depth
        goes_on = at < given.start[conjunction + 1]
        owners.append(np.bincount(node[~goes_on] - first, minlength=count))
        own.append(conjunction[~goes_on].astype(np.int32))
        conjunction, node, at = conjunction[goes_on], node[goes_on], at[goes_on]
        key = (node - first) * labels + given.label[at]
        if np.any(key[1:] < key[:-1]):
            order = np.argsort(key, kind="stable")
            conjunction, key = conjunction[order], key[order]
        new = np.ones(key.size, np.bool_)
        np.not_equal(key[1:], key[:-1], out=new[1:])
        distinct = key[new]
        children.append(np.bincount(distinct // labels, minlength=count))
        edge_labels.append(distinct % labels)
        first += count
        node = first + np.cumsum(new) - 1
        count = distinct.size
        depth += 1
    label = np.concatenate([*edge_labels, np.empty(0, np.int64)])
    roots = entries.places.size
    return TrieArrays(
        np.concatenate([np.full(roots, -1, np.int32), given.labels.position[label]]),
        np.concatenate([np.zeros(roots, np.int32), given.labels.low[label]]),
        np.concatenate([np.zeros(roots, np.uint32), given.labels.width[label]]),
        starts(children, roots),
        starts(owners, 0),
        np.concatenate([*own, np.empty(0, np.int32)]),
    )


def starts(counts: list[NDArray[np.int64]], first: int) -> NDArray[np.int64]:
    """Where the items of each node begin, when those of node 0 begin at `first`."""
    flat = np.concatenate([*counts, np.empty(0, np.int64)])
    start = np.empty(flat.size + 1, np.int64)
    start[0] = first
    np.cumsum(flat, out=start[1:])
    start[1:] += first
    return start
