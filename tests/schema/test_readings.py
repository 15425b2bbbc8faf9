"""Views: what they read from events, the same from dicts, single events and Arrow tables."""

from __future__ import annotations

import datetime as dt
import decimal
import ipaddress
import itertools
import json
import math
import random
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.random_json import NAMES, random_event, random_table
from tests.schema.unpack import unpack
from tests.seeds import some
from vedette.errors import InputError
from vedette.schema.columns import Column, ColumnData, KeyColumn, TextColumn
from vedette.schema.encode import encode
from vedette.schema.event_values import prepare_one
from vedette.schema.keys import number_key
from vedette.schema.readings import DEEPEST, TYPES, viewer
from vedette.schema.schema import Schema
from vedette.schema.table_paths import TableEvents
from vedette.schema.types import IP, TIMESTAMP, Kind, Type

OPEN = Schema({}, closed=False)
PATHS = ("*", *NAMES, "a.b.c", "a.a", "c.a.b", "b.b.b")
VIEWS = list(itertools.product(TYPES, PATHS))


# ---------------------------------------------------------------- the same, said in another way


def reached(event: Mapping[str, Any], path: str) -> list[Any]:
    """Every value that a path leads to: by flattening the event first, and looking for the path then."""
    if path == "*":
        return [event]
    direct = [event[path]] if path in event else []
    if direct and direct[0] is not None:
        return direct
    head, dot, rest = path.partition(".")
    below = event.get(head) if dot else None
    found = [value for item in objects_in(below) for value in reached(item, rest)]
    return found or direct


def objects_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """The value if it is an object, or the objects in the list that it is, and in lists in it."""
    if isinstance(value, dict):
        yield value
    for item in value if isinstance(value, list) else ():
        yield from objects_in(item)


def scalars(value: Any, inside_objects: bool) -> list[Any]:
    """The leaves of a value, from a text of JSON with its brackets taken away."""
    if isinstance(value, dict):
        return [each for part in value.values() for each in scalars(part, True)] if inside_objects else []
    if isinstance(value, list):
        return [each for part in value for each in scalars(part, inside_objects)]
    return [value]


def canonical(value: Any) -> str:
    """One text for one value."""
    if isinstance(value, float) and value == math.floor(value):
        value = int(decimal.Decimal(repr(value)))
    return json.dumps(value, ensure_ascii=False)


def is_figure(leaf: Any) -> bool:
    """A text that JSON reads as a number."""
    try:
        read = json.loads(leaf) if isinstance(leaf, str) and leaf == leaf.strip() else None
    except ValueError:
        return False
    return isinstance(read, int | float) and not isinstance(read, bool) and math.isfinite(read)


def as_number(value: float) -> float:
    """A float, or an integer of 64 bits that is none."""
    return value if float(value) != value and -(2**63) <= value < 2**64 else float(value)


def expected_lists(event: Mapping[str, Any], reading: str, path: str) -> list[Any] | None:
    """What the views that are lists read, in any order."""
    found = [leaf for value in reached(event, path) for leaf in scalars(value, path == "*")]
    if not found:
        return None
    numbers = [leaf for leaf in found if isinstance(leaf, int | float) and not isinstance(leaf, bool)]
    lists: dict[str, list[Any]] = {
        "strings": [leaf for leaf in found if isinstance(leaf, str)],
        "numbers": [as_number(number) for number in numbers],
        "figures": [as_number(json.loads(str(leaf))) for leaf in (*numbers, *filter(is_figure, found))],
        "leaves": [canonical(leaf) for leaf in found],
        "texts": [leaf if isinstance(leaf, str) else canonical(leaf) for leaf in found if leaf is not None],
    }
    return lists[reading]


