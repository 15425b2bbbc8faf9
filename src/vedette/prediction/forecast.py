"""Forecasts of many patterns, from what the pattern engine observes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.composite.outputs import Observations, Witnessed, Witnesses
from vedette.composite.packing import packed, unpacked
from vedette.composite.promise import Expected
from vedette.composite.splitting import part_number
from vedette.matching.patterns import PatternRecord
from vedette.prediction import named
from vedette.prediction.context import Settings
from vedette.prediction.drift import Drift
from vedette.prediction.follower import Follower, Reported
from vedette.prediction.model import Model
from vedette.prediction.score import Score
from vedette.prediction.watched import Records, Watched, watched

_KIND = "forecaster, version 2"


@dataclass(frozen=True, slots=True)
class Predictions(Witnessed):
    """Partial matches that will probably complete, ordered by event as observed, then by pattern."""

    event: NDArray[np.int64]  # the arrival number of the event at which it became probable
    pattern: NDArray[np.int32]
    probability: NDArray[np.float64]
    within: NDArray[np.int64]  # so many events
    witness: Witnesses  # so far


class Forecaster:
    """Says which partial matches will probably complete, learns as events come, and keeps the score of itself."""

    def __init__(
        self,
        records: Records,
        model: Model | None = None,
        *,
        settings: Settings | None = None,
        learn: bool = True,
    ) -> None:
        self._model = model or Model(settings)
        self._settings = settings or self._model.settings
        self._learn = learn
        self._fixed = model is not None and not learn
        self._followers = {number: self._follower(one) for number, one in watched(records).items()}

    def _follower(self, one: Watched) -> Follower:
        return Follower(one, self._model.counts(one.name), self._settings, learn=self._learn, fixed=self._fixed)

    def add(self, number: int, record: PatternRecord) -> None:
        """Forecast one more pattern, if it asks for that."""
        for one in watched({number: record}).values():
            self._followers[number] = self._follower(one)

    def remove(self, number: int) -> None:
        """Forecast a pattern no longer."""
        self._followers.pop(number, None)

    def process(self, seen: Observations) -> Predictions:
        """Take in observations; what has become probable with them."""
        reports: list[Reported] = []
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
        lengths = seen.start[row + 1] - seen.start[row]
        start = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        taken = np.repeat(seen.start[row] - start[:-1], lengths) + np.arange(start[-1])
        return Predictions(
            event=seen.event[row],
            pattern=seen.pattern[row].astype(np.int32),
            probability=np.concatenate([np.zeros(0), *(one.probability for one in reports)])[order],
            within=np.concatenate([np.zeros(0, np.int64), *within])[order],
            witness=Witnesses(start, seen.position[taken], seen.taken[taken]),
        )

    def follower(self, number: int) -> Follower:
        """One pattern's forecasts; KeyError if none are asked for."""
        return self._followers[number]

    @property
    def scores(self) -> dict[str, Score]:
        """How good forecasts have been, by the id of the pattern."""
        return {follower.watched.id: follower.score for follower in self._followers.values()}

    @property
    def score(self) -> Score:
        """How good all forecasts have been together."""
        return sum(self.scores.values(), Score())

    @property
    def by_parts(self) -> list[str]:
        """The ids of patterns that have too many states, so that their parts are taken to be independent."""
        return [follower.watched.id for follower in self._followers.values() if follower.by_parts]

    @property
    def drifts(self) -> dict[str, list[Drift]]:
        """When and how models ceased to fit, by the id of the pattern; only of those that did."""
        found = {follower.watched.id: follower.drifts for follower in self._followers.values()}
        return {id_: drifts for id_, drifts in found.items() if drifts}

    def expected(self) -> dict[int, Expected]:
        """What events are expected, by the number of the pattern; only where something has been learnt of that."""
        found = {number: follower.expected for number, follower in self._followers.items()}
        return {number: one for number, one in found.items() if one is not None}

    def model(self) -> Model:
        """What is known now of the patterns, to be saved."""
        return Model(self._settings, {one.watched.name: one.counts for one in self._followers.values()})

    def to_bytes(self, *, counted: bool = True) -> bytes:
        """Everything that has been learnt and is still open; patterns are known by their numbers.

        Without what is `counted` it is for one that gets the model anew, and does not learn.
        """
        arrays: dict[str, NDArray[Any]] = {}
        plain: dict[str, Any] = {}
        for number, one in self._followers.items():
            arrays |= named.under(str(number), one.arrays(counted=counted))
            plain[str(number)] = {"name": one.watched.name, **one.plain(counted=counted)}
        return packed(_KIND, arrays, {"patterns": plain})

    def restore(self, data: bytes, numbers: Mapping[int, int] | None = None) -> None:
        """Go on where another forecaster stood when it gave `to_bytes`, with the same settings.

        One that has a model and does not learn goes on with that model, whatever the other knew.
        Its patterns may have had other numbers: `numbers` has theirs -> these.
        """
        arrays, plain = unpacked(_KIND, data)
        for text, facts in plain["patterns"].items():
            number = int(text) if numbers is None else numbers.get(int(text), -1)
            follower = self._followers.get(number)
            if follower is not None and facts["name"] == follower.watched.name:
                follower.restore(facts, named.of(text, arrays))


def _rows_by_pattern(patterns: NDArray[Any]) -> dict[int, NDArray[np.int64]]:
    """The rows of each pattern and of each part, in their order."""
    if not patterns.size:
        return {}
    order = np.argsort(patterns, kind="stable").astype(np.int64)
    numbers, begins = np.unique(patterns[order], return_index=True)
    return dict(zip(numbers.tolist(), np.split(order, begins[1:]), strict=True))
