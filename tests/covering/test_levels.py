"""Two levels beside a flat index: the same pairs either way, and the faster way is taken."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from tests.filters.test_live import SCHEMA, random_event, random_text
from tests.seeds import some
from vedette.covering.coverage import cover_all, plan_of
from vedette.covering.gates import select
from vedette.covering.level_index import FLAT, IN_LEVELS, LevelIndex, SpeedTrials
from vedette.engine.subscriptions import Subscriptions
from vedette.filters.segment import Segment
from vedette.kernels.bundles import CodedBatch, ConjunctionPairs
from vedette.schema.encode import encode


def _segment(seed: int, index: str = "clusters", count: int = 60) -> Segment:
    random, made = Random(seed), Subscriptions(SCHEMA)
    for number in range(count):
        made.add(f"s{number}", random_text(random))
    return made.compile(index).segment


def _coded(segment: Segment, count: int, seed: int = 7) -> CodedBatch:
    random = Random(seed)
    encoded = encode([random_event(random) for _ in range(count)], segment.codebook.columns, SCHEMA)
    return segment.codebook.code(encoded.data, encoded.size)


def _levels(segment: Segment, sample: CodedBatch) -> LevelIndex:
    plan = plan_of(segment, cover_all(segment.records, SCHEMA).covered)
    assert len(plan.covered)
    assert plan.bounds.any()
    return LevelIndex.over(segment.index, segment.table, len(segment.codebook.ranks), sample, plan)


def _sorted(pairs: ConjunctionPairs) -> list[tuple[int, int]]:
    return sorted(zip(pairs.event.tolist(), pairs.conjunction.tolist(), strict=True))


@pytest.mark.parametrize("index", ["clusters", "scan", "tree"])
@pytest.mark.parametrize("seed", some(3))
def test_both_ways_find_the_same_pairs(index: str, seed: int) -> None:
    segment = _segment(seed, index)
    levels = _levels(segment, _coded(segment, 64))
    for size in (1, 2, 63, 64, 300, 1000):
        batch = _coded(segment, size, seed=size)
        wanted = _sorted(segment.index.match(batch))
        assert _sorted(levels.match_in_levels(batch)) == wanted
        assert all(_sorted(levels.match(batch)) == wanted for _ in range(3))
    for number in range(100):
        one = _coded(segment, 1, seed=number)
        wanted_one = sorted(segment.index.match_one(one).tolist())
        assert sorted(levels.match_one_in_levels(one).tolist()) == wanted_one
        assert sorted(levels.match_one(one).tolist()) == wanted_one


def test_no_event_at_all() -> None:
    segment = _segment(1)
    levels = _levels(segment, _coded(segment, 64))
    assert not len(levels.match(_coded(segment, 0)).event)


def test_events_that_nobody_who_covers_matched_do_not_reach_the_second_level() -> None:
    made = Subscriptions({"n": "int"})
    for number in range(10):
        made.add(f"inside{number}", f"n between {number} and {number + 5}")
    made.add("wide", "n between 0 and 100")
    made.add("elsewhere", "n > 1000")
    segment = made.compile().segment
    plan = plan_of(segment, cover_all(segment.records, made.schema).covered)
    assert plan.first.tolist() == [10, 11]
    assert plan.covered.tolist() == list(range(10))
    assert plan.gate.tolist() == [0] * 10
    encoded = encode([{"n": n} for n in (3, 50, 500, 2000)], segment.codebook.columns, made.schema)
    batch = segment.codebook.code(encoded.data, encoded.size)
    levels = LevelIndex.over(segment.index, segment.table, len(segment.codebook.ranks), batch, plan)
    before = levels.counts
    levels.match_in_levels(batch)
    assert (levels.counts.asked - before.asked, levels.counts.reached - before.reached) == (4, 2)


def test_without_knowledge_everything_is_on_the_first_level() -> None:
    segment = _segment(2)
    batch = _coded(segment, 200)
    levels = LevelIndex.build(segment.table, len(segment.codebook.ranks), batch)
    assert not len(levels.plan.covered)
    assert _sorted(levels.match_in_levels(batch)) == _sorted(segment.index.match(batch))


@pytest.mark.parametrize("index", ["clusters", "scan", "tree"])
def test_arrays_and_back(index: str) -> None:
    segment = _segment(4, index)
    batch = _coded(segment, 300)
    levels = _levels(segment, batch)
    again = LevelIndex.restore(segment.table, len(segment.codebook.ranks), levels.arrays())
    assert again.flat.name == index
    assert again.extra_bytes == levels.extra_bytes > 0
    assert _sorted(again.match_in_levels(batch)) == _sorted(again.match(batch)) == _sorted(segment.index.match(batch))


def test_a_selected_table_has_the_predicates_of_its_conjunctions() -> None:
    segment = _segment(5)
    chosen = np.array([7, 0, 3], np.int32)
    table = select(segment.table, chosen)
    for number, conjunction in enumerate(chosen):
        here = slice(table.start[number], table.start[number + 1])
        there = slice(segment.table.start[conjunction], segment.table.start[conjunction + 1])
        for name in ("column", "low", "width"):
            assert np.array_equal(getattr(table, name)[here], getattr(segment.table, name)[there])


class _Slow:
    """An index that takes long: it makes time pass by itself, so that the test need not."""

    def __init__(self, inner: Any, clock: list[float], seconds: float) -> None:
        self._inner, self._clock, self.seconds = inner, clock, seconds
        self.name = inner.name

    def match(self, batch: CodedBatch) -> ConjunctionPairs:
        self._clock[0] += self.seconds * batch.ranks.shape[1]
        found: ConjunctionPairs = self._inner.match(batch)
        return found

    def match_one(self, batch: CodedBatch) -> Any:
        self._clock[0] += self.seconds
        return self._inner.match_one(batch)


@pytest.mark.parametrize("size", [1, 64, 1024])
def test_the_way_that_is_faster_is_taken_and_changed_when_that_changes(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    subscriptions = Subscriptions({"n": "int"})
    for number in range(20):
        subscriptions.add(f"s{number}", f"n between {number} and {100 - number}")
    segment = subscriptions.compile().segment
    batch = segment.codebook.code(
        encode([{"n": n} for n in range(size)], segment.codebook.columns, subscriptions.schema).data, size
    )
    plan = plan_of(segment, cover_all(segment.records, subscriptions.schema).covered)
    made = LevelIndex.over(segment.index, segment.table, len(segment.codebook.ranks), batch, plan)
    clock = [0.0]
    monkeypatch.setattr("vedette.covering.level_index.time.thread_time", lambda: clock[0])
    flat, first = _Slow(made.flat, clock, 10.0), _Slow(made.first, clock, 1.0)
    levels = LevelIndex(flat, first, made.second, made.plan)  # type: ignore[arg-type]
    asked = (lambda: levels.match_one(batch)) if size == 1 else (lambda: levels.match(batch))

    def share_in_levels(calls: int) -> float:
        before, began = levels.counts.asked, clock[0]
        for _ in range(calls):
            asked()
        assert clock[0] > began
        return (levels.counts.asked - before) / (calls * size)

    share_in_levels(1000)
    assert share_in_levels(1000) > 0.8
    flat.seconds, first.seconds = 1.0, 10.0
    share_in_levels(20_000)
    assert share_in_levels(1000) < 0.2


def test_trials_alternate_and_small_differences_change_nothing() -> None:
    trials = SpeedTrials(rounds=2)
    ways = []
    for _ in range(4):
        ways.append(trials.next_way())
        trials.note(ways[-1], 1.0 if ways[-1] == FLAT else 0.99)
    assert sorted(ways) == [FLAT, FLAT, IN_LEVELS, IN_LEVELS]
    assert trials.best == FLAT
    assert trials.left > 0
    for way in (IN_LEVELS, FLAT, FLAT, IN_LEVELS):
        trials.note(way, 1.0 if way == FLAT else 0.5)
    assert trials.best == IN_LEVELS


def test_a_plan_names_every_conjunction_once() -> None:
    segment = _segment(8)
    plan = plan_of(segment, cover_all(segment.records, SCHEMA).covered)
    assert np.array_equal(np.sort(np.concatenate((plan.first, plan.covered))), np.arange(segment.conjunctions))
    together, gates, helping = plan.bounds.tolist()
    assert 0 <= together <= gates <= helping <= len(plan.first)
    assert set(plan.gate.tolist()) <= set(range(gates + 1))
