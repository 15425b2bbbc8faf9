"""What each planner evaluates of an event whose outcomes are known to us and not to it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.liu.workload import Workload
from vedette.operators.kernels.plan_block import V_ID, V_MADE, PlanBlock, PlanProblem, build, copies
from vedette.operators.kernels.plan_moves import FIRST, advance, begin
from vedette.operators.operator_plan import planner_number, problem
from vedette.operators.suborder import chain_order

PATH = "suborder, path"  # the paper's order of chains
PLANNERS = ("naive", "sequential", PATH, "suborder", "adaptive")


@dataclass(frozen=True)
class Plan:
    """A planner that has been told all that does not depend on the event."""

    number: int
    problem: PlanProblem
    nothing_known: PlanBlock  # of an event that is asked for everything

    @classmethod
    def of(cls, number: int, asked: PlanProblem) -> Plan:
        """Ready to begin."""
        everything = np.arange(asked.start.size - 1, dtype=np.int32)
        block = build(asked, np.array([0, everything.size], np.int64), everything)
        begin(asked, block, number)
        return cls(number, asked, block)

    def evaluated(self, truth: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The predicates that it evaluates."""
        block = copies(self.nothing_known, 1)
        advance(
            self.problem,
            block,
            self.number,
            np.full(1, FIRST, np.int32),
            np.zeros(0, np.int64),
            np.zeros(0, np.bool_),
            np.empty(len(block.alternative), np.int32),
            truth[None],
            np.zeros(1, np.int64),
        )
        rows = block.evaluation[:-1]  # the last one is only an end
        return rows[rows[:, V_MADE] == 1, V_ID].astype(np.int64)


def plan(
    name: str, workload: Workload, selectivity: NDArray[np.float64], cost: NDArray[np.float64] | None = None
) -> Plan:
    """A planner for a workload, each of whose predicates is an evaluation of its own."""
    cost = np.ones(workload.predicates) if cost is None else cost
    number = planner_number("suborder" if name == PATH else name)
    each = np.arange(workload.predicates, dtype=np.int32)
    made = problem(number, workload.lists(), each, selectivity, cost)
    if name == PATH:
        order, predicate = chain_order(workload.start, workload.predicate, selectivity, cost, greedy_path=True)
        rank = np.empty_like(made.rank)
        rank[order] = np.arange(order.size)
        made = made._replace(predicate=predicate, rank=rank, by_rank=order.astype(np.int32))
    return Plan.of(number, made)


def measure(
    made: Plan, truths: Sequence[NDArray[np.bool_]], cost: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], float]:
    """What each event costs (without costs: how many evaluations), and seconds of planning for one evaluation."""
    made.evaluated(truths[0])  # compiled, before anything is timed
    started = time.process_time()
    evaluated = [made.evaluated(truth) for truth in truths]
    took = time.process_time() - started
    spent = [each.size if cost is None else cost[each].sum() for each in evaluated]
    return np.array(spent, np.float64), took / max(1, sum(each.size for each in evaluated))


def whole_subscriptions(workload: Workload, truth: NDArray[np.bool_]) -> int:
    """Sequential without line 9 of Algorithm 1: of a subscription that was picked, all predicates are evaluated.

    It is what the proof of Theorem 2 counts, and comes nearer to the paper's figures than the algorithm does.
    """
    evaluated = np.zeros(workload.predicates, np.bool_)
    predicates = workload.lists()
    holds = truth.tolist()
    known_false: set[int] = set()
    for asked in predicates:
        if known_false.isdisjoint(asked) and not all(evaluated[asked]):
            evaluated[asked] = True
            known_false.update(each for each in asked if not holds[each])
    return int(evaluated.sum())
