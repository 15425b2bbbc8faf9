"""In-memory buffer of events that were just accepted, so that matching need not read them from the database."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from vedette.service.incoming_events import IncomingEvent

_MOST_BYTES: Final = 16 << 20  # of events as JSON, of all streams together
_MOST: Final = 50_000  # events


class AcceptedEvents(NamedTuple):
    """Events of one stream that were published together, and are on the disk already."""

    numbers: Sequence[int]
    events: Sequence[IncomingEvent]
    trace: str | None
    received: int
    tenant: str = ""  # who published them; empty: somebody without a key

    def part(self, begin: int, end: int | None = None) -> AcceptedEvents:
        """The events from one position up to another."""
        return self._replace(numbers=self.numbers[begin:end], events=self.events[begin:end])

    @property
    def size(self) -> int:
        """Bytes of the events as JSON."""
        return sum(len(one.body) for one in self.events)


class AcceptedBuffer:
    """Buffer, by stream, of all events above a number until they are taken; emptied when it gets too large."""

    def __init__(self, most_bytes: int = _MOST_BYTES, most: int = _MOST) -> None:
        self._most_bytes, self._most = most_bytes, most
        self._lock = threading.Lock()
        self._streams: dict[str, deque[AcceptedEvents]] = {}
        self._bytes = self._count = 0
        self._after = 0  # all events above this number are in the buffer

    def begin(self, after: int) -> None:
        """Empty the buffer; only events with numbers above this one will be put."""
        with self._lock:
            self._clear(after)

    def put(self, stream: str, some: AcceptedEvents) -> None:
        """Add events that are newer than all others; beyond the limits of size the whole buffer is emptied."""
        with self._lock:
            self._streams.setdefault(stream, deque()).append(some)
            self._bytes += some.size
            self._count += len(some.numbers)
            if self._bytes > self._most_bytes or self._count > self._most:
                self._clear(max(each[-1].numbers[-1] for each in self._streams.values() if each))

    def take(self, stream: str, after: int, upto: int, limit: int) -> list[AcceptedEvents] | None:
        """Take the next events of a stream out of the buffer; None if some of them are on the disk only."""
        with self._lock:
            if after < self._after:
                return None
            kept: deque[AcceptedEvents] = self._streams.get(stream) or deque()
            while kept and kept[0].numbers[0] <= after:
                self._taken(kept, sum(number <= after for number in kept[0].numbers))
            found: list[AcceptedEvents] = []
            while kept and limit > 0 and kept[0].numbers[0] <= upto:
                mine = kept[0].numbers
                fitting = len(mine) if mine[-1] <= upto else sum(number <= upto for number in mine)
                found.append(self._taken(kept, min(fitting, limit)))
                limit -= len(found[-1].numbers)
            return found

    def _taken(self, kept: deque[AcceptedEvents], count: int) -> AcceptedEvents:
        """Take so many events from the front."""
        first = kept.popleft()
        if count < len(first.numbers):
            kept.appendleft(first.part(count))
            first = first.part(0, count)
        self._bytes -= first.size
        self._count -= len(first.numbers)
        return first

    def _clear(self, after: int) -> None:
        self._streams.clear()
        self._bytes = self._count = 0
        self._after = after
