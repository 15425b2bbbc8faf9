"""What operators see of events: the same of dicts and of Arrow tables."""

from __future__ import annotations

import datetime as dt
import ipaddress
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from vedette.errors import InputError, SchemaError
from vedette.operators.event_sources import EventSource
from vedette.schema.schema import Schema

NOON = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
SCHEMA = Schema.of(
    {
        "speed": "float",
        "people": "int",
        "place": "point",
        "ip": "ip",
        "time": "timestamp",
        "day": "date",
        "tags": "list of string",
        "zone": "region",
        "order": {"total": "float"},
        "attrs": "map of int",
    },
    closed=False,
)
EVENTS: list[dict[str, Any]] = [
    {
        "speed": 3,
        "people": 7,
        "place": {"lon": 1.0, "lat": 2.0},
        "ip": "10.0.0.1",
        "time": "2024-05-01T12:00:00Z",
        "day": "2024-05-01",
        "tags": ["a", None],
        "zone": "POLYGON((0 0, 1 0, 1 1, 0 0))",
        "order": {"total": 2.5, "items": [{"n": 1}, {"n": 2}]},
        "attrs": {"x": 1},
        "free": "text",
    },
    {"speed": None, "place": None, "tags": [], "order": {"total": None}, "free": None},
    {"speed": 4.5, "people": 2, "order": None, "free": "more"},
]
TYPED: dict[str, Any] = {
    "speed": [3.0, None, 4.5],
    "people": [7, None, 2],
    "place": [(1.0, 2.0), None, None],
    "ip": [ipaddress.ip_address("10.0.0.1"), None, None],
    "time": [NOON, None, None],
    "day": [dt.date(2024, 5, 1), None, None],
    "tags": [["a", None], [], None],
    "order.total": [2.5, None, None],
    "order.items.n": [[1, 2], None, None],
    "attrs.x": [1, None, None],
    "free": ["text", None, "more"],
    "nowhere": [None, None, None],
}
TABLE = pa.Table.from_pylist(EVENTS, pa.schema([
    ("speed", pa.float64()), ("people", pa.int32()),
    ("place", pa.struct([("lon", pa.float64()), ("lat", pa.float64())])),
    ("ip", pa.string()), ("time", pa.string()), ("day", pa.string()), ("tags", pa.list_(pa.large_string())),
    ("zone", pa.string()),
    ("order", pa.struct([("total", pa.float32()), ("items", pa.list_(pa.struct([("n", pa.int8())])))])),
    ("attrs", pa.map_(pa.string(), pa.int64())), ("free", pa.dictionary(pa.int8(), pa.string())),
]))  # fmt: skip
FORMS = pytest.mark.parametrize(
    "events",
    [EVENTS, TABLE, TABLE.to_batches()[0], pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1)])],
    ids=["dicts", "table", "record batch", "two chunks"],
)
ALL = np.arange(3)


@FORMS
@pytest.mark.parametrize("path", TYPED)
def test_values_are_typed_as_the_schema_says(events: Any, path: str) -> None:
    source = EventSource(events, SCHEMA)
    assert len(source) == 3
    assert [source.value(path, row) for row in range(3)] == TYPED[path]
    assert source.values([path, "speed"], 2) == {path: TYPED[path][2], "speed": 4.5}


@FORMS
def test_regions_are_shapes_for_functions_of_one_event_and_texts_in_tables(events: Any) -> None:
    source = EventSource(events, SCHEMA)
    assert source.value("zone", 0).area == 0.5
    assert source.column("zone", ALL).to_pylist() == ["POLYGON ((0 0, 1 0, 1 1, 0 0))", None, None]


@FORMS
@pytest.mark.parametrize(
    ("path", "stored", "expected"),
    [
        ("speed", pa.float64(), [3.0, None, 4.5]),
        ("people", pa.int64(), [7, None, 2]),
        ("place", pa.struct([("lon", pa.float64()), ("lat", pa.float64())]), [{"lon": 1.0, "lat": 2.0}, None, None]),
        ("ip", pa.string(), ["10.0.0.1", None, None]),
        ("time", pa.timestamp("us", "UTC"), [NOON, None, None]),
        ("day", pa.date32(), [dt.date(2024, 5, 1), None, None]),
        ("tags", pa.list_(pa.string()), [["a", None], [], None]),
        ("order.total", pa.float64(), [2.5, None, None]),
        ("attrs.x", pa.int64(), [1, None, None]),
        ("free", pa.string(), ["text", None, "more"]),
    ],
)
def test_columns_have_the_types_of_the_schema(events: Any, path: str, stored: Any, expected: list[Any]) -> None:
    source = EventSource(events, SCHEMA)
    column = source.column(path, ALL)
    assert column.type == stored
    assert column.to_pylist() == expected
    assert source.column(path, np.array([2, 0])).to_pylist() == [expected[2], expected[0]]


