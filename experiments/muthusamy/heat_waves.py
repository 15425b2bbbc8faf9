"""Figure 11: heat waves in 324 cities, learnt from the years before 2005, judged on later ones.

`[temp_f > 86.0]{5} by code`, over the calendar: a day that nobody measured is an event without a temperature. The paper
judges by true and false positives and by precision, here of forecasts on hot days that are not yet a heat wave (streaks
of one to four). To that we add what a probability is judged by: Brier score, Matthews' correlation, AUC, calibration;
and a table of four numbers as a peer, that knows nothing but the length of the streak.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from experiments.muthusamy.full_model import FullModel
from experiments.muthusamy.output import axes, finish, save, shared, write_csv
from vedette.composite.matcher import PatternMatcher
from vedette.matching.patterns import PatternRecord, Predict
from vedette.prediction.context import Mode, Settings
from vedette.prediction.evaluation import outcomes, probabilities
from vedette.prediction.model import train
from vedette.prediction.plot import calibration_plot
from vedette.prediction.score import Score

DAYS = "city_temperature_dayton/daily_1995_2014_324cities.parquet"
FIRST_JUDGED = np.datetime64("2005-01-01")
STREAK_TABLE = (0.0, 0.175, 0.333, 0.527, 0.753)  # that five come in a row, after 0, 1, … 4 hot days; of all the years
WITHIN = 4  # by then five hot days have come in a row, or this streak has broken
LOOK_AHEAD = (1, 2, 4, 7)
THRESHOLDS = tuple(round(0.1 * tenth, 1) for tenth in range(1, 10))
THRESHOLD = 0.5
WARMTH = tuple(f"temp_f > {limit}.0" for limit in (75, 80, 83, 89, 93))
WAVE = "[temp_f > 86.0]{5} by code"
RECORDS = [
    PatternRecord("wave", WAVE, None, Predict(WITHIN, THRESHOLD)),
    PatternRecord("wave with features", WAVE, None, Predict(WITHIN, THRESHOLD, WARMTH)),
]
CHAINS: dict[str, tuple[int, Settings]] = {  # which record, and how it is forecast
    "chain, paper": (0, Settings(context=0, mode="paper")),
    "chain": (0, Settings(context=0)),
    "chain, context": (0, Settings()),
    "chain, context, features": (1, Settings()),
}
FULL: dict[str, Mode] = {"full model, paper": "paper", "full model": "first passage"}
PEER = "streak table"
GAP = 0.05  # the most that predicted and observed frequencies should differ by


@dataclass(frozen=True)
class Calendar:
    """Degrees Fahrenheit by day and city; nan where none was measured."""

    first: np.datetime64
    codes: list[str]
    degrees: NDArray[np.float64]

    @staticmethod
    def read(every: int = 1) -> Calendar:
        """All cities, or every n-th."""
        days = pq.read_table(shared(DAYS), columns=["date", "code", "temp_f"])
        codes = sorted(pc.unique(days["code"]).to_pylist())[::every]
        city = pc.index_in(days["code"], pa.array(codes)).combine_chunks()
        taken = city.is_valid().to_numpy(zero_copy_only=False)
        day = days["date"].cast("int32").to_numpy()
        grid = np.full((day.max() - day.min() + 1, len(codes)), np.nan)
        grid[day[taken] - day.min(), city.drop_null().to_numpy()] = days["temp_f"].to_numpy()[taken]
        return Calendar(np.datetime64(int(day.min()), "D"), codes, grid)

    @property
    def judged_from(self) -> int:
        """The first day that is not learnt from."""
        return int((FIRST_JUDGED - self.first).astype(int))

    def events(self, begin: int, end: int) -> pa.Table:
        """Some of the days: an event for each city on each of them."""
        degrees = self.degrees[begin:end]
        days = self.first + np.arange(begin, begin + len(degrees))
        cities = np.tile(np.arange(len(self.codes), dtype=np.int32), len(degrees))
        return pa.table(
            {
                "time": pa.array(np.repeat(days.astype("datetime64[us]"), len(self.codes))),
                "code": pa.DictionaryArray.from_arrays(cities, self.codes),
                "temp_f": pa.array(degrees.ravel(), from_pandas=True),
            }
        )


@dataclass(frozen=True)
class Alerts:
    """What Figure 11 shows: predictions of one model, on hot days that are not yet a heat wave."""

    model: str
    look_ahead: int
    threshold: float
    true_positive: int
    false_positive: int
    precision: float  # nan: nothing was predicted
    recall: float


@dataclass(frozen=True)
class Quality:
    """How good the probabilities of one model are."""

    model: str
    days: str  # which days are judged
    forecasts: int
    brier: float
    mcc: float
    auc: float
    worst_gap: float  # of predicted and observed frequency, in deciles with 200 forecasts or more


@dataclass(frozen=True)
class Calibration:
    """A decile of the probabilities of one model."""

    model: str
    days: str
    low: float
    high: float
    forecasts: int
    predicted: float
    observed: float


class Judgement:
    """Every model, trained on the early years and asked about the later ones."""

    def __init__(self, calendar: Calendar) -> None:
        self._calendar = calendar
        matcher, begin = PatternMatcher(RECORDS), calendar.judged_from
        history = matcher.process(calendar.events(0, begin)).observations
        self._later = matcher.process(calendar.events(begin, len(calendar.degrees))).observations
        self._models = {name: train([history], RECORDS, settings) for name, (_, settings) in CHAINS.items()}
        self._full = FullModel()
        self._full.train(calendar.degrees[:begin])
        # Both records see the same events in the same order, so that a row of one stands for that of the other.
        self._rows = [np.flatnonzero(self._later.pattern == number) for number in range(len(RECORDS))]
        self.depth, self.hit = (each[self._rows[0]] for each in (self._later.depth, self._later.hit))
        self.windows = (int(history.hit.sum()) + int(self._later.hit.sum())) // len(RECORDS)
        hot = self.depth > 0
        self.parts = {"all": np.ones(hot.size, np.bool_), "hot": hot, "not yet a wave": hot & ~self.hit}

    def forecasts(self, within: int) -> dict[str, NDArray[np.float64]]:
        """What each model says of each later day, by its name."""
        said = {}
        for name, (one, _) in CHAINS.items():
            records = {one: RECORDS[one]}
            said[name] = probabilities(self._models[name], records, self._later, within=within)[self._rows[one]]
        states = self._full.states(self._calendar.degrees)[self._calendar.judged_from :].ravel()
        for name, mode in FULL.items():
            said[name] = self._full.forecast(within, mode)[states]
        if within == WITHIN:
            said[PEER] = np.array(STREAK_TABLE)[self.depth]
        return said

    def outcomes(self, within: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Of each later day: whether five hot days in a row ended within so many, and whether that is known."""
        came_true, known = outcomes(self._later, within)
        return came_true[self._rows[0]], known[self._rows[0]]

    def alerts(self, within: int) -> list[Alerts]:
        """Predictions on hot days that are not yet a wave, for every threshold."""
        came_true, known = self.outcomes(within)
        judged = known & self.parts["not yet a wave"]
        found = []
        for (name, said), threshold in product(self.forecasts(within).items(), THRESHOLDS):
            yes, true = said[judged] >= threshold, came_true[judged]
            right, all_ = int((yes & true).sum()), int(yes.sum())
            precision = right / all_ if all_ else float("nan")
            found.append(
                Alerts(name, within, threshold, right, all_ - right, precision, right / max(1, int(true.sum())))
            )
        return found

    def scores(self) -> dict[tuple[str, str], Score]:
        """The score of each model on each part of the later days."""
        came_true, known = self.outcomes(WITHIN)
        scores = {}
        for (name, said), (days, part) in product(self.forecasts(WITHIN).items(), self.parts.items()):
            score = scores[name, days] = Score()
            score.add(said[part & known], came_true[part & known], THRESHOLD)
        return scores


