"""What the host of patterns promises besides the right answers: bounded state, counts, clear errors, a pure step."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from tests.patterns.generate import patterns, stream
from tests.patterns.hosting import check, told
from tests.seeds import some
from vedette.errors import FilterError, InputError, SnapshotError, UnknownSubscription
from vedette.filters.subscription_records import PatternRecord
from vedette.patterns.event_batch import PatternBatch
from vedette.patterns.kernels import runs
from vedette.patterns.matcher import PatternMatcher
from vedette.patterns.pattern_step import step


def matcher(*texts: str, **settings: Any) -> PatternMatcher:
    return PatternMatcher([PatternRecord(f"p{number}", text) for number, text in enumerate(texts)], **settings)


def xs(*values: int) -> list[dict[str, Any]]:
    """Events of one attribute, a second apart."""
    return [{"x": value, "time": second} for second, value in enumerate(values)]


def events_of(found: PatternMatcher, events: list[dict[str, Any]]) -> list[int]:
    return found.process(events).matches.event.tolist()


def living(found: PatternMatcher) -> int:
    return int(found.state.counters[runs.LIVE])


def test_steps_with_many_exceptions() -> None:
    excepted = " and ".join(f"not (x = {number} and y = {number})" for number in range(40))
    found = matcher(f"[x > 0 and {excepted} and z = $z] ; [x = 2 and y = 2 and z = $z]")
    events = [(1, 1, 7), (2, 2, 7), (3, 4, 7), (2, 2, 8), (5, None, 7), (2, 2, 7)]
    assert events_of(found, [{"x": x, "y": y, "z": z, "time": at} for at, (x, y, z) in enumerate(events)]) == [5]


# ---------------------------------------------------------------- bounded state


def test_one_partial_match_per_state_where_no_time_counts() -> None:
    found = matcher("[x = 1] ; [x = 2] ; [x = 3]")
    found.process(xs(*([1] * 500 + [2] * 500)))
    assert living(found) == 2
    assert events_of(found, [{"x": 3, "time": 1000}]) == [1000]


def test_a_window_frees_what_cannot_complete_any_more() -> None:
    found = matcher("[x = 1 and y = $y] ; [x = 2 and z = $y] within 10 s")
    found.process([{"x": 1, "y": number, "time": number} for number in range(50_000)])
    assert living(found) < 20_000  # all of them had to wait, had there been no window
    found = PatternMatcher.from_bytes(found.to_bytes())
    late = found.process([{"x": 2, "z": number, "time": 50_000} for number in range(49_980, 50_000)])
    assert late.matches.taken.reshape(-1, 2)[:, 0].tolist() == list(range(49_990, 50_000))


def test_a_time_condition_frees_what_it_makes_hopeless() -> None:
    found = matcher("a:[x = 1 and y = $y] ; b:[x = 2 and z = $y] @ (t(b) - t(a) < 10 s)")
    found.process([{"x": 1, "y": number, "time": number} for number in range(50_000)])
    assert living(found) < 20_000


def test_beyond_the_cap_the_least_promising_go_first_and_are_counted() -> None:
    text = "[x = 1 and y = $y] ; [x = 2 and z = $y] ; [x = 3 and z = $y]"  # not partitioned: two attributes
    found = matcher(text, cap=100)
    found.process([{"x": 1, "y": 0}, {"x": 2, "z": 0}])
    found.process([{"x": 1, "y": number} for number in range(1, 300)])
    assert living(found) <= 100
    assert found.counts.shed == 301 - living(found)
    # The one that has come farther is still there, and so is the newest of the others.
    assert events_of(found, [{"x": 3, "z": 0}]) == [301]
    assert events_of(found, [{"x": 2, "z": 299}, {"x": 3, "z": 299}]) == [303]
    assert events_of(found, [{"x": 2, "z": 1}, {"x": 3, "z": 1}]) == []


def test_the_cap_is_for_each_partition() -> None:
    found = matcher("[x = 1 and y = $y] ; [x = 2 and z = $y] by p", cap=10)
    found.process([{"x": 1, "y": number, "p": partition} for number in range(8) for partition in "abc"])
    assert (living(found), found.counts.shed) == (24, 0)


def test_an_absent_step_frees_what_waited_for_it_not_to_come() -> None:
    found = matcher("[x = 1 and y = $y] ; not [x = 3] ; [x = 2 and z = $y]")
    found.process([{"x": 1, "y": number} for number in range(1000)])
    assert living(found) == 1000
    found.process([{"x": 3}])
    assert living(found) == 0


# ---------------------------------------------------------------- events that do not count


def test_late_events_are_told_and_counted() -> None:
    found = matcher("[x = 1] ; [x = 2]", lateness=2_000_000)
    first = found.process([{"x": 0, "time": 10}, {"x": 1, "time": 7}, {"x": 1, "time": 8}, {"x": 2, "time": 9}])
    assert (first.late.tolist(), found.counts.late) == ([1], 1)
    assert len(first.matches) == 0
    assert found.finish().matches.taken.tolist() == [2, 3]


def test_the_same_id_counts_once() -> None:
    found = matcher("[x = 1]{2}")
    outcome = found.process(xs(1, 1, 1), ids=["a", "a", "b"])
    assert (outcome.matches.event.tolist(), found.counts.duplicates) == ([2], 1)
    assert found.process(xs(1), ids=["b"]).matches.event.tolist() == []


def test_events_that_break_the_schema_do_not_count() -> None:
    found = PatternMatcher([PatternRecord("p", "[x = 1]{2}")], {"x": "int", "time": "timestamp"})  # type: ignore[arg-type]
    rejects: list[Any] = []
    assert found.process([{"x": 1}, {"x": "?"}, {"x": 1}], rejects=rejects).matches.event.tolist() == [2]
    assert [(each.row, each.attribute) for each in rejects] == [(1, "x")]
    with pytest.raises(InputError, match="x"):
        found.process([{"x": "?"}])


def test_an_event_without_a_time_has_the_greatest_so_far() -> None:
    found = matcher("[x = 1] ; [x = 2] within 1 s")
    assert events_of(found, [{"x": 1, "time": -10}, {"x": 2}]) == [1]
    assert events_of(found, [{"x": 0, "time": -12}, {"x": 2}]) == [3]
    assert events_of(found, [{"x": 0, "time": 0}, {"x": 2}]) == []


@pytest.mark.parametrize(
    ("text", "events", "completing"),
    [
        # A register that another step has left says nothing of one that is never taken.
        (
            "(a:[true] @ (t(a) - t(b) < 1 s) ; b:[true] , c:[true] @ (t(c) - t(d) < 1 s)) or d:[x = 1]",
            [{}, {}, {"time": 24}],
            [2],
        ),
        (
            "(a:[true] @ (t(c) - t(b) = 0 s and t(a) <= timestamp '1970-01-01T00:00:08Z') ; b:[true]) ; "
            "(c:[x < y] or [true])",
            [{}, {"time": 13}, {}],
            [2],
        ),
        # Of two times of a repeated step neither is the better, if the other side of an absolute condition is known.
        (
            "([x = $x] @ (t(c) - t(b) <= 4 s) and b:[true]) and (c:[true] ; [true]){1,2}",
            [{}, {"x": 0}, {"time": 18, "x": 0}, {}],
            [3],
        ),
    ],
)
def test_conditions_that_once_went_wrong(text: str, events: list[dict[str, Any]], completing: list[int]) -> None:
    assert events_of(matcher(text), events) == completing


# ---------------------------------------------------------------- errors


def test_a_pattern_that_speaks_of_time_needs_times() -> None:
    with pytest.raises(InputError, match=r"(?s)'p0' speaks of time, and the events have none.*Hint: .*`time`"):
        matcher("[x = 1] ; [x = 2] within 5 s").process([{"x": 1}])


def test_wrong_patterns_and_ids() -> None:
    with pytest.raises(FilterError):
        matcher("[x = 1] ; [x = ")
    with pytest.raises(InputError, match="is a filter"):
        matcher("x = 1")
    found = matcher("[x = 1]")
    with pytest.raises(InputError, match="already"):
        found.add(PatternRecord("p0", "[x = 2]"))
    with pytest.raises(UnknownSubscription):
        found.remove("p1")
    with pytest.raises(InputError, match="2 ids for 1 event"):
        found.process(xs(1), ids=["a", "b"])


def test_damaged_bytes_are_refused() -> None:
    found = matcher("[x = 1] ; [x = 2]")
    found.process(xs(1))
    data = bytearray(found.to_bytes())
    data[-3] ^= 1
    with pytest.raises(SnapshotError):
        PatternMatcher.from_bytes(bytes(data))


# ---------------------------------------------------------------- the step itself


def _batch(*primitives: int) -> PatternBatch:
    size = len(primitives)
    return PatternBatch(
        np.arange(size),
        np.arange(size),
        np.arange(size + 1),
        np.array(primitives, np.int32),
        *(np.zeros((0, size, *more), dtype) for _ in range(2) for more, dtype in (((2,), np.int64), ((), np.bool_))),
    )


def test_the_step_leaves_the_state_that_it_is_given_alone() -> None:
    graph = matcher("[x = 1] ; [x = 2] , [x = 3]").graph
    state = runs.empty(graph.registers, graph.variables)
    state, _ = step(graph, state, _batch(0, 1))
    before = [array.copy() for array in state]
    first, one = step(graph, state, _batch(2, 2))
    second, other = step(graph, state, _batch(2, 2))
    assert all(np.array_equal(*pair) for pair in zip(before, state, strict=True))
    assert one.matches.taken.tolist() == other.matches.taken.tolist() != []
    assert first.counters.tolist() == second.counters.tolist()


def test_names_of_steps() -> None:
    found = matcher("a:[x = 1] ; [x = 2]{1,2} ; b:[x = 3]{2} ; not c:[x = 4] ; [x = 5]")
    assert found.names(0) == ["a", "2", "3", "b[1]", "b[2]", "6"]


@pytest.mark.interpreted
@pytest.mark.filterwarnings("ignore:overflow encountered")  # of hashes, which machine code does not mind
@pytest.mark.parametrize("seed", some(6040, 6000))
def test_every_access_to_memory_is_inside(seed: int) -> None:
    """As Python the kernel is slow, and an index out of bounds is an error."""
    random = Random(seed)
    texts, events = patterns(random, 12), stream(random, 10)
    check(texts, events, told(texts, events))
