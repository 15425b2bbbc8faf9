from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from vedette.language.ast import Composite
from vedette.language.parser import parse
from vedette.patterns.explain import PartitionlessEvent, PatternExplanation, explain_pattern
from vedette.patterns.partition_follower import NamedEvent
from vedette.schema.schema import Schema

SCHEMA = Schema.of({"status": "string", "ip": "string", "time": "timestamp"})
BREAK_IN = """f1:[status = 'denied' and ip = $x] ; f2:[status = 'denied' and ip = $x] ;
  f3:[status = 'denied' and ip = $x] @ (t(f3) - t(f1) < 5 min) ; [status = 'success' and ip = $x]"""


def _explained(text: str, rows: Sequence[tuple[int, str, str | None]], at: int = -1) -> PatternExplanation:
    found = _answered(text, rows, at)
    assert isinstance(found, PatternExplanation)
    return found


def _answered(
    text: str, rows: Sequence[tuple[int, str, str | None]], at: int = -1
) -> PatternExplanation | PartitionlessEvent:
    """Events of (seconds, status, ip), called e0, e1, …"""
    events: list[dict[str, Any]] = [{"time": time, "status": status, "ip": ip} for time, status, ip in rows]
    seen = [NamedEvent(f"e{number}", event["time"] * 1_000_000, event) for number, event in enumerate(events)]
    composite = parse(text)
    assert isinstance(composite, Composite)
    return explain_pattern(composite, seen, range(len(seen))[at], SCHEMA, text)


def test_a_completing_event_has_a_witness() -> None:
    rows = [(0, "denied", "a"), (60, "denied", "a"), (70, "denied", "b"), (90, "denied", "a"), (95, "success", "a")]
    found = _explained(BREAK_IN, rows)
    assert found.matched
    (match,) = found.matches
    assert found.witness(match) == {"f1": "e0", "f2": "e1", "f3": "e3", "4": "e4"}
    assert match.bindings == (("x", "a"),)
    assert found.place == 4
    assert found.satisfied == ("4",)
    said = str(found)
    assert said.startswith("The event completes the pattern.\nIt is event 4 of its partition, ip = 'a'\n")
    assert "The match ($x = 'a'):\n    f1  e0  1970-01-01 00:00:00Z\n" in said


def test_the_nearest_miss_is_a_time_condition() -> None:
    found = _explained(BREAK_IN, [(0, "denied", "a"), (60, "denied", "a"), (400, "denied", "a")])
    assert not found.matched
    assert found.nearest is not None
    assert len(found.nearest.partial.taken) == 2
    assert [timing.holds for timing in found.nearest.timings] == [False]
    said = str(found)
    assert "✗ t(f3) - t(f1) < 5 min   it was 0:06:40, missed by 0:01:40" in said
    assert "└─ ✓ ip = $x   ip was 'a'" in said
    assert "The event does not complete the pattern, but takes it further." in said


def test_the_nearest_miss_is_a_filter() -> None:
    found = _explained(BREAK_IN, [(0, "denied", "a"), (60, "denied", "a"), (70, "unknown", "a")])
    said = str(found)
    assert "takes no step of it" in said
    assert "Steps whose filter it satisfies: none" in said
    assert "Nearest miss: the partial match with 2 of 4 steps, whose next step is f3 ($x = 'a')" in said
    assert "├─ ✗ status = 'denied'   status was 'unknown', needed = 'denied'" in said


def test_the_window_and_what_must_not_happen() -> None:
    text = "[status = 'a'] ; not [status = 'b'] ; [status = 'c'] within 10 s"
    late = str(_explained(text, [(0, "a", None), (11, "c", None)]))
    assert "✗ within 10 s   the first event was 11 s before" in late
    assert "After it there is no partial match." in late
    waiting = str(_explained(text, [(0, "a", None)]))
    assert "waits for 2, unless [status = 'b'] comes first" in waiting
    gone = _explained(text, [(0, "a", None), (1, "b", None), (2, "c", None)])
    assert not gone.matched
    assert gone.before == ()


def test_what_must_come_next() -> None:
    said = str(_explained("[status = 'a'] , [status = 'b']", [(0, "a", None)]))
    assert "the very next event must take 2" in said


def test_what_must_not_happen_beside_what_does() -> None:
    text = "(([status = 'a'] ; not [ip = 'x'] ; [status = 'b']) and c:[status = 'c']) within 1 min"
    found = _explained(text, [(0, "a", "y"), (1, "c", "x")])
    assert [found.witness(partial) for partial in found.after] == [{"c": "e1"}]
    assert "✗ not [ip = 'x']   the event satisfies it" in str(found)


def test_an_event_without_a_partition() -> None:
    found = _answered("[status = 'a'] ; [status = 'b'] by ip", [(0, "a", None)])
    assert str(found) == "The pattern does not see the event: its ip is null, and the pattern goes by it."


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("o:[status = 'order'] ; not [status = 'payment'] ; r:[status = 'reminder'] by ip", []),
        ("o:[status = 'order'] ; not [status = 'payment'] ; r:[status = 'reminder'] by ip", [(9, "other", "c")]),
        ("o:[status = 'order'] ; not [status = 'payment'] ; (r:[status = 'reminder'] ; [true]) by ip", []),
    ],
)
def test_what_ended_the_wait_is_the_nearest_miss(text: str, rows: Sequence[tuple[int, str, str | None]]) -> None:
    found = _explained(text, [(0, "order", "c"), (5, "payment", "c"), *rows, (10, "reminder", "c")])
    assert not found.matched
    said = str(found)
    assert "whose next step is r" in said
    assert "    o  e0  1970-01-01 00:00:00Z\n✓ status = 'reminder'" in said
    assert "✗ not [status = 'payment']   e1 satisfied it, which ended the wait after o" in said


def test_a_wait_that_goes_on_is_nearer_than_one_that_ended_with_fewer_steps() -> None:
    text = "a:[status = 'a'] ; not [status = 'x'] ; b:[status = 'b'] ; c:[status = 'c' and ip = '2']"
    found = _explained(text, [(0, "a", "1"), (1, "b", "1"), (2, "a", "1"), (3, "x", "1"), (4, "c", "1")])
    assert found.nearest is not None
    assert found.nearest.ended is None
    assert "whose next step is c" in str(found)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(50 * 86_400, "50 days before"), (86_400 + 61, "1 day, 0:01:01 before"), (90, "0:01:30 before")],
)
def test_lengths_of_time_are_said_as_people_say_them(seconds: int, said: str) -> None:
    found = _explained("[status = 'a'] ; [status = 'b'] within 1 min", [(0, "a", None), (seconds, "b", None)])
    assert f"the first event was {said}" in str(found)


def test_values_that_cannot_be_compared() -> None:
    composite = parse("[a = $x] ; [b = $x]")
    assert isinstance(composite, Composite)
    events = [NamedEvent("e0", 0, {"a": "text"}), NamedEvent("e1", 1, {"b": 5})]
    found = explain_pattern(composite, events, 1, Schema.of({"b": "int"}, closed=False), "")
    assert isinstance(found, PatternExplanation)
    assert not found.matched
    assert "its values cannot be compared" in str(found)


def test_as_html() -> None:
    shown = _explained(BREAK_IN, [(0, "denied", "<a>")])._repr_html_()
    assert shown.startswith("<pre>")
    assert "<a>" not in shown
