"""The paper's algorithm, step by step as printed, for comparison with `decide` (Ouksel 2006, section 4).

The conflict table is written down for all candidates, also for those that do not meet the box; MCS compares every entry
with those of all others. The errata are corrected: the flags of algorithm 4 are set per row, and algorithm 3 tests f >=
1.
"""

from __future__ import annotations

import numpy as np

from vedette.covering.box_decision import (
    BoxDecision,
    ConflictTable,
    covering_alone,
    guess,
    has_polyhedron_witness,
    plain,
)
from vedette.covering.kernels.cover_paper import conflict_table, minimized
from vedette.covering.kernels.cover_rows import DenseBox, DenseBoxes


def algorithm_4(
    s_low: ConflictTable,
    s_high: ConflictTable,
    low: ConflictTable,
    high: ConflictTable,
    *,
    error: float = 1e-6,
    most: int = 100_000,
    seed: int = 0,
) -> BoxDecision:
    """Decide as the paper does, with at most so many random points; its results have no witness point."""
    box, boxes = DenseBox(plain(s_low), plain(s_high)), DenseBoxes(plain(low), plain(high))
    table = conflict_table(box, boxes)
    alone = covering_alone(table)
    if len(alone):
        return BoxDecision(True, "pairwise", True, by=(int(alone[0]),))
    if has_polyhedron_witness(table):
        return BoxDecision(False, "witness", True)
    kept = np.flatnonzero(minimized(box, boxes, table))
    if not len(kept):
        return BoxDecision(False, "empty", True)
    guessed = guess(box.low, box.high, boxes.low[kept], boxes.high[kept], error=error, most=most, seed=seed)
    if guessed.point is None:
        return BoxDecision(True, "sampling", False, error=guessed.error, by=tuple(kept.tolist()), work=guessed.guesses)
    return BoxDecision(False, "sampling", True, work=guessed.guesses)
