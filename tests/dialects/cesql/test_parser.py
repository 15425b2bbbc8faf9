"""What the parser reads, and what it refuses, with the place."""

from __future__ import annotations

import pytest

from vedette.dialects.cesql import parse
from vedette.dialects.cesql.nodes import (
    Arithmetic,
    Attribute,
    Call,
    Comparison,
    Exists,
    Expression,
    In,
    Like,
    Literal,
    Logic,
    Negate,
    Not,
)
from vedette.errors import DialectError, LimitError

A, B, C = Attribute("a"), Attribute("b"), Attribute("c")


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("a", A),
        ("MyExt1", Attribute("myext1")),
        ("1a", Attribute("1a")),
        ("notes", Attribute("notes")),
        (" \t\r\n'x'\n", Literal("x")),
        (r"'a\'b'", Literal("a'b")),
        (r"'a\"b'", Literal(r"a\"b")),
        (r'"a\"b"', Literal('a"b')),
        (r"'a\\'", Literal(r"a\\")),
        ("'a\nb'", Literal("a\nb")),
        ("-2147483648", Literal(-2147483648)),
        ("+007", Literal(7)),
        ("--10", Negate(Literal(-10))),
        ("- 10", Negate(Literal(10))),
        ("a-1", Arithmetic("-", A, Literal(1))),
        ("a -1", Arithmetic("-", A, Literal(1))),
        ("1+-1", Arithmetic("+", Literal(1), Literal(-1))),
        ("a - b - c", Arithmetic("-", Arithmetic("-", A, B), C)),
        ("a + b * c", Arithmetic("+", A, Arithmetic("*", B, C))),
        ("a * b % c", Arithmetic("%", Arithmetic("*", A, B), C)),
        ("a + b < c", Comparison("<", Arithmetic("+", A, B), C)),
        ("a <> b", Comparison("!=", A, B)),
        ("a = b = c", Comparison("=", Comparison("=", A, B), C)),
        ("NOT a = b", Comparison("=", Not(A), B)),
        ("NOT EXISTS a", Not(Exists("a"))),
        ("NOT a LIKE 'x'", Like(Not(A), "x")),
        ("-a IN (1)", In(Negate(A), (Literal(1),))),
        ("a * b LIKE 'x'", Arithmetic("*", A, Like(B, "x"))),
        ("a NOT LIKE 'x%'", Like(A, "x%", negated=True)),
        ("a not in (b, 'c')", In(A, (B, Literal("c")), negated=True)),
        ("a IN (1) LIKE 'true'", Like(In(A, (Literal(1),)), "true")),
        ("a AND b AND c", Logic("AND", (A, B, C))),
        ("(a AND b) AND c", Logic("AND", (A, B, C))),
        ("a AND (b AND c)", Logic("AND", (A, Logic("AND", (B, C))))),
        # AND, OR and XOR are equal, and taken from left to right.
        ("a OR b AND c", Logic("AND", (Logic("OR", (A, B)), C))),
        ("a AND b OR c", Logic("OR", (Logic("AND", (A, B)), C))),
        ("a XOR b", Logic("XOR", (A, B))),
        ("exists A", Exists("a")),
        ("concat_ws(',', a)", Call("CONCAT_WS", (Literal(","), A))),
        ("concat()", Call("CONCAT", ())),
        ("true", Literal(True)),
    ],
)
def test_what_is_read(text: str, node: Expression) -> None:
    found = parse(text)
    assert found == node
    assert repr(found) == repr(node)  # 1 and TRUE are equal to Python


@pytest.mark.parametrize("text", ["(a)", "( a + b ) * c", "f( a , b )", "NOT ( a )", "(a) IN (b)", "EXISTS a", "-a"])
def test_a_span_is_the_text_of_a_whole_expression(text: str) -> None:
    found = parse(f"  {text} ")
    assert f"  {text} "[found.span.start : found.span.end] == text
    if isinstance(found, Arithmetic):
        assert f"  {text} "[found.left.span.start : found.left.span.end] == "( a + b )"


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "there is no expression"),
        ("ABC(", 5, "expected an attribute, a constant, a function or '\\(', found the end"),
        ("a = ", 5, "found the end"),
        ("a == b", 4, "Hint: equality is written ="),
        ("a && b", 3, "Hint: write AND"),
        ("a IS NULL", 3, "Hint: write EXISTS x, or NOT EXISTS x"),
        ("a BETWEEN 1 AND 2", 3, "Hint: write x >= 1 AND x <= 5"),
        ("a ADN b", 3, "Hint: did you mean AND?"),
        ("a LIKE 123", 8, "expected a pattern, found '123'"),
        ("a LIKE b", 8, "the pattern of LIKE is a string"),
        ("a NOT b", 7, "expected LIKE or IN, found 'b'"),
        ("a IN ()", 7, "something between the parentheses"),
        ("a IN b", 6, "expected '\\(' before a set, found 'b'"),
        ("EXISTS (a)", 8, "EXISTS is followed by the name of an attribute"),
        ("EXISTS 'a'", 8, "EXISTS is followed by the name of an attribute"),
        ("my_ext = 1", 1, "'my_ext' cannot be an attribute"),
        ("f1(a)", 1, "'f1' cannot be a function"),
        ("data.x = 1", 5, "what is in `data` cannot be reached"),
        ("'abc", 1, "a string that is not closed"),
        ("'it''s'", 5, "a quote inside a string is written with a backslash"),
        ("2147483648", 1, "an Integer has 32 bits"),
        ("-2147483649", 1, "an Integer has 32 bits"),
        ("+ 5", 1, "found '\\+'"),
        ("a = 'ä' Ä", 9, "unexpected 'Ä'"),
        ("(a", 3, "expected '\\)', found the end"),
        ("a b", 3, "expected an operator such as AND, = or LIKE, found 'b'"),
        ("a\nAND\n= b", 1, "line 3, column 1: expected an attribute"),
    ],
)
def test_what_is_refused(text: str, column: int, message: str) -> None:
    with pytest.raises(DialectError, match=message) as caught:
        parse(text)
    assert caught.value.column == column


def test_the_place_is_shown() -> None:
    with pytest.raises(DialectError) as caught:
        parse("type = 'a' AND subject LIKE 5")
    assert str(caught.value) == (
        "line 1, column 29: expected a pattern, found '5'\n"
        "  type = 'a' AND subject LIKE 5\n"
        "                              ^\n"
        "Hint: the pattern of LIKE is a string: LIKE 'com.example.%'"
    )


@pytest.mark.parametrize(
    "text",
    [
        "(" * 65 + "a" + ")" * 65,
        "NOT " * 65 + "a",
        "- " * 65 + "a",
        " + ".join(["a"] * 66),
        "a AND b OR " * 40 + "c",
        "a = '" + "x" * 140_000 + "'",
    ],
    ids=["parentheses", "nots", "signs", "sums", "alternating", "long"],
)
def test_what_would_cost_too_much_is_refused(text: str) -> None:
    with pytest.raises(LimitError):
        parse(text)


def test_a_long_chain_of_one_operator_is_not_deep() -> None:
    found = parse(" OR ".join(f"a = {number}" for number in range(5_000)))
    assert isinstance(found, Logic)
    assert len(found.parts) == 5_000
