"""Which events were accepted just now? They are matched in a moment, and need not be read from the disk for it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

_MOST_BYTES: Final = 16 << 20  # of events as JSON, of all streams together
_MOST: Final = 50_000  # events


class Fresh(NamedTuple):
    """An event as it was accepted, on the disk already."""

    number: int
    id: str
    event: Mapping[str, Any]
    body: bytes
    trace: str | None
    received: int


class FreshEvents:
    """All events after a number, by stream, until they are taken; as long as there is room for them."""

    def __init__(self, most_bytes: int = _MOST_BYTES, most: int = _MOST) -> None:
        self._most_bytes, self._most = most_bytes, most
        self._lock = threading.Lock()
        self._streams: dict[str, deque[Fresh]] = {}
        self._bytes = self._count = 0
        self._after = 0  # whatever is newer than this is here

    def begin(self, after: int) -> None:
        """Nothing is here, and all that comes is newer than this."""
        with self._lock:
            self._clear(after)

    def put(self, stream: str, some: Iterable[Fresh]) -> None:
        """Events that are newer than all others."""
        with self._lock:
            kept = self._streams.setdefault(stream, deque())
            for one in some:
                kept.append(one)
                self._bytes += len(one.body)
                self._count += 1
            if self._bytes > self._most_bytes or self._count > self._most:
                self._clear(max(each[-1].number for each in self._streams.values() if each))

    def take(self, stream: str, after: int, upto: int, limit: int) -> list[Fresh] | None:
        """The next events of a stream, which are not needed again; None if some of them are on the disk only."""
        with self._lock:
            if after < self._after:
                return None
            kept: deque[Fresh] = self._streams.get(stream) or deque()
            found: list[Fresh] = []
            while kept and kept[0].number <= after:
                self._gone(kept.popleft())
            while kept and kept[0].number <= upto and len(found) < limit:
                found.append(self._gone(kept.popleft()))
            return found

    def _gone(self, one: Fresh) -> Fresh:
        self._bytes -= len(one.body)
        self._count -= 1
        return one

    def _clear(self, after: int) -> None:
        self._streams.clear()
        self._bytes = self._count = 0
        self._after = after
