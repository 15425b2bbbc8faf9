"""Compiled filters with operators: their plain parts in an index, the rest as a planner's problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vedette.errors import FilterError
from vedette.filters.operator_records import OperatorRecord
from vedette.filters.segment import Segment
from vedette.filters.segment_draft import SegmentDraft
from vedette.language.check import check
from vedette.language.parser import parse
from vedette.operators.alternative_set import AlternativeSet, PlanTemplate
from vedette.operators.kernels.plan_moves import SUBORDER
from vedette.operators.planners import problem, reweighted_problem
from vedette.operators.predicate_numbering import PlannedAlternative, PredicateNumbering
from vedette.operators.registry import Operators
from vedette.operators.statistics import Statistics
from vedette.schema.schema import Schema

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
