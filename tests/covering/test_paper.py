"""Ouksel 2006: its examples to the letter, what is wrong in it beside what is right, and its hardest scenario."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from benchmarks.micro.covering import extreme_non_cover, redundant_covering
from experiments.ouksel.paper_algorithm import algorithm_4
from tests.covering.grid_oracle import Question, covered, is_witness, question
from vedette.covering.box_decision import (
    conflict_table,
    covered_by,
    covering_alone,
    decide,
    error_after,
    found_along_path,
    guess,
    guesses_needed,
    has_polyhedron_witness,
    minimized_cover_set,
    witness_probability,
)
from vedette.covering.order_labels import HIGHEST, LOWEST

TABLE_3 = question([(830, 870), (1003, 1006)], [[(820, 850), (1001, 1007)], [(840, 880), (1002, 1009)]])
TABLE_6 = question([(830, 890), (1003, 1006)], [[(820, 850), (1002, 1009)], [(840, 870), (1001, 1007)]])
TABLE_7 = question(  # x_2 of s_3 is printed as [1000, 10054]; table 8 says what was meant
    [(830, 870), (1003, 1006)],
    [[(820, 850), (1001, 1007)], [(840, 880), (1002, 1009)], [(810, 890), (1004, 1005)]],
)


def _entries(asked: Question) -> list[list[str]]:
    """The conflict table as the paper prints it."""
    rows = []
    for row, defined in enumerate(conflict_table(*asked).tolist()):
        texts = []
        for j in range(len(asked.s_low)):
            below, above = f"x_{j + 1} < {asked.low[row, j]}", f"x_{j + 1} > {asked.high[row, j] - 1}"
            texts += [below if defined[2 * j] else "undefined", above if defined[2 * j + 1] else "undefined"]
        rows.append(texts)
    return rows


# ------------------------------------------------------------ the examples


def test_table_5_is_the_conflict_table_of_figure_2() -> None:
    assert _entries(TABLE_3) == [
        ["undefined", "x_1 > 850", "undefined", "undefined"],
        ["x_1 < 840", "undefined", "undefined", "undefined"],
    ]


@pytest.mark.interpreted
def test_the_box_of_table_3_is_covered_by_both_together() -> None:
    assert not len(covering_alone(conflict_table(*TABLE_3)))
    made = decide(*TABLE_3)
    assert (made.covered, made.method, made.certain, made.by) == (True, "exact", True, (0, 1))
    assert covered(TABLE_3)


@pytest.mark.interpreted
def test_the_box_of_table_6_is_not_covered() -> None:
    assert has_polyhedron_witness(conflict_table(*TABLE_6))  # one and two defined entries
    assert not has_polyhedron_witness(conflict_table(*TABLE_3))
    made = decide(*TABLE_6)
    assert (made.covered, made.method, made.certain) == (False, "witness", True)
    # Figure 3: the rectangle x_1 > 870 is the polyhedron witness.
    assert made.witness is not None
    assert made.witness[0] > 870
    assert is_witness(TABLE_6, made.witness)


def test_table_8_is_the_conflict_table_of_figure_4() -> None:
    assert _entries(TABLE_7) == [
        ["undefined", "x_1 > 850", "undefined", "undefined"],
        ["x_1 < 840", "undefined", "undefined", "undefined"],
        ["undefined", "undefined", "x_2 < 1004", "x_2 > 1005"],
    ]


@pytest.mark.interpreted
def test_mcs_drops_the_third_candidate_of_figure_4() -> None:
    assert minimized_cover_set(*TABLE_7).tolist() == [0, 1]
    assert decide(*TABLE_7).by == (0, 1)


# ------------------------------------------------------------ what is wrong in it


def _minimized(asked: Question, free_entries: int) -> list[int]:
    """Algorithm 3; it is printed with `free_entries` = 0."""
    table = conflict_table(*asked)
    left = list(range(len(table)))
    while True:
        before = list(left)
        for row in before:
            free = sum(_is_free(asked, table, left, row, entry) for entry in np.flatnonzero(table[row]).tolist())
            if free >= free_entries or table[row].sum() >= len(left):
                left.remove(row)
        if left == before:
            return left


def _is_free(asked: Question, table: np.ndarray, left: list[int], row: int, entry: int) -> bool:
    j, upper = divmod(int(entry), 2)
    others = [other for other in left if other != row and table[other, 2 * j + 1 - upper]]
    if upper:
        return all(asked.high[row, j] < asked.low[other, j] for other in others)
    return all(asked.high[other, j] < asked.low[row, j] for other in others)


def test_algorithm_3_as_printed_drops_everybody() -> None:
    assert _minimized(TABLE_7, 0) == []  # so nothing would ever be covered
    assert _minimized(TABLE_7, 1) == minimized_cover_set(*TABLE_7).tolist() == [0, 1]


def _covers_alone_as_printed(table: list[list[bool]]) -> bool:
    """Lines 3 to 14 of algorithm 4."""
    for row in table:
        for defined in row:
            flag = True
            if defined:
                flag = False
            if flag:
                return True
    return False


def test_algorithm_4_as_printed_takes_any_undefined_entry_for_a_cover() -> None:
    assert _covers_alone_as_printed(conflict_table(*TABLE_6).tolist())
    assert not covered(TABLE_6)
    assert not len(covering_alone(conflict_table(*TABLE_6)))
    assert not algorithm_4(*TABLE_6).covered
    assert not decide(*TABLE_6, method="sampling").covered


def test_corollary_2_is_right_for_proper_ranges_only() -> None:
    asked = Question(np.array([0]), np.array([21]), np.array([[10], [5], [0]]), np.array([[HIGHEST], [9], [21]]))
    table = conflict_table(*asked)
    # s_1 is x >= 10: its only predicate conflicts, so the corollary has it that s covers s_1. x = 100 is not in s.
    predicates = np.stack([asked.low > LOWEST, asked.high < HIGHEST], axis=2).reshape(table.shape)
    printed = np.flatnonzero((table | ~predicates).all(axis=1))
    assert printed.tolist() == [0, 1]
    # With both bounds of all of them it is right, and misses who shares one.
    assert np.flatnonzero(table.all(axis=1)).tolist() == [1]
    assert covered_by(*asked).tolist() == [1, 2]


def test_equation_2_as_printed_confuses_two_probabilities() -> None:
    publishing, witness, guesses, brokers = 0.1, 0.02, 20, 6
    goes_on = 1 - (1 - witness) ** guesses  # the error is found
    expected = 0.0
    for _ in range(brokers):  # from the last broker on
        expected = publishing + (1 - publishing) * goes_on * expected
    assert found_along_path(publishing, witness, guesses, brokers) == pytest.approx(expected)
    printed = sum(
        publishing * ((1 - publishing) * (1 - (1 - publishing) ** guesses)) ** distance for distance in range(brokers)
    )
    assert printed > 2 * expected
    assert found_along_path(publishing, witness, 0, brokers) == pytest.approx(publishing)
    assert found_along_path(publishing, 1.0, guesses, brokers) == pytest.approx(1 - (1 - publishing) ** brokers)


def test_algorithm_2_is_no_lower_bound() -> None:
    asked = question([(0, 100)], [[(0, 50)], [(60, 100)]])
    estimate = witness_probability(*asked)
    assert estimate == pytest.approx(50 / 101)  # what x > 50 leaves; x < 60 leaves 60
    truth = 9 / 101  # 51 to 59
    guesses = int(guesses_needed(estimate, 1e-3))
    assert error_after(estimate, guesses) <= 1e-3
    assert error_after(truth, guesses) > 0.3


def test_so_sampling_may_call_covered_what_has_a_hole_and_auto_does_not() -> None:
    ring = question(  # every entry conflicts with one of a neighbour's, so MCS drops nobody
        [(0, 100), (0, 100)],
        [[(0, 44), (0, 54)], [(0, 54), (55, 100)], [(55, 100), (45, 100)], [(45, 100), (0, 44)]],
    )
    assert witness_probability(*ring) > 10 * 100 / 101**2  # the hole has 100 points
    made = [decide(*ring, method="sampling", error=1e-3, seed=seed) for seed in range(20)]
    wrong = [decision for decision in made if decision.covered]
    assert wrong
    assert not any(decision.certain for decision in wrong)
    assert is_witness(ring, decide(*ring).witness)


# ------------------------------------------------------------ guessing


def test_guesses_by_equation_1() -> None:
    for probability in (0.5, 0.01, 1e-6):
        for error in (1e-3, 1e-6, 1e-10):
            needed = int(guesses_needed(probability, error))
            assert error_after(probability, needed) <= error < error_after(probability, needed - 1)
    assert guesses_needed(1.0, 1e-10) == 1
    assert guesses_needed(0.0, 1e-10) == np.inf
    assert all(few < many for few, many in pairwise(guesses_needed(0.01, error) for error in (1e-3, 1e-6, 1e-10)))


def test_what_is_guessed_wrong_is_what_was_asked_for() -> None:
    asked = question([(0, 999)], [[(0, 979)]])  # a gap of 2 %, which algorithm 2 sees as it is
    assert witness_probability(*asked) == pytest.approx(0.02)
    missed = sum(guess(*asked, error=0.05, most=10**6, seed=seed).point is None for seed in range(2000))
    assert 50 < missed < 150  # 100 expected, 10 the standard deviation


def test_extreme_non_cover_is_never_called_covered() -> None:
    random = np.random.default_rng(7)
    for gap in np.arange(0.005, 0.0451, 0.005):
        for error in (1e-3, 1e-6, 1e-10):
            for _ in range(8):
                asked = Question(*extreme_non_cover(random, 50, 5, gap))
                made = decide(*asked, error=error)
                assert (made.covered, made.certain) == (False, True)
                assert is_witness(asked, made.witness)


def test_sampling_finds_extreme_non_cover_but_for_few() -> None:
    random = np.random.default_rng(8)
    wrong = 0
    for number in range(200):
        asked = Question(*extreme_non_cover(random, 50, 5, 0.02))
        made = decide(*asked, method="sampling", error=1e-6, seed=number)
        wrong += made.covered
        assert made.covered or is_witness(asked, made.witness)
    assert wrong <= 2


def test_redundant_covering_is_found_and_not_all_are_needed() -> None:
    random = np.random.default_rng(9)
    for _ in range(20):
        asked = Question(*redundant_covering(random, 100, 10))
        made = decide(*asked)
        assert (made.covered, made.certain) == (True, True)
        assert len(made.by) <= 40
        assert decide(*asked.only(made.by)).covered
        sampled = decide(*asked, method="sampling", budget=2000)
        assert sampled.covered
