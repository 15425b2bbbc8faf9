"""Heat waves in 324 cities: learnt from the years before 2005, judged on later ones."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from experiments.muthusamy.forecast_evaluation import probabilities, scored
from tests.patterns.forecasts.heat import STREAK_TABLE, observed, temperatures
from tests.patterns.forecasts.simulated import record
from vedette.patterns.forecasts.model import train
from vedette.patterns.forecasts.probability_table import ForecastSettings
from vedette.patterns.forecasts.score import Score
from vedette.patterns.outputs import Observations

WITHIN = 4  # from a streak of 1 to 4 days, five in a row come within four days or this streak has broken
THRESHOLD = 0.5
WAVE = record("[temp_f > 86.0]{5} by code", within=WITHIN, threshold=THRESHOLD)
BEFORE = int((np.datetime64("2005-01-01") - np.datetime64("1995-01-01")).astype(int))


def warmth(grid: NDArray[np.float64]) -> NDArray[np.int64]:
    """A feature for each of some temperatures: was it above?"""
    limits = (75, 80, 83, 89, 93)
    return np.sum([(grid > limit).astype(np.int64) << bit for bit, limit in enumerate(limits)], axis=0, dtype=np.int64)


def judged(settings: ForecastSettings, *, features: bool) -> tuple[dict[str, Score], dict[str, Score]]:
    """Our score and that of the streak table, over all days, those within a match, and streaks of 1 to 4 days."""
    grid, refined = temperatures(), warmth if features else None
    history, _ = observed(grid[:BEFORE], refined)
    later, streak = observed(grid[BEFORE:], refined)
    said = probabilities(train([history], [WAVE], settings), [WAVE], later)
    table = np.asarray(STREAK_TABLE)[np.minimum(streak, 4)]
    parts = {"all": np.ones(streak.size, np.bool_), "begun": streak > 0, "first four": (streak > 0) & (streak < 5)}
    return _scores(said, later, parts), _scores(table, later, parts)


def _scores(said: NDArray[np.float64], later: Observations, parts: dict[str, NDArray[np.bool_]]) -> dict[str, Score]:
    return {name: scored(said, later, WITHIN, THRESHOLD, rows) for name, rows in parts.items()}


def test_the_streaks_are_those_of_the_data() -> None:
    """39,450 windows of five hot days, 3,111 runs; and the table itself, over all years."""
    seen, streak = observed(temperatures())
    assert int(seen.hit.sum()) == 39_450
    assert int((streak == 5).sum()) == 3_111
    for length in range(1, 5):
        rows = streak == length
        score = scored(np.zeros(streak.size), seen, WITHIN, THRESHOLD, rows)
        assert score.calibration()[0].observed == pytest.approx(STREAK_TABLE[length], abs=0.0006)


def test_the_chain_alone_is_as_good_as_the_streak_table() -> None:
    ours, table = judged(ForecastSettings(context=0), features=False)
    for part in ("all", "begun"):
        assert ours[part].brier < table[part].brier
        assert ours[part].mcc >= table[part].mcc
        assert ours[part].worst_gap() <= 0.05
    # The table has seen the later years, too.
    assert ours["first four"].brier == pytest.approx(table["first four"].brier, abs=0.0002)
    assert ours["first four"].mcc >= table["first four"].mcc


@pytest.mark.parametrize("features", [False, True])
def test_context_and_features_make_it_better(features: bool) -> None:
    ours, table = judged(ForecastSettings(), features=features)
    for part in ("all", "begun", "first four"):
        assert ours[part].brier < 0.97 * table[part].brier
        assert ours[part].auc > table[part].auc
        # Without features it depends on the cities whether yes and no are told apart better.
        assert not features or ours[part].mcc > table[part].mcc
        assert ours[part].worst_gap() <= 0.05
