"""Texts as disjuncts: what is unfolded, what is refused, where, and with which hint; the quick way does the same."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.meeting.generate import SCHEMA as ALL_TYPES
from tests.meeting.generate import Writer, case
from tests.meeting.oracle import Oracle
from tests.seeds import EXAMPLES, SEED, some
from vedette.errors import FilterError, LimitError
from vedette.language.ast import Point
from vedette.language.valuesets import PRESENT, Interval, ValueSet
from vedette.meeting.allowed_values import Area, Disc, Elements
from vedette.meeting.constraint_parser import Constraint, Constraints, read_constraint
from vedette.schema.schema import Schema

_TYPES = """
x: int, y: int, f: float, s: string, b: bool, t: timestamp, d: date, a: ip, p: point, z: region,
tags: list of string, ns: list of int, as: list of ip, ps: list of point, bs: list of bool
"""
SCHEMA = Schema.of(dict(each.strip().split(": ") for each in _TYPES.split(",")))
TEXTS = 20 * EXAMPLES


def allowed(text: str, schema: Schema = SCHEMA) -> list[dict[str, Any]]:
    """Attribute -> what is allowed, of every disjunct."""
    return said(read_constraint(text, schema))


def said(constraint: Constraint) -> list[dict[str, Any]]:
    """The same of a constraint."""
    return [{term.attribute: term.allowed for term in disjunct.terms} for disjunct in constraint.disjuncts]


def values(*intervals: tuple[Any, Any], null: bool = False) -> ValueSet[Any]:
    """A set of keys."""
    return ValueSet(tuple(Interval(low, high) for low, high in intervals), null)


_TEN = b"\0" * 10 + b"\xff\xff\x0a\0\0"  # 10.0.0.

# ---------------------------------------------------------------- disjuncts


def test_ands_are_distributed_over_ors_in_the_order_of_the_text() -> None:
    one, two, three, four = (values((n, n + 1)) for n in (1, 2, 3, 4))
    assert allowed("(x = 1 or x = 2) and (y = 3 or y = 4)") == [
        {"x": one, "y": three},
        {"x": one, "y": four},
        {"x": two, "y": three},
        {"x": two, "y": four},
    ]


def test_negations_are_pushed_down() -> None:
    assert allowed("not (x < 1 or y >= 2)") == allowed("x >= 1 and y < 2")
    assert allowed("not (x < 1 and y >= 2)") == allowed("x >= 1 or y < 2")
    assert allowed("not not (not (x = 1 and not y = 1))") == allowed("x != 1 or y = 1")
    assert allowed("not (x is null or y = 1 and false)") == allowed("x is not null and (y != 1 or true)")


def test_nothing_is_simplified() -> None:
    assert len(allowed("x = 1 or x = 1 and y = 1")) == 2
    assert len(allowed("x = 1 or x = 1")) == 2
    assert allowed("x is not null and y = 1") == [{"x": PRESENT, "y": values((1, 2))}]


def test_constants_that_are_conditions() -> None:
    assert allowed("true") == [{}]
    assert allowed("true or x = 1") == [{}, *allowed("x = 1")]
    assert allowed("x = 1 or false or null") == allowed("x = 1")
    assert allowed("x = 1 and (true or y = 1)") == [*allowed("x = 1"), *allowed("x = 1 and y = 1")]
    assert allowed("x = 1 and 2 > 1") == allowed("x = 1")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x >= 1 and x < 5", values((1, 5))),
        ("x < 5 and not x < 1", values((1, 5))),
        ("5 > x and 1 <= x", values((1, 5))),
        ("s >= '' and s < 'b'", values((None, b"b"))),
        ("b >= false and b < true", values((None, 1))),
        ("x >= -9223372036854775808 and x < 5", values((None, 5))),
        ("f > float '-inf' and f <= float 'nan'", values((-0x7FF0_0000_0000_0000, None))),
        ("a > '10.0.0.1' and a < '10.0.0.3'", values((_TEN + b"\2", _TEN + b"\3"))),
    ],
)
def test_a_lower_and_an_upper_bound_are_a_range(text: str, found: ValueSet[Any]) -> None:
    (only,) = allowed(text)
    assert list(only.values()) == [found]


def test_bounds_of_texts_and_addresses_are_those_that_values_can_have() -> None:
    assert allowed("s like 'ÿ%'") == [{"s": values(("ÿ".encode(), "Ā".encode()))}]
    assert allowed("s not like 'a\U0010ffff%'") == [{"s": values((None, "a\U0010ffff".encode()), (b"b", None))}]
    assert allowed("a in ('10.0.0.1', '10.0.0.2')") == allowed("a between '10.0.0.1' and '10.0.0.2'")
    assert allowed("any(as) > '10.0.0.1'") == allowed("any(as) >= '10.0.0.2'")


def test_places_and_lists() -> None:
    assert allowed("p within 5 km of point(1, 2)") == [{"p": Disc(Point(1.0, 2.0), 5000.0)}]
    (area,) = allowed("z within region box(0, 0, 1, 1)")
    assert isinstance(area["z"], Area)
    assert allowed("p is null or p is not null") == [{"p": values(null=True)}, {"p": PRESENT}]
    assert allowed("any(ns) = 1") == allowed("ns contains 1") == [{"ns": Elements("any", values((1, 2)))}]
    assert allowed("not any(ns) = 1") == allowed("all(ns) != 1")
    assert allowed("not all(ns) > 1") == allowed("any(ns) <= 1")
    assert allowed("any(ns) is null") == [{"ns": Elements("any", values(null=True))}]
    assert allowed("ns is null") == [{"ns": values(null=True)}]
    assert allowed("all(bs) < false") == [{"bs": Elements("all", values())}]  # the list without elements


def test_terms_know_how_they_were_written() -> None:
    (disjunct,) = read_constraint("y = 1 and not x < 5 and x <= 9", SCHEMA).disjuncts
    assert [term.attribute for term in disjunct.terms] == ["x", "y"]
    assert [[test.positive for test in term.tests] for term in disjunct.terms] == [[False, True], [True]]


# ---------------------------------------------------------------- refusals

ONCE = "is asked about more than once where all of it has to hold"
SAY_ONCE = "say it once"
NO_VALUE = "leave it out, or mend its bounds"
BEGINNING = "like 'abc%'"
CONSTANT = "compare an attribute with a constant"


@pytest.mark.parametrize(
    ("text", "message", "place", "hint"),
    [
        ("x = 1 and x = 2", f"x {ONCE}", "x = 2", SAY_ONCE),
        ("x = 1 and x = 1", f"x {ONCE}", "x = 1", SAY_ONCE),
        ("x > 1 and y = 1 and x > 2", f"x {ONCE}", "x > 2", SAY_ONCE),
        ("x > 1 and x < 9 and x != 5", f"x {ONCE}", "x != 5", SAY_ONCE),
        ("x != 5 and x > 1 and x < 9", f"x {ONCE}", "x > 1", SAY_ONCE),
        ("x between 1 and 5 and x < 3", f"x {ONCE}", "x < 3", SAY_ONCE),
        ("x is not null and x > 5", f"x {ONCE}", "x > 5", SAY_ONCE),
        ("s != '' and s < 'b'", f"s {ONCE}", "s < 'b'", SAY_ONCE),
        ("s like 'a%' and s < 'b'", f"s {ONCE}", "s < 'b'", SAY_ONCE),
        ("b = true and b <= true", f"b {ONCE}", "b <= true", SAY_ONCE),
        ("y = 1 or not (x = 1 or not x > 2)", f"x {ONCE}", "x > 2", SAY_ONCE),
        ("(x = 1 or y = 1) and (x = 2 or y = 2)", f"x {ONCE}", "x = 2", SAY_ONCE),
        ("any(ns) = 1 and any(ns) = 2", f"ns {ONCE}", "any(ns) = 2", SAY_ONCE),
        ("any(ns) > 1 and any(ns) < 9", f"ns {ONCE}", "any(ns) < 9", SAY_ONCE),
        ("s = ip '10.0.0.1' and s = 'x'", f"s {ONCE}", "s = 'x'", SAY_ONCE),
        ("s > ip '10.0.0.1' and s < 'x'", f"s {ONCE}", "s < 'x'", SAY_ONCE),
        ("x > 2 and x < 3", "no value of x satisfies x > 2 and x < 3", "x < 3", NO_VALUE),
        ("x < 1 or x between 5 and 1", "no value of x satisfies x between 5 and 1", "x between 5 and 1", NO_VALUE),
        ("x = 2.5", "no value of x satisfies x = 2.5", "x = 2.5", NO_VALUE),
        ("x = null", "no value of x satisfies x = null", "x = null", NO_VALUE),
        ("x not in (1, null)", "no value of x satisfies x not in (1, null)", "x not in (1, null)", NO_VALUE),
        ("x > 9223372036854775807", "no value of x", "x > 9223372036854775807", NO_VALUE),
        ("not b >= false", "no value of b satisfies not b >= false", "b >= false", NO_VALUE),
        ("f < float '-inf'", "no value of f", "f < float '-inf'", NO_VALUE),
        ("a > '10.0.0.1' and a < '10.0.0.2'", "no value of a", "a < '10.0.0.2'", NO_VALUE),
        ("any(as) in ('10.0.0.1' .. '10.0.0.2')", "no value of as", None, NO_VALUE),
        ("any(bs) < false", "no value of bs", None, NO_VALUE),
        ("false", "this is never true, so that nothing can meet it", None, None),
        ("x = 1 and null", "this is never true", None, None),
        ("not true", "this is never true", None, None),
        ("y = 1 and s contains 'x'", "which texts satisfy s contains 'x'", "s contains 'x'", BEGINNING),
        ("s like 'a%b'", "which texts satisfy s like 'a%b'", "s like 'a%b'", BEGINNING),
        ("s not like '%b'", "which texts satisfy", None, BEGINNING),
        ("s ilike 'a%'", "which texts satisfy", "s ilike 'a%'", BEGINNING),
        ("s matches '^a'", "which texts satisfy", "s matches '^a'", BEGINNING),
        ("any(tags) endswith 'a'", "which texts satisfy", "any(tags) endswith 'a'", BEGINNING),
        ("not p within region box(0, 0, 1, 1)", "without a negation", "p within region box(0, 0, 1, 1)", "where it is"),
        ("p not within 5 km of point(0, 0)", "without a negation", None, "where it is"),
        ("any(ps) within region box(0, 0, 1, 1)", "lists of places", "any(ps) within region box(0, 0, 1, 1)", "one"),
        ("x = 1 and x < y", "x < y compares with two attributes", "x < y", CONSTANT),
        ("x between y and 5", "compares with two attributes", None, CONSTANT),
        ("x = 1 and near(p)", "near(p) compares with more than constants (the operator near)", "near(p)", CONSTANT),
        ("f(?v) and ?v > 5", "the operator f", "f(?v)", CONSTANT),
        ("x = 1 and text(s) = 'a'", "text(s) is a view", "text(s) = 'a'", "attributes themselves"),
        ("any(strings(*)) = 'a'", "strings(*) is a view", None, "attributes themselves"),
        ("text(s) = text(x)", "compares with two attributes", None, CONSTANT),
        ("[x = 1] ; [x = 2]", "this is a pattern over several events", "[x = 1] ; [x = 2]", "without [ ]"),
        ("q = 1", "unknown attribute q", "q", None),
        ("x = 'a'", "x is an int and cannot be compared with", "'a'", None),
        ("x = ", "", None, None),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_place_and_a_hint(
    text: str, message: str, place: str | None, hint: str | None
) -> None:
    for reader in (lambda each: read_constraint(each, SCHEMA), Constraints(SCHEMA).read):
        with pytest.raises(FilterError) as caught:
            reader(text)
        assert message in caught.value.message
        assert caught.value.text == text
        if place is not None:
            assert text[caught.value.start : caught.value.end] == place
            assert caught.value.start == text.rindex(place)
        assert hint is None or hint in (caught.value.hint or "")


def test_what_is_no_text_is_refused() -> None:
    for reader in (lambda each: read_constraint(each, SCHEMA), Constraints(SCHEMA).read):
        with pytest.raises(FilterError, match="is text, not int"):
            reader(5)  # type: ignore[arg-type]


def test_too_many_disjuncts_are_refused_before_they_are_made() -> None:
    names = [f"v{number}" for number in range(60)]
    schema = Schema.of(dict.fromkeys(names, "int"))
    text = " and ".join(f"({name} = 1 or {name} = 2)" for name in names)
    for written in (text, f"not ({text.replace(' and ', ' # ').replace(' or ', ' and ').replace(' # ', ' or ')})"):
        with pytest.raises(LimitError, match=f"{2**60:,} disjuncts; the limit is 10,000") as caught:
            read_constraint(written, schema)
        assert "several constraints" in (caught.value.hint or "")
    few = " and ".join(f"({name} = 1 or {name} = 2)" for name in names[:13])
    assert len(read_constraint(few, schema).disjuncts) == 2**13


# ---------------------------------------------------------------- random texts


@pytest.mark.parametrize("seed", some(1010, 1000))
def test_a_text_is_refused_just_if_a_disjunct_of_it_is_never_true(seed: int) -> None:
    oracle = case(seed).oracle
    for text, written in oracle.written.items():
        try:
            found: list[list[str]] | None = [sorted(each) for each in allowed(text, ALL_TYPES)]
        except FilterError:
            found = None
        assert found == ([sorted(each) for each in written.disjuncts] if oracle.can_be(text) else None), text


def test_the_quick_way_is_the_long_way() -> None:
    """Texts of few shapes, many constants: what was read before must not show."""
    random = Random(SEED)
    shapes = [Writer(random, ALL_TYPES, list(ALL_TYPES)).constraint() for _ in range(40)] + SHAPES
    reader = Constraints(ALL_TYPES)
    quick = 0
    for _ in range(TEXTS):
        text = varied(random, random.choice(shapes))
        try:
            wanted: Any = said(read_constraint(text, ALL_TYPES))
        except FilterError as error:
            wanted = str(error)
        try:
            found: Any = reader.read(text)
            quick += not any(term.tests for each in found.disjuncts for term in each.terms)
            found = said(found)
        except FilterError as error:
            found = str(error)
        assert found == wanted, text
    assert quick > TEXTS / 10


SHAPES = [
    "i > 1 and i < 5",
    "i >= 1 and f < 2.5 and s = 'a'",
    "s >= 'a' and s < 'b'",
    "s != 'a' and s < 'b'",
    "s like 'a%' and f != 1",
    "i in (1, 2, 3) and r in ('a', 'b')",
    "i between 1 and 5 and größe not between 1 and 5",
    "a = '10.0.0.1' and d < '2024-05-03'",
    "not i = 1 and not f >= 2",
    "i = 1 or f = 2",
    "i = -1 and f > -2",
    "i = 1 /* 'a' */ and f = 2",
    "i = 1 -- 'a'\n and f = 2",
    "s = 'a' and i is null",
    "s <=> 'a' and f is distinct from 1",
]
_NUMBERS = ("0", "1", "2", "3", "5", "2.5", "9007199254740993", "9223372036854775807", "9223372036854775808", "1e3")
_TEXTS = ("", "a", "b", "ab", "é", "it''s", "a%", "%", "a%b", "*/ or i = 1 and d = date /*", "10.0.0.2", "2024-05-02")


def varied(random: Random, shape: str) -> str:
    """A text with some of its constants changed."""
    made, quoted = [], False
    for part in shape.replace("''", "\x01").split("'"):
        if quoted:
            made.append("'" + (random.choice(_TEXTS) if random.random() < 0.4 else part.replace("\x01", "''")) + "'")
        else:
            words = part.replace("\x01", "''").split(" ")
            made.append(
                " ".join(
                    random.choice(_NUMBERS) if each.isdigit() and random.random() < 0.5 else each for each in words
                )
            )
        quoted = not quoted
    return "".join(made)


def test_oracles_see_what_is_asked_twice() -> None:
    """The generator keeps its word: no disjunct has more than one test, or two ends, of an attribute."""
    for seed in range(1000, 1004):
        for written in case(seed).oracle.written.values():
            for disjunct in written.disjuncts:
                assert all(len(tests) <= 2 for tests in disjunct.values()), written.text
    twice = "i = 1 and i = 2"
    assert not Oracle(ALL_TYPES, [twice]).can_be(twice)
