"""Matching a history to be tallied: what `match` would find, counted as it is found, and let go of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from vedette.cli.job import Counted
from vedette.cli.match import Job
from vedette.cli.stream_job import Found, StreamJob
from vedette.composite.times import times_of
from vedette.errors import InputError
from vedette.files.backtest_counts import UNTIMED
from vedette.files.backtest_samples import Sample
from vedette.files.backtest_tally import Tally, Told
from vedette.files.chunks import EventChunk
from vedette.files.notices import MATCH, Notice, Notices
from vedette.kernels.rows import events_of
from vedette.matching.view import Events
from vedette.schema.schema import Schema


def tallied(job: Job, stream: StreamJob | None, tally: Tally, counted: Counted) -> Iterator[float | None]:
    """Match all events and tally what is found; says from time to time how much of the source is done."""
    hearer = _Tallied(tally, job.events.schema)
    if stream is not None:
        yield from stream.match(job.events, lambda: job.events.progress, counted, hearer)
        if stream.forecaster is not None:
            tally.score(stream.forecaster.scores)
        return
    for chunk in job.events:
        _filtered(chunk, job, hearer, counted)
        yield job.events.progress


def _filtered(chunk: EventChunk, job: Job, hearer: _Tallied, counted: Counted) -> None:
    """Filters alone: what is known of a chunk's events need not outlive it."""
    ids, times = chunk.ids, hearer.times(chunk.events)
    rejected: list[int] = []
    for found in job.chunks.match(chunk):
        counted.count(found.read, len(found.rejects), found.rejects)
        rejected += [reject.row for reject in found.rejects]
        events = events_of(found.rows, found.begin).astype(np.int64)
        told = Told(found.rows.subscription, times[events], chunk.rows[events])
        hearer.take(told, partial(_id_at, ids, events), found.notices)
    hearer.tally.see(times[~np.isin(chunk.rows, rejected)] if rejected else times)


class _Known(NamedTuple):
    """Events by the numbers of their arrival, ascending: their times, and the rows of the source they stand in."""

    number: NDArray[np.int64]
    time: NDArray[np.int64]
    row: NDArray[np.int64]

    def take(self, rows: NDArray[Any]) -> _Known:
        return _Known(*(column[rows] for column in self))


class _Tallied:
    """Hears what a stream job finds; of its events it knows when they were as long as they may be spoken of."""

    def __init__(self, tally: Tally, schema: Schema) -> None:
        self.tally = tally
        self._schema = schema
        self._known = [_Known(*(np.zeros(0, np.int64) for _ in range(3)))]

    def times(self, events: Events) -> NDArray[np.int64]:
        """In microseconds; UNTIMED where there is none, or none that can be read, which filters do not mind."""
        try:
            found = times_of(events, self._schema)
        except InputError:
            return np.full(len(events), UNTIMED)
        times = np.where(found.known, found.microseconds, UNTIMED)
        times[[reject.row for reject in found.rejects]] = UNTIMED
        return times

    def arrive(self, first: int, chunk: EventChunk) -> None:
        """Count events, and know when they were."""
        times = self.times(chunk.events)
        self.tally.see(times)
        self._known.append(_Known(np.arange(first, first + len(chunk)), times, chunk.rows))

    def filters(self, found: Found, ids: Any, notices: Notices | None) -> None:
        """Count matches of filters."""
        self.take(self._told(found), partial(_id_at, ids, np.arange(len(found))), notices)

    def take(self, told: Told, id_of: Callable[[int], str], notices: Notices | None) -> None:
        """Count matches of filters; `id_of` gives the id of an event, by the place of a row."""
        noticed = {} if notices is None else dict(zip(notices.rows.tolist(), notices.notices, strict=True))

        def samples(rows: NDArray[np.int64]) -> Sequence[Sample]:
            return [_sample(id_of(row), int(told.time[row]), noticed.get(row)) for row in rows.tolist()]

        self.tally.take(MATCH, told, samples)

    def patterns(self, kind: str, found: Found, said: Callable[[int], tuple[str, Notice]]) -> None:
        """Count matches or predictions of patterns."""
        told = self._told(found)

        def samples(rows: NDArray[np.int64]) -> Sequence[Sample]:
            heard = [(row, *said(row)) for row in rows.tolist()]
            return [_sample(id_, int(told.time[row]), notice) for row, id_, notice in heard]

        self.tally.take(kind, told, samples)

    def forget(self, but: NDArray[np.int64]) -> None:
        """Know only of these events."""
        known = self._all()
        self._known = [known.take(np.isin(known.number, but, assume_unique=True))]

    def finish(self) -> None:
        """Everything was counted as it came."""

    def _told(self, found: Found) -> Told:
        known = self._all()
        places = np.searchsorted(known.number, found.numbers)
        return Told(found.places, known.time[places], known.row[places])

    def _all(self) -> _Known:
        if len(self._known) > 1:
            self._known = [_Known(*(np.concatenate(each) for each in zip(*self._known, strict=True)))]
        return self._known[0]


def _id_at(ids: Any, events: NDArray[np.int64], row: int) -> str:
    return str(ids[int(events[row])])


def _sample(event: str, time: int, notice: Notice | None) -> Sample:
    said = {"kind": MATCH} if notice is None else orjson.loads("{" + notice.json())
    return Sample(event, time, said)
