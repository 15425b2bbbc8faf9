"""Slices of events whose matches fit into memory; the only place that cuts the batches of hosts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from vedette.filters.subscription_view import Events

FIRST: Final = 1_024  # events of a slice before anything is known of how many matches they have
_MATCHES: Final = 4_000_000  # matches of a slice, about: more cost memory and gain nothing
_LEAST: Final = 64
_GROWTH: Final = 8  # a slice has at most this many times the events of the one before


class Slicer:
    """Cuts events into slices, and adapts their size to the number of matches."""

    def __init__(self, first: int = FIRST) -> None:
        self.size = first
        self._beside = 0.0

    def expect(self, matches_per_event: float) -> None:
        """Expect this many pairs for operators to decide, besides matches; they take as much memory."""
        self._beside = matches_per_event

    def learn(self, events: int, matches: int) -> None:
        """Learn that so many events had so many matches."""
        if events:
            most = max(_LEAST, int(_MATCHES / max(1 / events, matches / events + self._beside)))
            self.size = min(most, _GROWTH * self.size)

    def cut(self, events: Events) -> Iterator[tuple[int, Events]]:
        """Yield the start and the events of each slice; nothing if there are no events."""
        begin, size = 0, len(events)
        while begin < size:
            end = min(size, begin + self.size)
            yield begin, part_of(events, begin, end)
            begin = end


def part_of(events: Events, begin: int, end: int) -> Events:
    """Some of the events; all of them without a copy."""
    if begin == 0 and end >= len(events):
        return events
    return events.slice(begin, end - begin) if isinstance(events, pa.Table | pa.RecordBatch) else events[begin:end]
