"""What texts say by themselves, and what a set answers of those it holds: enough for hosts, whatever they are."""

from __future__ import annotations

import pytest

from vedette.engine.checked_text import CheckedText
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import NotSupported
from vedette.language.parser import parse
from vedette.operators.operator import operator
from vedette.operators.registry import Operators

FILTER, CALLED = "a > 1", "seen() and a > 1"
PATTERN, CALLING, OF_ALL = "[a = 1] ; [a = 2] by u", "[seen()] ; [a = 2] by u", "[a = 1] ; [a = 2]"


@operator(time_limit=None)
def seen(event: dict[str, object]) -> bool:
    return "a" in event


def _read(text: str, **predict: object) -> CheckedText:
    return CheckedText.of(parse(text), None, text, predict or None)


@pytest.mark.parametrize(
    ("text", "kind", "calls", "has_state"),
    [
        (FILTER, "filter", False, False),
        (CALLED, "operators", True, False),
        (PATTERN, "pattern", False, True),
        (CALLING, "pattern", True, True),
    ],
)
def test_a_text_and_a_subscription_that_says_it(text: str, kind: str, calls: bool, has_state: bool) -> None:
    read = _read(text)
    subscriptions = Subscriptions()
    subscriptions.add("s", text)
    assert read.kind == subscriptions.kind_of("s") == kind
    assert read.calls_operators == subscriptions.calls_operators("s") == calls
    assert subscriptions.has_state("s") == has_state == (read.picture() is not None)
    assert (read.normal_form() is None) == (calls or has_state)


def test_features_of_forecasts_call_operators() -> None:
    predict = {"within": 3, "features": ["seen()"]}
    subscriptions = Subscriptions()
    subscriptions.add("s", PATTERN, predict=predict)
    assert _read(PATTERN, **predict).calls_operators
    assert subscriptions.calls_operators("s")


def test_nothing_parts_the_events_of_a_pattern_without_a_partition() -> None:
    assert [_read(text).is_followed_whole for text in (FILTER, PATTERN, OF_ALL)] == [False, False, True]


def test_forecasts_need_a_pattern() -> None:
    with pytest.raises(NotSupported, match="forecasts, which need a pattern"):
        _read(FILTER, within=3)


def test_a_history_teaches_what_asks_for_forecasts_or_calls_operators() -> None:
    subscriptions = Subscriptions()
    for id_, text in (("filter", FILTER), ("called", CALLED), ("pattern", PATTERN), ("calling", CALLING)):
        subscriptions.add(id_, text)
    subscriptions.add("forecast", PATTERN, subscriber="ada", predict={"within": 3})
    subscriptions.add("wanted", "a = 3", to="offers")
    learning = subscriptions.learning()
    assert list(learning) == ["called", "calling", "forecast"]
    assert learning.subscriber("forecast") == "ada"
    with learning.compile(operators=Operators(seen)) as engine:
        assert engine.forecasts == ("forecast",)
        assert engine.kinds == {"filter": 0, "operators": 1, "pattern": 2, "want": 0}
