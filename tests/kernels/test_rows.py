from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.filters.kernels.match_rows import MatchRows, events_of, rows_of, side_by_side
from vedette.kernels.bundles import ConjunctionPairs

_EVENTS, _CONJUNCTIONS = 5, 130
_PAIRS = st.sets(st.tuples(st.integers(0, _EVENTS - 1), st.integers(0, _CONJUNCTIONS - 1)), max_size=60)


def _listed(rows: MatchRows) -> list[list[int]]:
    return [rows.subscription[a:b].tolist() for a, b in zip(rows.start[:-1], rows.start[1:], strict=True)]


@pytest.mark.interpreted
@pytest.mark.parametrize("ordered", [False, True])
@given(pairs=_PAIRS, dead=st.sets(st.integers(0, _CONJUNCTIONS - 1)), owned=st.booleans(), shuffle=st.randoms())
def test_rows_are_the_living_owners_once_each(
    ordered: bool, pairs: set[tuple[int, int]], dead: set[int], owned: bool, shuffle: object
) -> None:
    listed = sorted(pairs)
    shuffle.shuffle(listed)  # type: ignore[attr-defined]
    owner = np.arange(_CONJUNCTIONS, dtype=np.int32) // 3 if owned else np.zeros(0, np.int32)
    alive = np.full(3, 2**64 - 1, np.uint64)
    for ordinal in dead:
        alive[ordinal // 64] &= ~np.uint64(1 << (ordinal % 64))
    event, conjunction = (np.array([pair[i] for pair in listed], np.int32) for i in range(2))
    rows = rows_of(
        ConjunctionPairs(event, conjunction),
        _EVENTS,
        _CONJUNCTIONS,
        owner=owner,
        alive=alive if dead else np.zeros(0, np.uint64),
        repeats=owned,
        ordered=ordered,
    )
    wanted: list[set[int]] = [set() for _ in range(_EVENTS)]
    for e, c in pairs:
        wanted[e].add(c // 3 if owned else c)
    found = _listed(rows)
    assert [sorted(row) for row in found] == [sorted(row - dead) for row in wanted]
    if ordered:
        assert found == [sorted(row) for row in found]


@pytest.mark.interpreted
@given(
    pairs=_PAIRS, dead=st.sets(st.integers(0, 50), max_size=5), vetoes=st.sets(st.integers(0, 129)), twice=st.booleans()
)
def test_a_veto_takes_its_owner_away(
    pairs: set[tuple[int, int]], dead: set[int], vetoes: set[int], twice: bool
) -> None:
    owner = np.arange(_CONJUNCTIONS, dtype=np.int32) // (3 if twice else 1)
    alive = np.full(3, 2**64 - 1, np.uint64)
    for ordinal in dead:
        alive[ordinal // 64] &= ~np.uint64(1 << (ordinal % 64))
    event, conjunction = (np.array([pair[i] for pair in sorted(pairs)], np.int32) for i in range(2))
    marked = np.zeros(_CONJUNCTIONS, np.bool_)
    marked[list(vetoes)] = True
    found = ConjunctionPairs(event, conjunction.copy())
    rows = rows_of(found, _EVENTS, _CONJUNCTIONS, owner=owner, alive=alive, repeats=twice, ordered=False, vetoes=marked)
    assert found.conjunction.tolist() == conjunction.tolist()
    wanted = []
    for e in range(_EVENTS):
        held = {c for at, c in pairs if at == e}
        gone = {int(owner[c]) for c in held & vetoes} | dead
        wanted.append(sorted({int(owner[c]) for c in held - vetoes} - gone))
    assert _listed(rows) == wanted


@pytest.mark.interpreted
def test_many_subscriptions_take_several_passes() -> None:
    random = np.random.default_rng(1)
    event = random.integers(0, 40, 500).astype(np.int32)
    conjunction = random.permutation(5_000_000)[:500].astype(np.int32)
    nothing, everyone = np.zeros(0, np.int32), np.zeros(0, np.uint64)
    rows = rows_of(
        ConjunctionPairs(event, conjunction), 40, 5_000_000, owner=nothing, alive=everyone, repeats=False, ordered=True
    )
    assert _listed(rows) == [sorted(conjunction[event == e].tolist()) for e in range(40)]


@pytest.mark.interpreted
def test_two_sets_side_by_side() -> None:
    first = MatchRows(np.array([0, 2, 2, 3]), np.array([1, 4, 0], np.int32))
    second = MatchRows(np.array([0, 1, 2, 2]), np.array([0, 3], np.int32))
    both = side_by_side(first, second, 10)
    assert _listed(both) == [[1, 4, 10], [13], [0]]
    assert events_of(both, 100).tolist() == [100, 100, 100, 101, 102]
