"""Constraints as arrays, and the index over them: held against every disjunct with every other."""

from __future__ import annotations

import threading
from random import Random

import numpy as np
import pytest

from tests.meeting.engines import local, obvious
from tests.meeting.generate import case
from vedette.errors import FilterError
from vedette.meeting import meeting_index as index_module
from vedette.meeting.constraint_parser import Constraint, read_constraint
from vedette.meeting.constraint_table import AttributeSpace, ConstraintTable
from vedette.meeting.direction import DIRECTIONS, Direction
from vedette.meeting.kernels.meet_rows import ALL, ANY, PLACE, SET
from vedette.meeting.meet import MeetingTables
from vedette.meeting.meeting_index import MeetingIndex
from vedette.schema.columns import Column
from vedette.schema.keys import INT_MAX, INT_MIN
from vedette.schema.schema import Schema
from vedette.schema.types import FLOAT, INT, STRING

NUMBERS = Schema.of({**{f"v{number}": "int" for number in range(6)}, "s": "string", "f": "float"})
MIXED = Schema.of({"x": "int", "s": "string", "p": "point", "tags": "list of string"})


def read(texts: list[str], schema: Schema) -> list[Constraint]:
    """Constraints of texts."""
    return [read_constraint(text, schema) for text in texts]


# ---------------------------------------------------------------- arrays


def test_constraints_as_arrays() -> None:
    texts = [
        "x in (1, 3) and tags is null",
        "x is distinct from 5 or p within 5 m of point(0, 0)",
        "true",
        "any(tags) = 'x'",
    ]
    space = AttributeSpace()
    table = ConstraintTable.of(read(texts, MIXED), space)
    assert space.attributes == ["tags", "x", "p"]
    assert table.owner.tolist() == [0, 1, 1, 2, 3]
    assert table.term_start.tolist() == [0, 2, 3, 4, 4, 5]
    assert table.attribute.tolist() == [0, 1, 1, 2, 0]
    assert table.sort.tolist() == [SET, SET, SET, PLACE, ANY]
    assert table.null.tolist() == [True, False, True, False, False]
    assert np.diff(table.span_start).tolist() == [0, 2, 2, 0, 1]
    assert table.low.tolist()[:4] == [1, 3, INT_MIN, 6]
    assert table.last.tolist()[:4] == [1, 3, 4, INT_MAX]
    assert table.place.tolist() == [-1, -1, -1, 0, -1]
    assert table.disjunct.tolist() == [0, 0, 1, 2, 4]


def test_texts_are_in_slots_between_the_bounds_of_all_of_them() -> None:
    space = AttributeSpace()
    texts = read(["s < 'b'", "s >= 'b' and s < 'd'", "s = 'c'", "s is not null"], MIXED)
    table = ConstraintTable.of(texts, space)
    assert table.slots == {0: [b"b", b"c", b"c\0", b"d"]}
    assert list(zip(table.low.tolist(), table.last.tolist(), strict=True))[:3] == [(0, 0), (1, 3), (2, 2)]
    # What probes say falls into the slots of the side that they probe.
    probes = ConstraintTable.of(
        read(["s = 'bb'", "s > 'c' and s < 'e'", "all(tags) like 'a%'"], MIXED), space, table.slots
    )
    assert list(zip(probes.low.tolist(), probes.last.tolist(), strict=True))[:2] == [(1, 1), (3, 4)]
    assert probes.sort.tolist() == [SET, SET, ALL]


def test_an_attribute_has_one_type() -> None:
    space = AttributeSpace()
    assert space.number(Column("x", INT, "x")) == 0  # only its presence is asked for
    assert space.number(Column("x", FLOAT)) == 0
    assert space.number(Column("x", INT, "x")) == 0
    assert space.number(Column("y", FLOAT)) == 1
    with pytest.raises(FilterError, match="x is string here and float in another constraint"):
        space.number(Column("x", STRING))
    assert len(space) == 2


# ---------------------------------------------------------------- the index


def spans(random: Random, attributes: int, wide: int) -> str:
    """A constraint of a few numbers: single values, ranges, half spaces, sets with gaps."""
    chosen = sorted(random.sample(range(6), random.randint(1, attributes)))
    tests = []
    for number in chosen:
        name, low = f"v{number}", random.randrange(1000)
        high = low + random.randrange(1, wide)
        several = ", ".join(str(random.randrange(1000)) for _ in range(random.randint(2, 6)))
        tests.append(
            random.choice(
                [
                    *(f"{name} = {low % 40}", f"{name} between {low} and {high}", f"{name} between {low} and {high}"),
                    *(f"{name} < {low}", f"{name} >= {low}", f"{name} != {low}", f"{name} in ({several})"),
                    *(f"{name} not in ({several})", f"{name} not between {low} and {high}", f"{name} is null"),
                ]
            )
        )
    if random.random() < 0.2:
        tests.append(f"s >= '{random.choice('abcdefgh')}'")
    if random.random() < 0.1:
        tests.append(f"f < {random.random()}")
    return " and ".join(tests)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(
    ("attributes", "wide", "sizes"), [(1, 5, (300, 300)), (3, 300, (60, 700)), (6, 900, (600, 70)), (2, 20, (5, 1500))]
)
def test_many_spans(direction: Direction, attributes: int, wide: int, sizes: tuple[int, int]) -> None:
    """More than fit into one block of the tree, with either side the larger one."""
    random = Random(attributes)
    publications, subscriptions = (
        {f"{side}{number}": spans(random, attributes, wide) for number in range(size)}
        for side, size in zip("ps", sizes, strict=True)
    )
    found = local(publications, subscriptions, NUMBERS, direction)
    assert found == obvious(publications, subscriptions, NUMBERS, direction)
    assert 0 < len(found) < sizes[0] * sizes[1]


