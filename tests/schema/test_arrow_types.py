from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from vedette.schema.arrow_types import infer_arrow

LON_LAT = pa.struct([("lon", pa.float64()), ("lat", pa.float32())])


@pytest.mark.parametrize(
    ("stored", "spelling"),
    [
        (pa.int8(), "int"),
        (pa.uint32(), "int"),
        (pa.uint64(), "float"),
        (pa.float16(), "float"),
        (pa.decimal128(10, 2), "float"),
        (pa.decimal256(50, 2), "float"),
        (pa.bool_(), "bool"),
        (pa.string(), "string"),
        (pa.large_string(), "string"),
        (pa.string_view(), "string"),
        (pa.dictionary(pa.int8(), pa.string()), "string"),
        (pa.dictionary(pa.int32(), pa.int64()), "int"),
        (pa.run_end_encoded(pa.int32(), pa.float64()), "float"),
        (pa.timestamp("s"), "timestamp"),
        (pa.timestamp("ns", "Europe/Berlin"), "timestamp"),
        (pa.date32(), "date"),
        (pa.date64(), "date"),
        (pa.list_(pa.string()), "list of string"),
        (pa.large_list(pa.int32()), "list of int"),
        (pa.list_(pa.float64(), 3), "list of float"),
        (pa.list_view(pa.bool_()), "list of bool"),
    ],
)
def test_one_column(stored: Any, spelling: str) -> None:
    schema = infer_arrow(pa.schema([("a", stored)]))
    assert {path: schema.spelling(path) for path in schema} == {"a": spelling}


@pytest.mark.parametrize(
    "stored",
    [pa.null(), pa.binary(), pa.binary(16), pa.time64("us"), pa.duration("s"), pa.list_(pa.list_(pa.int8()))],
)
def test_what_no_filter_can_speak_of_is_left_out(stored: Any) -> None:
    assert dict(infer_arrow(pa.schema([("a", stored), ("b", pa.int8())]))).keys() == {"b"}


def test_nested_columns_are_paths() -> None:
    schema = infer_arrow(
        pa.schema(
            [
                ("order", pa.struct([("total", pa.float64()), ("at", LON_LAT)])),
                ("attrs", pa.map_(pa.string(), pa.string())),
                ("lines", pa.list_(pa.struct([("sku", pa.string()), ("tags", pa.list_(pa.string()))]))),
                ("geo", pa.struct([("type", pa.string()), ("coordinates", pa.list_(pa.float64()))])),
                ("by_number", pa.map_(pa.int32(), pa.string())),
            ]
        )
    )
    assert str(schema).splitlines() == [
        "order.total: float",
        "order.at: point",
        "order.at.lon: float",
        "order.at.lat: float",
        "attrs.*: string",
        "lines.sku: list of string",
        "lines.tags: list of string",
        "geo: point",
        "geo.type: string",
        "geo.coordinates: list of float",
    ]
