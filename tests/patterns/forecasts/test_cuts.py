"""Matches, predictions, scores, alarms and what is learnt do not depend on how a stream is cut: to the last bit."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vedette as vd
from tests.patterns.forecasts.heat import observed, temperatures
from tests.patterns.forecasts.simulated import contiguous, cut, record
from vedette.engine.stream_matcher import StreamMatcher
from vedette.patterns import forecast_parts
from vedette.patterns.forecasts import drift as drifts
from vedette.patterns.forecasts import pattern_nodes
from vedette.patterns.forecasts.drift import DriftMonitor
from vedette.patterns.forecasts.forecast import Forecaster, HeldOutForecaster
from vedette.patterns.forecasts.model import Model, train
from vedette.patterns.forecasts.partition_tracks import PartitionTracks
from vedette.patterns.forecasts.probability_table import ForecastSettings
from vedette.patterns.outputs import Observations

STREAK = record("[x = 's']{4}", within=3, threshold=0.5)
WINDOW = 150  # judged forecasts, so that there are alarms
_HOUR = dt.timedelta(hours=1)


def by_default(monkeypatch: pytest.MonkeyPatch, function: Callable[..., None], **settings: float) -> None:
    """Other defaults of keyword arguments."""
    defaults = function.__kwdefaults__
    assert defaults is not None
    for name, value in settings.items():
        monkeypatch.setitem(defaults, name, value)


@pytest.fixture(autouse=True)
def _small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    by_default(monkeypatch, DriftMonitor.__init__, window=WINDOW, deviations=1.5)


def restless(size: int, seed: int) -> Observations:
    """Streaks that hold for a while, and then break: whatever was learnt is wrong again and again."""
    random = np.random.default_rng(seed)
    p = np.where(np.arange(size) // 400 % 2, 0.35, 0.8)
    letters = np.where(random.random(size) < p, "s", "-").tolist()
    return contiguous(letters, "ssss", keys=random.integers(0, 4, size).tolist())


def said(forecaster: Forecaster, seen: Observations, cuts: list[int], *, kept: bool = False) -> list[Any]:
    """Everything that comes of it, as it is; perhaps written and restored at every cut."""
    rows: list[Any] = []
    for begin, end in zip([0, *cuts], [*cuts, len(seen)], strict=True):
        made = forecaster.process(cut(seen, begin, end))
        witness = [made.witness.of(row) for row in range(len(made))]
        rows += zip(made.event.tolist(), made.probability.tolist(), witness, strict=True)
        if kept:
            state = forecaster.to_bytes()
            forecaster = Forecaster([STREAK], settings=ForecastSettings(context=2, horizon=300.0))
            forecaster.restore(state)
    kinds = {id_: list(map(str, found)) for id_, found in forecaster.drifts.items()}
    return [rows, kinds, forecaster.score.plain(), forecaster.model().to_bytes()]


@given(st.lists(st.integers(0, 2_400), max_size=30).map(sorted), st.booleans(), st.integers(0, 1))
@settings(max_examples=8, deadline=None)
def test_forecasts(cuts: list[int], kept: bool, seed: int) -> None:
    seen = restless(2_400, seed)
    made = [Forecaster([STREAK], settings=ForecastSettings(context=2, horizon=300.0)) for _ in range(2)]
    expected = said(made[0], seen, [])
    assert len(expected[0]) > 50
    assert len(expected[1]["p"]) > 1
    assert said(made[1], seen, cuts, kept=kept) == expected


@pytest.mark.parametrize("learn", [True, False])
def test_forecasts_one_event_at_a_time(learn: bool) -> None:
    seen = restless(1_200, 3)
    model = train([restless(2_000, 4)], [STREAK], ForecastSettings(context=1))
    whole, alone = (Forecaster([STREAK], model, learn=learn) for _ in range(2))
    expected = said(whole, seen, [])
    assert expected[1]
    assert said(alone, seen, list(range(1, 1_200))) == expected


def test_forecasts_are_judged_in_the_order_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not partition by partition: the monitor hears what became known first, first."""
    heard: list[tuple[float, bool]] = []
    see = DriftMonitor.see

    def noted(self: DriftMonitor, probability: Any, came_true: Any) -> Any:
        taken, alarm = see(self, probability, came_true)
        heard.extend(zip(probability[:taken].tolist(), came_true[:taken].tolist(), strict=True))
        return taken, alarm

    monkeypatch.setattr(drifts.DriftMonitor, "see", noted)
    seen = restless(800, 5)
    model = train([seen], [STREAK], ForecastSettings(context=1))
    Forecaster([STREAK], model, learn=False).process(seen)
    whole, heard = heard.copy(), []
    alone = Forecaster([STREAK], model, learn=False)
    for row in range(800):
        alone.process(cut(seen, row, row + 1))
    assert len(whole) > 700
    assert heard == whole


def test_what_is_learnt_up_to_a_moment() -> None:
    seen = restless(1_600, 6)
    expected = None
    for cuts in ([], [13, 14, 600, 1_111], list(range(0, 1_600, 7))):
        held_out = HeldOutForecaster([STREAK], 700 * 1_000_000)
        found: list[tuple[int, float]] = []
        for begin, end in zip([0, *cuts], [*cuts, 1_600], strict=True):
            made = held_out.process(cut(seen, begin, end))
            found += zip(made.event.tolist(), made.probability.tolist(), strict=True)
        here = [found, held_out.scores["p"].plain(), held_out._trainer.model().to_bytes()]
        expected = expected or here
        assert here == expected
        assert found


