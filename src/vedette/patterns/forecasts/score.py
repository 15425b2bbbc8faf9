"""Scores of forecasts: figures that add up, so that parts can be scored separately."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_BINS = 1_000  # probabilities that fall into one bin count as equal for the AUC
_COUNTERS = ("true_positive", "false_positive", "false_negative", "true_negative")
_ALERTS = ("predictions", "fulfilled", "matches", "foreseen")


class Decile(NamedTuple):
    """Forecasts between two probabilities: their number, their mean, and how many came true."""

    low: float
    high: float
    forecasts: int
    predicted: float
    observed: float


class Score:
    """Figures of judged forecasts.

    Every event gives a forecast, which is right or wrong as a probability (Brier, AUC, calibration) and, at the
    subscription's threshold, as a yes or no (MCC). Only a few of them are reported as predictions: `precision` is the
    share of predictions that came true, `recall` the share of matches that had been predicted.
    """

    def __init__(self) -> None:
        self._count = np.zeros(_BINS, np.int64)
        self._came_true = np.zeros(_BINS, np.int64)
        self._said = np.zeros(_BINS)
        self._squared = 0.0
        self.true_positive = self.false_positive = self.false_negative = self.true_negative = 0
        self.predictions = self.fulfilled = 0  # reported, and of these come true
        self.matches = self.foreseen = 0  # completed, and of these reported before

    def add(self, probability: NDArray[np.float64], came_true: NDArray[np.bool_], threshold: float) -> None:
        """Count forecasts whose horizon has passed."""
        bins = np.clip((probability * _BINS).astype(np.int64), 0, _BINS - 1)
        self._count += np.bincount(bins, minlength=_BINS)
        self._came_true += np.bincount(bins[came_true], minlength=_BINS)
        # One after the other, so that it makes no difference in which pieces they come.
        np.add.at(self._said, bins, probability)
        self._squared = sum(((probability - came_true) ** 2).tolist(), self._squared)
        yes = probability >= threshold
        true_positive, positive, true = int((yes & came_true).sum()), int(yes.sum()), int(came_true.sum())
        self.true_positive += true_positive
        self.false_positive += positive - true_positive
        self.false_negative += true - true_positive
        self.true_negative += int(came_true.size) - positive - true + true_positive

    def add_predictions(self, came_true: NDArray[np.bool_]) -> None:
        """Count predictions whose horizon has passed."""
        self.predictions += came_true.size
        self.fulfilled += int(came_true.sum())

    def add_matches(self, foreseen: NDArray[np.bool_]) -> None:
        """Count completed matches."""
        self.matches += foreseen.size
        self.foreseen += int(foreseen.sum())

    def __add__(self, other: Score) -> Score:
        """The sum of two scores."""
        both = Score()
        for name in ("_count", "_came_true", "_said", "_squared", *_COUNTERS, *_ALERTS):
            setattr(both, name, getattr(self, name) + getattr(other, name))
        return both

    # ------------------------------------------------------------ figures; nan where nothing is there to judge

    @property
    def forecasts(self) -> int:
        """The number of judged forecasts."""
        return int(self._count.sum())

    @property
    def precision(self) -> float:
        """The share of predictions that came true."""
        return _ratio(self.fulfilled, self.predictions)

    @property
    def recall(self) -> float:
        """The share of matches that had been predicted within the horizon before them."""
        return _ratio(self.foreseen, self.matches)

    @property
    def mcc(self) -> float:
        """Matthews' correlation of "at or above the threshold" and "came true", over all forecasts."""
        tp, fp, fn, tn = (float(getattr(self, name)) for name in _COUNTERS)
        return _ratio(tp * tn - fp * fn, float(np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))))

    @property
    def brier(self) -> float:
        """The mean squared distance of probability and outcome."""
        return _ratio(self._squared, self.forecasts)

    @property
    def auc(self) -> float:
        """The probability that a forecast that came true was higher than one that did not."""
        true, false = self._came_true, self._count - self._came_true
        below = np.cumsum(false) - false
        return _ratio(float((true * (below + false / 2)).sum()), float(true.sum()) * float(false.sum()))

    def calibration(self, parts: int = 10) -> list[Decile]:
        """Predicted and observed frequencies, for equal ranges of probability that have any forecasts."""
        found = []
        for part, rows in enumerate(np.array_split(np.arange(_BINS), parts)):
            count = int(self._count[rows].sum())
            if count:
                said, true = float(self._said[rows].sum()) / count, float(self._came_true[rows].sum()) / count
                found.append(Decile(part / parts, (part + 1) / parts, count, said, true))
        return found

    def worst_gap(self, least: int = 200) -> float:
        """The greatest distance of predicted and observed frequency among deciles with enough forecasts."""
        gaps = [abs(one.predicted - one.observed) for one in self.calibration() if one.forecasts >= least]
        return max(gaps, default=float("nan"))

    def figures(self) -> dict[str, float]:
        """All figures by name."""
        names = ("forecasts", *_ALERTS, "precision", "recall", "mcc", "auc", "brier")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        said = (
            f"{name} {value:,}" if isinstance(value, int) else f"{name} {value:.3f}"
            for name, value in self.figures().items()
        )
        return f"<Score: {', '.join(said)}>"

    # ------------------------------------------------------------ kept

    def plain(self) -> dict[str, Any]:
        """The figures, for JSON."""
        bins = {"count": self._count.tolist(), "came_true": self._came_true.tolist(), "said": self._said.tolist()}
        return {**bins, "squared": self._squared, **{name: getattr(self, name) for name in (*_COUNTERS, *_ALERTS)}}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Score:
        """Restore what `plain` returned."""
        score = cls()
        score._count, score._came_true = np.array(plain["count"], np.int64), np.array(plain["came_true"], np.int64)
        score._said, score._squared = np.array(plain["said"], np.float64), float(plain["squared"])
        for name in (*_COUNTERS, *_ALERTS):
            setattr(score, name, int(plain[name]))
        return score


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")
