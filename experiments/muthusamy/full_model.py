"""The hand-made model that the paper compares with: every combination of temperatures of the last one to five days."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vedette.patterns.forecasts.probability_table import Mode

LIMITS_F = (50.0, 68.0, 86.0)  # 10, 20 and 30 degrees C: four categories
CATEGORIES = 4
DAYS = 5
STATES = sum(CATEGORIES**days for days in range(DAYS + 1))  # 1365, with the one before the first day
HOT = CATEGORIES - 1
NOTHING = 0  # the state before the first day, and after a day without a temperature
_FIRST = np.array([sum(CATEGORIES**d for d in range(days)) for days in range(DAYS + 1)])  # the first state of a length
_FINAL = STATES - 1  # five hot days


class FullModel:
    """A Markov chain over 1365 states, trained by counting."""

    def __init__(self) -> None:
        self._counts = np.zeros((STATES, CATEGORIES + 1))  # the last is a day without a temperature
        length = np.searchsorted(_FIRST, np.arange(STATES), side="right") - 1
        past = np.arange(STATES) - _FIRST[length]
        kept = np.where(length == DAYS, past % CATEGORIES ** (DAYS - 1), past)
        first = _FIRST[np.minimum(length + 1, DAYS)]
        after = first[:, None] + kept[:, None] * CATEGORIES + np.arange(CATEGORIES)[None, :]
        self._after = np.column_stack([after, np.full(STATES, NOTHING)])

    def states(self, degrees: NDArray[np.float64]) -> NDArray[np.int64]:
        """The state after each day (rows) of each city (columns)."""
        category = _categories(degrees)
        found = np.empty(degrees.shape, np.int64)
        now = np.full(degrees.shape[1], NOTHING)
        for day in range(len(degrees)):
            now = found[day] = self._after[now, category[day]]
        return found

    def train(self, degrees: NDArray[np.float64]) -> None:
        """Count what followed each state."""
        source, category = self.states(degrees)[:-1], _categories(degrees)[1:]
        np.add.at(self._counts, (source, category), 1)

    def forecast(self, within: int, mode: Mode) -> NDArray[np.float64]:
        """Of each state: five hot days in a row end within so many days."""
        departures = self._counts.sum(axis=1)
        divisor = departures
        if mode == "paper":
            divisor = np.bincount(self._after.ravel(), weights=self._counts.ravel(), minlength=STATES)
        moves = np.divide(self._counts, divisor[:, None], out=np.zeros_like(self._counts), where=divisor[:, None] > 0)
        final = self._after == _FINAL
        found = np.zeros(STATES)
        for _ in range(within):
            onward = found[self._after]
            worth = final + onward if mode == "paper" else np.where(final, 1.0, onward)
            found = (moves * worth).sum(axis=1)
        return found


def _categories(degrees: NDArray[np.float64]) -> NDArray[np.int64]:
    """Above how many of the limits; the last category is for days that nobody knows."""
    found = np.searchsorted(LIMITS_F, degrees, side="left")  # 86.0 itself is not above 86
    return np.where(np.isnan(degrees), CATEGORIES, found)
