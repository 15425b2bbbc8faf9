"""Who is active after each arrival: decided box by box, or by the product's covering set.

A subscription that those before it cover when it arrives does not become active. Nobody leaves, and nobody is parked
because of one that comes later, as in section 4. An attribute has finitely many values here, as sampling needs it, so
"any value" is a range too; for the covering set of the product it is not, as events may lack the attribute.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.micro.covering import Question
from experiments.ouksel.workload import as_filter
from vedette.covering.box_decision import ConflictTable, DecisionMethod, decide
from vedette.covering.cover_set import CoveringSet

ERROR = 1e-6
GUESSES = 100_000  # at most, for one decision


@dataclass
class Growing:
    """Active subscriptions as they arrive."""

    method: DecisionMethod
    low: ConflictTable
    high: ConflictTable
    active: list[int] = field(default_factory=list)  # after each arrival
    wrong: int = 0
    uncertain: int = 0

    def run(self) -> Growing:
        """Let all of them arrive."""
        low, high, count = np.empty_like(self.low), np.empty_like(self.high), 0
        for number, (own_low, own_high) in enumerate(zip(self.low, self.high, strict=True)):
            question = Question(own_low, own_high, low[:count], high[:count])
            made = decide(*question, method=self.method, error=ERROR, budget=GUESSES, seed=number)
            self.uncertain += made.method == "budget"
            if made.method == "sampling" and made.covered:
                self.wrong += not decide(*question).covered
            if not made.covered:
                low[count], high[count] = own_low, own_high
                count += 1
            self.active.append(count)
        return self


def questions(low: ConflictTable, high: ConflictTable, active: Sequence[int], every: int) -> list[Question]:
    """What is asked of every so many arrivals: whether those that are active then cover it."""
    becomes = np.flatnonzero(np.diff(active, prepend=0))
    return [
        Question(low[number], high[number], low[rows], high[rows])
        for number in range(every - 1, len(low), every)
        for rows in [becomes[becomes < number]]
    ]


def covering_set(low: ConflictTable, high: ConflictTable) -> tuple[int, int, float]:
    """What the product's covering set leaves active, where it is not certain, and seconds, reading filters included."""
    filters = [as_filter(*bounds) for bounds in zip(low, high, strict=True)]
    begin = time.process_time()
    parts = CoveringSet({f"x{number + 1}": "int" for number in range(low.shape[1])})
    uncertain = sum(not parts.add(str(number), text).certain for number, text in enumerate(filters))
    return len(parts.active), uncertain, time.process_time() - begin
