"""The patterns of one group over the events of one shard, in the order of their time: what is to be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.composite.batch import Batch
from vedette.composite.matcher import Outcome, PatternMatcher
from vedette.composite.telling import Telling
from vedette.matching.patterns import PatternRecord
from vedette.prediction.forecast import Forecaster
from vedette.prediction.model import Model
from vedette.prediction.told import Rows, table


@dataclass(frozen=True, slots=True)
class Forecasts:
    """How forecasts are made: by a model, if there is one, and whether they learn from what comes."""

    model: Model | None = None
    learn: bool = False


class Names(NamedTuple):
    """What events are called, and their ids, each of which counts once; None: it has none."""

    called: Sequence[str]
    ids: Sequence[str | None]


class Follower:
    """One shard: events in, rows out."""

    def __init__(self, matcher: PatternMatcher, records: tuple[PatternRecord, ...], forecasts: Forecasts) -> None:
        self._matcher = matcher
        self._telling = Telling(matcher.patterns)
        numbers = {record.id: number for number, record in matcher.patterns.items()}
        self._ids = [record.id for record in records]
        self._places = {numbers[id_]: place for place, id_ in enumerate(self._ids)}
        self._forecaster: Forecaster | None = None
        if any(record.predict is not None for record in records):
            self._forecaster = Forecaster(matcher.patterns, forecasts.model, learn=forecasts.learn)
            matcher.expect(self._forecaster.expected())
        self._arrived = 0

    @property
    def arrived(self) -> int:
        """How many events there have been: the number of the next one."""
        return self._arrived

    def follow(self, batch: Batch, timed: NDArray[np.bool_], names: Names, bound: pa.RecordBatch) -> pa.Table:
        """Let events happen, numbered from `arrived` on; `bound` has what variables are told by."""
        self._telling.keep(self._arrived, names.called, bound)
        self._arrived += batch.size
        told = self._told(self._matcher.follow(batch, timed, names.ids))
        if self._telling.crowded:
            self._telling.forget(self._matcher.remembered())
        return told

    def _told(self, outcome: Outcome) -> pa.Table:
        matches = outcome.matches
        rows = [Rows.of_patterns(matches.event, matches.pattern, matches.witness)]
        if self._forecaster is not None:
            made = self._forecaster.process(outcome.observations)
            self._matcher.expect(self._forecaster.expected())
            rows.append(
                Rows.of_patterns(
                    made.event, made.pattern, made.witness, probability=made.probability, within=made.within
                )
            )
        return table(rows, self._ids, self._places, self._telling, named=True, numbered=True)
