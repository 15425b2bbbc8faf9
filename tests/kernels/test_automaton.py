"""The automaton finds what Python's `in`, `startswith`, `endswith` and `==` find."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from vedette.filters.probes.kernels.automaton import (
    ANYWHERE,
    AT_END,
    AT_START,
    BRIEF,
    MODES,
    WHOLE,
    mixed,
    scan,
    scan_one,
)
from vedette.filters.probes.kernels.automaton_build import LONGEST_GRAM, LiteralTable, build

HOLDS: dict[int, Callable[[bytes, bytes], bool]] = {
    ANYWHERE: lambda value, literal: literal in value,
    AT_START: lambda value, literal: value.startswith(literal),
    AT_END: lambda value, literal: value.endswith(literal),
    WHOLE: lambda value, literal: value == literal,
}


def literals_of(wanted: Mapping[bytes, Sequence[tuple[int, int]]]) -> LiteralTable:
    """Literals with their (mode, target) pairs as arrays."""
    ordered = sorted(wanted)
    runs = [[target for mode, target in wanted[text] if mode == wish] for text in ordered for wish in range(MODES)]
    return LiteralTable(
        np.frombuffer(b"".join(ordered), np.uint8),
        np.cumsum([0, *map(len, ordered)], dtype=np.int64),
        np.cumsum([0, *map(len, runs)], dtype=np.int64),
        np.array([target for run in runs for target in run], np.int32),
    )


def found(image: NDArray[np.uint64], values: Sequence[bytes]) -> list[tuple[int, int]]:
    text = np.frombuffer(b"".join(values), np.uint8)
    start = np.cumsum([0, *map(len, values)], dtype=np.int64)
    hits = scan(image, text, start)
    return sorted(zip(hits.value.tolist(), hits.target.tolist(), strict=True))


def expected(wanted: Mapping[bytes, Sequence[tuple[int, int]]], values: Sequence[bytes]) -> list[tuple[int, int]]:
    return sorted(
        (number, target)
        for number, value in enumerate(values)
        for literal, reports in wanted.items()
        for mode, target in reports
        if HOLDS[mode](value, literal)
    )


def few_letters(least: int, most: int) -> st.SearchStrategy[bytes]:
    """Texts in which much repeats, so that failure links and shared suffixes matter."""
    return st.text("ab", min_size=least, max_size=most).map(str.encode) | st.binary(min_size=least, max_size=most)


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[bytes, list[tuple[int, int]]], list[bytes], int]:
    texts = draw(st.lists(few_letters(1, 12), min_size=1, max_size=12, unique=True))
    wanted: dict[bytes, list[tuple[int, int]]] = {}
    targets = 0
    for text in texts:
        for mode in draw(st.lists(st.integers(0, MODES - 1), min_size=1, max_size=4)):
            wanted.setdefault(text, []).append((mode, targets))
            targets += 1
    values = draw(st.lists(few_letters(0, 30) | st.sampled_from(texts), max_size=6))
    if draw(st.booleans()):
        values.append(b"".join(draw(st.lists(st.sampled_from(texts), max_size=6))))
    gram = draw(st.integers(1, min(LONGEST_GRAM, *map(len, texts))))
    return wanted, values, gram


@pytest.mark.interpreted
@given(cases())
def test_finds_what_python_finds(case: tuple[dict[bytes, list[tuple[int, int]]], list[bytes], int]) -> None:
    wanted, values, gram = case
    image = build(literals_of(wanted), gram)
    hits = expected(wanted, values)
    assert found(image, values) == hits
    for number, value in enumerate(values):
        alone = scan_one(image, np.frombuffer(value, np.uint8)).tolist()
        assert alone == [target for of_value, target in hits if of_value == number]


@pytest.mark.interpreted
def test_grows_its_output() -> None:
    wanted = {b"a" * length: [(ANYWHERE, length), (AT_END, 100 + length)] for length in range(1, 31)}
    values = [b"a" * 30] * 8
    machine = build(literals_of(wanted), 1)
    assert found(machine, values) == expected(wanted, values)


@pytest.mark.interpreted
def test_many_starts_grow_its_output() -> None:
    wanted = {b"b" * length: [(AT_START, length), (WHOLE, 100 + length)] for length in range(2, 40)}
    values = [b"b" * 39] * 5
    machine = build(literals_of(wanted), 2)
    assert found(machine, values) == expected(wanted, values)


@pytest.mark.interpreted
def test_finds_a_literal_wherever_it_stands_in_other_text() -> None:
    """Where nothing is under way, positions are tested four at a time, but not beyond the end of a value or text."""
    literal = b"Needles!"
    other = bytes(range(32, 64))
    values = [
        other[:before] + literal[:length] + other[:after]
        for before in range(9)
        for after in range(9)
        for length in (7, 8)
    ]
    for gram in range(1, LONGEST_GRAM + 1):
        wanted = {literal: [(ANYWHERE, 0), (AT_END, 1), (WHOLE, 2)], literal[1:] + b"?": [(ANYWHERE, 3)]}
        image = build(literals_of(wanted), gram)
        assert found(image, values) == expected(wanted, values)
        for value in values[-4:]:
            assert found(image, [value]) == expected(wanted, [value])


def test_many_literals_in_one_machine() -> None:
    random = np.random.default_rng(5)
    texts = sorted({bytes(random.integers(97, 101, random.integers(4, 10), dtype=np.uint8)) for _ in range(3000)})
    wanted = {text: [(number % MODES, number)] for number, text in enumerate(texts)}
    values = [bytes(random.integers(97, 101, 40, dtype=np.uint8)) for _ in range(50)] + texts[:50]
    for gram in (1, 3, 4):
        assert found(build(literals_of(wanted), gram), values) == expected(wanted, values)


def test_reports_a_literal_once_for_a_value() -> None:
    image = build(literals_of({b"ab": [(ANYWHERE, 7), (AT_END, 3)]}), 2)
    assert found(image, [b"abababab", b"xx", b"ab"]) == [(0, 3), (0, 7), (2, 3), (2, 7)]
    for length in (3, BRIEF):
        assert scan_one(image, np.frombuffer(b"ab" * length, np.uint8)).tolist() == [3, 7]


@pytest.mark.interpreted
@given(st.integers(0, 2**64 - 1))
def test_hash_has_32_bits(gram: int) -> None:
    assert 0 <= int(mixed(np.uint64(gram))) < 2**32


def test_hash_spreads_neighbours() -> None:
    grams = np.arange(4096, dtype=np.uint64)
    for shift in (0, 8, 24, 32, 48):
        slots = {int(mixed(gram << np.uint64(shift))) >> 20 for gram in grams}
        assert len(slots) > 1500
