"""Why an event matched or did not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.language.random_filters import FILTERS, random_events
from tests.language.random_filters import SCHEMA as RANDOM_SCHEMA
from tests.seeds import EXAMPLES
from vedette.errors import NotSupported, SchemaError
from vedette.filters.explain import FilterExplanation, explain, failing
from vedette.filters.explanation import PartExplanation
from vedette.language.ast import Filter
from vedette.language.check import check
from vedette.language.checked_tree import CheckedExpression, leaves
from vedette.language.evaluate import evaluate
from vedette.language.parser import parse
from vedette.schema.schema import Schema

SCHEMA = Schema.of(
    {
        "issue": "string",
        "price": "float",
        "volume": "int",
        "active": "bool",
        "time": "timestamp",
        "day": "date",
        "address": "ip",
        "place": "point",
        "scores": "list of int",
        "limit": "float",
    }
)


def checked(text: str, schema: Schema | None = SCHEMA) -> CheckedExpression:
    return check(parse(text), schema, text)


def explained(text: str, event: dict[str, Any]) -> FilterExplanation:
    return explain(checked(text), event)


def test_a_tree_with_every_part() -> None:
    found = explained("issue = 'IBM' and (price < 120 or not volume > 5)", {"issue": "IBM", "price": 125, "volume": 9})
    assert str(found) == (
        "The event does not match.\n"
        "✗ issue = 'IBM' and (price < 120 or not volume > 5)\n"
        "├─ ✓ issue = 'IBM'   issue was 'IBM'\n"
        "└─ ✗ price < 120 or not volume > 5\n"
        "   ├─ ✗ price < 120   price was 125.0, needed < 120: missed by 5.0\n"
        "   └─ ✗ not volume > 5\n"
        "      └─ ✓ volume > 5   volume was 9, needed <= 5: missed by 4\n"
        "Nearest miss: price < 120: price was 125.0, needed < 120: missed by 5.0 (1 more would do)"
    )


def test_a_match() -> None:
    found = explained("price < 120 and volume is not null", {"price": 119, "volume": 3})
    assert found.matched
    assert found.nearest == ()
    assert found.failed == ()
    assert str(found).startswith(
        "The event matches.\n✓ price < 120 and volume is not null\n├─ ✓ price < 120   price was 119.0"
    )


@pytest.mark.parametrize(
    ("text", "event", "why"),
    [
        ("price < 120", {}, "price is missing, so this is unknown"),
        ("price < 120", {"price": 125.3}, "price was 125.3, needed < 120: missed by 5.3"),
        ("price = 120", {"price": 119}, "price was 119.0, needed = 120: missed by 1.0"),
        ("price != 120", {"price": 120}, "price was 120.0, needed != 120"),
        ("volume between 5 and 9", {"volume": 12}, "volume was 12, needed between 5 and 9: missed by 3"),
        ("volume in [5 .. 9)", {"volume": 3}, "volume was 3, needed in [5 .. 9): missed by 2"),
        ("volume in (1, 5, 9)", {"volume": 7}, "volume was 7, needed one of 1, 5, 9: missed by 2"),
        ("volume = null", {"volume": 7}, "volume was 7, and a comparison with null is unknown"),
        ("volume is null", {"volume": 7}, "volume was 7, needed to be missing"),
        ("volume is null", {}, "volume is missing"),
        ("active", {"active": False}, "active was false, needed = true"),
        ("issue contains 'x'", {"issue": "IBM"}, "issue was 'IBM', needed contains 'x'"),
        ("issue icontains 'x'", {"issue": "IBM"}, "issue was 'IBM', needed contains 'x' in any case"),
        ("issue in cidr '10.0.0.0/8'", {"issue": "IBM"}, "issue was 'IBM', which is no ip and counts as missing"),
        ("address in cidr '10.0.0.0/8'", {"address": "11.0.0.1"}, "address was 11.0.0.1, needed in 10.0.0.0/8"),
        (
            "time < '2024-05-01'",
            {"time": "2024-05-01T06:00:00Z"},
            "time was 2024-05-01T06:00:00Z, needed < 2024-05-01T00:00:00Z: missed by 6 h",
        ),
        ("day < '2024-05-01'", {"day": "2024-05-03"}, "day was 2024-05-03, needed < 2024-05-01: missed by 2 d"),
        (
            "place within 100 km of point(0, 0)",
            {"place": [1, 0]},
            "place was point(1, 0), needed within 100 km of point(0, 0): missed by 11.2 km",
        ),
        ("any(scores) > 9", {"scores": [1, 7, None]}, "scores was [1, 7, null], needed some element > 9: missed by 2"),
        ("all(scores) > 9", {"scores": [1, 10]}, "scores was [1, 10], needed every element > 9: missed by 8"),
        (
            "price < limit",
            {"price": 5, "limit": 3},
            "limit was 3.0 and price was 5.0, needed limit > price: missed by 2.0",
        ),
        ("price < limit", {"price": 5}, "limit is missing, so this is unknown"),
        ("people(?n)", {}, "the operator people is not evaluated here"),
        ("1 = 2", {}, "whatever the event"),
        ("price < 1e300", {"price": float("inf")}, "price was float 'inf', needed < 1e+300"),
    ],
)
def test_reasons(text: str, event: dict[str, Any], why: str) -> None:
    assert explained(text, event).root.why == why


def test_below_a_not_the_opposite_is_needed() -> None:
    (found,) = explained("not volume in (1, 2)", {"volume": 2}).failed
    assert found.why == "volume was 2, needed not one of 1, 2"
    (found,) = explained("not any(scores) > 9", {"scores": [10, 20]}).failed
    assert found.why == "scores was [10, 20], needed every element <= 9: missed by 11"


def test_the_nearest_misses_come_first() -> None:
    text = "price < 100 or volume > 1000 or issue = 'x' or limit > 1"
    found = explained(text, {"price": 200, "volume": 990, "issue": "y"})
    assert [each.text for each in found.nearest] == ["volume > 1000", "price < 100", "issue = 'x'", "limit > 1"]


def test_two_failures_are_no_near_miss() -> None:
    found = explained("price < 100 and volume > 1000", {"price": 200, "volume": 990})
    assert found.nearest == ()
    assert [each.text for each in found.failed] == ["price < 100", "volume > 1000"]
    assert str(found).endswith("No single test would have been enough: 2 failed.")


def test_html_is_escaped() -> None:
    page = explained("issue = '<b>'", {"issue": "<i>"})._repr_html_()
    assert "&lt;b&gt;" in page
    assert "&lt;i&gt;" in page
    assert "<b>does not match</b>" in page


def test_most_frequent_failures_of_a_batch() -> None:
    filter_ = checked("issue = 'a' and (price < 5 or volume > 5) and not active")
    events: list[dict[str, Any]] = [
        {"issue": "a", "price": 9, "volume": 1, "active": False},
        {"issue": "b", "price": 9, "volume": 1, "active": False},
        {"issue": "a", "price": 9, "volume": 9, "active": True},
        {"issue": "a", "price": 1, "volume": 9, "active": False},
        {"issue": "a", "price": "broken", "volume": 9, "active": False},
        {"price": 1, "volume": 9, "active": False},
    ]
    found = [(filter_.text_of(part), count) for part, count in failing(filter_, events)]
    assert found == [("issue = 'a'", 2), ("price < 5", 2), ("volume > 5", 2), ("active", 1)]


def test_patterns_and_broken_events_are_refused() -> None:
    with pytest.raises(NotSupported, match="several events"):
        explained("[price < 5] ; [price > 5]", {})
    with pytest.raises(NotSupported, match="several events"):
        failing(checked("[price < 5] ; [price > 5]"), [])
    with pytest.raises(SchemaError, match="attribute 'price': "):
        explained("price < 5", {"price": "x"})


def test_filters_without_a_text_are_rendered() -> None:
    assert explain(check(parse("price < 120"), SCHEMA), {"price": 125}).root.text == "price < 120"


EVENTS = random_events(60)


def _flipped(one: PartExplanation, flipped: PartExplanation) -> bool | None:
    """The truth of the whole if one leaf had come out as wanted."""
    if one is flipped:
        return one.wanted
    if not one.parts:
        return one.truth
    truths = [_flipped(each, flipped) for each in one.parts]
    kind = type(one.part).__name__
    if kind == "NotPart":
        return None if truths[0] is None else not truths[0]
    decided = kind == "OrPart"
    return decided if decided in truths else None if None in truths else not decided


def _leaves(one: PartExplanation) -> list[PartExplanation]:
    return [leaf for each in one.parts for leaf in _leaves(each)] if one.parts else [one]


@settings(max_examples=2 * EXAMPLES, deadline=None)
@given(FILTERS, st.sampled_from(EVENTS))
def test_explanations_agree_with_evaluate(filter_: Filter, event: dict[str, Any]) -> None:
    one = check(filter_, RANDOM_SCHEMA)
    found = explain(one, event)
    assert found.root.truth is evaluate(one, event)
    assert one.root is not None
    assert len(_leaves(found.root)) == len(list(leaves(one.root)))
    decisive = [id(leaf) for leaf in _leaves(found.root) if _flipped(found.root, leaf) is True]
    expected = [] if found.matched else decisive
    assert sorted(map(id, found.nearest)) == sorted(expected)
    assert (found.failed == ()) == found.matched
    assert "The event" in str(found)
    assert "<ul>" in found._repr_html_()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "any(scores) not  in (1, 2)",
            "✗ any(scores) not in (1, 2)   scores was [1, 2], needed some element not one of 1",
        ),
        ("all(scores) NOT IN (1, 2)", "✗ all(scores) NOT IN (1, 2)   scores was [1, 2], needed every element not one"),
        ("volume not between 1 and 9", "✗ volume not between 1 and 9   volume was 5, needed not between 1 and 9"),
        ("issue not like 'I%'", "✗ issue not like 'I%'   issue was 'IBM', needed not like 'I%'"),
    ],
)
def test_a_test_with_not_inside_is_one_line_as_written(text: str, line: str) -> None:
    event = {"scores": [1, 2], "volume": 5, "issue": "IBM"}
    found = explained(f"{text} and volume > 1", event)
    assert str(found).splitlines()[2].startswith(f"├─ {line}")
    assert [each.truth for each in found.failed] == [False]
    assert found.nearest == found.failed
    assert [(checked(text).text_of(part), count) for part, count in failing(checked(text), [event])] == [(text, 1)]
    assert explained(f"not ({text})", event).matched


def test_far_misses_are_written_out() -> None:
    found = explained("place within 2500.5 km of point(0, 0)", {"place": [75, 0]})
    assert found.root.why.endswith("needed within 2,500.5 km of point(0, 0): missed by 5,840 km")
    found = explained("day < '2014-05-01'", {"day": "2024-05-01"})
    assert found.root.why.endswith("missed by 3,650 d")
