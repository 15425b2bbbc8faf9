"""Throughput as more publications are batched."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.meeting_workloads import Factors
from experiments.report.tracking import gather
from experiments.tomasic.measuring import WORKLOADS, Row, measure


@dataclass(frozen=True)
class Sizes:
    """The sizes of batches, of how many publications, against how many subscriptions; and batches timed of a size."""

    batches: tuple[int, ...]
    publications: int
    subscriptions: int
    most: int


FULL = Sizes((1, 3, 10, 30, 100), 100, 10_000, 5)
QUICK = Sizes((1, 10), 10, 2_000, 2)


def all_rows(sizes: Sizes) -> list[Row]:
    """All workloads: 50 variables, four operators."""
    factors = Factors(sizes.publications, sizes.subscriptions)
    return gather("Batches", WORKLOADS, lambda name: list(measure(name, factors, sizes.batches, sizes.most)))