def plot_figure_11(rows: Sequence[Alerts], out: Path) -> None:
    """The pattern's own chain above, the full model below, both as in the paper."""
    figure, panels = axes(2, 3)
    shown = product(("chain, paper", "full model, paper"), ("false_positive", "true_positive", "precision"))
    for axis, letter, (model, what) in zip(panels, "abcdef", shown, strict=True):
        for n in LOOK_AHEAD:
            own = [row for row in rows if (row.model, row.look_ahead) == (model, n)]
            values = [getattr(row, what) for row in own]
            axis.plot([row.threshold for row in own], values, marker="o", markersize=3, label=f"n = {n}")
        finish(axis, f"({letter}) {model}", "threshold", what.replace("_", " "))
    figure.suptitle("Muthusamy 2010, Figure 11: heat waves, 2005 to 2014")
    save(figure, out, "figure11")


def line(alerts: Sequence[Alerts], scores: dict[tuple[str, str], Score], windows: int) -> str:
    """What came of the paper's claims, and of ours."""
    near, far = min(LOOK_AHEAD), max(LOOK_AHEAD)

    def sums(model: str, n: int) -> tuple[int, float]:
        own = [row for row in alerts if (row.model, row.look_ahead) == (model, n)]
        true, false = sum(row.true_positive for row in own), sum(row.false_positive for row in own)
        return true + false, true / max(1, true + false)

    (few, low), (full_few, full_low) = sums("chain, paper", far), sums("full model, paper", far)
    confident = {
        model: sum(r.true_positive for r in alerts if (r.model, r.threshold) == (model, THRESHOLDS[-1]))
        for model in ("chain", "full model")
    }
    told = "; ".join(
        f"{name} {own.brier:.4f} / {own.mcc:.3f} / {own.auc:.3f} / {own.worst_gap():.3f} ({of_all.worst_gap():.3f})"
        for name in (PEER, *CHAINS, *FULL)
        for own, of_all in [(scores[name, "not yet a wave"], scores[name, "all"])]
    )
    return (
        f"Figure 11: {windows:,} windows of five hot days; summed over thresholds the generated chain makes {few:,} "
        f"predictions for n = {far}, the full model {full_few:,} (paper: the generated one more), with precision "
        f"{sums('chain, paper', near)[1]:.2f} and {sums('full model, paper', near)[1]:.2f} for n = {near}, {low:.2f} "
        f"and {full_low:.2f} for n = {far} (paper: the generated one is better far ahead); true positives at a "
        f"threshold of {THRESHOLDS[-1]}: {confident['chain']:,} and {confident['full model']:,} in first passage "
        f"(paper: none above it). Brier / MCC / AUC / worst decile (of all days) on hot days that are not yet a wave, "
        f"n = {WITHIN}: {told} (aims: Brier and MCC as good as the streak table's, better with features and context; "
        f"no decile off by more than {GAP})."
    )


def run(out: Path, quick: bool) -> str:
    """Measure, write, plot; what it says beside the paper."""
    judgement = Judgement(Calendar.read(every=16 if quick else 1))
    alerts = [row for n in LOOK_AHEAD for row in judgement.alerts(n)]
    scores = judgement.scores()
    write_csv(out / "muthusamy2010-figure11.csv", alerts)
    write_csv(
        out / "muthusamy2010-figure11-scores.csv",
        [
            Quality(*key, score.forecasts, score.brier, score.mcc, score.auc, score.worst_gap())
            for key, score in scores.items()
        ],
    )
    write_csv(
        out / "muthusamy2010-figure11-calibration.csv",
        [Calibration(*key, **decile._asdict()) for key, score in scores.items() for decile in score.calibration()],
    )
    plot_figure_11(alerts, out)
    shown = {name: scores[name, "hot"] for name in (PEER, *CHAINS)}
    save(calibration_plot(shown), out, "figure11-calibration")
    return line(alerts, scores, judgement.windows)
