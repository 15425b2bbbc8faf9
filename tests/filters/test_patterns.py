from __future__ import annotations

from typing import Any

import pytest

from vedette.engine.subscriptions import Subscriptions
from vedette.errors import FilterError, InputError, NotSupported, UnknownSubscription
from vedette.filters import subscription_set as module
from vedette.filters.subscription_records import PatternRecord, Predict

RISING = "[n = 1] ; [n = 2]"


def _mixed() -> Subscriptions:
    subs = Subscriptions({"n": "int"})
    subs.add("f1", "n = 1")
    subs.add("p1", RISING, subscriber="ada", predict={"within": 10, "threshold": 0.8, "features": ["n > 5"]})
    subs.add("f2", "n = 1 or n = 2")
    subs.add("p2", "a:[n = 1] , [n = 3] by n within 5 min")
    return subs


def test_filters_and_patterns_stand_in_the_order_of_addition() -> None:
    subs = _mixed()
    assert list(subs) == ["f1", "p1", "f2", "p2"]
    assert len(subs) == 4
    assert dict(subs.patterns) == {
        "p1": PatternRecord("p1", RISING, "ada", Predict(10, 0.8, ("n > 5",))),
        "p2": PatternRecord("p2", "a:[n = 1] , [n = 3] by n within 5 min"),
    }
    assert subs.text("p1") == RISING
    assert subs.subscriber("p1") == "ada"
    assert subs.text("f2") == "n = 1 or n = 2"


def test_a_single_event_is_matched_by_filters() -> None:
    subs = _mixed()
    assert subs.compile("scan").match({"n": 1}) == ["f1", "f2"]
    assert subs.live("scan").match({"n": 1}) == ["f1", "f2"]
    assert subs.compile_filters("scan").match({"n": 1}) == ["f1", "f2"]
    subs.remove("p1")
    subs.replace("p2", "n = 1")
    assert subs.compile("scan").match({"n": 1}) == ["f1", "f2", "p2"]
    subs.replace("f1", RISING)
    assert list(subs) == ["f2", "p2", "f1"]
    assert list(subs.patterns) == ["f1"]


def test_patterns_stay_where_filters_are_swept_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TIDY", 4)
    subs = _mixed()
    for number in range(40):
        subs.add(f"x{number}", f"n = {number}")
    for number in range(39):
        subs.remove(f"x{number}")
    assert list(subs) == ["f1", "p1", "f2", "p2", "x39"]
    assert subs.text("x39") == "n = 39"
    assert subs.text("p2") == "a:[n = 1] , [n = 3] by n within 5 min"
    matcher = subs.compile_filters("scan")
    assert matcher.match({"n": 39}) == ["x39"]
    assert matcher.match({"n": 2}) == ["f2"]


def test_ids_are_shared_by_filters_and_patterns() -> None:
    subs = _mixed()
    for id_, when in (("p1", "n = 1"), ("f1", RISING)):
        with pytest.raises(InputError, match="already"):
            subs.add(id_, when)
    subs.remove("p1")
    assert "p1" not in subs
    with pytest.raises(UnknownSubscription, match="'p1'"):
        subs.remove("p1")


def test_many_at_once_or_none() -> None:
    subs = Subscriptions({"n": "int"})
    good = {"id": "p", "when": RISING, "subscriber": "ada", "predict": {"within": 4}}
    with pytest.raises(InputError, match="record 1, subscription 'q': `within` of `predict` is 0"):
        subs.add_many([good, {"id": "q", "when": RISING, "predict": {"within": 0}}])
    assert len(subs) == len(subs.patterns) == 0
    assert subs.add_many([good]) == 1
    assert subs.patterns["p"].predict == Predict(4, 0.5)


@pytest.mark.parametrize(
    ("predict", "kind", "message"),
    [
        (5, InputError, "`predict` is 5, not an object"),
        ({}, InputError, "`within` of `predict` is None, not a number of events"),
        (
            {"within": 10_001},
            InputError,
            "`within` of `predict` is 10001 events: the limit is 10,000\nHint: ask for a nearer",
        ),
        ({"within": True}, InputError, "`within` of `predict` is True"),
        ({"within": 3, "threshold": 1.5}, InputError, "`threshold` of `predict` is 1.5, not a probability"),
        ({"within": 3, "treshold": 0.5}, InputError, "'treshold'\nHint: did you mean `threshold`"),
        (
            {"within": "3", "treshold": 2, "features": 1},
            InputError,
            "'treshold'; `within` of `predict` is '3', not a number of events; `features` of `predict` is 1, not a "
            "list of filters\nHint: did you mean `threshold`.; write e.g. ",
        ),
        ({"within": 3, "horizon": 0.5}, InputError, "'horizon'\nHint: it has `within`"),
        ({"within": 3, "features": "n > 1"}, InputError, "not a list of filters"),
        ({"within": 3, "features": ["n > 1"] * 17}, InputError, "are 17, more than 16"),
        (
            {"within": 3, "features": ["n > 1", "n >> 2"]},
            FilterError,
            "feature 2 of `predict`:\nline 1, column 4: (.|\n)*\n  n >> 2\n     \\^",
        ),
        ({"within": 3, "features": ["m > 1"]}, FilterError, "feature 1 of `predict`:\n.*unknown attribute m"),
        ({"within": 3, "features": [RISING]}, NotSupported, "feature 1 of `predict` is a pattern"),
    ],
)
def test_forecasts_that_make_no_sense(predict: Any, kind: type[Exception], message: str) -> None:
    subs = Subscriptions({"n": "int"})
    with pytest.raises(kind, match=message):
        subs.add("p", RISING, predict=predict)
    assert len(subs) == 0


def test_a_forecast_needs_a_pattern() -> None:
    with pytest.raises(NotSupported, match="need a pattern"):
        Subscriptions({"n": "int"}).add("f", "n = 1", predict={"within": 3})


def test_an_error_in_a_pattern_has_its_place() -> None:
    with pytest.raises(FilterError) as found:
        Subscriptions({"n": "int"}).add("p", "[n = 1] ;\n  [n = 'a']")
    assert (found.value.line, found.value.column) == (2, 8)


def test_horizons_kept_from_before_there_was_a_limit_are_cut() -> None:
    assert Predict.kept({"within": 10**9, "threshold": 0.8, "features": None}) == Predict(10_000, 0.8)
    assert Predict.kept({"within": 7}) == Predict(7)
    assert Predict.of({"within": 10_000}) == Predict(10_000)
