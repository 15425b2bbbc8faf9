"""What was learned since it was last told elsewhere? Statistics that keep it apart, too."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vedette.operators.evaluation import Evaluation
from vedette.operators.predicates import Predicate
from vedette.operators.statistics import MEMORY, Statistics, StatisticsView


class FreshStatistics(Statistics):
    """Statistics of one place among several that learn: `taken` is what to tell the others."""

    def __init__(self, memory: float = MEMORY) -> None:
        super().__init__(memory)
        self._fresh = Statistics(math.inf)  # added up, so that nothing is forgotten on the way

    def view(self, evaluations: Sequence[Evaluation], predicates: Sequence[Predicate]) -> StatisticsView:
        """What is known of these; what is learned of them is kept apart, too."""
        return _FreshView(self, self._fresh.view(evaluations, predicates), evaluations, predicates)

    def taken(self) -> Statistics:
        """What was learned since this was last asked."""
        made = self._fresh.copy()
        self._fresh.become(Statistics(math.inf))
        return made


class _FreshView(StatisticsView):
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
        """A predicate was looked at so many times and held so many."""
        super().learn_outcomes(predicate, tried, held)
        self._fresh.learn_outcomes(predicate, tried, held)

    def learn_cost(self, evaluation: int, events: int, seconds: float) -> None:
        """An evaluation was made for so many events and took so long."""
        super().learn_cost(evaluation, events, seconds)
        self._fresh.learn_cost(evaluation, events, seconds)
