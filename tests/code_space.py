"""Random predicates and events in code space, for tests of indexes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from vedette.kernels.bundles import MISSING, CodedBatch, PredicateTable

Predicate = tuple[int, int, int]
NOT_NULL = 2**31 - 1
WRAP = 2**32


class Case(NamedTuple):
    """A table and a batch over the same columns."""

    conjunctions: list[list[Predicate]]
    ranks: int
    batch: CodedBatch

    @property
    def table(self) -> PredicateTable:
        """The conjunctions as a table."""
        return table_of(self.conjunctions)


def table_of(conjunctions: Sequence[Sequence[Predicate]]) -> PredicateTable:
    """Conjunctions, each a list of (column, low, width), as arrays."""
    flat = [predicate for conjunction in conjunctions for predicate in conjunction]
    return PredicateTable(
        np.cumsum([0, *map(len, conjunctions)], dtype=np.int64),
        np.array([column for column, _, _ in flat], np.int32),
        np.array([low for _, low, _ in flat], np.int32),
        np.array([width for _, _, width in flat], np.uint32),
    )


def batch_of(rows: Sequence[Sequence[int]], sets: Sequence[Sequence[frozenset[int]]] = ()) -> CodedBatch:
    """Events as rows of ranks and, for each token column, the token set of each event."""
    distinct = sorted({tuple(sorted(tokens)) for column in sets for tokens in column if tokens})
    number = {tokens: i for i, tokens in enumerate(distinct)}
    columns = [[number.get(tuple(sorted(tokens)), -1) for tokens in column] for column in sets]
    width = len(rows[0]) if rows else 0
    return CodedBatch(
        np.array(rows, np.int32).reshape(len(rows), width).T.copy(),
        np.array(columns, np.int32).reshape(len(sets), len(rows)),
        np.cumsum([0, *map(len, distinct)], dtype=np.int64),
        np.array([token for tokens in distinct for token in tokens], np.int32),
    )


@st.composite
def rank_predicates(draw: st.DrawFn, column: int, highest: int) -> Predicate:
    """Equality, ranges, complements, null tests, and the test that always holds."""
    low = draw(st.integers(MISSING, highest))
    high = draw(st.integers(low, highest))
    width = high - low
    return draw(
        st.sampled_from(
            [
                (column, low, 0),
                (column, low, width),
                (column, max(low, 0), NOT_NULL - max(low, 0)),  # from here on
                (column, high + 1, WRAP - width - 2),  # everything but low .. high
                (column, MISSING, 0),
                (column, 0, NOT_NULL),
                (column, low, WRAP - 1),
            ]
        )
    )


@st.composite
def cases(draw: st.DrawFn, *, equality: bool = False, conjunctions: int = 24, events: int = 12) -> Case:
    """Few values and few columns, so that predicates meet."""
    ranks = draw(st.integers(0 if not equality else 1, 4))
    token_columns = 0 if equality else draw(st.integers(0 if ranks else 1, 2))
    exact = [equality or draw(st.booleans()) for _ in range(ranks + token_columns)]
    highest, tokens = 3, 3

    def predicates(column: int) -> st.SearchStrategy[Predicate]:
        if column >= ranks:
            return st.tuples(
                st.just(column), st.integers(0, tokens), st.just(0) if exact[column] else st.integers(0, 1)
            )
        if exact[column]:
            return st.tuples(st.just(column), st.integers(MISSING, highest), st.just(0))
        return rank_predicates(column, highest)

    any_predicate = st.one_of([predicates(column) for column in range(ranks + token_columns)])
    table = draw(st.lists(st.lists(any_predicate, max_size=5), max_size=conjunctions))
    count = draw(st.integers(0, events))
    rows = [[draw(st.integers(MISSING, highest)) for _ in range(ranks)] for _ in range(count)]
    sets = [
        [draw(st.frozensets(st.integers(0, tokens), max_size=3)) for _ in range(count)] for _ in range(token_columns)
    ]
    return Case(table, ranks, batch_of(rows, sets))
