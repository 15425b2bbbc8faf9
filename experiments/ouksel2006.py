"""Ouksel 2006: Figures 6 to 14 and equation 2: which subscriptions others make redundant, by guessing and exactly.

python -m experiments.ouksel2006 OUT [--quick] [--large]

The paper's figures are printed without numbers, so what can be compared is what its text says of them. It leaves open
how its subscriptions were made: `ouksel.scenarios` (Figures 6 to 12) and `ouksel.workload` (13 and 14) say what it
says, what it does not, and what we chose. Sampling makes at most 100,000 guesses for a decision, where the paper's
algorithm 2 may ask for 10^50. All times are of the processor, and of the same run.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.ouksel import comparison, extreme, propagation, reduction


def run(out: Path, quick: bool, large: bool = False) -> str:
    """Write data and plots under `out`; one line that compares with the paper."""
    out.mkdir(parents=True, exist_ok=True)
    told = [part.run(out, quick) for part in (reduction, extreme, comparison, propagation)]
    if large:
        told.append(comparison.run_large(out))
    return " ".join(told)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--large", action="store_true", help="also 100,000 subscriptions through the covering set")
    arguments = parser.parse_args()
    print(run(arguments.out, arguments.quick, arguments.large))
