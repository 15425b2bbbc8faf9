"""What is learned in several places is known in one, as if it had been learned there."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from vedette.engine.subscriptions import Subscriptions
from vedette.operators.calling import Calling
from vedette.operators.operator import operator
from vedette.operators.operator_report import OperatorReporter, absorb
from vedette.operators.registry import Operators
from vedette.operators.statistics import Statistics, StatisticsDelta


@operator(reads=("n",), time_limit=None, cost=1.0)
def odd(event: Any) -> bool:
    if event["n"] == 13:
        raise ValueError("unlucky")
    return bool(event["n"] % 2)


@operator(reads=("n",), time_limit=None, cost=1.0)
def small(event: Any) -> bool:
    return bool(event["n"] < 3)


OPERATORS = Operators(odd, small)


def subscribed() -> Subscriptions:
    made = Subscriptions({"n": "int"})
    made.add("both", "odd() and small()")
    made.add("not", "not odd()")
    return made


def events(first: int, count: int) -> list[dict[str, int]]:
    return [{"n": number} for number in range(first, first + count)]


def observed(statistics: Statistics) -> dict[str, Any]:
    plain = statistics.plain()
    return {text: found for text, found in plain["observed"].items() if "costs" not in text}


def test_two_places_count_and_learn_what_one_does(caplog: pytest.LogCaptureFixture) -> None:
    whole = Calling(OPERATORS, statistics=Statistics(float("inf")))
    whole.matcher(subscribed()).match_batch(events(0, 40))
    here = Calling(OPERATORS, statistics=Statistics(float("inf")))
    caplog.clear()
    for first in (0, 20):
        there = Calling(OPERATORS, statistics=StatisticsDelta())
        matcher, reporter = there.matcher(subscribed()), OperatorReporter(there)
        for part in (0, 10):
            with reporter.listening():
                matcher.match_batch(events(first + part, 10))
            absorb(here, reporter.report())
        assert not reporter.report().counts
    assert here.counts == whole.counts
    assert here.made == whole.made
    assert here.failures == whole.failures == {"odd": {"error": 1}}
    assert observed(here.statistics) == observed(whole.statistics)
    told = [record.getMessage() for record in caplog.records if "unlucky" in record.getMessage()]
    assert len(told) == 2  # where it happened, and where it was reported
    assert told[0] == told[1]


def test_what_fails_elsewhere_is_not_told_here() -> None:
    reporter = OperatorReporter(Calling(OPERATORS, statistics=StatisticsDelta()))
    logging.getLogger("vedette.operators").warning("operator %s, event %s: %s", "other", "e", "why")
    assert not reporter.report().examples


def test_plans_look_at_what_is_taken_over() -> None:
    """Nothing is known at first; then that `small` decides."""
    calling = Calling(OPERATORS)
    made = Subscriptions({"n": "int"})
    made.add("both", "n > 100 and odd() and small()")
    matcher = calling.matcher(made)
    matcher.match({"n": 101})
    learned = Calling(OPERATORS)
    learned.matcher(made).match_batch(events(101, 400))
    calling.statistics.become(learned.known())
    before = dict(calling.made)
    matcher.match_batch(events(200, 10))
    assert calling.made.get("odd", 0) == before.get("odd", 0)
    assert calling.made["small"] == before.get("small", 0) + 10


def test_statistics_fade_where_they_are_absorbed_and_become_others() -> None:
    def known(tried: float) -> Statistics:
        row = {"p()": [tried, 1.0]}
        return Statistics.from_plain(
            {"version": 1, "memory": 100.0, "observed": row, "operators": {"p": [tried, 1.0, 0, 0]}}
        )

    one = known(100.0)
    one.absorb(known(100.0))
    assert one.plain()["observed"] == {"p()": [150.0, 1.5]}
    one.become(known(7.0))
    assert one.plain() == known(7.0).plain()
    several = Statistics.from_plain(
        {
            "version": 1,
            "memory": None,
            "observed": {f"p({number})": [number + 1.0, 0.0] for number in range(10)},
            "operators": {},
        }
    )
    assert set(several.most(2).plain()["observed"]) == {"p(8)", "p(9)"}


def test_a_file_can_be_read_again_where_it_is_not(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text("import vedette as vd\n\n@vd.operator\ndef yes(event):\n    return True\n")
    (tmp_path / "ops.toml").write_text('modules = ["./ops.py"]\n')
    read = [Operators.read(tmp_path / name) for name in ("ops.py", "ops.toml")]
    for path in tmp_path.iterdir():
        path.unlink()
    for each in read:
        assert each.written is not None
        again = Operators.read_again(each.written)
        assert set(again) == set(each)
        assert again["yes"]({}) is True
    read[0].add(odd)
    assert read[0].written is None
