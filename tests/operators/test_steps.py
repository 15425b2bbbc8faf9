"""Patterns whose steps call operators say what they say with tests of attributes instead."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tests.patterns.generate import SCHEMA, cuts, patterns, stream
from tests.patterns.hosting import check, matches, records, told
from tests.patterns.test_against_oracle import TYPES, completions
from tests.seeds import some
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import FilterError
from vedette.filters.subscription_records import PatternRecord, Predict
from vedette.operators.calling import Calling
from vedette.operators.operator import operator
from vedette.operators.registry import Operators
from vedette.patterns.matcher import PatternMatcher
from vedette.patterns.outputs import Observations

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")  # of hashes in uncompiled kernels


@operator("is_kind", reads=("kind",), time_limit=None)
def is_kind(event: Mapping[str, Any], kind: str) -> bool | None:
    return None if event["kind"] is None else bool(event["kind"] == kind)


@operator("at_most", batch=True, reads=(), time_limit=None)
def at_most(events: pa.Table, value: pa.Array, most: int) -> list[bool | None]:
    return [None if each is None else each <= most for each in value.to_pylist()]


@operator("values", outputs=1)
async def values(event: Mapping[str, Any]) -> list[int] | None:
    return None if event.get("u") is None else [event["u"]]


OPERATORS = Operators(is_kind, at_most, values)
_SAME = (
    (r"kind = '(\w)'", r"is_kind('\1')"),
    (r"\bv <= (\d)", r"at_most(v, \1)"),
    (r"\bu >= (\d)", r"values(?found) and ?found >= \1"),
)


def with_operators(random: Random, text: str, likely: float = 0.7) -> str:
    """The same pattern, with calls instead of some tests of attributes."""
    for test, call in _SAME:
        for found in reversed(list(re.finditer(test, text))):
            if random.random() < likely:
                text = text[: found.start()] + found.expand(call) + text[found.end() :]
    return text


def case(seed: int) -> tuple[Random, list[str], list[str], list[dict[str, Any]]]:
    """Patterns, the same with operators, and a stream."""
    random = Random(seed)
    texts = patterns(random, 20)
    return random, texts, [with_operators(random, text) for text in texts], stream(random, random.randint(8, 12))


@pytest.mark.parametrize("seed", some(9040, 9000))
def test_what_matches_and_by_which_events(seed: int) -> None:
    _, texts, calling, events = case(seed)
    assert any("(" in one and one != other for one, other in zip(calling, texts, strict=True))
    check(texts, events, told(calling, events, calling=Calling(OPERATORS)))


@pytest.mark.parametrize("seed", some(9110, 9100))
def test_tables_batches_and_state_as_bytes(seed: int) -> None:
    random, texts, called, events = case(seed)
    whole = completions(told(called, events, calling=Calling(OPERATORS)))
    table = pa.Table.from_pylist(events, TYPES)
    assert completions(told(called, table, calling=Calling(OPERATORS))) == whole
    calling = Calling(OPERATORS)
    matcher, found = PatternMatcher(records(called), SCHEMA, calling=calling), []
    for begin, end in cuts(random, len(events)):
        found += matches(matcher.process(events[begin:end]))
        matcher = PatternMatcher.from_bytes(matcher.to_bytes(), calling=calling)
    check(texts, events, found + matches(matcher.finish()))


@pytest.mark.parametrize("seed", range(9200, 9205))
def test_every_planner_says_the_same(seed: int) -> None:
    _, _, called, events = case(seed)
    found = [
        completions(told(called, events, calling=Calling(OPERATORS, planner)))
        for planner in ("naive", "sequential", "suborder", "adaptive")
    ]
    assert found[0] == found[1] == found[2] == found[3]


# ---------------------------------------------------------------- one by one


def _told(text: str, events: list[dict[str, Any]], calling: Calling | None = None) -> list[int]:
    return [one.event for one in told([text], events, calling=calling or Calling(OPERATORS))]


def _kinds(*kinds: str | None) -> list[dict[str, Any]]:
    return [{"kind": kind, "u": number} for number, kind in enumerate(kinds)]


def test_absence_of_what_an_operator_says() -> None:
    text = "[kind = 'a'] ; not [is_kind('c')] ; [is_kind('b')]"
    assert _told(text, _kinds("a", "x", "b")) == [2]
    assert _told(text, _kinds("a", "c", "b")) == []
    assert _told(text, _kinds("a", None, "b")) == [2]  # what is unknown does not happen


def test_a_variable_is_of_one_step_alone() -> None:
    text = "[values(?x) and ?x > 1] , [values(?x) and ?x > 2]"
    assert _told(text, _kinds("a", "a", "a", "a")) == [3]


def test_an_operator_beside_a_join_variable() -> None:
    text = "[is_kind('a') and u = $m] ; [is_kind('b') and v = $m]"
    events: list[dict[str, Any]] = [{"kind": "a", "u": 1}, {"kind": "b", "v": 2}, {"kind": "b", "v": 1}]
    assert _told(text, events) == [2]


def test_features_may_call_operators() -> None:
    """And say of every event what the same feature says without: forecasts see the same symbols."""
    random = Random(5)
    events = stream(random, 60)

    def seen(feature: str) -> Observations:
        record = PatternRecord("p", "[kind = 'a'] , [kind = 'b']", None, Predict(3, 0.5, (feature,)))
        matcher = PatternMatcher([record], SCHEMA, calling=Calling(OPERATORS))
        return matcher.process(events).observations

    one, other = seen("is_kind('c') or u > 1"), seen("kind = 'c' or u > 1")
    assert one.symbol.tolist() == other.symbol.tolist()
    assert len(set(one.symbol.tolist())) > 2
    subs = Subscriptions(SCHEMA)
    subs.add("p", "[kind = 'a'] , [kind = 'b']", predict={"within": 3, "features": ["is_kind('c')"]})
    assert list(subs.patterns) == ["p"]


def test_a_call_that_makes_no_sense_is_refused_with_its_place() -> None:
    for text, said in (
        ("[iskind('a')] ; [kind = 'b']", "there is no operator 'iskind'"),
        ("[kind = 'a'] ; [is_kind('a', 'b')]", "is_kind has 2 arguments"),
        ("[kind = 'a'] ; [not values(?x)]", r"nothing binds \?x"),
    ):
        with pytest.raises(FilterError, match=said):
            PatternMatcher(records([text]), SCHEMA, calling=Calling(OPERATORS))


# ---------------------------------------------------------------- what is counted


def test_counts_and_failures_go_on_as_patterns_come_and_go(caplog: pytest.LogCaptureFixture) -> None:
    @operator(reads=("u",), time_limit=None)
    def odd(event: Mapping[str, Any]) -> bool:
        if event["u"] is None:
            raise ValueError("no number")
        return bool(event["u"] % 2)

    calling = Calling(Operators(odd))
    matcher = PatternMatcher(records(["[kind = 'a'] ; [kind = 'b']"]), SCHEMA, calling=calling)
    assert matcher.operators is None
    matcher.process(_kinds("a", "b"))
    matcher.add(PatternRecord("odd", "[odd()] , [odd()]"))
    assert matcher.operators is not None
    assert matcher.operators.named == {"u"}
    with caplog.at_level(logging.WARNING, "vedette.operators"):
        matcher.process([{"u": 1}, {"u": None}, {"u": 3}], ids=["one", None, "three"])
    assert [record.message.partition(": ")[0] for record in caplog.records] == ["operator odd, event 3"]
    matcher.add(PatternRecord("even", "[not odd()] , [not odd()]"))
    found = matches(matcher.process([{"u": 5}, {"u": 2}, {"u": 4}]))
    assert [matcher.patterns[one.pattern].id for one in found] == ["odd", "even"]
    assert calling.counts.made == calling.counts.by_operator["odd"] == 6
    assert matcher.operators.counts is calling.counts
    assert matcher.operators.failures == calling.failures == {"odd": {"error": 1}}
    matcher.change(gone=["odd", "even"])
    assert calling.counts.made == 6
