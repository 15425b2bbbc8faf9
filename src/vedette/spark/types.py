"""Spark types and attribute types, each as the other."""

from __future__ import annotations

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    UserDefinedType,
    VarcharType,
)

from vedette.schema.arrow_types import infer_arrow
from vedette.schema.schema import Schema
from vedette.schema.types import Kind, Type
from vedette.spark.versions import VariantType, to_arrow_type

# What no filter can speak of, whatever it is: infer_arrow leaves this type out, and encoding refuses it.
_UNREADABLE = pa.month_day_nano_interval()

_SPARK_TYPES: dict[Kind, DataType] = {
    Kind.INT: LongType(),
    Kind.FLOAT: DoubleType(),
    Kind.STRING: StringType(),
    Kind.BOOL: BooleanType(),
    Kind.TIMESTAMP: TimestampType(),
    Kind.DATE: DateType(),
    Kind.IP: StringType(),
    Kind.POINT: StructType([StructField("lon", DoubleType()), StructField("lat", DoubleType())]),
    Kind.REGION: StringType(),
}


def schema_of(schema: StructType, *, closed: bool = False) -> Schema:
    """The attributes of a DataFrame's schema: those of the Arrow table that Spark makes of it (`infer_arrow`)."""
    return infer_arrow(pa.schema([(field.name, arrow_type(field.dataType)) for field in schema]), closed=closed)


def arrow_type(stored: DataType) -> pa.DataType:
    """The Arrow type as which Spark sends a type; a stand-in that cannot be matched where it sends none."""
    stored = plain_type(stored)
    if isinstance(stored, StructType):
        return pa.struct([pa.field(field.name, arrow_type(field.dataType)) for field in stored])
    if isinstance(stored, ArrayType):
        return pa.list_(arrow_type(stored.elementType))
    if isinstance(stored, MapType):
        return pa.map_(arrow_type(stored.keyType), arrow_type(stored.valueType))
    if isinstance(stored, VariantType):  # sent as a struct, but what is in it is binary
        return _UNREADABLE
    if isinstance(stored, CharType | VarcharType):
        return pa.string()
    try:
        known: pa.DataType = to_arrow_type(stored)
        return known
    except PySparkException:
        return _UNREADABLE


def plain_type(stored: DataType) -> DataType:
    """The type as which a user-defined type is stored."""
    while isinstance(stored, UserDefinedType):
        stored = stored.sqlType()
    return stored


def spark_type(type_: Type) -> DataType:
    """The Spark type that holds every value of an attribute's type: addresses and regions as their texts."""
    element = _SPARK_TYPES[type_.kind]
    return ArrayType(element) if type_.is_list else element
