"""Sketches pass over candidates that cannot meet, and nobody else."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tests.meeting.engines import obvious, of_table
from tests.meeting.generate import case
from tests.seeds import some
from vedette.meeting import sketches
from vedette.meeting.constraint_parser import Constraints
from vedette.meeting.constraint_table import AttributeSpace, ConstraintTable
from vedette.meeting.direction import DIRECTIONS, Direction
from vedette.meeting.kernels.meet_rows import MARK
from vedette.meeting.meet import meet
from vedette.meeting.meeting_index import MeetingIndex
from vedette.meeting.sketches import SketchLevels, companions
from vedette.schema.schema import Schema

pytestmark = pytest.mark.interpreted


@pytest.fixture(autouse=True)
def always_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small sets have no sketches otherwise."""
    monkeypatch.setattr(sketches, "_WORTH", 0)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("seed", some(25))
def test_all_types_meet_as_without_sketches(seed: int, direction: Direction) -> None:
    made = case(90_000 + seed)
    found = of_table(meet(made.publications, made.subscriptions, schema=made.schema, direction=direction))
    assert found == obvious(made.publications, made.subscriptions, made.schema, direction)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("seed", some(25))
def test_boxes_of_many_attributes(seed: int, direction: Direction) -> None:
    random = Random(seed)
    schema = Schema.of(dict.fromkeys("abcdefgh", "int"))

    def box() -> str:
        chosen = sorted(random.sample("abcdefgh", random.randint(1, 7)))
        return " and ".join(f"{name} between {(low := random.randint(0, 30))} and {low + 12}" for name in chosen)

    offered = {f"p{number}": box() for number in range(12)}
    wanted = {f"s{number}": box() for number in range(40)}
    found = of_table(meet(offered, wanted, schema=schema, direction=direction))
    assert found == obvious(offered, wanted, schema, direction)


def _table(texts: list[str], schema: dict[str, str]) -> ConstraintTable:
    reader = Constraints(Schema.of(schema))
    return ConstraintTable.of([reader.read(text) for text in texts], AttributeSpace())


def test_levels_keep_the_order_and_stay_below_the_mark() -> None:
    table = _table([f"x = {number}" for number in range(0, 60_000, 3)], {"x": "int"})
    low, last = SketchLevels.of(table, 1).levels(table)
    assert (low == last).all()
    assert (np.diff(low) >= 0).all()
    assert low.max() < MARK


def test_levels_of_what_is_not_just_spans_are_all_of_them() -> None:
    table = _table(["x is null", "x = 3"], {"x": "int"})
    low, last = SketchLevels.of(table, 1).levels(table)
    assert (low[0], last[0]) == (0, MARK - 1)
    assert low[1] > 0


def test_companions_occur_together_and_tell_terms_apart() -> None:
    texts = [f"a = {number} and b = {number} and c > 0" for number in range(50)] + ["d = 1", "d = 2"]
    table = _table(texts, dict.fromkeys("abcd", "int"))
    index = MeetingIndex(table)
    beside = companions(table, index._share, 4)
    names = [[table.space.attributes[each] for each in row if each >= 0] for row in beside]
    assert dict(zip(table.space.attributes, names, strict=True)) == {"a": ["b"], "b": ["a"], "c": ["a", "b"], "d": []}
