"""Matching the events of a file: chunk by chunk, with bounded memory, counting what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from vedette.files.chunks import EventChunk, RejectedEvent
from vedette.files.output import MatchWriter, RejectWriter
from vedette.kernels.rows import Rows, events_of
from vedette.matching.matcher import Matcher
from vedette.schema.columns import Column
from vedette.schema.encode import Encoded, Reject, encode

_FIRST_SLICE = 1024  # events that are matched before anything is known of how many matches they have
_MATCHES = 4_000_000  # at a time, about: more cost memory and gain nothing
_SHOWN = 5  # rejected events that are kept to be reported one by one


@dataclass(slots=True)
class Tally:
    """What came of it."""

    subscriptions: int = 0
    events: int = 0  # read, good and bad
    rejected: int = 0
    matches: int = 0
    prepared_s: float = 0.0  # reading subscriptions, building the index
    matched_s: float = 0.0  # reading events, matching, writing
    first_rejects: list[RejectedEvent] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Events a second, from file to file."""
        return self.events / self.matched_s if self.matched_s else 0.0

    def __str__(self) -> str:
        return (
            f"{self.events:,} events against {self.subscriptions:,} subscriptions: {self.matches:,} matches, "
            f"{self.rejected:,} rejected; {self.matched_s:.1f} s, {self.rate:,.0f} events/s "
            f"(after {self.prepared_s:.1f} s of preparation)"
        )


class Job:
    """Matches chunk after chunk, in slices that are as large as their matches allow."""

    def __init__(self, matcher: Matcher, columns: tuple[Column, ...], threads: int, tally: Tally) -> None:
        self._matcher = matcher
        self._columns = columns
        self._threads = threads
        self._tally = tally
        self._slice = _FIRST_SLICE

    def warm_up(self, chunk: EventChunk) -> None:
        """Match the first few events for nothing: whatever has to be compiled or worked out once is so afterwards."""
        _, events = next(self._slices(chunk.events), (0, None))
        if events is not None:
            self._rows(events)

    def match(self, chunk: EventChunk, out: MatchWriter, aside: RejectWriter | None) -> None:
        """Match one chunk; its rejects, of the reader and of the schema, come in the order of rows."""
        rejects = list(chunk.rejects)
        for begin, events in self._slices(chunk.events):
            encoded, rows = self._rows(events)
            numbers = pa.array(events_of(rows, begin))
            out.write(
                pa.DictionaryArray.from_arrays(numbers, chunk.ids),
                pa.DictionaryArray.from_arrays(pa.array(rows.subscription), self._matcher.ids),
            )
            self._learn(len(events), len(numbers))
            self._tally.matches += len(numbers)
            if encoded.rejects:
                rejects += _placed(chunk, encoded.rejects, begin)
        self._tally.events += len(chunk) + len(chunk.rejects)
        if rejects:
            rejects.sort(key=lambda reject: reject.row)
            self._tally.rejected += len(rejects)
            self._tally.first_rejects += rejects[: _SHOWN - len(self._tally.first_rejects)]
            if aside is not None:
                aside.write(rejects)

    def _rows(self, events: Any) -> tuple[Encoded, Rows]:
        encoded = encode(events, self._columns, self._matcher.schema)
        return encoded, self._matcher.match_rows(encoded, threads=self._threads, ordered=True)

    def _slices(self, events: Any) -> Iterator[tuple[int, Any]]:
        begin, size = 0, len(events)
        while begin < size:
            end = min(size, begin + self._slice)
            yield begin, events.slice(begin, end - begin) if isinstance(events, pa.Table) else events[begin:end]
            begin = end

    def _learn(self, events: int, matches: int) -> None:
        most = max(64, int(_MATCHES * events / max(1, matches)))
        self._slice = min(most, 8 * self._slice)


def _placed(chunk: EventChunk, rejects: Sequence[Reject], begin: int) -> list[RejectedEvent]:
    """Rejects of a slice with their places in the source."""
    return chunk.rejected(replace(one, row=one.row + begin) for one in rejects)
