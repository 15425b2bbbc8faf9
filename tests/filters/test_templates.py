"""Filled-in templates say what the whole way says."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.language.random_filters import FILTERS, SCHEMA
from vedette.errors import VedetteError
from vedette.filters import templates as module
from vedette.filters.templates import Templates, normal_form
from vedette.language.ast import Filter
from vedette.language.normalform import NormalForm
from vedette.language.render import render
from vedette.schema.schema import Schema

OPEN = Schema({}, closed=False)
_CONSTANT = re.compile(r"'(?:[^']|'')*'|(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?")
_NUMBERS = ["0", "0.0", "1", "2", "2.5", "5.", "1e3", "9223372036854775807", "9223372036854775808", "1e400", "1e-400"]
_TEXTS = ["''", "'a'", "'it''s'", "'b'", "'é'", "'a\0'", "'10.0.0.1'", "'2024-05-01'", "'x -- y'", "'5'"]


def _outcome(text: str, schema: Schema, read: Callable[[str], NormalForm]) -> NormalForm | str:
    try:
        return read(text)
    except VedetteError as error:
        return f"{type(error).__name__}: {error}"


def _others(text: str, random: Random) -> str:
    """The same text with other constants, mostly of the same kind."""

    def other(match: re.Match[str]) -> str:
        same = random.random() < 0.9
        return random.choice(_TEXTS if match[0].startswith("'") is same else _NUMBERS)

    return _CONSTANT.sub(other, text)


def _agree(texts: list[str], schema: Schema) -> Templates:
    templates = Templates(schema)
    for text in texts:
        whole = _outcome(text, schema, lambda t: normal_form(t, schema))
        assert _outcome(text, schema, templates.normal_form) == whole, text
    return templates


@given(tree=FILTERS, random=st.randoms(use_true_random=False))
def test_any_filter_with_any_constants(tree: Filter, random: Random) -> None:
    text = render(tree)
    _agree([text, text, *(_others(text, random) for _ in range(6))], SCHEMA)


_PLAIN = [
    "i = 5",
    "i > 5 and i < 9",
    "f >= -1.5 and s = 'a'",
    "i between 3 and 7 and f in (1, 2.5, 4)",
    "s in ('a', 'b') and s > 'a'",
    "5 < i and (f <= 2 and s = 'x')",
    "i in [1 .. 5) and f in (0.5 .. 2]",
    "i = - 5 and i >= -7",
    "s >= '' and i <= 3",
    "order.total < 99.5",
    "i != 5 and s != 'a'",
]


@pytest.mark.parametrize("schema", [SCHEMA, OPEN], ids=["schema", "open"])
@pytest.mark.parametrize("text", _PLAIN)
def test_plain_tests_have_templates(text: str, schema: Schema) -> None:
    random = Random(3)
    templates = _agree([text, text, *(_others(text, random) for _ in range(200))], schema)
    assert [template is not None for template in templates._known.values()] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "s like 'a%' and i = 5",
        "i = 5 or i = 7",
        "not i = 5",
        "t > '2024-01-01'",
        "i = 5 -- as in 6\n",
        "i = 5 /* and 'x' */",
        "`i` = 5",
        's = "a" and i = 5',
        "any(li) = 5",
        "i <=> 5",
        "p within 5 km of point(0, 0)",
        "i = 5 and i is not null",
        "a in cidr '10.0.0.0/8'",
        "true",
    ],
)
def test_everything_else_takes_the_whole_way(text: str) -> None:
    random = Random(3)
    templates = _agree([text, text, *(_others(text, random) for _ in range(20))], SCHEMA)
    assert not any(templates._known.values())


def test_names_and_constants_are_not_mixed_up() -> None:
    schema = Schema.of({"a1": "int", "a2": "int", "b.c3": "int"})
    _agree(["a1 = 1", "a1 = 1", "a2 = 1", "a2 = 2", "a2 = 2", "b.c3 = 4", "b.c3 = 5", "b.c3 = 6", "a1 = 1a2"], schema)


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TEMPLATES", 3)
    templates = Templates(OPEN)
    for number in range(20):
        for constant in range(3):
            assert templates.normal_form(f"x{number} = {constant}") == normal_form(f"x{number} = {constant}", OPEN)
        assert len(templates._known) <= 3
        assert len(templates._seen) <= 3
    long = " or ".join(f"an_attribute_with_a_long_name = {number}" for number in range(200))
    assert templates.normal_form(long) == normal_form(long, OPEN)
