"""What time is it? One place, so that tests can turn the clock."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable
from typing import Final, TypeAlias

Clock: TypeAlias = Callable[[], int]  # microseconds since 1970, UTC
SECOND: Final = 1_000_000


def now() -> int:
    """Microseconds since 1970, UTC."""
    return time.time_ns() // 1000


def iso(moment: int) -> str:
    """A moment as ISO 8601, to the millisecond or finer."""
    return dt.datetime.fromtimestamp(moment / SECOND, dt.UTC).isoformat().replace("+00:00", "Z")
