"""The patterns of one group over the events of one shard, in the order of their time: what is to be told."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vedette.composite.batch import Batch
from vedette.composite.matcher import Outcome, PatternMatcher
from vedette.composite.order import Sorter
from vedette.composite.telling import Telling
from vedette.matching.patterns import PatternRecord
from vedette.prediction.forecast import Forecaster
from vedette.prediction.model import Model
from vedette.prediction.told import Rows, table
from vedette.spark.patterns.packets import opened, written


@dataclass(frozen=True, slots=True)
class Forecasts:
    """How forecasts are made: by a model, if there is one, and whether they learn from what comes."""

    model: Model | None = None
    learn: bool = False


class Names(NamedTuple):
    """What events are called, and their ids, each of which counts once (None: it has none, or nobody asks)."""

    called: Sequence[str]
    ids: Sequence[str | None] | None


class Former(NamedTuple):
    """The patterns that there were before, and the ids of those that went away meanwhile: they begin anew."""

    matcher: PatternMatcher
    anew: Collection[str] = ()


class Follower:
    """One shard: events in, rows out."""

    def __init__(
        self,
        matcher: PatternMatcher,
        records: tuple[PatternRecord, ...],
        forecasts: Forecasts,
        telling: Telling | None = None,
    ) -> None:
        self._matcher = matcher
        self._telling = telling or Telling(matcher.patterns)
        numbers = {record.id: number for number, record in matcher.patterns.items()}
        self._ids = [record.id for record in records]
        self._subscribers = {record.id: record.subscriber for record in records}
        self._places = {numbers[id_]: place for place, id_ in enumerate(self._ids)}
        self._forecaster: Forecaster | None = None
        self._learns = forecasts.learn
        if any(record.predict is not None for record in records):
            self._forecaster = Forecaster(matcher.patterns, forecasts.model, learn=forecasts.learn)
            matcher.expect(self._forecaster.expected())
        self._arrived = 0

    @property
    def arrived(self) -> int:
        """How many events there have been."""
        return self._arrived

    def follow(self, batch: Batch, timed: NDArray[np.bool_], names: Names, bound: pa.RecordBatch) -> pa.Table:
        """Let events happen, by numbers that say in which order they came; `bound` has what variables are told by."""
        self._telling.keep_numbered(batch.number, names.called, bound)
        self._arrived += batch.size
        told = self._told(self._matcher.follow(batch, timed, names.ids))
        if self._telling.crowded:
            self._telling.forget(self._matcher.remembered())
        return told

    def advance(self, moment: int) -> pa.Table:
        """Let those events happen that were held back and are not later than a moment."""
        return self._told(self._matcher.advance(moment))

    def subscribers(self, ids: pa.ChunkedArray) -> pa.Array:
        """Who subscribed to patterns."""
        coded = ids.combine_chunks().dictionary_encode()
        known = [self._subscribers[id_] for id_ in coded.dictionary.to_pylist()]
        return pa.array(known, pa.string()).take(coded.indices)

    def passed_over(self, *, late: int, duplicates: int) -> None:
        """Count events that did not count."""
        self._matcher.counts.late += late
        self._matcher.counts.duplicates += duplicates

    @property
    def held(self) -> Sorter:
        """The events that are held back."""
        return self._matcher.held

    def happened(self) -> tuple[dict[str, NDArray[np.uint8]], dict[str, Any]]:
        """What has happened so far, as arrays and facts; the patterns are kept elsewhere."""
        self._telling.forget(self._matcher.remembered())
        parts = {"patterns": self._matcher.happened(), "events": written(self._telling.table())}
        if self._forecaster is not None:
            # A model that does not change is sent with the patterns, and need not be written with every micro-batch.
            parts["forecasts"] = self._forecaster.to_bytes(counted=self._learns)
        return {name: np.frombuffer(data, np.uint8) for name, data in parts.items()}, {"arrived": self._arrived}

    def resume(self, arrays: Mapping[str, NDArray[np.uint8]], facts: Mapping[str, Any], former: Former | None) -> None:
        """Go on where another stood; `former` are the patterns that it had, where they were others."""
        happened = arrays["patterns"].tobytes()
        numbers = None
        if former is None:
            self._matcher.resume(happened)
        else:
            former.matcher.resume(happened)
            numbers = self._matcher.take_over(*former)
        if self._forecaster is not None and "forecasts" in arrays:
            self._forecaster.restore(arrays["forecasts"].tobytes(), numbers)
            self._matcher.expect(self._forecaster.expected())
        self._telling.restore_table(opened(arrays["events"].tobytes()))
        self._arrived = facts["arrived"]

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
