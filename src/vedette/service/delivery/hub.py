"""Who waits for notifications, and is woken when there are some?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Hub:
    """Readers by the number of the subscription that they read. All but `grown` belong to one event loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: dict[int, set[asyncio.Event]] = {}
        self._all: set[asyncio.Event] = set()
        self._fresh: set[int] = set()

    def start(self) -> None:
        """Belong to the running loop."""
        self._loop = asyncio.get_running_loop()

    def grown(self, numbers: frozenset[int]) -> None:
        """The queues of these subscriptions have grown; to be called from any thread."""
        loop = self._loop
        if numbers and loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._wake, numbers)

    def _wake(self, numbers: frozenset[int]) -> None:
        for number in numbers:
            for event in self._waiting.get(number, ()):
                event.set()
        if self._all:
            self._fresh |= numbers
            for event in self._all:
                event.set()

    @contextmanager
    def waiting(self, number: int) -> Iterator[asyncio.Event]:
        """An event that is set whenever the queue of a subscription has grown."""
        event = asyncio.Event()
        self._waiting.setdefault(number, set()).add(event)
        try:
            yield event
        finally:
            waiting = self._waiting[number]
            waiting.discard(event)
            if not waiting:
                del self._waiting[number]

    @contextmanager
    def everything(self) -> Iterator[asyncio.Event]:
        """An event that is set whenever any queue has grown; `fresh` says which. For one listener."""
        event = asyncio.Event()
        self._all.add(event)
        try:
            yield event
        finally:
            self._all.discard(event)

    def wake(self) -> None:
        """Let all who read look whether they still may."""
        for waiting in self._waiting.values():
            for event in waiting:
                event.set()

    def fresh(self) -> frozenset[int]:
        """Whose queues have grown since this was last asked."""
        numbers, self._fresh = frozenset(self._fresh), set()
        return numbers

    @property
    def readers(self) -> int:
        """How many read at present."""
        return sum(map(len, self._waiting.values()))
