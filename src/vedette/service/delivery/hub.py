"""Wakes the readers of notifications when the queues of their subscriptions have grown."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Hub:
    """Events to set, by subscription number.

    `grown` and `wake` may be called by any thread, all else by one event loop.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: dict[int, set[asyncio.Event]] = {}
        self._all: set[asyncio.Event] = set()
        self._fresh: set[int] = set()

    def start(self) -> None:
        """Use the running event loop."""
        self._loop = asyncio.get_running_loop()

    def grown(self, numbers: frozenset[int]) -> None:
        """Wake the readers of subscriptions whose queues have grown; to be called from any thread."""
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
        """An event that is set whenever the queue of a subscription has grown, as a context."""
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
        """Make all readers check whether they may still read; to be called from any thread."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._wake_all)

    def _wake_all(self) -> None:
        for waiting in self._waiting.values():
            for event in waiting:
                event.set()

    def fresh(self) -> frozenset[int]:
        """Numbers of the subscriptions whose queues have grown since the last call."""
        numbers, self._fresh = frozenset(self._fresh), set()
        return numbers

    @property
    def readers(self) -> int:
        """Number of readers at present."""
        return sum(map(len, self._waiting.values()))
