"""In-memory buffer of events that were just accepted, so that matching need not read them from the database."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

_MOST_BYTES: Final = 16 << 20  # of events as JSON, of all streams together
_MOST: Final = 50_000  # events


class AcceptedEvent(NamedTuple):
    """An accepted event, which is on the disk already."""

    number: int
    id: str
    event: Mapping[str, Any]
    body: bytes
    trace: str | None
    received: int
    tenant: str = ""  # who published it; empty: somebody without a key


class AcceptedEvents:
    """Buffer, by stream, of all events above a number until they are taken; emptied when it gets too large."""

    def __init__(self, most_bytes: int = _MOST_BYTES, most: int = _MOST) -> None:
        self._most_bytes, self._most = most_bytes, most
        self._lock = threading.Lock()
        self._streams: dict[str, deque[AcceptedEvent]] = {}
        self._bytes = self._count = 0
        self._after = 0  # all events above this number are in the buffer

    def begin(self, after: int) -> None:
        """Empty the buffer; only events with numbers above this one will be put."""
        with self._lock:
            self._clear(after)

    def put(self, stream: str, some: Iterable[AcceptedEvent]) -> None:
        """Add events that are newer than all others; beyond the limits of size the whole buffer is emptied."""
        with self._lock:
            kept = self._streams.setdefault(stream, deque())
            for one in some:
                kept.append(one)
                self._bytes += len(one.body)
                self._count += 1
            if self._bytes > self._most_bytes or self._count > self._most:
                self._clear(max(each[-1].number for each in self._streams.values() if each))

    def take(self, stream: str, after: int, upto: int, limit: int) -> list[AcceptedEvent] | None:
        """Take the next events of a stream out of the buffer; None if some of them are on the disk only."""
        with self._lock:
            if after < self._after:
                return None
            kept: deque[AcceptedEvent] = self._streams.get(stream) or deque()
            found: list[AcceptedEvent] = []
            while kept and kept[0].number <= after:
                self._gone(kept.popleft())
            while kept and kept[0].number <= upto and len(found) < limit:
                found.append(self._gone(kept.popleft()))
            return found

    def _gone(self, one: AcceptedEvent) -> AcceptedEvent:
        self._bytes -= len(one.body)
        self._count -= 1
        return one

    def _clear(self, after: int) -> None:
        self._streams.clear()
        self._bytes = self._count = 0
        self._after = after
