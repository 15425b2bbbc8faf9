"""The experiment on Aguilera 1999: its workload is the paper's, its claims are judged by what was measured."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.aguilera import bound, work
from experiments.aguilera.bound import theorem_1
from experiments.aguilera.trees import MATCHES, Space
from experiments.aguilera.trees import bound as bound_of
from experiments.aguilera.work import figure_7
from experiments.aguilera1999 import PAPER
from vedette.filters.tree import MatchingTree


@pytest.mark.parametrize("count", [1_000, 10_000, 100_000])
def test_an_event_matches_about_a_hundred_whatever_the_number_of_subscriptions(count: int) -> None:
    space = Space()
    popularity = space.popularity_for(count)
    assert space.match_probability(popularity) * count == pytest.approx(MATCHES, rel=1e-6)
    ratios = popularity[1:] / popularity[:-1]
    np.testing.assert_allclose(ratios, ratios[0])
    events = space.events(300, seed=1)
    tree = MatchingTree.build(space.subscriptions(popularity, count, seed=2), space.attributes, events)
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
        assert row.bound == bound_of(row.values, row.attributes, row.subscriptions)
        assert row.visits <= row.bound


def test_every_claim_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(work, "QUICK_SIZES", (400, 800))
    monkeypatch.setattr(bound, "QUICK_SIZES", (50, 100))
    found = {figure.name: figure for part in PAPER.parts for figure in part.figures(True)}
    assert set(found) == {"figure7", "theorem1"}
    assert len(found["figure7"].tables[""]) == 2 * 5
    assert found["theorem1"].findings[0].verdict == "agrees"
    assert all(figure.line.count("(paper, ") >= 3 for figure in found.values())
