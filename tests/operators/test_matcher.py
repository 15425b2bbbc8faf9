"""The matcher of filters with operators around its planners: what it is handed, tells, shares and refuses."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from vedette.engine.stream_matcher import StreamMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import InputError
from vedette.operators.calling import Calling
from vedette.operators.explain import explain_operators
from vedette.operators.matcher import OperatorMatcher
from vedette.operators.operator import operator
from vedette.operators.registry import Operators
from vedette.schema.encode import Reject


@operator(outputs=1, time_limit=None)
def found(event: Mapping[str, Any]) -> list[Any]:
    return [event["x"]]


@operator(reads=("n",), time_limit=None)
def even(event: Mapping[str, Any]) -> bool:
    if event["n"] is None:
        raise ValueError("nothing")
    return bool(event["n"] % 2 == 0)


OPERATORS = Operators(found, even)


def subscriptions(*texts: str) -> Subscriptions:
    subs = Subscriptions({"n": "int", "m": "int"})
    for number, text in enumerate(texts):
        subs.add(f"s{number}", text)
    return subs


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("x", "x"),
        ('say "hi"', 'say "hi"'),
        (3, "3"),
        (3.0, "3.0"),
        (True, "true"),
        (2**70, str(2**70)),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (decimal.Decimal("1.50"), "1.50"),
        (dt.datetime(2024, 5, 1, tzinfo=dt.UTC), "2024-05-01T00:00:00+00:00"),
        ([1, "a"], '[1,"a"]'),
        ({1: 2}, "{1: 2}"),
        ("half \ud83d", "half ?"),
    ],
)
def test_whatever_is_found_can_be_told_and_everywhere_alike(value: Any, told: str) -> None:
    event = {"x": value}
    one = OperatorMatcher(subscriptions("found(?v)"), OPERATORS).match_batch([event])
    assert one["bindings"].to_pylist() == [[("v", told)]]
    streamed = StreamMatcher(subscriptions("found(?v)"), operators=OPERATORS).process([event])
    assert streamed["bindings"].to_pylist() == [[("v", told)]]


def test_many_exceptions_beside_an_operator() -> None:
    excepted = " and ".join(f"not (n = {number} and m = {number})" for number in range(40))
    matcher = OperatorMatcher(subscriptions(f"(even() or m = 50) and n >= 0 and {excepted}", "n = 4"), OPERATORS)
    events: list[dict[str, Any]] = [{"n": 4, "m": 5}, {"n": 4, "m": 4}, {"n": 3, "m": 50}, {"n": 4}, {"n": 40, "m": 40}]
    found = matcher.match_batch(events)
    wanted = [(0, "s0"), (0, "s1"), (1, "s1"), (2, "s0"), (3, "s1"), (4, "s0")]
    assert list(zip(found["event"].to_pylist(), found["subscription"].to_pylist(), strict=True)) == wanted


def test_views_beside_an_operator() -> None:
    texts = ("even() and text(m) = '12'", "even() or any(strings(*)) = 'z'", "any(leaves(m)) = '1'")
    matcher = OperatorMatcher(subscriptions(*texts), OPERATORS)
    found = matcher.match_batch([{"n": 2, "m": 12}, {"n": 1, "m": 12}, {"n": 1, "q": {"r": ["z"]}, "m": 1}])
    wanted = [(0, "s0"), (0, "s1"), (2, "s1"), (2, "s2")]
    assert list(zip(found["event"].to_pylist(), found["subscription"].to_pylist(), strict=True)) == wanted
    assert explain_operators(matcher, {"n": 2, "m": 12}, "s0").matched


def test_what_is_looked_at() -> None:
    one = OperatorMatcher(subscriptions("even() and n > 1", "m = 1"), OPERATORS)
    assert one.paths == one.named == {"n"}
    whole = OperatorMatcher(subscriptions("found(?v) and ?v > m", "even()"), OPERATORS)
    assert whole.paths is None
    assert whole.named == {"m", "n"}


def test_counts_and_failures_of_several_are_one() -> None:
    with Calling(OPERATORS) as calling:
        one, other = calling.matcher(subscriptions("even()")), calling.matcher(subscriptions("not even()"))
        assert one.match({"n": 2}) == ["s0"]
        other.match({"n": None})
        assert calling.counts.made == 2
        assert calling.made == {"even": 2}
        assert one.failures == other.failures == calling.failures == {"even": {"error": 1}}
        assert calling.statistics.plain()["operators"]["even"][0] == 1.0  # the call that failed taught nothing
        one.close()  # which leaves the other one its operators
        assert other.match({"n": 1}) == ["s0"]
    alone = OperatorMatcher(subscriptions("even()"), OPERATORS)
    assert alone.counts.made == 0


def test_nothing_is_learned_where_that_is_not_wanted() -> None:
    one = OperatorMatcher(subscriptions("even()"), OPERATORS, learn=False)
    one.match_batch([{"n": number} for number in range(10)])
    assert len(one.statistics) == 0
    assert one.counts.made == 10


def test_events_that_break_the_schema() -> None:
    one = OperatorMatcher(subscriptions("even() and m > 0"), OPERATORS)
    events: list[dict[str, Any]] = [{"n": 2, "m": 1}, {"n": 2, "m": "x"}, {"n": 4, "m": 3}]
    with pytest.raises(InputError):
        one.match_batch(events)
    rejects: list[Reject] = []
    table = one.match_batch(events, ids=["a", "b", "c"], rejects=rejects)
    assert table["event"].to_pylist() == ["a", "c"]
    assert [reject.row for reject in rejects] == [1]
    assert one.counts.made == 2


def test_what_it_refuses() -> None:
    wrong: Any = ["even()"]
    with pytest.raises(InputError, match="a list is no set of subscriptions\nHint: make one"):
        OperatorMatcher(wrong)
    patterns = subscriptions("[even()] ; [even()]", "even()")
    assert Calling(OPERATORS).matcher(patterns).match({"n": 2}) == ["s1"]
    one = OperatorMatcher(subscriptions("even()"), OPERATORS)
    with pytest.raises(InputError, match="encoded events come without what operators look at"):
        one.matches(one.encode([{"n": 1}]))
    with pytest.raises(InputError, match="there are 1 ids for 2 events"):
        one.match_batch([{"n": 1}, {"n": 2}], ids=["e1"])


def test_it_says_what_it_was_made_of() -> None:
    subs = Subscriptions({"n": "int"})
    subs.add("plain", "n > 1", subscriber="alice")
    subs.add("called", "even()", subscriber="bob")
    matcher = OperatorMatcher(subs, OPERATORS)
    assert len(matcher) == 2
    assert "plain" in matcher
    assert "called" in matcher
    assert "other" not in matcher
    assert [matcher.subscriber(id_) for id_ in matcher.ids] == ["alice", "bob"]
    assert [matcher.text(id_) for id_ in matcher.ids] == ["n > 1", "even()"]


def test_plain_events_do_not_wait_for_the_operators_of_another_thread() -> None:
    begun, go = threading.Event(), threading.Event()

    @operator(reads=("x",))
    def waits(event: Any) -> bool:
        begun.set()
        return go.wait(30)

    some = Subscriptions()
    some.add("plain", "x = 1")
    some.add("called", "x = 2 and waits()")
    with OperatorMatcher(some, Operators(waits)) as matcher, ThreadPoolExecutor(2) as pool:
        slow = pool.submit(matcher.match, {"x": 2})
        assert begun.wait(30)
        plain = pool.submit(matcher.match, {"x": 1})
        assert plain.result(30) == ["plain"]
        assert not slow.done()
        go.set()
        assert slow.result(30) == ["called"]
