"""Parsing: what a text means, and that equal meanings give equal nodes."""

from __future__ import annotations

import datetime as dt
import ipaddress

import pytest

from tests.language.cases import pairs
from vedette.errors import FilterError
from vedette.language import ast
from vedette.language.ast import Attribute, Comparator, Comparison, Literal, Not, QuantifiedAttribute
from vedette.language.parser import parse, parse_filter
from vedette.language.render import render


@pytest.mark.parametrize(("text", "canonical"), pairs("filters.txt"))
def test_filters(text: str, canonical: str) -> None:
    found = parse_filter(text)
    assert render(found) == canonical
    assert parse(text) == parse(canonical) == found


def compared(text: str) -> Comparison:
    found = parse_filter(text)
    assert isinstance(found, Comparison)
    return found


def test_a_filter_is_the_tree_it_looks_like() -> None:
    found = parse("issue = 'IBM' and price < 120 and volume between 1000 and 5000")
    assert found == ast.And(
        (
            Comparison(Attribute("issue"), Comparator.EQ, Literal("IBM")),
            Comparison(Attribute("price"), Comparator.LT, Literal(120)),
            ast.Range(Attribute("volume"), Literal(1000), Literal(5000)),
        )
    )


@pytest.mark.parametrize(
    ("sign", "comparator"),
    [
        ("=", Comparator.EQ),
        ("==", Comparator.EQ),
        ("!=", Comparator.NE),
        ("<>", Comparator.NE),
        ("<", Comparator.LT),
        ("<=", Comparator.LE),
        (">", Comparator.GT),
        (">=", Comparator.GE),
        ("<=>", Comparator.SAME),
    ],
)
def test_comparators(sign: str, comparator: Comparator) -> None:
    assert compared(f"x{sign}5") == Comparison(Attribute("x"), comparator, Literal(5))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("12.0", 12.0),
        ("-12", -12),
        ("1e2", 100.0),
        (".5", 0.5),
        (f"{2**70}", 2**70),
        (f"-{2**63}", -(2**63)),
        ("'a''b'", "a'b"),
        ('"a""b\'c"', "a\"b'c"),
        ("true", True),
        ("FALSE", False),
        ("Null", None),
        ("timestamp '2024-05-01 12:00:00.25+02:00'", dt.datetime(2024, 5, 1, 10, 0, 0, 250_000, tzinfo=dt.UTC)),
        ("timestamp '2024-05-01'", dt.datetime(2024, 5, 1, tzinfo=dt.UTC)),
        ("date '2024-05-01'", dt.date(2024, 5, 1)),
        ("ip '::1'", ipaddress.ip_address("::1")),
        ("point(-1, 2.5)", ast.Point(-1.0, 2.5)),
        ("float 'inf'", float("inf")),
    ],
)
def test_constants(text: str, value: ast.Constant) -> None:
    found = compared(f"x = {text}").right
    assert found == Literal(value)
    assert isinstance(found, Literal)
    assert type(found.value) is type(value)


def test_a_number_stays_what_it_was_written_as() -> None:
    assert type(compared("x = 5").right.value) is int  # type: ignore[union-attr]
    assert type(compared("x = 5.0").right.value) is float  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("order.total = 1", "order.total"),
        ("`order-id`.`a b` = 1", "order-id.a b"),
        ("`a.b` = 1", "a.b"),
        ("a.in.like = 1", "a.in.like"),
        ("`select``s` = 1", "select`s"),
        ("time = 1", "time"),
        ("é.`ü ß` = 1", "é.ü ß"),
        ("exists = 1", "exists"),
        ("point = 1", "point"),
        ("Date = 1", "Date"),
    ],
)
def test_paths(text: str, path: str) -> None:
    assert compared(text).left == Attribute(path)


def test_not_binds_more_tightly_than_and_and_and_than_or() -> None:
    a, b, c = (Comparison(Attribute(name), Comparator.EQ, Literal(1)) for name in "abc")
    assert parse("a = 1 or not b = 1 and c = 1") == ast.Or((a, ast.And((Not(b), c))))
    assert parse("(a = 1 or not b = 1) and c = 1") == ast.And((ast.Or((a, Not(b))), c))


def test_parentheses_keep_what_they_group() -> None:
    a, b, c = (Comparison(Attribute(name), Comparator.EQ, Literal(True)) for name in "abc")
    assert parse("a and b and c") == ast.And((a, b, c))
    assert parse("a and (b and c)") == ast.And((a, ast.And((b, c))))


def test_a_value_alone_is_a_condition_if_it_can_be_one() -> None:
    assert parse("flag") == Comparison(Attribute("flag"), Comparator.EQ, Literal(True))
    assert parse("(true)") == ast.TruthLiteral(True)
    assert parse("null") == ast.TruthLiteral(None)


def test_constants_on_the_left_stay_there() -> None:
    assert parse("120 > price") == Comparison(Literal(120), Comparator.GT, Attribute("price"))


def test_is_not_distinct_is_the_null_safe_equality() -> None:
    same = Comparison(Attribute("x"), Comparator.SAME, Attribute("y"))
    assert parse("x is not distinct from y") == parse("x <=> y") == same
    assert parse("x is distinct from y") == Not(same)


def test_is_true_is_two_valued() -> None:
    assert parse("x is true") == Comparison(Attribute("x"), Comparator.SAME, Literal(True))
    assert parse("x is not false") == Not(Comparison(Attribute("x"), Comparator.SAME, Literal(False)))


