"""Sets of Integers, held against the numbers themselves."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from vedette.dialects.cesql.attribute_tests import ALL, IntegerIntervals, has, mirrored, moved, others, united
from vedette.dialects.cesql.parser import INTEGERS

EDGES = (0, 1, 2147483646, 2147483647, 2147483648)
NUMBERS = st.one_of(
    st.sampled_from([*EDGES, *(-edge for edge in EDGES)]), st.integers(-20, 20), st.integers(-(2**32), 2**32)
)
RANGES = st.lists(st.tuples(NUMBERS, NUMBERS).map(lambda pair: (min(pair), max(pair))), max_size=3)


@given(RANGES, NUMBERS)
def test_a_union_has_what_its_parts_have(ranges: list[tuple[int, int]], number: int) -> None:
    found = united(ranges)
    assert has(found, number) == (number in INTEGERS and any(low <= number <= high for low, high in ranges))
    assert all(high + 1 < low for (_, high), (low, _) in itertools.pairwise(found))


@given(RANGES.map(united), NUMBERS, NUMBERS)
def test_sets_move_as_their_numbers_do(ranges: IntegerIntervals, by: int, number: int) -> None:
    assert united((*ranges, *others(ranges))) == ALL
    assert has(others(ranges), number) == (number in INTEGERS and not has(ranges, number))
    assert has(moved(ranges, by), number) == (number in INTEGERS and has(ranges, number - by))
    assert has(mirrored(ranges, by), number) == (number in INTEGERS and has(ranges, by - number))
