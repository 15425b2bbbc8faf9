"""What makes sense is typed; what does not is refused, at the place, with a hint."""

from __future__ import annotations

import datetime as dt
import ipaddress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.errors import FilterError
from vedette.language.ast import (
    Arithmetic,
    Attribute,
    Comparator,
    Comparison,
    In,
    InNetwork,
    JoinVariable,
    Literal,
    Near,
    Point,
    QuantifiedAttribute,
    Range,
    Region,
    TextTest,
    Within,
)
from vedette.language.check import check
from vedette.language.checked_tree import AndPart, Atom, PairAtom, Residual, TruthPart, leaves
from vedette.language.parser import parse
from vedette.schema.columns import Column
from vedette.schema.schema import Schema
from vedette.schema.types import BOOL, DATE, FLOAT, INT, IP, POINT, STRING, TIMESTAMP, Kind, Type

SCHEMA = Schema.of(
    {
        "price": "float",
        "volume": "int",
        "issue": "string",
        "active": "bool",
        "time": "timestamp",
        "day": "date",
        "address": "ip",
        "place": "point",
        "area": "region",
        "order.total": "float",
        "attrs.*": "string",
        "tags": "list of string",
        "scores": "list of int",
    }
)
OPEN = Schema.of({"price": "float"}, closed=False)
LIST_OF_STRING = Type(Kind.STRING, is_list=True)


def atom(text: str, schema: Schema | None = SCHEMA) -> Atom:
    root = check(parse(text), schema, text).root
    assert isinstance(root, Atom)
    return root


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("price < 120", Column("price", FLOAT)),
        ("120 > price", Column("price", FLOAT)),
        ("volume > 2.5", Column("volume", INT)),
        ("active", Column("active", BOOL)),
        ("time > '2024-05-01'", Column("time", TIMESTAMP)),
        ("day = timestamp '2024-05-01T12:00:00Z'", Column("day", DATE)),
        ("address = '10.0.0.1'", Column("address", IP)),
        ("address in cidr '10.0.0.0/8'", Column("address", IP)),
        ("issue in cidr '10.0.0.0/8'", Column("issue", IP)),
        ("issue = ip '10.0.0.1'", Column("issue", IP)),
        ("issue < timestamp '2024-05-01T00:00:00Z'", Column("issue", TIMESTAMP)),
        ("issue >= date '2024-05-01'", Column("issue", TIMESTAMP)),
        ("issue in ('10.0.0.1', ip '10.0.0.2')", Column("issue", IP)),
        ("place within 5 km of point(-73.9, 40.7)", Column("place", POINT)),
        ("attrs.colour = 'red'", Column("attrs.colour", STRING)),
        ("any(tags) = 'a'", Column("tags", LIST_OF_STRING)),
        ("tags contains 'a'", Column("tags", LIST_OF_STRING)),
        ("any(tags) in cidr '10.0.0.0/8'", Column("tags", Type(Kind.IP, is_list=True))),
        ("tags is null", Column("tags", LIST_OF_STRING)),
        ("place is null", Column("place", POINT)),
        ("price = null", Column("price", FLOAT)),
    ],
)
def test_every_test_knows_its_column(text: str, column: Column) -> None:
    assert atom(text).column == column


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("time > '2024-05-01'", dt.datetime(2024, 5, 1, tzinfo=dt.UTC)),
        ("'2024-05-01' < time", dt.datetime(2024, 5, 1, tzinfo=dt.UTC)),
        ("day = '2024-05-01'", dt.date(2024, 5, 1)),
        ("day = '2024-05-01T12:00:00Z'", dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)),
        ("address = '10.0.0.1'", ipaddress.ip_address("10.0.0.1")),
        ("price > 5", 5),
    ],
)
def test_constants_take_the_type_of_the_attribute(text: str, value: Any) -> None:
    test = atom(text).test
    assert isinstance(test, Comparison)
    assert test.right == Literal(value)
    assert isinstance(test.left, Attribute)


def test_a_constant_on_the_left_is_turned_round() -> None:
    test = atom("5 <= price").test
    assert test == Comparison(Attribute("price"), Comparator.GE, Literal(5))


def test_ranges_and_lists_are_coerced_throughout() -> None:
    found = atom("time between '2024-05-01' and '2024-05-02'").test
    assert isinstance(found, Range)
    assert found.high == Literal(dt.datetime(2024, 5, 2, tzinfo=dt.UTC))
    choice = atom("address in ('10.0.0.1', null)").test
    assert isinstance(choice, In)
    assert choice.items == (Literal(ipaddress.ip_address("10.0.0.1")), Literal(None))


