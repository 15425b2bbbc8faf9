"""What crosses, told by names and by the plan that Spark makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from vedette.errors import SchemaError
from vedette.schema.columns import Column
from vedette.schema.schema import Schema
from vedette.schema.types import STRING, Kind, Type, parse_type
from vedette.spark.types import schema_of
from vedette.spark.worker_columns import WorkerColumn, sent_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STORED = """
    id int, price double, Price double, `order.total` double, `x y` string, `tick``s` string, payload binary,
    order struct<total: double, customer: struct<name: string, vip: boolean>,
                 lines: array<struct<sku: string, n: int>>>,
    stops array<struct<lon: double, lat: double, name: string>>, deep array<array<struct<a: int, b: int>>>,
    attrs map<string, string>, rated map<string, struct<stars: int, by: string>>, byday map<int, double>,
    at struct<lon: double, lat: double>, cased struct<a: int, A: int, b: struct<c: string>>, tags array<string>,
    nested struct<attrs: map<string, double>, lists: array<struct<deep: array<int>, x: int>>>, nothing void
"""


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], STORED)


def crossing(frame: DataFrame, *paths: str, schema: Schema | None = None) -> dict[str, str]:
    """Name and type of what crosses for these paths."""
    read_by = schema_of(frame.schema) if schema is None else schema
    columns = [Column(path, read_by.type_of(path) or STRING) for path in paths]
    sent, _ = sent_columns(columns, read_by, frame.schema, lambda number: F.col(f"_{number}"))
    numbered = frame.toDF(*(f"_{number}" for number in range(len(frame.columns))))
    return typed(numbered, sent)


def typed(numbered: DataFrame, sent: list[WorkerColumn]) -> dict[str, str]:
    chosen = numbered.select(*(each.column.alias(str(n)) for n, each in enumerate(sent)))
    return {each.name: field.dataType.simpleString() for each, field in zip(sent, chosen.schema, strict=True)}


@pytest.mark.parametrize(
    ("path", "type_"),
    [
        ("price", "double"),
        ("Price", "double"),
        ("x y", "string"),
        ("tick`s", "string"),
        ("order.customer.name", "string"),
        ("order.lines.sku", "array<string>"),
        ("stops.lon", "array<double>"),
        ("stops", "array<struct<lon:double,lat:double,name:string>>"),
        ("attrs.colour", "string"),
        ("attrs.a.b", "string"),
        ("nested.attrs.x", "double"),
        ("nested.lists.x", "array<int>"),
        ("at", "struct<lon:double,lat:double>"),
        ("at.lat", "double"),
        ("cased.a", "int"),
        ("cased.A", "int"),
        ("cased.b.c", "string"),
        ("tags", "array<string>"),
    ],
)
def test_a_value_crosses_alone_and_by_the_whole_path(frame: DataFrame, path: str, type_: str) -> None:
    assert crossing(frame, path) == {path: type_}


@pytest.mark.parametrize(
    ("paths", "sent"),
    [
        (["order.total"], {"order.total": "double", "order": "struct<total:double>"}),  # two places
        (["deep.a"], {"deep": "array<array<struct<a:int>>>"}),
        (["rated.food.stars"], {"rated": "map<string,struct<stars:int,by:string>>"}),
        (["nested.lists.deep"], {"nested": "struct<lists:array<struct<deep:array<int>>>>"}),
        (["nested.lists.deep", "nested.lists.x"], {"nested": "struct<lists:array<struct<deep:array<int>,x:int>>>"}),
        (["nested.lists.deep", "nested.attrs.k"],
         {"nested": "struct<attrs:map<string,double>,lists:array<struct<deep:array<int>>>>"}),
        (["at", "at.lon"], {"at": "struct<lon:double,lat:double>"}),  # once, and all of it
        (["stops.name", "stops"], {"stops": "array<struct<lon:double,lat:double,name:string>>"}),
        ([f"attrs.k{n}" for n in range(20)], {"attrs": "map<string,string>"}),  # so many keys: the whole map
    ],
)  # fmt: skip
def test_what_only_python_can_walk_crosses_as_it_is_nested(
    frame: DataFrame, paths: list[str], sent: dict[str, str]
) -> None:
    assert crossing(frame, *paths) == sent


def test_a_list_of_which_no_list_is_expected_crosses_as_it_is_nested(frame: DataFrame) -> None:
    schema = Schema.of({"order.lines.sku": "string"}, closed=False)
    assert crossing(frame, "order.lines.sku", schema=schema) == {"order": "struct<lines:array<struct<sku:string>>>"}


@pytest.mark.parametrize("path", ["nowhere", "price.x", "byday.1", "byday.x", "tags.x", "order.nothing", "cased.b.C"])
def test_paths_that_lead_nowhere(frame: DataFrame, path: str) -> None:
    sent, nowhere = sent_columns(
        [Column(path, STRING)], Schema.of({}, closed=False), frame.schema, lambda number: F.col(f"_{number}")
    )
    assert (sent, nowhere) == ([], [path])


def test_what_is_always_null_does_not_cross(frame: DataFrame) -> None:
    assert crossing(frame, "nothing") == {}


def test_both_sides_of_a_comparison_cross(frame: DataFrame) -> None:
    sent, _ = sent_columns(
        [Column("price", Type(Kind.INT), "order.customer.vip")],
        schema_of(frame.schema),
        frame.schema,
        lambda number: F.col(f"_{number}"),
    )
    assert [each.name for each in sent] == ["price", "order.customer.vip"]


@pytest.mark.parametrize(
    ("path", "type_", "says"),
    [
        ("payload", None, "attribute 'payload' is of Arrow type binary, which cannot be matched\nHint: cast"),
        ("tags", "int", "attribute 'tags' is int by the schema, but of Arrow type list"),
        ("price", "bool", "attribute 'price' is bool by the schema, but of Arrow type double in the table\nHint: cast"),
    ],
)
def test_what_cannot_be_matched_is_said_before_anything_runs(
    frame: DataFrame, path: str, type_: str | None, says: str
) -> None:
    schema = Schema({} if type_ is None else {path: parse_type(type_)}, closed=False)
    with pytest.raises(SchemaError) as error:
        crossing(frame, path, schema=schema)
    assert str(error.value).startswith(says)


def test_what_takes_all_takes_any_type(frame: DataFrame) -> None:
    assert crossing(frame, "price", schema=Schema.of({"price": "mixed"})) == {"price": "double"}


@pytest.mark.parametrize(
    ("query", "path", "says"),
    [
        ("select 1 a, 2 a", "a", "the events have 2 columns named 'a'\nHint: rename all but one"),
        ("select named_struct('x', 1, 'x', 2) a", "a.x", "the events have 2 columns named 'x'"),
        ("select parse_json('{\"x\": 1}') a", "a.x", "attribute 'a.x' leads into a variant, which cannot be matched"),
        ("select parse_json('{\"x\": 1}') a", "a", "attribute 'a' is of Arrow type"),
        ("select make_interval(1) a", "a", "attribute 'a' is of Arrow type"),
    ],
)
def test_what_is_refused(spark: SparkSession, query: str, path: str, says: str) -> None:
    with pytest.raises(SchemaError) as error:
        crossing(spark.sql(query), path)
    assert str(error.value).startswith(says)
