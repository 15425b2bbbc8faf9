from __future__ import annotations

from random import Random

import numpy as np
import pytest

from vedette.errors import InputError
from vedette.filters.subscription_records import PatternRecord, Predict
from vedette.patterns.forecasts.forecast import Forecaster
from vedette.patterns.forecasts.forecast_reasons import forecast_at, probability_by_depth
from vedette.patterns.forecasts.model import Model, train
from vedette.patterns.forecasts.pattern_nodes import node_of
from vedette.patterns.forecasts.probability_table import ForecastReason
from vedette.patterns.matcher import PatternMatcher
from vedette.patterns.outputs import Observations

HEAT = PatternRecord("heat", "[temp > 30]{4} by city", None, Predict(3, 0.3))


def _observed(seed: int, count: int) -> Observations:
    random = Random(seed)
    events = []
    temp = 20
    for number in range(count):
        if random.random() < 0.3:
            temp = random.choice([20, 35])
        events.append({"city": "ab"[number % 2], "temp": temp})
    matcher = PatternMatcher([HEAT])
    return matcher.process(events).observations


def _model() -> Model:
    return train([_observed(1, 1500)], [HEAT])


@pytest.mark.parametrize("trained", [True, False])
def test_a_forecast_is_that_which_was_told(trained: bool) -> None:
    observations, model = _observed(2, 400), _model() if trained else None
    told = Forecaster([HEAT], model).process(observations)
    assert len(told) > 5
    for event, probability in zip(told.event.tolist(), told.probability.tolist(), strict=True):
        found = forecast_at(HEAT, model, observations, event)
        assert found is not None
        assert found.probability == pytest.approx(probability)
        assert found.reasons[-1].probability == pytest.approx(probability)
        assert "(which is told)" in str(found)


def test_more_steps_make_it_more_probable() -> None:
    forecaster = Forecaster([HEAT], _model())
    depths = probability_by_depth(forecaster.follower(0))
    assert list(depths) == [0, 1, 2, 3]
    assert list(depths.values()) == sorted(depths.values())
    assert all(0 <= probability <= 1 for probability in depths.values())


def test_depths_weigh_states_by_how_often_they_were_left() -> None:
    follower = Forecaster([HEAT], _model()).follower(0)
    said: dict[int, list[ForecastReason]] = {}
    for number, depth in enumerate(follower.counts.names.depth(np.arange(len(follower.counts.names.states))).tolist()):
        node = node_of(*(np.asarray([each]) for each in (number, False, 0, 0)))[0]
        said.setdefault(depth, []).extend(
            each for each in follower.table.reasons(int(node)) if each.seen_as == "state" and each.weight > 0
        )
    assert probability_by_depth(follower) == {
        depth: pytest.approx(sum(each.weight * each.probability for each in some) / sum(each.weight for each in some))
        for depth, some in said.items()
        if some
    }
    assert probability_by_depth(Forecaster([HEAT], None).follower(0)) == {}


def test_what_was_not_seen_or_not_asked_for() -> None:
    observations = _observed(2, 10)
    assert forecast_at(HEAT, None, observations, 10) is None
    nothing = forecast_at(HEAT, None, observations, 0)
    assert nothing is not None
    assert "nothing has been learnt" in str(nothing)
    with pytest.raises(InputError, match="asks for no forecasts"):
        forecast_at(PatternRecord("p", HEAT.text), None, observations, 0)
