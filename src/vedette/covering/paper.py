"""The paper's own order of things, step by step as it is written, to be held against `decide` (Ouksel 2006, section 4).

The conflict table is written down for all candidates, also for those that do not meet the box; MCS compares every entry
with those of all others. The errata are mended: the flags of algorithm 4 are set per row, and algorithm 3 asks f >= 1.
"""

from __future__ import annotations

import numpy as np

from vedette.covering.conflict import Bounds, covering_alone, has_polyhedron_witness, plain
from vedette.covering.decide import Decision
from vedette.covering.sampling import guess
from vedette.kernels.cover_paper import conflict_table, minimized
from vedette.kernels.cover_rows import Box, Boxes


def algorithm_4(
    s_low: Bounds, s_high: Bounds, low: Bounds, high: Bounds, *, error: float = 1e-6, most: int = 100_000, seed: int = 0
) -> Decision:
    """Decide as the paper does, with at most so many guesses; what it finds has no point to show for it."""
    box, boxes = Box(plain(s_low), plain(s_high)), Boxes(plain(low), plain(high))
    table = conflict_table(box, boxes)
    alone = covering_alone(table)
    if len(alone):
        return Decision(True, "pairwise", True, by=(int(alone[0]),))
    if has_polyhedron_witness(table):
        return Decision(False, "witness", True)
    kept = np.flatnonzero(minimized(box, boxes, table))
    if not len(kept):
        return Decision(False, "empty", True)
    guessed = guess(box.low, box.high, boxes.low[kept], boxes.high[kept], error=error, most=most, seed=seed)
    if guessed.point is None:
        return Decision(True, "sampling", False, error=guessed.error, by=tuple(kept.tolist()), work=guessed.guesses)
    return Decision(False, "sampling", True, work=guessed.guesses)
