"""Dicts as columns: what is read, what is missing, what is rejected."""

from __future__ import annotations

import datetime as dt
import decimal
import ipaddress
import math
from typing import Any

import numpy as np
import pytest

from tests.schema.unpack import unpack
from vedette.errors import InputError
from vedette.schema.columns import Column
from vedette.schema.encode import Reject, encode
from vedette.schema.keys import float_key, key
from vedette.schema.schema import Schema
from vedette.schema.types import BOOL, DATE, FLOAT, INT, IP, POINT, REGION, STRING, TIMESTAMP, Kind, Type, parse_type

SQUARE = "POLYGON((0 0, 1 0, 1 1, 0 1, 0 0))"
MAPPED = b"\0" * 10 + b"\xff\xff"


def column(values: list[Any], type_: Type, declared: str | None = None) -> tuple[list[Any], list[Reject]]:
    """The values of one attribute as a column; `declared` in the schema, or else unknown to it."""
    schema = Schema.of({"a": declared}) if declared else Schema.of({}, closed=False)
    encoded = encode([{"a": value} for value in values], [Column("a", type_)], schema)
    return unpack(encoded.data[Column("a", type_)]), encoded.rejects


@pytest.mark.parametrize(
    ("spelling", "values", "keys"),
    [
        ("int", [1, None, -5], [1, None, -5]),
        ("int", [2**63 - 1, -(2**63)], [2**63 - 1, -(2**63)]),
        ("int", [1, 2.0, np.int8(3), decimal.Decimal(4)], [1, 2, 3, 4]),
        ("float", [1.5, 2, None], [float_key(1.5), float_key(2.0), None]),
        ("float", [-0.0, math.nan, -math.inf], [0, 0x7FF8 << 48, float_key(-math.inf)]),
        ("float", [2**70, decimal.Decimal("99.95")], [float_key(2.0**70), float_key(99.95)]),
        ("bool", [True, None, False], [1, None, 0]),
        ("string", ["a", None, "é", "a"], [b"a", None, "é".encode(), b"a"]),
        ("ip", ["10.0.0.1", None, "::ffff:10.0.0.1"], [MAPPED + b"\n\0\0\1", None, MAPPED + b"\n\0\0\1"]),
        ("ip", [ipaddress.ip_address("::1")], [b"\0" * 15 + b"\1"]),
        ("timestamp", ["1970-01-01T00:00:01Z", "1970-01-02", None], [1_000_000, 86_400_000_000, None]),
        ("timestamp", [1, dt.datetime(1970, 1, 1), "1970-01-01T01:00+01:00"], [1_000_000, 0, 0]),
        ("date", ["1970-01-02", dt.date(1970, 1, 3), None], [1, 2, None]),
        ("point", [{"lon": 1, "lat": 2}, [3, 4.5], "POINT(5 6)", None], [(1.0, 2.0), (3.0, 4.5), (5.0, 6.0), None]),
        ("list of int", [[1, None, 2], [], None], [[1, None, 2], [], None]),
        ("list of string", [["a"], ("b",)], [[b"a"], [b"b"]]),
        ("list of point", [[[1, 2], None]], [[(1.0, 2.0), None]]),
        ("mixed", ["a", 1, 2.5, True, None, {"b": [1]}], [b"a", b"1", b"2.5", b"true", None, b'{"b":[1]}']),
        ("list of mixed", [["a", 1], 5, None], [[b"a", b"1"], [b"5"], None]),
    ],
)
def test_values_as_declared(spelling: str, values: list[Any], keys: list[Any]) -> None:
    schema = Schema.of({"a": spelling})
    found, rejects = column(values, schema["a"], spelling)
    assert rejects == []
    assert found == keys


def test_regions_are_distinct_geometries() -> None:
    polygon = {"type": "Polygon", "coordinates": [[[0, 0], [2, 0], [2, 2], [0, 0]]]}
    found, rejects = column([SQUARE, polygon, None, SQUARE], REGION, "region")
    assert rejects == []
    assert found[2] is None
    assert found[0] is found[3]
    assert [found[0].area, found[1].area] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("spelling", "bad", "says"),
    [
        ("int", 2.5, "2.5 is not a whole number"),
        ("int", 2**63, "does not fit into 64 bits"),
        ("int", True, "True is not a whole number"),
        ("float", "1.5", "'1.5' is not a number"),
        ("float", 10**400, "too large for a float"),
        ("string", 5, "5 is not text"),
        ("string", "\ud800", "surrogate"),
        ("bool", 1, "1 is not true or false"),
        ("ip", "10.0.0.300", "'10.0.0.300' is not an ip address"),
        ("timestamp", "soon", "'soon' is not a time"),
        ("date", "2024-13-01", "is not a date"),
        ("point", [1], "is not a point"),
        ("region", "POINT(1 2)", "polygon"),
        ("list of int", 5, "5 is not a list"),
        ("list of int", [1, "x"], "'x' is not a whole number"),
        ("list of string", [{"a": 1}], "is not text"),
    ],
)
def test_a_value_that_breaks_the_schema_rejects_its_row_alone(spelling: str, bad: Any, says: str) -> None:
    events = [{"a": None, "n": 1}, {"a": bad, "n": 2}, {"a": None, "n": 3}]
    schema = Schema.of({"a": spelling, "n": "int"})
    columns = [Column("n", INT), Column("a", schema["a"])]
    encoded = encode(events, columns, schema)
    (reject,) = encoded.rejects
    assert (reject.row, reject.attribute) == (1, "a")
    assert says in reject.reason
    assert unpack(encoded.data[columns[0]]) == [1, None, 3]
    assert unpack(encoded.data[columns[1]]) == [None, None, None]
    assert encoded.accepted.tolist() == [True, False, True]


