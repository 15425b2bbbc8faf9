"""Bytes read several at a time, and lower case, against Python."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.filters.probes.kernels.utf8_text import beyond_ascii, eight_bytes, four_bytes, lowered_ascii

some_bytes = st.binary(max_size=40) | st.text("aAzZ@[`{09é", max_size=40).map(str.encode)


@pytest.mark.interpreted
@given(some_bytes)
def test_lower_case_is_that_of_python(value: bytes) -> None:
    lower, ascii_only = lowered_ascii(np.frombuffer(value, np.uint8))
    assert lower.tobytes() == value.lower()
    assert ascii_only == value.isascii()


@pytest.mark.interpreted
@given(st.lists(some_bytes, max_size=6))
def test_names_the_values_that_are_not_all_ascii(values: list[bytes]) -> None:
    start = np.array([0, *itertools.accumulate(map(len, values))], np.int64)
    found = beyond_ascii(np.frombuffer(b"".join(values), np.uint8), start)
    assert found.tolist() == [number for number, value in enumerate(values) if not value.isascii()]


@pytest.mark.interpreted
def test_every_byte_has_its_lower_case() -> None:
    every = bytes(range(256))
    assert lowered_ascii(np.frombuffer(every, np.uint8))[0].tobytes() == every.lower()


@pytest.mark.interpreted
def test_words_are_read_from_any_place() -> None:
    text = np.arange(1, 20, dtype=np.uint8)
    for place in range(8):
        assert int(eight_bytes(text, place)) == int.from_bytes(bytes(text[place : place + 8]), "little")
        assert int(four_bytes(text, place)) == int.from_bytes(bytes(text[place : place + 4]), "little")