def test_contains_on_a_list_asks_for_an_equal_element() -> None:
    found = atom("scores contains 5")
    assert found.test == Comparison(QuantifiedAttribute("any", Attribute("scores")), Comparator.EQ, Literal(5))
    assert found.quantifier == "any"
    without_case = atom("tags icontains 'A%'").test
    assert isinstance(without_case, TextTest)
    assert (without_case.kind, without_case.pattern.value, without_case.ignore_case) == ("like", "A\\%", True)


def test_two_attributes_are_put_in_order() -> None:
    root = check(parse("volume >= price"), SCHEMA).root
    assert isinstance(root, PairAtom)
    assert root.column == Column("price", INT, "volume")
    assert root.op is Comparator.LE
    assert (root.left, root.right) == (Column("price", FLOAT), Column("volume", INT))


def test_ranges_between_attributes_are_two_comparisons() -> None:
    root = check(parse("price between volume and 9"), SCHEMA).root
    assert isinstance(root, AndPart)
    assert [type(part) for part in root.parts] == [PairAtom, Atom]


@pytest.mark.parametrize(
    ("text", "value"), [("1 = 1", True), ("1 < 0.5", False), ("'a' = null", None), ("null <=> null", True)]
)
def test_comparisons_of_constants_are_decided(text: str, value: bool | None) -> None:
    root = check(parse(text), SCHEMA).root
    assert isinstance(root, TruthPart)
    assert root.value is value


def test_columns_of_a_filter() -> None:
    found = check(parse("price < 5 and (issue = 'a' or not volume > price)"), SCHEMA).columns()
    pair = Column("price", INT, "volume")
    assert found == {Column("price", FLOAT), Column("issue", STRING), Column("volume", INT), pair}


# ---------------------------------------------------------------- without a schema


@pytest.mark.parametrize("schema", [None, OPEN])
@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("x > 5 and x is not null", {Column("x", FLOAT)}),
        ("x = 'a' or x in cidr '10.0.0.0/8'", {Column("x", STRING), Column("x", IP)}),
        ("x = ip '10.0.0.1' and x is null", {Column("x", IP)}),
        ("x = date '2024-05-01'", {Column("x", TIMESTAMP)}),
        ("x within 5 km of point(1, 2)", {Column("x", POINT)}),
        ("any(x) = true", {Column("x", Type(Kind.BOOL, is_list=True))}),
        ("x like 'a%'", {Column("x", STRING)}),
        ("exists x", {Column("x", INT, "x")}),
        ("x = null", {Column("x", INT, "x")}),
        ("x < y", {Column("x", INT, "y"), Column("x", INT, "x"), Column("y", INT, "y")}),
        ("x < y and x > 5", {Column("x", INT, "y"), Column("x", FLOAT), Column("y", INT, "y")}),
    ],
)
def test_types_come_from_the_constants(schema: Schema | None, text: str, columns: set[Column]) -> None:
    assert check(parse(text), schema, text).columns() == columns


def test_an_open_schema_holds_what_it_knows() -> None:
    with pytest.raises(FilterError, match="price is a float and cannot be compared with the text 'a'"):
        check(parse("price = 'a'"), OPEN)


