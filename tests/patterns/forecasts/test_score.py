"""Scores against slow, obvious figures; judging against the future itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

from experiments.muthusamy.calibration_plot import calibration_plot
from experiments.muthusamy.forecast_evaluation import outcomes, probabilities, scored
from tests.patterns.forecasts.simulated import contiguous, cut, record
from vedette.patterns.forecasts.forecast import Forecaster
from vedette.patterns.forecasts.model import train
from vedette.patterns.forecasts.probability_table import ForecastSettings
from vedette.patterns.forecasts.score import Score

PAIR = record("[x = 'a'] , [x = 'b']", within=4, threshold=0.4)


def some_forecasts(seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Forecasts that are right on average, in steps of a hundredth so that bins hold equal ones only."""
    random = np.random.default_rng(seed)
    said = random.integers(0, 100, 700) / 100 + 0.0005
    return said, random.random(700) < said


def test_figures_are_what_they_are_by_definition() -> None:
    said, came_true = some_forecasts()
    score = Score()
    score.add(said, came_true, 0.6)
    assert score.brier == pytest.approx(np.mean((said - came_true) ** 2))
    pairs = [(high, low) for high in said[came_true] for low in said[~came_true]]
    wins = sum(1.0 if high > low else 0.5 if high == low else 0.0 for high, low in pairs)
    assert score.auc == pytest.approx(wins / len(pairs))
    assert score.mcc == pytest.approx(np.corrcoef(said >= 0.6, came_true)[0, 1])
    deciles = score.calibration()
    assert sum(decile.forecasts for decile in deciles) == score.forecasts == 700
    inside = (said >= 0.3) & (said < 0.4)
    assert deciles[3].predicted == pytest.approx(said[inside].mean())
    assert deciles[3].observed == pytest.approx(came_true[inside].mean())
    assert score.worst_gap(1) == pytest.approx(max(abs(one.predicted - one.observed) for one in deciles))
    assert math.isnan(score.worst_gap(1_000))


def test_scores_add_up() -> None:
    said, came_true = some_forecasts()
    whole, parts = Score(), [Score(), Score()]
    whole.add(said, came_true, 0.6)
    for part, rows in zip(parts, (slice(0, 200), slice(200, 700)), strict=True):
        part.add(said[rows], came_true[rows], 0.6)
    both = parts[0] + parts[1]
    assert both.figures() == pytest.approx(whole.figures(), nan_ok=True)
    assert both.calibration() == [pytest.approx(decile) for decile in whole.calibration()]
    assert Score.from_plain(both.plain()).plain() == both.plain()


def test_nothing_judged_has_no_figures() -> None:
    score = Score()
    assert all(math.isnan(value) for value in (score.precision, score.recall, score.mcc, score.auc, score.brier))
    assert score.calibration() == []


@pytest.mark.parametrize("seed", range(5))
def test_every_forecast_is_judged_by_what_came(seed: int) -> None:
    random = np.random.default_rng(seed)
    letters, keys = (random.choice(list(of), 600).tolist() for of in ("abc", "wxyz"))
    seen = contiguous(letters, "ab", keys=keys)
    model = train([seen], [PAIR], ForecastSettings(context=1))
    forecaster = Forecaster([PAIR], model, learn=False)
    begin, reported = 0, []
    for end in [*np.sort(random.integers(0, 600, 6)).tolist(), 600]:
        reported += forecaster.process(cut(seen, begin, end)).event.tolist()
        begin = end
    said = probabilities(model, [PAIR], seen)
    expected = scored(said, seen, 4, 0.4)
    for name in ("brier", "auc", "mcc", "forecasts"):
        assert getattr(forecaster.score, name) == pytest.approx(getattr(expected, name))
    came_true, known = outcomes(seen, 4)
    judged = [event for event in reported if known[event]]
    assert forecaster.score.predictions == len(judged) > 0
    assert forecaster.score.fulfilled == sum(came_true[event] for event in judged)
    assert (forecaster.score.matches, forecaster.score.foreseen) == slowly_foreseen(letters, keys, seen.hit, reported)


def slowly_foreseen(letters: list[str], keys: list[str], hits: np.ndarray, reported: list[int]) -> tuple[int, int]:
    """Matches, and those of them with a prediction among the four events of their partition before them."""
    matches = foreseen = 0
    for key in set(keys):
        own = [event for event in range(len(letters)) if keys[event] == key]
        for place, event in enumerate(own):
            if hits[event]:
                matches += 1
                foreseen += any(before in reported for before in own[max(0, place - 4) : place])
    return matches, foreseen


@pytest.mark.parametrize("seed", range(5))
def test_outcomes_are_what_follows(seed: int) -> None:
    random = np.random.default_rng(seed)
    letters, keys = (random.choice(list(of), 80).tolist() for of in ("ab", "xyz"))
    seen = contiguous(letters, "ab", keys=keys)
    came_true, known = outcomes(seen, 3)
    for event in range(80):
        next_ones = [later for later in range(event + 1, 80) if keys[later] == keys[event]][:3]
        assert came_true[event] == any(seen.hit[later] for later in next_ones)
        assert known[event] == (came_true[event] or len(next_ones) == 3)


def test_a_plot_shows_every_decile_that_has_forecasts() -> None:
    score = Score()
    score.add(*some_forecasts(), 0.6)
    figure = calibration_plot({"one": score, "other": score + score})
    diagonal, *curves = figure.axes[0].lines
    assert [len(curve.get_xdata()) for curve in curves] == [10, 10]
    assert diagonal.get_label() == "as said"
