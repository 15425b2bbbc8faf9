"""Aguilera 1999: Figure 7 (work and space of the matching tree) and the bound of Theorem 1.

python -m experiments.aguilera1999 OUT [--quick]
"""

from __future__ import annotations

from experiments.aguilera import bound, work
from experiments.report.findings import Paper, Part
from experiments.report.running import main

PAPER = Paper(
    "aguilera1999",
    "Aguilera 1999",
    "Matching events in a content-based subscription system",
    "Aguilera, Strom, Sturman, Astley, Chandra",
    "The matching tree: one event against many conjunctions, in time that grows more slowly than their number. The "
    "paper's figure is printed without its numbers, so what can be compared is what the text says of it.",
    (Part("Figure 7", work.figures), Part("Theorem 1", bound.figures)),
)

if __name__ == "__main__":
    main(PAPER)
