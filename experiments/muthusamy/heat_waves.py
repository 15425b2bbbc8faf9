"""Figure 11: heat waves in 324 cities, learnt from the years before 2005, judged on later ones.

`[temp_f > 86.0]{5} by code`, over the calendar: a day that nobody measured is an event without a temperature. The paper
judges by true and false positives and by precision, here of forecasts on hot days that are not yet a heat wave (streaks
of one to four). To that we add what a probability is judged by: Brier score, Matthews' correlation, AUC, calibration;
and a table of four numbers as a peer, that knows nothing but the length of the streak.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from experiments.muthusamy.calibration_plot import calibration_plot
from experiments.muthusamy.forecast_evaluation import outcomes, probabilities
from experiments.muthusamy.full_model import FullModel
from experiments.muthusamy.output import shared
from experiments.report.findings import Figure, Finding, beyond, compared, partly
from experiments.report.plots import finish, panels, style
from experiments.report.tracking import track
from vedette.filters.subscription_records import PatternRecord, Predict
from vedette.patterns.forecasts.model import train
from vedette.patterns.forecasts.probability_table import ForecastSettings, Mode
from vedette.patterns.forecasts.score import Score
from vedette.patterns.matcher import PatternMatcher

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
CHAINS: dict[str, tuple[int, ForecastSettings]] = {  # which record, and how it is forecast
    "chain, paper": (0, ForecastSettings(context=0, mode="paper")),
    "chain": (0, ForecastSettings(context=0)),
    "chain, context": (0, ForecastSettings()),
    "chain, context, features": (1, ForecastSettings()),
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
        day = days["date"].cast(pa.int32()).to_numpy()
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


Scores = dict[tuple[str, str], Score]


def figures(quick: bool) -> Iterator[Figure]:
    """Figure 11, and how good the probabilities are."""
    calendar = Calendar.read(every=16 if quick else 1)
    judgement = Judgement(calendar)
    alerts = [row for n in track("Figure 11", LOOK_AHEAD) for row in judgement.alerts(n)]
    scores = judgement.scores()
    yield Figure(
        "figure11",
        "Figure 11",
        f"Five days in a row above 86 °F (30 °C) in {len(calendar.codes)} cities, {judgement.windows:,} such windows; "
        "learnt from the years before 2005, judged on later ones, on hot days that are not yet a wave. `chain` is the "
        "pattern's own of 5 states, `full model` the hand-made one of 1365.",
        {"": alerts},
        plot(alerts),
        findings(alerts),
    )
    style()
    yield Figure(
        "heat-waves",
        "Heat waves: how good the probabilities are",
        f"The same days, n = {WITHIN}. Brier score, Matthews' correlation, AUC and the decile that is farthest off; "
        "`streak table` is a peer of four numbers that knows only how many hot days there were.",
        {
            "": [
                Quality(*key, score.forecasts, score.brier, score.mcc, score.auc, score.worst_gap())
                for key, score in scores.items()
            ],
            "calibration": [
                Calibration(*key, **decile._asdict()) for key, score in scores.items() for decile in score.calibration()
            ],
        },
        calibration_plot({name: scores[name, "hot"] for name in (PEER, *CHAINS)}),
        quality(scores),
    )


def findings(alerts: Sequence[Alerts]) -> list[Finding]:
    """§6.2 of Figure 11."""
    near, far = min(LOOK_AHEAD), max(LOOK_AHEAD)

    def sums(model: str, n: int) -> tuple[int, float]:
        own = [row for row in alerts if (row.model, row.look_ahead) == (model, n)]
        true, false = sum(row.true_positive for row in own), sum(row.false_positive for row in own)
        return true + false, true / max(1, true + false)

    (many, chain), (full_many, full) = (sums(f"{model}, paper", far) for model in ("chain", "full model"))
    closest, full_closest = (sums(f"{model}, paper", near)[1] for model in ("chain", "full model"))
    confident = {
        model: sum(r.true_positive for r in alerts if (r.model, r.threshold) == (model, THRESHOLDS[-1]))
        for model in ("chain, paper", "full model, paper", "chain", "full model")
    }
    return [
        compared(
            "§6.2",
            "the generated chain makes more predictions than the full model",
            f"{many:,} against {full_many:,} for n = {far}, summed over thresholds",
            many > full_many,
        ),
        compared(
            "§6.2",
            "far ahead the generated chain is much more precise",
            f"{chain:.2f} against {full:.2f} for n = {far}, {closest:.2f} against {full_closest:.2f} for n = {near}",
            partly(chain > full, chain > 1.1 * full),
            why="with the same formula and years both find nearly the same: the full model knows all that the chain "
            "does, and enough days to learn from, so nothing makes it worse",
        ),
        compared(
            "§6.2",
            f"no true positives with a threshold above {THRESHOLDS[-1]}",
            f"at {THRESHOLDS[-1]}: {confident['chain']:,} and {confident['full model']:,} in first passage, "
            f"{confident['chain, paper']:,} and {confident['full model, paper']:,} by the paper's formula",
            partly(
                confident["chain"] == confident["full model"] == 0,
                confident["chain, paper"] == confident["full model, paper"] == 0,
            ),
            why="the paper's sum over steps is no probability: for longer look-aheads it exceeds 1, and with it any "
            "threshold",
        ),
    ]


def quality(scores: Scores) -> list[Finding]:
    """What a probability is judged by; the paper does not."""
    days = "not yet a wave"
    told = [
        beyond(
            f"{name}: Brier {own.brier:.4f}, MCC {own.mcc:.3f}, AUC {own.auc:.3f}, worst decile off by "
            f"{own.worst_gap():.3f}"
        )
        for name in (PEER, *CHAINS, *FULL)
        for own in [scores[name, days]]
    ]
    best, peer = scores["chain, context, features", days], scores[PEER, days]
    verdict = "better" if best.brier < peer.brier and best.mcc > peer.mcc else "not better"
    return [*told, beyond(f"with context and features the chain is {verdict} than the streak table, in Brier and MCC")]


def plot(rows: Sequence[Alerts]) -> Any:
    """The pattern's own chain above, the full model below, both as in the paper."""
    figure, shown = panels(2, 3)
    each = product(("chain, paper", "full model, paper"), ("false_positive", "true_positive", "precision"))
    for panel, letter, (model, what) in zip(shown, "abcdef", each, strict=True):
        for n in LOOK_AHEAD:
            own = [row for row in rows if (row.model, row.look_ahead) == (model, n)]
            panel.plot([row.threshold for row in own], [getattr(row, what) for row in own], label=f"n = {n}")
        finish(panel, "threshold", what.replace("_", " "), f"({letter}) {model}")
    return figure
