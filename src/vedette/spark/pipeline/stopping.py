"""How a stream is asked to end: the first signal lets the micro-batch finish, the second ends the process at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Stop:
    """Somebody wants the stream to end."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    @property
    def asked(self) -> bool:
        """Whether it was asked for."""
        return self._asked.is_set()

    def ask(self) -> None:
        """End after the current micro-batch."""
        self._asked.set()

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until it is asked for."""
        return self._asked.wait(seconds)


@contextmanager
def on_signals(stop: Stop, told: Callable[[str], None]) -> Iterator[None]:
    """SIGINT and SIGTERM ask for the end; signals are for the main thread, elsewhere nothing is changed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, frame: object) -> None:
        if stop.asked:
            # All is written so that it can be carried on from any moment: nothing has to be tidied up.
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
