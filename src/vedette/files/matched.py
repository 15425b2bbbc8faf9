"""Matching a chunk of events: slice by slice, with bounded memory; the same work wherever it is done."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from vedette.files.chunks import EventChunk, RejectedEvent
from vedette.files.notices import Notices
from vedette.kernels.rows import Rows
from vedette.matching.matcher import Matcher
from vedette.schema.columns import Column
from vedette.schema.encode import Encoded, encode
from vedette.schema.schema import Schema

if TYPE_CHECKING:
    from vedette.files.operator_filters import OperatorFilters
    from vedette.operators.sources import Shared

_FIRST_SLICE = 1024  # events that are matched before anything is known of how many matches they have
_MATCHES = 4_000_000  # at a time, about: more cost memory and gain nothing


def columns_read(matcher: Matcher, given: Schema | None) -> tuple[Column, ...]:
    """What is read of every event: what subscriptions ask for, and all that a given schema promises.

    Whether an event breaks the schema that somebody wrote must not depend on who subscribed.
    """
    asked = matcher.segment.codebook.columns
    promised = () if given is None else [Column(path, given[path]) for path in given if not path.endswith(".*")]
    return tuple(dict.fromkeys((*asked, *promised)))


class MatchedSlice(NamedTuple):
    """What came of some events of a chunk, and of the rows around them that are none."""

    begin: int  # the first event's place in its chunk
    rows: Rows  # who should hear of the events
    rejects: list[RejectedEvent]  # of the reader and of the schema, in the order of rows
    read: int  # rows, good and bad
    notices: Notices | None = None  # what some of the matches say beyond it


class ChunkMatcher:
    """Matches chunk after chunk, in slices that are as large as their matches allow."""

    def __init__(
        self,
        matcher: Matcher,
        columns: tuple[Column, ...],
        threads: int = 1,
        operators: OperatorFilters | None = None,
    ) -> None:
        self._matcher = matcher
        self._operators = operators
        self._columns = columns
        self._threads = threads
        self._slice = _FIRST_SLICE
        self._candidates = 0.0  # per event, for operators to decide: they cost as much memory as matches

    @property
    def ids(self) -> Any:
        """The ids of the filters that rows speak of."""
        return self._matcher.ids if self._operators is None else self._operators.ids

    def warm_up(self, chunk: EventChunk) -> float:
        """Match the first few events for nothing, so that all that is done once is done; their matches per event.

        Operators are not called: they may be costly, and somebody may count.
        """
        events = _part(chunk.events, 0, min(self._slice, len(chunk)))
        if not len(events):
            return 0.0
        encoded = self._encoded(events)
        if self._operators is not None:
            self._candidates = self._operators.candidates(encoded) / len(events)
        return len(self._plain(encoded).subscription) / len(events)

    def match(self, chunk: EventChunk, shared: Shared | None = None) -> Iterator[MatchedSlice]:
        """Slices in the order of the events, at least one; `shared` is what operators found of the chunk's events."""
        size, begin, seen = len(chunk), 0, 0
        if not size:
            yield MatchedSlice(0, Rows(np.zeros(1, np.int64), np.zeros(0, np.int32)), chunk.rejects, len(chunk.rejects))
        while begin < size:
            end = min(size, begin + self._slice)
            events = _part(chunk.events, begin, end)
            encoded = self._encoded(events)
            rows, notices = self._plain(encoded), None
            if self._operators is not None:
                ids = chunk.ids.slice(begin, end - begin)
                part = None if shared is None else shared._replace(numbers=shared.numbers[begin:end])
                rows, notices = self._operators.told(rows, encoded, events, ids, part)
            self._learn(end - begin, len(rows.subscription))
            upto = len(chunk.rejects)
            if end < size:
                upto = bisect_left(chunk.rejects, int(chunk.rows[end]), key=lambda reject: reject.row)
            rejects, read = chunk.rejects[seen:upto], end - begin + upto - seen
            if encoded.rejects:
                rejects = rejects + chunk.rejected(replace(one, row=one.row + begin) for one in encoded.rejects)
                rejects.sort(key=lambda reject: reject.row)
            yield MatchedSlice(begin, rows, rejects, read, notices)
            begin, seen = end, upto

    def _encoded(self, events: Any) -> Encoded:
        return encode(events, self._columns, self._matcher.schema)

    def _plain(self, encoded: Encoded) -> Rows:
        return self._matcher.match_rows(encoded, threads=self._threads, ordered=True)

    def _learn(self, events: int, matches: int) -> None:
        most = max(64, int(_MATCHES / max(1 / events, matches / events + self._candidates)))
        self._slice = min(most, 8 * self._slice)


def _part(events: Any, begin: int, end: int) -> Any:
    return events.slice(begin, end - begin) if isinstance(events, pa.Table) else events[begin:end]
