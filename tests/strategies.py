"""Hypothesis strategies for expressions: every AST that a text can stand for.

filters()      one condition of any shape; `filters(joins=True)` also with join variables, as in a step
composites()   whole patterns
expressions()  either
operands(), literals(), attributes()   the parts of conditions
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from vedette.language import ast
from vedette.language.lexer import CONTEXTUAL, RESERVED

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
plain_names = st.one_of(
    st.from_regex(r"[A-Za-z_][A-Za-z_0-9]{0,8}", fullmatch=True).filter(lambda name: name.lower() not in RESERVED),
    st.sampled_from(sorted(CONTEXTUAL)),
)
_odd_names = st.one_of(
    texts.filter(bool), st.sampled_from(sorted(RESERVED)), st.sampled_from(["a b", "order-id", "1st", "`", "é"])
)
paths = st.one_of(
    plain_names,
    st.lists(st.one_of(plain_names, _odd_names), min_size=1, max_size=3).map(".".join),
)

REGIONS = (
    "POLYGON((0 0, 4 0, 4 4, 0 4, 0 0))",
    "POLYGON ((-10.5 0, 4 0, 4 4, -10.5 0), (0 1, 1 1, 1 2, 0 1))",
    "MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)), ((5 5, 6 5, 6 6, 5 5)))",
)
NETWORKS = ("10.0.0.0/8", "192.168.1.1/32", "0.0.0.0/0", "2001:db8::/32", "::/0")
REGEXES = ("", "a|b", r"^\d+$", "curl/[0-9]+", r"it's", r"(?i)x{2,5}", r"\pL+", "é.")

EVENT_PATTERNS = ('{"a": ["x"]}', '{"a": {"b": [1, null, {"prefix": "it\'s"}]}, "c": [{"exists": false}]}')

_finite = st.floats(allow_nan=False, allow_infinity=False)
points = st.builds(ast.Point, _finite, _finite)
places = st.builds(ast.Point, st.floats(-180, 180), st.floats(-90, 90))
regions = st.sampled_from(REGIONS).map(ast.Region)
constants: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False),
    st.just(math.nan),
    texts,
    st.datetimes(timezones=st.just(dt.UTC), allow_imaginary=False).map(lambda moment: moment.replace(fold=0)),
    st.dates(),
    st.ip_addresses(),
    points,
    regions,
)


def literals() -> st.SearchStrategy[ast.Literal]:
    """Constants of every type."""
    return st.builds(ast.Literal, constants)


def attributes() -> st.SearchStrategy[ast.Attribute]:
    """Attributes, with names that need backticks among them."""
    return st.builds(ast.Attribute, paths)


def views() -> st.SearchStrategy[ast.View]:
    """Views of attributes, and of the whole event."""
    paths_and_all = st.one_of(paths.filter(lambda path: path != "*"), st.just("*"))
    return st.builds(ast.View, st.sampled_from(ast.READINGS), st.builds(ast.Attribute, paths_and_all))


def operands(joins: bool = False) -> st.SearchStrategy[Any]:
    """Whatever can be compared."""
    simple: list[st.SearchStrategy[Any]] = [
        attributes(),
        attributes(),
        literals(),
        views(),
        st.builds(ast.QuantifiedAttribute, st.sampled_from(["any", "all"]), st.one_of(attributes(), views())),
        st.builds(ast.Variable, plain_names),
    ]
    if joins:
        simple.append(st.builds(ast.JoinVariable, plain_names))
    return st.recursive(
        st.one_of(simple),
        lambda inner: st.builds(ast.Arithmetic, st.sampled_from("+-*/%"), inner, inner),
        max_leaves=4,
    )


@st.composite
def like_patterns(draw: st.DrawFn) -> tuple[str, str]:
    """A pattern in which every escape makes sense, and its escape character."""
    escape = draw(st.sampled_from(["\\", "!", "'", "é"]))
    plain = texts.map(lambda text: text.replace(escape, ""))
    piece = st.one_of(plain, st.sampled_from(["%", "_", escape + "%", escape + "_", escape * 2]))
    return "".join(draw(st.lists(piece, max_size=4))), escape


@st.composite
def text_tests(draw: st.DrawFn, operand: st.SearchStrategy[Any]) -> ast.TextTest:
    """Tests of text."""
    kind: ast.TextKind = draw(st.sampled_from(["like", "contains", "startswith", "endswith", "matches", "fits"]))
    ignore_case = draw(st.booleans()) and kind != "fits"
    pattern: Any = draw(texts)
    escape = "\\"
    if kind == "like":
        pattern, escape = draw(like_patterns())
    elif kind == "matches":
        pattern = draw(st.sampled_from(REGEXES))
    elif kind == "fits":
        pattern = draw(st.sampled_from(EVENT_PATTERNS))
    elif kind == "contains" and not ignore_case:
        pattern = draw(constants.filter(lambda value: value is not None))
    return ast.TextTest(draw(operand), kind, ast.Literal(pattern), ignore_case, escape)


def predicates(joins: bool = False) -> st.SearchStrategy[Any]:
    """Conditions without and, or, not."""
    operand = operands(joins)
    truths = st.booleans()
    return st.one_of(
        st.builds(ast.Comparison, operand, st.sampled_from(ast.Comparator), operand),
        st.builds(ast.Comparison, attributes(), st.sampled_from(ast.Comparator), literals()),
        st.builds(ast.Range, operand, operand, operand, truths, truths),
        st.builds(ast.In, operand, st.lists(literals(), min_size=1, max_size=4).map(tuple)),
        st.builds(ast.IsNull, operand),
        text_tests(operand),
        st.builds(ast.TextPair, views(), st.sampled_from(ast.PAIR_KINDS), views(), truths),
        st.builds(ast.InNetwork, operand, st.lists(st.sampled_from(NETWORKS), min_size=1, max_size=3).map(tuple)),
        st.builds(ast.Within, operand, regions),
        st.builds(ast.Near, operand, places, st.floats(0, 1e308)),
        st.builds(ast.Call, paths, st.lists(operand, max_size=3).map(tuple)),
        st.builds(ast.TruthLiteral, st.sampled_from([True, False, None])),
    )


def filters(joins: bool = False) -> st.SearchStrategy[Any]:
    """Whole filters."""

    def wider(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        parts = st.lists(inner, min_size=2, max_size=4).map(tuple)
        return st.one_of(st.builds(ast.And, parts), st.builds(ast.Or, parts), st.builds(ast.Not, inner))

    return st.recursive(predicates(joins), wider, max_leaves=8)


_LONG = 2**62
_MOMENTS = st.datetimes(timezones=st.just(dt.UTC)).map(
    lambda moment: (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)
)
_durations = st.one_of(st.sampled_from([0, 1, 300_000_000, -1_000_000]), st.integers(-_LONG, _LONG))
_orders = st.sampled_from([one for one in ast.Comparator if one is not ast.Comparator.SAME])


@st.composite
def composites(draw: st.DrawFn) -> ast.Composite:
    """Whole patterns: labels are unique, and time conditions speak of steps that take an event."""
    labels: list[str] = []
    taken: set[str] = set()
    filter_ = filters(joins=True)

    def step(absent: bool = False) -> ast.Step:
        label = draw(st.one_of(st.none(), plain_names))
        if label is None or label in taken:
            return ast.Step(draw(filter_))
        taken.add(label)
        if not absent:
            labels.append(label)
        return ast.Step(draw(filter_), label)

    def condition() -> ast.TimeCondition:
        later = draw(st.sampled_from(labels))
        earlier = draw(st.one_of(st.none(), st.sampled_from(labels)))
        amount = draw(_MOMENTS if earlier is None else _durations)
        return ast.TimeCondition(later, earlier, draw(_orders), amount)

    def sequence(depth: int) -> ast.Sequence:
        parts: list[ast.Pattern] = [pattern(depth)]
        links: list[Any] = []
        for _ in range(draw(st.integers(1, 2))):
            if draw(st.booleans()):
                parts.append(ast.Absence(step(absent=True)))
                links += ";"
                links += ";"
            else:
                links.append(draw(st.sampled_from(",;")))
            parts.append(pattern(depth))
        return ast.Sequence(tuple(parts), tuple(links))

    def repeat(depth: int) -> ast.Repeat:
        least = draw(st.integers(1, 3))
        return ast.Repeat(pattern(depth), least, draw(st.integers(least, 4)))

    def conditioned(depth: int) -> ast.Pattern:
        part = pattern(depth)
        if not labels:
            return part
        return ast.TimedPattern(part, tuple(condition() for _ in range(draw(st.integers(1, 2)))))

    def several(kind: Callable[..., Any]) -> Callable[[int], Any]:
        return lambda depth: kind(tuple(pattern(depth) for _ in range(draw(st.integers(2, 3)))))

    def pattern(depth: int) -> ast.Pattern:
        if depth == 0 or draw(st.booleans()):
            return step()
        shapes = [sequence, sequence, repeat, conditioned, several(ast.PatternAnd), several(ast.PatternOr)]
        return draw(st.sampled_from(shapes))(depth - 1)

    by = draw(st.lists(paths, unique=True, max_size=2))
    return ast.Composite(pattern(2), tuple(by), draw(st.one_of(st.none(), st.integers(1, _LONG))))


def expressions() -> st.SearchStrategy[Any]:
    """Filters and patterns."""
    return st.one_of(filters(), composites())
