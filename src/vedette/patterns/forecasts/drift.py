"""Detect when a model no longer fits: forecasts are compared with what came true, window by window."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_PARTS = 10


class Drift(NamedTuple):
    """A window in which forecasts of about the same probability came true too often or too rarely."""

    judged: int  # so many in all when it was noticed
    forecasts: int
    predicted: float
    observed: float
    deviations: float  # how many standard deviations apart

    def __str__(self) -> str:
        return (
            f"{self.forecasts:,} forecasts said {self.predicted:.2f} and {self.observed:.2f} came true "
            f"({self.deviations:.0f} standard deviations apart)"
        )


class DriftMonitor:
    """Raises an alarm when a decile's observed frequency differs from the predicted one by much, and significantly.

    A model that fits expects p (1 - p) of squared error. Forecasts whose horizons overlap share their outcome, so the
    variance is taken as `within` times that of independent ones.
    """

    def __init__(self, within: int, *, window: int = 5_000, deviations: float = 5.0, gap: float = 0.1) -> None:
        self.window = window
        self._within, self._deviations, self._gap = within, deviations, gap
        self._judged = 0
        self._sums = np.zeros((4, _PARTS))  # count, predicted, variance, observed

    @property
    def room(self) -> int:
        """The number of judged forecasts that fill the window."""
        return self.window - int(self._sums[0].sum())

    def see(self, probability: NDArray[np.float64], came_true: NDArray[np.bool_]) -> tuple[int, Drift | None]:
        """Add judged forecasts, in their order, up to the first alarm: return how many were used, and the alarm."""
        begin = 0
        while begin < probability.size:
            end = min(begin + self.room, probability.size)
            self._add(probability[begin:end], came_true[begin:end])
            begin = end
            if not self.room:
                alarm = self._verdict()
                self._sums[:] = 0
                if alarm is not None:
                    return begin, alarm
        return begin, None

    def _add(self, probability: NDArray[np.float64], came_true: NDArray[np.bool_]) -> None:
        said = np.clip(probability, 0.0, 1.0)
        part = np.minimum((said * _PARTS).astype(np.int64), _PARTS - 1)
        for row, weights in enumerate((np.ones(said.size), said, said * (1 - said), came_true.astype(np.float64))):
            np.add.at(self._sums[row], part, weights)  # one after the other, in whichever pieces they come
        self._judged += said.size

    def _verdict(self) -> Drift | None:
        count, predicted, variance, observed = self._sums
        least = 0.25  # so that a few surprises among forecasts of nearly 0 or 1 are no alarm
        apart = np.abs(observed - predicted) / np.sqrt(self._within * np.maximum(variance, least))
        wide = np.abs(observed - predicted) > self._gap * count
        worst = int(np.argmax(np.where(wide, apart, 0.0)))
        if not wide[worst] or apart[worst] <= self._deviations:
            return None
        of = count[worst]
        return Drift(self._judged, int(of), predicted[worst] / of, observed[worst] / of, float(apart[worst]))

    def restart(self, passed: int) -> None:
        """Begin a new window, after so many judged forecasts that belong to none."""
        self._judged += passed
        self._sums[:] = 0

    def plain(self) -> dict[str, Any]:
        """The state, for JSON."""
        return {"judged": self._judged, "sums": self._sums.tolist()}

    def restore(self, plain: dict[str, Any]) -> None:
        """Restore what `plain` returned."""
        self._judged, self._sums = int(plain["judged"]), np.array(plain["sums"], np.float64).reshape(4, _PARTS)
