"""Muthusamy 2010: Figure 9 (matching), 10 and 11 (forecasts: made-up streams, heat waves), and logins beside them.

python -m experiments.muthusamy2010 OUT [--quick]

The paper's figures are printed without numbers, so what can be compared is what the text says of them. Where the real
data are not there, their figure is left out, by name.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from experiments.muthusamy import forecasts, heat_waves, logins, matching
from experiments.muthusamy.output import Missing

FIGURES: dict[str, Callable[[Path, bool], str]] = {
    "Figure 9": matching.run,
    "Figure 10": forecasts.run,
    "Figure 11": heat_waves.run,
    "Logins": logins.run,
}


def run(out: Path, quick: bool) -> str:
    """Write data and plots under `out`; one line that compares with the paper."""
    out.mkdir(parents=True, exist_ok=True)
    told = []
    for name, figure in FIGURES.items():
        try:
            told.append(figure(out, quick))
        except Missing as missing:
            told.append(f"{name} is left out: {missing}.")
    return " ".join(told)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    print(run(arguments.out, arguments.quick))
