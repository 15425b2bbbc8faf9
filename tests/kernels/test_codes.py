"""Codes of a dictionary against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.kernels.codes import all_used, renumbered, taken


@pytest.mark.interpreted
@given(st.lists(st.integers(0, 9), max_size=20))
def test_renumbers_in_the_order_of_first_rows(codes: list[int]) -> None:
    place = np.full(10, -1, np.int32)
    own, used = renumbered(np.array(codes, np.int32), place)
    assert used.tolist() == list(dict.fromkeys(codes))
    assert used[own].tolist() == codes
    assert (place == -1).all()


@pytest.mark.interpreted
@given(st.lists(st.integers(-1, 4), max_size=12), st.integers(0, 5))
def test_knows_whether_all_are_used(codes: list[int], size: int) -> None:
    codes = [code for code in codes if code < size]
    assert all_used(np.array(codes, np.int32), size) == (set(range(size)) <= set(codes))


@pytest.mark.interpreted
@given(st.lists(st.integers(-1, 4), max_size=12))
def test_takes_the_last_where_there_is_no_code(codes: list[int]) -> None:
    by_code = np.array([5, 6, 7, 8, 9, -1], np.int32)
    out = np.zeros(len(codes), np.int32)
    taken(by_code, np.array(codes, np.int32), out)
    assert out.tolist() == by_code[codes].tolist()
