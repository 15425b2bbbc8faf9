"""The subscriptions of the paper (Liu 2007, section 2.1), end to end over made-up snapshots of flying cameras."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from vedette.engine.subscriptions import Subscriptions
from vedette.language.great_circle import distance
from vedette.operators.matcher import OperatorMatcher
from vedette.operators.operator import Operator, operator
from vedette.operators.registry import Operators

PLANNERS = ("naive", "sequential", "suborder", "adaptive")
SUBSCRIPTIONS = {
    "S1": "locIn('Bronx') and chasePattern('policeCar', 'anyCar')",
    "S2": "locIn('Bronx') and mobPattern(?people) and ?people > 50",
    "S3": "locWithin('TimesSquare', 5000) and trafficPattern('congestion') and pedestrianCount(?ped) and ?ped > 250",
    "S4": "locIn('Bronx') and trafficPattern('congestion') and trafficPattern('accident')"
    " and policeCarCount(?pol) and ?pol < 2",
    "S5": "distanceFrom('StatueOfLiberty', ?x) and ?x < 1000 and tourBoatCount(?y) and coastGuardBoatCount(?z)"
    " and ?y > 2 * ?z",
}
BRONX = ((-73.93, 40.79), (-73.75, 40.91))
PLACES = {"TimesSquare": (-73.9855, 40.7580), "StatueOfLiberty": (-74.0445, 40.6892)}
IN_BRONX, NEAR_TIMES_SQUARE, NEAR_STATUE, FAR = (-73.87, 40.84), (-73.98, 40.77), (-74.045, 40.69), (-70.0, 41.0)


class Camera:
    """The operators, which look at the snapshot, and how often each was called with which inputs."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def operators(self) -> Operators:
        return Operators(
            self._true_or_false("locIn", self._in),
            self._true_or_false("locWithin", lambda event, place, metres: self._from(event, place) <= metres),
            self._true_or_false("chasePattern", lambda event, one, other: [one, other] == event["image"].get("chase")),
            self._true_or_false("trafficPattern", lambda event, kind: kind in event["image"].get("traffic", ())),
            self._finds("mobPattern", lambda event: event["image"].get("mob", [])),
            self._finds("pedestrianCount", lambda event: event["image"].get("pedestrians", 0)),
            self._finds("policeCarCount", lambda event: event["image"].get("police_cars", 0)),
            self._finds("tourBoatCount", lambda event: event["image"].get("tour_boats", 0)),
            self._finds("coastGuardBoatCount", lambda event: event["image"].get("coast_guard_boats", 0)),
            operator("distanceFrom", outputs=1)(self._counted("distanceFrom", self._from, 1)),
        )

    def _true_or_false(self, name: str, function: Callable[..., Any]) -> Operator:
        return operator(name)(self._counted(name, function, function.__code__.co_argcount - 1))

    def _finds(self, name: str, function: Callable[..., Any]) -> Operator:
        return operator(name, outputs=1)(self._counted(name, function, 0))

    def _counted(self, name: str, function: Callable[..., Any], inputs: int) -> Callable[..., Any]:
        def called(event: Mapping[str, Any], *given: Any) -> Any:
            assert len(given) == inputs
            self.calls[f"{name}({', '.join(map(repr, given))})"] += 1
            return function(event, *given)

        return called

    @staticmethod
    def _in(event: Mapping[str, Any], place: str) -> bool:
        assert place == "Bronx"
        (west, south), (east, north) = BRONX
        return bool(west <= event["lon"] <= east and south <= event["lat"] <= north)

    @staticmethod
    def _from(event: Mapping[str, Any], place: str) -> float:
        return distance((event["lon"], event["lat"]), PLACES[place])


def snapshot(place: tuple[float, float], **image: Any) -> dict[str, Any]:
    return {"lon": place[0], "lat": place[1], "altitude": 120, "speed": 15, "image": image}


def matcher(camera: Camera, planner: str, subscriptions: Mapping[str, str] = SUBSCRIPTIONS) -> OperatorMatcher:
    asked = Subscriptions({"lon": "float", "lat": "float", "altitude": "int", "speed": "int"})
    for name, text in subscriptions.items():
        asked.add(name, text)
    return OperatorMatcher(asked, camera.operators(), planner=planner)


def told(made: OperatorMatcher, *events: Mapping[str, Any]) -> list[tuple[int, str, dict[str, str]]]:
    rows = made.match_batch(list(events)).to_pylist()
    return [(row["event"], row["subscription"], dict(row["bindings"] or ())) for row in rows]


