"""`python -m benchmarks.micro.covering`: is a box covered by 300 others, decided exactly, and in the paper's order.

Both in one run and on the same boxes, made as the scenarios of Ouksel 2006, section 6, describe them. Reported are
decisions per second, how they were made, and how often the paper's answer is another one.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks import clock
from experiments.ouksel.paper_algorithm import algorithm_4
from vedette.covering.box_decision import BoxDecision, ConflictTable, decide

SIDE = 10_000
Random = np.random.Generator


class Question(NamedTuple):
    """A box, and the candidates that may cover it."""

    s_low: ConflictTable
    s_high: ConflictTable
    low: ConflictTable
    high: ConflictTable


Decide = Callable[[Question], BoxDecision]


def _asked(attributes: int) -> tuple[ConflictTable, ConflictTable]:
    return np.full(attributes, SIDE), np.full(attributes, 2 * SIDE)


def _parts(random: Random, box: tuple[ConflictTable, ConflictTable], count: int) -> tuple[ConflictTable, ConflictTable]:
    """A box cut into so many, one cut after another."""
    low, high = box[0][None].copy(), box[1][None].copy()
    while len(low) < count:
        row, attribute = random.integers(len(low)), random.integers(low.shape[1])
        if high[row, attribute] - low[row, attribute] < 2:
            continue
        cut = random.integers(low[row, attribute] + 1, high[row, attribute])
        low, high = np.vstack([low, low[row]]), np.vstack([high, high[row]])
        high[row, attribute] = low[-1, attribute] = cut
    return low, high


def _partial(random: Random, count: int, attributes: int) -> tuple[ConflictTable, ConflictTable]:
    """Candidates that have all of the box in half of the attributes, and a part of it in the others."""
    s_low, s_high = _asked(attributes)
    ends = np.sort(random.integers(SIDE, 2 * SIDE, (2, count, attributes)), axis=0)
    partial = random.random((count, attributes)) < 0.5
    partial[:, 0] = True  # none of them covers the box alone
    side = random.integers(0, 3, (count, attributes))
    low = np.where(partial & (side != 0), ends[0] + 1, s_low - random.integers(0, SIDE, (count, attributes)))
    high = np.where(partial & (side != 1), ends[1] + 2, s_high + random.integers(0, SIDE, (count, attributes)))
    return low, np.minimum(high, np.where(partial & (side == 0), s_high - 1, high))


def _shuffled(
    random: Random, box: tuple[ConflictTable, ConflictTable], *parts: tuple[ConflictTable, ConflictTable]
) -> Question:
    low, high = (np.vstack(bounds) for bounds in zip(*parts, strict=True))
    order = random.permutation(len(low))
    return Question(*box, low[order], high[order])


def redundant_covering(random: Random, count: int, attributes: int) -> Question:
    """Scenario 1.b: a fifth of the candidates covers the box, no one of them alone; the others are not needed."""
    box = _asked(attributes)
    low, high = _parts(random, box, max(2, count // 5))
    over = random.integers(0, SIDE // 4, (2, *low.shape))
    wider = low - over[0], high + over[1]
    alone = ((wider[0] <= box[0]) & (wider[1] >= box[1])).all(axis=1)[:, None]
    pieces = np.where(alone, low, wider[0]), np.where(alone, high, wider[1])
    return _shuffled(random, box, pieces, _partial(random, count - len(low), attributes))


def no_intersection(random: Random, count: int, attributes: int) -> Question:
    """Scenario 2.a: no candidate meets the box."""
    low, high = _partial(random, count, attributes)
    away, rows = random.integers(attributes, size=count), np.arange(count)
    low[rows, away], high[rows, away] = 2 * SIDE, 3 * SIDE
    return Question(*_asked(attributes), low, high)


def non_cover(random: Random, count: int, attributes: int) -> Question:
    """Scenario 2.b: the candidates leave a range of the first attribute free, one in twenty of its values."""
    low, high = _partial(random, count, attributes)
    gap = random.integers(SIDE + 1, 2 * SIDE - SIDE // 20)
    below = random.random(count) < 0.5
    low[:, 0] = np.where(below, random.integers(0, gap, count), gap + SIDE // 20)
    high[:, 0] = np.where(below, gap, random.integers(2 * SIDE - 1, 3 * SIDE, count))
    return Question(*_asked(attributes), low, high)


def extreme_non_cover(random: Random, count: int, attributes: int, gap: float = 0.005) -> Question:
    """Scenario 2.c: all of the box is covered but a slice of the first attribute, this part of it."""
    s_low, s_high = box = _asked(attributes)
    wide = max(1, round(gap * SIDE))
    begin = int(random.integers(SIDE + 1, 2 * SIDE - wide))
    sides = []
    for low_end, high_end, many in ((SIDE, begin, count // 2), (begin + wide, 2 * SIDE, count - count // 2)):
        half_low, half_high = s_low.copy(), s_high.copy()
        half_low[0], half_high[0] = low_end, high_end
        low, high = _parts(random, (half_low, half_high), many)
        over = random.integers(0, SIDE // 4, (2, *low.shape))
        over[:, :, 0] = 0
        sides.append((low - over[0], high + over[1]))
    return _shuffled(random, box, *sides)


SCENARIOS: dict[str, Callable[[Random, int, int], Question]] = {
    "redundant covering": redundant_covering,
    "no intersection": no_intersection,
    "non-cover": non_cover,
    "extreme non-cover": extreme_non_cover,
}


def measure(decide_one: Decide, questions: Sequence[Question]) -> tuple[float, list[BoxDecision]]:
    """Decisions per second, and what they were."""
    decide_one(questions[0])  # compiles the kernels
    begin = clock.now()
    decisions = [decide_one(question) for question in questions]
    return len(questions) / (clock.now() - begin), decisions


def run(count: int = 300, attributes: int = 20, questions: int = 100, error: float = 1e-6) -> dict[str, Any]:
    """By scenario: both ways of deciding, and where they differ."""
    result: dict[str, Any] = {"candidates": count, "attributes": attributes, "clock": clock.used()}
    for name, make in SCENARIOS.items():
        random = np.random.default_rng(1)
        asked = [make(random, count, attributes) for _ in range(questions)]
        ours, decisions = measure(lambda question: decide(*question), asked)
        paper, printed = measure(lambda question: algorithm_4(*question, error=error), asked)
        result[name] = {
            "per_second": ours,
            "times_the_paper": ours / paper,
            "methods": Counter(decision.method for decision in decisions),
            "methods_of_the_paper": Counter(decision.method for decision in printed),
            "covered": sum(decision.covered for decision in decisions),
            "uncertain": sum(not decision.certain for decision in decisions),
            "paper_is_wrong": sum(
                one.certain and one.covered != other.covered for one, other in zip(decisions, printed, strict=True)
            ),
        }
    return result


def main() -> None:
    """Print the result as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=300)
    parser.add_argument("--attributes", type=int, default=20)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--cpu", action="store_true", help="count processor time, where others use the machine too")
    options = parser.parse_args()
    if options.cpu:
        clock.use("cpu")
    print(json.dumps(run(options.candidates, options.attributes, options.questions), indent=2))


if __name__ == "__main__":
    main()
