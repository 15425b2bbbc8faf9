"""Is a box covered? Every point of a small grid is asked. And random questions that are small enough for it."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vedette.covering.order_labels import HIGHEST, LOWEST

SIDE = 6


class Question(NamedTuple):
    """A box, and candidates that may cover it, as `decide` takes them."""

    s_low: np.ndarray
    s_high: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def only(self, rows: list[int] | tuple[int, ...]) -> Question:
        """The same box and some of the candidates."""
        return self._replace(low=self.low[list(rows)], high=self.high[list(rows)])


def question(box: list[tuple[int, int]], candidates: list[list[tuple[int, int]]]) -> Question:
    """From closed ranges, as the paper has them."""
    bounds = np.array(candidates, np.int64).reshape(len(candidates), len(box), 2)
    asked = np.array(box, np.int64).reshape(len(box), 2)
    return Question(asked[:, 0], asked[:, 1] + 1, bounds[:, :, 0], bounds[:, :, 1] + 1)


def covered(asked: Question) -> bool:
    """By every point."""
    points = np.array(list(product(*map(range, asked.s_low.tolist(), asked.s_high.tolist()))))
    inside: NDArray[np.bool_] = (points[:, None] >= asked.low) & (points[:, None] < asked.high)
    return bool(np.all(np.any(np.all(inside, axis=2), axis=1)))


def is_witness(asked: Question, point: tuple[int, ...] | None) -> bool:
    """Is it a point of the box that no candidate has?"""
    at = np.array(point)
    in_box = bool((at >= asked.s_low).all() and (at < asked.s_high).all())
    return in_box and not ((at >= asked.low) & (at < asked.high)).all(axis=1).any()


def random_question(random: np.random.Generator) -> Question:
    """In 1 to 4 dimensions: any intervals; the box cut into parts, some wider, one perhaps too narrow; or both."""
    dimensions = int(random.integers(1, 5))
    s_low = random.integers(0, SIDE - 1, dimensions)
    s_high = random.integers(s_low + 1, SIDE + 1)
    loose = _intervals(random, int(random.integers(0, 8)), dimensions)
    parts = _parts(random, s_low, s_high, int(random.integers(2, 10)))
    made = (loose, parts, tuple(np.vstack(both) for both in zip(loose, parts, strict=True)))[random.integers(3)]
    order = random.permutation(len(made[0]))
    return Question(s_low, s_high, made[0][order], made[1][order])


def _intervals(random: np.random.Generator, count: int, dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    """Points, ranges, ranges without a beginning or an end, all there is, and nothing at all."""
    low = random.integers(-1, SIDE, (count, dimensions))
    high = low + random.integers(0, SIDE + 2, (count, dimensions))
    kind = random.random((count, dimensions))
    high = np.where(kind < 0.1, low + 1, high)
    low = np.where((kind > 0.4) & (kind < 0.8), LOWEST, low)
    return low, np.where(kind > 0.6, HIGHEST, high)


def _parts(
    random: np.random.Generator, s_low: np.ndarray, s_high: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    low, high = s_low[None].copy(), s_high[None].copy()
    for _ in range(count):
        row, cut = random.integers(len(low)), random.integers(len(s_low))
        if high[row, cut] - low[row, cut] >= 2:
            low, high = np.vstack([low, low[row]]), np.vstack([high, high[row]])
            high[row, cut] = low[-1, cut] = random.integers(low[row, cut] + 1, high[row, cut])
    low, high = low - random.integers(0, 2, low.shape), high + random.integers(0, 2, low.shape)
    if random.random() < 0.4:
        row, cut = random.integers(len(low)), random.integers(len(s_low))
        high[row, cut] -= 1
    return low, high
