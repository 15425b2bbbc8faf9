"""How much of what one side allows the other allows, too: against counting, and against what the docstring says."""

from __future__ import annotations

import itertools
from random import Random

import numpy as np
import pytest

from tests.meeting.generate import case
from tests.seeds import some
from vedette.language.ast import Point
from vedette.language.great_circle import distance
from vedette.language.valuesets import NULL, ValueSet, complement, intersection, is_subset, of_intervals, union
from vedette.meeting.allowed_values import Area, Disc, Elements, PlaceTerm, Values, meets, places_meet
from vedette.meeting.constraint_parser import Disjunct, read_constraint
from vedette.meeting.meet import MeetingTables
from vedette.meeting.overlap import elements, share
from vedette.meeting.ranking import Ranking
from vedette.meeting.shapes import common_place, disc_shape, shape
from vedette.schema.keys import float_key
from vedette.schema.schema import Schema
from vedette.schema.types import Kind, Type

SCHEMA = Schema.of(
    {
        "n": "int",
        "f": "float",
        "s": "string",
        "b": "bool",
        "t": "timestamp",
        "d": "date",
        "i": "ip",
        "at": "point",
        "r": "region",
        "tags": "list of string",
        "ns": "list of int",
    }
)


def overlap(one: str, other: str, per: str = "publication") -> float:
    """By the arrays; the two have one disjunct each."""
    made = [read_constraint(text, SCHEMA) for text in (one, other)]
    found = MeetingTables.of([made[0]], [made[1]]).pairs("open")
    ranking = Ranking.of(None, per, SCHEMA)  # type: ignore[arg-type]
    (score,) = ranking.scores(found.publications, found.subscriptions, np.array([0]), np.array([0]))
    return float(score)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        # numbers that are counted
        ("n between 1 and 10", "n >= 3", 0.8),
        ("n between 1 and 10", "n in (2, 4, 20)", 0.2),
        ("n > 0.5 and n < 1.5", "n between 0 and 100", 1),
        ("n between 1 and 4", "n != 2", 0.75),
        ("n = 9223372036854775807", "n >= 5", 1),
        ("n in (-9223372036854775808, 9223372036854775807)", "n < 0", 0.5),
        # limits
        ("n <= 5", "n <= 3", 1),
        ("n <= 5", "n between 1 and 3", 0),
        ("n != 5", "n > 7", 0.5),
        ("n is not null", "n < 0", 0.5),
        ("n >= 5", "n = 9223372036854775807", 0),
        ("n is not null", "n > -9223372036854775808", 1),
        ("n in (9223372036854775806, 9223372036854775807)", "n = 9223372036854775807", 0.5),
        ("f <= 3", "f > float '-inf'", 1),
        ("f is not null", "f > float '-inf' and f < float 'inf'", 1),
        ("f >= 5", "f > 1e300", 1),
        ("f between 1 and float 'inf'", "f >= 1e300", 1),
        ("f between 1 and float 'inf'", "f = float 'inf'", 0),
        ("f >= 5", "f between 5 and 6", 0),
        # floats
        ("f = 1.00", "f <= 1.10", 1),
        ("f in (1, 2, 3, 4)", "f < 3.5", 0.75),
        ("f between 0 and 10", "f >= 7.5", 0.25),
        ("f > 0 and f < 10", "f between 0 and 5", 0.5),
        ("f between 0 and 10", "f = 5", 0),
        ("f between -1.7e308 and 1.7e308", "f >= 0", 0.5),
        ("f between 0 and 5e-324", "f = 0", 1),  # too short to have a length: two neighbours are one value
        ("f = float 'inf'", "f > 1", 1),
        ("f = float 'nan'", "f >= 1", 1),
        ("f >= float 'nan'", "f = float 'nan'", 1),
        ("f < 0", "f >= -5e-324", 0),
        # truth, times
        ("b is not null", "b", 0.5),
        ("b", "b >= false", 1),
        ("d between '2024-05-01' and '2024-05-10'", "d > '2024-05-05'", 0.5),
        ("t >= '2024-05-01' and t < '2024-05-03'", "t >= '2024-05-02'", 0.5),
        # texts: 'a' is 97/256 of the way; behind a common beginning they are measured more finely
        ("s = 'a'", "s like 'a%'", 1),
        ("s in ('a', 'b', 'c')", "s > 'a'", 2 / 3),
        ("s in ('', 'b')", "s = ''", 0.5),
        ("s >= 'a' and s < 'e'", "s < 'b'", 0.25),
        ("s >= 'xxa' and s < 'xxe'", "s < 'xxb'", 0.25),
        ("s < 'b'", "s < 'a'", 97 / 98),
        ("s is not null", "s >= '`'", 160 / 256),
        ("s like 'ab%'", "s like 'abc%'", 1 / 256),
        ("s like 'ab%'", "s = 'abc'", 0),
        ("s != 'x'", "s is not null", 1),
        # addresses
        ("i in cidr '10.0.0.0/24'", "i < ip '10.0.0.64'", 0.25),
        ("i = ip '10.0.0.1'", "i in cidr '10.0.0.0/8'", 1),
        ("i in (ip '10.0.0.1', ip '10.0.0.2')", "i = ip '10.0.0.2'", 0.5),
        ("i is not null", "i < ip '8000::'", 0.5),
        ("i is not null", "i >= ip '8000::'", 0.5),
        # null
        ("n is null", "n is null", 1),
        ("s is null", "s is null", 1),
        ("at is null", "at is null", 1),
        ("b is distinct from true", "not b", 0.5),
        ("b is distinct from true", "b is null", 0.5),
        ("f is distinct from 1", "f > 1", 0.5),
        ("f is distinct from 1", "f is null", 0),
        # lists
        ("any(ns) in (1, 2, 3, 4)", "any(ns) = 2", 0.25),
        ("any(ns) in (1, 2, 3, 4)", "all(ns) <= 2", 0.5),
        ("any(ns) = 1", "any(ns) = 2", 0),
        ("any(ns) = 1", "ns is not null", 1),
        ("ns is not null", "any(ns) = 1", 0),
        ("ns is not null", "any(ns) > 1", 0.5),
        ("any(tags) in ('a', 'b')", "any(tags) = 'a'", 0.5),
        ("any(tags) in ('a', 'b')", "tags is not null", 1),
        ("tags is null", "tags is null", 1),
        ("any(ns) is null", "ns is not null", 1),
        ("any(tags) is null", "tags is not null", 1),
        ("any(tags) is null", "any(tags) = 'a'", 0),
        # places
        ("at within region box(0, 0, 4, 4)", "at within region box(2, 0, 9, 9)", 0.5),
        ("at within region box(0, 0, 4, 4)", "at within 0 m of point(1, 1)", 0),
        ("at within 0 m of point(1, 1)", "at within region box(0, 0, 4, 4)", 1),
        ("at within 0 m of point(1, 1)", "at within 0 m of point(1, 1)", 1),
        ("at within 5 km of point(1, 1)", "at within region box(0, 0, 4, 4)", 1),
        ("at within 5 km of point(1, 1)", "at is not null", 1),
        ("at is not null", "at within region box(-180, -90, 0, 0)", 0.25),
        ("r within region box(0, 0, 4, 4)", "r within region box(3, 3, 9, 9)", 1 / 16),
        # several attributes, and none
        ("n between 1 and 10 and f between 0 and 10", "n >= 6 and f <= 1", 0.05),
        ("n between 1 and 10 and f between 0 and 10", "n >= 6 and s = 'x'", 0.5),
        ("n = 1", "f = 1", 1),
        ("true", "f = 1", 1),
    ],
)
def test_shares_that_are_known(one: str, other: str, expected: float) -> None:
    assert overlap(one, other) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert overlap(other, one, "subscription") == overlap(one, other)


