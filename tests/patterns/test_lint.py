from __future__ import annotations

import pytest

from vedette.language.check import check
from vedette.language.parser import parse
from vedette.patterns.lint import lint
from vedette.schema.schema import Schema

SCHEMA = Schema.of({"x": "int", "ip": "string", "time": "timestamp"})


def _findings(text: str) -> list[tuple[str, str]]:
    return [(each.code, each.message) for each in lint(check(parse(text), SCHEMA, text))]


@pytest.mark.parametrize(
    "text",
    [
        "a:[x = 1] ; b:[x = 2] @ (t(b) - t(a) < 5 min)",
        "[x = 1] ; [x = 2] within 1 h",
        "[x = 1] ; [x = 2] by ip",
        "[x = 1 and ip = $v] ; [x = 2 and ip = $v]",
        "[x > 1]{5}",
        "[x = 1] , [x = 2]",
        "([x = 1] or [x = 2]) , [x = 3]",
        "(a:[x = 1] and b:[x = 2]) @ (t(b) - t(a) < 5 min)",
        "(a:[x = 1] and b:[x = 2]) @ (t(b) - t(a) > 5 min) within 6 min",
        "(a:[x = 1] and b:[x = 2]) @ (t(b) < t(a)) within 6 min",
        "a:[x = 1] ; b:[x = 2] @ (t(a) > timestamp '2024-05-01' and t(b) < timestamp '2024-05-02') within 1 d",
        # Whether the one in an `or` takes part is not known.
        "a:[x = 1] ; (b:[x = 2] or [x = 3]) @ (t(b) - t(a) < -1 s) within 1 h",
        "a:[x = 1] ; b:[x = 2] ; ([x = 2] @ (t(b) - t(a) < -1 s) or [x = 3]) within 1 h",
        "x = 1",
    ],
)
def test_nothing_to_say(text: str) -> None:
    assert _findings(text) == []


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("[x = 1 and x = 2] , [x = 3]", "never", "x = 1 and x = 2 can never both be true"),
        ("[x = 1 and x = 2 and ip = $v] ; [ip = $v]", "never", "x = 1 and x = 2 can never both be true"),
        (
            "a:[x = 1] ; b:[x = 2] @ (t(b) - t(a) < 0 s)",
            "never",
            "t(b) - t(a) < 0 s can never hold in this order of b and a",
        ),
        ("(a:[x = 1] ; b:[x = 2]) @ (t(b) < t(a))", "never", "t(b) < t(a) can never hold in this order of b and a"),
        (
            "a:[x = 1] ; b:[x = 2] @ (t(b) - t(a) > 10 min) within 5 min",
            "never",
            "t(b) - t(a) > 10 min can never hold: the whole pattern lies within 5 min",
        ),
        (
            "(a:[x = 1] and b:[x = 2]) @ (t(b) - t(a) > 10 min) within 5 min",
            "never",
            "t(b) - t(a) > 10 min can never hold: the whole pattern lies within 5 min",
        ),
        (
            "(a:[x = 1] ; b:[x = 2]) @ (t(b) - t(a) > 5 min and t(b) - t(a) < 1 min)",
            "never",
            "t(b) - t(a) < 1 min can never hold together with the conditions before it",
        ),
        (
            "(a:[x = 1] ; b:[x = 2] ; c:[x = 3]) @ (t(b) - t(a) > 5 min and t(c) - t(b) > 5 min"
            " and t(c) - t(a) <= 10 min)",
            "never",
            "t(c) - t(a) <= 10 min can never hold together with the conditions before it",
        ),
        (
            "(a:[x = 1] ; b:[x = 2]) @ (t(a) > timestamp '2024-05-02' and t(b) < timestamp '2024-05-01') by ip",
            "never",
            "t(b) < timestamp '2024-05-01' can never hold together with the conditions before it",
        ),
        (
            "a:[x = 1] ; b:[x = 2] @ (t(b) - t(a) < 10 min) within 5 min",
            "redundant",
            "t(b) - t(a) < 10 min adds nothing beside the window",
        ),
        (
            "a:[x = 1] ; b:[x = 2] @ (t(b) >= t(a)) within 5 min",
            "redundant",
            "t(b) >= t(a) adds nothing beside the order of the steps",
        ),
        ("[x = 1] ; [x = 2]", "unbounded", "nothing but the cap"),
        ("[x = 1] , [x = 2] ; [x = 3]", "unbounded", "nothing but the cap"),
        ("[x = 1] and [x = 2]", "unbounded", "nothing but the cap"),
        ("a:[x = 1] ; b:[x = 2] @ (t(b) - t(a) > 5 min)", "unbounded", "nothing but the cap"),
        ("a:[x = 1] ; b:[x = 2] @ (t(b) - t(a) < 5 min) ; [x = 3]", "unbounded", "nothing but the cap"),
    ],
)
def test_findings(text: str, code: str, says: str) -> None:
    assert [message for each, message in _findings(text) if each == code and says in message], _findings(text)


OPEN = Schema.of({"a.x": "int", "ip": "string"}, closed=False)


@pytest.mark.parametrize("schema", [None, Schema.of({"ip": "string"}, closed=False)])
def test_attributes_that_look_like_those_of_another_step(schema: Schema | None) -> None:
    text = "a:[x = 1] ; b:[x = 2 and ip = a.ip] within 1 h"
    (found,) = lint(check(parse(text), schema, text))
    assert (found.code, text[found.start : found.end]) == ("label", "ip = a.ip")
    assert found.message == "a.ip is an attribute of the same event, not the ip of step a"
    assert found.hint is not None
    assert "[… ip = $x] ; [… ip = $x]" in found.hint


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("a:[x = 1] ; b:[ip = a.ip] within 1 h", OPEN),  # events have an object of that name
        ("order:[order.x = order.y] ; [x = 1] within 1 h", None),
        ("a:[x = 1] ; b:[a.x = 1] within 1 h", None),
        ("a:[x = 1] ; b:[ip = c.ip] within 1 h", None),
    ],
)
def test_attributes_that_are_inside_objects(text: str, schema: Schema | None) -> None:
    assert lint(check(parse(text), schema, text)) == ()


def test_places_are_those_of_the_text() -> None:
    text = "a:[x = 1] ;\nb:[x = 2] @ (t(b) - t(a) > 10 min) within 5 min"
    (found,) = lint(check(parse(text), SCHEMA, text))
    assert text[found.start : found.end] == "t(b) - t(a) > 10 min"
    assert "line 2, column 14" in str(found)
