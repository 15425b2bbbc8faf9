"""Statistics that also keep what is new since it was last reported to other processes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vedette.operators.evaluation import Evaluation
from vedette.operators.predicate_numbering import Predicate
from vedette.operators.statistics import MEMORY, Statistics, StatisticsView


class StatisticsDelta(Statistics):
    """The statistics of one of several learning processes: `taken` is what to report to the others."""

    def __init__(self, memory: float = MEMORY) -> None:
        super().__init__(memory)
        self._fresh = Statistics(math.inf)  # added up, so that nothing is forgotten on the way

    def view(self, evaluations: Sequence[Evaluation], predicates: Sequence[Predicate]) -> StatisticsView:
        """A view whose observations are also kept for the next report."""
        return _StatisticsDeltaView(self, self._fresh.view(evaluations, predicates), evaluations, predicates)

    def taken(self) -> Statistics:
        """The observations since the last call."""
        made = self._fresh.copy()
        self._fresh.become(Statistics(math.inf))
        return made


class _StatisticsDeltaView(StatisticsView):
    def __init__(
        self,
        kept: Statistics,
        fresh: StatisticsView,
        evaluations: Sequence[Evaluation],
        predicates: Sequence[Predicate],
    ) -> None:
        super().__init__(kept, evaluations, predicates)
        self._fresh = fresh

    def learn_outcomes(self, predicate: int, tried: int, held: int) -> None:
        """Record that a predicate was tested so many times and held so many."""
        super().learn_outcomes(predicate, tried, held)
        self._fresh.learn_outcomes(predicate, tried, held)

    def learn_cost(self, evaluation: int, events: int, seconds: float) -> None:
        """Record that an evaluation for so many events took so long."""
        super().learn_cost(evaluation, events, seconds)
        self._fresh.learn_cost(evaluation, events, seconds)
