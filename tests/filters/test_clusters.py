"""The layout of clusters: whatever it is, the pairs stay those of the scan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.code_space import Case, Predicate, batch_of, cases, table_of
from tests.naive import naive_pairs
from vedette.filters.clusters import DEFAULTS, Clusters
from vedette.filters.kernels.cluster_pages import SLOTS
from vedette.filters.scan import Scan
from vedette.kernels.bundles import CodedBatch, PredicateTable

# Pages of a few conjunctions: even small tables then have nodes, branches and grids.
TINY = DEFAULTS._replace(page=2, batch=1.0)


def _pairs(index: Clusters | Scan, batch: CodedBatch) -> list[tuple[int, int]]:
    pairs = index.match(batch)
    return sorted(zip(pairs.event.tolist(), pairs.conjunction.tolist(), strict=True))


def _ones(index: Clusters, batch: CodedBatch) -> list[tuple[int, int]]:
    found = []
    for event in range(batch.ranks.shape[1]):
        one = batch._replace(
            ranks=np.ascontiguousarray(batch.ranks[:, event : event + 1]),
            sets=np.ascontiguousarray(batch.sets[:, event : event + 1]),
        )
        found += [(event, conjunction) for conjunction in sorted(index.match_one(one).tolist())]
    return found


@pytest.mark.interpreted
@given(case=cases(conjunctions=60), slack=st.sampled_from([1.0, 3.0]), widest=st.sampled_from([0.2, 0.9]))
def test_tiny_pages_give_the_pairs_of_brute_force(case: Case, slack: float, widest: float) -> None:
    batch = case.batch
    if not batch.ranks.shape[1]:
        batch = batch._replace(ranks=np.zeros((case.ranks, 0), np.int32))
    index = Clusters.build(case.table, case.ranks, batch, TINY._replace(slack=slack, widest=widest))
    wanted = sorted(naive_pairs(case.table, case.ranks, batch))
    assert _pairs(index, batch) == wanted
    assert _ones(index, batch) == wanted


def _ranges(random: np.random.Generator, conjunctions: int, columns: int, highest: int, width: int) -> PredicateTable:
    made: list[list[Predicate]] = []
    for _ in range(conjunctions):
        chosen = random.permutation(columns)[:3]
        lows = random.integers(0, highest - width, 3)
        made.append([(int(c), int(low), int(random.integers(0, width))) for c, low in zip(chosen, lows, strict=True)])
    return table_of(made)


@pytest.mark.parametrize("width", [1, 30, 400])
@pytest.mark.parametrize("page", [2, 16, 64])
def test_ranges_of_any_width_in_pages_of_any_size(width: int, page: int) -> None:
    random = np.random.default_rng([width, page])
    table = _ranges(random, 2000, 5, 1000, width)
    batch = batch_of(random.integers(-1, 1001, (300, 5)).tolist())
    index = Clusters.build(table, 5, batch, DEFAULTS._replace(page=page, batch=64.0))
    assert _pairs(index, batch) == _pairs(Scan.build(table, 5, batch), batch)


def test_copies_are_bounded() -> None:
    random = np.random.default_rng(5)
    table = _ranges(random, 4000, 5, 10_000, 3000)
    batch = batch_of(random.integers(0, 10_000, (256, 5)).tolist())
    settings = DEFAULTS._replace(page=16, batch=64.0, replication=4.0, replication_in_all=6.0)
    arrays = Clusters.build(table, 5, batch, settings).arrays()
    entries = arrays["body"][arrays["pages"][:-1]].sum()
    # Per level the average is held to the limit, and no grid is forced to fewer than two cells.
    assert entries <= 2 * settings.replication_in_all * 4000


def test_the_same_conjunction_a_thousand_times_ends_in_pages() -> None:
    table = table_of([[(0, 3, 4), (1, 5, 0)]] * 1000)
    batch = batch_of([[5, 5], [9, 5], [5, 4]])
    index = Clusters.build(table, 2, batch, TINY)
    assert _pairs(index, batch) == [(0, c) for c in range(1000)]


def test_a_conjunction_with_thousands_of_predicates() -> None:
    wide = [(0, 0, 10_000 - i) for i in range(3000)]
    table = table_of([wide, [(0, 5, 0)], wide])
    batch = batch_of([[5], [7100], [-1]])
    index = Clusters.build(table, 1, batch, TINY)
    assert _pairs(index, batch) == [(0, 0), (0, 1), (0, 2)]
    assert _ones(index, batch) == [(0, 0), (0, 1), (0, 2)]


def test_a_sample_that_is_wrong_about_everything_changes_no_answer() -> None:
    random = np.random.default_rng(9)
    table = _ranges(random, 1500, 4, 500, 60)
    batch = batch_of(random.integers(-1, 501, (200, 4)).tolist())
    elsewhere = batch_of([[499, -1, 499, -1]] * 64)
    wanted = _pairs(Scan.build(table, 4, batch), batch)
    assert _pairs(Clusters.build(table, 4, elsewhere, TINY), batch) == wanted


def test_events_above_every_rank_that_the_index_has_heard_of() -> None:
    shapes: list[list[Predicate]] = [[(0, 2, 3)], [(0, 4, 2**31 - 10)], [(0, 0, 2**31 - 1)], [(0, 0, 5)]]
    table = table_of([*shapes, [(0, 8, 2**32 - 2)]] * 50)
    sample = batch_of([[3]])
    batch = batch_of([[2_000_000], [5], [6], [7], [8], [9], [-1]])
    assert _pairs(Clusters.build(table, 1, sample, TINY), batch) == _pairs(Scan.build(table, 1, sample), batch)


def test_a_single_event_that_reaches_and_matches_thousands() -> None:
    conjunctions: list[list[Predicate]] = [[(c, 1, 0)] for c in range(400) for _ in range(12)]
    table = table_of(conjunctions)
    batch = batch_of([[1] * 400, [0] * 400, [1] * 200 + [0] * 200])
    index = Clusters.build(table, 400, batch, TINY._replace(slack=1.0))
    assert _ones(index, batch) == _pairs(Scan.build(table, 400, batch), batch)
    assert len(_ones(index, batch)) == 4800 + 2400


def test_pairs_stay_right_when_a_later_batch_has_many_more() -> None:
    table = table_of([[(0, 0, 9)]] * 200 + [[(0, 3, 0)]] * 200)
    index = Clusters.build(table, 1, batch_of([[3]]), TINY)
    oracle = Scan.build(table, 1, batch_of([[3]]))
    for rows in ([[50]], [[3]] * 500, [[4]], [[3], [4]] * 1000):
        assert _pairs(index, batch_of(rows)) == _pairs(oracle, batch_of(rows))


def test_a_conjunction_may_have_more_predicates_than_a_page_has_slots() -> None:
    """As a list of very many networks has: the search for equal ones once never ended."""
    count = SLOTS + 1_000
    table = table_of([[(0, 0, 3 * count - number) for number in range(count)], [(0, 5, 10)]])
    batch = batch_of([[1], [7], [2 * count], [2 * count + 1], [3 * count], [-1]])
    index = Clusters.build(table, 1, batch)
    assert _pairs(index, batch) == _ones(index, batch) == [(0, 0), (1, 0), (1, 1), (2, 0), (3, 0)]
