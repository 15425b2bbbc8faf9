"""The oracle itself: against DuckDB's WHERE, and against answers written down by hand."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.errors import NotSupported, SchemaError
from vedette.language.ast import (
    And,
    Attribute,
    Comparator,
    Comparison,
    Filter,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Range,
    TextKind,
    TextTest,
    TruthLiteral,
)
from vedette.language.check import check
from vedette.language.evaluate import evaluate
from vedette.language.parser import parse
from vedette.schema.schema import Schema

# ---------------------------------------------------------------- DuckDB

COLUMNS = {"i": "BIGINT", "f": "DOUBLE", "s": "VARCHAR", "b": "BOOLEAN"}
FLAT = Schema.of({"i": "int", "f": "float", "s": "string", "b": "bool"})
NUMBERS = [-2, -0.0, 0, 1, 1.5, 2, math.inf, math.nan]
TEXTS = ["", "a", "A", "ab", "abc", "é", "É", "z%", "_", "a\nb"]
VALUES: dict[str, list[Any]] = {
    "i": [-2, 0, 1, 2, 2**53 + 1],
    "f": [-math.inf, -0.0, 0.0, 1.5, math.nan],
    "s": TEXTS,
    "b": [True, False],
}
EVENTS = [
    {"i": i, "f": f, "s": s, "b": b}
    for i in [*VALUES["i"], None]
    for f in [*VALUES["f"], None]
    for s, b in zip([*TEXTS, None], [True, False, None] * 4, strict=False)
]
CONSTANTS: dict[str, Any] = {"i": NUMBERS, "f": NUMBERS, "s": TEXTS, "b": [True, False]}


@st.composite
def atoms(draw: st.DrawFn) -> Filter:
    path = draw(st.sampled_from(list(COLUMNS)))
    operand = Attribute(path)
    constants = st.one_of(st.sampled_from(CONSTANTS[path]), st.sampled_from(CONSTANTS[path]), st.none()).map(Literal)
    kind = draw(st.integers(0, 6 if path == "s" else 4))
    if kind == 0:
        return Range(operand, draw(constants), draw(constants))
    if kind == 1:
        return In(operand, tuple(draw(st.lists(constants, min_size=1, max_size=3))))
    if kind == 2:
        return IsNull(operand)
    if kind < 5:
        return Comparison(operand, draw(st.sampled_from(list(Comparator))), draw(constants))
    test: TextKind = draw(st.sampled_from(["like", "contains", "startswith", "endswith", "matches"]))
    patterns: dict[TextKind, list[str]] = {
        "like": ["a%", "%b%", "_", "a_", "%", "z\\%", ""],
        "matches": ["^a", "b$", "[ab]+", ""],
    }
    pattern = draw(st.sampled_from(patterns.get(test, TEXTS)))
    return TextTest(operand, test, Literal(pattern), draw(st.booleans()) and test != "matches")


def compound(parts: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(st.builds(And, several), st.builds(Or, several), st.builds(Not, parts))


def constant(value: Any) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, float):
        return f"'{value!r}'::DOUBLE"
    return "NULL" if value is None else str(value).upper()


def sql(node: Any) -> str:
    """The filter in DuckDB's words."""
    if isinstance(node, And | Or):
        return "(" + (" AND " if isinstance(node, And) else " OR ").join(map(sql, node.parts)) + ")"
    if isinstance(node, Not):
        return f"(NOT {sql(node.part)})"
    if isinstance(node, Attribute):
        return node.path
    if isinstance(node, Literal):
        return constant(node.value)
    if isinstance(node, TruthLiteral):
        return constant(node.value)
    if isinstance(node, Comparison):
        op = "IS NOT DISTINCT FROM" if node.op is Comparator.SAME else node.op.value
        return f"({sql(node.left)} {op} {sql(node.right)})"
    if isinstance(node, Range):
        return f"({sql(node.operand)} BETWEEN {sql(node.low)} AND {sql(node.high)})"
    if isinstance(node, In):
        return f"({sql(node.operand)} IN ({', '.join(map(sql, node.items))}))"
    if isinstance(node, IsNull):
        return f"({sql(node.operand)} IS NULL)"
    assert isinstance(node, TextTest)
    operand, pattern = sql(node.operand), sql(node.pattern)
    if node.ignore_case:
        operand, pattern = f"lower({operand})", f"lower({pattern})"
    if node.kind == "like":
        return f"({operand} LIKE {pattern} ESCAPE '\\')"
    names = {"contains": "contains", "startswith": "starts_with", "endswith": "suffix", "matches": "regexp_matches"}
    return f"{names[node.kind]}({operand}, {pattern})"


