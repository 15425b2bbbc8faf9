"""What is learned of operators: it fades, is pooled, is kept, and comes to what is true."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.errors import FileError, InputError
from vedette.language.check import check
from vedette.language.parser import parse
from vedette.operators.operator import operator
from vedette.operators.predicate_numbering import PredicateNumbering
from vedette.operators.registry import Operators
from vedette.operators.statistics import Statistics, StatisticsView


@operator(time_limit=None)
def near(event: Mapping[str, Any], place: str) -> bool:
    return True


@operator(time_limit=None, cost=0.25)
def dear(event: Mapping[str, Any]) -> bool:
    return True


def view(statistics: Statistics, *texts: str) -> StatisticsView:
    """The predicates of these filters, numbered as they are written."""
    found = PredicateNumbering(Operators(near, dear))
    for text in texts:
        found.planned(check(parse(text), None, text))
    return statistics.view(found.evaluations, found.predicates)


def test_of_what_nothing_is_known_half_holds_and_all_costs_the_same() -> None:
    known = view(Statistics(), "near('a') and not near('b')", "dear()")
    assert known.selectivity().tolist() == [0.5, 0.5, 0.5]
    assert known.cost().tolist() == [pytest.approx(1e-3), pytest.approx(1e-3), 0.25]


@given(st.integers(0, 2**32), st.floats(0.01, 0.99), st.booleans())
def test_estimates_come_to_what_is_true(seed: int, truth: float, positive: bool) -> None:
    random = Random(seed)
    known = view(Statistics(), "near('a')" if positive else "not near('a')")
    for _ in range(40):
        known.learn_outcomes(0, 250, sum(random.random() < truth for _ in range(250)))
        known.learn_cost(0, 250, 250 * 0.002)
    # Half of what counts is within the last 10,000 tries: six standard deviations of that.
    assert known.selectivity()[0] == pytest.approx(truth, abs=6 * math.sqrt(truth * (1 - truth) / 10_000) + 1e-3)
    assert known.cost()[0] == pytest.approx(0.002, rel=1e-3)


@given(st.lists(st.tuples(st.integers(0, 500), st.floats(0, 1)), max_size=20))
def test_estimates_are_probabilities_whatever_was_seen(seen: list[tuple[int, float]]) -> None:
    known = view(Statistics(memory=100), "near('a') and not near('b')")
    for number, (tried, share) in enumerate(seen):
        known.learn_outcomes(number % 2, tried, int(tried * share))
    selectivity = known.selectivity()
    assert ((selectivity > 0) & (selectivity < 1)).all()
    assert (known.cost() > 0).all()


def test_what_was_is_forgotten() -> None:
    quick, slow = view(Statistics(memory=100), "near('a')"), view(Statistics(memory=math.inf), "near('a')")
    for known in (quick, slow):
        known.learn_outcomes(0, 1_000, 1_000)
        known.learn_outcomes(0, 1_000, 0)
    assert quick.selectivity()[0] < 0.01
    assert slow.selectivity()[0] == pytest.approx(0.5)


def test_after_as_many_observations_as_its_memory_half_is_left() -> None:
    statistics = Statistics(memory=64)
    known = view(statistics, "near('a')")
    known.learn_outcomes(0, 64, 64)
    known.learn_outcomes(0, 64, 0)
    assert statistics.plain()["observed"]["near('a')"] == [96.0, 32.0]


def test_a_new_predicate_is_taken_to_be_like_its_operators_others() -> None:
    statistics = Statistics()
    known = view(statistics, "near('a')", "near('b')", "not near('c')", "dear()")
    for number in (0, 1):
        known.learn_outcomes(number, 1_000, 10)
        known.learn_cost(number, 1_000, 5.0)
    fresh = view(statistics, "near('x')", "not near('y')", "dear()")
    share, negated, other = fresh.selectivity().tolist()
    assert share == pytest.approx(0.01, abs=0.005)
    assert negated == pytest.approx(0.99, abs=0.005)
    assert other == 0.5
    assert fresh.cost()[0] == pytest.approx(0.005, rel=0.01)
    assert fresh.cost()[2] == 0.25  # as it was declared
    fresh.learn_outcomes(1, 1_000, 1_000)  # `not near('y')` always holds: near is rarer still
    assert fresh.selectivity()[0] < share


def test_predicates_are_known_by_their_text_whatever_their_numbers() -> None:
    statistics = Statistics()
    view(statistics, "near('a')", "near('b')").learn_outcomes(1, 500, 500)
    turned = view(statistics, "near('b')", "near('a')").selectivity()
    assert turned[0] > 0.9
    assert turned[0] > turned[1]
    assert len(statistics) == 1  # of near('a') nothing has been seen


def test_added_up_and_copied() -> None:
    one, other = Statistics(), Statistics(memory=20_000)
    view(one, "near('a')").learn_outcomes(0, 10, 4)
    more = view(other, "near('a')", "near('b')")
    more.learn_outcomes(0, 30, 6)
    more.learn_cost(1, 5, 0.5)
    both = one + other
    assert both.memory == 20_000
    assert both.plain()["observed"] == {"near('a')": [40.0, 10.0], "near('b') costs": [5.0, 0.5]}
    assert both.plain()["operators"] == {"near": [40.0, 10.0, 5.0, 0.5]}
    before = one.plain()
    view(one.copy(), "near('a')").learn_outcomes(0, 10, 4)
    view(both, "near('a')").learn_outcomes(0, 10, 4)
    assert one.plain() == before


@pytest.mark.parametrize("memory", [3.5, 10_000, math.inf])
def test_kept_in_a_file(memory: float, tmp_path: Path) -> None:
    statistics = Statistics(memory)
    known = view(statistics, "near('ü')", "dear()")
    known.learn_outcomes(0, 7, 3)
    known.learn_cost(1, 7, 0.125)
    statistics.save(tmp_path / "s.json")
    again = Statistics.load(tmp_path / "s.json")
    assert again.plain() == statistics.plain()
    assert again.memory == memory
    assert np.array_equal(view(again, "near('ü')").selectivity(), known.selectivity()[:1])
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]


def test_a_memory_is_more_than_nothing() -> None:
    for memory in (0, -1.0, math.nan):
        with pytest.raises(InputError, match=r"a memory of .* observations\nHint: a number above 0"):
            Statistics(memory)


GOOD: dict[str, Any] = {"version": 1, "memory": 10.0, "observed": {}, "operators": {}}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("{", "s.json: "),
        ("[]", "s.json: not the statistics of operators"),
        ({}, "not the statistics of operators"),
        ({**GOOD, "version": 7}, r"written by another version \(7, this one reads 1\)"),
        ({**GOOD, "memory": 0}, "not the statistics of operators"),
        ({**GOOD, "memory": "long"}, "not the statistics of operators"),
        ({**GOOD, "observed": {"p()": [1.0]}}, r"\[1.0\] are no 2 counts"),
        ({**GOOD, "observed": {"p()": [1.0, -1.0]}}, "are no 2 counts"),
        ({**GOOD, "observed": {"p()": [1.0, math.nan]}}, "are no 2 counts"),
        ({**GOOD, "observed": {"p()": None}}, "not the statistics of operators"),
        ({**GOOD, "observed": []}, "not the statistics of operators"),
        ({**GOOD, "operators": {"p": [1.0, 2.0]}}, "are no 4 counts"),
    ],
)
def test_what_is_something_else_is_refused(given: Any, said: str, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(given if isinstance(given, str) else json.dumps(given))
    with pytest.raises(FileError, match=said):
        Statistics.load(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"nothing\.json"):
        Statistics.load(tmp_path / "nothing.json")
