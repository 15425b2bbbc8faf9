"""Rows of pattern outcomes, for every host: their columns, and how rows are brought into these."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from vedette.spark.readers import carried_as

TOLD: Final = (
    "`subscription` string, `kind` string, `steps` map<string, string>, `bindings` map<string, string>, "
    "`probability` double, `within` bigint"
)
SUBSCRIBER, EVENT, REASON, RAW, MOMENT = "subscriber", "event", "reason", "raw", "time"
LATE: Final = "late"  # the kind of rows of events that came too late, which have no subscription
BOUND, CARRIED = "b:", "c:"  # before the names of columns: what variables are told by, what is told of events

# Types of columns that Vedette writes down itself: Spark reads such texts only where it has a Java, before 4.0.
_TYPES: Final[dict[str, DataType]] = {
    "string": StringType(),
    "bigint": LongType(),
    "int": IntegerType(),
    "double": DoubleType(),
    "boolean": BooleanType(),
    "binary": BinaryType(),
    "map<string, string>": MapType(StringType(), StringType()),
}
_COLUMN: Final = re.compile(r"`([^`]+)` (map<string, string>|\w+)")


def fields_of(ddl: str) -> list[StructField]:
    """The fields of a DDL text."""
    return [StructField(name, _TYPES[type_]) for name, type_ in _COLUMN.findall(ddl)]


def columns_of(fields: Iterable[tuple[str, str]]) -> str:
    """Names and types as a DDL text."""
    return ", ".join(f"`{name}` {type_}" for name, type_ in fields)


def told_schema(kept: Sequence[DataType]) -> StructType:
    """The columns of outcomes: those that are kept, those of a match, and those of what is set aside."""
    text = [StructField(name, StringType()) for name in (SUBSCRIBER, EVENT, REASON, RAW)]
    carried = [StructField(carried_as(number), type_) for number, type_ in enumerate(kept)]
    return StructType([*carried, *fields_of(TOLD), *text, StructField(MOMENT, LongType())])


def filled(rows: pa.RecordBatch | pa.Table, schema: pa.Schema) -> pa.RecordBatch:
    """The rows with these columns; those that they lack are null."""
    have: dict[str, pa.Array | pa.ChunkedArray] = dict(zip(rows.schema.names, rows.columns, strict=True))
    columns = [_one(have.get(field.name), field.type, rows.num_rows) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _one(column: pa.Array | pa.ChunkedArray | None, type_: pa.DataType, size: int) -> pa.Array:
    if column is None:
        return pa.nulls(size, type_)
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return whole if whole.type == type_ else whole.cast(type_)


def chosen(events: pa.Table | pa.RecordBatch, prefix: str) -> dict[str, Any]:
    """The columns whose names begin with the prefix, by the rest of their names."""
    names = [name for name in events.schema.names if name.startswith(prefix)]
    return {name.removeprefix(prefix): events.column(name) for name in names}