@pytest.fixture(scope="module")
def table() -> Any:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE events ({', '.join(f'{name} {type_}' for name, type_ in COLUMNS.items())})")
    connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?)", [list(event.values()) for event in EVENTS])
    return connection


@settings(max_examples=150, deadline=None)
@given(st.lists(st.recursive(atoms(), compound, max_leaves=6), min_size=4, max_size=4))
def test_truths_agree_with_duckdb(table: Any, filters: list[Filter]) -> None:
    answers = table.execute(f"SELECT {', '.join(map(sql, filters))} FROM events ORDER BY rowid").fetchall()
    for place, filter_ in enumerate(filters):
        checked = check(filter_, FLAT)
        assert [evaluate(checked, event) for event in EVENTS[::7]] == [row[place] for row in answers[::7]]


# ---------------------------------------------------------------- by hand

SCHEMA = Schema.of(
    {
        "i": "int",
        "f": "float",
        "s": "string",
        "t": "timestamp",
        "d": "date",
        "a": "ip",
        "p": "point",
        "g": "region",
        "li": "list of int",
        "ls": "list of string",
        "m": "mixed",
        "order.items.price": "list of float",
    }
)
SQUARE = "region 'POLYGON((0 0, 1 0, 1 1, 0 1, 0 0))'"


@pytest.mark.parametrize(
    ("text", "event", "truth"),
    [
        ("i > 5", {}, None),
        ("i > 5", {"i": None}, None),
        ("not i > 5", {}, None),
        ("i is null", {}, True),
        ("i > 5 or true", {}, True),
        ("i > 5 and false", {}, False),
        ("i in (1, null)", {"i": 2}, None),
        ("i in (1, null)", {"i": 1}, True),
        ("i not in (1, null)", {"i": 1}, False),
        ("i between null and 5", {"i": 6}, False),
        ("i between null and 5", {"i": 5}, None),
        ("i in [1 .. 5)", {"i": 5}, False),
        ("i in (1 .. 5]", {"i": 5}, True),
        ("i <=> null", {}, True),
        ("i <=> 5", {}, False),
        ("i = 9007199254740993", {"i": 2**53 + 1}, True),
        ("f = 9007199254740993", {"f": 2.0**53}, False),
        ("f = float 'nan'", {"f": math.nan}, True),
        ("f > float 'inf'", {"f": math.nan}, True),
        ("i < f", {"i": 2**53, "f": 2.0**53 + 2}, True),
        ("i = f", {"i": 2**53 + 1, "f": 2.0**53}, False),
        ("i <=> f", {}, True),
        ("i <=> f", {"i": 1}, False),
        ("t > d", {"t": "2024-05-01T00:00:01Z", "d": "2024-05-01"}, True),
        ("t = '2024-05-01T02:00:00+02:00'", {"t": "2024-05-01"}, True),
        ("d < timestamp '2024-05-01T12:00:00Z'", {"d": "2024-05-01"}, True),
        ("a in cidr '10.0.0.0/8'", {"a": "10.1.2.3"}, True),
        ("a in cidr '10.0.0.0/8'", {"a": "::ffff:10.1.2.3"}, True),
        ("a = '10.0.0.1'", {"a": "::ffff:10.0.0.1"}, True),
        ("s in cidr '10.0.0.0/8'", {"s": "10.1.2.3"}, True),
        ("s in cidr '10.0.0.0/8'", {"s": "somewhere"}, None),
        ("s < timestamp '2024-05-01T00:00:00Z'", {"s": "2024-04-30T23:00Z"}, True),
        ("s ilike 'É%'", {"s": "école"}, True),
        ("s like 'a_c'", {"s": "a𝄞c"}, True),
        ("s imatches '^É'", {"s": "école"}, True),
        (f"p within {SQUARE}", {"p": [1, 0.5]}, True),
        (f"p within {SQUARE}", {"p": {"lon": 1.1, "lat": 0.5}}, False),
        (f"g within {SQUARE}", {"g": "POLYGON((1 1, 2 1, 2 2, 1 1))"}, True),
        ("p within 112 km of point(0, 0)", {"p": "POINT(1 0)"}, True),
        ("p within 111 km of point(0, 0)", {"p": "POINT(1 0)"}, False),
        ("any(li) = 1", {"li": []}, False),
        ("all(li) = 1", {"li": []}, True),
        ("any(li) = 1", {"li": None}, None),
        ("any(li) = 1", {"li": [2, None]}, None),
        ("any(li) = 1", {"li": [1, None]}, True),
        ("all(li) = 1", {"li": [1, None]}, None),
        ("all(li) = 1", {"li": [2, None]}, False),
        ("li contains 1", {"li": (3, 1)}, True),
        ("ls icontains 'A'", {"ls": ["a"]}, True),
        ("ls icontains 'A'", {"ls": ["ab"]}, False),
        ("any(ls) startswith 'a'", {"ls": ["ba", "ab"]}, True),
        ("m = '5'", {"m": 5}, True),
        ("any(order.items.price) > 5", {"order": {"items": [{"price": 1}, {"price": 9}]}}, True),
        ("all(order.items.price) > 5", {"order": {"items": [{"price": 9}, {}]}}, None),
    ],
)
def test_truths(text: str, event: dict[str, Any], truth: bool | None) -> None:
    assert evaluate(check(parse(text), SCHEMA, text), event) is truth


