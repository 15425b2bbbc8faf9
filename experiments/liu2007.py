"""Liu 2007: Figures 4 to 8 (predicates evaluated for an event), the numbers that the paper prints, and what is best.

python -m experiments.liu2007 OUT [--quick]

The paper does not say how its events make predicates true: `liu.workload` says how ours do, and what else was tried.
"""

from __future__ import annotations

from experiments.liu import claims, learning, limits
from experiments.report.findings import Paper, Part
from experiments.report.running import main

PAPER = Paper(
    "liu2007",
    "Liu 2007",
    "Scalable event matching for overlapping subscriptions in pub/sub systems",
    "Liu, Parthasarathy, Ranganathan, Yang",
    "Expensive operators, evaluated as rarely as possible: naive with a memory, Sequential, Sub-Order (with the "
    "paper's order of chains, `suborder, path`, and ours), and adaptive, which the paper does not have. Planners run "
    "as the product runs them; each predicate is an evaluation of its own, and all cost the same but where it is said.",
    (
        Part("Figures 4 to 8", claims.figures),
        Part("Learning", learning.figures),
        Part("Costs and the best schedule", limits.figures),
    ),
)

if __name__ == "__main__":
    main(PAPER)
