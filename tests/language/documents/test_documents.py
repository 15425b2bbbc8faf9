"""What event patterns are read as, what is too much, and what cannot go wrong."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import random
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.language.documents import EventPattern, EventPatternMatcher, PatternError, fits, fits_text, parse, text_of
from vedette.language.documents import pattern_index as module
from vedette.language.documents.document_match import can_choose
from vedette.language.documents.json_numbers import canonical, comparable
from vedette.language.documents.leaves import leaves, paths_above
from vedette.language.documents.nodes import (
    MISSING,
    EventPatternAlternative,
    EventPatternField,
    LeafConstant,
    LeafEquals,
    LeafRange,
    LeafWildcard,
)
from vedette.language.documents.text_case import expression, ignoring_case, is_plain


def test_a_pattern_as_nodes() -> None:
    pattern = parse(
        '{"b": ["x", 3e2, {"exists": false}], "a": {"c": [{"numeric": [">", 0]}, {"wildcard": "a\\\\**"}]}}'
    )
    numeric, wildcard = LeafRange(0.0, None, low_closed=False), LeafWildcard(("a*", ""))
    fields = (
        EventPatternField("a.c", (numeric, wildcard)),
        EventPatternField("b", (LeafEquals("x"), LeafConstant("300"), MISSING)),
    )
    assert pattern == EventPattern((EventPatternAlternative(fields),))
    assert text_of(pattern) == (
        '{"a.c": [{"numeric": [">", 0]}, {"wildcard": "a\\\\**"}], "b": ["x", 300, {"exists": false}]}'
    )


def test_a_mapping_is_as_good_as_its_text() -> None:
    rule: dict[str, Any] = {"a": (1, 2.5, Decimal("3.0"), None, True, "x"), "b": {"c": [{"numeric": ["<", 5]}]}}
    assert parse(rule) == parse('{"a": [1, 2.5, 3, null, true, "x"], "b": {"c": [{"numeric": ["<", 5]}]}}')


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"a": [dt.date(2024, 5, 1)]}, "which is nothing that JSON knows"),
        ({"a": [float("nan")]}, "which is nothing that JSON knows"),
        ({1: ["x"]}, "the key 1 is no text\nHint: put it into quotes"),
        ({"a": ["\ud800"]}, "half of a surrogate pair"),
        ('{"a": ["\\ud800"]}', "half of a surrogate pair"),
        ('{"\\udc00": ["x"]}', "half of a surrogate pair"),
        ('{"a": ' * 70 + "[1]" + "}" * 70, "more than 64 objects and lists inside one another"),
        ('{"a": ' * 100_000, "more than 64 objects and lists inside one another"),
        ('{"a": ["' + "x" * 1_000_000 + '"]}', "more than 1,000,000 characters"),
        ({str(number): ["x"] for number in range(257)}, "more than 256 fields (AWS: Size of rule exceeds max value"),
        (
            {"a": {"$or": [{"b": {"$or": [{str(n): [n]} for n in range(40)]}}, *({str(n): [n]} for n in range(40))]}}
            | {"$or": [{str(n): [n]} for n in range(20)]},
            "$or: the pattern has more than 1,000 combinations of what stands in its $ors\nHint: use several rules",
        ),
    ],
)
def test_what_is_too_much_or_no_json(rule: Any, said: str) -> None:
    with pytest.raises(PatternError) as refusal:
        parse(rule)
    assert said in str(refusal.value)


def test_a_thousand_combinations_are_not_too_many() -> None:
    ten = [{"a": [number]} for number in range(10)]
    pattern = parse({"x": {"$or": ten}, "y": {"$or": ten}, "z": {"$or": ten}})
    assert len(pattern.alternatives) == 1_000
    assert fits(pattern, {"x": {"a": 3}, "y": {"a": 4}, "z": {"a": 9}})


@given(st.text(max_size=60))
def test_no_text_does_harm(text: str) -> None:
    with contextlib.suppress(PatternError):
        parse(text)
    assert fits_text('{"a": ["x"]}', text) is False


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "$or", "prefix", "numeric", "anything-but", "x"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(_JSON, _JSON)
def test_no_json_does_harm(rule: Any, value: Any) -> None:
    try:
        pattern = parse(json.dumps(rule))
    except PatternError:
        return
    assert EventPatternMatcher([pattern]).fitting(value) == ([0] if fits(pattern, value) else [])


def test_texts_and_lists_as_values() -> None:
    assert fits_text('{"a": ["x"]}', '{"a": "x"}')
    assert fits_text('{"a": ["x"]}', '[{"b": 1}, {"a": "x"}]')
    assert not fits_text('{"a": ["x"], "b": [1]}', '[{"b": 1}, {"a": "x"}]')
    for text in ("", "nope", '"x"', "5", "null", "[]", "[[", '{"a"'):
        assert not fits_text('{"a": ["x"]}', text)
        assert EventPatternMatcher(['{"a": ["x"]}']).fitting_text(text) == []


def test_what_json_has_no_type_for_is_a_text() -> None:
    event = {"at": dt.datetime(2024, 5, 1, tzinfo=dt.UTC), "n": Decimal("5.0"), "l": ("x", ("y",))}
    assert fits({"at": [{"prefix": "2024-05-01"}], "n": [5], "l": ["y"]}, event)


def test_the_most_fields_and_the_deepest_lists() -> None:
    names = [f"n{number}" for number in range(256)]
    element = dict.fromkeys(names, 1)
    assert fits({"a": {name: [1] for name in names}}, {"a": [{}, [element]]})
    assert not fits({"a": {name: [1] for name in names}}, {"a": [{"n255": 1}, element | {"n255": 2}]})
    deep: Any = {"b": 1, "c": 2}
    for _ in range(150):
        deep = [deep]
    assert fits({"a": {"b": [1], "c": [2]}}, {"a": deep})
    for _ in range(10_000):
        deep = [deep]
    assert not fits({"a": {"b": [1], "c": [2]}}, {"a": deep})


def test_leaves_and_the_elements_they_lie_in() -> None:
    found = leaves({"a": [1, [2], {"b": [3, {"c": 4}]}], "b": {"c": None}})
    shape = {path: [(leaf.value, len(leaf.membership)) for leaf in here] for path, here in found.items()}
    assert shape == {"a": [(1, 0), (2, 1)], "a.b": [(3, 1)], "a.b.c": [(4, 2)], "b.c": [(None, 0)]}


def test_only_what_is_asked_for_is_looked_at() -> None:
    wanted = frozenset({"a.b"})
    found = leaves({"a": {"b": 1, "c": {"d": 2}}, "a.b": 3, "x": [{"y": 4}]}, wanted, paths_above(wanted))
    assert sorted(leaf.value for leaf in found.pop("a.b")) == [1, 3]
    assert found == {}


def test_elements_are_chosen_without_trying_all_combinations() -> None:
    """Twelve lists of a hundred elements, all of which pass, and one that has no element: 100 ** 12 choices fail."""
    names = "abcdefghijkl"
    event: dict[str, Any] = {name: [{"x": 1, "y": 2} for _ in range(100)] for name in names}
    event["z"] = [{"x": 1}, {"y": 2}]
    assert not fits({name: {"x": [1], "y": [2]} for name in [*names, "z"]}, event)
    assert not fits({"top": {name: {"x": [1], "y": [2]} for name in [*names, "z"]}}, {"top": [event] * 3})
    event["z"].append({"x": 1, "y": 2})
    assert fits({"top": {name: {"x": [1], "y": [2]} for name in [*names, "z"]}}, {"top": [{}, event]})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("300", "300"), ("300.0", "300"), ("3e2", "300"), ("-0.0", "0"), ("1e23", "1" + "0" * 23), ("0.50", "0.5")),
        *(("12345678901234567890", "12345678901234567890"), ("1e-7", "1e-07"), ("0.1000000000000000055", "0.1")),
        *(("1e500", None), ("1e999999999999999999999", None), ("1e-999999999", "0")),
    ],
)
def test_equal_numbers_are_written_alike(text: str, expected: str | None) -> None:
    assert canonical(text) == expected


def test_numbers_that_are_floats() -> None:
    assert [comparable(text) for text in ("5", "0.1", "1e308", "-0.0")] == [5.0, 0.1, 1e308, 0.0]
    assert [comparable(text) for text in ("12345678901234567890", "1e309", "0.10000000000000000001")] == [None] * 3


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=4), st.sampled_from(["lower", "upper"]))
def test_a_text_is_itself_in_any_case(text: str, case: str) -> None:
    if not is_plain(text):
        return  # AWS takes a letter between the cases, such as ǅ, only in its lower and its upper case
    for kind in ("equals", "prefix", "suffix"):
        assert ignoring_case(kind, text)("".join(getattr(one, case)() for one in text))


def test_both_ways_to_ignore_case_agree() -> None:
    """A plain text as an expression says what comparing in lower case says, for every single character."""
    for text in ("k", "Å", "ω", "é", "s", "I", "θ", "1", "_", "我"):
        compared, found = ignoring_case("equals", text), re.compile(expression(text))
        for character in map(chr, (*range(0xD800), *range(0xE000, 0x30000))):
            assert compared(character) == (found.fullmatch(character) is not None), (text, character)


def test_many_patterns_are_not_all_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten thousand patterns an event brings up those filed under what it has."""
    dice = random.Random(1)
    texts = [
        json.dumps({"source": ["common"], "detail": {"id": [f"i{number}"], "n": [{"numeric": [">", dice.random()]}]}})
        for number in range(10_000)
    ]
    prepared = EventPatternMatcher(
        [*texts, '{"detail": {"id": [{"prefix": "i77"}, {"suffix": "zz"}]}}', '{"x": [{"exists": false}]}']
    )
    tried: list[object] = []

    def counted(pattern: Any, *given: Any) -> Any:
        tried.append(pattern)
        return can_choose(pattern, *given)

    monkeypatch.setattr(module, "can_choose", counted)
    event = {"source": "common", "detail": {"id": ["i7", "i775", "none"], "n": 2}}
    assert prepared.fitting(event) == [7, 775, 10_000, 10_001]
    assert len(tried) == 4
