"""Rendering: the canonical text of an AST reads back as that AST."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests import strategies
from tests.seeds import EXAMPLES
from vedette.language import ast
from vedette.language.parser import parse
from vedette.language.render import duration, render


def check(expression: ast.Expression) -> None:
    """The text reads back as the expression, is canonical, and every node knows its place in it."""
    text = render(expression)
    found = parse(text)
    assert found == expression
    assert repr(found) == repr(expression)  # 1 is not 1.0, and neither is true
    assert render(found) == text
    for node in nodes(found):
        assert 0 <= node.span.start < node.span.end <= len(text)


@given(strategies.filters())
@settings(max_examples=2 * EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_rendered_filter_reads_back(expression: ast.Filter) -> None:
    check(expression)


@given(strategies.composites())
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_rendered_pattern_reads_back(expression: ast.Composite) -> None:
    check(expression)


def nodes(node: Any) -> list[Any]:
    """A node and all nodes below it that have a span."""
    below = [getattr(node, field.name) for field in dataclasses.fields(node)]
    inside = [one for value in below for one in (value if isinstance(value, tuple) else (value,))]
    found = [child for one in inside if hasattr(one, "span") for child in nodes(one)]
    return [node, *found]


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (0, "0 s"),
        (1, "1 us"),
        (1_500, "1500 us"),
        (300_000_000, "5 min"),
        (-7_200_000_000, "-2 h"),
        (86_400_000_000 * 3, "3 d"),
    ],
)
def test_a_length_of_time_takes_the_largest_unit(microseconds: int, text: str) -> None:
    assert duration(microseconds) == text


def test_a_name_is_quoted_only_where_it_must_be() -> None:
    names = {"price": "price", "a.in": "a.in", "in": "`in`", "order-id.a b": "`order-id`.`a b`", "a`b": "`a``b`"}
    for path, text in names.items():
        assert render(ast.Attribute(path)) == text
    assert render(ast.Attribute("a..b")) == "`a..b`"
    assert render(ast.Call("any", ())) == "`any`()"
