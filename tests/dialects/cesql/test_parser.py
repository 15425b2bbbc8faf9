"""What the parser reads, and what it refuses, with the place."""

from __future__ import annotations

import pytest

from vedette.dialects.cesql import parse
from vedette.dialects.cesql.nodes import (
    CesqlArithmetic,
    CesqlAttribute,
    CesqlCall,
    CesqlComparison,
    CesqlExists,
    CesqlExpression,
    CesqlIn,
    CesqlLike,
    CesqlLiteral,
    CesqlLogic,
    CesqlNegate,
    CesqlNot,
)
from vedette.errors import DialectError, LimitError

A, B, C = CesqlAttribute("a"), CesqlAttribute("b"), CesqlAttribute("c")


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("a", A),
        ("MyExt1", CesqlAttribute("myext1")),
        ("1a", CesqlAttribute("1a")),
        ("notes", CesqlAttribute("notes")),
        (" \t\r\n'x'\n", CesqlLiteral("x")),
        (r"'a\'b'", CesqlLiteral("a'b")),
        (r"'a\"b'", CesqlLiteral(r"a\"b")),
        (r'"a\"b"', CesqlLiteral('a"b')),
        (r"'a\\'", CesqlLiteral(r"a\\")),
        ("'a\nb'", CesqlLiteral("a\nb")),
        ("-2147483648", CesqlLiteral(-2147483648)),
        ("+007", CesqlLiteral(7)),
        ("--10", CesqlNegate(CesqlLiteral(-10))),
        ("- 10", CesqlNegate(CesqlLiteral(10))),
        ("a-1", CesqlArithmetic("-", A, CesqlLiteral(1))),
        ("a -1", CesqlArithmetic("-", A, CesqlLiteral(1))),
        ("1+-1", CesqlArithmetic("+", CesqlLiteral(1), CesqlLiteral(-1))),
        ("a - b - c", CesqlArithmetic("-", CesqlArithmetic("-", A, B), C)),
        ("a + b * c", CesqlArithmetic("+", A, CesqlArithmetic("*", B, C))),
        ("a * b % c", CesqlArithmetic("%", CesqlArithmetic("*", A, B), C)),
        ("a + b < c", CesqlComparison("<", CesqlArithmetic("+", A, B), C)),
        ("a <> b", CesqlComparison("!=", A, B)),
        ("a = b = c", CesqlComparison("=", CesqlComparison("=", A, B), C)),
        ("NOT a = b", CesqlComparison("=", CesqlNot(A), B)),
        ("NOT EXISTS a", CesqlNot(CesqlExists("a"))),
        ("NOT a LIKE 'x'", CesqlLike(CesqlNot(A), "x")),
        ("-a IN (1)", CesqlIn(CesqlNegate(A), (CesqlLiteral(1),))),
        ("a * b LIKE 'x'", CesqlArithmetic("*", A, CesqlLike(B, "x"))),
        ("a NOT LIKE 'x%'", CesqlLike(A, "x%", negated=True)),
        ("a not in (b, 'c')", CesqlIn(A, (B, CesqlLiteral("c")), negated=True)),
        ("a IN (1) LIKE 'true'", CesqlLike(CesqlIn(A, (CesqlLiteral(1),)), "true")),
        ("a AND b AND c", CesqlLogic("AND", (A, B, C))),
        ("(a AND b) AND c", CesqlLogic("AND", (A, B, C))),
        ("a AND (b AND c)", CesqlLogic("AND", (A, CesqlLogic("AND", (B, C))))),
        # AND, OR and XOR are equal, and taken from left to right.
        ("a OR b AND c", CesqlLogic("AND", (CesqlLogic("OR", (A, B)), C))),
        ("a AND b OR c", CesqlLogic("OR", (CesqlLogic("AND", (A, B)), C))),
        ("a XOR b", CesqlLogic("XOR", (A, B))),
        ("exists A", CesqlExists("a")),
        ("concat_ws(',', a)", CesqlCall("CONCAT_WS", (CesqlLiteral(","), A))),
        ("concat()", CesqlCall("CONCAT", ())),
        ("true", CesqlLiteral(True)),
    ],
)
def test_what_is_read(text: str, node: CesqlExpression) -> None:
    found = parse(text)
    assert found == node
    assert repr(found) == repr(node)  # 1 and TRUE are equal to Python


@pytest.mark.parametrize("text", ["(a)", "( a + b ) * c", "f( a , b )", "NOT ( a )", "(a) IN (b)", "EXISTS a", "-a"])
def test_a_span_is_the_text_of_a_whole_expression(text: str) -> None:
    found = parse(f"  {text} ")
    assert f"  {text} "[found.span.start : found.span.end] == text
    if isinstance(found, CesqlArithmetic):
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
    assert isinstance(found, CesqlLogic)
    assert len(found.parts) == 5_000
