"""What is found in a chunk of a history, as a tally takes it: when events were, and what is said of a few of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from vedette.composite.times import times_of
from vedette.errors import InputError
from vedette.files.backtest_counts import UNTIMED
from vedette.files.backtest_samples import Sample
from vedette.files.backtest_tally import Tally, Told
from vedette.files.chunks import EventChunk
from vedette.files.matched import MatchedSlice
from vedette.files.notices import MATCH, Notice, Notices
from vedette.kernels.rows import events_of
from vedette.matching.view import Events
from vedette.schema.schema import Schema


def own_times(events: Events, schema: Schema) -> NDArray[np.int64]:
    """In microseconds; UNTIMED where there is none, or none that can be read, which filters do not mind."""
    try:
        found = times_of(events, schema)
    except InputError:
        return np.full(len(events), UNTIMED)
    times = np.where(found.known, found.microseconds, UNTIMED)
    times[[reject.row for reject in found.rejects]] = UNTIMED
    return times


def take_filters(tally: Tally, told: Told, id_of: Callable[[int], str], notices: Notices | None) -> None:
    """Count matches of filters; `id_of` gives the id of an event, by the place of a row."""
    noticed = {} if notices is None else dict(zip(notices.rows.tolist(), notices.notices, strict=True))

    def samples(rows: NDArray[np.int64]) -> Sequence[Sample]:
        return [sample_of(id_of(row), int(told.time[row]), noticed.get(row)) for row in rows.tolist()]

    tally.take(MATCH, told, samples)


def take_patterns(tally: Tally, kind: str, told: Told, said: Callable[[int], tuple[str, Notice]]) -> None:
    """Count matches or predictions of patterns; `said` gives the event's id and all else, by the place of a row."""

    def samples(rows: NDArray[np.int64]) -> Sequence[Sample]:
        heard = [(row, *said(row)) for row in rows.tolist()]
        return [sample_of(id_, int(told.time[row]), notice) for row, id_, notice in heard]

    tally.take(kind, told, samples)


class ChunkTally:
    """Tallies the matches of filters in one chunk; where patterns see it, too, `places` are those of the filters."""

    def __init__(self, tally: Tally, chunk: EventChunk, schema: Schema, places: NDArray[np.int64] | None) -> None:
        self._tally, self._chunk, self._places = tally, chunk, places
        self._ids, self._times = chunk.ids, own_times(chunk.events, schema)
        self._rejected: list[int] = []

    def take(self, found: MatchedSlice) -> None:
        """Count what was found in some of its events."""
        self._rejected += [reject.row for reject in found.rejects]
        events = events_of(found.rows, found.begin).astype(np.int64)
        places = found.rows.subscription if self._places is None else self._places[found.rows.subscription]
        told = Told(places, self._times[events], self._chunk.rows[events])
        take_filters(self._tally, told, partial(id_at, self._ids, events), found.notices)

    def finish(self) -> None:
        """Count its events: all but those that were rejected."""
        times = self._times
        self._tally.see(times[~np.isin(self._chunk.rows, self._rejected)] if self._rejected else times)


def id_at(ids: Any, events: NDArray[np.int64], row: int) -> str:
    """The id of the event of a row."""
    return str(ids[int(events[row])])


def sample_of(event: str, time: int, notice: Notice | None) -> Sample:
    """One row, as it is shown."""
    said = {"kind": MATCH} if notice is None else orjson.loads("{" + notice.json())
    return Sample(event, time, said)