# ---------------------------------------------------------------- what makes no sense


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ("prise < 5", "prise", "unknown attribute prise", "did you mean price?"),
        ("Price < 5", "Price", "unknown attribute Price", "did you mean price?"),
        ("price < 5 and total > 1", "total", "unknown attribute total", "did you mean order.total?"),
        ("zzz < 5", "zzz", "unknown attribute zzz", "known are price, volume"),
        ("price = 'abc'", "'abc'", "price is a float and cannot be compared with the text 'abc'", "write a number"),
        ("volume in (1, 'a')", "'a'", "volume is an int and cannot", "write a number"),
        ("issue = 5", "5", "issue is a string and cannot be compared with the number 5", "in quotes"),
        ("active = 1", "1", "active is a bool and cannot be compared with the number 1", "true or false"),
        ("volume = true", "true", "volume is an int and cannot be compared with the truth value true", "a number"),
        ("time > 5", "5", "time is a timestamp and cannot be compared with the number 5", "a time"),
        ("time > 'soon'", "'soon'", "time is a timestamp, and 'soon' is not a time", None),
        ("address = 'x'", "'x'", "address is an ip, and 'x' is not an ip address", None),
        ("price contains 'a'", "price", "price is a float, and contains is a test of text", None),
        ("address like '10.%'", "address", "address is an ip, and like is a test of text", "in cidr"),
        ("place = 5", "place", "places have no order", "within region"),
        ("place < place", "place", "places have no order", "within region"),
        (
            "any(price) > 5",
            "any(price)",
            "any() is about the elements of a list, and price is a float",
            "without any()",
        ),
        ("tags = 'a'", "tags", "tags is a list of string", "any(tags) or all(tags)"),
        ("tags startswith 'a'", "tags", "tags is a list of string", "any(tags) or all(tags)"),
        ("scores contains 'a'", "'a'", "scores is an int and cannot be compared", "a number"),
        ("issue = price", "issue = price", "issue is a string and price a float: they cannot be compared", None),
        ("price in cidr '10.0.0.0/8'", "price", "price is a float, not an ip address", None),
        ("issue within 5 km of point(1, 2)", "issue", "issue is a string, and within is a test of a point", None),
        ("area within 5 km of point(1, 2)", "area", "area is a region, and within is a test of a point", None),
        ("?n > 5", "?n", "nothing binds the variable ?n", "an operator binds it"),
        ("1 = 'a'", "1 = 'a'", "the number 1 cannot be compared with the text 'a'", None),
        ("any(scores) = price", "any(scores) = price", "elements of a list are compared with constants only", None),
        ("people(prise)", "prise", "unknown attribute prise", "did you mean price?"),
    ],
)
def test_what_makes_no_sense_is_refused_at_its_place(text: str, place: str, message: str, hint: str | None) -> None:
    with pytest.raises(FilterError) as caught:
        check(parse(text), SCHEMA, text)
    error = caught.value
    assert message in error.message.replace("\n", " ")
    assert text[error.start : error.end] == place
    if hint is None:
        assert error.hint is None
    else:
        assert hint in (error.hint or "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x > 5 or x = 'a'", "x is used as a float and here as a string"),
        ("x = 'a' and any(x) = 'a'", "x is used as a string and here as a list of string"),
        ("any(x) is null", "nothing tells what the elements of x are"),
    ],
)
def test_without_a_schema_the_constants_have_to_agree(text: str, message: str) -> None:
    with pytest.raises(FilterError, match=message):
        check(parse(text), None, text)


X = Attribute("price")


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (Comparison(Arithmetic("*", X, Literal(2)), Comparator.GT, Literal(5)), "arithmetic with attributes"),
        (Comparison(X, Comparator.GT, Arithmetic("*", Literal(2), Literal(2))), "arithmetic with attributes"),
        (Comparison(X, Comparator.EQ, JoinVariable("x")), r"join variable \$x has a meaning only in a pattern"),
        (InNetwork(Attribute("address"), ("10.0.0.1/8",)), "host bits set"),
        (TextTest(Attribute("issue"), "like", Literal("a\\")), "escapes"),
        (TextTest(Attribute("issue"), "matches", Literal("(a")), "not a regular expression"),
        (TextTest(Attribute("issue"), "contains", Literal(5)), "contains needs a text, not the number 5"),
        (TextTest(Attribute("issue"), "contains", Literal("\ud800")), "surrogate"),
        (Comparison(Attribute("issue"), Comparator.EQ, Literal("\ud800")), "surrogate"),
        (TextTest(Literal("a"), "contains", Literal("a")), "needs an attribute"),
        (Within(Attribute("place"), Region("POINT(1 2)")), "not a polygon"),
        (Near(Attribute("place"), Point(1, 2), -1.0), "a distance is a number from 0 on"),
        (Near(Attribute("place"), Point(1, float("nan")), 1.0), "finite coordinates"),
    ],
)
def test_trees_made_by_hand_are_checked_as_well(node: Any, message: str) -> None:
    with pytest.raises(FilterError, match=message):
        check(node, SCHEMA)


# ---------------------------------------------------------------- what one event cannot decide, and patterns


def test_operators_and_variables_are_left_over() -> None:
    root = check(parse("people(place, ?n) and ?n * 2 > 50 and price < 5"), SCHEMA).root
    assert root is not None
    assert [type(leaf) for leaf in leaves(root)] == [Residual, Residual, Atom]


def test_every_step_of_a_pattern_is_checked() -> None:
    text = "a:[address = $x and price < 5] ; not [volume = 1] ; b:[address = $x] @ (t(b) - t(a) < 5 min) by issue"
    checked = check(parse(text), SCHEMA, text)
    assert checked.root is None
    assert [step.step.label for step in checked.steps] == ["a", None, "b"]
    assert Column("volume", INT) in checked.columns()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[price < 5] ; [prise < 5]", "unknown attribute prise"),
        ("[price < 5] ; [price < 5] by issues", "unknown attribute issues"),
        ("[price < 5] ; [price < 5] by issue, tags", "tags is a list of string, and events are partitioned by single"),
        ("[price < 5] ; [price < 5] by place", "place is a point, and events are partitioned by single values"),
    ],
)
def test_patterns_that_make_no_sense_are_refused(text: str, message: str) -> None:
    with pytest.raises(FilterError, match=message):
        check(parse(text), SCHEMA, text)