@pytest.mark.parametrize(
    ("text", "event", "truth"),
    [
        ("x > 5", {"x": 7}, True),
        ("x > 5", {"x": "7"}, None),
        ("exists x", {"x": {"y": 1}}, True),
        ("x.y = 1", {"x": {"y": 1}}, True),
        ("x.y = 1", {"x.y": 1, "x": {"y": 2}}, True),
        ("x in cidr '10.0.0.0/8'", {"x": "nowhere"}, None),
        ("x < y", {"x": 1, "y": 1.5}, True),
        ("x < y", {"x": "a", "y": "b"}, True),
        ("x < y", {"x": "a", "y": 1}, None),
        ("x <=> y", {"x": "a"}, False),
        ("any(x) = 1", {"x": 1}, None),
    ],
)
def test_truths_without_a_schema(text: str, event: dict[str, Any], truth: bool | None) -> None:
    assert evaluate(check(parse(text), None, text), event) is truth


def test_an_unknown_attribute_is_read_as_the_one_it_is_compared_with() -> None:
    checked = check(parse("known < other"), Schema.of({"known": "timestamp"}, closed=False))
    assert evaluate(checked, {"known": 0, "other": "1970-01-02"}) is True
    assert evaluate(checked, {"known": 0, "other": "soon"}) is None


@pytest.mark.parametrize(
    ("text", "event", "message"),
    [
        ("i > 5", {"i": "7"}, "attribute 'i': '7' is not a whole number"),
        ("i > 5 or i < f", {"i": 9, "f": "x"}, "attribute 'f': 'x' is not a number"),
        ("any(li) = 5", {"li": 5}, "attribute 'li': 5 is not a list"),
    ],
)
def test_values_that_break_the_schema_are_refused(text: str, event: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        evaluate(check(parse(text), SCHEMA, text), event)


def test_what_one_event_cannot_decide_is_refused() -> None:
    with pytest.raises(NotSupported, match="operator locIn"):
        evaluate(check(parse("locIn('Bronx')"), SCHEMA), {})
    with pytest.raises(NotSupported, match="several events"):
        evaluate(check(parse("[i = 1] ; [i = 2]"), SCHEMA), {})
