"""The experiment on Aguilera 1999: its workload is the paper's, and it leaves data and plots behind."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from experiments import aguilera1999
from experiments.aguilera1999 import MATCHES, Space, bound, figure_7, theorem_1
from vedette.matching.tree import Tree


@pytest.mark.parametrize("count", [1_000, 10_000, 100_000])
def test_an_event_matches_about_a_hundred_whatever_the_number_of_subscriptions(count: int) -> None:
    space = Space()
    popularity = space.popularity_for(count)
    assert space.match_probability(popularity) * count == pytest.approx(MATCHES, rel=1e-6)
    ratios = popularity[1:] / popularity[:-1]
    np.testing.assert_allclose(ratios, ratios[0])
    events = space.events(300, seed=1)
    tree = Tree.build(space.subscriptions(popularity, count, seed=2), space.attributes, events)
    assert tree.match(events).event.size / 300 == pytest.approx(MATCHES, rel=0.15)


def test_values_asked_for_follow_zipf() -> None:
    space = Space(values=4, attributes=2)
    table = space.subscriptions(np.ones(2), 20_000, seed=3)
    shares = np.bincount(table.low) / table.low.size
    np.testing.assert_allclose(shares, np.array([12, 6, 4, 3]) / 25, atol=0.01)


def test_all_variants_find_the_same_and_forks_only_add_visits() -> None:
    rows = figure_7([1_000], events=50)
    assert len({row.matches for row in rows}) == 1
    assert all(row.visits >= row.visits_without_forks for row in rows)
    forked = {row.variant for row in rows if row.visits > row.visits_without_forks}
    assert forked == {"collapsed, successors", "collapsed, successors, factored"}


def test_measured_visits_stay_below_the_bound() -> None:
    for row in theorem_1([100, 400], events=100):
        assert row.bound == bound(row.values, row.attributes, row.subscriptions)
        assert row.visits <= row.bound


def test_it_writes_data_and_plots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(aguilera1999, "QUICK_SIZES", (400, 800))
    monkeypatch.setattr(aguilera1999, "QUICK_BOUND_SIZES", (50, 100))
    line = aguilera1999.run(tmp_path / "out", quick=True)
    assert "paper" in line
    assert "\n" not in line
    written = {file.name for file in (tmp_path / "out").iterdir()}
    assert written == {
        f"aguilera1999-{name}.{suffix}" for name in ("figure7", "theorem1") for suffix in ("csv", "png", "svg")
    }
    with (tmp_path / "out" / "aguilera1999-figure7.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 2 * 5
