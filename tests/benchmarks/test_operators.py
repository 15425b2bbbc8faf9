"""The benchmark of operators: real flights, all planners, and the matches that there are if every outcome is known."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest

from benchmarks.__main__ import main
from benchmarks.operator_workloads import LONG_BORDER, NEAR, SERVICE, SHIPPED, WORKLOADS, Flights
from benchmarks.operators import Known, Sizes, measure
from vedette.operators.matcher import OperatorMatcher
from vedette.operators.operator_plan import PLANNERS

TINY = Sizes(subscriptions=60, events=30, turns=1)


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Flights:
    return Flights.prepared(tmp_path_factory.mktemp("flights"))


def test_operators_answer_about_flights_as_the_tables_do(flights: Flights) -> None:
    """Denver is in Mountain Time, and the model knows nothing of a flight whose weather is missing."""
    made = flights.operators(SHIPPED)
    some = flights.events.slice(0, 2_000)
    to_denver = np.array(some["dest"].to_pylist()) == "DEN"
    assert to_denver.any()
    places = some.select([]).append_column("destination.place", pc.struct_field(some["destination"], "place"))
    for call, expected in (("America/Denver", True), ("America/Chicago", False)):
        assert made["locIn"](places.filter(to_denver), call).unique().to_pylist() == [expected]
    (metres,) = made["distanceFrom"](places.filter(to_denver), "Denver Intl").unique().to_pylist()
    assert metres == 0
    assert all(each.cache is None for each in made.values())


def test_the_long_border_is_long_and_most_flights_do_not_land_inside(flights: Flights) -> None:
    features = json.loads((flights.folder / "places.geojson").read_text())["features"]
    (near,) = (each["geometry"] for each in features if each["properties"]["name"] == NEAR)
    assert sum(len(ring) for polygon in near["coordinates"] for ring in polygon) > 20_000
    place = pc.struct_field(flights.events.slice(0, 500)["destination"], "place")
    inside = flights.operators(SHIPPED)["locIn"](
        flights.events.slice(0, 500).select([]).append_column("destination.place", place), NEAR
    )
    assert 0 < np.mean([each is True for each in inside.to_pylist()]) < 0.5


def test_subscriptions_share_what_they_ask_for(flights: Flights) -> None:
    matcher = OperatorMatcher(flights.subscriptions(300, SHIPPED), flights.operators(SHIPPED))
    asked = matcher.plan.asked
    assert len(asked.alternatives) == 300
    times = np.bincount([each for one in asked.alternatives for each in one.predicates])
    assert times.max() > 30  # the most popular
    assert len(asked.evaluations) < len(asked.predicates) < times.sum()


def test_planners_that_find_something_else_are_found_out(flights: Flights, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Known, "matches", lambda self: [(0, 0, None)])
    with pytest.raises(ArithmeticError, match="'naive' finds other matches"):
        measure(flights, LONG_BORDER, TINY)


def test_a_service_answers_as_the_database_does(flights: Flights) -> None:
    """The flights that are matched are those of the same subscriptions, whoever is asked about aircraft."""
    some = flights.events.slice(0, 40)
    subscriptions = flights.subscriptions(150, SHIPPED)
    found = [OperatorMatcher(subscriptions, flights.operators(each)).matches(some) for each in (SHIPPED, SERVICE)]
    assert len(found[0].event)
    assert found[0].bindings == found[1].bindings
    assert found[0].event.tolist() == found[1].event.tolist()


def test_all_planners_find_what_there_is_and_evaluate_less_than_is_asked(
    flights: Flights, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sizes, "of", staticmethod(lambda quick: TINY))
    monkeypatch.setattr(Flights, "prepared", staticmethod(lambda folder: flights))  # once for all tests is enough
    path = tmp_path / "figures.json"
    main(["--quick", "--workload", "operators", "--json", str(path)])
    rows = json.loads(path.read_text())["operators"]["planners"]
    assert [(row["workload"], row["planner"]) for row in rows] == list(itertools.product(WORKLOADS, PLANNERS))
    for workload in WORKLOADS:
        naive, *others = (row for row in rows if row["workload"] == workload)
        assert naive["matches"] > 0
        assert naive["made"] <= naive["asked"]
        assert all((row["matches"], row["asked"]) == (naive["matches"], naive["asked"]) for row in others)
        assert all(row["made"] < naive["made"] for row in others)
    assert "x naive" in capsys.readouterr().out
