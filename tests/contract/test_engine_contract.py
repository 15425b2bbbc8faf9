"""What every engine promises: the same matches for the same events and subscriptions."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tests.contract.engines import Engine
from tests.language.test_specification import JUDGED, SCHEMA
from vedette.engine.subscriptions import Subscriptions
from vedette.schema.schema import Schema
from vedette.schema.types import Kind, Type


def subscribed(schema: Schema, **filters: str) -> Subscriptions:
    """Subscriptions of these names."""
    made = Subscriptions(schema)
    for name, text in filters.items():
        made.add(name, text)
    return made


# ---------------------------------------------------------------- the specification

_STORED: dict[Kind, Any] = {
    Kind.INT: pa.int64(),
    Kind.FLOAT: pa.float64(),
    Kind.BOOL: pa.bool_(),
    Kind.POINT: pa.list_(pa.float64()),
}


def stored_type(type_: Type) -> Any:
    """How a column holds the attribute; times, addresses and regions as texts."""
    element = _STORED.get(type_.kind, pa.string())
    return pa.list_(element) if type_.is_list else element


def fits(path: str, value: Any) -> bool:
    """A column of this attribute can hold the value."""
    try:
        return bool(pa.array([value], stored_type(SCHEMA[path]))[0].as_py() == value)
    except (pa.ArrowException, TypeError):
        return False


def judged() -> list[tuple[str, dict[str, Any], bool]]:
    """The examples that fit into one table: all attributes of them are in the schema, as its types are stored."""
    fitting = []
    for example, event, expected in JUDGED:
        if event.keys() <= SCHEMA.keys() and all(fits(path, value) for path, value in event.items()):
            fitting.append((example, event, expected is True))
    return fitting


@pytest.mark.filterwarnings("ignore:the events have no")  # examples of views look into events that are no tables
def test_the_examples_of_the_specification(engine: Engine) -> None:
    cases = judged()
    assert len(cases) > 120
    examples = list(dict.fromkeys(example for example, _, _ in cases))
    written = list(dict.fromkeys(json.dumps(event) for _, event, _ in cases))
    subscriptions = Subscriptions(SCHEMA)
    for example in examples:
        subscriptions.add(example, example)
    fields = [pa.field(path, stored_type(type_)) for path, type_ in SCHEMA.items() if "." not in path]
    events = pa.Table.from_pylist([json.loads(text) for text in written], pa.schema(fields))
    found = engine.match(events, subscriptions)
    wrong = [
        f"{example}\n  on {event}: {not expected}"
        for example, event, expected in cases
        if ((written.index(json.dumps(event)), example) in found) is not expected
    ]
    assert not wrong, "\n".join(wrong)


# ---------------------------------------------------------------- shapes of events

TRADES = Schema.of({"price": "float", "issue": "string", "volume": "int"}, closed=False)


def test_no_events(engine: Engine) -> None:
    events = pa.table({"price": pa.array([], pa.float64())})
    assert engine.match(events, subscribed(TRADES, a="price > 1")) == set()


def test_no_subscriptions(engine: Engine) -> None:
    assert engine.match(pa.table({"price": [1.0, 2.0]}), subscribed(TRADES)) == set()


@pytest.mark.filterwarnings("ignore:the events have no")
def test_attributes_that_no_event_has_are_null(engine: Engine) -> None:
    filters = subscribed(TRADES, null="issue is null", equal="issue = 'a'", other="unheard.of is null and price = 1")
    assert engine.match(pa.table({"price": [1.0, 2.0]}), filters) == {(0, "null"), (1, "null"), (0, "other")}


def test_columns_of_nothing_but_nulls(engine: Engine) -> None:
    events = pa.table({"price": pa.nulls(2, pa.float64()), "issue": pa.array(["a", None])})
    filters = subscribed(TRADES, none="price is null", above="price > 1", below="not price > 1", both="issue <=> null")
    assert engine.match(events, filters) == {(0, "none"), (1, "none"), (1, "both")}


def test_filters_that_look_at_nothing(engine: Engine) -> None:
    events = pa.table({"price": [1.0, None]})
    filters = subscribed(TRADES, always="true", never="false", unknown="null", some="true or price = 1")
    assert engine.match(events, filters) == {(row, name) for row in (0, 1) for name in ("always", "some")}


def test_a_subscription_matches_once_however_many_of_its_parts_do(engine: Engine) -> None:
    filters = subscribed(TRADES, a="price > 1 or volume > 1 or issue = 'x' or price > 0")
    events = pa.table({"price": [2.0, 0.5], "volume": [5, 0], "issue": ["x", "y"]})
    assert engine.match(events, filters) == {(0, "a"), (1, "a")}


@pytest.mark.parametrize(
    "name",
    [
        "ünïcode ✓ 𝄞",
        "a,b;c|d",
        "tab\tnew\nline\r",
        "\x1f",
        "\x1d\x1e\x1b\x1f",
        "'\"\\`",
        " ",
        "x" * 3000,
        "[1]",
        "$1\\1",
    ],
)
def test_ids_are_any_texts(engine: Engine, name: str) -> None:
    subscriptions = Subscriptions(TRADES)
    for each in (name, "plain"):
        subscriptions.add(each, "price > 1")
    assert engine.match(pa.table({"price": [2.0, 1.0]}), subscriptions) == {(0, name), (0, "plain")}


def test_numbers_are_exact(engine: Engine) -> None:
    events = pa.table(
        {
            "volume": pa.array([2**53, 2**53 + 1, 2**63 - 1, -(2**63), None]),
            "price": pa.array([float("nan"), float("inf"), -0.0, 5e-324, 1e300]),
        }
    )
    filters = subscribed(
        TRADES,
        odd="volume = 9007199254740993",
        greatest="volume = 9223372036854775807",
        least="volume <= -9223372036854775808",
        nan="price = float 'nan'",
        above="price > 1e300",
        zero="price = 0",
        tiny="price > 0 and price < 1e-300",
    )
    assert engine.match(events, filters) == {
        *((1, name) for name in ("odd", "above")),
        *((2, name) for name in ("greatest", "zero")),
        *((3, name) for name in ("least", "tiny")),
        *((0, name) for name in ("nan", "above")),
    }


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (pa.int8(), [1, 100, None]),
        (pa.int16(), [1, 100, None]),
        (pa.int32(), [1, 100, None]),
        (pa.float32(), [1.0, 100.0, None]),
        (pa.decimal128(20, 2), [Decimal("1.00"), Decimal("99.99"), None]),
    ],
    ids=str,
)
def test_columns_of_other_numbers(engine: Engine, type_: Any, values: list[Any]) -> None:
    filters = subscribed(TRADES, above="price > 50.5", one="price = 1", none="price is null")
    found = engine.match(pa.table({"price": pa.array(values, type_)}), filters)
    assert found == {(0, "one"), (1, "above"), (2, "none")}


_WHEN = ("after", "midnight", "before")


def test_times(engine: Engine) -> None:
    moments = [
        dt.datetime(2024, 5, 1, 12, 0, 0, 1, tzinfo=dt.UTC),
        dt.datetime(2024, 5, 1, tzinfo=dt.UTC),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC),
        None,
    ]
    events = pa.table(
        {
            "zoned": pa.array(moments, pa.timestamp("us", "Europe/Berlin")),
            "naive": pa.array([m and m.replace(tzinfo=None) for m in moments], pa.timestamp("us")),
            "day": pa.array([m and m.date() for m in moments], pa.date32()),
            "text": pa.array([m and m.isoformat() for m in moments]),
        }
    )
    schema = Schema.of({"zoned": "timestamp", "naive": "timestamp", "day": "date", "text": "timestamp"})
    filters = {}
    for name in ("zoned", "naive", "text"):
        filters[f"{name} after"] = f"{name} > timestamp '2024-05-01T14:00:00+02:00'"
        filters[f"{name} midnight"] = f"{name} = date '2024-05-01'"
        filters[f"{name} before"] = f"{name} < '1970-01-01'"
    filters["day"] = "day = '2024-05-01'"
    wanted = {(row, f"{name} {which}") for name in ("zoned", "naive", "text") for row, which in enumerate(_WHEN)}
    assert engine.match(events, subscribed(schema, **filters)) == {*wanted, (0, "day"), (1, "day")}


def test_objects_lists_and_maps(engine: Engine) -> None:
    line = pa.struct([("sku", pa.string()), ("count", pa.int64())])
    order = pa.struct([("total", pa.float64()), ("lines", pa.list_(line))])
    events = pa.table(
        {
            "order": pa.array(
                [
                    {"total": 10.0, "lines": [{"sku": "j", "count": 1}, {"sku": "k", "count": None}]},
                    {"total": None, "lines": []},
                    None,
                    {"total": 99.5, "lines": [{"sku": "k", "count": 7}]},
                ],
                order,
            ),
            "tags": pa.array([["a", None], [], None, ["b"]], pa.list_(pa.string())),
            "attrs": pa.array(
                [[("Image", "x")], [], None, [("Image", "y"), ("N", "1")]], pa.map_(pa.string(), pa.string())
            ),
            "dotted.name": pa.array([1, 2, 3, None]),
        }
    )
    schema = Schema.of(
        {
            "order.total": "float",
            "order.lines.sku": "list of string",
            "order.lines.count": "list of int",
            "tags": "list of string",
            "attrs": "map of string",
            "dotted.name": "int",
        }
    )
    filters = subscribed(
        schema,
        total="order.total > 9",
        no_total="order.total is null",
        sku="any(order.lines.sku) = 'k'",
        counts="all(order.lines.count) > 5",
        tag="any(tags) = 'a'",
        no_tag="not any(tags) = 'a'",
        no_tags="tags is null",
        image="attrs.Image = 'y' and attrs.N = '1'",
        no_image="attrs.Image is null",
        dotted="dotted.name in [2 .. 3]",
    )
    assert engine.match(events, filters) == {
        *((0, name) for name in ("total", "sku", "tag")),
        *((1, name) for name in ("no_total", "counts", "no_tag", "no_image", "dotted")),
        *((2, name) for name in ("no_total", "no_tags", "no_image", "dotted")),
        *((3, name) for name in ("total", "sku", "counts", "no_tag", "image")),
    }


def test_places_and_addresses(engine: Engine) -> None:
    point = pa.struct([("lon", pa.float64()), ("lat", pa.float64())])
    events = pa.table(
        {
            "place": pa.array([{"lon": 1.0, "lat": 0.0}, {"lon": 9.0, "lat": 9.0}, None], point),
            "client": pa.array(["10.1.2.3", "::ffff:10.0.0.1", "unknown"]),
        }
    )
    schema = Schema.of({"place": "point", "client": "string"})
    filters = subscribed(
        schema,
        near="place within 112 km of point(0, 0)",
        outside="place not within region box(0, 0, 2, 2)",
        net="client in cidr '10.0.0.0/8'",
        other="client not in cidr '10.1.0.0/16'",
    )
    assert engine.match(events, filters) == {(0, "near"), (0, "net"), (1, "outside"), (1, "net"), (1, "other")}


def test_more_events_than_a_batch_and_more_matches_than_events(engine: Engine) -> None:
    events = pa.table({"volume": pa.array(range(30_000), pa.int64())})
    filters = {f"at least {least}": f"volume >= {least}" for least in range(0, 30_000, 3_000)}
    found = engine.match(events, subscribed(TRADES, **filters))
    assert found == {(row, f"at least {least}") for row in range(30_000) for least in range(0, row + 1, 3_000)}
