"""Events in the order of their time: against sorting all of them, and against a slow sorter."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.patterns.batches import TIMES, batch_of, events_of
from tests.seeds import EXAMPLES
from vedette.errors import InputError, SnapshotError
from vedette.patterns.event_batch import PatternBatch
from vedette.patterns.event_order import EventSorter, SeenIds

BATCHES = st.lists(TIMES, max_size=6)
LATENESS = st.one_of(st.integers(0, 6), st.sampled_from([2**62, 2**63 - 1]))


def in_arrival(times: list[list[int]]) -> list[PatternBatch]:
    batches: list[PatternBatch] = []
    for each in times:
        batches.append(batch_of(each, sum(batch.size for batch in batches)))
    return batches


@given(BATCHES)
@settings(max_examples=2 * EXAMPLES)
def test_without_a_lateness_everything_is_sorted_at_the_end(times: list[list[int]]) -> None:
    sorter = EventSorter(None)
    batches = in_arrival(times)
    for batch in batches:
        ready, late = sorter.put(batch)
        assert ready.size == len(late) == 0
    everything = [event for batch in batches for event in events_of(batch)]
    assert sorter.held == len(everything)
    assert events_of(sorter.finish()) == sorted(everything, key=lambda event: event[1])
    assert sorter.held == 0


@given(BATCHES, LATENESS, st.integers(0, 6))
@example([[-(2**63), 2**63 - 1, 0], [2**63 - 1]], 2**63 - 1, 1)
@settings(max_examples=4 * EXAMPLES)
def test_within_a_lateness(times: list[list[int]], lateness: int, saved_at: int) -> None:
    sorter = EventSorter(lateness)
    greatest: int | None = None
    held, expected_all, found_all = [], [], []
    for place, batch in enumerate(in_arrival(times)):
        if place == saved_at:
            sorter = EventSorter.from_bytes(sorter.to_bytes())
        expected_late = []
        for event in events_of(batch):
            if greatest is not None and event[1] < greatest - lateness:
                expected_late.append(event[0])
                continue
            greatest = event[1] if greatest is None else max(greatest, event[1])
            held.append(event)
        ready, late = sorter.put(batch)
        assert late.tolist() == expected_late
        # As soon as possible: whatever no event in time can come before.
        expected = sorted(
            (event for event in held if greatest is not None and event[1] <= greatest - lateness),
            key=lambda event: event[1],
        )
        held = [event for event in held if event not in expected]
        assert events_of(ready) == expected
        assert sorter.held == len(held)
        assert sorter.greatest == greatest
        expected_all += expected
        found_all += events_of(ready)
    rest = events_of(sorter.finish())
    assert rest == sorted(held, key=lambda event: event[1])
    assert [(event[1], event[0]) for event in found_all + rest] == sorted(
        (event[1], event[0]) for event in expected_all + held
    )


def test_events_in_order_go_straight_on() -> None:
    batch = batch_of([1, 2, 2, 5])
    ready, late = EventSorter(0).put(batch)
    assert events_of(ready) == events_of(batch)
    assert not len(late)


def test_no_more_is_held_back_than_stated_and_nothing_is_lost_by_the_refusal() -> None:
    sorter = EventSorter(None, most=3)
    sorter.put(batch_of([5, 4]))
    with pytest.raises(InputError, match=r"4 events would be held back .* 3 are the most\nHint: state a shorter"):
        sorter.put(batch_of([3, 2], first=2))
    sorter.put(batch_of([1], first=2))
    assert sorter.finish().number.tolist() == [2, 1, 0]


def test_what_makes_no_sense_is_refused() -> None:
    for lateness in (-1, 2**63):
        with pytest.raises(InputError, match="from 0 on"):
            EventSorter(lateness)
    with pytest.raises(InputError, match="at least one id"):
        SeenIds(0)
    with pytest.raises(SnapshotError, match="a set of ids, not of a sorter"):
        EventSorter.from_bytes(SeenIds().to_bytes())


IDS = st.lists(st.one_of(st.sampled_from(["1", "2", 1, 2, 2.0, 2.5, True, b"1", None, "\ud800"]), st.text(max_size=2)))


@given(st.lists(IDS, max_size=5), st.integers(1, 6), st.integers(0, 4))
@settings(max_examples=2 * EXAMPLES)
def test_each_id_once(batches: list[list[object]], most: int, saved_at: int) -> None:
    ids = SeenIds(most)
    remembered: list[object] = []
    for place, batch in enumerate(batches):
        if place == saved_at:
            ids = SeenIds.from_bytes(ids.to_bytes())
        expected = []
        for one in batch:
            known = any(one == other and (one is True) == (other is True) for other in remembered)
            expected.append(one is None or not known)
            if one is not None and not known:
                remembered = [*remembered, one][-most:]
        assert ids.fresh(batch).tolist() == expected


def test_ids_may_come_from_arrays() -> None:
    ids = SeenIds()
    assert ids.fresh([7, "a"]).all()
    assert not ids.fresh([np.int64(7), np.str_("a"), np.float64(7.0)]).any()


def test_a_long_stream_that_is_a_little_out_of_order() -> None:
    random = Random(5)
    times = [place * 10 + random.randrange(50) for place in range(20_000)]
    sorter, found = EventSorter(50), []
    for begin in range(0, len(times), 997):
        ready, late = sorter.put(batch_of(times[begin : begin + 997], first=begin))
        assert not len(late)
        assert sorter.held <= 100
        found += ready.number.tolist()
    found += sorter.finish().number.tolist()
    assert found == sorted(range(len(times)), key=lambda place: (times[place], place))
