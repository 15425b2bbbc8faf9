"""Streams under a set that changes: what comes and goes while events happen."""

from __future__ import annotations

from typing import Any

import pytest

import vedette as vd
from vedette.engine.step import EventBatch
from vedette.errors import UnknownSubscription
from vedette.operators.operator import operator
from vedette.operators.registry import Operators
from vedette.patterns.event_times import stamped
from vedette.schema.encode import Reject

EVENTS: list[dict[str, Any]] = [{"x": 1}, {"x": 2}, {"x": 3}]


def told(stream: Any, events: list[dict[str, Any]]) -> list[tuple[int, str, dict[str, int]]]:
    rows = stream.process(events).to_pylist()
    return [(row["event"], row["subscription"], dict(row["steps"] or ())) for row in rows]


def test_patterns_that_come_to_a_running_stream_name_its_events() -> None:
    live = vd.Subscriptions().live()
    live.add("plain", "x = 2")
    stream = live.stream()
    assert told(stream, EVENTS) == [(1, "plain", {})]
    live.add("pattern", "[x = 1] ; [x = 2]")
    assert told(stream, EVENTS) == [(4, "plain", {}), (4, "pattern", {"1": 3, "2": 4})]
    live.remove("pattern")
    assert told(stream, EVENTS) == [(7, "plain", {})]
    live.add("later", "[x = 2] ; [x = 3]")
    assert told(stream, EVENTS) == [(10, "plain", {}), (11, "later", {"1": 10, "2": 11})]
    assert stream.events == 12


def test_a_stream_shows_what_came_since_the_last_event() -> None:
    live = vd.Subscriptions().live()
    stream = live.stream()
    live.add("gone", "[x = 1] ; [x = 2]")
    told(stream, EVENTS[:1])
    live.remove("gone")
    live.add("new", "[x = 1] ; [x = 2]")
    assert stream.pending() == []
    assert stream.progress("new").standing == {}
    with pytest.raises(UnknownSubscription):
        stream.progress("gone")


def test_a_stream_goes_on_from_bytes_under_a_live_set() -> None:
    with vd.Subscriptions().live() as live:
        live.add_many([{"id": "p", "when": "[x = 1] ; [x = 3]"}, {"id": "f", "when": "x = 3"}])
        stream = live.stream()
        told(stream, EVENTS[:2])
        data = stream.to_bytes()
        live.add("new", "[x = 3]")
        resumed = live.resume(data)
        assert told(resumed, EVENTS[2:]) == [(2, "p", {"1": 0, "2": 2}), (2, "f", {}), (2, "new", {"1": 2})]
        live.remove("p")
        assert told(resumed, EVENTS) == [(5, "f", {}), (5, "new", {"1": 5})]


@pytest.mark.parametrize("knowing", [True, False])
def test_what_operators_cost_is_taken_up_once(knowing: bool) -> None:
    @operator(reads=("x",))
    def odd(event: Any) -> bool:
        return bool(event["x"] % 2)

    with vd.Subscriptions().live(operators=Operators(odd)) as live:
        live.add_many([{"id": "call", "when": "odd()"}, {"id": "p", "when": "[odd()] ; [x = 2]"}])
        stream = live.stream()
        told(stream, EVENTS)
        made = stream.metrics["operators"]["made"]
        resumed = live.resume(stream.to_bytes(), knowing=knowing)
        assert resumed.metrics["operators"]["made"] == (2 * made if knowing else made)


def test_several_are_removed_at_once_or_none() -> None:
    live = vd.Subscriptions().live()
    live.add_many([{"id": "f", "when": "x = 1"}, {"id": "p", "when": "[x = 1]"}, {"id": "g", "when": "x = 1"}])
    with pytest.raises(UnknownSubscription, match="'nobody'"):
        live.remove_many(["f", "p", "nobody"])
    assert list(live) == ["f", "p", "g"]
    assert live.has_state
    live.remove_many(["p", "f", "f"])
    assert list(live) == ["g"]
    assert not live.has_state
    assert live.match({"x": 1}) == ["g"]


def test_an_event_without_a_time_happened_when_it_was_received() -> None:
    minute = 60_000_000
    live = vd.Subscriptions().live()
    live.add_many([{"id": "p", "when": "[x = 1] ; [x = 2] within 10 min"}, {"id": "none", "when": "time is null"}])
    for apart, ids in ((1, ["none", "p", "none"]), (11, ["none", "none"])):
        stream = live.stream()
        rejects: list[Reject] = []
        batch = EventBatch([{"x": 1}, {"x": 2}], received=[0, apart * minute])
        assert sorted(stream.step(batch, rejects=rejects).names()) == sorted(ids)  # filters see no time
        assert rejects == []


def test_times_of_a_batch_are_written_alike() -> None:
    numbers: list[Any] = [{"time": 5}, {"time": 6.5}]
    mixed: list[Any] = [{"time": 5}, {"time": "2026-01-01T00:00:00Z"}, {"time": [1]}, {}]
    assert stamped(numbers, [0, 0]) is numbers
    assert [event["time"] for event in stamped(mixed, [7_000_000] * 4)] == [
        *("1970-01-01T00:00:05Z", "2026-01-01T00:00:00Z", "1970-01-01T00:00:07Z", "1970-01-01T00:00:07Z")
    ]
    assert stamped([{"time": 1e300}, {}], [0, 0])[0]["time"] == "1e+300"  # which is rejected, as a number would be


def test_calls_that_make_no_sense_are_found_without_an_index() -> None:
    made = vd.Subscriptions()
    made.add_many([{"id": "f", "when": "x = 1"}, {"id": "p", "when": "[x = 1]"}, {"id": "c", "when": "nobody()"}])
    made.add("w", "price < 3", to="offers")
    assert [made.kind_of(id_) for id_ in made] == ["filter", "pattern", "operators", "want"]
    with pytest.raises(vd.FilterError, match="nobody"):
        made.check(Operators())
    made.remove("c")
    made.check(Operators())
    made.add("q", "[x = 1] ; [nobody()]")
    with pytest.raises(vd.FilterError, match="nobody"):
        made.check(Operators())
