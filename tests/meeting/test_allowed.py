"""What two constraints allow an attribute to be, and whether they have anything in common."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import shapely

from tests.meeting.generate import AREAS, DISCS, SCHEMA
from tests.meeting.oracle import Oracle
from vedette.language.ast import Point, Region
from vedette.language.great_circle import EARTH_RADIUS
from vedette.language.valuesets import NULL, PRESENT, between
from vedette.meeting.allowed_values import AllowedValues, Area, Disc, Elements, meets, places_meet
from vedette.meeting.constraint_parser import read_constraint

ONE, TWO, BOTH = between(1, 2), between(2, 3), between(1, 3)
DEGREE = EARTH_RADIUS * 3.141592653589793 / 180


def either_way(one: AllowedValues, other: AllowedValues) -> bool:
    """Whether they meet, which does not depend on who comes first."""
    found = meets(one, other)
    assert meets(other, one) is found
    return found


def box(west: float, south: float, east: float, north: float) -> Area:
    """A rectangle."""
    return Area(Region(shapely.box(west, south, east, north).wkt))


def only(text: str) -> AllowedValues:
    """What a text with one test allows."""
    ((term,),) = (disjunct.terms for disjunct in read_constraint(text, SCHEMA).disjuncts)
    return term.allowed


def test_sets() -> None:
    assert either_way(ONE, BOTH)
    assert not either_way(ONE, TWO)
    assert either_way(NULL, NULL)
    assert not either_way(NULL, PRESENT)


def test_a_set_says_of_places_and_lists_whether_there_is_a_value() -> None:
    for other in (box(0, 0, 1, 1), Disc(Point(0, 0), 5), Elements("any", ONE), Elements("all", BOTH)):
        assert either_way(other, PRESENT)
        assert not either_way(other, NULL)


def test_null_elements_are_no_missing_list() -> None:
    assert not either_way(Elements("any", NULL), NULL)
    assert either_way(Elements("any", NULL), Elements("all", NULL))
    assert not either_way(Elements("any", NULL), Elements("all", PRESENT))


@pytest.mark.parametrize("values", [(ONE, TWO), (ONE, BOTH)])
def test_only_an_element_that_must_be_there_can_be_in_the_way(values: tuple[Any, Any]) -> None:
    one, other = values
    assert either_way(Elements("any", one), Elements("any", other))
    assert either_way(Elements("all", one), Elements("all", other))
    assert either_way(Elements("any", one), Elements("all", other)) is (other is BOTH)


def test_a_list_is_no_place() -> None:
    with pytest.raises(TypeError, match="a list or a place"):
        meets(Elements("any", ONE), box(0, 0, 1, 1))


def test_regions_touch() -> None:
    assert either_way(box(0, 0, 1, 1), box(1, 1, 2, 2))
    assert not either_way(box(0, 0, 1, 1), box(1.001, 1, 2, 2))


def test_discs_meet_where_their_distance_is_that_of_both_together() -> None:
    metres = DEGREE / 2
    assert either_way(Disc(Point(0, 0), metres * 1.0001), Disc(Point(1, 0), metres))
    assert not either_way(Disc(Point(0, 0), metres * 0.9998), Disc(Point(1, 0), metres))
    assert either_way(Disc(Point(2, 3), 0), Disc(Point(2, 3), 0))


def test_discs_reach_over_the_meridian_and_the_poles() -> None:
    assert either_way(Disc(Point(179.5, 0), DEGREE), Disc(Point(-179.5, 0), 1))
    assert either_way(Disc(Point(179.5, 0), DEGREE), box(-180, -1, -179, 1))
    assert not either_way(Disc(Point(179.5, 0), 0.4 * DEGREE), box(-180, -1, -179, 1))
    assert either_way(Disc(Point(0, 89), 2.1 * DEGREE), Disc(Point(180, 89), 0))
    assert either_way(Disc(Point(0, 89), 3 * DEGREE), box(170, 86, 180, 89))


def test_a_disc_in_a_region_does_not_have_to_reach_its_border() -> None:
    assert either_way(Disc(Point(5, 5), 1), box(0, 0, 10, 10))
    assert not either_way(Disc(Point(-1, 5), 0.99 * DEGREE), box(0, 0, 10, 10))
    assert either_way(Disc(Point(-1, 5), 1.01 * DEGREE), box(0, 0, 10, 10))


def test_a_disc_that_holds_a_region() -> None:
    assert either_way(Disc(Point(5, 5), 500_000), box(5.5, 5.5, 5.6, 5.6))


def test_the_places_of_random_constraints_clearly_meet_or_do_not() -> None:
    """The oracle knows discs to a thousandth, so a hundredth more or less must not make a difference."""
    texts = [f"p within {place}" for place in AREAS + DISCS]
    oracle = Oracle(SCHEMA, texts)
    for one, other in itertools.combinations_with_replacement(texts, 2):
        found = {places_meet(_scaled(only(one), by), _scaled(only(other), by)) for by in (0.99, 1.0, 1.01)}
        assert found == {oracle.meet(one, other, "open")}, (one, other)


def _scaled(place: AllowedValues, by: float) -> Area | Disc:
    assert isinstance(place, Area | Disc)
    return place if isinstance(place, Area) else Disc(place.centre, place.metres * by)