@pytest.mark.parametrize("seed", some(20))
def test_integers_by_counting_points_of_a_grid(seed: int) -> None:
    random = Random(seed)
    grid = list(itertools.product([None, *range(-5, 12)], repeat=2))
    for _ in range(100):
        sets = [[_of_integers(random) for _ in range(2)] for _ in range(2)]
        mine = [point for point in grid if all(map(ValueSet.contains, sets[0], point))]
        both = [point for point in mine if all(map(ValueSet.contains, sets[1], point))]
        found = np.prod([share(Type(Kind.INT), *both_sides) for both_sides in zip(*sets, strict=True)])
        assert found == pytest.approx(len(both) / len(mine), rel=1e-12)


def _of_integers(random: Random) -> Values:
    while True:
        lows = [random.randint(-5, 8) for _ in range(random.choice([1, 1, 2, 4]))]
        found: Values = of_intervals(((low, low + random.randint(1, 3)) for low in lows), random.random() < 0.2)
        if not found.is_empty:
            return found


@pytest.mark.parametrize("seed", some(10))
def test_floats_by_counting_cells(seed: int) -> None:
    random = Random(seed)
    middles = [float_key(cell / 8 + 1 / 16) for cell in range(-40, 40)]
    for _ in range(100):
        one, other = (_of_floats(random) for _ in range(2))
        mine = [key for key in middles if one.contains(key)]
        both = [key for key in mine if other.contains(key)]
        assert share(Type(Kind.FLOAT), one, other) == pytest.approx(len(both) / len(mine), rel=1e-9, abs=1e-12)


