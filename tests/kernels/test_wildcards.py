"""LIKE programs agree with regular expressions over characters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.filters.probes.oracle import like_holds
from vedette.filters.probes.kernels.wildcards import ANY_TEXT, ONE_CHARACTER, WildcardPrograms, character_length, like
from vedette.language.likes import LikeWildcard, pattern_of, pieces

OPERATIONS = {LikeWildcard.ANY: ANY_TEXT, LikeWildcard.ONE: ONE_CHARACTER}


def programs_of(patterns: list[str]) -> WildcardPrograms:
    made: list[list[int]] = []
    for pattern in patterns:
        made.append([])
        for piece in pieces(pattern):
            made[-1] += [OPERATIONS[piece]] if isinstance(piece, LikeWildcard) else piece.encode()
    start = np.cumsum([0, *map(len, made)], dtype=np.int64)
    return WildcardPrograms(start, np.array([operation for program in made for operation in program], np.int16))


few = st.text("aé€😀b", max_size=10)
patterns = st.lists(few | st.sampled_from(list(LikeWildcard)), max_size=6).map(pattern_of)
values = few.map(str.encode) | st.binary(max_size=8) | st.text("a€", max_size=40).map(str.encode)


@pytest.mark.interpreted
@given(st.lists(patterns, min_size=1, max_size=4), st.lists(values, min_size=1, max_size=4))
@example(["%€_", "_%a", "%_"], [b"\xe2\x82\xe2\x82\xac", b"\xff\xff", b"\xc3a", b"\xed\xa0\x80"])
@example(["%aab%a"], [b"aaabaab", b"aaaaab", b"aabaaba"])
def test_like_agrees_with_regular_expressions(patterns: list[str], values: list[bytes]) -> None:
    text = np.frombuffer(b"".join(values), np.uint8)
    start = np.cumsum([0, *map(len, values)], dtype=np.int64)
    value = np.repeat(np.arange(len(values), dtype=np.int32), len(patterns))
    program = np.tile(np.arange(len(patterns), dtype=np.int32), len(values))
    found = like(programs_of(patterns), text, start, value, program)
    expected = [
        like_holds(patterns[p], values[v].decode("utf-8", "surrogateescape"))
        for v, p in zip(value.tolist(), program.tolist(), strict=True)
    ]
    assert found.tolist() == expected


@pytest.mark.interpreted
@given(st.binary(max_size=12) | st.text(max_size=5).map(str.encode))
def test_characters_are_those_that_python_decodes(value: bytes) -> None:
    text = np.frombuffer(value, np.uint8)
    lengths, place = [], 0
    while place < len(value):
        lengths.append(int(character_length(text, place, len(value))))
        place += lengths[-1]
    decoded = value.decode("utf-8", "surrogateescape")
    assert lengths == [len(character.encode("utf-8", "surrogateescape")) for character in decoded]
