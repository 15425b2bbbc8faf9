"""Several ways of doing something, timed in turns, so that none has the quiet minutes for itself."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def in_turns(ways: Mapping[str, Callable[[], object]], repetitions: int) -> dict[str, float]:
    """The median seconds of each; one round before that counts for nothing: it starts workers and compiles."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(repetitions + 1):
        for name, way in ways.items():
            begin = time.perf_counter()
            way()
            if turn:
                times[name].append(time.perf_counter() - begin)
    return {name: statistics.median(found) for name, found in times.items()}