@pytest.mark.parametrize("seed", some(150, usual=30))
def test_leaves_are_those_of_the_flat_event(seed: int) -> None:
    event = random_event(random.Random(seed))
    for reading, path in VIEWS:
        if TYPES[reading].is_list and reading != "items":
            found, expected = viewer(reading, path)(event), expected_lists(event, reading, path)
            assert (found is None) == (expected is None), (reading, path, event)
            assert sorted(found or []) == sorted(expected or []), (reading, path, event)


@pytest.mark.parametrize("seed", some(150, usual=30))
def test_texts_are_json_that_reads_back(seed: int) -> None:
    event = random_event(random.Random(seed))
    for path in PATHS:
        values = reached(event, path)
        text = viewer("text", path)(event)
        if not values or values == [None]:
            assert text is None or json.loads(text) == [None], (path, event)  # found in a list
        elif len(values) == 1 and isinstance(values[0], str) and event.get(path) == values[0]:
            assert text == values[0]
        elif path in event and event[path] is not None:
            assert in_floats(json.loads(text)) == in_floats(event[path])
        nested = viewer("nested", path)(event)
        if path == "*" or (path in event and event[path] is not None):
            whole = event if path == "*" else event[path]
            assert (nested is not None) == holds_objects(whole), (path, event)
            assert nested is None or in_floats(json.loads(nested)) == in_floats(whole)


@pytest.mark.parametrize("seed", some(150, usual=30))
def test_items_are_the_texts_of_elements_or_the_one_text(seed: int) -> None:
    event = random_event(random.Random(seed))
    for path in PATHS:
        elements = [each for value in reached(event, path) for each in flat(value) if each is not None]
        found = viewer("items", path)(event)
        assert sorted(found or []) == sorted(viewer("text", "x")({"x": each}) for each in elements), (path, event)
        assert (found is None) == (viewer("text", path)(event) is None), (path, event)


def flat(value: Any) -> list[Any]:
    """The elements of a list and of lists in it, or else the value itself."""
    return [each for part in value for each in flat(part)] if isinstance(value, list) else [value]