@pytest.mark.parametrize("text", ["exists x", "exists(x)", "exists (x)", "x is not null", "x is not unknown"])
def test_exists(text: str) -> None:
    assert parse(text) == Not(ast.IsNull(Attribute("x")))


@pytest.mark.parametrize(
    ("text", "low_closed", "high_closed"),
    [("[1 .. 5]", True, True), ("[1..5)", True, False), ("(1 .. 5]", False, True), ("(1..5)", False, False)],
)
def test_the_four_ranges(text: str, low_closed: bool, high_closed: bool) -> None:
    inside = ast.Range(Attribute("x"), Literal(1), Literal(5), low_closed, high_closed)
    assert parse(f"x in {text}") == inside
    assert parse(f"x not in {text}") == Not(inside)


@pytest.mark.parametrize(
    ("word", "kind", "ignore_case"),
    [
        ("like", "like", False),
        ("ilike", "like", True),
        ("contains", "contains", False),
        ("icontains", "contains", True),
        ("startswith", "startswith", False),
        ("istartswith", "startswith", True),
        ("endswith", "endswith", False),
        ("iendswith", "endswith", True),
        ("matches", "matches", False),
        ("rlike", "matches", False),
        ("imatches", "matches", True),
    ],
)
def test_tests_of_text(word: str, kind: ast.TextKind, ignore_case: bool) -> None:
    test = ast.TextTest(Attribute("x"), kind, Literal("abc"), ignore_case)
    assert parse(f"x {word} 'abc'") == test
    assert parse(f"x not {word.upper()} 'abc'") == Not(test)


def test_like_with_another_escape() -> None:
    assert parse("x like '5!%' escape '!'") == ast.TextTest(Attribute("x"), "like", Literal("5!%"), escape="!")


def test_networks_are_brought_to_their_usual_form() -> None:
    found = parse("x in cidr ('10.1.2.3/8', '2001:DB8:0::/32')")
    assert found == ast.InNetwork(Attribute("x"), ("10.0.0.0/8", "2001:db8::/32"))


def test_distances_are_in_metres() -> None:
    assert parse("x within 2 mi of point(1, 2)") == ast.Near(Attribute("x"), ast.Point(1.0, 2.0), 3218.688)
    assert parse("x within 2 km of point(1, 2)") == ast.Near(Attribute("x"), ast.Point(1.0, 2.0), 2000.0)


def test_a_box_is_a_region() -> None:
    found = parse("x within region box(0, 1, 2, 3)")
    assert found == ast.Within(Attribute("x"), ast.Region("POLYGON ((0.0 1.0, 2.0 1.0, 2.0 3.0, 0.0 3.0, 0.0 1.0))"))


def test_a_quantifier_reaches_over_the_negation_behind_it() -> None:
    every, some = (QuantifiedAttribute(one, Attribute("x")) for one in ("all", "any"))
    items = (Literal(1), Literal(2))
    assert parse("any(x) not in (1, 2)") == Not(ast.In(every, items))
    assert parse("all(x) not in (1, 2)") == Not(ast.In(some, items))
    assert parse("not any(x) in (1, 2)") == Not(ast.In(some, items))
    assert parse("any(x) is not null") == Not(ast.IsNull(every))
    assert parse("all(x) is distinct from 1") == Not(Comparison(some, Comparator.SAME, Literal(1)))


def test_operators_and_variables() -> None:
    found = parse("near(place, 5, ?d) and ?d * 2 + 1 < ?e")
    d = ast.Variable("d")
    assert found == ast.And(
        (
            ast.Call("near", (Attribute("place"), Literal(5), d)),
            Comparison(
                ast.Arithmetic("+", ast.Arithmetic("*", d, Literal(2)), Literal(1)), Comparator.LT, ast.Variable("e")
            ),
        )
    )


def test_arithmetic_goes_from_left_to_right() -> None:
    a, b, c = (ast.Variable(name) for name in "abc")
    assert compared("?a - ?b - ?c = 0").left == ast.Arithmetic("-", ast.Arithmetic("-", a, b), c)
    assert compared("?a - ?b * ?c = 0").left == ast.Arithmetic("-", a, ast.Arithmetic("*", b, c))
    assert compared("?a - (?b - ?c) = 0").left == ast.Arithmetic("-", a, ast.Arithmetic("-", b, c))


def test_nodes_know_their_place() -> None:
    text = "a = 1 and not (order.total in (1, 2))"
    found = parse(text)
    assert isinstance(found, ast.And)
    assert [text[part.span.start : part.span.end] for part in found.parts] == ["a = 1", "not (order.total in (1, 2))"]
    negated = found.parts[1]
    assert isinstance(negated, Not)
    inside = negated.part
    assert isinstance(inside, ast.In)
    assert text[inside.operand.span.start : inside.operand.span.end] == "order.total"
    assert [text[item.span.start : item.span.end] for item in inside.items] == ["1", "2"]


def test_parse_filter_refuses_a_pattern() -> None:
    with pytest.raises(FilterError) as caught:
        parse_filter("[a = 1] ; [b = 2]")
    assert "pattern" in caught.value.message
    assert caught.value.hint is not None


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(FilterError, match="text"):
        parse(b"x = 1")  # type: ignore[arg-type]
    with pytest.raises(FilterError, match="surrogate"):
        parse("x = '\ud800'")


@pytest.mark.parametrize("text", ["(a = 1 and b = 2) or (c = 3)", "((a = 1)) and not (b = 2 or c = 3)"])
def test_a_parenthesis_at_the_beginning_is_part_of_the_whole(text: str) -> None:
    found = parse(f" {text} ")
    assert f" {text} "[found.span.start : found.span.end] == text
