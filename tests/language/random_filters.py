"""Random filters and events over one schema, with all the awkward values."""

from __future__ import annotations

import datetime as dt
import ipaddress
import math
from random import Random
from typing import Any

from hypothesis import strategies as st

from vedette.language.ast import (
    And,
    Attribute,
    Comparator,
    Comparison,
    Filter,
    In,
    InNetwork,
    IsNull,
    Literal,
    Near,
    Not,
    Or,
    Point,
    QuantifiedAttribute,
    Range,
    Region,
    TextKind,
    TextTest,
    TruthLiteral,
    Within,
)
from vedette.schema.schema import Schema

SCHEMA = Schema.of(
    {
        "i": "int",
        "j": "int",
        "f": "float",
        "s": "string",
        "r": "string",
        "b": "bool",
        "t": "timestamp",
        "d": "date",
        "a": "ip",
        "p": "point",
        "g": "region",
        "order.total": "float",
        "li": "list of int",
        "ls": "list of string",
        "la": "list of ip",
        "lp": "list of point",
    }
)

UTC = dt.UTC
INTS = [-(2**63), -1, 0, 1, 2, 3, 5, 7, 2**53, 2**53 + 1, 2**63 - 1]
FLOATS = [-math.inf, -1.5, -0.0, 0.0, 5e-324, 1.0, 2.0, 2.5, 2.0**53, 1e300, math.inf, math.nan]
BEYOND = [2**63, 2**70, -(2**70), 10**400]
TEXTS = [
    "",
    "a",
    "A",
    "ab",
    "abc",
    "abd",
    "b",
    "ba",
    "é",
    "É",
    "z%",
    "_",
    "a\nb",
    "a\0",
    "𝄞a",
    "10.0.0.1",
    "2024-05-01",
]
TIMES = [
    dt.datetime(1970, 1, 1, tzinfo=UTC),
    dt.datetime(2024, 5, 1, tzinfo=UTC),
    dt.datetime(2024, 5, 1, 12, 30, tzinfo=UTC),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
]
DATES = [dt.date(1970, 1, 1), dt.date(2024, 5, 1), dt.date(2024, 5, 2)]
ADDRESSES = [
    ipaddress.ip_address(text)
    for text in (
        "0.0.0.0",
        "10.0.0.1",
        "10.0.0.2",
        "10.255.255.255",
        "::",
        "::ffff:10.0.0.1",
        "2001:db8::1",
        "f" * 4 + "::",
    )
]
NETWORKS = [
    "10.0.0.0/8",
    "10.0.0.0/9",
    "10.128.0.0/9",
    "10.0.0.1/32",
    "0.0.0.0/0",
    "::/0",
    "2001:db8::/32",
    "ffff::/16",
]
POINTS = [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0), (2.0, 2.0), (-73.9, 40.7)]
AREAS = ["POLYGON((0 0, 1 0, 1 1, 0 1, 0 0))", "POLYGON((2 2, 3 2, 3 3, 2 2))"]
PATTERNS = ["a%", "%a", "%a%", "%", "", "a", "a_", "_", "a%b", "%%a", "z\\%", "É%", "_%"]
REGEXES = ["a", "^a", "b$", "[ab]+c", "", "(?i)É", "."]


NUMBERS = st.one_of(st.sampled_from([*INTS, *FLOATS, *BEYOND]), st.integers(-3, 8))
CONSTANTS: dict[str, st.SearchStrategy[Any]] = {
    "i": NUMBERS,
    "j": NUMBERS,
    "f": NUMBERS,
    "order.total": NUMBERS,
    "li": NUMBERS,
    "s": st.sampled_from(TEXTS),
    "r": st.sampled_from(TEXTS),
    "ls": st.sampled_from(TEXTS),
    "b": st.booleans(),
    "t": st.sampled_from([*TIMES, *DATES, "2024-05-01T00:00:00Z"]),
    "d": st.sampled_from([*TIMES, *DATES, "2024-05-01"]),
    "a": st.sampled_from([*ADDRESSES, "10.0.0.1"]),
    "la": st.sampled_from(ADDRESSES),
}
LISTS = ("li", "ls", "la", "lp")


@st.composite
def operands(draw: st.DrawFn, paths: tuple[str, ...]) -> tuple[str, Attribute | QuantifiedAttribute]:
    path = draw(st.sampled_from(paths))
    if path in LISTS:
        return path, QuantifiedAttribute(draw(st.sampled_from(["any", "all"])), Attribute(path))
    return path, Attribute(path)


def literals(path: str) -> st.SearchStrategy[Literal]:
    return st.builds(Literal, st.one_of(CONSTANTS[path], CONSTANTS[path], CONSTANTS[path], st.none()))


@st.composite
def comparisons(draw: st.DrawFn) -> Filter:
    path, operand = draw(operands(tuple(CONSTANTS)))
    literal = draw(literals(path))
    op = draw(st.sampled_from(list(Comparator)))
    return Comparison(literal, op, operand) if draw(st.booleans()) else Comparison(operand, op, literal)


