"""The labels of each event's matches, joined into one text per event.

Labels lie one after another: label n is `data[offsets[n] : offsets[n + 1]]`. Nothing is made for a match but its
bytes in the text, so the floor is what copying them costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.kernels.compile import kernel
from vedette.kernels.rows import Rows


class Labels(NamedTuple):
    """Texts by number, as they may be mapped from a file: read-only."""

    offsets: NDArray[np.int64]  # labels + 1
    data: NDArray[np.uint8]


class Joined(NamedTuple):
    """The text of event e of a part is `text[ends[e] : ends[e + 1]]`."""

    ends: NDArray[np.int32]
    text: NDArray[np.uint8]


@kernel
def _measure(rows: Rows, labels: Labels, ends: NDArray[np.int64]) -> None:
    """ends[e + 1] = where the text of event e ends, if all are written one after another."""
    start, subscription, offsets = rows.start, rows.subscription, labels.offsets
    end = np.int64(0)
    ends[0] = end
    for e in range(start.size - 1):
        for i in range(start[e], start[e + 1]):
            number = subscription[i]
            end += offsets[number + 1] - offsets[number] + 1
        if start[e + 1] > start[e]:
            end -= 1  # nothing separates the last one
        ends[e + 1] = end


@kernel
def _write(rows: Rows, labels: Labels, separator: np.uint8, first: int, last: int, text: NDArray[np.uint8]) -> None:
    """The texts of events first .. last."""
    start, subscription, offsets, data = rows.start, rows.subscription, labels.offsets, labels.data
    place = np.int64(0)
    for e in range(first, last):
        for i in range(start[e], start[e + 1]):
            if i > start[e]:
                text[place] = separator
                place += 1
            number = subscription[i]
            for k in range(offsets[number], offsets[number + 1]):
                text[place] = data[k]
                place += 1


def joined(rows: Rows, labels: Labels, separator: int, most: int) -> Iterator[Joined]:
    """The texts of all events, in parts of at most so many bytes; a longer text of one event is a part of its own."""
    events = len(rows.start) - 1
    ends = np.empty(events + 1, np.int64)
    _measure(rows, labels, ends)
    first = 0
    while first < events:
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + most, "right")) - 1)
        text = np.empty(int(ends[last] - ends[first]), np.uint8)
        _write(rows, labels, np.uint8(separator), first, last, text)
        yield Joined((ends[first : last + 1] - ends[first]).astype(np.int32), text)
        first = last
