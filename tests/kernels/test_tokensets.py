"""Sets of tokens are what sets in plain Python say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.filters.probes.kernels.tokensets import (
    ElementLists,
    TokensOfTests,
    ValueTokenSets,
    by_value,
    distinct_lists,
    sets_of_values,
    sort_piece,
)


def ragged(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    start = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return start, np.array([item for row in rows for item in row], np.int32)


def unpacked(sets: ValueTokenSets) -> list[list[int]]:
    return [
        [] if number < 0 else sets.tokens[sets.start[number] : sets.start[number + 1]].tolist()
        for number in sets.number.tolist()
    ]


@st.composite
def held(draw: st.DrawFn) -> tuple[list[tuple[int, int]], list[list[int]], int, int]:
    values, tests, tokens = draw(st.integers(1, 6)), draw(st.integers(1, 5)), draw(st.integers(1, 60))
    pairs = draw(st.lists(st.tuples(st.integers(0, values - 1), st.integers(0, tests - 1)), unique=True, max_size=30))
    of_test = [draw(st.lists(st.integers(0, tokens - 1), unique=True, max_size=40)) for _ in range(tests)]
    return pairs, of_test, values, tokens


@pytest.mark.interpreted
@given(held())
def test_sets_of_values(case: tuple[list[tuple[int, int]], list[list[int]], int, int]) -> None:
    pairs, of_test, values, tokens = case
    value, test = (np.array([pair[i] for pair in pairs], np.int32) for i in (0, 1))
    found = sets_of_values(value, test, TokensOfTests(*ragged(of_test)), values, tokens)
    expected = [sorted({t for v, number in pairs if v == one for t in of_test[number]}) for one in range(values)]
    assert unpacked(found) == expected
    assert len(found.start) == 1 + sum(1 for tokens in expected if tokens)


@pytest.mark.interpreted
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=30))
def test_by_value(pairs: list[tuple[int, int]]) -> None:
    value, test = (np.array([pair[i] for pair in pairs], np.int32) for i in (0, 1))
    held = by_value(value, test, 5)
    for each in range(5):
        assert held.tests[held.start[each] : held.start[each + 1]].tolist() == [t for v, t in pairs if v == each]


@pytest.mark.interpreted
@given(st.lists(st.none() | st.lists(st.integers(-1, 3), max_size=4), max_size=20))
def test_distinct_lists(rows: list[list[int] | None]) -> None:
    start, elements = ragged([row or [] for row in rows])
    present = np.array([row is not None for row in rows], np.bool_)
    number, lists = distinct_lists(ElementLists(start, elements), present)
    kept = [lists.elements[low:high].tolist() for low, high in zip(lists.start[:-1], lists.start[1:], strict=True)]
    assert [None if one < 0 else kept[one] for one in number.tolist()] == rows
    assert len(kept) == len({tuple(row) for row in kept})


@pytest.mark.interpreted
@given(st.lists(st.integers(0, 99), max_size=80), st.data())
def test_sort_piece(numbers: list[int], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(numbers)))
    end = data.draw(st.integers(first, len(numbers)))
    array = np.array(numbers, np.int32)
    sort_piece(array, first, end)
    assert array.tolist() == numbers[:first] + sorted(numbers[first:end]) + numbers[end:]
