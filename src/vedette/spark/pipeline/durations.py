"""Lengths of time as people write them: "10 seconds", "5 min", "500 ms"."""

from __future__ import annotations

import re
from dataclasses import dataclass

_UNITS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
}
_WRITTEN = re.compile(r"\s*([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*([A-Za-z]+)\s*", re.ASCII)
_LONGEST = 366 * 86_400_000
EXAMPLES = 'write a number and a unit: "500 ms", "10 seconds", "5 min", "1 hour"'


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time; `str()` gives a text that Spark and people can read."""

    milliseconds: int

    @classmethod
    def of(cls, text: str) -> Duration:
        """The duration that a text describes; ValueError for other texts, below 1 ms and above a year."""
        found = _WRITTEN.fullmatch(text)
        unit = None if found is None else _UNITS.get(found[2].lower())
        if found is None or unit is None:
            raise ValueError("is no length of time")
        milliseconds = round(float(found[1]) * unit)
        if not 0 < milliseconds <= _LONGEST:
            raise ValueError("is not between a millisecond and a year")
        return cls(milliseconds)

    @property
    def seconds(self) -> float:
        """The length in seconds."""
        return self.milliseconds / 1000

    def __str__(self) -> str:
        for name, size in (("hour", 3_600_000), ("minute", 60_000), ("second", 1_000)):
            if self.milliseconds % size == 0:
                return _counted(self.milliseconds // size, name)
        return _counted(self.milliseconds, "millisecond")


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
