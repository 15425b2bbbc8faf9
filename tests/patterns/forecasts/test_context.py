"""Forecasts refined by the past: held against the formula, written out slowly."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import pytest

from experiments.muthusamy.forecast_evaluation import outcomes, probabilities, scored
from tests.patterns.forecasts.simulated import contiguous, record
from vedette.errors import InputError
from vedette.filters.subscription_records import PatternRecord
from vedette.patterns.forecasts.counts import MoveCounts
from vedette.patterns.forecasts.model import train
from vedette.patterns.forecasts.probability_table import ForecastSettings, ProbabilityTable
from vedette.patterns.outputs import Observations

_Node: TypeAlias = tuple[int, bool, int, tuple[int, ...]]  # state, whether it is a hit, depth, the last symbols

ABA = record("[x = 'a'] , [x = 'b'] , [x = 'a']", within=3)


def slow(seen: Observations, context: int, smoothing: float, within: int) -> list[float]:
    """The probability after every event, by the formula: state and the last k symbols, k from 0 up."""
    rows = list(zip(seen.state.tolist(), seen.hit.tolist(), seen.depth.tolist(), seen.symbol.tolist(), strict=True))
    past: list[_Node] = [(0, False, 0, ())]
    for state, hit, depth, symbol in rows:
        past.append((state, hit, depth, (symbol, *past[-1][3])[:context]))
    counts: dict[object, dict[_Node, int]] = defaultdict(lambda: defaultdict(int))

    def seen_as(node: _Node, k: int) -> object:
        if k == -2:
            return "anywhere"
        return ("depth", node[2]) if k == -1 else (node[0], node[1], node[3][:k], k)

    for source, target in pairwise(past):
        for k in range(-2, context + 1):
            counts[seen_as(source, k)][target] += 1

    @cache
    def value(node: _Node, k: int, n: int) -> float:
        if n == 0:
            return 0.0
        moves = counts[seen_as(node, k)]
        total = sum(times * (1.0 if r[1] else value(r, max(k, 0), n - 1)) for r, times in moves.items())
        if k == -2:
            return total / sum(moves.values())
        return (total + smoothing * value(node, k - 1, n)) / (sum(moves.values()) + smoothing)

    return [value(node, context, within) for node in past[1:]]


@pytest.mark.parametrize("context", [0, 1, 2, 4, 6])
@pytest.mark.parametrize("seed", range(4))
def test_the_table_is_the_formula(context: int, seed: int) -> None:
    letters = "".join(np.random.default_rng(seed).choice(list("abc"), 150, p=[0.5, 0.4, 0.1]))
    seen = contiguous(letters, "aba")
    settings = ForecastSettings(context=context, smoothing=4.0)
    model = train([seen], [ABA], settings)
    assert probabilities(model, [ABA], seen) == pytest.approx(np.array(slow(seen, context, 4.0, 3)))


def test_a_trained_chain_knows_that_a_streak_begins_again() -> None:
    letters = np.random.default_rng(3).choice(["s", "-"], 60_000, p=[0.9, 0.1])
    streak = record("[x = 's']{5}", within=20)
    seen = contiguous(letters.tolist(), "sssss")
    said = probabilities(train([seen], [streak], ForecastSettings(context=0)), [streak], seen)
    at_one = said[(seen.depth == 1) & ~seen.hit]
    assert at_one.mean() == pytest.approx(0.995, abs=0.004)


def test_features_and_context_refine_the_forecast_and_the_state_alone_cannot() -> None:
    """After a warm day (feature) the next is hot with 0.9, after a cool one with 0.1; the pattern is one hot day."""
    random = np.random.default_rng(5)
    warm = random.random(20_000) < 0.5
    hot = np.concatenate([[False], np.where(warm, random.random(20_000) < 0.9, random.random(20_000) < 0.1)[:-1]])
    seen = contiguous(np.where(hot, "h", "-").tolist(), "h", features=warm.astype(int).tolist())
    plain = record("[x = 'h']", within=1)
    blind = scored(probabilities(train([seen], [plain], ForecastSettings(context=0)), [plain], seen), seen, 1, 0.5)
    refined = scored(probabilities(train([seen], [plain], ForecastSettings(context=1)), [plain], seen), seen, 1, 0.5)
    assert blind.auc == pytest.approx(0.5, abs=0.02)
    assert blind.brier == pytest.approx(0.25, abs=0.005)
    assert refined.auc == pytest.approx(0.9, abs=0.01)
    assert refined.brier == pytest.approx(0.09, abs=0.005)
    assert refined.mcc == pytest.approx(0.8, abs=0.02)


def aging(text: str) -> tuple[PatternRecord, Observations]:
    """`a ; b` where the b comes soon or never: three events later a partial match is as good as dead."""
    random = np.random.default_rng(9)
    letters = "".join("a---" + ("-" * 8) if random.random() < 0.5 else "ab" + "-" * 10 for _ in range(2_000))
    seen = contiguous(letters, "ab")
    since = np.arange(len(letters)) % 12
    begun = np.array([place % 12 == 0 or letters[place - place % 12 + 1] == "-" for place in range(len(letters))])
    stays = replace(
        seen,
        state=np.where(begun, 2, 0),  # as the machine of `a ; b` has it: it waits
        symbol=np.zeros_like(seen.symbol),
        depth=begun.astype(np.int64),
        age=np.where(begun, since * 1_000_000, -1),
        first=np.where(begun, seen.event - since, -1),
    )
    return record(text, within=2), stays


def test_a_stale_partial_match_loses_its_probability() -> None:
    timed, seen = aging("a:[x = 'a'] ; b:[x = 'b'] @ (t(b) - t(a) < 3 s)")
    timeless, _ = aging("a:[x = 'a'] ; b:[x = 'b']")
    settings = ForecastSettings(context=0)
    aware, blind = (probabilities(train([seen], [one], settings), [one], seen) for one in (timed, timeless))
    came_true, known = outcomes(seen, 2)
    fresh, stale = known & (seen.age == 0), known & (seen.age >= 2_000_000) & (seen.age <= 8_000_000)
    assert came_true[fresh].mean() == pytest.approx(aware[fresh].mean(), abs=0.02)
    assert came_true[stale].mean() == 0.0
    assert aware[stale].mean() < 0.02
    assert blind[stale].mean() > 0.05


def test_the_papers_mode_may_say_more_than_one() -> None:
    seen = contiguous("ab" * 500, "ab")
    pair = record("[x = 'a'] , [x = 'b']", within=10)
    assert probabilities(train([seen], [pair], ForecastSettings(mode="paper")), [pair], seen).max() == pytest.approx(
        5, abs=0.1
    )
    assert probabilities(train([seen], [pair]), [pair], seen).max() == pytest.approx(1.0, abs=0.05)


def test_states_never_seen_are_forecast_by_their_depth() -> None:
    trained = contiguous("abcabdabcab" * 30, "abc")
    pattern = record("[x = 'a'] , [x = 'b'] , [x = 'c']", within=1)
    model = train([trained], [pattern], ForecastSettings(smoothing=0.0))
    unseen = contiguous("ab", "abc")
    strange = replace(unseen, state=np.array([1_001, 1_002]))
    # Of the 120 times that a and b were there, c came 60 times, and the last time nothing came any more.
    assert probabilities(model, [pattern], strange).tolist() == pytest.approx([0.0, 60 / 119])


def test_reasons_lead_from_little_of_the_past_to_much() -> None:
    seen = contiguous("abaab" * 100, "aba")
    model = train([seen], [ABA])
    counts = model.counts(*model)
    table = ProbabilityTable(counts.moves(), counts.names, 3, ForecastSettings(), aged=False)
    node = int(counts.moves()[1][-1])
    reasons = table.reasons(node)
    assert [reason.seen_as for reason in reasons[:3]] == ["depth", "state", "state and last 1"]
    assert reasons[-1].probability == pytest.approx(table.probability(np.array([node]))[0])
    assert table.curve(node)[-1] == pytest.approx(reasons[1].probability)
    assert (np.diff(table.curve(node)) >= 0).all()
    assert set(table.states()) == set(seen.state.tolist()) | {0}


def test_an_empty_model_says_nothing_will_happen() -> None:
    seen = contiguous("abab", "aba")
    assert probabilities(train([], [ABA]), [ABA], seen).tolist() == [0.0] * 4
    assert MoveCounts().weight == 0.0


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"context": 7}, "a context of 7 events"),
        ({"smoothing": -1.0}, "a smoothing of -1.0"),
        ({"horizon": 0.0}, "a horizon of 0.0"),
        ({"mode": "guess"}, "'guess' is no mode"),
    ],
)
def test_settings_that_make_no_sense(wrong: dict[str, object], what: str) -> None:
    with pytest.raises(InputError, match=what):
        ForecastSettings(**wrong)  # type: ignore[arg-type]