@pytest.mark.interpreted
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("seed", [11, 12])
def test_a_few_of_all_types(direction: Direction, seed: int) -> None:
    given = case(seed, count=12)
    found = local(given.publications, given.subscriptions, given.schema, direction)
    assert found == given.expected(direction)


@pytest.mark.interpreted
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_spans_in_several_blocks(direction: Direction) -> None:
    random = Random(5)
    publications = {f"p{number}": spans(random, 2, 30) for number in range(12)}
    subscriptions = {f"s{number}": spans(random, 2, 30) for number in range(150)}
    wanted = obvious(publications, subscriptions, NUMBERS, direction)
    assert local(publications, subscriptions, NUMBERS, direction) == wanted
    wanted = {(two, one) for one, two in obvious(subscriptions, publications, NUMBERS, direction)}
    assert {(two, one) for one, two in local(subscriptions, publications, NUMBERS, direction)} == wanted


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_either_side_may_stand(direction: Direction) -> None:
    given = case(21)
    publications, subscriptions = (
        read(list(texts.values()), given.schema) for texts in (given.publications, given.subscriptions)
    )
    space = AttributeSpace()
    slots = space.slots([*publications, *subscriptions])
    tables = ConstraintTable.of(publications, space, slots), ConstraintTable.of(subscriptions, space, slots)
    probe, met = MeetingIndex(tables[1]).pairs(tables[0], direction, "subscription")
    other_probe, other_met = MeetingIndex(tables[0]).pairs(tables[1], direction, "publication")
    pairs = list(zip(probe.tolist(), met.tolist(), strict=True))
    assert len(pairs) == len(set(pairs)) > 0
    assert set(pairs) == set(zip(other_met.tolist(), other_probe.tolist(), strict=True))
    assert probe.tolist() == sorted(probe.tolist())


@pytest.mark.interpreted
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_pairs_that_do_not_fit_into_the_room_at_once(direction: Direction, monkeypatch: pytest.MonkeyPatch) -> None:
    given = case(31, count=12)
    monkeypatch.setattr(index_module, "_ROOM", 1)
    assert local(given.publications, given.subscriptions, given.schema, direction) == given.expected(direction)


def test_attributes_that_became_known_after_the_index_was_made() -> None:
    space = AttributeSpace()
    standing = MeetingIndex(ConstraintTable.of(read(["x = 1", "true"], MIXED), space))
    for first in DIRECTIONS:  # lists are made when they are first asked for
        standing.pairs(ConstraintTable.of(read(["x = 1"], MIXED), space, standing.slots), first, "subscription")
    late = MeetingIndex(ConstraintTable.of(read(["x = 1", "true"], MIXED), space))
    probes = ConstraintTable.of(read(["x = 1 and s = 'a'", "s = 'a'"], MIXED), space, standing.slots)
    wanted: dict[Direction, list[tuple[int, int]]] = {
        "publication": [],
        "subscription": [(0, 0), (0, 1), (1, 1)],
        "open": [(0, 0), (0, 1), (1, 0), (1, 1)],
    }
    for direction, pairs in wanted.items():
        for one in (standing, late):
            found = one.pairs(probes, direction, "subscription")
            assert sorted(zip(*(each.tolist() for each in found), strict=True)) == pairs, direction


def test_one_pair_of_constraints_for_many_of_their_disjuncts() -> None:
    texts = read(["x = 1 or x < 5 or x in (1, 2)", "x > 0 or x = 1"], MIXED)
    found = MeetingTables.of(texts[:1], texts[1:]).pairs("publication")
    assert len(found.publication) == 6
    assert [each.tolist() for each in found.constraints()] == [[0], [0]]


def test_any_number_of_threads_may_ask() -> None:
    given = case(41, count=60)
    publications, subscriptions = (
        read(list(texts.values()), given.schema) for texts in (given.publications, given.subscriptions)
    )
    space = AttributeSpace()
    standing = MeetingIndex(ConstraintTable.of(subscriptions, space))
    probes = ConstraintTable.of(publications, space, standing.slots)
    found: dict[tuple[int, Direction], list[list[int]]] = {}

    def ask(number: int) -> None:
        for direction in DIRECTIONS:
            found[number, direction] = [each.tolist() for each in standing.pairs(probes, direction, "subscription")]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    again = MeetingIndex(ConstraintTable.of(subscriptions, space))
    for (_, direction), pairs in found.items():
        assert pairs == [each.tolist() for each in again.pairs(probes, direction, "subscription")]
    assert len(found) == 12