@FORMS
def test_a_table_has_a_column_for_each_path(events: Any) -> None:
    table = EventSource(events, SCHEMA).table(["people", "order.total"], np.array([2, 1]))
    assert table.column_names == ["people", "order.total"]
    assert table.to_pydict() == {"people": [2, None], "order.total": [None, None]}


@FORMS
def test_a_table_without_columns_still_has_rows(events: Any) -> None:
    table = EventSource(events, SCHEMA).table([], ALL)
    assert (table.num_rows, table.num_columns) == (3, 0)


@FORMS
def test_a_table_of_whole_events(events: Any) -> None:
    table = EventSource(events, SCHEMA).table(None, ALL)
    assert set(table.column_names) == set(EVENTS[0])
    assert table["time"].to_pylist() == [NOON, None, None]


def test_a_whole_event_is_as_it_came() -> None:
    assert EventSource(EVENTS, SCHEMA).event(0) is EVENTS[0]
    event = EventSource(TABLE, SCHEMA).event(0)
    assert type(event) is dict
    assert event == EVENTS[0]


def test_a_key_that_is_the_whole_path_comes_first() -> None:
    events: list[dict[str, Any]] = [{"a.b": 1, "a": {"b": 2}}, {"a.b": None, "a": {"b": 3}}]
    for form in (events, pa.Table.from_pylist(events)):
        source = EventSource(form, Schema.of({"a": {"b": "int"}}))
        assert source.column("a.b", np.arange(2)).to_pylist() == [1, 3]
        assert [source.value("a.b", row) for row in range(2)] == [1, 3]
    inside = pa.Table.from_pylist([{"a": {"b.c": None, "b": {"c": 5}}}], pa.schema([
        ("a", pa.struct([("b.c", pa.int64()), ("b", pa.struct([("c", pa.int64())]))])),
    ]))  # fmt: skip
    assert EventSource(inside, Schema()).column("a.b.c", np.arange(1)).to_pylist() == [5]


def test_names_are_ids_or_rows() -> None:
    assert EventSource(EVENTS, SCHEMA).name(2) == "2"
    assert EventSource(EVENTS, SCHEMA, ["x", "y", "z"]).name(2) == "z"


@pytest.mark.parametrize("form", [list, pa.Table.from_pylist], ids=["dicts", "table"])
def test_a_value_that_breaks_the_schema_is_refused_by_row(form: Any) -> None:
    source = EventSource(form([{"ip": "10.0.0.1"}, {"ip": "nonsense"}, {"ip": None}]), SCHEMA)
    with pytest.raises(SchemaError, match="attribute 'ip': 'nonsense' is not an ip address"):
        source.value("ip", 1)
    with pytest.raises(SchemaError, match="nonsense"):
        source.table(["ip"], ALL)
    assert list(source.refused(["ip", "speed"], ALL)) == list(source.refused(None, ALL)) == [1]
    assert source.refused(["ip"], np.array([0, 2])) == {}
    assert source.value("ip", 0) == ipaddress.ip_address("10.0.0.1")


def test_values_of_several_kinds_are_no_column() -> None:
    source = EventSource([{"x": 1}, {"x": "a"}], Schema())
    assert [source.value("x", row) for row in range(2)] == [1, "a"]
    with pytest.raises(SchemaError, match=r"(?s)attribute 'x'.*Hint: give it a type in the schema"):
        source.column("x", np.arange(2))


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(SchemaError, match="several columns named 'a'"):
        EventSource(pa.table([[1], [2]], names=["a", "a"]), Schema())


def test_what_is_no_batch_is_refused() -> None:
    one: Any = {"speed": 1}
    with pytest.raises(InputError, match="hand in a list of events"):
        EventSource(one, SCHEMA)
