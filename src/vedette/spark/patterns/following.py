"""Follows the patterns of one group over the events of one shard, in the order of their time.

Events stay columns: only those that outcomes name become Python objects.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vedette.engine.outcomes import Outcomes
from vedette.engine.step import pattern_rows
from vedette.filters.subscription_records import PatternRecord
from vedette.filters.subscription_view import Events
from vedette.patterns.event_batch import PatternBatch
from vedette.patterns.event_order import EventSorter
from vedette.patterns.forecasts.forecast import Forecaster, HeldOutForecaster
from vedette.patterns.forecasts.model import Model
from vedette.patterns.forecasts.score import Score
from vedette.patterns.matcher import PatternMatcher, PatternOutcome
from vedette.patterns.outputs import Observations, joined_observations
from vedette.patterns.witness_names import WitnessNames
from vedette.spark.patterns.coded import opened, written
from vedette.spark.patterns.rows import BOUND, SUBSCRIBER, chosen
from vedette.spark.readers import ARRIVAL, CALLED, ID

NAME: Final = ""  # the column of what events are called; behind it stand those of what variables are told by
_MANY: Final = 1 << 17  # events that are kept before it is worth forgetting some
_NONE: Final = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Forecasts:
    """When forecasts are made, and how the values of variables are encoded.

    Where they learn `until` a moment (microseconds since 1970), they are made after it. Where they are made `at_once`,
    their observations are kept until all events have come, as in a process that puts all events in order first.
    """

    until: int | None = None
    at_once: bool = False
    in_json: bool = False  # values of variables are JSON, else texts

    def of(self, matcher: PatternMatcher, model: Model | None, learn: bool) -> Forecaster | None:
        """The forecaster of some patterns; None where none of them asks for forecasts."""
        if all(record.predict is None for record in matcher.patterns.values()):
            return None
        if self.until is not None:
            return HeldOutForecaster(matcher.patterns, self.until)
        return Forecaster(matcher.patterns, model, learn=learn)


class NamedEvents:
    """Events that outcomes may still name, by numbers that come in any order, each once."""

    def __init__(self, numbers: NDArray[np.int64] | None = None, events: pa.Table | None = None) -> None:
        self._parts = [] if events is None else [events]
        self._waiting = [] if numbers is None else [numbers]  # the numbers of all parts, until they are in one
        self._numbers = self._order = _NONE  # ascending, and where they are
        self._size = 0 if numbers is None else len(numbers)
        self._crowded = _MANY

    def add(self, numbers: NDArray[np.int64], events: pa.Table) -> None:
        """Add events that outcomes may name from now on."""
        self._parts.append(events)
        self._waiting.append(numbers)
        self._size += len(numbers)

    @property
    def crowded(self) -> bool:
        """Whether so many are kept that it is worth finding out which of them can still be named."""
        return self._size > self._crowded

    def find(self, numbers: NDArray[np.int64]) -> pa.Table:
        """The events of these numbers, in this order."""
        table = self._whole()
        return table.take(pa.array(self._order[np.searchsorted(self._numbers, numbers)]))

    def forget(self, but: NDArray[np.int64]) -> None:
        """Keep only the events of these numbers."""
        kept = np.isin(self._sorted(), but, assume_unique=True)
        self._parts = [self._whole().take(pa.array(self._order[kept]))]
        self._waiting = [self._numbers[kept]]
        self._numbers = self._order = _NONE
        self._size = int(kept.sum())
        self._crowded = max(_MANY, 2 * self._size)

    def table(self) -> pa.Table:
        """All kept events; the last column, which has no name, has the numbers."""
        return self.find(self._sorted()).append_column("", pa.array(self._numbers))

    @classmethod
    def of(cls, table: pa.Table) -> NamedEvents:
        """The reverse of `table`."""
        last = table.num_columns - 1
        return cls(table.column(last).to_numpy().astype(np.int64), table.select(range(last)))

    def _sorted(self) -> NDArray[np.int64]:
        self._whole()
        return self._numbers

    def _whole(self) -> pa.Table:
        if self._waiting:
            numbers = np.concatenate([self._numbers[np.argsort(self._order)], *self._waiting])
            self._parts = [pa.concat_tables(self._parts, promote_options="default").combine_chunks()]
            self._waiting = []
            self._order = np.argsort(numbers, kind="stable")
            self._numbers = numbers[self._order]
        return self._parts[0] if self._parts else pa.table({NAME: pa.array([], pa.string())})


class Former(NamedTuple):
    """The previous patterns, and the ids of those that were removed and added again meanwhile: they begin anew."""

    matcher: PatternMatcher
    anew: Collection[str] = ()


class Follower:
    """Follows the patterns of one shard: events in, outcomes out."""

    def __init__(
        self,
        matcher: PatternMatcher,
        records: tuple[PatternRecord, ...],
        forecaster: Forecaster | None,
        how: Forecasts,
        telling: WitnessNames,
        *,
        learns: bool = False,
    ) -> None:
        self._matcher, self._forecaster, self._telling = matcher, forecaster, telling
        numbers = {record.id: number for number, record in matcher.patterns.items()}
        self._ids = pa.array([record.id for record in records], pa.large_string())
        self._whose = pa.array([record.subscriber for record in records], pa.string())
        self._places = {numbers[id_]: place for place, id_ in enumerate(self._ids.to_pylist())}
        if forecaster is not None:
            matcher.expect(forecaster.expected())
        self._learns = learns
        self._waits = how.at_once and forecaster is not None
        self._in_json = how.in_json
        self._observed: list[Observations] = []  # observations that forecasts wait for
        self._events = NamedEvents()
        self._arrived = 0

    @property
    def arrived(self) -> int:
        """Number of events so far."""
        return self._arrived

    @property
    def paths(self) -> Sequence[str]:
        """The attributes whose values variables are reported by."""
        return self._telling.paths

    def follow(
        self, batch: PatternBatch, timed: NDArray[np.bool_], events: pa.Table, ids: Sequence[str | None] | None = None
    ) -> Outcomes:
        """Follow events, by numbers that say in which order they came, with their names and bound values.

        Of those that have the same of the `ids` one counts. The outcomes are to be read before anything else is
        followed.
        """
        if self._events.crowded and not self._waits:
            self._events.forget(self._matcher.remembered())
        self._events.add(batch.number, events)
        self._arrived += batch.size
        outcome = self._matcher.follow(batch, timed, ids)
        if self._waits:
            self._observed.append(outcome.observations)
            outcome = replace(outcome, observations=joined_observations([]))
        return self._told(outcome)

    def advance(self, moment: int) -> Outcomes:
        """Follow the events that were held back and are not later than a moment."""
        return self._told(self._matcher.advance(moment))

    def finish(self) -> Outcomes:
        """All events have come: outcomes, and forecasts, that waited for that."""
        observed, self._observed = joined_observations(self._observed), []
        return self._told(replace(self._matcher.finish(), observations=observed))

    def find(self, outcomes: Outcomes) -> pa.Table:
        """The columns of each outcome's event."""
        return self._events.find(outcomes.event)

    @property
    def shed(self) -> int:
        """Number of partial matches that were given up."""
        return self._matcher.counts.shed

    @property
    def scores(self) -> Mapping[str, Score]:
        """How good forecasts have been, by the id of the pattern."""
        return {} if self._forecaster is None else self._forecaster.scores

    @property
    def learnt(self) -> int:
        """Number of rows that forecasts have learnt from, where they are made after a moment."""
        return self._forecaster.learnt if isinstance(self._forecaster, HeldOutForecaster) else 0

    def table(self, outcomes: Outcomes, carried: Mapping[str, Any]) -> pa.Table:
        """Outcomes with all details, the subscriber of each, and the kept columns of its event."""
        told, whose = outcomes.table(), self._whose.take(pa.array(outcomes.place))
        return pa.table({name: told.column(name) for name in told.column_names} | {SUBSCRIBER: whose, **carried})

    def passed_over(self, *, late: int, duplicates: int) -> None:
        """Count events that were late or duplicates."""
        self._matcher.counts.late += late
        self._matcher.counts.duplicates += duplicates

    @property
    def held(self) -> EventSorter:
        """The events that are held back."""
        return self._matcher.held

    def happened(self) -> tuple[dict[str, NDArray[np.uint8]], dict[str, Any]]:
        """The state, as arrays and facts; the patterns themselves are kept elsewhere."""
        self._events.forget(self._matcher.remembered())
        parts = {"patterns": self._matcher.happened(), "events": written(self._events.table())}
        if self._forecaster is not None:
            # A model that does not change is sent with the patterns, and need not be written with every micro-batch.
            parts["forecasts"] = self._forecaster.to_bytes(counted=self._learns)
        return {name: np.frombuffer(data, np.uint8) for name, data in parts.items()}, {"arrived": self._arrived}

    def resume(self, arrays: Mapping[str, NDArray[np.uint8]], facts: Mapping[str, Any], former: Former | None) -> None:
        """Restore a state; `former` are the patterns that it is of, where these were others."""
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
        self._events = NamedEvents.of(opened(arrays["events"].tobytes()))
        self._arrived = facts["arrived"]

    def _values(self, events: pa.Table) -> Events:
        """The values that variables are reported by."""
        if not self._in_json:
            return events
        columns = {path: events.column(path).to_pylist() for path in self.paths if path in events.column_names}
        read = {path: [each and orjson.loads(each) for each in column] for path, column in columns.items()}
        return [{path: column[row] for path, column in read.items()} for row in range(len(events))]

    def _told(self, outcome: PatternOutcome) -> Outcomes:
        rows = pattern_rows(outcome, self._matcher, self._forecaster, self._places)
        taken = [one.event for one in rows] + [one.witness.taken for one in rows if one.witness is not None]
        numbers = np.unique(np.concatenate([_NONE, *taken]))
        self._telling.forget(_NONE)
        if numbers.size:
            events = self._events.find(numbers)
            self._telling.keep_numbered(numbers, events.column(NAME).to_pylist(), self._values(events))
        return Outcomes(rows, self._ids, self._telling, self._telling)


def called_of(events: pa.Table | pa.RecordBatch) -> pa.Array | pa.ChunkedArray:
    """The names of coded events: those of their source, or their ids, or else the numbers of their arrival."""
    said = [events.column(name) for name in (CALLED, ID) if name in events.schema.names]
    return pc.coalesce(*said, events.column(ARRIVAL).cast(pa.string()))


def named_of(events: pa.Table | pa.RecordBatch) -> dict[str, Any]:
    """The names, and the values that variables are reported by, as they are kept of events."""
    return {NAME: called_of(events), **chosen(events, BOUND)}
