"""Batches of events: taken, cut, put together, saved."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.patterns.batches import BATCHES, batch_of, events_of
from vedette.errors import SnapshotError
from vedette.patterns.event_batch import PatternBatch
from vedette.patterns.packing import packed


@given(BATCHES, st.data())
def test_take(batch: PatternBatch, data: st.DataObject) -> None:
    places = st.integers(0, batch.size - 1) if batch.size else st.nothing()
    order = data.draw(st.lists(places, max_size=20) if batch.size else st.just([]))
    events = events_of(batch)
    assert events_of(batch.take(np.array(order, np.int64))) == [events[place] for place in order]


@given(BATCHES, st.integers(-3, 15), st.integers(-3, 15))
def test_slice(batch: PatternBatch, begin: int, end: int) -> None:
    found = batch.slice(begin, end)
    assert events_of(found) == events_of(batch)[begin:end]
    assert found.start[0] == 0


@given(st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=5))
def test_concatenate(times: list[list[int]]) -> None:
    batches = [batch_of(each, 10 * number) for number, each in enumerate(times)]
    whole = PatternBatch.concatenate(batches)
    assert events_of(whole) == [event for batch in batches for event in events_of(batch)]


def test_a_batch_from_before_a_pattern_was_added_is_in_no_partition_of_it() -> None:
    old, new = batch_of([1, 2], groups=1, columns=0), batch_of([3], first=2, groups=2, columns=1)
    whole = PatternBatch.concatenate([old, new])
    assert whole.keyed[1].tolist() == [False, False, bool(new.keyed[1, 0])]
    assert whole.known[0].tolist() == [False, False, bool(new.known[0, 0])]
    assert whole.key[0, :2].tolist() == old.key[0].tolist()
    assert whole.key[:, 2].tolist() == new.key[:, 0].tolist()


@given(BATCHES, st.integers(0, 5), st.integers(0, 12))
def test_saved_and_read_again(batch: PatternBatch, begin: int, end: int) -> None:
    for one in (batch, batch.slice(begin, end)):
        again = PatternBatch.from_bytes(one.to_bytes())
        for name, array in one.arrays().items():
            assert np.array_equal(again.arrays()[name], array)
            assert again.arrays()[name].dtype == array.dtype


@given(st.data())
def test_damage_is_noticed(data: st.DataObject) -> None:
    whole = batch_of([1, 2, 3]).to_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    damaged = bytearray(whole)
    damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    for broken in (bytes(damaged), whole[:place]):
        with pytest.raises(SnapshotError):
            PatternBatch.from_bytes(broken)


def test_other_states_are_refused() -> None:
    with pytest.raises(SnapshotError, match="the state of a clock, not of a batch"):
        PatternBatch.from_bytes(packed("clock", {}))
