"""Feed a tally with the outcomes of steps, with the times of their events and details of the sampled ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.engine.outcomes import KINDS, Outcomes
from vedette.engine.state import StreamState
from vedette.errors import InputError
from vedette.filters.subscription_view import Events
from vedette.io.backtest_samples import BacktestSample
from vedette.io.backtest_tally import KINDS as TALLIED
from vedette.io.backtest_tally import UNTIMED, BacktestRows, BacktestTally
from vedette.io.chunk_stepper import SliceOutcome
from vedette.io.chunks import EventChunk
from vedette.io.row_details import in_json
from vedette.patterns.event_times import times_of
from vedette.schema.schema import Schema

_MANY: Final = 1 << 18  # events that are known before it is worth forgetting some


class _EventTimes(NamedTuple):
    """Events by their numbers in the stream, ascending, with their times and their rows in the source."""

    number: NDArray[np.int64]
    time: NDArray[np.int64]
    row: NDArray[np.int64]

    def take(self, places: NDArray[np.intp]) -> _EventTimes:
        """Some of the events."""
        return _EventTimes(*(column[places] for column in self))

    def find(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of event numbers."""
        size = len(self.number)
        if size and self.number[-1] - self.number[0] + 1 == size:
            return numbers - int(self.number[0])
        return np.searchsorted(self.number, numbers).astype(np.int64)


_NOBODY: Final = _EventTimes(*(np.zeros(0, np.int64) for _ in range(3)))


class StepTally:
    """Adds outcomes of steps to a tally, and keeps the times of events while they may still have outcomes."""

    def __init__(self, tally: BacktestTally, schema: Schema, places: NDArray[np.int64] | None = None) -> None:
        """For outcomes of some subscriptions alone, `places` are the places of these among all in the tally."""
        self._tally, self._schema, self._places = tally, schema, places
        self._known, self._crowded = _NOBODY, _MANY
        self._times: tuple[EventChunk, NDArray[np.int64]] | None = None

    def take(self, chunk: EventChunk, found: SliceOutcome, state: StreamState) -> None:
        """Add the outcome of some events of a chunk: all events are counted, except those that break the schema."""
        if self._times is None or self._times[0] is not chunk:
            self._times = chunk, own_times(chunk.events, self._schema)
        part = slice(found.begin, found.begin + found.size)
        times = self._times[1][part]
        self._tally.see(np.delete(times, found.rejected - found.begin))
        new = _EventTimes(np.arange(found.first, found.first + found.size), times, chunk.rows[part])
        known = self._known
        self._known = new if not len(known.number) else _EventTimes(*map(np.concatenate, zip(known, new, strict=True)))
        self.tell(found.outcomes)
        if not state.waiting:
            self._known = _NOBODY
        elif len(self._known.number) > self._crowded:
            held = np.isin(self._known.number, state.patterns.held.numbers(), assume_unique=True)
            self._known = self._known.take(np.flatnonzero(held))
            self._crowded = max(_MANY, 2 * len(self._known.number))

    def tell(self, outcomes: Outcomes) -> None:
        """Count the outcomes of known events."""
        at = self._known.find(outcomes.event)
        place = outcomes.place if self._places is None else self._places[outcomes.place]
        take_outcomes(self._tally, outcomes, place, self._known.time[at], self._known.row[at])


def take_outcomes(
    tally: BacktestTally, outcomes: Outcomes, place: NDArray[np.int64], time: NDArray[np.int64], row: NDArray[np.int64]
) -> None:
    """Count outcomes: their subscriptions, the times of the events, and the rows of these in the source."""
    for kind in TALLIED:
        rows = np.flatnonzero(outcomes.kind == KINDS.index(kind))
        told = BacktestRows(place[rows], time[rows], row[rows])
        tally.take(kind, told, partial(_samples, outcomes, rows, time))


def own_times(events: Events, schema: Schema) -> NDArray[np.int64]:
    """Times in microseconds; UNTIMED for a missing or unreadable one, which filters ignore."""
    try:
        found = times_of(events, schema)
    except InputError:
        return np.full(len(events), UNTIMED)
    times = np.where(found.known, found.microseconds, UNTIMED)
    times[[reject.row for reject in found.rejects]] = UNTIMED
    return times


def _samples(
    outcomes: Outcomes, rows: NDArray[np.int64], time: NDArray[np.int64], some: NDArray[np.int64]
) -> Sequence[BacktestSample]:
    """Some of the rows, by their places among these, in the form that is shown."""
    rows = rows[some]
    chosen = outcomes.take(rows)
    details = dict(chosen.details())
    return [
        BacktestSample(str(chosen.called(event)), int(time[row]), in_json(details.get(number)))
        for number, (row, event) in enumerate(zip(rows.tolist(), chosen.event.tolist(), strict=True))
    ]
