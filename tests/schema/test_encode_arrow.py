"""Arrow tables as columns."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.schema.unpack import unpack
from vedette.errors import SchemaError
from vedette.schema.arrow_types import infer_arrow
from vedette.schema.columns import Column
from vedette.schema.encode import encode
from vedette.schema.keys import float_key, number_key
from vedette.schema.schema import Schema
from vedette.schema.types import FLOAT, INT, IP, POINT, STRING, TIMESTAMP, Kind, Type, parse_type


def column(array: Any, spelling: str, path: str = "a", wanted: Type | None = None) -> list[Any]:
    schema = Schema.of({path: spelling})
    one = Column(path, wanted or schema[path])
    encoded = encode(pa.table({"a": array}), [one], schema)
    assert encoded.rejects == []
    return unpack(encoded.data[one])


@pytest.mark.parametrize(
    ("array", "spelling", "keys"),
    [
        (pa.array([1, None, -1], pa.int8()), "int", [1, None, -1]),
        (pa.array([1, None, 2**32 - 1], pa.uint32()), "int", [1, None, 2**32 - 1]),
        (pa.array([1, None], pa.uint64()), "int", [1, None]),
        (pa.array([2**64 - 1, None], pa.uint64()), "float", [number_key(2**64 - 1), None]),
        (pa.array([1.0, None]), "int", [1, None]),
        (pa.array([1.5, None, -0.0, math.nan]), "float", [float_key(1.5), None, 0, 0x7FF8 << 48]),
        (pa.array([np.float16(0.5)], pa.float16()), "float", [float_key(0.5)]),
        (pa.array([0.1], pa.float32()), "float", [float_key(float(np.float32(0.1)))]),
        (pa.array([3, None]), "float", [float_key(3.0), None]),
        (pa.array([True, None, False]), "bool", [1, None, 0]),
        (pa.array([-1, None], pa.timestamp("s")), "timestamp", [-1_000_000, None]),
        (pa.array([-1, None], pa.timestamp("ms", "UTC")), "timestamp", [-1000, None]),
        (pa.array([-1, None], pa.timestamp("us", "Europe/Berlin")), "timestamp", [-1, None]),
        (pa.array([-1, 1999, None], pa.timestamp("ns")), "timestamp", [-1, 1, None]),
        (pa.array([1, None], pa.date32()), "timestamp", [86_400_000_000, None]),
        (pa.array([1, None], pa.date32()), "date", [1, None]),
        (pa.array([dt.date(1970, 1, 3), None], pa.date64()), "date", [2, None]),
        (pa.array([86_400, None], pa.timestamp("s")), "date", [1, None]),
        (pa.array([5, None]), "timestamp", [5_000_000, None]),
        (pa.array(["1970-01-01T00:00:01Z", None]), "timestamp", [1_000_000, None]),
        (pa.array(["1970-01-01T00:00:01", None]), "timestamp", [1_000_000, None]),
        (pa.array(["1970-01-02", None]), "date", [1, None]),
        (pa.array(["1970-01-02", "1970-01-01T00:00:01Z", None]), "timestamp", [86_400_000_000, 1_000_000, None]),
        (pa.array(["b", None, "a", "b"], pa.large_string()), "string", [b"b", None, b"a", b"b"]),
        (pa.array(["b", None], pa.string_view()), "string", [b"b", None]),
        (pa.array(["::1", None]), "ip", [b"\0" * 15 + b"\1", None]),
        (pa.array([None, None]), "int", [None, None]),
        (pa.array([None, None]), "list of string", [None, None]),
        (pa.array([1, 1, None]).dictionary_encode(), "int", [1, 1, None]),
        (pa.array(["1970-01-02"]).dictionary_encode(), "date", [1]),
        (pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([7, None])), "int", [7, 7, None]),
        (pa.array([[1, None], [], None]), "list of int", [[1, None], [], None]),
        (
            pa.array([["a"], None, ["b", "a"]], pa.large_list(pa.string())),
            "list of string",
            [[b"a"], None, [b"b", b"a"]],
        ),
        (pa.array([[1, 2], None], pa.list_(pa.int64(), 2)), "list of int", [[1, 2], None]),
        (pa.array([[1, 2], None, [3]], pa.list_view(pa.int64())), "list of int", [[1, 2], None, [3]]),
        (pa.array([{"lon": 1.0, "lat": 2}, None]), "point", [(1.0, 2.0), None]),
        (pa.array([{"type": "Point", "coordinates": [1.0, 2.0]}, None]), "point", [(1.0, 2.0), None]),
        (pa.array([[1.0, 2.0], None]), "point", [(1.0, 2.0), None]),
        (pa.array(["POINT(1 2)", None]), "point", [(1.0, 2.0), None]),
        (pa.array([[{"x": 1, "y": 2}, None]]), "list of point", [[(1.0, 2.0), None]]),
        (pa.array([1, None, 3]), "mixed", [b"1", None, b"3"]),
    ],
)
def test_every_arrow_type(array: Any, spelling: str, keys: list[Any]) -> None:
    assert column(array, spelling) == keys
    # The same from slices, in several chunks, and from none at all.
    chunks = pa.chunked_array([array.slice(at, 1) for at in range(len(array))], array.type)
    assert column(chunks, spelling) == keys
    assert column(array.slice(1), spelling) == keys[1:]
    assert column(array.slice(0, 0), spelling) == []


def test_decimals_are_the_nearest_float() -> None:
    texts = ["99.95", "0.07", "-123456789012.34", "0.01", "1234567.89"]
    for stored in (pa.decimal128(15, 2), pa.decimal128(38, 2), pa.decimal256(60, 2), pa.decimal64(18, 2)):
        array = pa.array([decimal.Decimal(text) for text in texts] + [None], stored)
        assert column(array, "float") == [*(float_key(float(text)) for text in texts), None]
    assert column(pa.array([decimal.Decimal(2**60 + 1)]), "int") == [2**60 + 1]


def test_dictionaries_may_hold_texts_twice_and_nulls() -> None:
    dictionary = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2, 3, None], pa.int8()), pa.array(["x", "x", None, "y"])
    )
    assert column(dictionary, "string") == [b"x", b"x", None, b"y", None]
    other = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["y", "z"]))
    assert column(pa.chunked_array([dictionary, other]), "string") == [b"x", b"x", None, b"y", None, b"y", b"z"]


def test_a_small_slice_of_a_large_dictionary_keeps_what_it_uses() -> None:
    array = pa.array([f"v{n}" for n in range(1000)] + [None]).dictionary_encode().slice(998)
    one = Column("a", STRING)
    data = encode(pa.table({"a": array}), [one], Schema.of({"a": "string"})).data[one]
    assert unpack(data) == [b"v998", b"v999", None]
    assert sorted(data.values) == [b"v998", b"v999"]  # type: ignore[union-attr]


def test_record_batches_are_tables_too() -> None:
    batch = pa.record_batch({"a": pa.array([1, 2])})
    one = Column("a", INT)
    assert unpack(encode(batch, [one], Schema.of({"a": "int"})).data[one]) == [1, 2]


def test_paths_into_structs_maps_and_lists() -> None:
    rows: list[dict[str, Any]] = [
        {"order": {"total": 1.5, "attrs": [("k", "v"), ("k", "w")]}, "lines": [{"sku": "a", "qty": 1}, None]},
        {"order": None, "lines": None},
        {"order": {"total": None, "attrs": [("j", None)]}, "lines": []},
    ]
    stored = pa.schema(
        [
            ("order", pa.struct([("total", pa.float64()), ("attrs", pa.map_(pa.string(), pa.string()))])),
            ("lines", pa.list_(pa.struct([("sku", pa.string()), ("qty", pa.int32())]))),
        ]
    )
    table = pa.Table.from_pylist(rows, stored)
    expected: dict[str, Any] = {
        "order.total": [float_key(1.5), None, None],
        "order.attrs.k": [b"w", None, None],
        "order.attrs.j": [None, None, None],
        "order.attrs.none": [None, None, None],
        "lines.sku": [[b"a", None], None, []],
        "lines.qty": [[1, None], None, []],
    }
    schema = infer_arrow(stored)
    for chosen, drop in ((table, 0), (pa.concat_tables([table.slice(0, 1), table.slice(1)]), 0), (table.slice(1), 1)):
        columns = [Column(path, schema.type_of(path)) for path in expected]  # type: ignore[arg-type]
        encoded = encode(chosen, columns, schema)
        assert {one.path: unpack(encoded.data[one]) for one in columns} == {
            path: values[drop:] for path, values in expected.items()
        }


def test_many_keys_of_one_map() -> None:
    names = [f"k{n}" for n in range(12)]
    rows = [[(name, n * 100 + row) for n, name in enumerate(names) if (n + row) % 3] for row in range(20)]
    maps = pa.array([*rows, None], pa.map_(pa.string(), pa.int64()))
    columns = [Column(f"m.{name}", INT) for name in names]
    encoded = encode(pa.table({"m": maps.slice(3)}), columns, Schema.of({"m": "map of int"}))
    expected = [[dict(row).get(name) for row in rows[3:]] + [None] for name in names]
    assert [unpack(encoded.data[one]) for one in columns] == expected


def test_what_hides_under_a_null_map_or_list_is_not_seen() -> None:
    entries = pa.MapArray.from_arrays(
        pa.array([0, 1, 2, 3], pa.int32()), pa.array(["k", "k", "k"]), pa.array(["1", "2", "3"])
    )
    nulled = pa.Array.from_buffers(
        entries.type,
        3,
        [pa.array([True, False, True]).buffers()[1], entries.buffers()[1]],
        children=[
            pa.StructArray.from_arrays(
                [entries.keys, entries.items], fields=[entries.type.key_field, entries.type.item_field]
            )
        ],
    )
    assert column(nulled, "map of string".removeprefix("map of "), "a.k") == [b"1", None, b"3"]


def test_the_whole_path_comes_first_and_its_nulls_fall_through() -> None:
    table = pa.table({"a.b": pa.array([1, None, None]), "a": pa.array([{"b": 5}, {"b": 6}, None])})
    one = Column("a.b", INT)
    assert unpack(encode(table, [one], Schema.of({"a.b": "int"})).data[one]) == [1, 6, None]


def test_odd_nesting_is_walked_in_python() -> None:
    lists = pa.array([[[{"b": 1}], [{"b": 2}]], None])
    assert column(lists, "list of int", "a.b") == [[1, 2], None]
    listed = pa.array([[{"b": [1, 2]}, {"b": None}], []])
    assert column(listed, "list of int", "a.b") == [[1, 2, None], []]
    maps = pa.array([[("k", {"b": 1})], None], pa.map_(pa.string(), pa.struct([("b", pa.int64())])))
    assert column(maps, "int", "a.k.b") == [1, None]
    times = pa.array([[{"b": [1_500]}], None], pa.list_(pa.struct([("b", pa.list_(pa.timestamp("ns")))])))
    assert column(times, "list of timestamp", "a.b") == [[1], None]


def test_views_of_strings() -> None:
    texts = pa.array(["::1", "x", None])
    assert column(texts, "string", wanted=IP) == [b"\0" * 15 + b"\1", None, None]
    assert column(texts, "string", wanted=TIMESTAMP) == [None, None, None]


@pytest.mark.parametrize(
    ("array", "spelling", "row", "says"),
    [
        (pa.array([1.0, 2.5]), "int", 1, "2.5 is not a whole number"),
        (pa.array([1.0, 2.0**63]), "int", 1, "does not fit into 64 bits"),
        (pa.array([1, 2**64 - 1], pa.uint64()), "int", 1, "does not fit into 64 bits"),
        (pa.array(["::1", "x"]), "ip", 1, "'x' is not an ip address"),
        (pa.array(["soon", "1970-01-01"]), "timestamp", 0, "'soon' is not a time"),
        (pa.array(["0000-01-01"]), "timestamp", 0, "is not a time"),
        (pa.array([1, 86_400], pa.timestamp("s")), "date", 0, "is not a date"),
        (pa.array([{"lon": 1.0, "lat": 2.0}, {"lon": 1.0, "lat": None}]), "point", 1, "is not a point"),
        (pa.array([["::1"], ["::1", "x"]]), "list of ip", 1, "'x' is not an ip address"),
        (pa.array([["a"], ["b"]], pa.list_(pa.string())), "list of date", 0, "is not a date"),
    ],
)
def test_broken_rows_are_rejected(array: Any, spelling: str, row: int, says: str) -> None:
    schema = Schema.of({"a": spelling})
    encoded = encode(pa.table({"a": array}), [Column("a", schema["a"])], schema)
    assert encoded.rejects[0].row == row
    assert says in encoded.rejects[0].reason
    assert unpack(encoded.data[Column("a", schema["a"])])[row] is None


def test_text_that_is_not_utf8_is_rejected() -> None:
    broken = pa.array([b"ok", b"\xff\xfe", None, b"ok"]).view(pa.string())
    schema = Schema.of({"a": "string", "m": "map of string", "x": "mixed"})
    maps = pa.MapArray.from_arrays(pa.array([0, 1, 2, 3, 4]), pa.array(["k"] * 4), broken)
    table = pa.table({"a": broken, "m": maps, "x": broken})
    for path in ("a", "m.k", "x"):
        encoded = encode(table, [Column(path, STRING)], schema)
        assert [reject.row for reject in encoded.rejects] == [1], path
        assert unpack(encoded.data[Column(path, STRING)]) == [b"ok", None, None, b"ok"]
    lenient = encode(table, [Column("a", STRING)], Schema.of({}, closed=False))
    assert lenient.rejects == []
    assert unpack(lenient.data[Column("a", STRING)]) == [b"ok", None, None, b"ok"]


@pytest.mark.parametrize("array", [pa.array([b"x"]), pa.array([b"x"], pa.binary(1)), pa.array([5], pa.duration("s"))])
def test_types_that_cannot_be_matched_are_named(array: Any) -> None:
    with pytest.raises(SchemaError, match=r"attribute 'a' is of Arrow type .*, which cannot be matched\nHint"):
        encode(pa.table({"a": array}), [Column("a", STRING)], Schema.of({}, closed=False))


def test_a_column_that_contradicts_the_schema_is_an_error() -> None:
    with pytest.raises(SchemaError, match="'a' is float by the schema, but of Arrow type string in the table"):
        encode(pa.table({"a": ["x"]}), [Column("a", FLOAT)], Schema.of({"a": "float"}))
    with pytest.raises(SchemaError, match="2 columns named 'a'"):
        encode(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), [Column("a", INT)], Schema.of({"a": "int"}))


def test_unknown_columns_are_read_if_they_can_be() -> None:
    table = pa.table({"n": [1, None], "s": ["x", "::1"], "l": [[1], None]})
    schema = Schema.of({}, closed=False)
    wanted = [
        Column("n", FLOAT),
        Column("s", IP),
        Column("n", STRING),
        Column("l", INT),
        Column("l", POINT),
        Column("z", INT),
    ]
    encoded = encode(table, wanted, schema)
    assert encoded.rejects == []
    assert [unpack(encoded.data[one]) for one in wanted] == [
        [float_key(1.0), None],
        [None, b"\0" * 15 + b"\1"],
        [None, None],
        [None, None],
        [None, None],
        [None, None],
    ]


def test_presence() -> None:
    stored = pa.map_(pa.string(), pa.int64())
    table = pa.table(
        {
            "b": pa.array([b"x", None, b""]),
            "m": pa.array([[("k", 1)], [("k", None)], None], stored),
            "l": pa.array([[{"x": 1}], [], None]),
            "odd": pa.array([[[{"x": 1}]], None, None]),
        }
    )
    for path, present in (
        ("b", [1, None, 1]),
        ("m.k", [1, None, None]),
        ("l.x", [1, 1, None]),
        ("odd.x", [1, None, None]),
    ):
        one = Column(path, INT, path)
        assert unpack(encode(table, [one], Schema.of({}, closed=False)).data[one]) == present


def test_comparisons_between_arrow_columns() -> None:
    table = pa.table({"i": [1, 2**53 + 1, None], "f": [1.5, 2.0**53, 1.0], "s": ["a", "b", "c"], "d": ["a", "a", None]})
    for schema in (infer_arrow(table.schema), Schema.of({}, closed=False)):
        wanted = [Column("i", INT, "f"), Column("s", INT, "d"), Column("i", INT, "s")]
        encoded = encode(table, wanted, schema)
        assert [unpack(encoded.data[one]) for one in wanted] == [[0, 2, None], [1, 2, None], [None] * 3]


def test_lists_of_a_kind_with_a_view() -> None:
    array = pa.array([["::1", "x"], None])
    wanted = Type(Kind.IP, True)
    assert column(array, "list of string", wanted=wanted) == [[b"\0" * 15 + b"\1", None], None]
    assert parse_type("list of ip") == wanted
