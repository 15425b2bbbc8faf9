"""The experiment on Ouksel 2006: its questions are what they say, its answers right, its claims judged."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.micro.covering import SIDE, Question
from experiments import ouksel2006
from experiments.ouksel import arrivals, comparison, extreme, many, propagation, reduction, scenarios, workload
from experiments.ouksel.workload import Setting
from vedette import Subscriptions
from vedette.covering.box_decision import BoxDecision, decide, found_along_path


def _questions(make: Callable[..., Question], *how: float) -> list[Question]:
    random = np.random.default_rng(1)
    return [make(random, *how) for _ in range(20)]


def _outside(question: Question, points: NDArray[np.int64]) -> int:
    """How many of the points no candidate has."""
    inside = np.logical_and(question.low <= points[:, None], points[:, None] < question.high)
    return int(np.count_nonzero(~np.any(np.all(inside, axis=2), axis=1)))


@pytest.mark.parametrize("count", [10, 60])
@pytest.mark.parametrize("lie", [scenarios.FROM_A_SIDE, scenarios.ANYWHERE])
def test_candidates_meet_the_box_and_none_covers_it_alone(lie: str, count: int) -> None:
    for make in (scenarios.REDUNDANT[lie], scenarios.NON_COVER[lie]):
        for question in _questions(make, count, 6):
            assert question.low.shape == (count, 6)
            assert (question.low < question.high).all()
            alone = (question.low <= question.s_low) & (question.high >= question.s_high)
            assert not alone.all(axis=1).any()
    for question in _questions(scenarios.REDUNDANT[lie], count, 6):
        assert ((question.low < question.s_high) & (question.high > question.s_low)).all()
        points = np.random.default_rng(2).integers(question.s_low, question.s_high, (500, 6))
        assert _outside(question, points) == 0


def test_where_the_box_is_not_covered_a_range_of_the_first_attribute_is_free() -> None:
    for question in _questions(scenarios.non_cover, 60, 4):
        values = np.arange(SIDE, 2 * SIDE)[:, None]
        taken = ((question.low[:, 0] <= values) & (values < question.high[:, 0])).any(axis=1)
        assert np.count_nonzero(~taken) >= round(scenarios.GAP * SIDE)


@pytest.mark.parametrize("gap", [0.005, 0.045])
def test_extremely_non_covered_is_exactly_the_gap(gap: float) -> None:
    for question in _questions(scenarios.extreme_non_cover, 50, 5, gap):
        points = np.tile(question.s_low, (SIDE, 1))
        points[:, 0] = np.arange(SIDE, 2 * SIDE)
        assert _outside(question, points) == round(gap * SIDE)
        others = slice(1, None)
        assert (question.low[:, others] <= SIDE).all()
        assert (question.high[:, others] >= 2 * SIDE).all()


def test_exact_decisions_are_never_wrong_and_say_why() -> None:
    for scenario in reduction.SCENARIOS:
        for lie in (scenarios.FROM_A_SIDE, scenarios.ANYWHERE):
            row = reduction.measure(scenario, lie, 10, 40, runs=20, also_timed=2)
            assert (row.auto_wrong, row.auto_uncertain) == (0, 0)
            assert row.log_after <= row.log_before
            assert (row.removed > 0.8) == (lie == scenarios.FROM_A_SIDE)
    for cut_along in scenarios.EXTREME:
        *_, exact = extreme.measure(cut_along, 0.005, 30)
        assert (exact.method, exact.false_covered, exact.proved) == (extreme.AUTO, 0, 30)


def test_smaller_errors_make_fewer_wrong_answers() -> None:
    loose, _, strict, _ = extreme.measure(extreme.THE_PAPERS, 0.005, 400)
    assert (loose.error, strict.error) == (1e-3, 1e-10)
    assert loose.false_covered > strict.false_covered
    assert loose.proved == 400 - loose.false_covered
    assert loose.work == pytest.approx(200, rel=0.25)


def test_a_witness_has_to_be_in_the_box_and_in_no_candidate() -> None:
    question = Question(np.array([0]), np.array([10]), np.array([[0]]), np.array([[5]]))
    told = {
        point: extreme.outside(question, BoxDecision(False, "exact", True, witness=(point,))) for point in (4, 5, 10)
    }
    assert told == {4: False, 5: True, 10: False}
    assert not extreme.outside(question, BoxDecision(True, "exact", True))


def test_subscriptions_prefer_the_first_attributes_and_low_values() -> None:
    low, high = workload.subscriptions(Setting(10, 10), 4000)
    assert (low < high).all()
    chosen = (low > 0) | (high < workload.VALUES)
    popularity = 1 / np.arange(1, 11) ** 2
    np.testing.assert_allclose(
        chosen.mean(axis=0), 1 - (1 - popularity / popularity.sum()) ** 10, atol=0.02, err_msg="drawn with Zipf, skew 2"
    )
    assert (high - low)[chosen].mean() < 2_000  # ranges that are cut at an end are narrower
    assert np.median((low + high)[chosen] / 2) < workload.VALUES / 10


def test_filters_say_what_the_boxes_do() -> None:
    low, high = workload.subscriptions(Setting(4, 2), 60)
    subscriptions = Subscriptions({f"x{number}": "int" for number in range(1, 5)})
    for number, bounds in enumerate(zip(low, high, strict=True)):
        subscriptions.add(str(number), workload.as_filter(*bounds))
    matcher = subscriptions.compile()
    found = 0
    for point in np.random.default_rng(3).integers(0, 2_000, (50, 4)):
        inside = np.flatnonzero(((low <= point) & (point < high)).all(axis=1))
        event = {f"x{number}": int(value) for number, value in enumerate(point, 1)}
        assert sorted(map(int, matcher.match(event))) == inside.tolist()
        found += len(inside)
    assert found > 0
    assert workload.as_filter(np.array([0, 0]), np.array([workload.VALUES] * 2)) == "true"


def test_active_sets_are_smaller_the_more_is_asked() -> None:
    low, high = workload.subscriptions(Setting(6, 6), 600)
    grown = {method: arrivals.Growing(method, low, high).run() for method in ("pairwise", "sampling", "auto")}
    pairwise, sampled, exact = (each.active for each in grown.values())
    assert 1 <= exact[-1] < pairwise[-1] < 600
    assert exact[-1] <= sampled[-1] + grown["sampling"].wrong
    assert grown["auto"].uncertain == grown["auto"].wrong == 0
    alone = [
        number
        for number in range(600)
        if not ((low[:number] <= low[number]) & (high[:number] >= high[number])).all(axis=1).any()
    ]
    assert pairwise[-1] == len(alone)  # whoever covers one that covers it covers it too


def test_what_is_timed_is_what_was_asked_on_arrival() -> None:
    low, high = workload.subscriptions(Setting(6, 6), 300)
    active = arrivals.Growing("auto", low, high).run().active
    asked = arrivals.questions(low, high, active, 50)
    assert [len(question.low) for question in asked] == [active[number - 1] for number in range(49, 300, 50)]
    for number, question in zip(range(49, 300, 50), asked, strict=True):
        assert decide(*question).covered == (active[number] == active[number - 1])


def test_the_covering_set_keeps_as_many_as_boxes_say_where_nothing_may_be_missing() -> None:
    low, high = workload.subscriptions(Setting(5, 40), 200)  # so many draws that nearly all attributes come up
    active, uncertain, _ = arrivals.covering_set(low, high)
    assert uncertain == 0
    assert active == arrivals.Growing("auto", low, high).run().active[-1]


def test_equation_2_means_the_probability_of_a_guess() -> None:
    rows = propagation.measure(propagation.Sizes(4, 1500, (0.2,), (10,)))
    assert [row.brokers for row in rows] == [1, 2, 3, 4]
    for row in rows:
        assert row.meant == found_along_path(0.2, propagation.GAP, 10, row.brokers)
        assert row.simulated == pytest.approx(row.meant, abs=5 * row.error)
    assert rows[-1].printed > rows[-1].simulated + 10 * rows[-1].error


def test_every_claim_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(reduction, "QUICK", reduction.Sizes((10, 20), (10, 100), 3, 2))
    monkeypatch.setattr(extreme, "QUICK", extreme.Sizes((0.02, 0.045), {extreme.THE_PAPERS: 5, "all attributes": 2}))
    monkeypatch.setattr(comparison, "QUICK", comparison.Sizes(60, 20, 10, 2))
    monkeypatch.setattr(propagation, "QUICK", propagation.Sizes(3, 20, (0.1, 0.2), (5,)))
    monkeypatch.setattr(many, "QUICK", (40, 80))
    found = {figure.name: figure for part in ouksel2006.PAPER.parts for figure in part.figures(True)}
    assert set(found) == {*(f"figure{number}" for number in range(6, 15)), "decisions", "equation2", "many"}
    for name in (*(f"figure{number}" for number in range(6, 15)), "equation2"):
        assert any(finding.claim for finding in found[name].findings)
    rows = found["figure13"].tables[""]
    assert len(rows) == 3 * len(workload.SETTINGS)
    assert all(row.exact <= row.pairwise <= row.arrivals for row in rows)
    assert [row.arrivals for row in found["many"].tables[""]] == [40, 80] * len(workload.SETTINGS)
