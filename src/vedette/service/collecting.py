"""How long may the collector of garbage stop everything? Not as long as it takes to look at every subscription.

Python's collector looks at all objects that live long, again and again: with ten thousand subscriptions a fifth of a
second, in which nobody is answered. Whatever has survived one such look is left alone from then on, but for one look
an hour, so that what has become garbage meanwhile goes, too.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping
from typing import Any, Final

_OLDEST: Final = 2  # generation
_THAW_SECONDS: Final = 3_600.0


class Collector:
    """What Python's collector is told before and after it looks; for a process that is nothing but a service."""

    def __init__(self, thaw_seconds: float = _THAW_SECONDS) -> None:
        self._thaw_seconds = thaw_seconds
        self._thawed = time.monotonic()

    def install(self) -> None:
        """From now on, until `remove`."""
        gc.callbacks.append(self._looks)

    def remove(self) -> None:
        """Let the collector be what it was."""
        gc.callbacks.remove(self._looks)
        gc.unfreeze()

    def _looks(self, phase: str, info: Mapping[str, Any]) -> None:
        if info["generation"] != _OLDEST:
            return
        if phase == "stop":
            gc.freeze()
        elif time.monotonic() - self._thawed >= self._thaw_seconds:
            self._thawed = time.monotonic()
            gc.unfreeze()
