"""Maps whose texts are all read are encoded once, with the same columns as key by key and as from dicts."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.schema.unpack import unpack
from vedette.schema.columns import Column
from vedette.schema.encode import encode
from vedette.schema.readings import TYPES
from vedette.schema.schema import Schema

KEYS = ("k", "l", "x.y")
texts = st.sampled_from(["", "a", "b", "7", "É", "a rather long text that only maps hold"])
maps = st.none() | st.dictionaries(st.sampled_from(KEYS), st.none() | texts, max_size=3)
some_events = st.lists(st.fixed_dictionaries({"m": maps, "s": st.none() | texts, "i": st.integers(0, 8)}), max_size=6)
SINGLE = [Column(f"m.{key}", TYPES[reading], None, reading) for key in KEYS for reading in ("text", "integer")]
WHOLE = [Column("*", TYPES[reading], None, reading) for reading in ("texts", "strings", "leaves", "figures", "nested")]
ANY = Schema.of({})


def table_of(events: list[dict[str, Any]], items: Any) -> pa.Table:
    rows = [{**event, "m": None if event["m"] is None else list(event["m"].items())} for event in events]
    return pa.Table.from_pylist(
        rows, pa.schema([("m", pa.map_(pa.string(), items)), ("s", pa.string()), ("i", pa.int64())])
    )


def read(events: Any, columns: list[Column]) -> list[list[Any]]:
    encoded = encode(events, columns, ANY)
    return [unpack(encoded.data[column]) for column in columns]


def without_order(columns: list[list[Any]]) -> list[list[Any]]:
    return [[sorted(value, key=repr) if isinstance(value, list) else value for value in column] for column in columns]


@given(some_events, st.integers(0, 2), st.sampled_from([pa.string(), pa.large_string()]))
def test_the_same_columns_however_they_are_read(events: list[dict[str, Any]], first: int, items: Any) -> None:
    table = table_of(events, items).slice(first)
    together = read(table, [*SINGLE, *WHOLE])
    assert together[: len(SINGLE)] == read(table, SINGLE)
    dicts = [{name: value for name, value in event.items() if value is not None} for event in events[first:]]
    for event in dicts:
        event.update({"m": {k: v for k, v in event["m"].items() if v is not None}} if "m" in event else {})
    assert without_order(together) == without_order(read(dicts, [*SINGLE, *WHOLE]))


def test_of_a_key_that_is_there_twice_the_last_one_counts() -> None:
    table = pa.table({"m": pa.array([[("k", "a"), ("k", "b")], None, [("l", "a")]], pa.map_(pa.string(), pa.string()))})
    columns = [Column("m.k", TYPES["text"], None, "text"), Column("*", TYPES["texts"], None, "texts")]
    assert read(table, columns) == [[b"b", None, None], [[b"b"], None, [b"a"]]]


def test_a_column_of_the_whole_name_goes_before() -> None:
    table = pa.table({"m": pa.array([[("k", "a")]], pa.map_(pa.string(), pa.string())), "m.k": pa.array([1])})
    columns = [Column("m.k", TYPES["text"], None, "text"), Column("*", TYPES["texts"], None, "texts")]
    assert read(table, columns)[0] == read(table, columns[:1])[0]


@pytest.mark.parametrize("items", [pa.int64(), pa.list_(pa.string())])
def test_maps_of_anything_else_are_read_as_before(items: Any) -> None:
    held = 5 if items == pa.int64() else ["a", "b"]
    table = pa.table({"m": pa.array([[("k", held)]], pa.map_(pa.string(), items))})
    columns = [Column("m.k", TYPES["text"], None, "text"), Column("*", TYPES["texts"], None, "texts")]
    assert read(table, columns) == read([{"m": {"k": held}}], columns)


def test_texts_that_are_not_utf8_are_read_as_before() -> None:
    broken = pa.array([b"\xff", b"a"]).view(pa.string())
    maps = pa.MapArray.from_arrays(pa.array([0, 2], pa.int32()), pa.array(["k", "l"]), broken)
    columns = [Column("m.k", TYPES["text"], None, "text"), Column("*", TYPES["texts"], None, "texts")]
    assert read(pa.table({"m": maps}), columns)[0] == read(pa.table({"m": maps}), columns[:1])[0]
