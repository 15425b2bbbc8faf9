"""Which time is measured: that on the wall, or, on a machine that others use too, that of this process alone."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Literal

Kind = Literal["wall", "cpu"]
_CLOCKS: dict[Kind, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
_chosen: list[Kind] = ["wall"]


def use(kind: Kind) -> None:
    """Measure with this clock from now on."""
    _chosen[0] = kind


def used() -> Kind:
    """The clock that is measured with."""
    return _chosen[0]


def now() -> float:
    """Seconds, to be subtracted from later ones."""
    return _CLOCKS[_chosen[0]]()


def seconds(
    action: Callable[[], object],
    repetitions: int,
    budget_s: float = 4.0,
    clock: Callable[[], float] = now,
) -> float:
    """The median time of an action; fewer repetitions, but at least one, where they would take too long."""
    times: list[float] = []
    while len(times) < repetitions and (not times or sum(times) < budget_s):
        begin = clock()
        action()
        times.append(clock() - begin)
    return statistics.median(times)
