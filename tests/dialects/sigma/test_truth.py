"""Random rules and events against an evaluator that looks at the rule itself; and what negation is written like."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.dialects.sigma.asking import answers, rule, said, selection
from tests.dialects.sigma.oracle import holds
from tests.dialects.sigma.random_rules import EVENTS, EVENTS_WITH_LISTS, rules


@given(rules(), st.lists(EVENTS, min_size=1, max_size=5))
def test_rules_say_what_they_say(given_rule: dict[str, Any], events: list[dict[str, Any]]) -> None:
    assert answers(given_rule, events) == [holds(given_rule, event) for event in events]


def test_a_denial_speaks_once_of_an_attribute_that_is_missing() -> None:
    detection = {"s": {"EventID": 1}, "f": {"Image": ["a", "b"], "User|contains": "x"}, "condition": "s and not f"}
    assert said(rule(detection)) == (
        "any(items(EventID)) = '1' and (items(Image) is null or "
        "not (any(items(Image)) ilike 'a' or any(items(Image)) ilike 'b')"
        " or items(User) is null or not (any(items(User)) icontains 'x'))"
    )


def test_a_denial_of_a_denial_is_what_was_said() -> None:
    assert said(selection({"a": "x"}, "not not selection")) == "any(items(a)) ilike 'x'"
    assert said(selection({"a": None}, "not not selection")) == "items(a) is null or any(items(a)) = ''"


def test_what_holds_where_an_attribute_is_missing_is_no_test_of_it() -> None:
    given_rule = rule({"s": {"a": "x", "b": None}, "condition": "not s"})
    events = [{"a": "x"}, {"a": "x", "b": ""}, {"a": "x", "b": "y"}, {"a": "y"}, {}]
    assert answers(given_rule, events) == [False, False, True, True, True]


def test_several_conditions_are_alternatives() -> None:
    given_rule = rule({"s": {"a": "x"}, "t": {"b": "y"}, "condition": ["s", "t and not s"]})
    assert answers(given_rule, [{"a": "x"}, {"b": "y"}, {}]) == [True, True, False]


@given(rules(references=False), st.lists(EVENTS_WITH_LISTS, min_size=1, max_size=5))
def test_of_a_list_any_element_counts(given_rule: dict[str, Any], events: list[dict[str, Any]]) -> None:
    assert answers(given_rule, events) == [holds(given_rule, event) for event in events]
