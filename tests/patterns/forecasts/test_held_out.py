"""Forecasts that are judged on what they have not learnt from."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from vedette.filters.subscription_records import PatternRecord, Predict
from vedette.patterns.forecasts.forecast import Forecaster, HeldOutForecaster
from vedette.patterns.forecasts.model import Trainer
from vedette.patterns.matcher import PatternMatcher
from vedette.patterns.outputs import Observations

WAVE = PatternRecord("wave", "[x > 5]{3} by k", None, Predict(within=3, threshold=0.5))
SECOND = 1_000_000


def seen(random: Random, begin: int, end: int) -> Observations:
    """What a fresh matcher observes of a second-by-second history."""
    matcher = PatternMatcher([WAVE], lateness=None)
    events: list[dict[str, Any]] = [
        {"time": moment, "k": random.randrange(3), "x": random.choice([1, 7, 8])} for moment in range(end)
    ]
    matcher.process(events[begin:])
    return matcher.finish().observations


def test_it_is_a_model_of_the_earlier_part_that_forecasts_the_later_part() -> None:
    whole = seen(Random(1), 0, 600)
    held_out = HeldOutForecaster([WAVE], 400 * SECOND)
    made = held_out.process(whole)
    assert (made.event >= 400).all()
    assert len(made)
    early = seen(Random(1), 0, 400)
    assert held_out.learnt == 400
    trainer = Trainer([WAVE], whole=False)
    trainer.see(early)
    assert trainer.model().to_bytes() == held_out._trainer.model().to_bytes()
    score = held_out.scores["wave"]
    assert score.predictions <= len(made)
    assert 190 <= score.forecasts <= 200  # those near the end cannot be judged


def test_batches_do_not_matter() -> None:
    whole = seen(Random(2), 0, 500)
    at_once = HeldOutForecaster([WAVE], 300 * SECOND)
    expected = at_once.process(whole)
    in_parts = HeldOutForecaster([WAVE], 300 * SECOND)
    found = []
    matcher = PatternMatcher([WAVE], lateness=0)
    random = Random(2)
    events = [{"time": moment, "k": random.randrange(3), "x": random.choice([1, 7, 8])} for moment in range(500)]
    for begin in range(0, 500, 70):
        made = in_parts.process(matcher.process(events[begin : begin + 70]).observations)
        found += made.event.tolist()
    assert found == expected.event.tolist()
    assert in_parts.scores["wave"].figures() == pytest.approx(at_once.scores["wave"].figures())


def test_nothing_is_learnt_from_what_is_judged() -> None:
    held_out = HeldOutForecaster([WAVE], 0)
    made = held_out.process(seen(Random(3), 0, 300))
    assert held_out.learnt == 0
    learning = Forecaster([WAVE]).process(seen(Random(3), 0, 300))
    assert len(made) == 0 < len(learning)


def test_a_moment_that_never_comes_judges_nothing() -> None:
    held_out = HeldOutForecaster([WAVE], 10_000 * SECOND)
    assert len(held_out.process(seen(Random(4), 0, 200))) == 0
    assert held_out.learnt == 200
    assert held_out.scores["wave"].forecasts == 0
    assert np.isnan(held_out.scores["wave"].brier)


@pytest.mark.parametrize("until", [0, 100 * SECOND])
def test_what_is_expected_is_known_from_the_moment_on(until: int) -> None:
    held_out = HeldOutForecaster([WAVE], until)
    assert held_out.expected() == {}
    held_out.process(seen(Random(5), 0, 200))
    assert bool(held_out.expected()) == (until > 0)