def in_floats(value: Any) -> Any:
    """The value with all numbers as floats: 1e23 is written as an integer, which Python takes for another number."""
    if isinstance(value, dict):
        return {key: in_floats(each) for key, each in value.items()}
    if isinstance(value, list):
        return [in_floats(each) for each in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def holds_objects(value: Any) -> bool:
    """Some list in it has an object among its elements."""
    if isinstance(value, dict):
        return any(map(holds_objects, value.values()))
    return isinstance(value, list) and any(isinstance(each, dict) or holds_objects(each) for each in value)


# ---------------------------------------------------------------- columns


def columns() -> list[Column]:
    """All views of all paths, and some read as another type."""
    made = [Column(path, TYPES[reading], None, reading) for reading, path in VIEWS]
    made += [Column(path, IP, None, "text") for path in NAMES]
    made += [Column(path, TIMESTAMP, None, "text") for path in NAMES]
    lists = ("strings", "items")
    return made + [Column(path, Type(Kind.IP, is_list=True), None, reading) for reading in lists for path in PATHS]


def keys(column: Column, value: Any) -> Any:
    """What a view's value is as column data, if it is read as what it is."""
    if value is None or column.type != TYPES[column.reading or ""]:
        return None
    if not column.type.is_list:
        return value if isinstance(value, int) else value.encode()
    return [each.encode() if isinstance(each, str) else number_key(each) for each in value]


def told(column: Column, data: ColumnData) -> list[Any]:
    """The values of a column; texts that are all elements of lists of one are such lists."""
    values = unpack(data)
    if column.type.is_list and isinstance(data, TextColumn):
        return [None if value is None else [value] for value in values]
    return values


def tidied(values: list[Any]) -> list[Any]:
    """Lists in a fixed order: theirs does not matter."""
    return [sorted(each, key=repr) if isinstance(each, list) else each for each in values]


def test_dicts_and_single_events() -> None:
    chance = random.Random(1)
    events = [random_event(chance) for _ in range(300)]
    wanted = columns()
    encoded = encode(events, wanted, OPEN)
    assert not encoded.rejects
    one = prepare_one(wanted, OPEN)
    single = [one(event) for event in events]
    for number, column in enumerate(wanted):
        batch = told(column, encoded.data[column])
        if column.type == TYPES[column.reading or ""]:
            read = viewer(column.reading or "", column.path)
            assert batch == [keys(column, read(event)) for event in events], column
        alone: list[Any] = [values[number] for values in single]
        if column.reading == "items":
            alone = [[v] if isinstance(v, bytes) else v for v in alone]
        values = [v if v is None or isinstance(v, int | bytes | list) else unpack(v)[0] for v in alone]
        assert tidied(values) == tidied(batch), column


def test_a_schema_does_not_matter_to_views() -> None:
    closed = Schema.of({"a": "int", "b": "list of float", "c.a": "string", "b.c": "timestamp"})
    chance = random.Random(2)
    events = [random_event(chance) for _ in range(50)]
    wanted = [column for column in columns() if column.reading in ("text", "leaves")]
    under, without = encode(events, wanted, closed), encode(events, wanted, OPEN)
    assert not under.rejects
    for column in wanted:
        assert unpack(under.data[column]) == unpack(without.data[column]), column


@pytest.mark.parametrize("seed", some(120, usual=40))
def test_tables_are_read_as_their_rows(seed: int) -> None:
    table = random_table(random.Random(seed))
    events = TableEvents(table).dicts(["*"])
    wanted = columns()
    by_column, by_row = encode(table, wanted, OPEN), encode(events, wanted, OPEN)
    for column in wanted:
        found, expected = (told(column, each.data[column]) for each in (by_column, by_row))
        assert tidied(found) == tidied(expected), (column, table.schema)


def test_rows_of_tables_have_no_nulls_but_in_lists() -> None:
    table = pa.table(
        {
            "a": pa.array([None, "x"]),
            "s": pa.array([{"x": None, "y": 1}, None]),
            "m": pa.array([[("k", None), ("l", "v")], None], pa.map_(pa.string(), pa.string())),
            "l": pa.array([[None, 1], []]),
        }
    )
    assert TableEvents(table).dicts(["*"]) == [{"s": {"y": 1}, "m": {"l": "v"}, "l": [None, 1]}, {"a": "x", "l": []}]
    leaves = encode(table, [Column(path, TYPES["leaves"], None, "leaves") for path in ("a", "s.x", "m.k", "l")], OPEN)
    assert [tidied(unpack(data)) for data in leaves.data.values()] == [
        [None, [b'"x"']],
        [None, None],
        [None, None],
        [[b"1", b"null"], None],
    ]


# ---------------------------------------------------------------- odd values


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("\ud800x", "?x"),
        (b"\xffx", "?x"),
        (np.float64(12.0), "12"),
        (np.int64(7), "7"),
        (np.array(3), "3"),
        (np.array([1, 2]), "[1,2]"),
        (decimal.Decimal("1.50"), "1.5"),
        (decimal.Decimal("1e2"), "100"),
        (1e23, "1" + "0" * 23),
        (10**400, "1" + "0" * 400),
        (float("nan"), "NaN"),
        (dt.datetime(2024, 5, 1, 12, 30, tzinfo=dt.timezone(dt.timedelta(hours=2))), "2024-05-01T10:30:00Z"),
        (dt.datetime(2024, 5, 1, 12, 30, 0, 250), "2024-05-01T12:30:00.000250Z"),
        (dt.date(2024, 5, 1), "2024-05-01"),
        (ipaddress.ip_address("10.0.0.1"), "10.0.0.1"),
        ({"a": [1.0, None, {"é": "\n"}]}, '{"a":[1,null,{"é":"\\n"}]}'),
        ({1: True}, '{"1":true}'),
    ],
)
def test_values_that_json_has_no_type_for(value: Any, text: str) -> None:
    assert viewer("text", "a")({"a": value}) == text
    (column,) = encode([{"a": value}], [Column("a", TYPES["text"], None, "text")], OPEN).data.values()
    assert unpack(column) == [text.encode()]