def test_rejected_rows_lose_their_lists_and_points() -> None:
    schema = Schema.of({"n": "int", "tags": "list of string", "at": "point", "area": "region", "s": "string"})
    good = {"n": 1, "tags": ["a", "b"], "at": [1, 2], "area": SQUARE, "s": "x"}
    columns = [Column(path, type_) for path, type_ in schema.items()]
    encoded = encode([good, {**good, "n": "bad"}, good], columns, schema)
    for one in columns:
        values = unpack(encoded.data[one])
        assert values[1] is None
        assert values[0] == values[2] is not None


def test_one_reject_a_row_in_their_order() -> None:
    schema = Schema.of({"a": "int", "b": "int"})
    events: list[dict[str, Any]] = [{"b": "x"}, {"a": 1}, {"a": "x", "b": "y"}, {"a": "z"}]
    encoded = encode(events, [Column("a", INT), Column("b", INT)], schema)
    assert [(reject.row, reject.attribute) for reject in encoded.rejects] == [(0, "b"), (2, "a"), (3, "a")]


@pytest.mark.parametrize(
    ("type_", "values", "keys"),
    [
        (IP, ["10.0.0.1", "host", "10.0.0.1"], [MAPPED + b"\n\0\0\1", None, MAPPED + b"\n\0\0\1"]),
        (TIMESTAMP, ["1970-01-01T00:00:01Z", "soon", "1970-01-01"], [1_000_000, None, 0]),
        (DATE, ["1970-01-02", "1970-01-02T10:00:00"], [1, None]),
        (FLOAT, ["1.5", "x"], [None, None]),
    ],
)
def test_a_string_seen_as_something_else_may_be_missing(type_: Type, values: list[Any], keys: list[Any]) -> None:
    assert column(values, type_, "string") == (keys, [])


def test_a_view_still_asks_for_a_string() -> None:
    found, rejects = column(["10.0.0.1", 5], IP, "string")
    assert found == [MAPPED + b"\n\0\0\1", None]
    assert [reject.row for reject in rejects] == [1]


def test_lists_and_numbers_and_times_have_views_too() -> None:
    assert column([["::1", "x"]], Type(Kind.IP, True), "list of string") == ([[b"\0" * 15 + b"\1", None]], [])
    assert column([3, None], FLOAT, "int") == ([float_key(3.0), None], [])
    assert column(["1970-01-02"], TIMESTAMP, "date") == ([86_400_000_000], [])
    assert column([86400, 1], DATE, "timestamp") == ([1, None], [])
    assert column([[1]], INT, "list of int") == ([None], [])
    assert column([1], Type(Kind.INT, True), "int") == ([None], [])
    assert column([True], STRING, "bool") == ([None], [])


@pytest.mark.parametrize(
    ("type_", "values", "keys"),
    [
        (FLOAT, [1, "x", 2.5, None, True], [float_key(1.0), None, float_key(2.5), None, None]),
        (STRING, ["a", 1, None, "\ud800"], [b"a", None, None, None]),
        (BOOL, [True, 1, "true"], [1, None, None]),
        (Type(Kind.STRING, True), [["a", 1], "a", None], [[b"a", None], None, None]),
        (POINT, [[1, 2], "x"], [(1.0, 2.0), None]),
    ],
)
def test_what_the_schema_does_not_know_is_read_if_it_can_be(type_: Type, values: list[Any], keys: list[Any]) -> None:
    assert column(values, type_) == (keys, [])


def test_only_the_asked_columns_are_touched() -> None:
    schema = Schema.of({"a": "int", "b": "int"})
    encoded = encode([{"a": 1, "b": "broken"}], [Column("a", INT)], schema)
    assert encoded.rejects == []
    assert list(encoded.data) == [Column("a", INT)]


def test_no_events_and_no_columns() -> None:
    schema = Schema.of({name: name for name in ("int", "string", "point", "region")})
    encoded = encode([], [Column(path, type_) for path, type_ in schema.items()], schema)
    assert encoded.size == 0
    assert all(unpack(data) == [] for data in encoded.data.values())
    assert encode([{"int": 1}], [], schema).data == {}


