"""Counting moves: what is added, merged, forgotten, and kept."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.patterns.forecasts.simulated import contiguous
from vedette.patterns.forecasts.counts import MoveCounts
from vedette.patterns.forecasts.partition_tracks import PartitionTracks
from vedette.patterns.forecasts.pattern_nodes import NodeNames, node_of, state_number, symbols_of

ZERO = np.zeros(1, np.int64)


def as_dict(counts: MoveCounts) -> dict[tuple[int | None, int | None, tuple[int | None, ...]], float]:
    """Moves by the signatures of their states and the symbols of the target."""
    found: Counter[tuple[int | None, int | None, tuple[int | None, ...]]] = Counter()
    for source, target, weight in zip(*(column.tolist() for column in counts.moves()), strict=True):
        before, after = (counts.names.signature(int(state_number(np.array([each]))[0])) for each in (source, target))
        symbols = tuple(counts.names.symbol(number) for number in symbols_of(target))
        found[before, after, symbols] += weight
    return dict(found)


def counted(
    letters: str, keys: str | None = None, horizon: float | None = None, cuts: tuple[int, ...] = ()
) -> MoveCounts:
    """Counts of the pattern `a,b,a` over some letters, in batches."""
    seen = contiguous(letters, "aba", keys=keys)
    counts, tracks = MoveCounts(horizon), PartitionTracks(context=2, aged=False)
    for rows in np.split(np.arange(len(letters)), cuts):
        moves = tracks.advance(seen, rows, counts.names)
        counts.add(moves.source, moves.target)
    return counts


def test_moves_are_counted_within_partitions() -> None:
    together = counted("abbbaaba", keys="xyxyxyxy")
    apart = Counter(as_dict(counted("abab"))) + Counter(as_dict(counted("bbaa")))
    assert as_dict(together) == pytest.approx(dict(apart))


def test_the_sum_of_two_counts_is_the_count_of_both() -> None:
    one, other = counted("ababbca"), counted("cbbabaab")
    both = counted("ababbca" + "cbbabaab", keys="x" * 7 + "y" * 8)
    assert as_dict(one + other) == pytest.approx(as_dict(both))
    assert as_dict(other + one) == pytest.approx(as_dict(both))
    assert (one + other).events == both.events == 15


def test_how_events_are_cut_makes_no_difference() -> None:
    letters = "abacbababbacababcaba" * 3
    whole = as_dict(counted(letters, horizon=7.0))
    for cuts in ((1,), (5, 6, 30), tuple(range(1, 60))):
        assert as_dict(counted(letters, horizon=7.0, cuts=cuts)) == pytest.approx(whole)


def test_a_move_weighs_less_with_every_event_after_it() -> None:
    counts = counted("ab", horizon=10.0)
    weights = as_dict(counts)
    assert sorted(weights.values()) == pytest.approx([np.exp(-0.1), 1.0])
    assert counted("a" * 1000, horizon=10.0).weight == pytest.approx(1 / (1 - np.exp(-0.1)), rel=1e-3)


def test_fading_keeps_proportions() -> None:
    counts = counted("abab" * 20)
    before = as_dict(counts)
    counts.fade(8.0)
    assert counts.weight == pytest.approx(8.0)
    assert as_dict(counts) == pytest.approx({move: weight / 10 for move, weight in before.items()})
    counts.fade(100.0)
    assert counts.weight == pytest.approx(8.0)


def test_kept_and_restored() -> None:
    counts = counted("ababbacab", horizon=100.0)
    again = MoveCounts.restored(counts.plain(), counts.arrays())
    assert as_dict(again) == as_dict(counts)
    assert (again.events, again.horizon) == (counts.events, counts.horizon)
    with pytest.raises(ValueError, match="belong together"):
        MoveCounts.restored(counts.plain(), {**counts.arrays(), "weight": np.zeros(1)})


def test_many_states_and_symbols_are_told_apart_as_far_as_there_is_room() -> None:
    names = NodeNames()
    states = np.arange(1, 20_001)
    numbers = names.number_states(states, np.minimum(states, 300))
    assert np.unique(numbers[:7_999]).size == 7_999
    assert names.signature(int(numbers[7_998])) == 7_999
    assert np.unique(numbers[8_000:]).size == 1  # all as far
    assert names.signature(int(numbers[-1])) is None
    assert names.depth(numbers[[0, 99, -1]]).tolist() == [1, 100, 191]
    assert names.number_symbols(np.arange(1_000)).max() == 127

    def nodes(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        return node_of(numbers, np.zeros(numbers.size, np.bool_), ZERO, ZERO)

    assert (names.renumbered(nodes(numbers), names) == nodes(numbers)).all()
