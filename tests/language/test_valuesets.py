"""Value sets against plain sets of points."""

from __future__ import annotations

import functools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.seeds import EXAMPLES
from vedette.language.valuesets import (
    EVERYTHING,
    NOTHING,
    NULL,
    PRESENT,
    Interval,
    ValueSet,
    between,
    complement,
    intersection,
    intersection_all,
    is_subset,
    next_key,
    of_intervals,
    union,
    union_all,
)
from vedette.schema.keys import NumberKey

POINTS = list(range(-2, 12))
BYTES = [b"", b"\0", b"a", b"a\0", b"a\0\0", b"ab", b"b", b"\xff"]

numbers = st.one_of(st.none(), st.integers(0, 9))
texts = st.one_of(st.none(), st.sampled_from(BYTES[1:]))


def sets(bounds: st.SearchStrategy[Any]) -> st.SearchStrategy[ValueSet[Any]]:
    return st.builds(of_intervals, st.lists(st.tuples(bounds, bounds), max_size=5), st.booleans())


number_sets, text_sets = sets(numbers), sets(texts)
pairs = st.one_of(st.tuples(number_sets, number_sets), st.tuples(text_sets, text_sets))


def inside(one: ValueSet[NumberKey], point: int) -> bool:
    """The definition of an interval."""
    return any(
        (each.low is None or each.low <= point) and (each.high is None or point < each.high) for each in one.intervals
    )


def members(one: ValueSet[Any], universe: list[Any]) -> set[Any]:
    return {p for p in [*universe, None] if one.contains(p)}


@given(pairs, st.booleans())
def test_operations_agree_with_sets_of_points(pair: tuple[ValueSet[Any], ValueSet[Any]], numeric: bool) -> None:
    left, right = pair
    ends = [e for one in pair for each in one.intervals for e in (each.low, each.high) if e is not None]
    numeric = isinstance(ends[0], int) if ends else numeric
    universe: list[Any] = POINTS if numeric else BYTES
    a, b = members(left, universe), members(right, universe)
    assert members(union(left, right), universe) == a | b
    assert members(union_all([left, right, left]), universe) == a | b
    assert members(intersection(left, right), universe) == a & b
    assert members(complement(left), universe) == set(universe) - a
    if is_subset(left, right):
        assert a <= b


@given(st.lists(number_sets, min_size=1, max_size=6))
def test_many_are_intersected_as_two_are(several: list[ValueSet[NumberKey]]) -> None:
    assert intersection_all(several) == functools.reduce(intersection, several)
    assert union_all(several) == functools.reduce(union, several)


@given(pairs)
@settings(max_examples=4 * EXAMPLES)
def test_a_subset_is_all_of_what_both_have(pair: tuple[ValueSet[Any], ValueSet[Any]]) -> None:
    left, right = pair
    for one, other in ((left, right), (intersection(left, right), right), (left, union(left, right))):
        assert is_subset(one, other) is (intersection(one, other) == one)


@given(number_sets)
def test_contains_is_the_definition(one: ValueSet[NumberKey]) -> None:
    assert [one.contains(point) for point in POINTS] == [inside(one, point) for point in POINTS]
    assert one.contains(None) == one.null


@given(pairs)
def test_sets_are_canonical(pair: tuple[ValueSet[Any], ValueSet[Any]]) -> None:
    left, right = pair
    for one in (left, right, union(left, right), intersection(left, right), complement(left)):
        for before, after in zip(one.intervals, one.intervals[1:], strict=False):
            assert before.high is not None
            assert after.low is not None
            assert before.high < after.low
        assert all(each.low is None or each.high is None or each.low < each.high for each in one.intervals)
    assert complement(complement(left)).intervals == left.intervals
    assert union(left, right) == union(right, left)
    assert intersection(left, right) == intersection(right, left)
    assert intersection(left, complement(left)) == NOTHING
    assert union(left, complement(left)).is_all_values
    assert is_subset(left, right) == (union(left, right) == right)


def test_the_named_sets() -> None:
    assert NOTHING.is_empty
    assert not NULL.is_empty
    assert EVERYTHING.is_everything
    assert not PRESENT.is_everything
    assert PRESENT.is_all_values
    assert between(3, 3) is NOTHING
    assert between(None, None) == PRESENT
    assert union(PRESENT, NULL) == EVERYTHING
    assert complement(NULL) == PRESENT
    assert complement(EVERYTHING) == NOTHING


def test_the_point_of_an_interval() -> None:
    assert Interval(3, 4).point == 3
    assert Interval(3, 5).point is None
    assert Interval(None, 4).point is None
    after = next_key(b"a")
    assert isinstance(after, bytes)
    assert Interval(b"a", after).point == b"a"
    assert Interval(b"a", b"b").point is None
