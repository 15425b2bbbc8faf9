from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql import types as t

from tests.spark.random_tables import RandomTable
from vedette.schema.arrow_types import infer_arrow
from vedette.schema.schema import Schema
from vedette.schema.types import Kind, Type
from vedette.spark.types import schema_of, spark_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("seeds", [range(40)])
def test_the_schema_is_that_of_the_arrow_table(spark: SparkSession, seeds: range) -> None:
    types = [RandomTable(seed, rows=0).schema for seed in seeds]
    fields = [t.StructField(f"t{number}", one) for number, one in enumerate(types)]
    frame = spark.createDataFrame([], t.StructType(fields))
    schema = schema_of(frame.schema)
    assert len(schema) > 300
    assert schema == infer_arrow(frame.toArrow().schema)


def test_every_type(spark: SparkSession) -> None:
    frame = spark.sql(
        """
        select 1Y a, 1S b, 1 c, 1L d, 1f e, 1d f, 1.5bd g, 'x' h, true i, date'2024-05-01' j,
            timestamp'2024-05-01' k, timestamp_ntz'2024-05-01' l, array(1) m, map('a', 1) n, named_struct('p', 'x') o,
            array(named_struct('q', 1)) p, named_struct('lon', 1d, 'lat', 2d) q, x'00' r, interval 1 day s,
            interval 1 month t, parse_json('{"a": 1}') u, make_interval(1) v, null w, array(array(1)) x, map(1, 2) y,
            'é' collate utf8_lcase z
        """
    )
    assert str(schema_of(frame.schema)).split("\n") == [
        *("a: int", "b: int", "c: int", "d: int", "e: float", "f: float", "g: float", "h: string", "i: bool"),
        *("j: date", "k: timestamp", "l: timestamp", "m: list of int", "n.*: int", "o.p: string", "p.q: list of int"),
        *("q: point", "q.lon: float", "q.lat: float", "z: string"),
    ]
    assert not schema_of(frame.schema).closed
    assert schema_of(frame.schema, closed=True).closed


class Celsius(t.UserDefinedType):
    """A type of somebody's own."""

    @classmethod
    def sqlType(cls) -> t.DataType:  # noqa: N802
        return t.DoubleType()


def test_a_type_of_somebodys_own_is_what_it_is_stored_as() -> None:
    fields = [t.StructField("t", Celsius()), t.StructField("l", t.ArrayType(Celsius()))]
    assert schema_of(t.StructType(fields)) == Schema.of({"t": "float", "l": "list of float"}, closed=False)


def test_texts_of_fixed_length_are_texts() -> None:
    fields = [t.StructField("v", t.VarcharType(3)), t.StructField("c", t.CharType(3))]
    assert schema_of(t.StructType(fields)) == Schema.of({"v": "string", "c": "string"}, closed=False)


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("is_list", [False, True])
def test_spark_types_read_back_as_the_same(kind: Kind, is_list: bool) -> None:
    stored = spark_type(Type(kind, is_list))
    as_text = kind in (Kind.IP, Kind.REGION)
    back = schema_of(t.StructType([t.StructField("a", stored)]))
    assert back["a"] == Type(Kind.STRING if as_text else kind, is_list)
    assert pa.types.is_list(_arrow(stored)) == is_list


def _arrow(stored: t.DataType) -> pa.DataType:
    from vedette.spark.types import arrow_type

    return arrow_type(stored)
