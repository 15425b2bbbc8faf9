"""Aguilera 1999: its worked examples, its successor sets, its bound on the nodes visited."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given

from tests.code_space import Case, Predicate, batch_of, cases, table_of
from tests.filters.outline import ANY, Path, edges, outline, paths, successors
from vedette.filters.tree import MatchingTree, TreeOptions
from vedette.kernels.bundles import CodedBatch, PredicateTable

PLAIN = TreeOptions(collapse=False)


def by_number(columns: int, **switches: bool) -> TreeOptions:
    return TreeOptions(order=tuple(range(columns)), **switches)


def build(conjunctions: list[list[Predicate]], options: TreeOptions, columns: int = 8) -> MatchingTree:
    return MatchingTree.build(table_of(conjunctions), columns, batch_of([[0] * columns]), options)


def equality(values: list[int | None]) -> list[Predicate]:
    """attribute i = values[i]; None: any."""
    return [(column, value, 0) for column, value in enumerate(values) if value is not None]


def test_figure_1_subscriptions_share_a_test() -> None:
    city, temperature, wind = 0, 1, 2
    tree = build([[(city, 1, 0), (temperature, 0, 40)], [(city, 2, 0), (wind, 5, 9)]], by_number(3))
    assert outline(tree) == {(city, 1): {(temperature, 0, 40): [0]}, (city, 2): {(wind, 5, 14): [1]}}
    assert tree.nodes == 5


def test_figure_2_a_star_edge_for_those_that_do_not_care() -> None:
    tree = build([[(0, 0, 9), (1, 0, 9)], [(2, 0, 9), (3, 0, 9)]], by_number(4))
    assert outline(tree) == {(0, 0, 9): {(1, 0, 9): [0]}, ANY: {(2, 0, 9): {(3, 0, 9): [1]}}}
    outside = batch_of([[100, 100, 100, 100, 0, 0, 0, 0]])
    assert tree.match_counting(outside)[1].tolist() == [2], "tests 1 and 3 are evaluated in any case"


def test_figure_3_a_test_is_evaluated_only_where_one_that_it_implies_holds() -> None:
    third, first = (0, 3, 2), (0, 1, 8)  # x in [3, 5] implies x in [1, 9]
    tree = build([[first, (1, 0, 9)], [third, (2, 0, 9)]], by_number(3))
    assert outline(tree) == {(0, 1, 9): {(0, 3, 5): {(2, 0, 9): [1]}, ANY: {(1, 0, 9): [0]}}}
    outside = batch_of([[100, 0, 0, 0, 0, 0, 0, 0]])
    assert tree.match_counting(outside)[1].tolist() == [1], "test 3 is not evaluated when test 1 fails"


def test_implication_reaches_over_siblings_and_complements() -> None:
    not_null, above, below, far, not_four = (0, 0, 2**31 - 1), (0, 5, 4), (0, 1, 3), (0, 20, 9), (0, 5, 2**32 - 2)
    tree = build([[not_null], [above], [below], [far], [not_four]], by_number(1))
    assert outline(tree) == {
        (0, 0, 2**31 - 1): {(0, 1, 4): [2], ANY: [0]},
        ANY: {(0, 5, 2**32 + 3): {(0, 5, 9): [1], ANY: {(0, 20, 29): [3], ANY: [4]}}},
    }


def test_figure_5_one_level_for_each_attribute() -> None:
    subscriptions = [equality([1, 2, 3]), equality([1, None, 30]), equality([10, 2, 3])]
    assert outline(build(subscriptions, by_number(3, collapse=False))) == {
        (0, 1): {(1, 2): {(2, 3): [0]}, ANY: {(2, 30): [1]}},
        (0, 10): {(1, 2): {(2, 3): [2]}},
    }


FIGURE_6: list[list[int | None]] = [
    [1, 2, 3, 1, 2],
    [1, 2, 3, None, 5],  # through I
    [1, None, 3, 1, 3],  # through G
    [1, None, 3, None, 2],  # through G and K
    [1, 2, None, 1, 4],  # through H
    [None, None, 3, 2, None],  # through E
    [None, 2, None, 1, None],  # through F
    [2, None, None, None, 1],  # J, and A that only a *-edge leaves
]


def figure_6(**switches: bool) -> MatchingTree:
    return build([equality(values) for values in FIGURE_6], by_number(5, **switches))


def test_figure_6_chains_of_star_edges_are_collapsed() -> None:
    plain, collapsed = figure_6(collapse=False), figure_6(collapse=True)
    assert outline(plain)[0, 2] == {ANY: {ANY: {ANY: {(4, 1): [7]}}}}
    assert outline(collapsed)[0, 2] == {(4, 1): [7]}


def test_figure_6_successors_of_node_c() -> None:
    row = paths(figure_6(collapse=False))
    names = {
        "C": (1, 2, 3),
        "E": (ANY, ANY, 3),
        "F": (ANY, 2, ANY),
        "G": (1, ANY, 3),
        "H": (1, 2, ANY),
        "I": (1, 2, 3, ANY),
        "K": (1, ANY, 3, ANY),
    }
    assert (ANY, 2, 3) not in row, "node D is not there: its successors stand in for it"
    tree = figure_6(collapse=False, successors=True)
    assert successors(tree, row[names["C"]]) == {row[names[name]] for name in "EFGHI"}
    refined = figure_6(collapse=False, successors=True, refine=True)
    assert successors(refined, row[names["C"]]) == {row[names[name]] for name in "EKI"}
    # The paper's event: it goes down to C, is blocked there, and matches through I's and K's sides.
    event = batch_of([[1, 2, 3, 8, 2, 0, 0, 0]])
    for found in (tree, refined, figure_6(successors=True), figure_6()):
        assert found.match(event).conjunction.tolist() == [3]
    visits = [int(found.match_counting(event)[1][0]) for found in (figure_6(collapse=False), tree, refined)]
    assert visits == sorted(visits, reverse=True)
    assert visits[0] > visits[2]


def naive_successors(row_of: dict[Path, int], path: Path) -> set[int]:
    """The definition of §5, word for word; the path need not exist."""
    found = {row_of[*path, ANY]} if (*path, ANY) in row_of else set()
    for place in range(len(path) - 1, -1, -1):
        if path[place] == ANY:
            break
        other = (*path[:place], ANY, *path[place + 1 :])
        found |= {row_of[other]} if other in row_of else naive_successors(row_of, other)
    return found


@pytest.mark.interpreted
@given(cases(equality=True, conjunctions=40))
def test_successor_sets_are_those_of_the_definition(case: Case) -> None:
    order = tuple(range(case.ranks))
    plain = MatchingTree.build(case.table, case.ranks, case.batch, TreeOptions(collapse=False, order=order))
    tree = MatchingTree.build(
        case.table, case.ranks, case.batch, TreeOptions(collapse=False, successors=True, order=order)
    )
    if plain.nodes == 0:
        return
    row_of = paths(plain)
    for path, row in row_of.items():
        assert successors(tree, row) == naive_successors(row_of, path)


def bound(values: int, attributes: int, subscriptions: int) -> float:
    """Theorem 1."""
    k = attributes + 1
    a = math.log(values) / (math.log(values) + math.log(k))
    factor = values * k * (math.log(values) + math.log(k)) / ((values * k - 1) * math.log(k))
    return factor * k * subscriptions ** (1 - a)


def random_subscriptions(values: int, attributes: int, count: int, care: float, seed: int) -> PredicateTable:
    """Each attribute is tested with probability `care`; all subscriptions differ."""
    random = np.random.default_rng(seed)
    wanted = np.where(
        random.random((4 * count, attributes)) < care, random.integers(0, values, (4 * count, attributes)), -1
    )
    _, first = np.unique(wanted, axis=0, return_index=True)
    wanted = wanted[np.sort(first)[:count]]
    tested = wanted >= 0
    start = np.zeros(len(wanted) + 1, np.int64)
    np.cumsum(tested.sum(axis=1), out=start[1:])
    return PredicateTable(
        start,
        np.nonzero(tested)[1].astype(np.int32),
        wanted[tested].astype(np.int32),
        np.zeros(tested.sum(), np.uint32),
    )


def uniform_events(values: int, attributes: int, count: int, seed: int) -> CodedBatch:
    random = np.random.default_rng(seed)
    ranks = random.integers(0, values, (attributes, count)).astype(np.int32)
    return CodedBatch(ranks, np.empty((0, count), np.int32), np.zeros(1, np.int64), np.empty(0, np.int32))


@pytest.mark.parametrize("care", [0.3, 0.6, 0.9])
@pytest.mark.parametrize(("values", "attributes"), [(2, 6), (3, 10), (5, 8), (10, 5)])
def test_theorem_1_visits_stay_below_the_bound(values: int, attributes: int, care: float) -> None:
    events = uniform_events(values, attributes, 400, seed=1)
    for wanted in (30, 300, 3000):
        table = random_subscriptions(values, attributes, wanted, care, seed=2)
        count = table.start.size - 1
        tree = MatchingTree.build(table, attributes, events, PLAIN)
        assert tree.match_counting(events)[1].mean() <= bound(values, attributes, count)
        assert tree.nodes <= (attributes + 1) * count, "Lemma 2: space is linear"


def test_theorem_1_holds_for_the_dearest_subscriptions() -> None:
    """Few values asked for, by way of many *-edges: the nodes that are visited most."""
    attributes, values = 10, 3
    every = sorted(product([None, 0], repeat=attributes), key=lambda asked: asked.count(0))
    events = uniform_events(values, attributes, 2000, seed=3)
    for count in (10, 100, 1000):
        table = table_of([equality(list(asked)) for asked in every[:count]])
        visits = MatchingTree.build(table, attributes, events, PLAIN).match_counting(events)[1]
        assert visits.mean() <= bound(values, attributes, count)


def test_expected_visits_are_those_of_equation_6() -> None:
    """A node with n value edges on its path is visited by the n-th power of 1 / V of all events."""
    values, attributes = 3, 5
    table = random_subscriptions(values, attributes, 60, 0.5, seed=4)
    events = batch_of([list(event) for event in product(range(values), repeat=attributes)])
    tree = MatchingTree.build(table, attributes, events, PLAIN)

    @cache
    def cost(row: int, tested: int) -> float:
        below = edges(tree, row).items()
        return values**-tested + sum(cost(child, tested + (label != ANY)) for label, child in below)

    assert tree.match_counting(events)[1].mean() == pytest.approx(cost(int(tree.flat.roots[0]), 0))


def test_visits_grow_more_slowly_than_subscriptions_and_nodes_no_faster() -> None:
    values, attributes = 3, 20
    events = uniform_events(values, attributes, 300, seed=5)
    counts, visits, nodes = [500, 2000, 8000, 32000], [], []
    for count in counts:
        tree = MatchingTree.build(
            random_subscriptions(values, attributes, count, 0.5, seed=6), attributes, events, PLAIN
        )
        visits.append(tree.match_counting(events)[1].mean())
        nodes.append(tree.nodes)
    exponent = np.polyfit(np.log(counts), np.log(visits), 1)[0]
    assert exponent < 0.85
    assert np.polyfit(np.log(counts), np.log(nodes), 1)[0] < 1.0
    assert all(n <= (attributes + 1) * count for n, count in zip(nodes, counts, strict=True))


def test_each_optimisation_saves_visits() -> None:
    values, attributes = 3, 12
    events = uniform_events(values, attributes, 300, seed=7)
    table = random_subscriptions(values, attributes, 3000, 0.4, seed=8)

    def visits(**switches: object) -> float:
        options = TreeOptions(**switches)  # type: ignore[arg-type]
        return float(MatchingTree.build(table, attributes, events, options).match_counting(events)[1].mean())

    plain, collapsed = visits(collapse=False), visits()
    assert collapsed < 0.8 * plain
    assert visits(successors=True, refine=True) < collapsed
    assert visits(collapse=False, successors=True) < plain
    assert visits(index=2) < collapsed
