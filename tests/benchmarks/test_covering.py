"""The benchmark of covering: its scenarios are what they say, and both ways of deciding run."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.micro.covering import SCENARIOS, run
from vedette.covering.box_decision import conflict_table, covering_alone


@pytest.mark.parametrize("name", SCENARIOS)
def test_nobody_covers_the_box_alone(name: str) -> None:
    random = np.random.default_rng(1)
    for _ in range(20):
        asked = SCENARIOS[name](random, 20, 4)
        assert (asked.low < asked.high).all()
        assert not len(covering_alone(conflict_table(*asked)))


def test_scenarios_are_covered_as_they_should_be() -> None:
    found = run(count=30, attributes=3, questions=5)
    assert {name: found[name]["covered"] for name in SCENARIOS} == {
        "redundant covering": 5,
        "no intersection": 0,
        "non-cover": 0,
        "extreme non-cover": 0,
    }
    assert all(found[name]["uncertain"] == 0 for name in SCENARIOS)
    assert found["no intersection"]["methods"] == {"empty": 5}
