"""Cells without Spark: whoever meets is in one cell, once; and which designs are chosen."""

from __future__ import annotations

import itertools
from collections import Counter
from random import Random
from typing import Any

import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from tests.meeting.engines import obvious
from tests.meeting.generate import case
from tests.seeds import some
from vedette.language.ast import Point, Region
from vedette.meeting.allowed_values import Area, Disc, PlaceTerm, places_meet
from vedette.meeting.constraint_parser import Constraints
from vedette.meeting.constraint_table import AttributeSpace
from vedette.meeting.direction import DIRECTIONS, Direction
from vedette.schema.schema import Schema
from vedette.spark.meeting.cells import ALL_LOWEST, LOWEST
from vedette.spark.meeting.meet import plan_of
from vedette.spark.meeting.meeting_rows import ConstraintEncoder, row_type
from vedette.spark.meeting.plan import MeetingPlan
from vedette.spark.meeting.side_facts import SideFacts
from vedette.spark.meeting.terms import box, place_of, place_text

Texts = dict[str, str]


def facts(texts: Texts, schema: Schema) -> SideFacts:
    """As workers gather them."""
    found, space, constraints = SideFacts(), AttributeSpace(), Constraints(schema)
    for id_, text in texts.items():
        found.add(id_, constraints.read(text), space)
    found.columns = list(space.columns)
    return SideFacts.of_json(found.as_json())


def rows(texts: Texts, schema: Schema, plan: MeetingPlan, side: int) -> list[dict[str, Any]]:
    """As workers make them."""
    type_ = to_arrow_schema(row_type(plan, False))
    constraints = Constraints(schema)
    made: list[dict[str, Any]] = (
        ConstraintEncoder(plan, side, False, type_).batch(
            list(texts), [constraints.read(text) for text in texts.values()]
        )
    ).to_pylist()
    return made


def candidates(plan: MeetingPlan, sides: tuple[Texts, Texts], schema: Schema) -> Counter[tuple[str, str]]:
    """How often pairs of constraints are found in a cell, and told there."""
    cells: dict[int, tuple[list[tuple[str, int]], list[tuple[str, int]]]] = {}
    for side, texts in enumerate(sides):
        for row in rows(texts, schema, plan, side):
            for key in row["keys"]:
                cells.setdefault(key >> LOWEST, ([], []))[side].append((row["id"], key & ALL_LOWEST))
    found: Counter[tuple[str, str]] = Counter()
    for cell in cells.values():
        for (mine, low), (theirs, high) in itertools.product(*cell):
            if low | high == ALL_LOWEST:
                found[mine, theirs] += 1
    return found


def plan_for(sides: tuple[Texts, Texts], schema: Schema, direction: Direction) -> MeetingPlan | None:
    return plan_of(direction, (facts(sides[0], schema), facts(sides[1], schema)), schema)


@pytest.mark.parametrize("seed", some(30))
def test_all_that_meet_are_in_a_cell(seed: int) -> None:
    given = case(1000 + seed, 40)
    sides = given.publications, given.subscriptions
    for direction in DIRECTIONS:
        plan = plan_for(sides, given.schema, direction)
        wanted = obvious(*sides, given.schema, direction)
        found = Counter() if plan is None else candidates(plan, sides, given.schema)
        assert wanted <= found.keys()


NUMBERS = Schema.of({"x": "int", "y": "float", "z": "string"})


def written(random: Random) -> str:
    """One test of each of three attributes, narrow or wide, without lists of values."""

    def about(name: str, constant: Any) -> str:
        low, high = sorted((constant(), constant()))
        narrow = f"{name} = {low}", f"{name} between {low} and {high}", f"{name} >= {low} and {name} <= {high}"
        wide = f"{name} < {high}", f"{name} > {low}", f"{name} != {low}", f"{name} is not null", f"{name} is null"
        return random.choice([*narrow, *narrow, *wide])

    parts = [about("x", lambda: random.randrange(200)), about("y", lambda: random.randrange(400) / 2)]
    parts.append(about("z", lambda: "'" + random.choice("abcdefgh") * random.randrange(1, 5) + "'"))
    return " and ".join(random.sample(parts, random.choice([1, 2, 3, 3, 3])))


