"""Learning from history: all of it, or up to a given time, so that later forecasts can be judged fairly."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from vedette.patterns.completion_odds import PatternExpectations
from vedette.patterns.forecasts.forecast import Forecaster, Predictions
from vedette.patterns.forecasts.forecast_patterns import PatternRecords
from vedette.patterns.forecasts.model import Model, Trainer
from vedette.patterns.forecasts.probability_table import ForecastSettings
from vedette.patterns.forecasts.score import Score
from vedette.patterns.outputs import Observations


class HeldOutForecaster(Forecaster):
    """A forecaster that only learns before a given time, and only forecasts from then on."""

    def __init__(self, records: PatternRecords, until: int, settings: ForecastSettings | None = None) -> None:
        super().__init__((), settings=settings)
        self._records, self._until = records, until  # microseconds since 1970
        self._trainer = Trainer(records, settings, whole=False)
        self._given = settings
        self._made: Forecaster | None = None  # as soon as the moment has come
        self.learnt = 0  # rows that were learnt from

    def process(self, seen: Observations) -> Predictions:
        """Process observations, in the order of their time; return the predictions."""
        early = seen.time < self._until
        if self._made is None and early.any():
            self.learnt += int(early.sum())
            self._trainer.see(_rows(seen, np.flatnonzero(early)))
        if self._made is None and early.all():
            return Forecaster([]).process(seen)
        return self._forecaster.process(_rows(seen, np.flatnonzero(~early)))

    @property
    def _forecaster(self) -> Forecaster:
        if self._made is None:
            model = self._trainer.model()
            self._made = Forecaster(self._records, model, settings=self._given, learn=False)
        return self._made

    def expected(self) -> dict[int, PatternExpectations]:
        """The expected events, by the number of the pattern; nothing before the given time."""
        return {} if self._made is None else self._made.expected()

    @property
    def scores(self) -> dict[str, Score]:
        """The scores of forecasts, by the id of the pattern."""
        return self._forecaster.scores


class LearningForecaster(Forecaster):
    """A forecaster that makes no forecasts and only learns: its result is a model."""

    def __init__(self, records: PatternRecords, settings: ForecastSettings) -> None:
        super().__init__((), settings=settings)
        self._trainer = Trainer(records, settings)

    def process(self, seen: Observations) -> Predictions:
        """Process observations, in the order of their time."""
        self._trainer.see(seen)
        return Forecaster([]).process(seen)

    def model(self) -> Model:
        """The model learned so far."""
        return self._trainer.model()


def _rows(seen: Observations, rows: NDArray[np.int64]) -> Observations:
    columns = {each.name: getattr(seen, each.name)[rows] for each in fields(Observations) if each.name != "witness"}
    return Observations(**columns, witness=seen.witness.take(rows))
