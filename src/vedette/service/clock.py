"""Clocks of the service; its time does not follow jumps of the wall clock, and tests can replace it.

Validity, retention and retries go by `Steady`: the wall clock as it was when the service began, plus the time that has
elapsed since. If the wall clock jumps (it is set, or the machine was asleep), that is logged and counted, and the
service's time goes on as before; it approaches the wall clock by a twentieth of what elapses, so that no validity
period gets shorter or longer by more than a twentieth. After a restart it begins with the wall clock again.
"""

from __future__ import annotations

import datetime as dt
import logging
import threading
import time
from collections.abc import Callable
from typing import Final, TypeAlias

Clock: TypeAlias = Callable[[], int]  # microseconds since 1970, UTC
SECOND: Final = 1_000_000
JUMP: Final = 10 * SECOND  # what is less is followed at once: clocks are corrected
SLEW: Final = 20  # the service's time is corrected by one part in so many
_LOG: Final = logging.getLogger("vedette.service.clock")


def now() -> int:
    """Microseconds since 1970, UTC."""
    return time.time_ns() // 1000


def elapsed() -> int:
    """Microseconds since some moment, by the monotonic clock, which cannot be set."""
    return time.monotonic_ns() // 1000


def iso(moment: int) -> str:
    """A moment as ISO 8601, to the millisecond or finer."""
    return dt.datetime.fromtimestamp(moment / SECOND, dt.UTC).isoformat().replace("+00:00", "Z")


class Steady:
    """A clock that never goes back, and goes on by elapsed time when the wall clock jumps. Safe for any thread."""

    def __init__(self, wall: Clock = now, elapsed: Clock = elapsed) -> None:
        self._wall, self._elapsed = wall, elapsed
        self._lock = threading.Lock()
        self._at, self._moment = self._read()
        self._ahead = 0
        self.jumps = 0  # of the wall clock, since this one began

    @property
    def ahead(self) -> int:
        """Microseconds by which the wall clock was ahead of this one at the last call."""
        return self._ahead

    def __call__(self) -> int:
        """Microseconds since 1970, UTC."""
        with self._lock:
            at, wall = self._read()
            went = max(0, at - self._at)
            moment = self._moment + went
            ahead = wall - moment
            if abs(ahead - self._ahead) >= JUMP:
                self.jumps += 1
                _LOG.warning(
                    "the wall clock jumped: what is valid until a time goes by elapsed time",
                    extra={"seconds": (ahead - self._ahead) / SECOND, "ahead_seconds": ahead / SECOND},
                )
            if abs(ahead) < JUMP:
                moment = max(self._moment, wall)
            else:
                moment += went // SLEW if ahead > 0 else -(went // SLEW)
            self._at, self._moment, self._ahead = at, moment, wall - moment
            return moment

    def _read(self) -> tuple[int, int]:
        """Read both clocks at one moment; read again if the thread was held up between the two."""
        while True:
            at, wall = self._elapsed(), self._wall()
            if self._elapsed() - at < SECOND:
                return at, wall
