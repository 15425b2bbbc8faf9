"""Muthusamy 2010: Figure 9 (matching), 10 and 11 (forecasts: made-up streams, heat waves), and logins beside them.

python -m experiments.muthusamy2010 OUT [--quick]

Where the real data are not there, their figure is left out, by name.
"""

from __future__ import annotations

from experiments.muthusamy import forecasts, heat_waves, logins, matching
from experiments.report.findings import Paper, Part
from experiments.report.running import main

PAPER = Paper(
    "muthusamy2010",
    "Muthusamy 2010",
    "Predictive publish/subscribe matching",
    "Muthusamy, Liu, Jacobsen",
    "Composite patterns over several events, and the probability that a partial match completes. The figures are "
    "printed without numbers, so what can be compared is what the text says of them. `paper` is the paper's own "
    "formula, which is no probability; `first passage` is the right one.",
    (
        Part("Figure 9", matching.figures),
        Part("Figure 10", forecasts.figures),
        Part("Figure 11", heat_waves.figures),
        Part("Logins", logins.figures),
    ),
)

if __name__ == "__main__":
    main(PAPER)
