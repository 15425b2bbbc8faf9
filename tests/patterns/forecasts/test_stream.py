"""Filters, patterns and forecasts over one stream, with the real engine."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pytest

import vedette as vd
from experiments.muthusamy.forecast_evaluation import probabilities
from tests.patterns.forecasts.heat import observed
from tests.patterns.forecasts.simulated import record
from vedette.engine.stream_matcher import StreamMatcher
from vedette.errors import InputError, SnapshotError
from vedette.patterns.forecasts.model import Model, train
from vedette.patterns.forecasts.probability_table import ForecastSettings
from vedette.patterns.machine_pictures import MachineProgress
from vedette.patterns.matcher import PatternMatcher

WAVE = "[temp > 30]{3} by city"


def subscriptions(**more: str) -> vd.Subscriptions:
    """A filter, a pattern that is forecast, another filter, another pattern."""
    subs = vd.Subscriptions({"temp": "float", "city": "string", "time": "timestamp"})
    subs.add("hot", "temp > 35")
    subs.add("wave", WAVE, predict={"within": 3, "threshold": 0.5})
    subs.add("cold", "temp < 15")
    subs.add("fall", "a:[temp > 38] ; b:[temp < 12] by city within 20 min")
    for id_, text in more.items():
        subs.add(id_, text)
    return subs


def weather(size: int = 1_500, seed: int = 1) -> list[dict[str, Any]]:
    """An event a minute."""
    random = np.random.default_rng(seed)
    begin = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    temperatures = 27 + 8 * np.sin(np.arange(size) / 9) + random.normal(0, 5, size)
    return [
        {"temp": float(temp), "city": city, "time": begin + dt.timedelta(minutes=minute)}
        for minute, (temp, city) in enumerate(zip(temperatures, random.choice(list("xy"), size), strict=True))
    ]


def rows(table: pa.Table) -> list[dict[str, Any]]:
    """As Python values; probabilities as far as the order in which counts are added up leaves them alone."""
    found = table.to_pylist()
    return [{**row, "probability": row["probability"] and round(row["probability"], 9)} for row in found]


def test_matches_are_those_of_the_matchers_and_in_order() -> None:
    events, subs = weather(), subscriptions()
    found = rows(StreamMatcher(subs).process(events))
    matches = [row for row in found if row["kind"] == "match"]
    filters = [(row["event"], row["subscription"]) for row in matches if row["steps"] is None]
    expected = subs.compile_filters().match_batch(events).to_pylist()
    assert filters == [(row["event"], row["subscription"]) for row in expected]
    alone = PatternMatcher(subs.patterns.values(), subs.schema).process(events).matches
    assert [row["event"] for row in matches if row["steps"] is not None] == alone.event.tolist()
    places = {id_: place for place, id_ in enumerate(subs)}
    keys = [(row["event"], places[row["subscription"]], row["kind"]) for row in found]
    assert keys == sorted(keys)
    assert {row["subscription"] for row in matches} == set(subs)
    for row in matches:
        if row["subscription"] == "fall":
            steps = dict(row["steps"])
            assert list(steps) == ["a", "b"]
            assert steps["b"] == row["event"]


def test_predictions_say_what_has_happened_so_far() -> None:
    matcher = StreamMatcher(subscriptions())
    events = weather(3_000)
    matcher.process(events[:1_500])
    found = [row for row in rows(matcher.process(events[1_500:])) if row["kind"] == "prediction"]
    assert found
    for row in found:
        assert row["subscription"] == "wave"
        assert row["within"] == 3
        assert 0.5 <= row["probability"] <= 1.0
        assert dict(row["steps"])[str(len(row["steps"]))] == row["event"]
    metrics = matcher.metrics
    assert metrics["events"] == 3_000
    assert metrics["forecasts"]["forecasts"] > 2_900
    assert metrics["by_subscription"]["wave"]["predictions"] >= len(found) - 3
    assert metrics["by_subscription"].keys() == {"wave"}
    assert metrics["predictions"] >= len(found)


def test_ids_name_events_and_repeated_ones_count_once() -> None:
    events = weather(300)
    ids = [f"e{number}" for number in range(300)]
    named, numbered = StreamMatcher(subscriptions()), StreamMatcher(subscriptions())
    by_id, by_number = rows(named.process(events, ids=ids)), rows(numbered.process(events))
    assert [row["event"] for row in by_id] == [f"e{row['event']}" for row in by_number]
    assert [row["steps"] for row in by_id] == [
        None if row["steps"] is None else [(step, f"e{event}") for step, event in row["steps"]] for row in by_number
    ]
    again = rows(named.process(events[-50:], ids=ids[-50:]))
    assert all(row["steps"] is None for row in again)
    assert named.metrics["duplicates"] == 50
    with pytest.raises(InputError, match="always, or never"):
        named.process(events)
    with pytest.raises(InputError, match=r"2 ids for 1 event$"):
        named.process(events[:1], ids=["a", "b"])


def test_late_events_are_waited_for() -> None:
    events = weather(400)
    shuffled = [events[place] for place in np.argsort(np.arange(400) + np.random.default_rng(3).integers(0, 9, 400))]
    in_order = rows(StreamMatcher(subscriptions()).process(events))
    times = {event["time"]: number for number, event in enumerate(events)}
    for lateness in (dt.timedelta(minutes=10), None):
        matcher = StreamMatcher(subscriptions(), lateness=lateness)
        found = [
            *rows(matcher.process(shuffled[:200])),
            *rows(matcher.process(shuffled[200:])),
            *rows(matcher.finish()),
        ]
        named = [(times[shuffled[row["event"]]["time"]], row["subscription"], row["kind"]) for row in found]
        assert sorted(named) == sorted((row["event"], row["subscription"], row["kind"]) for row in in_order)
        assert matcher.metrics["late"] == 0
    with pytest.raises(InputError, match="a lateness of"):
        StreamMatcher(subscriptions(), lateness=dt.timedelta(seconds=-1))


@pytest.mark.parametrize("named", [False, True])
def test_it_goes_on_where_it_stood(named: bool) -> None:
    events = weather()
    ids = [f"e{number}" for number in range(len(events))] if named else None
    parts = (slice(0, 700), slice(700, None))
    whole = StreamMatcher(subscriptions())
    expected = [rows(whole.process(events[part], ids=ids and ids[part])) for part in parts]
    first = StreamMatcher(subscriptions())
    first.process(events[parts[0]], ids=ids and ids[parts[0]])
    second = StreamMatcher.from_bytes(first.to_bytes(), subscriptions())
    assert rows(second.process(events[parts[1]], ids=ids and ids[parts[1]])) == expected[1]
    assert second.score.figures() == pytest.approx(whole.score.figures())
    assert {**second.metrics, "forecasts": 0, "by_subscription": 0} == {
        **whole.metrics,
        "forecasts": 0,
        "by_subscription": 0,
    }
    with pytest.raises(SnapshotError):
        StreamMatcher.from_bytes(b"nothing of the kind", subscriptions())


def test_subscriptions_may_have_changed_meanwhile() -> None:
    events = weather()
    first = StreamMatcher(subscriptions())
    first.process(events[:700])
    subs = subscriptions(rise="[temp < 20] , [temp > 30] by city")
    subs.remove("fall")
    second = StreamMatcher.from_bytes(first.to_bytes(), subs)
    found = rows(second.process(events[700:]))
    expected = rows(first.process(events[700:]))
    waves = [[row for row in each if row["subscription"] == "wave"] for each in (found, expected)]
    assert waves[0] == waves[1]
    assert {row["subscription"] for row in found} == {"hot", "wave", "cold", "rise"}


def test_events_that_break_the_schema_are_left_out() -> None:
    matcher = StreamMatcher(subscriptions())
    events: list[dict[str, Any]] = [
        {"temp": 40.0, "city": "x"},
        {"temp": "warm", "city": "x"},
        {"temp": 40.0, "city": "x"},
    ]
    timed = [{**event, "time": f"2024-05-01T00:0{minute}:00Z"} for minute, event in enumerate(events)]
    rejects: list[vd.Reject] = []
    found = rows(matcher.process(timed, rejects=rejects))
    assert [reject.row for reject in rejects] == [1]
    assert [row["event"] for row in found] == [0, 2]
    with pytest.raises(InputError):
        matcher.process(timed)
    wave = rows(matcher.process([{**timed[0], "time": "2024-05-01T00:05:00Z"}]))
    assert [dict(row["steps"]) for row in wave if row["subscription"] == "wave" and row["kind"] == "match"] == [
        {"1": 0, "2": 2, "3": 3}
    ]


def test_a_model_that_knows_nothing_still_says_how_forecasts_are_made() -> None:
    """An empty model is falsy, as is everything of length 0."""
    events = weather()
    for settings in (ForecastSettings(context=0), ForecastSettings(context=2, smoothing=3.0, horizon=200.0)):
        asked = StreamMatcher(subscriptions(), model=Model(settings))
        asked.process(events)
        assert asked.model().settings == settings
        number = next(iter(asked._state.forecaster._followers))
        levels = [level.seen_as for level in asked._state.forecaster.follower(number).table._levels]
        assert len(levels) == 1 + settings.context
        again = StreamMatcher.from_bytes(asked.to_bytes(), subscriptions(), model=Model(settings))
        assert again.model().settings == settings
        frozen = StreamMatcher(subscriptions(), model=Model(settings), learn=False)
        assert [row for row in rows(frozen.process(events)) if row["kind"] == "prediction"] == []


def test_a_model_speaks_from_the_first_event_on() -> None:
    history = StreamMatcher(subscriptions())
    history.process(weather(5_000))
    model = Model.from_bytes(history.model().to_bytes())
    events = weather(60, seed=8)
    assert "prediction" in {row["kind"] for row in rows(StreamMatcher(subscriptions(), model=model).process(events))}
    blank = rows(StreamMatcher(subscriptions(), learn=False).process(events))
    assert "prediction" not in {row["kind"] for row in blank}


@pytest.mark.parametrize("context", [0, 6])
def test_the_engine_observes_what_runs_say(context: int) -> None:
    """Five hot days in a row in ten cities: forecasts from the engine's observations, and from those worked out."""
    random = np.random.default_rng(6)
    grid = 86 + np.cumsum(random.normal(0, 2, (250, 10)), axis=0) * 0.3 + random.normal(0, 3, (250, 10))
    grid[random.random(grid.shape) < 0.03] = np.nan
    wave = record("[temp_f > 86.0]{5} by code", within=4)
    days, cities = grid.shape
    events = pa.table(
        {
            "temp_f": pa.array(grid.reshape(-1), from_pandas=True),
            "code": np.tile([f"c{city}" for city in range(cities)], days),
        }
    )
    engine = PatternMatcher([wave]).process(events).observations
    expected, _ = observed(grid)
    for name in ("event", "hit", "depth", "first"):
        assert (getattr(engine, name) == getattr(expected, name)).all(), name
    assert (engine.taken == expected.taken).all()
    settings = ForecastSettings(context=context)
    ours, theirs = (probabilities(train([seen], [wave], settings), [wave], seen) for seen in (engine, expected))
    assert ours == pytest.approx(theirs)


