"""Random rules and events against an evaluator that looks at the rule itself; and what negation is written like."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.dialects.sigma.asking import answers, rule, said, selection
from tests.dialects.sigma.oracle import holds
from tests.dialects.sigma.random_rules import EVENTS, rules


@given(rules(), st.lists(EVENTS, min_size=1, max_size=5))
def test_rules_say_what_they_say(given_rule: dict[str, Any], events: list[dict[str, Any]]) -> None:
    assert answers(given_rule, events) == [holds(given_rule, event) for event in events]


def test_a_denial_speaks_once_of_an_attribute_that_is_missing() -> None:
    detection = {"s": {"EventID": 1}, "f": {"Image": ["a", "b"], "User|contains": "x"}, "condition": "s and not f"}
    assert said(rule(detection)) == (
        "text(EventID) = '1' and (text(Image) is null or not (text(Image) ilike 'a' or text(Image) ilike 'b')"
        " or text(User) is null or text(User) not icontains 'x')"
    )


def test_a_denial_of_a_denial_is_what_was_said() -> None:
    assert said(selection({"a": "x"}, "not not selection")) == "text(a) ilike 'x'"
    assert said(selection({"a": None}, "not not selection")) == "text(a) is null or text(a) = ''"


def test_what_holds_where_an_attribute_is_missing_is_no_test_of_it() -> None:
    given_rule = rule({"s": {"a": "x", "b": None}, "condition": "not s"})
    events = [{"a": "x"}, {"a": "x", "b": ""}, {"a": "x", "b": "y"}, {"a": "y"}, {}]
    assert answers(given_rule, events) == [False, False, True, True, True]


def test_several_conditions_are_alternatives() -> None:
    given_rule = rule({"s": {"a": "x"}, "t": {"b": "y"}, "condition": ["s", "t and not s"]})
    assert answers(given_rule, [{"a": "x"}, {"b": "y"}, {}]) == [True, True, False]