@pytest.mark.parametrize("seed", some(6))
@pytest.mark.parametrize("direction", ["publication", "subscription"])
def test_no_pair_is_told_in_two_cells(seed: int, direction: Direction) -> None:
    random = Random(seed)
    sides = {f"p{n}": written(random) for n in range(150)}, {f"s{n}": written(random) for n in range(150)}
    plan = plan_for(sides, NUMBERS, direction)
    assert plan is not None
    found = candidates(plan, sides, NUMBERS)
    assert obvious(*sides, NUMBERS, direction) <= found.keys()
    assert set(found.values()) == {1}


def scaled(texts: Texts, schema: Schema, total: int) -> SideFacts:
    """Facts as if there were so many constraints like these."""
    found = facts(texts, schema)
    found.signatures = Counter({one: count * total // found.disjuncts for one, count in found.signatures.items()})
    found.disjuncts = total
    return found


def test_narrow_ranges_of_three_attributes_are_joined_by_all_of_them() -> None:
    random = Random(1)
    schema = Schema.of(dict.fromkeys("xyz", "int"))
    sides = []
    for side in "ps":
        lows = [[random.randrange(10_000) for _ in "xyz"] for _ in range(400)]
        texts = [
            " and ".join(f"{a} between {v} and {v + 200}" for a, v in zip("xyz", each, strict=True)) for each in lows
        ]
        sides.append({f"{side}{number}": text for number, text in enumerate(texts)})
    few = plan_of("publication", (facts(sides[0], schema), facts(sides[1], schema)), schema)
    many = plan_of("publication", (scaled(sides[0], schema, 10**5), scaled(sides[1], schema, 10**5)), schema)
    assert few is not None
    assert many is not None
    assert [len(design.axes) for design in many.designs] == [3]
    assert len(few.designs[0].axes) < 3  # that would only make rows


def test_equal_values_are_joined_by_hashes_and_the_telling_attribute_comes_first() -> None:
    schema = Schema.of({"topic": "string", "user": "int"})
    texts = {f"{n}": f"topic = '{'ab'[n % 2]}' and user = {n % 150}" for n in range(300)}
    plan = plan_of("publication", (scaled(texts, schema, 10**5), scaled(texts, schema, 10**5)), schema)
    assert plan is not None
    (design,) = plan.designs
    assert plan.attributes[design.axes[0].attribute].path == "user"
    assert design.axes[0].hashed


def test_designs_that_nobody_asks_by_are_left_out() -> None:
    schema = Schema.of(dict.fromkeys("xyz", "int"))
    offered = {f"p{n}": f"x = {n}" for n in range(20)}
    wanted = {f"s{n}": f"x < {n} and y = {n} and z = 1" for n in range(20)}
    plan = plan_for((offered, wanted), schema, "publication")
    assert plan is not None
    assert [plan.attributes[number].path for design in plan.designs for number in design.attributes] == ["x"]
    assert plan_for((wanted, offered), schema, "publication") is None  # nobody wants y


# ---------------------------------------------------------------- places


def places(random: Random) -> PlaceTerm:
    """Anywhere on Earth, often near the poles and the meridian of 180 degrees."""
    x = random.choice([random.uniform(-180, 180), random.choice([-180, 180, 179.9, -179.9, 0])])
    y = random.choice([random.uniform(-90, 90), random.choice([-90, 90, 89.9, -89.9, 0])])
    if random.random() < 0.5:
        return Disc(Point(x, y), random.choice([0.0, 1e3, 1e5, 1e6, random.uniform(0, 2e7)]))
    west, south = min(x, 178.0), min(y, 88.0)
    east, north = west + random.uniform(0.1, 2), south + random.uniform(0.1, 2)
    corners = f"{west} {south}, {east} {south}, {east} {north}, {west} {north}, {west} {south}"
    return Area(Region(f"POLYGON(({corners}))"))


def test_boxes_of_places_that_meet_overlap() -> None:
    random = Random(7)
    met = 0
    for _ in range(3000):
        one, other = places(random), places(random)
        if places_meet(one, other):
            met += 1
            mine, theirs = box(one), box(other)
            assert mine[0] <= theirs[1], (one, other)
            assert theirs[0] <= mine[1], (one, other)
            assert mine[2] <= theirs[3], (one, other)
            assert theirs[2] <= mine[3], (one, other)
    assert met > 300


def test_places_travel_as_text() -> None:
    random = Random(8)
    for _ in range(100):
        place = places(random)
        assert place_of(place_text(place)) == place
