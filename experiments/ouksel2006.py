"""Ouksel 2006: Figures 6 to 14 and equation 2: which subscriptions others make redundant, by guessing and exactly.

python -m experiments.ouksel2006 OUT [--quick]

The paper leaves open how its subscriptions were made: `ouksel.scenarios` (Figures 6 to 12) and `ouksel.workload` (13
and 14) say what it says, what it does not, and what we chose.
"""

from __future__ import annotations

from experiments.ouksel import extreme, figures6to10, figures13to14, many, propagation
from experiments.report.findings import Paper, Part
from experiments.report.running import main

PAPER = Paper(
    "ouksel2006",
    "Ouksel 2006",
    "Efficient probabilistic subsumption checking for content-based publish/subscribe systems",
    "Ouksel, Jurca, Podnar, Aberer",
    "Covering: is a subscription covered by the union of others, so that nobody needs to hear of it? The paper guesses "
    "points; beside it stands an exact decision. Its figures are printed without numbers, so what can be compared is "
    "what the text says of them. Sampling makes at most 100,000 guesses for a decision, where algorithm 2 may ask for "
    "10^50. All times are of the processor, and of the same run.",
    (
        Part("Figures 6 to 10", figures6to10.figures),
        Part("Figures 11 and 12", extreme.figures),
        Part("Figures 13 and 14", figures13to14.figures),
        Part("Equation 2", propagation.figures),
        Part("Many subscriptions", many.figures),
    ),
)

if __name__ == "__main__":
    main(PAPER)