def test_more_states_and_partitions_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_nodes, "_MOST_STATES", 4)
    monkeypatch.setattr(pattern_nodes, "_MOST_SYMBOLS", 2)
    by_default(monkeypatch, PartitionTracks.__init__, most=6)
    random = np.random.default_rng(7)
    letters = random.choice(list("abc"), 900).tolist()
    keys = (np.arange(900) // 40 + random.integers(0, 4, 900)).tolist()
    seen = contiguous(letters, "abca", keys=keys, features=random.integers(0, 4, 900).tolist())
    one = record("[x = 'a'] , [x = 'b'] , [x = 'c'] , [x = 'a']", within=4, threshold=0.1)
    whole, parts, alone = (Forecaster([one], settings=ForecastSettings(context=2)) for _ in range(3))
    expected = said(whole, seen, [])
    assert whole.follower(0).counts.names.exhausted
    assert said(parts, seen, [1, 2, 200, 650]) == said(alone, seen, list(range(1, 900))) == expected


def test_heat_waves() -> None:
    """Real temperatures, two years of a part of the cities; every day of a city is an event."""
    grid = temperatures()[4_000:4_730, ::12]
    seen, _ = observed(grid)
    one = record("[temp_f > 86.0]{5} by code", within=4)
    expected = None
    for cuts in (
        [],
        list(range(0, len(seen), 1_501)),
        sorted(np.random.default_rng(1).integers(0, len(seen), 9).tolist()),
    ):
        forecaster = Forecaster([one])
        made = said(forecaster, seen, cuts)
        expected = expected or made
        assert made == expected
    assert expected is not None
    assert expected[0]
    assert expected[1]["p"]


# ---------------------------------------------------------------- with the real engine


def _subscriptions() -> vd.Subscriptions:
    subscriptions = vd.Subscriptions({"x": "int", "y": "int", "k": "string", "time": "timestamp"})
    subscriptions.add("filter", "x = 1 and y = 0")
    subscriptions.add("streak", "[x > 0]{3} by k", predict={"within": 3, "threshold": 0.4, "features": ["y = 1"]})
    subscriptions.add("aged", "[x = 1] ; [x = 2] within 20 h", predict={"within": 5, "threshold": 0.3})
    legs = " and ".join(
        f"([x = {one}] ; [x = {other}] ; [x = {one}])" for one, other in ((0, 1), (1, 2), (2, 0), (0, 2))
    )
    subscriptions.add("parts", f"({legs}) by k", predict={"within": 9, "threshold": 0.2})
    return subscriptions


def _events(size: int) -> list[dict[str, Any]]:
    random = np.random.default_rng(11)
    begin = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    late = random.integers(0, 5, size).tolist()
    levels = np.where(np.arange(size) // 90 % 2, 0.3, 0.7)
    return [
        {"x": int(x), "y": int(y), "k": k, "time": begin + (hour - behind) * _HOUR}
        for hour, (x, y, k, behind) in enumerate(
            zip(
                (random.random(size) < levels) * random.integers(0, 3, size),
                random.integers(0, 2, size),
                random.choice(list("abc"), size).tolist(),
                late,
                strict=True,
            )
        )
    ]


def _told(
    events: list[dict[str, Any]], cuts: list[int], lateness: dt.timedelta | None, *, how: str = "batches"
) -> list[Any]:
    with StreamMatcher(
        _subscriptions(), lateness=lateness, model=Model(ForecastSettings(context=1, horizon=200.0))
    ) as matcher:
        rows: list[dict[str, Any]] = []
        for begin, end in zip([0, *cuts], [*cuts, len(events)], strict=True):
            if how == "single":
                rows += [_plain(row) for event in events[begin:end] for row in matcher.process_one(event)]
                continue
            rows += map(_plain, matcher.process(events[begin:end]).to_pylist())
            if how == "kept":
                matcher = StreamMatcher.from_bytes(
                    matcher.to_bytes(), _subscriptions(), model=Model(ForecastSettings(context=1, horizon=200.0))
                )
        rows += map(_plain, matcher.finish().to_pylist())
        rows.sort(key=repr)
        metrics = matcher.metrics
        return [rows, matcher.model().to_bytes(), metrics["drifts"], metrics["by_parts"], matcher.score.plain()]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    plain = {name: value for name, value in row.items() if value is not None}
    for name in ("steps", "bindings"):
        if name in plain:
            plain[name] = dict(plain[name])
    return plain


@pytest.mark.parametrize("lateness", [dt.timedelta(0), 2 * _HOUR, None], ids=["none", "2 h", "all"])
def test_streams(lateness: dt.timedelta | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast_parts, "_FEW", 20)
    monkeypatch.setattr(pattern_nodes, "_MOST_STATES", 12)  # so that the large pattern is forecast by its parts
    events = _events(700)
    expected = _told(events, [], lateness)
    kinds = pa.table({"kind": [row["kind"] for row in expected[0]]}).group_by("kind").aggregate([("kind", "count")])
    assert min(kinds.column("kind_count").to_pylist()) > 20
    assert expected[3] == ["parts"]
    random = np.random.default_rng(13)
    cuts = np.sort(random.integers(0, 700, 12)).tolist()
    assert _told(events, cuts, lateness) == expected
    assert _told(events, cuts, lateness, how="kept") == expected
    assert _told(events, [], lateness, how="single") == expected