def _of_floats(random: Random) -> Values:
    """Intervals whose ends are eighths, open or closed."""
    lows = [random.randint(-40, 30) for _ in range(random.choice([1, 1, 2, 4]))]
    ends = ((float_key(low / 8), float_key((low + random.randint(1, 9)) / 8)) for low in lows)
    return of_intervals(((low + random.randint(0, 1), high + random.randint(0, 1)) for low, high in ends), False)


@pytest.mark.parametrize("seed", some(10))
def test_what_is_unbounded_is_the_limit_of_what_is_not(seed: int) -> None:
    random = Random(seed)
    kind = Type(random.choice([Kind.INT, Kind.DATE, Kind.TIMESTAMP]))
    far = 10**12
    whole: Values = of_intervals([(-far, far + 1)])
    for _ in range(100):
        one, other = (_maybe_unbounded(random) for _ in range(2))
        cut = intersection(one, whole), intersection(other, whole)
        assert share(kind, one, other) == pytest.approx(share(kind, *cut), abs=1e-9)


def _maybe_unbounded(random: Random) -> Values:
    found = _of_integers(random)
    return complement(found) if random.random() < 0.5 else union(found, of_intervals([(random.randint(0, 5), None)]))


# ---------------------------------------------------------------- properties of all types, and the arrays


def _disjuncts(seed: int) -> tuple[MeetingTables, list[Disjunct], list[Disjunct]]:
    made = case(seed)
    sides = [
        [read_constraint(text, made.schema) for text in side.values()]
        for side in (made.publications, made.subscriptions)
    ]
    offered, wanted = ([part for one in side for part in one.disjuncts] for side in sides)
    return MeetingTables.of(*sides), offered, wanted


@pytest.mark.parametrize("seed", some(30))
def test_the_arrays_say_what_the_obvious_way_says(seed: int) -> None:
    sides, publications, subscriptions = _disjuncts(seed)
    found = sides.pairs("open")
    for per in ("publication", "subscription"):
        scores = Ranking.of("overlap", per, case(seed).schema).scores(
            found.publications, found.subscriptions, found.publication, found.subscription
        )
        for p, s, score in zip(found.publication.tolist(), found.subscription.tolist(), scores.tolist(), strict=True):
            one, other = publications[p], subscriptions[s]
            if per == "subscription":
                one, other = other, one
            assert score == pytest.approx(_obvious(one, other), rel=1e-12), (one, other)
            assert 0 <= score <= 1


def _obvious(one: Disjunct, other: Disjunct) -> float:
    theirs = {term.attribute: term.allowed for term in other.terms}
    product = 1.0
    for term in one.terms:
        if term.attribute in theirs:
            product *= share(term.column.type, term.allowed, theirs[term.attribute])
    return product


