"""Forecasts of patterns that have too many states: their parts, taken to be independent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from experiments.muthusamy.forecast_evaluation import outcomes, probabilities
from tests.patterns.forecasts.simulated import record
from vedette.engine.stream_matcher import StreamMatcher
from vedette.engine.subscriptions import Subscriptions
from vedette.filters.subscription_records import PatternRecord
from vedette.language.ast import Step, TruthLiteral
from vedette.patterns import forecast_parts
from vedette.patterns.forecast_parts import SplitLeaf, SplitNode, forecast_patterns
from vedette.patterns.forecasts import pattern_nodes
from vedette.patterns.forecasts.forecast import Forecaster
from vedette.patterns.forecasts.forecast_reasons import forecast_at
from vedette.patterns.forecasts.model import Model, train
from vedette.patterns.forecasts.part_completion import NEVER, Curve, PartCompletion, PartObservation
from vedette.patterns.forecasts.part_forecasts import CombinedProbabilities, PatternParts, rows_of_parts
from vedette.patterns.forecasts.probability_table import ForecastSettings
from vedette.patterns.matcher import PatternMatcher
from vedette.patterns.outputs import Observations

SHARE = 0.15  # of each of three letters; all else is none of them
WITHIN = 20
SETTINGS = ForecastSettings(context=1, horizon=None)
BOTH = "([x = 1] ; [x = 2] ; [x = 3]) and ([y = 1] ; [y = 2] ; [y = 3])"


@pytest.fixture(autouse=True)
def _four_states_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_nodes, "_MOST_STATES", 4)
    monkeypatch.setattr(forecast_parts, "_FEW", 1)


def forecast_of(text: str, threshold: float = 0.5) -> PatternRecord:
    """Events are about x and y in turn, and the forecast may know which it was."""
    return record(text, within=WITHIN, threshold=threshold, features=("even = 1",))


def events(seed: int, *, partitions: int, length: int, copied: bool = False) -> list[dict[str, Any]]:
    """Letters about x and y in turn, independent of each other, or each y a copy of the x before."""
    draw = np.random.default_rng(seed)
    made: list[dict[str, Any]] = []
    for partition in range(partitions):
        letters = draw.choice(4, length, p=[1 - 3 * SHARE, SHARE, SHARE, SHARE]).tolist()
        for place, letter in enumerate(letters):
            even = place % 2 == 0
            value = letter if even or not copied else letters[place - 1]
            made.append({"k": partition, "time": len(made), "even": int(even), "x" if even else "y": value})
    return made


def observed(one: PatternRecord, happened: list[dict[str, Any]]) -> Observations:
    return PatternMatcher([one]).process(happened).observations


def whole(seen: Observations, length: int) -> NDArray[np.int64]:
    """The rows of the pattern itself that have their whole horizon before them."""
    return np.flatnonzero((seen.pattern == 0) & (seen.event % length < length - WITHIN))


def without_parts(model: Model) -> Model:
    """What was said before parts were: states beyond the limit are known by their depth."""
    bare = {name: model.counts(name) for name in model}
    for counts in bare.values():
        counts.parts = []
    return Model(model.settings, bare)


def brier(said: NDArray[np.float64], came: NDArray[np.bool_]) -> float:
    return float(((said - came) ** 2).mean())


def together(model: Model, one: PatternRecord, seen: Observations) -> CombinedProbabilities:
    """The figures and their bounds, in the order of rows."""
    asked = forecast_patterns([one])[0]
    counts = model.counts(asked.name)
    parts = PatternParts(asked, model.settings)
    parts.use([part.moves() for part in counts.parts], counts)
    said = parts.see(seen, rows_of_parts(seen, 0, asked.parts), counts)
    assert said is not None
    return said


def one_part(taken: int, events_left: int) -> float:
    """The probability that letters come in turn; with all taken, that the last comes once more."""
    chances = np.zeros(4)
    chances[min(taken, 2)] = 1.0
    for _ in range(events_left):
        chances[1:] = chances[1:] + SHARE * np.append(chances[:2], chances[2]) - SHARE * np.append(chances[1:3], 0.0)
        chances[0] *= 1 - SHARE
    return float(chances[3])


def test_one_part_is_what_is_meant() -> None:
    assert one_part(2, 10) == pytest.approx(1 - (1 - SHARE) ** 10)
    assert one_part(0, 3) == pytest.approx(SHARE**3)
    assert one_part(0, 4) == pytest.approx(SHARE**3 * (1 + 3 * (1 - SHARE)))


def truth(x: int, y: int) -> float:
    """The probability of both, from how many letters each has taken."""
    one, other = one_part(x, WITHIN // 2), one_part(y, WITHIN // 2)
    if x == y == 3:
        return 1 - (1 - one) * (1 - other)
    return (1.0 if x == 3 else one) * (1.0 if y == 3 else other)


def taken(happened: list[dict[str, Any]], name: str) -> list[int]:
    """How many letters have come in turn, after each event."""
    now: dict[int, int] = {}
    found: list[int] = []
    for one in happened:
        before = now.get(one["k"], 0)
        found.append(before + (before < 3 and one.get(name) == before + 1))
        now[one["k"]] = found[-1]
    return found


def test_the_figure_of_independent_parts_is_right() -> None:
    one = forecast_of(f"{BOTH} by k")
    model = train([observed(one, events(1, partitions=1_500, length=50))], [one], SETTINGS)
    happened = events(2, partitions=100, length=50)
    seen = observed(one, happened)
    said = probabilities(model, [one], seen)[seen.pattern == 0]
    right = np.array([truth(x, y) for x, y in zip(taken(happened, "x"), taken(happened, "y"), strict=True)])
    assert np.abs(said - right).max() < 0.05
    assert np.abs(said - right).mean() < 0.01


@pytest.mark.parametrize("window", [40, 100])
def test_with_a_window_it_is_nearly_right_and_better_than_by_depth(window: int) -> None:
    one = forecast_of(f"{BOTH} within {window} s")
    length = 20_000
    model = train([observed(one, events(3, partitions=1, length=length))], [one], SETTINGS)
    seen = observed(one, events(4, partitions=1, length=length))
    rows, came = whole(seen, length), outcomes(seen, WITHIN)[0]
    said, by_depth = probabilities(model, [one], seen), probabilities(without_parts(model), [one], seen)
    assert said[rows].mean() == pytest.approx(came[rows].mean(), abs=0.03)
    assert brier(said[rows], came[rows]) < brier(by_depth[rows], came[rows])
    assert ((said >= 0) & (said <= 1)).all()


def test_it_is_better_than_by_depth() -> None:
    one = forecast_of(f"{BOTH} by k")
    model = train([observed(one, events(5, partitions=1_000, length=50))], [one], SETTINGS)
    seen = observed(one, events(6, partitions=500, length=50))
    rows, came = whole(seen, 50), outcomes(seen, WITHIN)[0]
    said, by_depth = probabilities(model, [one], seen), probabilities(without_parts(model), [one], seen)
    assert brier(said[rows], came[rows]) < 0.97 * brier(by_depth[rows], came[rows])


def test_the_bounds_hold_for_parts_that_depend_on_each_other() -> None:
    one = forecast_of(f"{BOTH} by k")
    model = train([observed(one, events(7, partitions=1_000, length=50, copied=True))], [one], SETTINGS)
    happened = events(8, partitions=2_000, length=50, copied=True)
    seen = observed(one, happened)
    said, came = together(model, one, seen), outcomes(seen, WITHIN)[0]
    rows = whole(seen, 50)
    states = np.array(list(zip(taken(happened, "x"), taken(happened, "y"), strict=True)))[rows // 3]
    wide = 0
    for state in np.unique(states, axis=0):
        mine = rows[(states == state).all(axis=1)]
        if mine.size < 2_000:
            continue
        low, figure, high = (float(column[mine // 3].mean()) for column in (said.low, said.probability, said.high))
        true = float(came[mine].mean())
        assert low - 0.03 < true < high + 0.03
        wide += abs(figure - true) > 0.05
    assert wide > 0  # they are not independent, and the figure for independent ones shows it


# ---------------------------------------------------------------- where parts stand

A, B, C = (SplitLeaf(number, Step(TruthLiteral(True))) for number in range(3))
CURVES: list[Curve] = [1 - (1 - p) ** np.arange(6.0) for p in (0.1, 0.3, 0.6)]
F = [curve[-1] for curve in CURVES]


def event(at: int, completed: dict[int, int] | None = None, begun: dict[int, int] | None = None) -> PartObservation:
    """An event a second: which parts it completes, and when these and the partial matches began."""
    second = 1_000_000
    starts = [None if (one := (completed or {}).get(part)) is None else (one * second, one) for part in range(3)]
    partial = [NEVER if (one := (begun or {}).get(part)) is None else (one * second, one) for part in range(3)]
    return PartObservation(at + 1, (at * second, at), starts, partial, CURVES)


def said_after(tree: SplitNode, *happened: PartObservation, window: int | None = None) -> tuple[float, float, float]:
    standing = PartCompletion(tree, window)
    row = standing.begun(happened[0])
    for each in happened:
        standing.take(row, each)
    whole_ = standing.says(row, happened[-1], [0.5 * curve for curve in CURVES])
    return float(whole_.independent[-1]), float(whole_.low[-1]), float(whole_.high[-1])


def test_what_is_missing_must_come_and_what_is_there_need_not() -> None:
    tree = SplitNode("and", (A, B, C))
    assert said_after(tree, event(0)) == pytest.approx((F[0] * F[1] * F[2], max(0, sum(F) - 2), min(F)))
    assert said_after(tree, event(0, {0: 0}))[0] == pytest.approx(F[1] * F[2])
    assert said_after(tree, event(0, {0: 0}), event(1, {2: 1}))[0] == pytest.approx(F[1])
    every = event(0, {0: 0}), event(1, {2: 1}), event(2, {1: 1})
    assert said_after(tree, *every)[0] == pytest.approx(1 - (1 - F[0]) * (1 - F[1]) * (1 - F[2]))


def test_either_may_come() -> None:
    tree = SplitNode("or", (A, SplitNode("and", (B, C))))
    figure = 1 - (1 - F[0]) * (1 - F[1] * F[2])
    assert said_after(tree, event(0))[0] == pytest.approx(figure)
    low, high = max(F[0], F[1] + F[2] - 1), min(1, F[0] + min(F[1], F[2]))
    assert said_after(tree, event(0))[1:] == pytest.approx((low, high))


def test_what_comes_later_begins_anew_with_its_turn() -> None:
    tree = SplitNode("then", (A, SplitNode("and", (B, C))))
    anew = (0.5 * CURVES[1]) * (0.5 * CURVES[2])
    first = np.diff(CURVES[0], prepend=0.0)
    figure = float(np.convolve(first, anew)[5])
    assert said_after(tree, event(0)) == pytest.approx((figure, 0.0, CURVES[0][4]))
    # B was complete before, and C had begun: neither counts when the turn comes.
    before = event(0, {1: 0}, {2: 0}), event(1, {0: 1}, {1: 0, 2: 0})
    assert said_after(tree, *before)[0] == pytest.approx(0.25 * F[1] * F[2])
    # What begins after that does.
    after = (*before, event(2, None, {1: 2, 2: 0}))
    assert said_after(tree, *after)[0] == pytest.approx(F[1] * 0.5 * F[2])
    assert said_after(tree, *after, event(3, {1: 0}))[0] == pytest.approx(F[1] * F[2])
    assert said_after(tree, *after, event(3, {1: 2}))[0] == pytest.approx(F[2])


def test_what_is_too_old_is_missing_again() -> None:
    tree = SplitNode("and", (A, C))
    hour = 3_600 * 1_000_000
    # One more event comes in time: C is in time with it, or later if A has come anew.
    anew = sum((CURVES[2][n] - CURVES[2][n - 1]) * CURVES[0][n] for n in range(2, 6))
    late = said_after(tree, event(0, {0: 0}), event(3_599), window=hour)
    assert late == pytest.approx((CURVES[2][1] + anew, 0.0, F[2]))
    assert said_after(tree, event(0, {0: 0}), event(1), window=hour)[0] == pytest.approx(F[2])
    assert said_after(tree, event(0, {0: 0}), event(3_601), window=hour)[0] == pytest.approx(F[0] * F[2])


# ---------------------------------------------------------------- end to end


def test_a_sequence_around_an_and_is_forecast_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    one = forecast_of("[x = 1] ; (([x = 2] ; [x = 3]) and ([y = 1] ; [y = 2])) ; [y = 3] by k")
    history, seen = (observed(one, events(seed, partitions=1_000, length=60)) for seed in (9, 10))
    model = train([history], [one], SETTINGS)
    assert model.counts(next(iter(model))).by_parts
    said = probabilities(model, [one], seen)
    monkeypatch.setattr(pattern_nodes, "_MOST_STATES", 100)
    trained = probabilities(train([history], [one], SETTINGS), [one], seen)
    rows, came = whole(seen, 60), outcomes(seen, WITHIN)[0]
    assert np.abs(said - trained)[rows].mean() < 0.03
    assert brier(said[rows], came[rows]) == pytest.approx(brier(trained[rows], came[rows]), abs=0.002)


def subscribed(text: str) -> Subscriptions:
    made = Subscriptions()
    made.add("p", text, predict={"within": WITHIN, "threshold": 0.5, "features": ["even = 1"]})
    made.add("q", "[x = 1] ; [x = 2] within 1 min", predict={"within": 5})
    return made


def rounded(told: pa.Table) -> list[dict[str, Any]]:
    """Sums differ in their last digits by the order in which they are added up."""
    return [{**row, "probability": row["probability"] and round(row["probability"], 9)} for row in told.to_pylist()]


def test_a_stream_says_which_patterns_are_forecast_so_and_goes_on_after_a_restart() -> None:
    happened = events(11, partitions=1, length=3_000)
    both = subscribed(f"{BOTH} within 60 s")
    at_once = StreamMatcher(both)
    told = rounded(at_once.process(happened))
    assert at_once.metrics["by_parts"] == ["p"]
    assert at_once.scores["p"].predictions > 0
    in_pieces = StreamMatcher(both)
    rows: list[dict[str, Any]] = []
    for begin in range(0, len(happened), 700):
        rows += rounded(in_pieces.process(happened[begin : begin + 700]))
        in_pieces = StreamMatcher.from_bytes(in_pieces.to_bytes(), both)
    assert rows == told


def test_one_that_does_not_learn_goes_on_by_the_parts_of_its_model() -> None:
    both = subscribed(f"{BOTH} within 60 s")
    models = []
    for seed in (11, 13):
        learnt = StreamMatcher(both)
        learnt.process(events(seed, partitions=1, length=3_000))
        models.append(learnt.model())
    happened = events(12, partitions=1, length=2_000)
    at_once = StreamMatcher(both, model=models[1], learn=False)
    at_once.process(happened[:1_000])
    told = rounded(at_once.process(happened[1_000:]))
    before = StreamMatcher(both, model=models[0], learn=False)
    before.process(happened[:1_000])
    in_pieces = StreamMatcher.from_bytes(before.to_bytes(), both, model=models[1], learn=False)
    assert in_pieces.metrics["by_parts"] == ["p"]
    found = rounded(in_pieces.process(happened[1_000:]))
    # What one model told of a partial match is not told again by the other.
    assert [row for row in found if _begun(row) >= 1_000] == [row for row in told if _begun(row) >= 1_000]
    assert {row["kind"] for row in found if row["subscription"] == "p"} == {"match", "prediction"}


def _begun(row: dict[str, Any]) -> int:
    return min(event for _, event in row["steps"])


def test_a_model_keeps_what_it_knows_of_parts() -> None:
    one = forecast_of(f"{BOTH} within 60 s")
    seen = observed(one, events(12, partitions=1, length=5_000))
    model = train([seen], [one], SETTINGS)
    again = Model.from_bytes(model.to_bytes())
    assert probabilities(again, [one], seen).tolist() == probabilities(model, [one], seen).tolist()
    twice = model + again
    counts, double = model.counts(next(iter(model))), twice.counts(next(iter(model)))
    assert [part.weight for part in double.parts] == [2 * part.weight for part in counts.parts]
    assert len(model) == 1
    # Of what knows nothing of parts the whole is forecast, by depth where need be.
    assert not Forecaster([one], without_parts(model), learn=False).by_parts
    assert Forecaster([one], model, learn=False).by_parts == ["p"]


def test_it_is_said_that_the_parts_are_taken_to_be_independent() -> None:
    one = forecast_of(f"{BOTH} by k")
    model = train([observed(one, events(13, partitions=500, length=50))], [one], SETTINGS)
    seen = observed(one, events(14, partitions=1, length=50))
    said = together(model, one, seen)
    found = forecast_at(one, model, seen, 5)
    assert found is not None
    assert found.bounds is not None
    low, high = found.bounds
    assert low <= found.probability <= high
    assert (found.probability, low, high) == pytest.approx([float(column[5]) for column in said], abs=0.02)
    expected = f"- the parts are taken to be independent; between {low:.2f} and {high:.2f} if they are not"
    assert str(found).splitlines()[1] == expected