@pytest.mark.parametrize(
    ("text", "number"),
    [("12", 12), ("-0.5", -0.5), ("+3", 3), (".5", 0.5), ("5.", 5), ("1e3", 1000), ("007", 7), ("1e999", math.inf)],
)
def test_figures_are_numbers_and_texts_that_are_written_as_one(text: str, number: float) -> None:
    table = pa.table({"a": [text, "x", None], "b": [number, 1.5, None]})
    for view, values in (("a", [[number], [], None]), ("b", [[number], [1.5], None])):
        assert [viewer("figures", view)(row) for row in table.to_pylist()] == [
            [] if value is None else value for value in values
        ]
    wrong = ["", " 1", "1 ", "0x10", "1,5", "nan", "inf", "Infinity", "١", "1_000", "e5", ".", "+", "true", True, None]
    assert viewer("figures", "a")({"a": [*wrong, 5, text]}) == [5, number]


@pytest.mark.parametrize(
    ("value", "number"),
    [
        *((7, 7), (7.0, 7), (-0.0, 0), (decimal.Decimal(7), 7), ("7", 7), ("+7", 7), ("-007", -7), ("-0", 0)),
        *((2**63 - 1, 2**63 - 1), (-(2**63), -(2**63)), (str(2**63 - 1), 2**63 - 1), (2**63, None), (str(2**63), None)),
        *((7.5, None), ("7.0", None), (" 7", None), ("7\n", None), ("", None), ("+", None), ("١", None), ("1_0", None)),
        *((True, None), (None, None), ([7], None), ({"b": 7}, None), ("1" * 5_000, None), (1e300, None)),
    ],
)
def test_integers_are_whole_numbers_and_texts_that_are_written_as_one(value: Any, number: int | None) -> None:
    assert viewer("integer", "a")({"a": value}) == number
    assert viewer("integer", "a.b")({"a": {"b": value}}) == number
    for events in ([{"a": value}, {}], pa.table({"a": [value, None]}) if not isinstance(value, int) else None):
        if events is not None:
            (column,) = encode(events, [Column("a", TYPES["integer"], None, "integer")], OPEN).data.values()
            assert isinstance(column, KeyColumn)
            assert column.present.tolist() == [number is not None, False]
            assert number is None or column.keys[0] == number


def test_numbers_beyond_all_floats_are_infinite() -> None:
    assert viewer("numbers", "a")({"a": [10**400, -(10**400), True, "1"]}) == [math.inf, -math.inf]


def test_what_is_nested_too_deeply_is_not_seen() -> None:
    deep: Any = "x"
    for _ in range(5_000):
        deep = [deep]
    event = {"a": deep, "b": {"c": deep}}
    assert viewer("leaves", "a")(event) is None
    assert viewer("texts", "*")(event) is None
    assert viewer("text", "a")(event) == "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1)
    assert viewer("nested", "*")(event) is None


@pytest.mark.parametrize("reading", TYPES)
@pytest.mark.parametrize("path", ["*", "a", "a.b"])
def test_what_is_no_event_is_an_error(reading: str, path: str) -> None:
    not_events: Any = [{}, [{}]]
    with pytest.raises(InputError, match="event 1 is a list"):
        encode(not_events, [Column(path, TYPES[reading], None, reading)], OPEN)


def test_texts_that_are_no_utf8_in_arrow() -> None:
    broken = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 2, 3], np.int32)), pa.py_buffer(b"\xffxy")]
    )
    table = pa.table({"a": broken})
    wanted = [Column("a", TYPES[reading], None, reading) for reading in ("text", "strings", "leaves")]
    assert [unpack(data) for data in encode(table, wanted, OPEN).data.values()] == [
        [b"?x", b"y"],
        [[b"?x"], [b"y"]],
        [[b'"?x"'], [b'"y"']],
    ]
