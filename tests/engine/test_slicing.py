"""Events are cut in one place, into slices that are as large as their matches allow."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from vedette.engine.slicing import FIRST, Slicer, part_of


@pytest.mark.parametrize("as_table", [False, True])
def test_slices_are_all_events_in_their_order(as_table: bool) -> None:
    random = Random(1)
    for size in (0, 1, FIRST - 1, FIRST, FIRST + 1, 20_000):
        numbers = list(range(size))
        events = pa.table({"n": numbers}) if as_table else [{"n": number} for number in numbers]
        slicer = Slicer()
        found: list[int] = []
        for begin, some in slicer.cut(events):
            assert begin == len(found)
            found += (
                some["n"].to_pylist() if isinstance(some, pa.Table | pa.RecordBatch) else [event["n"] for event in some]
            )
            slicer.learn(len(some), random.randrange(1 + len(some) * 5_000))
        assert found == numbers


def test_a_slice_has_about_as_many_matches_as_are_good_for_it() -> None:
    slicer = Slicer()
    slicer.learn(FIRST, 0)
    assert slicer.size == 8 * FIRST  # it grows, and not at once
    slicer.learn(FIRST, FIRST * 10_000)
    assert slicer.size == 400
    slicer.learn(400, 400 * 10_000_000)
    assert slicer.size == 64  # and no fewer
    slicer.learn(0, 0)
    assert slicer.size == 64


def test_what_operators_have_to_decide_costs_as_much() -> None:
    slicer = Slicer()
    slicer.expect(1_000.0)
    slicer.learn(FIRST, 0)
    assert slicer.size == 4_000


def test_all_events_stay_as_they_are() -> None:
    table, dicts = pa.table({"n": [1, 2, 3]}), [{"n": 1}, {"n": 2}]
    assert part_of(table, 0, 3) is table
    assert part_of(dicts, 0, 9) is dicts
    assert part_of(dicts, 1, 2) == [{"n": 2}]
