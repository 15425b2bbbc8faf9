"""Compiled filters with operators: their plain parts in an index, the rest as a planner's problem; the planners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.errors import FilterError, InputError
from vedette.filters.segment import Segment, SegmentDraft
from vedette.filters.subscription_records import OperatorRecord
from vedette.language.check import check
from vedette.language.parser import parse
from vedette.operators.alternative_set import AlternativeSet, PlanTemplate
from vedette.operators.kernels.plan_block import PlanProblem
from vedette.operators.kernels.plan_moves import ADAPTIVE, NAIVE, SEQUENTIAL, SUBORDER
from vedette.operators.predicate_numbering import PlannedAlternative, PredicateNumbering
from vedette.operators.registry import DEFAULT_PLANNER, Operators
from vedette.operators.statistics import Statistics
from vedette.operators.suborder import chain_order
from vedette.schema.schema import Schema

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


BestMatches: TypeAlias = dict[
    tuple[int, int], tuple[int, dict[str, Any]]
]  # by event and subscription: alternative, bindings
_OFTEN = 256  # evaluations after which what was learned is looked at again, at the soonest


class Plan:
    """The alternatives of all filters with operators, in the order of addition."""

    def __init__(
        self,
        records: Sequence[OperatorRecord],
        places: Sequence[int],
        schema: Schema,
        operators: Operators,
        planner: int,
        statistics: Statistics,
        index: str,
    ) -> None:
        self.records = tuple(records)
        self._planner = planner
        numbers = PredicateNumbering(operators)
        draft = SegmentDraft()
        made: list[PlannedAlternative] = []
        place: list[int] = []  # of every alternative's subscription, among all subscriptions
        family: list[tuple[int, int]] = []
        bound: list[bool] = []
        for record, at in zip(records, places, strict=True):
            try:
                own = numbers.planned(check(parse(record.text), schema, record.text))
            except FilterError as error:
                raise error.of(f"subscription {record.id!r}") from None
            for one in own:
                draft.append(record.id, record.text, one.plain, record.subscriber)
            place += [at] * len(own)
            family += [(len(made), len(made) + len(own))] * len(own)
            bound += [any(one.join is not None for one in own)] * len(own)
            made += own
        self.segment = Segment.build(draft.drawn(), index=index)
        self.place = np.array(place, np.int64)
        self.decided = np.array([not one.predicates for one in made], np.bool_)  # by the index alone
        self.asked = AlternativeSet.of(
            made,
            np.array(family, np.int64).reshape(-1, 2),
            np.array(bound, np.bool_),
            numbers.evaluations,
            numbers.predicates,
        )
        self.statistics = statistics.view(numbers.evaluations, numbers.predicates)
        self._evaluation = np.array([each.evaluation for each in numbers.predicates], np.int32)
        self._prepared: PlanTemplate | None = None
        self._refresh_at = 0  # evaluations made by then
        self._revision = 0  # of what was taken over from elsewhere

    @property
    def named(self) -> frozenset[str]:
        """The attributes that calls and value constraints name, and those that operators declare to read."""
        asked = self.asked
        parts: list[frozenset[str]] = [each.paths.union(each.operator.reads or ()) for each in asked.evaluations]
        for predicate in asked.predicates:
            parts += [predicate.pattern.paths, *(each.paths for each in predicate.constraints)]
        return frozenset().union(*parts, *(each.paths for each in asked.alternatives))

    @property
    def paths(self) -> frozenset[str] | None:
        """The attributes that operators and value constraints read; None: an operator reads whole events."""
        return None if any(each.operator.reads is None for each in self.asked.evaluations) else self.named

    def prepared(self, made: int) -> PlanTemplate:
        """The planner's problem with the current statistics; refreshed at growing intervals of evaluations."""
        if self._prepared is None or made >= self._refresh_at or self.statistics.revision != self._revision:
            self._revision = self.statistics.revision
            selectivity, cost = self.statistics.selectivity(), self.statistics.cost()
            asked = [one.predicates for one in self.asked.alternatives]
            if self._prepared is None or self._planner == SUBORDER:
                now = problem(self._planner, asked, self._evaluation, selectivity, cost)
            else:
                now = reweighted_problem(self._prepared.problem, selectivity, cost)
            self._prepared = PlanTemplate(now, self._planner)
            # Chains are costly to order: this is repeated each time that the observations have doubled.
            more = made if self._planner == SUBORDER else len(self._evaluation) // 8
            self._refresh_at = made + max(_OFTEN, more)
        return self._prepared

    # ------------------------------------------------------------ several alternatives

    def keep_first(self, best: BestMatches, event: int, alternative: int, bindings: dict[str, Any]) -> None:
        """Keep the bindings of the first of several true alternatives."""
        key = event, int(self.place[alternative])
        before = best.get(key)
        if before is None or alternative < before[0]:
            best[key] = alternative, bindings

    def open(self, event: NDArray[np.int64], alternative: NDArray[np.int32], best: BestMatches) -> NDArray[np.bool_]:
        """Which alternatives may still change the result."""
        made = np.ones(len(event), np.bool_)
        for at, (one, number) in enumerate(zip(event.tolist(), alternative.tolist(), strict=True)):
            before = best.get((one, int(self.place[number])))
            made[at] = before is None or (bool(self.asked.bound[number]) and number < before[0])
        return made

    def told(self, alternative: int, bindings: dict[str, Any]) -> dict[str, Any] | None:
        """The bindings to report: None if the subscription has no variables."""
        return bindings if self.asked.bound[alternative] else None
