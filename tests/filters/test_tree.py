"""The matching tree gives the right answers, whatever its switches and however it came about."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.aguilera.growing_tree import GrowingTree
from tests.code_space import Case, batch_of, cases, table_of
from tests.naive import naive_pairs
from vedette.errors import InputError, SnapshotError, UnknownSubscription
from vedette.filters.tree import MatchingTree, TreeOptions
from vedette.kernels.bundles import CodedBatch, ConjunctionPairs

SWITCHES = [
    TreeOptions(collapse=collapse, successors=successors, refine=refine, index=index)
    for collapse in (True, False)
    for successors, refine in ((False, False), (True, False), (True, True))
    for index in (0, 2)
]


def pairs_of(found: ConjunctionPairs) -> set[tuple[int, int]]:
    listed = list(zip(found.event.tolist(), found.conjunction.tolist(), strict=True))
    assert len(set(listed)) == len(listed), "a pair came twice"
    return set(listed)


def single(batch: CodedBatch, event: int) -> CodedBatch:
    one = slice(event, event + 1)
    return batch._replace(ranks=batch.ranks[:, one].copy(), sets=batch.sets[:, one].copy())


def check(tree: MatchingTree, case: Case) -> None:
    """Batch and single event, with the same visits."""
    wanted = naive_pairs(case.table, case.ranks, case.batch)
    assert pairs_of(tree.match(case.batch)) == wanted
    found, visits = tree.match_counting(case.batch)
    assert pairs_of(found) == wanted
    for event in range(case.batch.ranks.shape[1]):
        conjunctions, visited = tree.match_one_counting(single(case.batch, event))
        assert sorted(conjunctions.tolist()) == sorted(c for e, c in wanted if e == event)
        assert visited == visits[event]


@pytest.mark.interpreted
@given(cases())
def test_every_switch_gives_the_same_matches(case: Case) -> None:
    for options in SWITCHES:
        check(MatchingTree.build(case.table, case.ranks, case.batch, options), case)


@pytest.mark.interpreted
@given(cases(equality=True, conjunctions=60))
def test_every_switch_gives_the_same_matches_in_the_equality_form(case: Case) -> None:
    for options in SWITCHES:
        check(MatchingTree.build(case.table, case.ranks, case.batch, options), case)


@given(cases(), st.data())
def test_order_and_sample_never_change_the_answer(case: Case, data: st.DataObject) -> None:
    columns = case.ranks + case.batch.sets.shape[0]
    order = tuple(data.draw(st.permutations(range(columns))))
    nothing = case.batch._replace(ranks=case.batch.ranks[:, :0].copy(), sets=case.batch.sets[:, :0].copy())
    for options in (TreeOptions(order=order), TreeOptions(order=order[:1], successors=True), TreeOptions()):
        check(MatchingTree.build(case.table, case.ranks, nothing, options), case)


def index_candidates(case: Case) -> list[int]:
    inexact = {column for conjunction in case.conjunctions for column, _, width in conjunction if width}
    return [column for column in range(case.ranks) if column not in inexact]


@pytest.mark.interpreted
@given(cases(), st.data())
def test_growing_and_bulk_built_trees_are_the_same(case: Case, data: st.DataObject) -> None:
    columns = case.ranks + case.batch.sets.shape[0]
    order = tuple(data.draw(st.permutations(range(columns))))
    index = tuple(data.draw(st.permutations(index_candidates(case)))[:2])
    growing = GrowingTree(case.ranks, order, index)
    held: set[int] = set()
    for conjunction in data.draw(st.permutations(range(len(case.conjunctions)))):
        growing.add(conjunction, case.conjunctions[conjunction])
        held.add(conjunction)
        if data.draw(st.booleans()):
            gone = data.draw(st.sampled_from(sorted(held)))
            growing.remove(gone)
            held.remove(gone)
    assert len(growing) == len(held)
    number = {conjunction: place for place, conjunction in enumerate(sorted(held))}
    table = table_of([case.conjunctions[conjunction] for conjunction in sorted(held)])
    for switches in SWITCHES:
        options = TreeOptions(switches.collapse, switches.successors, switches.refine, index, order)
        bulk = MatchingTree.build(table, case.ranks, case.batch, options).arrays()
        grown = dict(growing.freeze(options).arrays())
        grown["members"] = np.array([number[c] for c in grown["members"].tolist()], np.int32)
        for name, array in bulk.items():
            np.testing.assert_array_equal(grown[name], array, err_msg=name, strict=True)


def test_a_growing_tree_matches_at_every_step() -> None:
    batch = batch_of([[0, 0], [0, 1], [1, 1], [-1, 2]])
    tree = GrowingTree(ranks=2, index=(0,))
    tree.add(7, [(1, 1, 0)])
    assert pairs_of(tree.freeze().match(batch)) == {(1, 7), (2, 7)}
    tree.add(3, [(0, 1, 0), (1, 0, 5)])  # a new value of the index column: 7 belongs there too
    assert pairs_of(tree.freeze().match(batch)) == {(1, 7), (2, 7), (2, 3)}
    tree.remove(7)
    assert pairs_of(tree.freeze().match(batch)) == {(2, 3)}
    tree.remove(3)
    assert pairs_of(tree.freeze().match(batch)) == set()
    assert 3 not in tree


def test_adding_twice_and_removing_the_unknown_are_errors() -> None:
    tree = GrowingTree(ranks=1)
    tree.add(1, [(0, 2, 0)])
    with pytest.raises(InputError, match="conjunction 1 is in the tree already"):
        tree.add(1, [])
    with pytest.raises(UnknownSubscription, match="conjunction 2 is not in the tree"):
        tree.remove(2)


def test_a_conjunction_that_never_holds_can_be_added_and_removed() -> None:
    tree = GrowingTree(ranks=1)
    tree.add(1, [(0, 2, 0), (0, 3, 0)])
    assert tree.freeze().nodes == 0
    tree.remove(1)
    assert len(tree) == 0


def test_only_equality_is_factored_out() -> None:
    batch = batch_of([[1]])
    with pytest.raises(InputError, match="column 0 cannot be factored out"):
        MatchingTree.build(table_of([[(0, 1, 2)]]), 1, batch, TreeOptions(index=(0,)))
    with pytest.raises(InputError, match="column 0 cannot be factored out"):
        GrowingTree(ranks=1, index=(0,)).add(1, [(0, 1, 2)])
    with pytest.raises(InputError, match="column 1 cannot be factored out"):
        GrowingTree(ranks=1, index=(1,))


def test_factoring_that_would_explode_is_refused() -> None:
    values = [[(column, value, 0) for column in range(3)] for value in range(300)]
    with pytest.raises(InputError, match="factoring out columns 0, 1, 2 takes more than"):
        MatchingTree.build(table_of(values), 3, batch_of([[0, 0, 0]]), TreeOptions(index=(0, 1, 2)))


def test_automatic_factoring_takes_what_is_rarely_left_open() -> None:
    conjunctions = [[(0, i % 2, 0), (1, i % 5, 0)] for i in range(50)] + [[(1, 1, 0), (2, 4, 0)]]
    case = Case(conjunctions, 3, batch_of([[i % 3, i % 5, i % 7] for i in range(60)]))
    tree = MatchingTree.build(case.table, 3, case.batch, TreeOptions(index=2))
    assert tree.flat.index_columns.tolist() == [1, 0]
    assert tree.flat.roots.size == 6 * 3
    check(tree, case)


@given(cases())
def test_arrays_restore_the_same_tree(case: Case) -> None:
    options = TreeOptions(successors=True, index=1)
    tree = MatchingTree.build(case.table, case.ranks, case.batch, options)
    check(MatchingTree.restore(case.table, case.ranks, tree.arrays()), case)


def test_arrays_may_be_memory_mapped(tmp_path: Path) -> None:
    conjunctions = [[(0, i % 3, 0), (1, i, 4)] for i in range(20)]
    case = Case(conjunctions, 2, batch_of([[i % 4, i] for i in range(20)]))
    for name, array in MatchingTree.build(case.table, 2, case.batch).arrays().items():
        np.save(tmp_path / f"{name}.npy", array)
    mapped = {file.stem: np.load(file, mmap_mode="r") for file in tmp_path.glob("*.npy")}
    check(MatchingTree.restore(case.table, 2, mapped), case)


def test_arrays_that_lack_one_are_refused() -> None:
    tree = MatchingTree.build(table_of([[(0, 1, 0)]]), 1, batch_of([[1]]))
    arrays = {name: array for name, array in tree.arrays().items() if name != "slots"}
    with pytest.raises(SnapshotError, match="lack slots"):
        MatchingTree.restore(table_of([]), 1, arrays)


def test_threads_match_at_the_same_time() -> None:
    random = np.random.default_rng(5)
    conjunctions = [
        [(int(c), int(random.integers(0, 4)), int(random.integers(0, 2))) for c in random.permutation(5)[:3]]
        for _ in range(500)
    ]
    batches = [batch_of(random.integers(-1, 5, (200, 5)).tolist()) for _ in range(8)]
    tree = MatchingTree.build(table_of(conjunctions), 5, batches[0])
    alone = [pairs_of(tree.match(batch)) for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda batch: pairs_of(tree.match(batch)), batches))
    assert together == alone
    assert sum(map(len, alone)) > 1000


def test_wide_nodes_long_chains_and_large_sets() -> None:
    """Beyond the room that the walks begin with."""
    nested = [[(0, i, 6000 - 2 * i)] for i in range(3000)]
    values = [[(1, i, 0)] for i in range(3000)]
    tokens = [[(2, i, 0)] for i in range(3000)]
    rows = [[3000, 7], [10, 2999], [-1, -1]]
    sets = [[frozenset(range(0, 3000, 2)), frozenset(), frozenset({5})]]
    batch = batch_of(rows, sets)
    tree = MatchingTree.build(table_of([*nested, *values, *tokens]), 2, batch)
    inside = [{3000 + 7, *range(3000), *range(6000, 9000, 2)}, {*range(11), 3000 + 2999}, {6000 + 5}]
    assert pairs_of(tree.match(batch)) == {(event, c) for event, found in enumerate(inside) for c in found}
    for event, found in enumerate(inside):
        assert set(tree.match_one(single(batch, event)).tolist()) == found
