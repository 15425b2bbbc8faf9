"""Ranges of Integers as regular expressions: held against the cast itself."""

from __future__ import annotations

import re2
from hypothesis import given
from hypothesis import strategies as st

from vedette.dialects.cesql.integers import ALL, expression, has, mirrored, moved, other_forms, others, united
from vedette.dialects.cesql.parser import INTEGERS
from vedette.dialects.cesql.values import Kind, cast

EDGES = (0, 1, 9, 10, 11, 99, 100, 999, 1000, 123456789, 1999999999, 2147483646, 2147483647, 2147483648)
NUMBERS = st.one_of(
    st.sampled_from([*EDGES, *(-edge for edge in EDGES)]), st.integers(-150, 150), st.integers(-(2**32), 2**32)
)
RANGES = st.lists(st.tuples(NUMBERS, NUMBERS).map(lambda pair: (min(pair), max(pair))), max_size=3).map(united)
TEXTS = st.builds(
    lambda sign, zeros, number, behind: f"{sign}{'0' * zeros}{abs(number)}{behind}",
    st.sampled_from(["", "+", "-", "--"]),
    st.integers(0, 3),
    NUMBERS,
    st.sampled_from(["", "", "", " ", ".0", "٥"]),
)


@given(RANGES, st.lists(TEXTS, min_size=1, max_size=20), st.integers(-2, 2))
def test_an_expression_matches_what_casts_into_its_ranges(
    ranges: tuple[tuple[int, int], ...], texts: list[str], by: int
) -> None:
    near = [str(edge + by) for interval in ranges for edge in interval]
    inside = re2.compile(expression(ranges)) if ranges else None
    shorter = re2.compile(expression(ranges, is_integer=True)) if ranges else None
    outside = re2.compile(expression(others(ranges))) if others(ranges) else None
    for text in [*texts, *near]:
        made = cast(text, Kind.INTEGER)
        known = made.wrong is None
        assert (inside is not None and inside.search(text) is not None) == (known and has(ranges, int(made.value)))
        if known:
            assert (shorter is not None and shorter.search(text) is not None) == has(ranges, int(made.value))
        assert (outside is not None and outside.search(text) is not None) == (
            known and not has(ranges, int(made.value))
        )


@given(NUMBERS.filter(INTEGERS.__contains__), TEXTS)
def test_other_forms_are_all_but_the_one_that_is_written(number: int, text: str) -> None:
    for one in (text, str(number), f"+{number}", f"0{number}", f"-0{-number}", f"-{number}"):
        made = cast(one, Kind.INTEGER)
        wanted = made.wrong is None and made.value == number and one != str(number)
        assert (re2.compile(other_forms(number)).search(one) is not None) == wanted


@given(RANGES, NUMBERS, NUMBERS)
def test_sets_move_as_their_numbers_do(ranges: tuple[tuple[int, int], ...], by: int, number: int) -> None:
    assert united((*ranges, *others(ranges))) == ALL
    assert has(moved(ranges, by), number) == (number in INTEGERS and has(ranges, number - by))
    assert has(mirrored(ranges, by), number) == (number in INTEGERS and has(ranges, by - number))
