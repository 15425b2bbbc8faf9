"""Response time as the number of subscriptions scales, for all workloads; result and intermediate sizes beside it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from benchmarks.meeting_workloads import Factors
from experiments.report.tracking import gather
from experiments.tomasic.measuring import WORKLOADS, Row, measure


@dataclass(frozen=True)
class Sizes:
    """How many publications at once, and the numbers of subscriptions."""

    publications: int
    subscriptions: tuple[int, ...]


FULL = Sizes(100, (1_000, 3_000, 10_000, 30_000, 100_000))
QUICK = Sizes(20, (500, 1_500, 5_000))


def all_rows(sizes: Sizes) -> list[Row]:
    """All workloads at all sizes: 50 variables, four operators."""
    return gather(
        "Workloads",
        product(WORKLOADS, sizes.subscriptions),
        lambda case: list(measure(case[0], Factors(sizes.publications, case[1]), (sizes.publications,), 1)),
    )
