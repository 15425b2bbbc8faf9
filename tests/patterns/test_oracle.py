"""The oracle of patterns itself, on cases worked out by hand from LANGUAGE.md."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.patterns.generate import SCHEMA, patterns, stream
from tests.patterns.oracle import expected, in_order, is_witness, names
from vedette.language.check import check
from vedette.language.parser import parse
from vedette.schema.schema import Schema

_SCHEMA = Schema.of({"time": "timestamp", "k": "string", "x": "int", "y": "int"})


def told(text: str, kinds: str, times: list[int | None] | None = None) -> set[int]:
    """The completing events of a stream of kinds, one second apart unless told otherwise."""
    moments = range(len(kinds)) if times is None else times
    events = [{"k": kind, "time": time} for kind, time in zip(kinds, moments, strict=True)]
    return {completing for completing, _ in expected(text, events, _SCHEMA)}


def step(kind: str, label: str = "") -> str:
    """A step for one kind."""
    return f"{label}{':' if label else ''}[k = '{kind}']"


A, B, C, D = (step(kind) for kind in "abcd")


@pytest.mark.parametrize(
    ("text", "kinds", "completing"),
    [
        (f"{A} , {B}", "abcab", {1, 4}),
        (f"{A} , {B}", "acb", set()),
        (f"{A} ; {B}", "acbb", {2, 3}),
        (f"{A} , {B} ; {C}", "abaccb", {3, 4}),
        (f"{A} and {B}", "ccba", {3}),
        (f"{A} and {A}", "aca", {2}),
        (f"{A} and {A}", "a", set()),
        (f"({A} , {B}) and {C}", "acb", set()),
        (f"({A} ; {B}) and {C}", "acb", {2}),
        (f"{D} , ({A} and {B})", "dbca", {3}),
        (f"{D} , ({A} and {B})", "dcab", set()),
        (f"({A} and {B}) , {C}", "bdac", {3}),
        (f"({A} and {B}) , {C}", "bcac", {3}),
        (f"{A} or {B} , {C}", "abc", {0, 2}),
        (f"{A}{{2}}", "aaaba", {1, 2}),
        (f"{A}{{2,3}} , {B}", "aaaabab", {4}),
        (f"({A} , {B}){{2}}", "ababcab", {3}),
        (f"{A} ; not {B} ; {C}", "abcac", {4}),
        (f"{A} ; not {B} ; not {D} ; {C}", "adcacb", {4}),
        (f"({A} ; not {B} ; {C}) and {B}", "abc", set()),
        (f"({A} ; not {B} ; {C}) and {B}", "acb", {2}),
        (f"{A} ; not {B} ; ({C} and {D})", "acbd", {3}),
    ],
)
def test_shapes(text: str, kinds: str, completing: set[int]) -> None:
    assert told(text, kinds) == completing


@pytest.mark.parametrize(
    ("text", "kinds", "times", "completing"),
    [
        (f"{step('a', 'p')} ; {step('b', 'q')} @ (t(q) - t(p) < 3 s)", "aabb", [0, 2, 3, 5], {2}),
        (f"{step('a', 'p')} ; {step('b', 'q')} @ (t(p) < t(q))", "abb", [1, 1, 2], {2}),
        (f"{step('a', 'p')} ; {B} @ (t(p) >= timestamp '1970-01-01T00:00:01Z')", "abab", [0, 0, 1, 1], {3}),
        # Between the parts of an `and` the distance counts, not the direction; but a comparison of two times has one.
        (f"{step('a', 'p')} and {step('b', 'q')} @ (t(q) - t(p) <= 2 s)", "bab", [0, 3, 5], {2}),
        (f"{step('a', 'p')} and {step('b', 'q')} @ (t(q) - t(p) <= -1 s)", "bab", [0, 3, 5], {1}),
        (f"{step('a', 'p')} and {step('b', 'q')} @ (t(q) < t(p))", "bab", [0, 3, 5], {1}),
        # Outside a repetition the last one counts, inside it its own.
        (f"{step('a', 'p')}{{2}} ; {step('b', 'q')} @ (t(q) - t(p) <= 1 s)", "aabb", [0, 2, 3, 4], {2}),
        (f"({step('a', 'p')} ; {step('b', 'q')} @ (t(q) - t(p) <= 1 s)){{2}}", "abab", [0, 1, 5, 6], {3}),
        (f"({step('a', 'p')} ; {step('b', 'q')} @ (t(q) - t(p) <= 1 s)){{2}}", "abab", [0, 2, 5, 6], set()),
        # The other branch takes no part, so its time does not restrict.
        (f"({step('a', 'p')} or {B}) ; {step('c', 'q')} @ (t(q) - t(p) < 1 s)", "abc", [0, 5, 6], {2}),
        (f"({A} or {B} @ (t(q) < timestamp '1970-01-01T00:00:02Z')) ; {step('c', 'q')}", "bcac", [0, 2, 2, 3], {3}),
        (f"{A} ; {B} within 2 s", "abb", [0, 2, 3], {1}),
        (f"{A} , {B}", "ba", [1, 0], {0}),
        (f"{A} , {B} within 1 s", "ab", [None, None], {1}),
        (f"{A} ; {B} within 1 s", "cab", [7, None, 8], {2}),
    ],
)
def test_times(text: str, kinds: str, times: list[int | None], completing: set[int]) -> None:
    assert told(text, kinds, times) == completing


def values(*pairs: tuple[int | None, int | None]) -> list[dict[str, Any]]:
    """Events that have only x and y."""
    return [{"x": x, "y": y} for x, y in pairs]


def test_a_variable_has_one_value_that_is_not_null() -> None:
    answers = expected("[x = $v] ; [y = $v]", values((1, None), (2, 1), (None, None), (None, 2)), _SCHEMA)
    assert answers == {
        (1, frozenset({("v", 1)})): {frozenset({(0, 0), (1, 1)})},
        (3, frozenset({("v", 2)})): {frozenset({(0, 1), (1, 3)})},
    }


def test_each_binding_is_an_answer_of_its_own() -> None:
    answers = expected("[x = $v] ; [y > $v]", values((1, None), (2, None), (1, None), (None, 3)), _SCHEMA)
    assert {answer: len(witnesses) for answer, witnesses in answers.items()} == {
        (3, frozenset({("v", 1)})): 2,
        (3, frozenset({("v", 2)})): 1,
    }


def test_a_variable_that_every_step_binds_by_one_attribute_partitions() -> None:
    events = values((1, 0), (2, 0), (None, 0), (1, 0))
    assert [last for last, _ in expected("[x = $v] , [x = $v]", events, _SCHEMA)] == [3]
    assert [last for last, _ in expected("[y = 0] , [y = 0] by x", events, _SCHEMA)] == [3]
    assert not expected("[x = $v] , [x = $v and true] , [y = $v]", events, _SCHEMA)


def test_late_events_are_left_out() -> None:
    events = [{"time": time} for time in (5, 9, 6, 4, None, 9)]
    seen, late = in_order(events, _SCHEMA, 3_000_000)
    assert ([one.number for one in seen], late) == ([0, 2, 1, 4, 5], [3])


def test_positions_and_their_names() -> None:
    assert names("[x = 1]{1,3} ; not [x = 5] ; b:[x = 2]{2} , c:[x = 3]") == ["1", "2", "3", "b[1]", "b[2]", "c"]
    events = [{"k": kind} for kind in "aabb"]
    text = f"{A}{{1,2}} ; {B}"
    assert is_witness(text, events, 3, {0: 0, 1: 1, 2: 3}, _SCHEMA)
    assert is_witness(text, events, 3, {0: 1, 2: 3}, _SCHEMA)
    assert not is_witness(text, events, 3, {1: 1, 2: 3}, _SCHEMA)
    assert not is_witness(text, events, 2, {0: 1, 2: 3}, _SCHEMA)


def test_random_patterns_make_sense_and_half_of_them_match() -> None:
    random = Random(1)
    events = stream(random, 12)
    written = patterns(random, 300)
    for text in written:
        check(parse(text), SCHEMA, text)
    matched = sum(bool(expected(text, events, SCHEMA)) for text in written)
    assert 0.35 < matched / len(written) < 0.85