CHASE = {"chase": ["policeCar", "anyCar"]}
CRASH = {"traffic": ["congestion", "accident"], "police_cars": 1}


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (snapshot(IN_BRONX, **CHASE), {"S1": {}}),
        (snapshot(FAR, **CHASE), {}),
        (snapshot(IN_BRONX, chase=["anyCar", "policeCar"]), {}),
        (snapshot(IN_BRONX, mob=60), {"S2": {"people": "60"}}),
        (snapshot(IN_BRONX, mob=[20, 70, 90]), {"S2": {"people": "70"}}),
        (snapshot(IN_BRONX, mob=50), {}),
        (snapshot(IN_BRONX), {}),
        (snapshot(FAR, mob=60), {}),
        (snapshot(NEAR_TIMES_SQUARE, traffic=["congestion"], pedestrians=300), {"S3": {"ped": "300"}}),
        (snapshot(NEAR_TIMES_SQUARE, traffic=["congestion"], pedestrians=250), {}),
        (snapshot(NEAR_TIMES_SQUARE, traffic=["accident"], pedestrians=300), {}),
        (snapshot(IN_BRONX, traffic=["congestion"], pedestrians=300), {}),
        (snapshot(IN_BRONX, **CRASH), {"S4": {"pol": "1"}}),
        (snapshot(IN_BRONX, **(CRASH | {"police_cars": 2})), {}),
        (snapshot(IN_BRONX, **(CRASH | {"traffic": ["accident"]})), {}),
        (snapshot(FAR, **CRASH), {}),
        (snapshot(NEAR_STATUE, tour_boats=5, coast_guard_boats=2), {"S5": {"y": "5", "z": "2"}}),
        (snapshot(NEAR_STATUE, tour_boats=4, coast_guard_boats=2), {}),
        (snapshot(FAR, tour_boats=5, coast_guard_boats=2), {}),
        (snapshot(IN_BRONX, **CHASE, **CRASH, mob=51), {"S1": {}, "S2": {"people": "51"}, "S4": {"pol": "1"}}),
    ],
)
def test_the_subscriptions_of_the_paper(planner: str, event: dict[str, Any], expected: dict[str, Any]) -> None:
    found = told(matcher(Camera(), planner), event)
    assert {number for number, *_ in found} <= {0}
    bindings = {name: values for _, name, values in found}
    if "S5" in bindings:
        assert 0 < float(bindings["S5"].pop("x")) < 1000
    assert bindings == expected
    assert sorted(matcher(Camera(), planner).match(event)) == sorted(expected)


@pytest.mark.parametrize("planner", PLANNERS)
def test_what_subscriptions_share_is_evaluated_once_an_event(planner: str) -> None:
    camera = Camera()
    events = [snapshot(IN_BRONX, **CHASE, **CRASH, mob=51), snapshot(FAR), snapshot(IN_BRONX, mob=[1])]
    found = told(matcher(camera, planner), *events)
    assert [(number, name) for number, name, _ in found] == [(0, "S1"), (0, "S2"), (0, "S4")]
    assert camera.calls["locIn('Bronx')"] == len(events)  # S1, S2 and S4 ask for it
    assert max(camera.calls.values()) <= len(events)


def test_a_shared_predicate_that_is_false_decides_all_who_asked_for_it() -> None:
    camera = Camera()
    in_bronx = {name: SUBSCRIPTIONS[name] for name in ("S1", "S2", "S4")}
    assert told(matcher(camera, "sequential", in_bronx), snapshot(FAR, **CHASE, **CRASH, mob=51)) == []
    # Algorithm 1 evaluates what is left of the marked subscription only if an undecided one asks for it.
    assert camera.calls == {"locIn('Bronx')": 1}


@pytest.mark.parametrize("planner", PLANNERS)
def test_plain_conditions_come_first(planner: str) -> None:
    camera = Camera()
    slow = {"slow": "locIn('Bronx') and mobPattern(?people) and ?people > 50 and speed < 10"}
    made = matcher(camera, planner, slow)
    assert told(made, snapshot(IN_BRONX, mob=60)) == []
    assert not camera.calls
    assert told(made, snapshot(IN_BRONX, mob=60) | {"speed": 5}) == [(0, "slow", {"people": "60"})]


@pytest.mark.parametrize("planner", PLANNERS)
def test_predicates_are_the_same_up_to_the_names_of_their_variables(planner: str) -> None:
    """Section 3: p(?x1, ?y1) is p(?x3, ?y4), and not p(?x7, ?x7)."""
    calls = []

    @operator(outputs=2)
    def p(event: Mapping[str, Any]) -> Any:
        calls.append(event)
        return event["pairs"]

    asked = Subscriptions()
    for name, text in {"a": "p(?x1, ?y1)", "b": "p(?x3, ?y4) and ?y4 > 1", "c": "p(?x7, ?x7)"}.items():
        asked.add(name, text)
    made = OperatorMatcher(asked, Operators(p), planner=planner)
    found = told(made, {"pairs": [(1, 2), (0, 3)]}, {"pairs": [(1, 0), (5, 5)]}, {"pairs": []})
    assert found == [
        (0, "a", {"x1": "1", "y1": "2"}),
        (0, "b", {"x3": "1", "y4": "2"}),
        (1, "a", {"x1": "1", "y1": "0"}),
        (1, "b", {"x3": "5", "y4": "5"}),
        (1, "c", {"x7": "5"}),
    ]
    assert len(calls) == 3


@pytest.mark.parametrize("fourth", [True, False])
def test_figure_2(fourth: bool) -> None:
    """Sequential takes S2 first: P2 is false and P3 true, which decides S1 and S2, and leaves S3 undecided."""
    truths = {"P1": True, "P2": False, "P3": True, "P4": fourth}
    calls: Counter[str] = Counter()

    def predicate(name: str) -> Operator:
        def function(event: Mapping[str, Any]) -> bool:
            calls[name] += 1
            return truths[name]

        return operator(name)(function)

    asked = Subscriptions()
    for name, text in {"S2": "P2() and P3()", "S1": "P1() and P2()", "S3": "P3() and P4()"}.items():
        asked.add(name, text)
    made = OperatorMatcher(asked, Operators(*map(predicate, truths)), planner="sequential")
    assert made.match({}) == (["S3"] if fourth else [])
    assert calls == {"P2": 1, "P3": 1, "P4": 1}
