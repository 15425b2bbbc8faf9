"""Dicts, Arrow tables and single events give the same columns."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.schema.unpack import unpack
from tests.seeds import EXAMPLES
from vedette.errors import SchemaError
from vedette.schema.columns import Column, ColumnData
from vedette.schema.encode import encode
from vedette.schema.event_values import prepare_one
from vedette.schema.schema import Schema
from vedette.schema.types import DATE, FLOAT, INT, IP, STRING, TIMESTAMP, Kind, Type, parse_type

texts = st.one_of(
    st.sampled_from(["", "a", "b", "10.0.0.1", "::1", "2024-05-01", "2024-05-01T10:00:00Z", "1999-12-31 23:59:59.5"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
)
ints = st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1), st.sampled_from([2**53, 2**53 + 1]))
floats = st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 2.0**53, 2.0**63]), ints.map(float))
times = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30))
places = st.fixed_dictionaries({"lon": st.floats(-90, 90), "lat": st.floats(-90, 90)})
maps = st.dictionaries(st.sampled_from(["k", "l", "x.y"]), st.none() | texts, max_size=3)

ATTRIBUTES: dict[str, tuple[str, Any, Any]] = {  # name: spelling, Arrow type, values
    "i": ("int", pa.int64(), ints),
    "j": ("int", pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "f": ("float", pa.float64(), floats),
    "s": ("string", pa.string(), texts),
    "s2": ("string", pa.dictionary(pa.int32(), pa.string()), texts),
    "b": ("bool", pa.bool_(), st.booleans()),
    "t": ("timestamp", pa.timestamp("us"), times),
    "z": ("timestamp", pa.timestamp("us", "UTC"), times.map(lambda time: time.replace(tzinfo=dt.UTC))),
    "d": ("date", pa.date32(), st.dates()),
    "p": ("point", pa.struct([("lon", pa.float64()), ("lat", pa.float64())]), places),
    "li": ("list of int", pa.list_(pa.int64()), st.lists(st.none() | ints, max_size=3)),
    "ls": ("list of string", pa.list_(pa.string()), st.lists(st.none() | texts, max_size=3)),
    "m": ("map of string", pa.map_(pa.string(), pa.string()), maps),
}
NESTED = pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.string())])), ("e", pa.list_(pa.float64()))])
nested = st.fixed_dictionaries(
    {"a": st.none() | ints, "b": st.none() | st.fixed_dictionaries({"c": st.none() | texts})},
    optional={"e": st.lists(st.none() | floats, max_size=2)},
)
SCHEMA = Schema.of(
    {name: spelling for name, (spelling, _, _) in ATTRIBUTES.items()}
    | {"n": {"a": "int", "b": {"c": "string"}, "e": "list of float"}}
    | {"o": {"a": "list of int", "b": {"c": "list of string"}, "e": "list of float"}}
)
ARROW = pa.schema(
    [(name, stored) for name, (_, stored, _) in ATTRIBUTES.items()] + [("n", NESTED), ("o", pa.list_(NESTED))]
)
COLUMNS = [
    *(Column(path, type_) for path, type_ in SCHEMA.items() if not path.endswith("*")),
    Column("m.k", STRING),
    Column("m.x.y", STRING),
    Column("m.none", STRING),
    *(Column(path, view) for path in ("s", "s2", "n.b.c", "m.l") for view in (IP, TIMESTAMP, DATE, FLOAT)),
    *(Column(path, Type(Kind.IP, True)) for path in ("ls", "o.b.c")),
    Column("i", FLOAT),
    Column("d", TIMESTAMP),
    Column("t", DATE),
    *(Column(a, INT, b) for a, b in [("i", "j"), ("i", "f"), ("f", "n.a"), ("s", "s2"), ("t", "z"), ("d", "t")]),
    *(Column(a, INT, b) for a, b in [("s", "t"), ("s", "d"), ("b", "b"), ("li", "li"), ("i", "s"), ("p", "p")]),
]
events_strategy = st.lists(
    st.fixed_dictionaries(
        {},
        optional={name: st.none() | values for name, (_, _, values) in ATTRIBUTES.items()}
        | {"n": st.none() | nested, "o": st.none() | st.lists(st.none() | nested, max_size=3)},
    ),
    max_size=6,
)


def one_value(value: Any) -> Any:
    """What `prepare_one` gives for a column as what `unpack` gives for it."""
    return unpack(value)[0] if isinstance(value, ColumnData) else value


@settings(deadline=None, max_examples=EXAMPLES)
@given(events_strategy, st.booleans())
def test_dicts_and_tables_and_single_events_agree(events: list[dict[str, Any]], open_: bool) -> None:
    schema = Schema.of({}, closed=False) if open_ else SCHEMA
    from_dicts = encode(events, COLUMNS, schema)
    table = pa.Table.from_pylist(events, ARROW)
    from_table = encode(table, COLUMNS, schema)
    assert from_dicts.rejects == from_table.rejects == []
    for column in COLUMNS:
        assert unpack(from_dicts.data[column]) == unpack(from_table.data[column]), column
    one = prepare_one(COLUMNS, schema)
    for row, event in enumerate(events):
        expected = [unpack(from_dicts.data[column])[row] for column in COLUMNS]
        assert [one_value(value) for value in one(event)] == expected


broken = st.sampled_from(["x", 2.5, True, 2**64, "\ud800", [], {}, [1, "a"], {"a": {"b": 1}}, 10**400, b"x", object()])


@settings(deadline=None, max_examples=EXAMPLES)
@given(events_strategy, st.data())
def test_a_broken_row_changes_no_other(events: list[dict[str, Any]], data: st.DataObject) -> None:
    names = [*ATTRIBUTES, "n", "o"]
    spoiled = {
        row: data.draw(st.dictionaries(st.sampled_from(names), broken, max_size=2)) for row in range(len(events))
    }
    mixed = [event | spoiled[row] for row, event in enumerate(events)]
    columns = [column for column in COLUMNS if column.other is None]
    together = encode(mixed, columns, SCHEMA)
    one = prepare_one(columns, SCHEMA)
    rejected = {reject.row: reject for reject in together.rejects}
    for row, event in enumerate(mixed):
        alone = encode([event], columns, SCHEMA)
        assert [(reject.attribute, reject.reason) for reject in alone.rejects] == [
            (reject.attribute, reject.reason) for reject in together.rejects if reject.row == row
        ]
        for column in columns:
            assert unpack(alone.data[column])[0] == unpack(together.data[column])[row]
        if row in rejected:
            with pytest.raises(SchemaError, match=f"attribute '{rejected[row].attribute}'"):
                one(event)
        else:
            assert [one_value(value) for value in one(event)] == [unpack(alone.data[column])[0] for column in columns]


def test_one_goes_by_the_shorter_of_event_and_columns() -> None:
    schema = Schema.of({f"a{n}": "int" for n in range(50)})
    columns = [Column(path, INT) for path in schema]
    one = prepare_one(columns, schema)
    assert one({"a3": 1, "a4": None, "zzz": 5}) == [1 if path == "a3" else None for path in schema]
    assert one({f"a{n}": n for n in range(100)}) == list(range(50))
    assert prepare_one([Column("a1", INT)], schema)({"a1": 7, "x": "y"}) == [7]
    assert prepare_one([], schema)({"a1": 7}) == []


def test_one_reads_the_same_attribute_in_several_ways() -> None:
    schema = Schema.of({"s": "string", "m": "mixed"})
    columns = [
        Column("s", STRING),
        Column("s", IP),
        Column("m", STRING),
        Column("m", IP),
        Column("s", parse_type("list of ip")),
    ]
    assert prepare_one(columns, schema)({"s": "::1", "m": 5}) == [b"::1", b"\0" * 15 + b"\1", b"5", None, None]
    assert prepare_one(columns, schema)({"s": "x", "m": "::1"}) == [b"x", None, b"::1", b"\0" * 15 + b"\1", None]
