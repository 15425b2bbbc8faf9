"""Views of DataFrames read what they read from the same rows in one process."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from tests.random_json import random_array
from tests.random_views import random_filter
from vedette.engine.subscriptions import Subscriptions
from vedette.schema.columns import Column
from vedette.schema.readings import TYPES
from vedette.spark.dataframe_match import match
from vedette.spark.types import schema_of
from vedette.spark.worker_columns import sent_columns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT, LIST, STRUCT, MAP = pa.string(), pa.list_, pa.struct, pa.map_
SHAPES: dict[str, dict[str, Any]] = {
    "flat": {"a": TEXT, "b": pa.int64(), "c": pa.float64(), "a.b": pa.timestamp("us", "UTC"), "b.c": pa.bool_()},
    "maps": {"a": MAP(TEXT, TEXT), "b": MAP(TEXT, LIST(TEXT)), "c": MAP(TEXT, MAP(TEXT, pa.int64())), "a.b": TEXT},
    "structs": {
        "a": STRUCT({"a": TEXT, "b": STRUCT({"c": LIST(pa.int64())}), "b.c": pa.date32()}),
        "c": STRUCT({"a": LIST(STRUCT({"b": TEXT})), "b": pa.decimal128(9, 2)}),
        "b.c": LIST(LIST(TEXT)),
    },
    "lists": {
        "a": LIST(STRUCT({"b": LIST(STRUCT({"c": TEXT})), "a": pa.int64()})),
        "b": LIST(STRUCT({"c": MAP(TEXT, TEXT), "b": TEXT})),
        "c": LIST(pa.binary()),
    },
}


@pytest.mark.filterwarnings("ignore:the events have no")
@pytest.mark.parametrize(("shape", "whole"), [*((shape, False) for shape in SHAPES), ("maps", True), ("lists", True)])
def test_the_same_as_in_one_process(spark: SparkSession, shape: str, whole: bool) -> None:
    chance = random.Random(shape)
    types = SHAPES[shape]
    events = pa.table({name: random_array(chance, type_, 60, twice=False) for name, type_ in types.items()})
    events = events.append_column("row", pa.array(range(60), pa.int64()))
    subscriptions = Subscriptions()
    for number in range(150):
        text = random_filter(chance)
        if whole or "(*)" not in text:  # the whole event carries all its parts
            subscriptions.add(f"s{number}", text)
    local = subscriptions.compile().match_batch(events)
    expected = sorted(zip(local["event"].to_pylist(), local["subscription"].to_pylist(), strict=True))
    assert len(expected) > 400
    found = match(spark.createDataFrame(events), subscriptions, keep=["row"]).toArrow()
    assert sorted(zip(found["row"].to_pylist(), found["subscription"].to_pylist(), strict=True)) == expected


def crossing(spark: SparkSession, stored: str, *views: tuple[str, str]) -> dict[str, str]:
    """Name and type of what crosses for these views."""
    frame = spark.createDataFrame([], stored)
    columns = [Column(path, TYPES[reading], None, reading) for reading, path in views]
    sent, _ = sent_columns(columns, schema_of(frame.schema), frame.schema, lambda number: F.col(f"_{number}"))
    numbered = frame.toDF(*(f"_{number}" for number in range(len(frame.columns))))
    chosen = numbered.select(*(each.column.alias(str(n)) for n, each in enumerate(sent)))
    return {each.name: field.dataType.simpleString() for each, field in zip(sent, chosen.schema, strict=True)}


STORED = "x int, m map<string, string>, d struct<s: string, n: int>, l array<struct<a: string, b: int>>, raw binary"


@pytest.mark.parametrize(
    ("views", "expected"),
    [
        ([("text", "x"), ("leaves", "d.s")], {"x": "int", "d.s": "string"}),
        ([("text", "m.k")], {"m.k": "string"}),
        ([("leaves", "l.a")], {"l": "array<struct<a:string>>"}),
        ([("nested", "l"), ("text", "raw")], {"l": "array<struct<a:string,b:int>>", "raw": "binary"}),
        ([("strings", "nowhere")], {}),
        (
            [("strings", "*"), ("text", "x")],
            {
                "x": "int",
                "m": "map<string,string>",
                "d": "struct<s:string,n:int>",
                "l": "array<struct<a:string,b:int>>",
                "raw": "binary",
            },
        ),
    ],
)
def test_what_crosses(spark: SparkSession, views: list[tuple[str, str]], expected: dict[str, str]) -> None:
    assert crossing(spark, STORED, *views) == expected
