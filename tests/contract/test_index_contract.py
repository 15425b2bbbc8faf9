"""What every index promises: the same pairs as trying every predicate on every event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.code_space import Case, batch_of, cases, table_of
from tests.naive import naive_pairs
from tests.plugin_packages import installed, of_page
from vedette.filters.index import Index, index_class, names
from vedette.kernels.bundles import MISSING, CodedBatch, ConjunctionPairs, PredicateTable


@pytest.fixture(params=[*names(), "every"], scope="module")
def kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[type[Index]]:
    """Each of the indexes in turn, and the one of docs/how-to/write-an-index.md, which another package brings."""
    folder = tmp_path_factory.mktemp("package")
    if request.param == "every":
        of_page("docs/how-to/write-an-index.md", folder)
    with installed(folder):
        yield index_class(request.param)


def _listed(pairs: ConjunctionPairs) -> list[tuple[int, int]]:
    """Sorted, and each as often as it came."""
    return sorted(zip(pairs.event.tolist(), pairs.conjunction.tolist(), strict=True))


def _only(batch: CodedBatch, event: int) -> CodedBatch:
    """A batch of one."""
    return batch._replace(
        ranks=np.ascontiguousarray(batch.ranks[:, event : event + 1]),
        sets=np.ascontiguousarray(batch.sets[:, event : event + 1]),
    )


def _restored(index: Index, table: PredicateTable, ranks: int) -> Index:
    """Made again from read-only copies of its arrays, as from a snapshot."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, array in index.arrays().items():
        assert isinstance(array, np.ndarray), name
        assert array.dtype != np.object_, name
        copy = array.copy()
        copy.flags.writeable = False
        arrays[name] = copy
    return type(index).restore(table, ranks, arrays)


@pytest.mark.interpreted
@given(case=cases(), sampled=st.booleans())
def test_pairs_are_those_of_brute_force(kind: type[Index], case: Case, sampled: bool) -> None:
    table, ranks, batch = case.table, case.ranks, case.batch
    if not batch.ranks.shape[1]:
        batch = batch._replace(ranks=np.zeros((ranks, 0), np.int32))
    nothing = batch._replace(ranks=batch.ranks[:, :0].copy(), sets=batch.sets[:, :0].copy())
    index = kind.build(table, ranks, batch if sampled else nothing)
    wanted = sorted(naive_pairs(table, ranks, batch))
    assert _listed(index.match(batch)) == wanted
    for event in range(batch.ranks.shape[1]):
        assert sorted(index.match_one(_only(batch, event)).tolist()) == [c for e, c in wanted if e == event]
    assert _listed(_restored(index, table, ranks).match(batch)) == wanted


def _random_table(random: np.random.Generator, conjunctions: int, ranks: int, highest: int) -> PredicateTable:
    """Equality, ranges, complements and tests for null over all columns, one to five a conjunction."""
    made = []
    for _ in range(conjunctions):
        chosen = []
        for column in random.permutation(ranks)[: random.integers(1, 6)]:
            low, high = np.sort(random.integers(0, highest + 1, 2))
            shape = random.random()
            if shape < 0.5:
                chosen.append((int(column), int(low), 0))
            elif shape < 0.8:
                chosen.append((int(column), int(low), int(high - low)))
            elif shape < 0.9:
                chosen += [(int(column), int(high) + 1, 2**32 - 2 - int(high - low)), (int(column), 0, highest)]
            elif shape < 0.95:
                chosen.append((int(column), MISSING, int(low)))
            else:
                chosen.append((int(column), MISSING, 0))
        made.append(chosen)
    return table_of(made)


def _random_batch(random: np.random.Generator, events: int, ranks: int, highest: int) -> CodedBatch:
    rows = random.integers(0, highest + 1, (events, ranks))
    rows[random.random(rows.shape) < 0.3] = MISSING
    return batch_of(rows.tolist())


@pytest.mark.parametrize("highest", [2, 40, 100_000])
def test_pairs_are_those_of_the_scan_where_brute_force_is_too_slow(kind: type[Index], highest: int) -> None:
    random = np.random.default_rng(highest)
    table = _random_table(random, 3000, 8, highest)
    sample, batch = (_random_batch(random, events, 8, highest) for events in (256, 500))
    wanted = _listed(index_class("scan").build(table, 8, sample).match(batch))
    index = kind.build(table, 8, sample)
    assert _listed(index.match(batch)) == wanted
    assert _listed(_restored(index, table, 8).match(batch)) == wanted
    for event in range(40):
        assert sorted(index.match_one(_only(batch, event)).tolist()) == [c for e, c in wanted if e == event]


@pytest.mark.interpreted
def test_nothing_to_match(kind: type[Index]) -> None:
    batch = batch_of([[1], [MISSING]])
    assert _listed(kind.build(table_of([]), 1, batch).match(batch)) == []
    assert kind.build(table_of([]), 1, batch).match_one(_only(batch, 0)).tolist() == []
    no_events = batch._replace(ranks=batch.ranks[:, :0].copy(), sets=batch.sets[:, :0].copy())
    assert _listed(kind.build(table_of([[(0, 1, 0)]]), 1, batch).match(no_events)) == []


@pytest.mark.interpreted
def test_what_asks_for_nothing_always_matches(kind: type[Index]) -> None:
    batch = batch_of([[1], [MISSING]])
    index = kind.build(table_of([[], [(0, 1, 0)], []]), 1, batch)
    assert _listed(index.match(batch)) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 2)]
    without_columns = CodedBatch(np.zeros((0, 3), np.int32), np.zeros((0, 3), np.int32), np.zeros(1, np.int64), _NONE)
    assert _listed(kind.build(table_of([[], []]), 0, without_columns).match(without_columns)) == [
        (e, c) for e in range(3) for c in range(2)
    ]


_NONE = np.zeros(0, np.int32)


@pytest.mark.interpreted
def test_tokens_alone(kind: type[Index]) -> None:
    batch = batch_of([[], [], []], [[frozenset({0, 2}), frozenset(), frozenset({1})]])
    index = kind.build(table_of([[(0, 0, 0)], [(0, 1, 1)], [(0, 2, 0), (0, 1, 1)]]), 0, batch)
    assert _listed(index.match(batch)) == [(0, 0), (0, 1), (0, 2), (1, 1)]


def test_threads_share_an_index(kind: type[Index]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    random = np.random.default_rng(3)
    table = _random_table(random, 500, 4, 20)
    batches = [_random_batch(random, 200, 4, 20) for _ in range(8)]
    index = kind.build(table, 4, batches[0])
    wanted = [_listed(index.match(batch)) for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert list(pool.map(lambda b: _listed(index.match(b)), batches)) == wanted
            ones = list(pool.map(lambda b: sorted(index.match_one(_only(b, 7)).tolist()), batches))
            assert ones == [[c for e, c in listed if e == 7] for listed in wanted]
