"""Cells without Spark: whoever meets is in one cell, once; and which designs are chosen."""

from __future__ import annotations

import itertools
from collections import Counter
from random import Random

import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from tests.meeting.engines import obvious
from tests.meeting.generate import case
from vedette.meeting.direction import DIRECTIONS, Direction
from vedette.meeting.reading import Constraints
from vedette.meeting.table import Space
from vedette.schema.schema import Schema
from vedette.spark.meet import plan_of
from vedette.spark.meet_cells import ALL_LOWEST, LOWEST
from vedette.spark.meet_facts import Facts
from vedette.spark.meet_plan import Plan
from vedette.spark.meet_rows import WORD, Encoder, row_type, words
from vedette.spark.meet_terms import place_of, place_text

Texts = dict[str, str]


def facts(texts: Texts, schema: Schema) -> Facts:
    """As workers gather them."""
    found, space, constraints = Facts(), Space(), Constraints(schema)
    for id_, text in texts.items():
        found.add(id_, constraints.read(text), space)
    found.columns = list(space.columns)
    return Facts.of_json(found.as_json())


def rows(texts: Texts, schema: Schema, plan: Plan, side: int) -> list[dict[str, object]]:
    """As workers make them."""
    type_ = to_arrow_schema(row_type(plan, False))
    constraints = Constraints(schema)
    made: list[dict[str, object]] = (
        Encoder(plan, side, False, type_).batch(list(texts), [constraints.read(text) for text in texts.values()])
    ).to_pylist()
    return made


def candidates(plan: Plan, sides: tuple[Texts, Texts], schema: Schema) -> Counter[tuple[str, str]]:
    """How often pairs of constraints are found in a cell, and told there."""
    cells: dict[int, tuple[list[tuple[str, int, list[int]]], list[tuple[str, int, list[int]]]]] = {}
    for side, texts in enumerate(sides):
        for row in rows(texts, schema, plan, side):
            has = [row[f"has{word}"] for word in range(words(plan))] if plan.shared else []
            for key in row["keys"]:  # type: ignore[attr-defined]
                cells.setdefault(key >> LOWEST, ([], []))[side].append((row["id"], key & ALL_LOWEST, has))  # type: ignore[arg-type]
    found: Counter[tuple[str, str]] = Counter()
    for cell in cells.values():
        for (mine, low, _), (theirs, high, _) in itertools.product(*cell):
            if low | high == ALL_LOWEST:
                found[mine, theirs] += 1
    return found


def plan_for(sides: tuple[Texts, Texts], schema: Schema, direction: Direction) -> Plan | None:
    return plan_of(direction, (facts(sides[0], schema), facts(sides[1], schema)), schema)


@pytest.mark.parametrize("seed", range(30))
def test_all_that_meet_are_in_a_cell(seed: int) -> None:
    given = case(1000 + seed, 40)
    sides = given.publications, given.subscriptions
    for direction in DIRECTIONS:
        plan = plan_for(sides, given.schema, direction)
        wanted = obvious(*sides, given.schema, direction)
        found = Counter() if plan is None else candidates(plan, sides, given.schema)
        assert wanted <= found.keys()
