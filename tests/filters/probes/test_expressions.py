"""Regular expressions in sets, in parts and alone give what RE2 gives for each."""

from __future__ import annotations

import numpy as np
import pytest
import re2

from vedette.errors import FilterError
from vedette.filters.probes import regex_tests
from vedette.filters.probes.regex_tests import Expressions
from vedette.filters.probes.test_pairs import PairsOfTests, no_holds

PATTERNS = [rb"a.{0,9}b", rb"(x|y)+z", rb"^abc", rb"[0-9]{2,}$", rb"(?i)hello", rb"\bword\b", rb"b.*a", rb"zz|yy"]
VALUES = [b"abc12", b"a123b", b"xyxyz", b"HELLO word", b"swords", b"b..a zz", b"", b"\xff\xfe", b"azzzb99"]


def alone(patterns: list[bytes], values: list[bytes]) -> list[tuple[int, int]]:
    return [
        (v, p)
        for v, value in enumerate(values)
        for p, pattern in enumerate(patterns)
        if re2.search(pattern, value) is not None
    ]


def pairs(found: PairsOfTests) -> list[tuple[int, int]]:
    return sorted(zip(found.value.tolist(), found.test.tolist(), strict=True))


@pytest.mark.parametrize("bundle", [1, 3, 64])
def test_sets(monkeypatch: pytest.MonkeyPatch, bundle: int) -> None:
    monkeypatch.setattr(regex_tests, "BUNDLE", bundle)
    made = Expressions(PATTERNS, guided=0)
    for _ in range(2):  # the second time from the cache
        assert pairs(made.holds(VALUES, no_holds())) == alone(PATTERNS, VALUES)


@pytest.mark.parametrize(("bundle", "few"), [(64, 2), (64, 0), (3, 1), (2, 9)])
@pytest.mark.parametrize("guided", [3, 5, 8])
def test_guided(monkeypatch: pytest.MonkeyPatch, bundle: int, few: int, guided: int) -> None:
    monkeypatch.setattr(regex_tests, "BUNDLE", bundle)
    monkeypatch.setattr(regex_tests, "FEW", few)
    candidates = [(v, p) for v in range(len(VALUES)) for p in range(guided)]
    values, tests = (np.array([pair[i] for pair in candidates], np.int32) for i in (0, 1))
    assert pairs(Expressions(PATTERNS, guided).holds(VALUES, PairsOfTests(values, tests))) == alone(PATTERNS, VALUES)


def test_only_candidates_are_tried() -> None:
    made = Expressions([b"a", b"b"], guided=2)
    one = PairsOfTests(np.array([1], np.int32), np.array([1], np.int32))
    assert pairs(made.holds([b"ab", b"ab"], one)) == [(1, 1)]


def test_sets_too_large_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    whole = regex_tests._compiled_set

    def at_most_two(patterns: list[bytes], memory: int) -> object:
        compiled.append(len(patterns))
        return whole(patterns, memory) if len(patterns) <= 2 else None

    monkeypatch.setattr(regex_tests, "_compiled_set", at_most_two)
    assert pairs(Expressions(PATTERNS, 0).holds(VALUES, no_holds())) == alone(PATTERNS, VALUES)
    assert max(compiled) == len(PATTERNS)
    monkeypatch.setattr(regex_tests, "_compiled_set", lambda patterns, memory: None)
    assert pairs(Expressions(PATTERNS, 0).holds(VALUES, no_holds())) == alone(PATTERNS, VALUES)


def test_little_memory_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Automata that would need very many states are right in whatever memory they get."""
    monkeypatch.setattr(regex_tests, "MEMORY", 1 << 16)
    monkeypatch.setattr(regex_tests, "SET_MEMORY", (1 << 17, 1 << 17))
    patterns = [f"{letter}[ab]{{{n}}}c".encode() for n in range(20, 30) for letter in "ab"]
    random = np.random.default_rng(4)
    values = [bytes(random.choice(list(b"ab"), 400)) + b"c" * (n % 2) for n in range(20)]
    assert pairs(Expressions(patterns, 0).holds(values, no_holds())) == alone(patterns, values)


def test_what_is_no_expression_is_said() -> None:
    with pytest.raises(FilterError, match="not a regular expression"):
        Expressions([b"a("], 0).holds([b"a"], no_holds())


def test_nothing_to_ask() -> None:
    assert pairs(Expressions([], 0).holds([b"a"], no_holds())) == []
