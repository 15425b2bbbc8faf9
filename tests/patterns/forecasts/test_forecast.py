"""Forecasting online: what is reported, when, and how it goes on."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from experiments.muthusamy.forecast_evaluation import probabilities
from tests.patterns.forecasts.simulated import contiguous, cut, record
from vedette.errors import SnapshotError
from vedette.patterns.forecasts.forecast import Forecaster, Predictions
from vedette.patterns.forecasts.model import Model, train
from vedette.patterns.forecasts.partition_tracks import PartitionTracks
from vedette.patterns.forecasts.probability_table import ForecastSettings
from vedette.patterns.outputs import Observations, Witnesses, joined_observations

STREAK = record("[x = 's']{4}", within=3, threshold=0.5, id_="streak")
PLAIN = ForecastSettings(context=0)


def streaks(size: int, seed: int = 1, p: float = 0.7, keys: int = 3) -> Observations:
    """Streaks in a few partitions."""
    random = np.random.default_rng(seed)
    letters = np.where(random.random(size) < p, "s", "-").tolist()
    return contiguous(letters, "ssss", keys=random.integers(0, keys, size).tolist())


def told(made: Predictions) -> list[tuple[int, int, float, tuple[int, ...]]]:
    """Event, pattern, probability, witness."""
    return [
        (
            int(made.event[row]),
            int(made.pattern[row]),
            round(float(made.probability[row]), 9),
            tuple(made.taken[made.start[row] : made.start[row + 1]].tolist()),
        )
        for row in range(len(made))
    ]


def slowly(seen: Observations, said: np.ndarray, threshold: float) -> list[int]:
    """The events at which to report: likely, and the partial match was not reported before."""
    reported: set[tuple[int, ...]] = set()
    found = []
    for row in range(len(seen)):
        begun = (*seen.key[row].tolist(), int(seen.first[row]))
        if said[row] >= threshold and seen.first[row] >= 0 and begun not in reported:
            reported.add(begun)
            found.append(row)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_a_partial_match_is_reported_once_when_it_becomes_probable(seed: int) -> None:
    seen = streaks(500, seed)
    model = train([streaks(5_000)], [STREAK], PLAIN)
    said = probabilities(model, [STREAK], seen)
    made = Forecaster([STREAK], model, learn=False).process(seen)
    assert made.event.tolist() == slowly(seen, said, 0.5)
    assert made.probability == pytest.approx(said[made.event])
    assert (made.probability >= 0.5).all()
    assert set(made.within.tolist()) == {3}
    assert all(witness[-1] == event for event, _, _, witness in told(made))
    assert [witness[0] for *_, witness in told(made)] == seen.first[made.event].tolist()


@pytest.mark.parametrize("context", [0, 3])
def test_how_events_are_cut_changes_nothing(context: int) -> None:
    seen = streaks(3_000, keys=5)
    settings = ForecastSettings(context=context, horizon=500.0)
    whole = Forecaster([STREAK], settings=settings)
    expected = told(whole.process(seen))
    for seed in range(3):
        cuts = np.sort(np.random.default_rng(seed).integers(0, 3_000, 20)).tolist()
        parts = Forecaster([STREAK], settings=settings)
        found = [
            one
            for begin, end in zip([0, *cuts], [*cuts, 3_000], strict=True)
            for one in told(parts.process(cut(seen, begin, end)))
        ]
        assert found == expected
        assert parts.score.figures() == pytest.approx(whole.score.figures())


def test_it_goes_on_where_it_stood() -> None:
    seen = streaks(2_000)
    whole, first = (Forecaster([STREAK], settings=PLAIN) for _ in range(2))
    whole.process(cut(seen, 0, 1_111))
    expected = told(whole.process(cut(seen, 1_111, 2_000)))
    first.process(cut(seen, 0, 1_111))
    second = Forecaster([STREAK], settings=PLAIN)
    second.restore(first.to_bytes())
    assert told(second.process(cut(seen, 1_111, 2_000))) == expected
    assert second.score.figures() == pytest.approx(whole.score.figures())
    with pytest.raises(SnapshotError):
        second.restore(b"something else")


@pytest.mark.parametrize("context", [0, 3])
@pytest.mark.parametrize("counted", [True, False])
def test_what_does_not_learn_goes_on_with_the_model_that_it_is_given(context: int, counted: bool) -> None:
    """Nodes have other numbers in the other model, which has seen the states in another order."""
    settings = ForecastSettings(context=context)
    one, other = (train([streaks(5_000, seed, p)], [STREAK], settings) for seed, p in ((1, 0.7), (2, 0.55)))
    seen, middle = streaks(2_000, 3), 1_000

    def after(before: Model, model: Model | None) -> list[int | float]:
        first = Forecaster([STREAK], before, learn=False)
        first.process(cut(seen, 0, middle))
        if model is not None:
            second = Forecaster([STREAK], model, learn=False)
            second.restore(first.to_bytes(counted=counted))
            first = second
        rest = [each for each in told(first.process(cut(seen, middle, 2_000))) if each[3][0] >= middle]
        return [figure for event, _, probability, _ in rest for figure in (event, probability)]

    assert after(one, one) == pytest.approx(after(one, None))
    assert after(one, other) == pytest.approx(after(other, None))
    assert after(one, other) != pytest.approx(after(one, None))


def test_without_a_model_it_learns_from_what_it_sees() -> None:
    seen = streaks(20_000)
    forecaster = Forecaster([STREAK], settings=PLAIN)
    early = forecaster.process(cut(seen, 0, 60))
    assert len(early) == 0  # nothing is known yet
    forecaster.process(cut(seen, 60, 20_000))
    assert forecaster.score.worst_gap(500) < 0.05
    assert forecaster.score.precision > 0.5
    assert 0.0 < forecaster.score.recall <= 1.0


def test_patterns_are_forecast_side_by_side() -> None:
    other = record("[x = 's'] , [x = '-']", within=2, threshold=0.4, id_="break")
    letters = np.where(np.random.default_rng(4).random(3_000) < 0.6, "s", "-").tolist()
    rows = [contiguous(letters, "ssss", pattern=0), contiguous(letters, "s-", pattern=1)]
    joined = joined_observations(rows)
    order = np.lexsort((joined.pattern, joined.event))
    witnesses = [joined.witness.of(row) for row in order.tolist()]
    start = np.cumsum([0, *map(len, witnesses)])
    pairs = [pair for witness in witnesses for pair in witness]
    mixed = Observations(
        **{one.name: getattr(joined, one.name)[order] for one in fields(Observations) if one.name != "witness"},
        witness=Witnesses(
            start, np.array([each[0] for each in pairs], np.int32), np.array([each[1] for each in pairs], np.int64)
        ),
    )
    both = told(Forecaster([STREAK, other], settings=PLAIN).process(mixed))
    alone = [
        told(Forecaster({number: one}, settings=PLAIN).process(rows[number]))
        for number, one in enumerate([STREAK, other])
    ]
    assert both == sorted(alone[0] + alone[1])
    assert min(map(len, alone)) > 0


def test_patterns_come_and_go() -> None:
    seen = streaks(1_000)
    forecaster = Forecaster([], settings=PLAIN)
    assert len(forecaster.process(seen)) == 0
    forecaster.add(0, STREAK)
    assert told(forecaster.process(seen)) == told(Forecaster([STREAK], settings=PLAIN).process(seen))
    forecaster.remove(0)
    assert len(forecaster.process(seen)) == 0
    assert forecaster.scores == {}


def test_a_stream_that_changes_is_noticed_and_learnt_anew() -> None:
    """From streaks that hold to streaks that break: forecasts that came true no longer do."""
    history, same, other = streaks(60_000, 1), streaks(60_000, 2), streaks(60_000, 3, p=0.35)
    model = train([history], [STREAK], ForecastSettings(context=0, horizon=None))
    steady = Forecaster([STREAK], model)
    steady.process(same)
    assert steady.drifts == {}
    learning, frozen = Forecaster([STREAK], model), Forecaster([STREAK], model, learn=False)
    for forecaster in (learning, frozen):
        for begin in range(0, 60_000, 6_000):
            forecaster.process(cut(other, begin, begin + 6_000))
    assert learning.drifts["streak"]
    assert "came true" in str(learning.drifts["streak"][0])
    assert learning.drifts["streak"][0].judged <= 10_000
    assert learning.score.brier < 0.8 * frozen.score.brier
    assert len(learning.drifts["streak"]) < len(frozen.drifts["streak"])


def test_partitions_seen_long_ago_make_room() -> None:
    tracks = PartitionTracks(context=0, aged=False, most=10)
    forecaster = Forecaster([STREAK], settings=PLAIN)
    follower = forecaster.follower(0)
    follower._tracks = tracks
    keys = [number // 5 for number in range(1_000)]
    seen = contiguous("sss-s" * 200, "ssss", keys=keys)
    for begin in range(0, 1_000, 50):
        forecaster.process(cut(seen, begin, begin + 50))
        assert len(tracks) <= 10
    assert forecaster.score.forecasts > 0
    assert told(forecaster.process(cut(seen, 995, 1_000))) is not None
