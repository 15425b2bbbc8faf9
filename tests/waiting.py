"""Waiting for what another thread or process is bound to do."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(done: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for something that is bound to happen; the time is only to end a test that hangs."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)
