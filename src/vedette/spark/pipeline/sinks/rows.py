"""Rows as JSON, in the same way for files, topics, requests and columns of databases."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DateType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from vedette.spark.pipeline.routing import JSON_TEXT, named
from vedette.spark.versions import VariantType

# Times are in UTC and to the microsecond, whatever the session's time zone is: the same row has the same text anywhere.
_OPTIONS = {
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "ignoreNullFields": "true",  # what is missing is left out, as in events
}
_PLAIN = (StringType, NumericType, BooleanType, BinaryType, DateType, TimestampType, TimestampNTZType)


def as_json(rows: DataFrame) -> Column:
    """One JSON object for each row, with the columns that are not null; those that are JSON come last, as they are."""
    marked = [field.name for field in rows.schema.fields if _is_json(field)]
    text = F.to_json(F.struct(*(named(name) for name in rows.columns if name not in marked)), _OPTIONS)
    for name in marked:
        more = F.concat(text.substr(F.lit(1), F.length(text) - 1), F.lit(f',"{name}":'), named(name), F.lit("}"))
        text = F.when(named(name).isNull(), text).otherwise(more)
    return text


def flat(rows: DataFrame) -> DataFrame:
    """The rows with nested columns as JSON and rare types as texts, for sinks that know only plain values."""
    columns = []
    for field in rows.schema.fields:
        column = named(field.name)
        if isinstance(field.dataType, StructType | ArrayType | MapType | VariantType):
            column = F.to_json(column, _OPTIONS)
        elif not isinstance(field.dataType, _PLAIN):
            column = column.cast("string")
        columns.append(column.alias(field.name))
    return rows.select(*columns)


def typed(rows: DataFrame) -> DataFrame:
    """The rows with columns of nothing but nulls as texts, for formats in which every column has a type.

    Marks in the metadata are removed, as they are for this program alone.
    """
    changed = {}
    for field in rows.schema.fields:
        if isinstance(field.dataType, NullType):
            changed[field.name] = named(field.name).cast("string")
        elif _is_json(field):
            changed[field.name] = named(field.name).alias(field.name, metadata={})
    return rows.withColumns(changed) if changed else rows


def _is_json(field: StructField) -> bool:
    return JSON_TEXT in field.metadata
