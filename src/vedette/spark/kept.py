"""The attributes of an event that its notifications carry: as columns of the types that the schema gives them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.types import DataType, StringType

from vedette.files.chunks import EventChunk
from vedette.schema.keys import read
from vedette.schema.paths import finder
from vedette.schema.schema import Schema
from vedette.schema.tables import TableEvents
from vedette.schema.types import Kind, Type
from vedette.schema.values import json_text
from vedette.spark.types import spark_type

_AS_TEXT = (Kind.STRING, Kind.IP, Kind.REGION)


def kept_type(path: str, schema: Schema | None) -> DataType:
    """The type of a kept attribute: that of the schema; texts where it says nothing."""
    type_ = None if schema is None else schema.type_of(path)
    return StringType() if type_ is None else spark_type(type_)


def kept_columns(
    chunk: EventChunk, events: NDArray[Any], paths: Sequence[str], schema: Schema | None, types: Sequence[Any]
) -> list[Any]:
    """One Arrow array per path, of some events of a chunk; what does not fit its type is missing."""
    if not paths:
        return []
    if isinstance(chunk.events, pa.Table):
        found: Sequence[Any] = TableEvents(chunk.events.take(pa.array(events))).dicts(paths)
    else:
        found = [chunk.events[place] for place in events.tolist()]
    return [
        pa.array([_value(find(event), type_) for event in found], stored)
        for find, type_, stored in zip(
            map(finder, paths), [None if schema is None else schema.type_of(path) for path in paths], types, strict=True
        )
    ]


def _value(value: Any, type_: Type | None) -> Any:
    if value is None:
        return None
    if type_ is None:
        return value if isinstance(value, str) else json_text(value)
    if not type_.is_list:
        return _scalar(value, type_.kind)
    return [_scalar(each, type_.kind) for each in value] if isinstance(value, list | tuple) else None


def _scalar(value: Any, kind: Kind) -> Any:
    if value is None:
        return None
    if kind in _AS_TEXT:
        return value if isinstance(value, str) else json_text(value)
    try:
        found = read(kind, value)
    except ValueError:
        return None
    if kind is Kind.POINT:
        return {"lon": found[0], "lat": found[1]}
    if kind is Kind.TIMESTAMP and isinstance(found, dt.datetime) and found.tzinfo is None:
        return found.replace(tzinfo=dt.UTC)
    return found
