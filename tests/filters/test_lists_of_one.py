"""Lists of single events: read without Arrow and remembered, they match as they do in a batch, whatever is in them."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.seeds import EXAMPLES
from vedette.engine.engine import Engine
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import SchemaError

FILTERS = [
    "any(tags) = 'a'",
    "all(tags) = 'a'",
    "not any(tags) = 'b'",
    "any(tags) like 'a%' and n > 0",
    "all(tags) in ('a', 'b', '')",
    "any(tags) contains 'ab' or tags is null",
    "not all(tags) != 'a'",
]
ELEMENTS = ["", "a", "b", "ab", "a\0b", "\0", "é", None]


def compiled(declared: bool) -> Engine:
    subscriptions = Subscriptions({"tags": "list<string>", "n": "int"} if declared else None)
    for number, text in enumerate(FILTERS):
        subscriptions.add(str(number), text)
    return subscriptions.compile()


MATCHERS = {declared: compiled(declared) for declared in (True, False)}


def check(matcher: Engine, event: dict[str, Any]) -> None:
    """One at a time as in a batch, also the second time, when its list is known."""
    wanted = matcher.match_batch([event])["subscription"].to_pylist()
    assert [matcher.match(event), matcher.match(event)] == [wanted, wanted], event


@pytest.mark.parametrize("declared", [True, False])
def test_short_lists_are_told_apart(declared: bool) -> None:
    for length in range(4):
        for tags in product(ELEMENTS, repeat=length):
            check(MATCHERS[declared], {"tags": list(tags), "n": 1})


@settings(max_examples=3 * EXAMPLES)
@given(
    st.lists(st.text("ab\0é", max_size=3) | st.none(), max_size=40)
    | st.none()
    | st.tuples(st.text("ab"), st.text("ab"))
    | st.lists(st.text("ab", min_size=200, max_size=300), max_size=4),
    st.sampled_from([True, False]),
)
def test_any_lists(tags: Any, declared: bool) -> None:
    check(MATCHERS[declared], {"tags": tags, "n": 1})


@pytest.mark.parametrize("tags", ["a", 7, ["a", 7], ["\ud800"], {"a": 1}])
def test_what_is_no_list_of_texts_is_refused_or_missing(tags: Any) -> None:
    with pytest.raises(SchemaError, match="tags"):
        MATCHERS[True].match({"tags": tags})
    check(MATCHERS[False], {"tags": tags})
