"""The units of time, by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MICROSECONDS: Final[Mapping[str, int]] = {
    **dict.fromkeys(("us",), 1),
    **dict.fromkeys(("ms",), 1_000),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000_000),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60_000_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000_000),
}
