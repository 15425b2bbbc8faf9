"""Asks a stream to stop: the first signal lets the micro-batch finish, the second ends the process at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class StopRequest:
    """A request to end the stream."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    @property
    def asked(self) -> bool:
        """Whether the stream is to end."""
        return self._asked.is_set()

    def ask(self) -> None:
        """End the stream after the current micro-batch."""
        self._asked.set()

    def wait(self, seconds: float) -> bool:
        """Wait until a stop is asked for, so long at most; whether it was."""
        return self._asked.wait(seconds)


@contextmanager
def on_signals(stop: StopRequest, told: Callable[[str], None]) -> Iterator[None]:
    """Stop on SIGINT and SIGTERM, as a context; outside the main thread nothing is changed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, frame: object) -> None:
        if stop.asked:
            # A stream can be continued from any moment, so nothing has to be tidied up.
            os._exit(128 + number)
        stop.ask()
        told("Stopping after the current micro-batch; once more: at once")

    # Spark's own handler of SIGINT, which cancels what is running, comes back afterwards.
    before: dict[int, Any] = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
