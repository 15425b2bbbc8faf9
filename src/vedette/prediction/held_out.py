"""How good are forecasts of what nothing was learnt from? Learn up to a moment, and judge what comes after it."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from vedette.composite.outputs import Observations, Witnesses
from vedette.composite.promise import Expected
from vedette.prediction.context import Settings
from vedette.prediction.forecast import Forecaster, Predictions
from vedette.prediction.model import Trainer
from vedette.prediction.score import Score
from vedette.prediction.watched import Records


class HeldOut:
    """A forecaster that says nothing of events before a moment, and learns nothing from those after it."""

    def __init__(self, records: Records, until: int, settings: Settings | None = None) -> None:
        self._records, self._until = records, until  # microseconds since 1970
        self._trainer = Trainer(records, settings)
        self._settings = settings
        self._made: Forecaster | None = None  # as soon as the moment has come
        self.learnt = 0  # rows that were learnt from

    def process(self, seen: Observations) -> Predictions:
        """Take in observations, in the order of their time; what has become probable with them."""
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
            self._made = Forecaster(self._records, model, settings=self._settings, learn=False)
        return self._made

    def expected(self) -> dict[int, Expected]:
        """What events are expected, by the number of the pattern; nothing before the moment."""
        return {} if self._made is None else self._made.expected()

    @property
    def scores(self) -> dict[str, Score]:
        """How good forecasts have been, by the id of the pattern."""
        return self._forecaster.scores


def _rows(seen: Observations, rows: NDArray[np.int64]) -> Observations:
    lengths = seen.start[rows + 1] - seen.start[rows]
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    taken = np.repeat(seen.start[rows] - start[:-1], lengths) + np.arange(start[-1])
    columns = {each.name: getattr(seen, each.name)[rows] for each in fields(Observations) if each.name != "witness"}
    return Observations(**columns, witness=Witnesses(start, seen.position[taken], seen.taken[taken]))
