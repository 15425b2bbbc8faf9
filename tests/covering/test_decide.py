"""Whether boxes cover a box, held against every point of a grid."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

from experiments.ouksel.paper_algorithm import algorithm_4
from tests.covering.grid_oracle import Question, covered, is_witness, question, random_question
from tests.seeds import some
from vedette.covering.box_decision import (
    DecisionMethod,
    conflict_table,
    covered_by,
    covering_alone,
    decide,
    has_polyhedron_witness,
    minimized_cover_set,
)
from vedette.covering.kernels.cover_paper import conflict_table as table_of
from vedette.covering.kernels.cover_paper import minimized
from vedette.covering.kernels.cover_rows import DenseBox, DenseBoxes
from vedette.covering.order_labels import HIGHEST, LOWEST
from vedette.errors import InputError

SEEDS = some(30)  # of a hundred questions each


@cache
def _questions(seed: int) -> list[Question]:
    random = np.random.default_rng(seed)
    return [random_question(random) for _ in range(100)]


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", SEEDS)
def test_exact_answers_are_those_of_the_grid(seed: int) -> None:
    for asked in _questions(seed):
        truth = covered(asked)
        methods: tuple[DecisionMethod, ...] = ("auto", "exact")
        for method in methods:
            made = decide(*asked, method=method)
            assert (made.covered, made.certain, made.error) == (truth, True, 0.0)
            assert truth == (made.witness is None)
            assert truth or is_witness(asked, made.witness)
            assert not truth or covered(asked.only(made.by))
            assert truth or not made.by
            assert len(minimized_cover_set(*asked.only(made.by))) == len(made.by)  # nobody is named for nothing


def test_every_way_of_deciding_is_taken() -> None:
    ways = Counter((made.method, made.covered) for asked in _questions(1) for made in [decide(*asked)])
    assert set(ways) == {
        ("pairwise", True),
        ("witness", False),
        ("empty", False),
        ("exact", True),
        ("exact", False),
    }


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", SEEDS)
def test_sampling_is_never_wrong_about_what_is_not_covered(seed: int) -> None:
    for asked in _questions(seed):
        made = decide(*asked, method="sampling", error=1e-3, seed=seed)
        assert made.certain == (not made.covered or made.method == "pairwise")
        if made.covered:
            assert made.method in {"pairwise", "sampling"}
            assert made.error == (0.0 if made.certain else 1e-3)
            assert not covered(asked) or covered(asked.only(made.by))
        else:
            assert is_witness(asked, made.witness)


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", SEEDS)
def test_pairwise_finds_who_covers_alone(seed: int) -> None:
    for asked in _questions(seed):
        alone = [row for row in range(len(asked.low)) if covered(asked.only([row]))]
        made = decide(*asked, method="pairwise")
        assert made.covered == bool(alone)
        assert set(made.by) <= set(alone)
        assert len(made.by) == made.covered
        assert made.certain == (made.covered or made.witness is not None)
        assert made.witness is None or is_witness(asked, made.witness)
        assert covering_alone(conflict_table(*asked)).tolist() == alone


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", SEEDS)
def test_the_minimized_cover_set_decides_as_all_candidates_do(seed: int) -> None:
    for asked in _questions(seed):
        kept = minimized_cover_set(*asked).tolist()
        assert covered(asked.only(kept)) == covered(asked)


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", SEEDS)
def test_the_minimized_cover_set_is_that_of_comparing_all_entries(seed: int) -> None:
    for asked in _questions(seed):
        asked = asked.only(np.flatnonzero((asked.low < asked.high).all(axis=1)).tolist())
        box, boxes = DenseBox(asked.s_low, asked.s_high), DenseBoxes(asked.low, asked.high)
        literally = np.flatnonzero(minimized(box, boxes, table_of(box, boxes)))
        assert minimized_cover_set(*asked).tolist() == literally.tolist()
        assert (conflict_table(*asked) == table_of(box, boxes)).all()


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", SEEDS)
def test_a_polyhedron_witness_means_that_the_box_is_not_covered(seed: int) -> None:
    for asked in _questions(seed):
        if has_polyhedron_witness(conflict_table(*asked)):
            assert not covered(asked)


@pytest.mark.interpreted
@pytest.mark.parametrize("seed", SEEDS)
def test_the_papers_order_agrees_where_it_is_certain(seed: int) -> None:
    for asked in _questions(seed):
        made = algorithm_4(*asked, seed=seed)
        assert not made.certain or made.covered == covered(asked)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_the_box_covers_by_itself(seed: int) -> None:
    for asked in _questions(seed):
        asked = asked.only(np.flatnonzero((asked.low < asked.high).all(axis=1)).tolist())
        clipped = np.clip(asked.low, -2, 9), np.clip(asked.high, -1, 16)  # the grid's end stands for the space's
        found = [
            row
            for row in range(len(asked.low))
            if covered(Question(clipped[0][row], clipped[1][row], asked.s_low[None], asked.s_high[None]))
        ]
        assert covered_by(*asked).tolist() == found


# ------------------------------------------------------------ the ends of the space


@pytest.mark.interpreted
@pytest.mark.parametrize("method", ["auto", "exact"])
def test_all_of_the_space_covered_by_halves_of_it(method: DecisionMethod) -> None:
    everything = np.array([LOWEST]), np.array([HIGHEST])
    halves = np.array([[LOWEST], [5]]), np.array([[5], [HIGHEST]])
    made = decide(*everything, *halves, method=method)
    assert (made.covered, made.by) == (True, (0, 1))
    apart = np.array([[LOWEST], [6]]), halves[1]
    made = decide(*everything, *apart, method=method)
    assert (made.covered, made.certain, made.witness) == (False, True, (5,))


C = 2**61
RING = np.array(  # every entry conflicts with one of a neighbour's, so MCS drops nobody
    [
        [(LOWEST, -C), (LOWEST, C)],
        [(LOWEST, C), (C, HIGHEST)],
        [(C, HIGHEST), (-C, HIGHEST)],
        [(-C, HIGHEST), (LOWEST, -C)],
    ]
)


@pytest.mark.interpreted
@pytest.mark.parametrize("method", ["sampling", "exact"])
def test_a_hole_in_the_middle_of_the_space(method: DecisionMethod) -> None:
    asked = Question(np.full(2, LOWEST), np.full(2, HIGHEST), RING[:, :, 0], RING[:, :, 1])
    assert minimized_cover_set(*asked).tolist() == [0, 1, 2, 3]
    made = decide(*asked, method=method)
    assert (made.covered, made.method, made.certain) == (False, method, True)
    assert is_witness(asked, made.witness)
    filled = asked._replace(low=np.vstack([asked.low, [-C, -C]]), high=np.vstack([asked.high, [C, C]]))
    assert decide(*filled).by == (0, 1, 2, 3, 4)


@pytest.mark.interpreted
@pytest.mark.parametrize("method", ["sampling", "exact"])
def test_a_point_is_outside_of_those_that_mcs_dropped_too(method: DecisionMethod) -> None:
    half = [[(LOWEST, HIGHEST), (LOWEST, HIGHEST), (LOWEST, 0)]]  # half of the hole, by an entry nobody conflicts with
    deep = np.concatenate([RING, np.full((4, 1, 2), (LOWEST, HIGHEST))], axis=1)
    bounds = np.concatenate([deep, half])
    asked = Question(np.full(3, LOWEST), np.full(3, HIGHEST), bounds[:, :, 0], bounds[:, :, 1])
    assert minimized_cover_set(*asked).tolist() == [0, 1, 2, 3]
    for seed in range(10):
        assert is_witness(asked, decide(*asked, method=method, seed=seed).witness)


@pytest.mark.interpreted
def test_missing_values_are_a_point_as_any_other() -> None:
    present = np.array([[LOWEST + 1]]), np.array([[HIGHEST]])
    made = decide(np.array([LOWEST]), np.array([HIGHEST]), *present)
    assert (made.covered, made.witness) == (False, (LOWEST,))
    missing = np.array([[LOWEST + 1], [LOWEST]]), np.array([[HIGHEST], [LOWEST + 1]])
    assert decide(np.array([LOWEST]), np.array([HIGHEST]), *missing).by == (0, 1)


@pytest.mark.interpreted
def test_nobody_and_no_dimension() -> None:
    nobody = decide(np.array([1, 2]), np.array([3, 4]), np.empty((0, 2), np.int64), np.empty((0, 2), np.int64))
    assert (nobody.covered, nobody.method, nobody.witness) == (False, "empty", (1, 2))
    none = np.empty(0, np.int64)
    assert decide(none, none, np.empty((1, 0), np.int64), np.empty((1, 0), np.int64)).by == (0,)


@pytest.mark.interpreted
def test_a_candidate_without_points_covers_nothing() -> None:
    nothing = np.array([[4]]), np.array([[4]])
    made = decide(np.array([0]), np.array([9]), *nothing)
    assert (made.covered, made.method) == (False, "empty")


# ------------------------------------------------------------ budget, certificates, what is handed in


def _checkers(side: int) -> Question:
    """A square in as many squares as it has points: no answer without looking at many."""
    return question([(1, side)] * 2, [[(x, x), (y, y)] for x in range(1, side + 1) for y in range(1, side + 1)])


@pytest.mark.interpreted
def test_over_the_budget_nothing_is_claimed() -> None:
    asked = _checkers(6)
    needed = decide(*asked)
    assert (needed.covered, needed.method, needed.by) == (True, "exact", tuple(range(36)))
    given_up = decide(*asked, budget=needed.work - 1)
    assert (given_up.covered, given_up.method, given_up.certain) == (False, "budget", False)
    assert (given_up.by, given_up.witness, given_up.work) == ((), None, needed.work - 1)
    assert decide(*asked, budget=needed.work) == needed


@pytest.mark.interpreted
def test_guesses_stop_at_the_budget_and_the_error_says_so() -> None:
    asked = _checkers(30)
    made = decide(*asked, method="sampling", error=1e-6, budget=50)
    assert (made.covered, made.certain, made.work) == (True, False, 50)
    assert made.error == pytest.approx((1 - 1 / 900) ** 50)


@pytest.mark.interpreted
def test_who_is_not_needed_is_not_named() -> None:
    asked = question([(0, 99), (0, 99)], [[(0, 50), (0, 99)], [(10, 60), (5, 99)], [(40, 99), (0, 99)]])
    assert decide(*asked).by == (0, 2)


@pytest.mark.interpreted
def test_any_layout_of_arrays_is_taken() -> None:
    asked = question([(0, 9), (0, 9)], [[(0, 4), (0, 9)], [(5, 9), (0, 9)]])
    other = [np.asfortranarray(bounds.astype(np.int32)) for bounds in asked]
    for bounds in other:
        bounds.flags.writeable = False
    assert decide(*other) == decide(*asked)  # type: ignore[arg-type]


def test_the_same_seed_gives_the_same_answer() -> None:
    asked = question([(0, 999)] * 2, [[(0, 500), (0, 999)], [(400, 999), (3, 999)], [(450, 999), (0, 900)]])
    assert decide(*asked, method="sampling", seed=3) == decide(*asked, method="sampling", seed=3)


def test_what_cannot_be_asked() -> None:
    asked = question([(0, 9)], [[(0, 4)]])
    with pytest.raises(InputError, match=r"no points\nHint: every low has to be below"):
        decide(asked.s_high, asked.s_low, asked.low, asked.high)
    with pytest.raises(InputError, match=r"shapes \(2,\), \(1,\)"):
        decide(np.array([0, 0]), *asked[1:])
    with pytest.raises(InputError, match="no method 'guess'"):
        decide(*asked, method="guess")  # type: ignore[arg-type]
    wrongs: list[dict[str, Any]] = [{"error": 0.0}, {"error": 1.0}, {"budget": 0}]
    for wrong in wrongs:
        with pytest.raises(InputError, match="0 < error < 1"):
            decide(*asked, **wrong)
