"""The planners by name, and the problem that each makes of a set of alternatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vedette.errors import InputError
from vedette.operators.kernels.plan_block import PlanProblem
from vedette.operators.kernels.plan_moves import ADAPTIVE, NAIVE, SEQUENTIAL, SUBORDER
from vedette.operators.registry import DEFAULT_PLANNER
from vedette.operators.suborder import chain_order

PLANNERS: Final = {"naive": NAIVE, "sequential": SEQUENTIAL, "suborder": SUBORDER, "adaptive": ADAPTIVE}
DEFAULT: Final = DEFAULT_PLANNER
_LEAST = 1e-6  # nothing is certain, and nothing is free
_POWER = 1.5


def planner_number(name: str) -> int:
    """The number of a planner in the kernels; InputError if there is none of that name."""
    if name not in PLANNERS:
        raise InputError(f"there is no planner {name!r}\nHint: {', '.join(PLANNERS)}")
    return PLANNERS[name]


def problem(
    planner: int,
    predicates_of: Sequence[Sequence[int]],
    evaluation: NDArray[np.int32],
    selectivity: NDArray[np.float64],
    cost: NDArray[np.float64],
) -> PlanProblem:
    """The problem for a planner: alternatives in its order, with the statistics of predicates and costs."""
    start = np.concatenate([[0], np.cumsum([len(each) for each in predicates_of])]).astype(np.int64)
    predicate = np.array([each for one in predicates_of for each in one], np.int32)
    cost = np.maximum(cost, _LEAST)
    by_rank = np.arange(len(predicates_of), dtype=np.int32)
    if planner == SUBORDER and len(predicate):
        order, predicate = chain_order(start, predicate, selectivity, cost[evaluation])
        by_rank = order.astype(np.int32)
    rank = np.empty_like(by_rank)
    rank[by_rank] = np.arange(len(by_rank), dtype=np.int32)
    fails = _fails(selectivity)
    weight = _weights(start, predicate, fails, cost[evaluation])
    return PlanProblem(start, predicate, rank, by_rank, evaluation.astype(np.int32), fails, cost, weight)


def reweighted_problem(before: PlanProblem, selectivity: NDArray[np.float64], cost: NDArray[np.float64]) -> PlanProblem:
    """The same problem in the same order, with new statistics."""
    fails, cost = _fails(selectivity), np.maximum(cost, _LEAST)
    weight = _weights(before.start, before.predicate, fails, cost[before.evaluation])
    return before._replace(fails=fails, cost=cost, weight=weight)


def _fails(selectivity: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(1.0 - selectivity, _LEAST, 1.0)


def _weights(
    start: NDArray[np.int64], predicate: NDArray[np.int32], fails: NDArray[np.float64], cost: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The value of settling each alternative: the greater, the less its predicates promise for what they cost.

    The power was chosen on workloads like those of Liu 2007, with equal and unequal costs.
    """
    of = np.repeat(np.arange(len(start) - 1), np.diff(start))
    promised = np.bincount(of, weights=fails[predicate] / cost[predicate], minlength=len(start) - 1)
    return np.power(np.maximum(promised, _LEAST), -_POWER)
