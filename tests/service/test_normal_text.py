"""The normal form of a filter, in words."""

from __future__ import annotations

import pytest

from vedette.language.check import check
from vedette.language.normalise import normalise
from vedette.language.parser import parse
from vedette.schema.schema import Schema
from vedette.service.normal_text import lines

SCHEMA = (
    Schema.of(
        {
            "x": "int",
            "y": "int",
            "price": "float",
            "s": "string",
            "b": "bool",
            "t": "timestamp",
            "ip": "ip",
            "tags": "list<string>",
            "at": "point",
        }
    )
    if hasattr(Schema, "of")
    else None
)


def said(text: str) -> list[str]:
    return lines(normalise(check(parse(text), SCHEMA, text)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("price > 120.5", ["price > 120.5"]),
        ("price >= 1.5 and price < 2.5", ["price >= 1.5 and price < 2.5"]),
        ("x = 5 or x = 7", ["x in (5, 7)"]),
        ("x != 5", ["x != 5"]),
        ("not (x in (5, 7))", ["x not in (5, 7)"]),
        ("x > 5 and x < 10 and x != 7", ["(x = 6 or x > 7 and x < 10)"]),
        ("s = 'it''s'", ["s = 'it''s'"]),
        ("s > 'a'", ["s > 'a'"]),
        ("s contains 'x' and b", ["b = true and s contains 'x'"]),
        ("s not contains 'x'", ["not (s contains 'x')"]),
        ("x is null", ["x is null"]),
        ("x is not null", ["x is not null"]),
        ("x = 1 or s = 'a'", ["x = 1", "s = 'a'"]),
        ("x < y", ["x < y"]),
        ("x = 1 and x = 2", ["false"]),
        ("true", ["true"]),
        ("ip = ip '10.0.0.1'", ["ip = ip '10.0.0.1'"]),
        ("ip in cidr '10.0.0.0/8'", ["ip in cidr '10.0.0.0/8'"]),
        ("ip in cidr '2001:db8::/32'", ["ip in cidr '2001:db8::/32'"]),
        ("ip in cidr '0.0.0.0/0'", ["ip in cidr '0.0.0.0/0'"]),
        ("ip in cidr '::/0'", ["ip is not null"]),
        ("ip in cidr '255.255.255.254/31'", ["ip in cidr '255.255.255.254/31'"]),
        ("not ip in cidr '10.0.0.0/8'", ["(ip <= ip '9.255.255.255' or ip >= ip '11.0.0.0')"]),
        ("ip > ip '10.0.0.0' and ip <= ip '10.0.0.9'", ["ip >= ip '10.0.0.1' and ip <= ip '10.0.0.9'"]),
        ("ip < ip '::1'", ["ip in cidr '::/128'"]),
        ("tags contains 'a'", ["any(tags) = 'a'"]),
        ("at within 5 km of point(1, 2)", ["at within 5000 m of point(1, 2)"]),
    ],
)
def test_what_it_says(text: str, expected: list[str]) -> None:
    assert said(text) == expected


@pytest.mark.parametrize("text", ["price > 120.5", "x in (5, 7)", "x != 5", "s > 'a'", "x = 1 or s = 'a'"])
def test_it_can_be_read_again_and_says_the_same(text: str) -> None:
    again = " or ".join(f"({line})" for line in said(text))
    assert said(again) == said(text)


def test_many_conjunctions_are_cut() -> None:
    text = " or ".join(f"(x = {n} and y = {n + 1})" for n in range(60))
    made = said(text)
    assert made[-1] == "… and 10 more"
    assert len(made) == 51
