"""Meeting on Spark is the meeting of the local engine: joined, hosted, streamed, ranked."""

from __future__ import annotations

import functools
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests.meeting.engines import local, obvious, once_each
from tests.meeting.generate import SCHEMA, Writer
from vedette.errors import FilterError
from vedette.meeting.direction import DIRECTIONS, Direction
from vedette.meeting.reading import read_constraint
from vedette.spark.meet import meet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Texts = dict[str, str]
GROUPS = {
    "numbers": ("i", "f", "order.total"),
    "texts": ("s", "r", "a"),
    "times": ("b", "t", "d"),
    "places": ("p", "z", "i"),
    "lists": ("ns", "fs", "ss", "as", "bs"),
    "all": tuple(SCHEMA),
}


@functools.cache
def constraints(group: str, count: int) -> tuple[Texts, Texts]:
    """Random ones of both sides that can be read."""
    writer = Writer(Random(sum(map(ord, group))), SCHEMA, GROUPS[group])
    sides: tuple[Texts, Texts] = {}, {}
    for side, name in zip(sides, "ps", strict=True):
        while len(side) < count:
            text = writer.constraint()
            try:
                read_constraint(text, SCHEMA)
            except FilterError:
                continue
            side[f"{name}{len(side)}"] = text
    return sides


def frame(spark: SparkSession, texts: Texts) -> DataFrame:
    return spark.createDataFrame(list(texts.items()), "id string, when string").repartition(3)


def pairs(found: DataFrame) -> set[tuple[str, str]]:
    return once_each((row[0], row[1]) for row in found.select("publication", "subscription").collect())


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("group", GROUPS)
def test_random_constraints_meet_as_they_should(spark: SparkSession, group: str, direction: Direction) -> None:
    offered, wanted = constraints(group, 150)
    found = meet(frame(spark, offered), frame(spark, wanted), schema=SCHEMA, direction=direction)
    assert pairs(found) == obvious(offered, wanted, SCHEMA, direction)
