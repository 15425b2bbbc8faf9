"""How promising partial matches are, and who goes first when there are too many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vedette.engine.stream_matcher import StreamMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.filters.subscription_records import PatternRecord, Predict
from vedette.patterns.completion_odds import PatternExpectations, promises
from vedette.patterns.forecasts.model import Model
from vedette.patterns.machines import PatternNumbering, draft, graph_of
from vedette.patterns.shape import DONE, NEXT, WAIT, Marking
from vedette.schema.schema import Schema


def promised(text: str, share: dict[str, float], within: int) -> dict[Marking, float]:
    """By marking, where each letter comes with its share; steps ask for letters: `[x = 'a']`."""
    numbers = PatternNumbering()
    one = draft(PatternRecord("p", text, None, Predict(within)), 0, Schema.of({"x": "string"}), numbers)
    graph, _ = graph_of([one], numbers, merge=True)
    bits = {text[-2]: 1 << number for number, text in enumerate(numbers.texts())}
    kinds = np.array([bits.get(letter, 0) for letter in share], np.int64)
    return promises(graph.machines[0], one.symbols, PatternExpectations(kinds, np.array(list(share.values())), within))


def test_waiting_for_one_more_event() -> None:
    found = promised("[x = 'a'] ; [x = 'b']", {"a": 0.5, "b": 0.1, "c": 0.4}, 10)
    assert found == {(WAIT, 0): pytest.approx(1 - 0.9**10)}


def test_what_must_come_next_comes_or_not() -> None:
    found = promised("[x = 'a'] , [x = 'b'] , [x = 'c']", {"a": 0.5, "b": 0.2, "c": 0.3}, 10)
    assert found == {(NEXT, 0): pytest.approx(0.2 * 0.3), (NEXT, 1): pytest.approx(0.3)}


def test_what_must_not_come_ends_the_wait() -> None:
    found = promised("[x = 'a'] ; not [x = 'n'] ; [x = 'b']", {"a": 0.5, "b": 0.1, "n": 0.4}, 200)
    assert found == {(WAIT, 0): pytest.approx(0.1 / 0.5)}


def test_two_steps_within_the_horizon() -> None:
    found = promised("[x = 'a'] ; [x = 'b'] ; [x = 'c']", {"a": 0.5, "b": 0.2, "c": 0.3}, 2)
    assert found[(WAIT, 1)] == pytest.approx(1 - 0.7**2)
    assert found[(WAIT, 0)] == pytest.approx(0.2 * 0.3)
    assert DONE not in found


# The first way is long, and its end hardly ever comes; the second has one step to go, which comes often.
TEXT = (
    "([x = 'a' and y = $y] ; [x = 'b' and z = $y] ; [x = 'c' and z = $y])"
    " or ([x = 'u' and y = $y] ; [x = 'v' and z = $y])"
)
CAP = 100


def subscribed() -> Subscriptions:
    made = Subscriptions()
    made.add("p", TEXT, predict={"within": 20, "threshold": 1.0})
    return made


def learnt() -> Model:
    stream = StreamMatcher(subscribed())
    draw = np.random.default_rng(5)
    letters = draw.choice(list("abuvc"), 800, p=[0.35, 0.25, 0.1, 0.295, 0.005]).tolist()
    stream.process([{"x": letter, "y": 1_000_000, "z": 2_000_000} for letter in letters])
    return stream.model()


def crowded(model: Model | None) -> StreamMatcher:
    """Old partial matches that have taken one step of the second way, then too many with two of the first."""
    stream = StreamMatcher(subscribed(), model=model, learn=False, cap=CAP)
    events: list[dict[str, Any]] = [{"x": "u", "y": number} for number in range(40)]
    for number in range(100, 100 + CAP):
        events += [{"x": "a", "y": number}, {"x": "b", "z": number}]
    stream.process(events)
    assert stream.metrics["shed"] > 0
    return stream


def completed(stream: StreamMatcher, letter: str, values: range) -> int:
    """Of how many values a last step still finds its partial match."""
    told = stream.process([{"x": letter, "z": number} for number in values])
    return int(told.num_rows)


@pytest.mark.interpreted
@pytest.mark.filterwarnings("ignore:overflow encountered")  # of hashes, which machine code does not mind
def test_with_a_model_the_probable_stay_however_few_steps_they_have_taken() -> None:
    stream = crowded(learnt())
    assert completed(stream, "v", range(40)) == 40


@pytest.mark.interpreted
@pytest.mark.filterwarnings("ignore:overflow encountered")  # of hashes, which machine code does not mind
def test_without_a_model_those_stay_that_have_come_farthest() -> None:
    stream = crowded(None)
    assert completed(stream, "v", range(40)) == 0
    assert completed(stream, "c", range(100, 100 + CAP)) > CAP // 2


def test_what_is_expected_outlives_a_change_of_patterns_and_a_restart() -> None:
    stream = crowded(learnt())
    more = subscribed()
    more.add("q", "[x = 'a'] ; [x = 'c'] within 1 h")
    stream.update(more)
    again = StreamMatcher.from_bytes(stream.to_bytes(), more, model=learnt(), learn=False)
    for each in (stream, again):
        each.process(
            [{"x": letter, name: n, "time": 0} for n in range(500, 560) for letter, name in (("a", "y"), ("b", "z"))]
        )
        assert completed(each, "v", range(40)) == 40
