"""Limits: what would cost too much is refused, and refused by the cheap check that comes first."""

from __future__ import annotations

import json
import sys

import pytest

from vedette.errors import FilterError, LimitError
from vedette.language import ast, limits
from vedette.language.check import check
from vedette.language.normalise import normalise
from vedette.language.parser import parse
from vedette.language.render import render

NODES, NESTING, BYTES = limits.NODES, limits.NESTING, limits.TEXT_BYTES


def filled(text: str, tail: str = "") -> str:
    """The text over and over, just within the limit."""
    return text * ((BYTES - len(tail)) // len(text)) + tail


# An event pattern with a thousand alternatives of ten fields each.
WIDE = json.dumps({f"k{n}": {"$or": [{"a": ["x"]}, {"b": ["x"]}]} for n in range(9)} | {"k": ["x"]})

TOO_MUCH = {
    "100,000 parentheses": "(" * 100_000,
    "10,000 nots": "not " * 10_000 + "x",
    "parentheses": filled("("),
    "closed parentheses": "(" * 8_000 + "x" + ")" * 8_000,
    "nots": filled("not ", "x"),
    "signs": "x = " + "- " * 8_000 + "1",
    "sums": "x > " + "1+" * 8_000 + "1",
    "sums in parentheses": "(" * 40 + "1" + "+1)" * 40 + "+1" * 40 + " > 2",
    "sums on the right": "x > " + "1+(" * 2_000 + "1" + ")" * 2_000,
    "calls": filled("f("),
    "exists": filled("exists(", "x"),
    "alternatives": filled("a or ", "a"),
    "conjuncts": filled("a=1 and ", "a=1"),
    "items": "x in (" + "1," * NODES + "1)",
    "networks": "x in cidr (" + "'10.0.0.1'," * NODES + "'10.0.0.1')",
    "arguments": "f(" + "1," * NODES + "1)",
    "event patterns": " or ".join([f"x fits '{WIDE}'"] * 20),
    "steps": filled("[a];", "[a]"),
    "absences": "[a];" + "not [b];" * NODES + "[c]",
    "repetitions": "[x]" + "{9}" * 5_000,
    "repetitions of one": "[x]" + "{1}" * 5_000,
    "a repetition": "[x]{1000000}",
    "repetitions that multiply": "([x]{100} , [y]){100}",
    "a repetition of many digits": "[x]{" + "9" * 9_000 + "}",
    "time conditions": "a:[x]" + "@(t(a)<t(a))" * 1_000,
    "joined time conditions": "a:[x] @ (" + "t(a)<t(a) and " * NODES + "t(a)<t(a))",
    "partitions": "[a] by " + ",".join(f"a{number}" for number in range(NODES + 1)),
    "parts of a name": ".".join("a" * 987) + " = 1",
    "a part of a name": "x.`" + "a" * 256 + "` = 1",
    "parts of an argument": "f(" + ".".join("a" * 33) + ")",
    "parts of the name of a partition": "[a] ; [b] by " + ".".join("a" * 33),
    "digits": "x = " + "9" * 5_000,
    "decimals": "x = 1." + "9" * 5_000,
    "digits in quotes": "x = float '" + "9" * 5_000 + "'",
    "a duration": "[a] within 1e300 d",
    "a regular expression": "x matches '" + "a" * 5_000 + "'",
    "a regular expression's program": r"x matches '\pL{500}'",
    "a regular expression's repetition": "x matches '((a{100}){100}){100}'",
    "Unicode classes": r"x matches '" + r"\pL" * 100 + "'",
    "regular expressions together": " or ".join(f"x matches '.{{{n}}}'" for n in range(300, 400)),
}


@pytest.mark.parametrize("text", TOO_MUCH.values(), ids=TOO_MUCH.keys())
def test_too_much_is_refused(text: str) -> None:
    with pytest.raises(LimitError) as caught:
        parse(text)
    assert len(str(caught.value)) < 500


HOSTILE = {
    "minus signs": filled("-"),
    "blanks": filled(" "),
    "quotes": filled("'"),
    "unclosed quotes": "'" + filled("''")[2:],
    "double quotes": filled('"'),
    "backticks": filled("`")[1:],
    "open comments": filled("/*"),
    "brackets": filled("["),
    "labels": filled("a:["),
    "dots": filled("."),
    "paths": filled("a.", "."),
    "words": filled("abcd "),
    "one word": "x " + "a" * 16_000,
    "zeros": filled("\0"),
    "comparisons": filled("a<", "a"),
    "percent signs": filled("%"),
    "a region": "a within region 'MULTIPOLYGON" + "(" * 8_000 + "'",
    "an address": "x = ip '" + "1." * 8_000 + "'",
    "a time": "x = timestamp '" + "9" * 16_000 + "'",
    "coordinates": "x = point(" + "9" * 900 + ", 1)",
    "a distance": "x within " + "9" * 900 + " km of point(1, 1)",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse(text)
    assert len(str(caught.value)) < 500


def test_the_text_may_have_so_many_bytes() -> None:
    head, tail = "x = '", "'"
    room = BYTES - len(head) - len(tail)
    assert isinstance(parse(head + "a" * room + tail), ast.Comparison)
    assert isinstance(parse(head + "é" * (room // 2) + tail), ast.Comparison)
    with pytest.raises(LimitError):
        parse(head + "a" * (room + 1) + tail)
    with pytest.raises(LimitError):
        parse(head + "é" * (room // 2 + 1) + tail)


def test_it_may_be_nested_so_deep() -> None:
    assert isinstance(parse("(" * NESTING + "x" + ")" * NESTING), ast.Comparison)
    assert isinstance(parse("not " * NESTING + "x"), ast.Not)
    with pytest.raises(LimitError, match="64"):
        parse("(" * (NESTING + 1) + "x" + ")" * (NESTING + 1))
    with pytest.raises(LimitError, match="64"):
        parse("not " * (NESTING + 1) + "x")


def test_it_may_have_so_many_nodes() -> None:
    # The list itself, its attribute, and an item each.
    assert isinstance(parse(f"x in ({', '.join(['1'] * (NODES - 2))})"), ast.In)
    with pytest.raises(LimitError, match=f"{NODES:,}"):
        parse(f"x in ({', '.join(['1'] * (NODES - 1))})")
    # Three for each comparison, and one for all of them.
    assert isinstance(parse(" and ".join(["a = 1"] * ((NODES - 1) // 3))), ast.And)
    with pytest.raises(LimitError, match=f"{NODES:,}"):
        parse(" and ".join(["a = 1"] * ((NODES - 1) // 3 + 1)))


def test_the_largest_known_rule_has_room() -> None:
    """4,432 tests in 348 kB: a rule of SigmaHQ's that lists hashes of drivers."""
    tests = [f"text(Hashes) icontains 'SHA256={number:056x}'" for number in range(4_432)]
    text = " or ".join(tests)
    assert len(text) > 348_000
    found = normalise(check(parse(text), None, text))
    assert len(found.conjunctions) == 1
    assert len(found.conjunctions[0].probes[0][1].tests) == 4_432


def test_repetitions_count_as_what_they_are_written_out() -> None:
    assert isinstance(parse("([x] , [y]){500}"), ast.Composite)
    with pytest.raises(LimitError):
        parse("([x] , [y]){501}")


def test_a_number_may_have_so_many_digits() -> None:
    found = parse("x = " + "9" * limits.NUMBER_CHARACTERS)
    assert isinstance(found, ast.Comparison)
    assert found.right == ast.Literal(10**limits.NUMBER_CHARACTERS - 1)


@pytest.mark.parametrize(
    "text",
    [
        "(" * NESTING + "x = 1 or y = 2" + ") and z = 3" * NESTING,
        "not (" * (NESTING // 2) + "x" + ")" * (NESTING // 2),
        "x > " + "(" * (NESTING - 1) + "1" + " + 1)" * (NESTING - 1),
        "(" * (NESTING - 1) + "[x]" + "{1})" * (NESTING - 1),
    ],
)
def test_the_deepest_texts_need_no_deep_stack(text: str) -> None:
    depth, frame = 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + 600)
    try:
        found = parse(text)
        assert parse(render(found)) == found
    finally:
        sys.setrecursionlimit(limit)
