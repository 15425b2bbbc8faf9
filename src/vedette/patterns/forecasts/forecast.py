"""Forecasts of many patterns, from the observations of the pattern engine; learning from history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.filters.subscription_records import PatternRecord
from vedette.patterns.completion_odds import PatternExpectations
from vedette.patterns.forecast_parts import ForecastPattern, PatternRecords, forecast_patterns, part_number
from vedette.patterns.forecasts.drift import Drift
from vedette.patterns.forecasts.follower import ForecastFollower, ReportedRows
from vedette.patterns.forecasts.model import Model, Trainer
from vedette.patterns.forecasts.probability_table import ForecastSettings
from vedette.patterns.forecasts.score import Score
from vedette.patterns.outputs import Observations, WitnessedRows, Witnesses
from vedette.patterns.packing import arrays_of, arrays_under, packed, unpacked

_KIND = "forecaster, version 2"


@dataclass(frozen=True, slots=True)
class Predictions(WitnessedRows):
    """Partial matches that will probably complete, ordered by event as observed, then by pattern."""

    event: NDArray[np.int64]  # the arrival number of the event at which it became probable
    pattern: NDArray[np.int32]
    probability: NDArray[np.float64]
    within: NDArray[np.int64]  # so many events
    witness: Witnesses  # so far


class Forecaster:
    """Forecasts which partial matches will probably complete, learns from events, and keeps its score."""

    def __init__(
        self,
        records: PatternRecords,
        model: Model | None = None,
        *,
        settings: ForecastSettings | None = None,
        learn: bool = True,
    ) -> None:
        self._model = Model(settings) if model is None else model  # one that knows nothing is falsy
        self._settings = self._model.settings if settings is None else settings
        self._learn = learn
        self._fixed = model is not None and not learn
        self._followers = {number: self._follower(one) for number, one in forecast_patterns(records).items()}

    def _follower(self, one: ForecastPattern) -> ForecastFollower:
        return ForecastFollower(one, self._model.counts(one.name), self._settings, learn=self._learn, fixed=self._fixed)

    def add(self, number: int, record: PatternRecord) -> None:
        """Add a pattern, if it asks for forecasts."""
        for one in forecast_patterns({number: record}).values():
            self._followers[number] = self._follower(one)

    def remove(self, number: int) -> None:
        """Remove a pattern."""
        self._followers.pop(number, None)

    def follow(self, records: Mapping[int, PatternRecord], numbers: Mapping[int, int]) -> None:
        """Switch to these patterns; those that were there before (old number -> new) keep their state."""
        before = {numbers[number]: one for number, one in self._followers.items() if number in numbers}
        new = forecast_patterns({number: record for number, record in records.items() if number not in before})
        fresh = {number: self._follower(one) for number, one in new.items()}
        self._followers = {
            number: (before | fresh)[number] for number in records if number in before or number in fresh
        }

    def process(self, seen: Observations) -> Predictions:
        """Process observations; return the predictions."""
        reports: list[ReportedRows] = []
        within: list[NDArray[np.int64]] = []
        found = _rows_by_pattern(seen.pattern)
        for number, rows in found.items():
            follower = self._followers.get(number)
            if follower is not None:
                parts = [found[part_number(number, part)] for part in range(len(follower.counts.parts))]
                reports.append(follower.see(seen, rows, parts))
                within.append(np.full(reports[-1].row.size, follower.watched.within, np.int64))
        row = np.concatenate([np.zeros(0, np.int64), *(one.row for one in reports)])
        order = np.argsort(row, kind="stable")
        row = row[order]
        return Predictions(
            event=seen.event[row],
            pattern=seen.pattern[row].astype(np.int32),
            probability=np.concatenate([np.zeros(0), *(one.probability for one in reports)])[order],
            within=np.concatenate([np.zeros(0, np.int64), *within])[order],
            witness=seen.witness.take(row),
        )

    def follower(self, number: int) -> ForecastFollower:
        """The follower of one pattern; KeyError if it asks for no forecasts."""
        return self._followers[number]

    @property
    def scores(self) -> dict[str, Score]:
        """The scores of forecasts, by the id of the pattern."""
        return {follower.watched.id: follower.score for follower in self._followers.values()}

    @property
    def score(self) -> Score:
        """The score of all forecasts together."""
        return sum(self.scores.values(), Score())

    @property
    def by_parts(self) -> list[str]:
        """The ids of patterns with too many states, which are forecast by their parts, assumed independent."""
        return [follower.watched.id for follower in self._followers.values() if follower.by_parts]

    @property
    def drifts(self) -> dict[str, list[Drift]]:
        """The alarms of models that ceased to fit, by the id of the pattern; only of patterns that have any."""
        found = {follower.watched.id: follower.drifts for follower in self._followers.values()}
        return {id_: drifts for id_, drifts in found.items() if drifts}

    def expected(self) -> dict[int, PatternExpectations]:
        """The expected events, by the number of the pattern; only for patterns with observations."""
        found = {number: follower.expected for number, follower in self._followers.items()}
        return {number: one for number, one in found.items() if one is not None}

    def model(self) -> Model:
        """The current model of the patterns, to be saved."""
        return Model(self._settings, {one.watched.name: one.counts for one in self._followers.values()})

    def to_bytes(self, *, counted: bool = True) -> bytes:
        """Everything learned and every open forecast, as bytes; patterns are known by their numbers.

        Without what is `counted`, for a receiver that gets the model again, and does not learn.
        """
        arrays: dict[str, NDArray[Any]] = {}
        plain: dict[str, Any] = {}
        for number, one in self._followers.items():
            arrays |= arrays_under(str(number), one.arrays(counted=counted))
            plain[str(number)] = {"name": one.watched.name, **one.plain(counted=counted)}
        return packed(_KIND, arrays, {"patterns": plain})

    def restore(self, data: bytes, numbers: Mapping[int, int] | None = None) -> None:
        """Restore what another forecaster with the same settings gave by `to_bytes`.

        If this one has a model and does not learn, it keeps that model, whatever the other learned.
        Its patterns may have had other numbers: `numbers` maps them to these.
        """
        arrays, plain = unpacked(_KIND, data)
        for text, facts in plain["patterns"].items():
            number = int(text) if numbers is None else numbers.get(int(text), -1)
            follower = self._followers.get(number)
            if follower is not None and facts["name"] == follower.watched.name:
                follower.restore(facts, arrays_of(text, arrays))


def _rows_by_pattern(patterns: NDArray[Any]) -> dict[int, NDArray[np.int64]]:
    """The rows of each pattern and of each part, in their order."""
    if not patterns.size:
        return {}
    order = np.argsort(patterns, kind="stable").astype(np.int64)
    numbers, begins = np.unique(patterns[order], return_index=True)
    return dict(zip(numbers.tolist(), np.split(order, begins[1:]), strict=True))


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
