"""Tomasic 2006: constraints that meet: the four workloads of §4, its factors, response time, throughput and batches.

python -m experiments.tomasic2006 OUT [--quick]

Two engines find the same pairs: the local one, and the paper's queries in DuckDB, one thread each, in memory, with
both sides ready. The paper prints no figures of its own evaluation, and does not say how its workloads were made:
`benchmarks.meeting_workloads` says how ours are, each so that its property holds by construction. The number of
conjuncts is 1, as in the paper's examples, but for large intermediate results, which take two variables and more: 5 of
50, or 2. All times are of the processor, and of the same run.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # before anything imports Numba

from benchmarks import clock
from experiments.tomasic import batching, factors, scaling


def run(out: Path, quick: bool) -> str:
    """Write data and plots under `out`; one line that says what came out."""
    out.mkdir(parents=True, exist_ok=True)
    before = clock.used()
    clock.use("cpu")
    try:
        return " ".join(part.run(out, quick) for part in (factors, scaling, batching))
    finally:
        clock.use(before)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    print(run(arguments.out, arguments.quick))
