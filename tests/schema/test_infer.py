from __future__ import annotations

import datetime as dt
import ipaddress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.seeds import EXAMPLES
from vedette.schema.columns import Column
from vedette.schema.encode import encode
from vedette.schema.infer import SchemaInference, infer


def spelled(events: list[dict[str, Any]]) -> dict[str, str]:
    schema = infer(events)
    return {path: schema.spelling(path) for path in schema}


@pytest.mark.parametrize(
    ("values", "spelling"),
    [
        ([1, 2], "int"),
        ([1, 2.5], "float"),
        ([1, None], "int"),
        ([2**63 - 1, -(2**63)], "int"),
        ([1, 2**63], "float"),
        ([-(2**63) - 1], "float"),
        ([True, False], "bool"),
        ([True, 1], "mixed"),
        (["a", "b"], "string"),
        (["a", 1], "mixed"),
        (["2024-05-01"], "string"),
        (["10.0.0.1"], "string"),
        ([dt.datetime(2024, 5, 1)], "timestamp"),
        ([dt.date(2024, 5, 1)], "date"),
        ([dt.date(2024, 5, 1), dt.datetime(2024, 5, 1)], "timestamp"),
        ([ipaddress.ip_address("10.0.0.1"), ipaddress.ip_address("::1")], "ip"),
        ([np.int64(4), np.float32(1.5)], "float"),
        ([["a"], ["b", None], []], "list of string"),
        ([[1], [2.5]], "list of float"),
        ([[1], ["a"]], "list of mixed"),
        ([[1], 1], "mixed"),
        ([[], 1], "mixed"),
        ([[1], [[2]]], "list of mixed"),
        ([{"b": 1}, 1], "mixed"),
    ],
)
def test_one_attribute(values: list[Any], spelling: str) -> None:
    assert spelled([{"a": value} for value in values])["a"] == spelling


@pytest.mark.parametrize("values", [[None], [], [[]], [[None]], [{}], [[[1]]], [b"bytes"], [{"b": None}]])
def test_what_has_no_type_is_left_out(values: list[Any]) -> None:
    assert spelled([{"a": value} for value in values]) == {}


def test_objects_are_dotted_paths() -> None:
    events: list[dict[str, Any]] = [{"order": {"total": 1, "by": {"name": "x"}}}, {"order": {"total": 2.5}}]
    assert spelled(events) == {"order.total": "float", "order.by.name": "string"}


def test_objects_below_a_list_are_lists() -> None:
    events = [{"lines": [{"sku": "a", "tags": ["x"]}, {"sku": "b", "price": 1.5}]}]
    assert spelled(events) == {
        "lines.sku": "list of string",
        "lines.tags": "list of string",
        "lines.price": "list of float",
    }


def test_places_are_points_and_keep_their_parts() -> None:
    events: list[dict[str, Any]] = [
        {"a": {"lon": -73.9, "lat": 40}, "b": {"type": "Point", "coordinates": [1.0, 2.0]}},
        {"c": {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}, "d": [{"x": 1, "y": 2}]},
    ]
    found = spelled(events)
    assert found["a"] == found["b"] == "point"
    assert found["c"] == "region"
    assert found["d"] == "list of point"
    assert found["a.lon"] == "float"
    assert found["a.lat"] == "int"
    assert found["d.x"] == "list of int"


def test_objects_that_are_not_all_places_are_no_points() -> None:
    assert "a" not in spelled([{"a": {"lon": 1, "lat": 2}}, {"a": {"lon": 1, "lat": None}}])
    assert "a" not in spelled([{"a": {"lon": True, "lat": 2}}])


def test_a_known_shape_is_still_watched() -> None:
    inference = SchemaInference()
    inference.add([{"a": 1, "b": {"c": 1}}, {"a": 2, "b": {"c": "x"}}, {"a": 2**70, "b": {"d": 1}}])
    schema = inference.schema()
    assert {path: schema.spelling(path) for path in schema} == {"a": "float", "b.c": "mixed", "b.d": "int"}


def test_inferred_schemas_are_open() -> None:
    assert not infer([{"a": 1}]).closed


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**65), 2**65)
    | st.floats()
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "a.b", "lon", "lat", "x", "y", "type"]), inner, max_size=3)
    ),
    max_leaves=8,
)
json_events = st.lists(st.dictionaries(st.sampled_from(["a", "b", "a.b", "lon"]), json_values, max_size=3), max_size=5)


@settings(deadline=None, max_examples=3 * EXAMPLES)
@given(json_events)
def test_no_event_breaks_the_schema_inferred_from_it(events: list[dict[str, Any]]) -> None:
    schema = infer(events)
    encoded = encode(events, [Column(path, type_) for path, type_ in schema.items()], schema)
    assert encoded.rejects == []