@pytest.mark.parametrize("seed", some(30))
def test_all_of_it_is_1_and_parts_add_up(seed: int) -> None:
    _, publications, subscriptions = _disjuncts(seed)
    theirs = {term.attribute: term for part in subscriptions for term in part.terms}
    for term in (term for part in publications for term in part.terms):
        kind = term.column.type
        assert share(kind, term.allowed, term.allowed) == 1
        other = theirs.get(term.attribute)
        if other is None or isinstance(term.allowed, PlaceTerm) or isinstance(other.allowed, PlaceTerm):
            continue
        mine, outer = elements(kind, term.allowed), elements(kind, other.allowed)
        kind = kind.element
        found = share(kind, mine, outer)
        if is_subset(mine, outer):
            assert found == 1
        if kind.kind not in (Kind.FLOAT, Kind.STRING) and not mine.is_empty:
            rest = complement(outer) if outer.null else union(complement(outer), NULL)
            assert found + share(kind, mine, rest) == pytest.approx(1, rel=1e-9)


# ---------------------------------------------------------------- places


@pytest.mark.parametrize(
    "disc",
    [
        Disc(Point(0, 0), 100_000),
        Disc(Point(13, 52), 1_000_000),
        Disc(Point(179.5, 20), 300_000),
        Disc(Point(-180, -50), 2_000_000),
        Disc(Point(30, 89), 500_000),
        Disc(Point(30, 90), 500_000),
        Disc(Point(-170, -80), 3_000_000),
        Disc(Point(10, 20), 9_000_000),
        Disc(Point(10, 5), 15_000_000),
        Disc(Point(10, -5), 19_900_000),
        Disc(Point(0, 0), 30_000_000),
    ],
)
def test_a_disc_is_drawn_where_it_is(disc: Disc) -> None:
    import shapely

    drawn = disc_shape(disc.centre, disc.metres)
    assert drawn.is_valid
    random = Random(1)
    tried = 0
    for _ in range(3000):
        x, y = random.uniform(-180, 180), random.uniform(-90, 90)
        if random.random() < 0.5:  # near it
            x, y = disc.centre.x + random.gauss(0, 5), disc.centre.y + random.gauss(0, 5)
            x, y = (x + 180) % 360 - 180, min(max(y, -90), 90)
        away = distance((x, y), (disc.centre.x, disc.centre.y))
        if abs(away / disc.metres - 1) > 0.02:
            assert bool(shapely.intersects_xy(drawn, x, y)) == (away < disc.metres), (x, y)
            tried += 1
    assert tried > 1000


def test_a_disc_without_a_size_is_a_point() -> None:
    assert disc_shape(Point(1, 2), 0).geom_type == "Point"
    assert disc_shape(Point(1, 2), 1e-12).geom_type == "Point"
    assert disc_shape(Point(1, 2), 1).geom_type == "Polygon"


def test_halves_of_a_disc() -> None:
    east = "at within region box(10, 40, 20, 60)"
    assert overlap("at within 50 km of point(10, 50)", east) == pytest.approx(0.5, abs=0.01)
    across = "at within 100 km of point(180, 0)"
    assert overlap(across, "at within region box(-180, -10, -170, 10)") == pytest.approx(0.5, abs=0.01)
    assert overlap(across, across) == 1


@pytest.mark.parametrize("seed", range(4))
def test_what_two_places_have_in_common_is_in_both(seed: int) -> None:
    made = case(seed, 40, frozenset({"point", "region"}))
    texts = [*made.publications.values(), *made.subscriptions.values()]
    terms = [term for text in texts for part in read_constraint(text, made.schema).disjuncts for term in part.terms]
    places = list({term.allowed: None for term in terms if isinstance(term.allowed, Area | Disc)})
    met = 0
    for one, other in itertools.product(places, repeat=2):
        if places_meet(one, other):
            both = common_place(one, other)
            drawn = shape(both).representative_point()
            for place in (one, other):
                # Polygons stand for discs: their borders are off by a little.
                assert shape(place).distance(drawn) < 0.01
            met += 1
            assert shape(both).area <= min(shape(one).area, shape(other).area) * (1 + 1e-9)
    assert met > len(places)


def test_lists_ask_for_elements() -> None:
    one: Values = of_intervals([(1, 3)])
    assert share(Type(Kind.INT, is_list=True), Elements("any", one), Elements("all", of_intervals([(2, 9)]))) == 0.5
    assert meets(Elements("any", one), Elements("all", one))
    with pytest.raises(TypeError, match="a place is no set"):
        elements(Type(Kind.POINT), Disc(Point(0, 0), 1))