def test_the_place_of_a_partition_is_its_attribute() -> None:
    text = "[price < 5] ; [price < 5] by issue, issues"
    with pytest.raises(FilterError) as caught:
        check(parse(text), SCHEMA, text)
    assert caught.value.text[caught.value.start : caught.value.end] == "issues"
    assert caught.value.column == 37


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("a:[price < 5] ; [issue = a.issue]", "unknown attribute a.issue", "[… issue = $x] ; [… issue = $x]"),
        ("a:[price < 5] ; [issue = b.issue]", "unknown attribute b.issue", "did you mean issue?"),
        ("[issue = ?x] ; [issue = ?x]", "nothing binds the variable ?x", "is a join variable: $x; what an operator"),
    ],
)
def test_values_of_other_steps_are_join_variables(text: str, message: str, hint: str) -> None:
    with pytest.raises(FilterError, match=message.replace("?", r"\?")) as caught:
        check(parse(text), SCHEMA, text)
    assert caught.value.hint is not None
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ('"Order ID" = 5', '"Order ID"', "`Order ID` = 5"),
        ("\"type\" = 'PushEvent'", '"type"', "`type` = 'PushEvent'"),
        ("'PushEvent' = \"type\"", '"type"', "`type`"),
        ('price > 5 and "type" = "PushEvent"', '"type"', '`type` = "PushEvent"'),
        ('not ("a`b" between 1 and 5)', '"a`b"', "`a``b` between 1 and 5"),
        ('"say ""hi""" <=> null', '"say ""hi"""', '`say "hi"` <=> null'),
        ('"Order ID" in (5, 6)', '"Order ID"', "`Order ID` in (5, 6)"),
        ("\"name\" like 'x%'", '"name"', "`name` like 'x%'"),
        ('"name" is not null', '"name"', "`name` is not null"),
        ("\"from\" in cidr '10.0.0.0/8'", '"from"', "`from` in cidr '10.0.0.0/8'"),
        ('"place" within 5 km of point(1, 2)', '"place"', "`place` within 5 km of point(1, 2)"),
        ('"n" + 1 > 5', '"n"', "`n` + 1 > 5"),
        ("'m' between \"a\" and 'z'", '"a"', "`a`"),
        ("[\"type\" = 'x'] ; [price > 1]", '"type"', "`type` = 'x'"),
        ('"type" = ' + "'" + "x" * 100 + "'", '"type"', "`type`"),
    ],
)
def test_a_name_in_double_quotes_is_refused_where_nothing_else_is_tested(text: str, place: str, hint: str) -> None:
    for schema in (None, OPEN, SCHEMA):
        with pytest.raises(FilterError, match="this test has no attribute") as caught:
            check(parse(text), schema, text)
        assert text[caught.value.start : caught.value.end] == place
        assert caught.value.hint == f"a name stands in backticks: {hint}"


@pytest.mark.parametrize(
    "text",
    [
        'issue = "id"',
        '"id" = issue',
        'issue in ("a", "b")',
        'issue like "a%"',
        'issue between "a" and "z"',
        "'m' between \"a\" and issue",
        'locIn("Bronx")',
        'people(?who) and ?who = "Ann"',
        "'a' = 'b'",
        "\"\" = ''",
        "1 = 1",
        '[issue = "id"] ; [issue = $x and "id" = issue] ; [issue = $x]',
    ],
)
def test_a_text_in_double_quotes_beside_an_attribute_or_a_variable_is_a_text(text: str) -> None:
    check(parse(text), SCHEMA, text)


@given(st.text(min_size=1, max_size=30).filter(lambda name: "\0" not in name))
def test_the_name_that_is_proposed_is_the_one_that_was_meant(name: str) -> None:
    text = f'"{name.replace(chr(34), chr(34) * 2)}" = 5'
    with pytest.raises(FilterError) as caught:
        check(parse(text), None, text)
    proposed = str(caught.value.hint).removeprefix("a name stands in backticks: ").removesuffix(" = 5")
    comparison = parse(f"{proposed} = 5")
    assert comparison == Comparison(Attribute(name), Comparator.EQ, Literal(5))