def test_maps_and_paths() -> None:
    schema = Schema.of({"attrs": "map of string", "lines.price": "list of float"})
    events: list[dict[str, Any]] = [
        {"attrs": {"x": "1", "y.z": "2"}, "lines": [{"price": 1.0}, {}]},
        {"attrs": {}},
        {"lines": []},
    ]
    columns = [
        Column("attrs.x", STRING),
        Column("attrs.y.z", STRING),
        Column("lines.price", parse_type("list of float")),
    ]
    encoded = encode(events, columns, schema)
    assert [unpack(encoded.data[one]) for one in columns] == [
        [b"1", None, None],
        [b"2", None, None],
        [[float_key(1.0), None], None, []],
    ]


# ---------------------------------------------------------------- attribute against attribute


def compared(left: list[Any], right: list[Any], **declared: str) -> list[Any]:
    events = [{"a": a, "b": b} for a, b in zip(left, right, strict=True)]
    one = Column("a", INT, "b")
    encoded = encode(events, [one], Schema.of(declared, closed=False))
    assert encoded.rejects == []
    return unpack(encoded.data[one])


BIG = 2**53 + 1


@pytest.mark.parametrize(
    ("left", "right", "declared", "signs"),
    [
        ([1, 2, 3, None], [2, 2, 2, 2], {"a": "int", "b": "int"}, [0, 1, 2, None]),
        ([1, 2, 3, 1], [1.5, 2.0, math.nan, -math.inf], {"a": "int", "b": "float"}, [0, 1, 0, 2]),
        ([BIG, BIG, 2**63 - 1], [2.0**53, 2.0**53 + 2, 2.0**63], {"a": "int", "b": "float"}, [2, 0, 0]),
        ([2.0**53, 2.0**53 + 2, 2.0**63, math.nan], [BIG, BIG, 2**63 - 1, 1], {"a": "float", "b": "int"}, [0, 2, 2, 2]),
        ([math.nan, -0.0], [math.nan, 0.0], {"a": "float", "b": "float"}, [1, 1]),
        (["a", "b", "é", "a"], ["b", "b", "z", None], {"a": "string", "b": "string"}, [0, 1, 2, None]),
        (["10.0.0.2", "x"], ["10.0.0.10", "10.0.0.1"], {"a": "string", "b": "ip"}, [0, None]),
        (["1970-01-02"], ["1970-01-01T23:00:00"], {"a": "date", "b": "timestamp"}, [2]),
        ([True], [False], {"a": "bool", "b": "bool"}, [2]),
        ([1], ["x"], {"a": "int", "b": "string"}, [None]),
        ([[1]], [[1]], {"a": "list of int", "b": "list of int"}, [None]),
        ([1, BIG, "x", True, 1, None], [2.5, BIG - 1, "y", False, "1", 1], {}, [0, 2, 0, 2, None, None]),
        ([dt.datetime(2024, 1, 1), 5], [dt.date(2024, 1, 2), "2024-01-01"], {}, [0, None]),
        ([1, 2], [2**60, "x"], {"a": "int"}, [0, None]),
    ],
)
def test_comparison(left: list[Any], right: list[Any], declared: dict[str, str], signs: list[Any]) -> None:
    assert compared(left, right, **declared) == signs


def test_an_attribute_against_itself_says_whether_it_is_there() -> None:
    events: list[dict[str, Any]] = [{"a": 1}, {"a": {"b": 1}}, {"a": None}, {}, {"a": []}]
    one = Column("a", INT, "a")
    assert unpack(encode(events, [one], Schema.of({}, closed=False)).data[one]) == [1, 1, None, None, 1]
    listed = Schema.of({"a": "list of int"})
    assert unpack(encode([{"a": []}, {}], [one], listed).data[one]) == [1, None]


def test_keys_are_those_of_the_language() -> None:
    moment = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
    found, _ = column(["2024-05-01T12:00:00Z", "2024-05-01 14:00:00+02:00"], TIMESTAMP, "timestamp")
    assert found == [key(Kind.TIMESTAMP, moment)] * 2


@pytest.mark.parametrize("path", ["a", "a.b"])
@pytest.mark.parametrize(
    ("events", "message"),
    [
        ({"a": 1}, "the events are a dict"),
        (iter([{"a": 1}]), r"list\(events\)"),
        ("abc", "the events are a str"),
        ([{"a": 1}, "x"], "event 1 is a str, not a mapping"),
        (({"a": 1}, None), "event 1 is None, not a mapping"),
    ],
)
def test_only_sequences_of_mappings_are_read(path: str, events: Any, message: str) -> None:
    for columns in ([Column(path, INT)], []):
        with pytest.raises(InputError, match=message):
            encode(events, columns, Schema.of({}, closed=False))
    assert encode(({"a": 1}, {}), [Column("a", INT)], Schema.of({"a": "int"})).size == 2
