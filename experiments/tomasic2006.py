"""Tomasic 2006: constraints that meet: the four workloads of §4, its factors, response time, throughput and batches.

python -m experiments.tomasic2006 OUT [--quick]

`benchmarks.meeting_workloads` says how the workloads are made, each so that its property holds by construction. The
number of conjuncts is 1, as in the paper's examples, but for large intermediate results, which take two variables and
more: 5 of 50, or 2.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # before anything imports Numba

from benchmarks import clock
from experiments.report.findings import Figure, Paper, Part
from experiments.report.running import main
from experiments.tomasic import factors, uniform, workloads


def _by_processor(figures: Callable[[bool], Iterable[Figure]]) -> Callable[[bool], Iterator[Figure]]:
    """With times of the processor, since the machine may have other work."""

    def measured(quick: bool) -> Iterator[Figure]:
        before = clock.used()
        clock.use("cpu")
        try:
            yield from figures(quick)
        finally:
            clock.use(before)

    return measured


PAPER = Paper(
    "tomasic2006",
    "Tomasic 2006",
    "On the evaluation of symmetric publish / subscribe",
    "Tomasic, Garrod, Popendorf",
    "Symmetric matching: publications are constraints, too, and meet subscriptions if the two sets of points do. The "
    "paper prints no figures of its own evaluation, and does not say how its workloads were made: ours are made so "
    "that what it says of each holds by construction. All times are of the processor, and of the same run.",
    (
        Part("The four workloads", _by_processor(workloads.figures)),
        Part("Result sizes", uniform.figures),
        Part("All factors", _by_processor(factors.figures)),
    ),
)

if __name__ == "__main__":
    main(PAPER)
