"""Tests of strings against Python's `in`, translated LIKE, and RE2 alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.filters.probes.oracle import text_holds
from vedette.filters.probes.text_plans import TextAction, lowered, plan
from vedette.filters.probes.text_tests import TextTests
from vedette.language.ast import TextKind
from vedette.language.likes import LikeWildcard, pattern_of
from vedette.language.normalform import TextProbe

LETTERS = "abAB éÉΣσς€İ%_\\"
pieces = st.text(LETTERS, max_size=8)
likes = st.lists(pieces | st.sampled_from(list(LikeWildcard)), max_size=5).map(pattern_of)
plain_tests = st.builds(TextProbe, st.sampled_from(["contains", "startswith", "endswith"]), pieces, st.booleans())
like_tests = st.builds(TextProbe, st.just("like"), likes, st.booleans())
EXPRESSIONS = [
    "",
    "a",
    "ab+",
    "^a.*b$",
    "[AB]{2}",
    "(?i)ab",
    "aba|bab",
    "É",
    "(?i)éa",
    "abab.",
    "a b",
    r"\bab\b",
    "bab[ab]a",
]
expression_tests = st.builds(TextProbe, st.just("matches"), st.sampled_from(EXPRESSIONS), st.booleans())
some_tests = st.lists(plain_tests | like_tests | expression_tests, min_size=1, max_size=12, unique=True)
some_values = st.lists(
    st.text(LETTERS, max_size=20).map(str.encode) | st.binary(max_size=6), min_size=1, max_size=8, unique=True
)


def pairs(tests: TextTests, values: list[bytes]) -> list[tuple[int, int]]:
    found = tests.holds(values)
    return sorted(zip(found.value.tolist(), found.test.tolist(), strict=True))


def expected(tests: list[TextProbe], values: list[bytes]) -> list[tuple[int, int]]:
    return [(v, t) for v in range(len(values)) for t in range(len(tests)) if text_holds(tests[t], values[v])]


@pytest.mark.interpreted
@given(some_tests, some_values)
@example([TextProbe("contains", "σ", True)], ["ΑΣ".encode(), "ΑΣΑ".encode()])
@example([TextProbe("like", "_%_"), TextProbe("like", ""), TextProbe("like", "%")], [b"", b"a", b"\xff\xfe"])
@example([TextProbe("endswith", "i̇", True)], ["İ".encode()])
def test_agrees_with_python(tests: list[TextProbe], values: list[bytes]) -> None:
    built = TextTests.build(tests)
    assert pairs(built, values) == expected(tests, values)
    for value in values:
        assert pairs(built, [value]) == expected(tests, [value])
        assert [(0, test) for test in built.hold_for(value).tolist()] == expected(tests, [value])


@given(some_tests, some_values)
def test_survives_its_arrays(tests: list[TextProbe], values: list[bytes]) -> None:
    arrays = TextTests.build(tests).arrays()
    assert all(isinstance(array, np.ndarray) and array.dtype != object for array in arrays.values())
    copied = {name: np.array(array) for name, array in arrays.items()}
    assert pairs(TextTests(copied), values) == expected(tests, values)


@pytest.mark.parametrize("length", [3, 100, 1000])
def test_a_value_reports_once(length: int) -> None:
    tests = [TextProbe("contains", "a"), TextProbe("contains", "aaa"), TextProbe("like", "%a_a%")]
    assert pairs(TextTests.build(tests), [b"a" * length]) == [(0, 0), (0, 1), (0, 2)]


def test_no_values() -> None:
    assert pairs(TextTests.build([TextProbe("contains", "a"), TextProbe("matches", "b")]), []) == []


def test_thousands_of_tests() -> None:
    random = np.random.default_rng(3)

    def word(least: int, most: int) -> str:
        return "".join(random.choice(list("abcde "), random.integers(least, most)))

    kinds: list[TextKind] = ["contains", "startswith", "endswith", "like"]
    tests = [
        TextProbe(kinds[i % 4], word(2, 7) + ("%" + word(1, 4) if i % 4 == 3 else ""), i % 3 == 0) for i in range(2000)
    ]
    tests += [TextProbe("matches", f"{word(3, 6)}.*{word(1, 3)}[a-c]") for _ in range(200)]
    tests = list(dict.fromkeys(tests))
    values = list(dict.fromkeys(word(20, 60).upper().encode() if i % 2 else word(20, 60).encode() for i in range(60)))
    assert pairs(TextTests.build(tests), values) == expected(tests, values)


@pytest.mark.parametrize(
    ("test", "action", "literal"),
    [
        (TextProbe("contains", "ab"), TextAction.NOTHING, b"ab"),
        (TextProbe("like", r"%a\%b%"), TextAction.NOTHING, b"a%b"),
        (TextProbe("like", "a%longest%b"), TextAction.LIKE, b"longest"),
        (TextProbe("like", "_%"), TextAction.LIKE, b""),
        (TextProbe("like", "Ab_", True), TextAction.LIKE, b"ab"),
        (TextProbe("matches", "plain"), TextAction.NOTHING, b"plain"),
        (TextProbe("matches", "x+plain"), TextAction.EXPRESSION, b"plain"),
        (TextProbe("matches", "[a-z]a"), TextAction.EXPRESSION, b""),
    ],
)
def test_plans(test: TextProbe, action: TextAction, literal: bytes) -> None:
    made = plan(test)
    assert (made.action, made.literal) == (action, literal)


@given(st.text().map(str.encode) | st.binary())
def test_lowered_is_lower(value: bytes) -> None:
    decoded = value.decode("utf-8", "surrogateescape")
    assert lowered(value) == decoded.lower().encode("utf-8", "surrogateescape")


def test_long_values_are_looked_at_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    tests = [
        TextProbe("contains", "needle", True),
        TextProbe("endswith", "É", True),
        TextProbe("like", "%a%needle", False),
        TextProbe("matches", "ne+dle$", False),
        TextProbe("startswith", ""),
    ]
    values = [b"x" * length + end for length in (0, 70, 300) for end in (b"", b"NEEDLE", b"a needle", "é".encode())]
    built = TextTests.build(tests)
    for size in (1, 100, 500, 10_000):
        monkeypatch.setattr("vedette.filters.probes.text_tests.PIECE", size)
        assert pairs(built, values) == expected(tests, values)
