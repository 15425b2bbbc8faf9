"""The parts that the matching tree is made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.code_space import Predicate, batch_of, rank_predicates, table_of
from tests.naive import holds
from vedette.filters.tree.kernels.tree_layout import (
    EQUALITY,
    RANGES,
    TOKEN_TESTS,
    TreeLayoutOptions,
    TrieArrays,
    lay_out,
    next_uncovered,
)
from vedette.filters.tree.kernels.tree_nodes import CHILD, NONE, VALUE, find_slot
from vedette.filters.tree.kernels.tree_order import simplify

HIGHEST = 3


def fan(edges: list[tuple[int, int, int]]) -> TrieArrays:
    """One root with these children, each with a conjunction of its own."""
    count = len(edges)
    return TrieArrays(
        np.array([-1, *(position for position, _, _ in edges)], np.int32),
        np.array([0, *(low for _, low, _ in edges)], np.int32),
        np.array([0, *(width for _, _, width in edges)], np.uint32),
        np.array([1, *[count + 1] * (count + 1)], np.int64),
        np.array([0, *range(count + 1)], np.int64),
        np.arange(count, dtype=np.int32),
    )


@pytest.mark.interpreted
@given(st.sets(st.integers(-1, 2**31 - 1) | st.integers(-1, 20), min_size=2, max_size=60))
def test_every_value_is_found_in_its_slot_and_no_other_is(values: set[int]) -> None:
    ordered = sorted(values)
    form = TreeLayoutOptions(np.array([4], np.int32), np.array([EQUALITY], np.int8), 1, False)
    layout = lay_out(fan([(0, value, 0) for value in ordered]), 1, form)
    _, start, bits, star = layout.nodes[0].tolist()
    assert star == NONE
    for value in ordered:
        slot = find_slot(layout.slots, start, bits, value)
        assert layout.slots[slot, VALUE] == value
        leaf = layout.nodes[layout.slots[slot, CHILD]]
        assert layout.members[leaf[1]] == ordered.index(value)
    for value in set(range(-1, 25)) - values:
        assert find_slot(layout.slots, start, bits, value) == NONE


@pytest.mark.interpreted
@given(st.sets(rank_predicates(0, 6), max_size=12), st.sets(rank_predicates(1, 6), max_size=12))
def test_an_interval_reaches_to_the_next_that_it_does_not_contain(one: set[Predicate], other: set[Predicate]) -> None:
    edges = sorted(one | other, key=lambda p: (p[0], p[1], -p[2]))
    following = next_uncovered(fan(edges), np.array([RANGES, RANGES], np.int8)).tolist()
    for place, (column, low, width) in enumerate(edges, start=1):
        wanted = place + 1
        while wanted <= len(edges) and edges[wanted - 1][0] == column and sum(edges[wanted - 1][1:]) <= low + width:
            wanted += 1
        assert following[place] == wanted


@pytest.mark.interpreted
def test_tokens_do_not_imply_one_another() -> None:
    following = next_uncovered(fan([(0, 1, 1), (0, 1, 0), (0, 2, 0)]), np.array([TOKEN_TESTS], np.int8))
    assert following[1:].tolist() == [2, 3, 4]


@pytest.mark.interpreted
@given(
    st.lists(
        rank_predicates(0, HIGHEST)
        | rank_predicates(1, HIGHEST)
        | st.tuples(st.just(2), st.integers(0, 1), st.integers(0, 1)),
        max_size=6,
    )
)
def test_simplifying_keeps_the_meaning(conjunction: list[Predicate]) -> None:
    keep, possible = simplify(table_of([conjunction]), 2)
    kept = [predicate for predicate, wanted in zip(conjunction, keep.tolist(), strict=True) if wanted]
    ranks = range(-1, HIGHEST + 2)
    subsets = [frozenset(), frozenset({0}), frozenset({1}), frozenset({0, 1})]
    rows = [[one, other] for one in ranks for other in ranks for _ in subsets]
    batch = batch_of(rows, [subsets * (len(rows) // len(subsets))])
    for event in range(len(rows)):
        before = all(holds(predicate, 2, batch, event) for predicate in conjunction)
        after = bool(possible[0]) and all(holds(predicate, 2, batch, event) for predicate in kept)
        assert before == after


@pytest.mark.interpreted
def test_simplifying_drops_what_is_implied_and_sees_what_is_impossible() -> None:
    table = table_of(
        [
            [(0, 1, 8), (0, 3, 2), (0, 3, 2), (0, 0, 2**31 - 1)],
            [(0, 3, 0), (0, 5, 2)],
            [(1, 7, 0), (1, 7, 1)],
            [(0, 4, 2**32 - 2), (0, 0, 2**31 - 1)],
            [(0, 9, 2**32 - 1)],
        ]
    )
    keep, possible = simplify(table, 1)
    assert keep.tolist()[:4] == [False, True, False, False]
    assert possible.tolist() == [True, False, False, True, True]
    assert keep.tolist()[-3:] == [True, True, False]
