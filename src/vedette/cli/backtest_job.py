"""Matching a history to be tallied: what `match` would find, counted as it is found, and let go of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.cli.job import Counted
from vedette.cli.match import Job
from vedette.cli.stream_job import Found, StreamJob
from vedette.files.backtest_hearing import ChunkTally, id_at, own_times, take_filters, take_patterns
from vedette.files.backtest_tally import Tally, Told
from vedette.files.chunks import EventChunk
from vedette.files.notices import Notice, Notices
from vedette.schema.schema import Schema


def tallied(job: Job, stream: StreamJob | None, tally: Tally, counted: Counted) -> Iterator[float | None]:
    """Match all events and tally what is found; says from time to time how much of the source is done."""
    if stream is not None:
        hearer = _Tallied(tally, job.events.schema)
        yield from stream.match(job.events, lambda: job.events.progress, counted, hearer)
        if stream.forecaster is not None:
            tally.score(stream.forecaster.scores)
        return
    for chunk in job.events:
        # Of filters alone: what is known of a chunk's events need not outlive it.
        mine = ChunkTally(tally, chunk, job.events.schema, None)
        for found in job.chunks.match(chunk):
            counted.count(found.read, len(found.rejects), found.rejects)
            mine.take(found)
        mine.finish()
        yield job.events.progress


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
        self._tally = tally
        self._schema = schema
        self._known = [_Known(*(np.zeros(0, np.int64) for _ in range(3)))]

    def arrive(self, first: int, chunk: EventChunk) -> None:
        """Count events, and know when they were."""
        times = own_times(chunk.events, self._schema)
        self._tally.see(times)
        self._known.append(_Known(np.arange(first, first + len(chunk)), times, chunk.rows))

    def filters(self, found: Found, ids: Any, notices: Notices | None) -> None:
        """Count matches of filters."""
        take_filters(self._tally, self._told(found), partial(id_at, ids, np.arange(len(found))), notices)

    def patterns(self, kind: str, found: Found, said: Callable[[int], tuple[str, Notice]]) -> None:
        """Count matches or predictions of patterns."""
        take_patterns(self._tally, kind, self._told(found), said)

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
