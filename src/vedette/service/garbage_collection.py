"""Keeps Python's garbage collector from long pauses, by freezing the objects that live long.

The collector looks at all objects that live long, again and again: with ten thousand subscriptions that takes a fifth
of a second, in which no request is answered. Whatever has survived one full collection is frozen, and so left out of
later ones; once an hour all is thawed, so that what has become garbage meanwhile goes, too.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping
from typing import Any, Final

_OLDEST: Final = 2  # generation
_THAW_SECONDS: Final = 3_600.0


class GarbageCollection:
    """Freezes objects after each full collection; for a process that is nothing but a service."""

    def __init__(self, thaw_seconds: float = _THAW_SECONDS) -> None:
        self._thaw_seconds = thaw_seconds
        self._thawed = time.monotonic()

    def install(self) -> None:
        """Begin, until `remove`."""
        gc.callbacks.append(self._looks)

    def remove(self) -> None:
        """Restore the collector's normal behaviour."""
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