def test_subscriptions_change_while_it_runs() -> None:
    """What stays is told as if nothing had changed; what is new counts from its coming, what is gone is not told."""
    events, subs = weather(), subscriptions()
    stream, undisturbed = StreamMatcher(subs, learn=False), StreamMatcher(subscriptions(), learn=False)
    found, expected = rows(stream.process(events[:700])), rows(undisturbed.process(events[:700]))
    subs.remove("cold")
    subs.remove("fall")
    subs.add("warm", "[temp > 30] , [temp > 30] by city")
    subs.add("mild", "temp between 20 and 21")
    stream.update(subs)
    found, expected = found + rows(stream.process(events[700:])), expected + rows(undisturbed.process(events[700:]))
    stay = ("hot", "wave")
    assert [row for row in found if row["subscription"] in stay] == [
        row for row in expected if row["subscription"] in stay
    ]
    later = {row["subscription"] for row in found if row["event"] >= 700}
    assert later == {"hot", "wave", "warm", "mild"}
    first = StreamMatcher(subs, learn=False)
    alone = [row for row in rows(first.process(events[700:])) if row["subscription"] == "warm"]
    assert [row["event"] for row in found if row["subscription"] == "warm"] == [row["event"] + 700 for row in alone]


def test_the_values_of_join_variables_are_told() -> None:
    subs = vd.Subscriptions()
    subs.add("pair", "[kind = 'a' and x = $x] ; [kind = 'b' and y = $x]")
    stream = StreamMatcher(subs)
    stream.process([{"kind": "a", "x": 5}, {"kind": "a", "x": 6}], ids=["e", "f"])
    stream = StreamMatcher.from_bytes(stream.to_bytes(), subs)
    (told,) = stream.process([{"kind": "b", "y": 6.0}], ids=["g"]).to_pylist()
    assert (dict(told["steps"]), dict(told["bindings"])) == ({"1": "f", "2": "g"}, {"x": "6"})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"subscriptions": "[x = 1] ; [x = 2]"}, r"is no set of subscriptions\nHint: .*Subscriptions\(\)"),
        ({"lateness": 5}, r"a lateness of 5\nHint: .* such as timedelta\(minutes=5\)"),
        ({"lateness": dt.timedelta(seconds=-1)}, "a lateness of -1 day, 23:59:59\nHint: a length of time from 0 on"),
        ({"model": "heat.model"}, r"'heat.model' is no model\nHint: read it first: vedette.Model.load\('heat.model'\)"),
        ({"model": {}}, r"\{\} is no model\nHint: vedette.Model.load reads one"),
    ],
)
def test_what_is_handed_in_is_what_it_should_be(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        StreamMatcher(**({"subscriptions": vd.Subscriptions()} | given))


def test_other_sets_are_sets_too() -> None:
    wrong: Any = ["x = 1"]
    stream = StreamMatcher(vd.Subscriptions())
    with pytest.raises(InputError, match="is no set of subscriptions"):
        stream.update(wrong)
    with pytest.raises(InputError, match="is no set of subscriptions"):
        StreamMatcher.from_bytes(stream.to_bytes(), wrong)


def test_a_picture_of_a_pattern_as_it_stands_now() -> None:
    matcher = StreamMatcher(subscriptions())
    matcher.process(weather())
    wave = {node.label: node for node in matcher.picture("wave").nodes}
    known = [node.probability for node in wave.values() if node.kind != "match"]
    assert all(each is not None and 0 < each < 1 for each in known)
    assert known == sorted(known, key=lambda each: each or 0.0)  # the further it came, the more probable
    fall = matcher.picture("fall").nodes
    assert [node.probability for node in fall] == [None] * len(fall)  # it asks for no forecasts
    with pytest.raises(vd.errors.InputError, match="'hot' is not a pattern, and only a pattern has a machine"):
        matcher.picture("hot")
    with pytest.raises(vd.errors.UnknownSubscription):
        matcher.picture("nobody")


def test_progress_is_a_copy_that_another_process_can_draw() -> None:
    matcher = StreamMatcher(subscriptions())
    events = weather()
    matcher.process(events[:40])
    taken, picture = matcher.progress("wave"), matcher.picture("wave")
    plain = orjson.dumps(taken.plain())
    matcher.process(events[40:])
    assert taken.picture() == picture != matcher.picture("wave")
    again = MachineProgress.of(orjson.loads(plain))
    assert again.picture() == picture
    assert (again.standing, again.probability) == (taken.standing, taken.probability)
    assert taken.score is not None
    assert again.score is not None
    assert again.score["forecasts"] == taken.score["forecasts"]
    assert MachineProgress.of(matcher.progress("fall").plain()) == matcher.progress("fall")


@pytest.mark.parametrize("ids", [None, ["e1"]])
def test_where_nothing_is_told_the_table_has_the_same_columns(ids: list[str] | None) -> None:
    patterns = vd.Subscriptions({"x": "int"})
    patterns.add("one", "[x = 1]")
    stream = StreamMatcher(patterns)
    nothing, told = (stream.process([{"x": x}], ids=ids and [f"{ids[0]}{x}"]) for x in (2, 1))
    assert (len(nothing), len(told)) == (0, 1)
    assert nothing.schema == told.schema


def test_one_event_at_a_time_tells_the_same_as_a_dict() -> None:
    events, names = weather(600), [f"e{number}" for number in range(600)]
    names[77] = names[76]  # counts once
    events[300] = {**events[300], "time": events[290]["time"]}  # late
    joined = {"joined": "a:[temp > 36 and city = $c] ; b:[temp < 14 and city = $c] within 1 h"}
    for ids in (None, names):
        batch, one = StreamMatcher(subscriptions(**joined)), StreamMatcher(subscriptions(**joined))
        expected, told = [], []
        for number, event in enumerate(events):
            alone = None if ids is None else [ids[number]]
            expected += batch.process((event,), ids=alone).to_pylist()  # a tuple takes the long way
            told += one.process_one(event, id=None if alone is None else alone[0])
        assert told == [plain(row) for row in expected]
        assert {row["kind"] for row in told} == {"match", "prediction"}
        assert any("bindings" in row for row in told)
        assert one.metrics == batch.metrics
        assert one.to_bytes() == batch.to_bytes()


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a table as it would be written to a file."""
    there = {name: value for name, value in row.items() if value is not None}
    return {name: dict(value) if name in ("steps", "bindings") else value for name, value in there.items()}


def test_one_event_at_a_time_with_operators() -> None:
    @vd.operator
    def doubled(event: dict[str, Any], least: float) -> bool:
        return bool(2 * event["temp"] > least)

    subs = subscriptions(twice="doubled(70) and temp > 10")
    stream = StreamMatcher(subs, operators=vd.Operators(doubled))
    told = [row["subscription"] for row in stream.process_one({"temp": 36.0, "city": "x", "time": 0})]
    assert told == ["hot", "twice"]


def test_what_is_kept_of_events_that_came_alone_is_forgotten_and_saved_with_the_others() -> None:
    subs = vd.Subscriptions()
    subs.add("p", "a:[x = 1 and user = $u] ; b:[x = 2 and user = $u]")
    stream = StreamMatcher(subs)
    stream.process([{"x": 1, "user": "first"}, {"x": 0}])
    for number in range(5_000):  # more than are kept apart
        stream.process_one({"x": 0, "n": number})
    stream.process_one({"x": 1, "user": "second"})
    stream = StreamMatcher.from_bytes(stream.to_bytes(), subs)
    (first,) = stream.process_one({"x": 2, "user": "first"})
    (second,) = stream.process([{"x": 2, "user": "second"}]).to_pylist()
    assert first == {
        "event": 5_003, "subscription": "p", "kind": "match", "steps": {"a": 0, "b": 5_003}, "bindings": {"u": "first"}
    }  # fmt: skip
    assert second["steps"] == [("a", 5_002), ("b", 5_004)]