@st.composite
def pairs(draw: st.DrawFn) -> Filter:
    several = draw(st.sampled_from([("i", "j", "f", "order.total"), ("s", "r"), ("t", "d"), ("b", "b"), ("a", "a")]))
    left, right = draw(st.sampled_from(several)), draw(st.sampled_from(several))
    return Comparison(Attribute(left), draw(st.sampled_from(list(Comparator))), Attribute(right))


@st.composite
def ranges(draw: st.DrawFn) -> Filter:
    path, operand = draw(operands(tuple(CONSTANTS)))
    low, high = draw(literals(path)), draw(literals(path))
    return Range(operand, low, high, draw(st.booleans()), draw(st.booleans()))


@st.composite
def choices(draw: st.DrawFn) -> Filter:
    path, operand = draw(operands(tuple(CONSTANTS)))
    return In(operand, tuple(draw(st.lists(literals(path), min_size=1, max_size=4))))


@st.composite
def text_tests(draw: st.DrawFn) -> Filter:
    _, operand = draw(operands(("s", "r", "ls")))
    kind: TextKind = draw(st.sampled_from(["like", "contains", "startswith", "endswith", "matches"]))
    source = PATTERNS if kind == "like" else REGEXES if kind == "matches" else TEXTS
    pattern = draw(st.one_of(st.sampled_from(source), st.sampled_from(source), st.none()))
    if kind == "like" and pattern is not None and "\\" not in pattern and draw(st.booleans()):
        return TextTest(operand, kind, Literal(pattern), draw(st.booleans()), "!")
    return TextTest(operand, kind, Literal(pattern), draw(st.booleans()))


@st.composite
def list_contains(draw: st.DrawFn) -> Filter:
    path = draw(st.sampled_from(["li", "ls", "la"]))
    return TextTest(Attribute(path), "contains", draw(literals(path)), path == "ls" and draw(st.booleans()))


def views() -> st.SearchStrategy[Filter]:
    ops = st.sampled_from(list(Comparator))
    others = st.sampled_from([*TIMES, *DATES, *ADDRESSES]).map(Literal)
    return st.builds(Comparison, st.just(Attribute("s")), ops, others)


@st.composite
def networks(draw: st.DrawFn) -> Filter:
    _, operand = draw(operands(("a", "s", "la")))
    return InNetwork(operand, tuple(draw(st.lists(st.sampled_from(NETWORKS), min_size=1, max_size=3))))


@st.composite
def places(draw: st.DrawFn) -> Filter:
    _, operand = draw(operands(("p", "g", "lp")))
    if operand != Attribute("g") and draw(st.booleans()):
        return Near(operand, Point(*draw(st.sampled_from(POINTS))), draw(st.sampled_from([0.0, 80_000.0, 2e7])))
    return Within(operand, Region(draw(st.sampled_from(AREAS))))


@st.composite
def null_tests(draw: st.DrawFn) -> Filter:
    path = draw(st.sampled_from(list(SCHEMA)))
    if path in ("li", "ls", "la") and draw(st.booleans()):
        return IsNull(QuantifiedAttribute(draw(st.sampled_from(["any", "all"])), Attribute(path)))
    return IsNull(Attribute(path))


ATOMS: st.SearchStrategy[Filter] = st.one_of(
    comparisons(),
    comparisons(),
    pairs(),
    ranges(),
    choices(),
    text_tests(),
    text_tests(),
    list_contains(),
    views(),
    networks(),
    places(),
    null_tests(),
    st.builds(TruthLiteral, st.sampled_from([True, False, None])),
)


def _compound(parts: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    several = st.lists(parts, min_size=2, max_size=4).map(tuple)
    return st.one_of(st.builds(And, several), st.builds(Or, several), st.builds(Not, parts))


FILTERS = st.recursive(ATOMS, _compound, max_leaves=8)

VALUES: dict[str, list[Any]] = {
    "i": INTS,
    "j": INTS,
    "f": FLOATS,
    "order.total": FLOATS,
    "s": TEXTS,
    "r": TEXTS,
    "b": [True, False],
    "t": [*TIMES, "2024-05-01T12:30:00Z", 0],
    "d": [*DATES, "2024-05-01"],
    "a": [*ADDRESSES, "10.0.0.1"],
    "p": [list(point) for point in POINTS],
    "g": [*AREAS, "POLYGON((10 10, 11 10, 11 11, 10 10))"],
    "li": INTS,
    "ls": TEXTS,
    "la": [str(each) for each in ADDRESSES],
    "lp": [list(point) for point in POINTS],
}


def random_event(random: Random) -> dict[str, Any]:
    """An event: missing keys, nulls, empty lists and lists with nulls, a nested object or a dotted key."""
    event: dict[str, Any] = {}
    for path, values in VALUES.items():
        chance = random.random()
        if chance < 0.1:
            continue
        if chance < 0.2:
            event[path] = None
        elif path in LISTS:
            event[path] = [random.choice([*values, None]) for _ in range(random.randrange(4))]
        else:
            event[path] = random.choice(values)
    if "order.total" in event and random.random() < 0.5:
        event["order"] = {"total": event.pop("order.total")}
    return event


def random_events(count: int, seed: int = 7) -> list[dict[str, Any]]:
    """Always the same ones."""
    random = Random(seed)
    return [random_event(random) for _ in range(count)]
