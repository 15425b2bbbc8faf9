"""What to rank by, as text: what it means, against trying all points of a grid, and what is refused."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from random import Random

import numpy as np
import pytest

from tests.seeds import some
from vedette.errors import FilterError, LimitError
from vedette.language.valuesets import complement, of_intervals
from vedette.meeting.allowed_values import Values
from vedette.meeting.constraint_parser import Constraint, Disjunct, Term, read_constraint
from vedette.meeting.constraint_table import AttributeSpace, ConstraintTable
from vedette.meeting.rank_expressions import read_expression
from vedette.meeting.ranking import Ranking
from vedette.schema.columns import Column
from vedette.schema.schema import Schema
from vedette.schema.types import INT

SCHEMA = Schema.of(
    {
        "price": "float",
        "lot": "int",
        "until": "timestamp",
        "day": "date",
        "topic": "string",
        "ok": "bool",
        "at": "point",
        "ns": "list of int",
        "overlap": "int",
        "order": {"total": "float"},
        "low": "int",
    }
)


def scored(by: str, one: str, other: str, schema: Schema = SCHEMA) -> float:
    """The score of two constraints of one disjunct each."""
    return _score(by, read_constraint(one, SCHEMA), read_constraint(other, SCHEMA), schema)


def _score(by: str, one: Constraint, other: Constraint, schema: Schema = SCHEMA) -> float:
    space = AttributeSpace()
    offered, wanted = (ConstraintTable.of([each], space) for each in (one, other))
    (found,) = Ranking.of(by, "publication", schema).scores(offered, wanted, np.array([0]), np.array([0]))
    return float(found)


@pytest.mark.parametrize(
    ("by", "one", "other", "expected"),
    [
        # the end that counts of what both allow
        ("price", "price between 1 and 5", "price >= 2", 2),
        ("price asc", "price between 1 and 5", "price >= 2", 2),
        ("price desc", "price between 1 and 5", "price >= 2", 5),
        ("-price", "price between 1 and 5", "price >= 2", 5),
        ("- price", "price between 1 and 5", "price >= 2", 5),
        ("PRICE_DESC", "price = 1", "price = 1", None),
        ("price DESC", "price between 1 and 5", "price < 5", math.nextafter(5, 0)),
        ("0 - price", "price between 1 and 5", "price >= 2", -5),
        ("-price asc", "price between 1 and 5", "price >= 2", -5),
        ("-price desc", "price between 1 and 5", "price >= 2", -2),
        ("lot", "lot > 2.5", "lot != 3", 4),
        ("-lot", "lot < 6", "lot not in (4, 5)", 3),
        ("lot", "lot in (1, 3, 5)", "lot in (2, 3, 4, 5)", 3),
        ("-price", "price < 0", "price is not null", -5e-324),
        # one side, none, nothing
        ("price", "price between 1 and 5", "lot = 1", 1),
        ("-price", "lot = 1", "price between 1 and 5", 5),
        ("price", "lot = 1", "lot = 1", math.nan),
        ("price", "price is null", "price is null", math.nan),
        ("price", "price = float 'nan'", "price is not null", math.nan),
        ("price + lot", "lot = 1", "lot = 1", math.nan),
        # unbounded
        ("price", "price <= 5", "price < 3", -math.inf),
        ("-price", "price >= 5", "price is not null", math.inf),
        ("lot", "lot <= 5", "lot is not null", -math.inf),
        ("lot", "lot = -9223372036854775808", "lot is not null", -(2.0**63)),
        ("-lot", "lot = 9223372036854775807", "lot is not null", 2.0**63),
        ("-price", "price >= float 'inf'", "price is not null", math.inf),
        # times are seconds
        ("until", "until = '1970-01-01T00:01:00.5Z'", "until is not null", 60.5),
        ("day", "day = '1970-01-02'", "day is not null", 86400),
        ("-until", "until >= '2024-01-01'", "until is not null", math.inf),
        ("until - timestamp '1970-01-01T00:00:30Z'", "until = '1970-01-01T00:01:00Z'", "true", 30),
        ("day - date '1970-01-01'", "day = '1970-01-03'", "true", 2 * 86400),
        # arithmetic
        ("price * lot", "price between 1 and 2", "lot between 3 and 4", 3),
        ("price * lot desc", "price between 1 and 2", "lot between 3 and 4", 8),
        ("price * lot", "price between -1 and 2", "lot between 3 and 4", -4),
        ("-(price + 0.1 * lot)", "price = 1", "lot between 0 and 10", -2),
        ("2 + 3 * 4 - 10 / 5", "true", "true", 12),
        ("(2 + 3) * 4", "true", "true", 20),
        ("10 - 4 - 3", "true", "true", 3),
        ("price - price", "price between 1 and 5", "true", -4),
        ("price * 0", "price >= 1", "true", 0),
        ("price / 0", "price >= 1", "true", math.nan),
        ("1 / lot desc", "lot between 0 and 4", "true", 1),
        ("1 / lot", "lot between -4 and 4", "true", -1),
        ("1 / lot", "lot between 0 and 4", "true", 0.25),
        ("1 / lot", "lot = 0", "true", math.nan),
        ("1 / price desc", "price between 0 and 4", "true", math.inf),
        ("1 / price", "price between 0 and 4", "true", 0.25),
        ("price / lot", "price >= 1", "lot >= 1", 0),
        ("1 / (lot - 2)", "lot between 2 and 4", "true", 0.5),
        ("1 / (lot - 2) desc", "lot between 2 and 4", "true", math.inf),
        ("low(price) + high(price)", "price between 1 and 5", "price >= 2", 7),
        ("high(price) - low(price)", "price between 1 and 5", "price >= 2", 3),
        # names
        ("overlap", "lot between 1 and 10", "lot >= 6", 0.5),
        ("overlap asc", "lot between 1 and 10", "lot >= 6", 0.5),
        ("100 * overlap", "lot between 1 and 10", "lot >= 6", 50),
        ("`overlap`", "overlap = 7", "true", 7),
        ("overlap + `overlap`", "overlap = 7", "true", 8),
        ("low", "low = 3", "true", 3),
        ("low(low)", "low = 3", "true", 3),
        ("order.total -- what it costs", "order.total = 3", "true", 3),
    ],
)
def test_values_that_are_known(by: str, one: str, other: str, expected: float | None) -> None:
    if expected is None:
        with pytest.raises(FilterError, match="unknown attribute"):
            scored(by, one, other)
    else:
        assert scored(by, one, other) == pytest.approx(expected, rel=1e-15, abs=0, nan_ok=True)


@pytest.mark.parametrize(
    ("by", "descending"),
    [
        *(
            ("overlap", True),
            ("overlap desc", True),
            ("overlap asc", False),
            ("-overlap", True),
            ("2 * overlap", False),
        ),
        *(("price", False), ("price asc", False), ("price desc", True), ("-price", True), ("-(price)", True)),
        *(("-price asc", False), ("`overlap`", False), ("-price + 1", False), ("low(price) desc", True)),
    ],
)
def test_which_come_first(by: str, descending: bool) -> None:
    assert read_expression(by, SCHEMA).descending is descending


# ---------------------------------------------------------------- against all points of a grid

_OPERATIONS: Mapping[str, Callable[[float, float], float]] = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
    "/": lambda one, other: one / other,
}
Tree = int | str | tuple["Tree", str, "Tree"]


def _tree(random: Random, names: list[str], divide: bool) -> Tree:
    """An expression in which each of the names occurs once; a divisor is one of them."""
    if len(names) == 1:
        return names[0] if random.random() < 0.7 else (random.randint(-3, 3), random.choice("+-*"), names[0])
    first = random.randint(1, len(names) - 1)
    left = _tree(random, names[:first], divide)
    if divide and first == len(names) - 1 and random.random() < 0.5:
        return left, "/", names[first]
    return left, random.choice("+-*"), _tree(random, names[first:], divide)


def _written(tree: Tree) -> str:
    if isinstance(tree, tuple):
        return f"({_written(tree[0])} {tree[1]} {_written(tree[2])})"
    return str(tree)


def _worked_out(tree: Tree, point: Mapping[str, int]) -> float:
    if isinstance(tree, tuple):
        return _OPERATIONS[tree[1]](_worked_out(tree[0], point), _worked_out(tree[2], point))
    return point[tree] if isinstance(tree, str) else tree


def _integers(random: Random) -> Values:
    """Some integers between -6 and 9."""
    lows = [random.randint(-6, 6) for _ in range(random.choice([1, 1, 2, 3]))]
    return of_intervals((low, low + random.randint(1, 4)) for low in lows)


def _constraint(sets: Mapping[str, Values]) -> Constraint:
    return Constraint("", (Disjunct(tuple(Term(Column(name, INT), sets[name]) for name in sorted(sets))),))


def _tried(random: Random, names: list[str], tree: Tree) -> tuple[list[float], tuple[float, float]]:
    """The values at all points that both allow, and the bounds that come out."""
    while True:
        sets = [{name: _integers(random) for name in names if random.random() < 0.8} for _ in range(2)]
        if sets[0].keys() | sets[1].keys() != set(names):
            continue
        inside = {
            name: [n for n in range(-10, 12) if all(side[name].contains(n) for side in sets if name in side)]
            for name in names
        }
        if all(inside.values()):
            break
    values = []
    for point in itertools.product(*inside.values()):
        try:
            values.append(_worked_out(tree, dict(zip(inside, point, strict=True))))
        except ZeroDivisionError:
            continue
    schema = Schema.of(dict.fromkeys(names, "int"))
    one, other = (_constraint(side) for side in sets)
    low, high = (_score(f"{_written(tree)} {order}", one, other, schema) for order in ("asc", "desc"))
    return values, (low, high)


@pytest.mark.parametrize("seed", some(20))
def test_exact_where_every_attribute_occurs_once(seed: int) -> None:
    random = Random(seed)
    for _ in range(40):
        names = random.sample("abc", random.choice([1, 2, 2, 3]))
        values, found = _tried(random, names, _tree(random, names, divide=True))
        expected = (min(values), max(values)) if values else (math.nan, math.nan)
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("seed", some(10))
def test_never_too_narrow(seed: int) -> None:
    random = Random(seed)
    for _ in range(40):
        names = ["a", "b"]
        parts = [_tree(random, random.sample(names, 2), divide=True) for _ in range(2)]
        values, (low, high) = _tried(random, names, (parts[0], random.choice("+-*/"), parts[1]))
        if values:
            slack = 1e-9 * (1 + max(map(abs, values)))
            assert low <= min(values) + slack
            assert high >= max(values) - slack


def test_holes_next_to_zero() -> None:
    some: Values = of_intervals([(-7, -3), (2, 9)])
    for values, expected in ((some, (-0.25, 0.5)), (complement(some), (-1, 1))):
        one = _constraint({"lot": values})
        found = tuple(_score(f"1 / lot {order}", one, one) for order in ("asc", "desc"))
        assert found == expected


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("by", "column", "message", "hint"),
    [
        ("", None, "nothing to rank by", "rank by overlap"),
        ("  -- price", None, "nothing to rank by", "rank by overlap"),
        ("prise", 1, "unknown attribute prise", "did you mean price"),
        ("price + ordr.total", 9, "unknown attribute ordr.total", "did you mean order.total"),
        ("overlp", 1, "unknown attribute overlp", "did you mean overlap"),
        ("topic", 1, "topic is string", "rank by"),
        ("2 * ok", 5, "ok is bool", "rank by"),
        ("at", 1, "at is point", "rank by"),
        ("low(ns)", 5, "ns is list of int", "rank by"),
        ("price % 2", 1, "a remainder", r"\+, -, \* and /"),
        ("* price", 1, "expected a value, found '\\*'", None),
        ("price *", 8, "expected a value, found the end", None),
        ("(price", 7, "expected '\\)'", "close the '\\('"),
        ("price)", 6, "the end, found '\\)'", "rank by"),
        ("price lot", 7, "asc, desc or the end, found 'lot'", "rank by"),
        ("price desc asc", 12, "the end, found 'asc'", "rank by"),
        ("price > 1", 7, "the end, found '>'", "rank by"),
        ("exists price", 1, "a condition cannot be ranked by", "rank by"),
        ("any(ns)", 1, "this cannot be ranked by", "rank by"),
        ("?x", 1, "this cannot be ranked by", "rank by"),
        ("$x", 1, "outside a pattern", None),
        ("max(price, 1)", 1, "max\\(…\\) cannot be ranked by", "low\\(x\\) and high\\(x\\)"),
        ("__import__('os')", 1, "cannot be ranked by", "low\\(x\\) and high\\(x\\)"),
        ("low(price, lot)", 1, "of one attribute", "low\\(price\\)"),
        ("high(price + 1)", 1, "of one attribute", "high\\(price\\)"),
        ("low()", 1, "of one attribute", "low\\(price\\)"),
        ("low(overlap)", 1, "of one attribute", "low\\(price\\)"),
        ("price + 'a'", 9, "only numbers and times", "rank by"),
        ("true", 1, "only numbers and times", "rank by"),
        ("null * price", 1, "only numbers and times", "rank by"),
        ("point(1, 2)", 1, "only numbers and times", "rank by"),
        ("9" * 400, 1, "beyond every float", None),
        ("1e999", 1, "too large for a float", None),
        ("\ud800", 1, "expected a value", None),
        ("2024-05-01", 1, "not in quotes", "date '2024-05-01'"),
    ],
)
def test_what_makes_no_sense_is_refused(by: str, column: int | None, message: str, hint: str | None) -> None:
    with pytest.raises(FilterError, match=message) as caught:
        read_expression(by, SCHEMA)
    if column is not None:
        assert caught.value.column == column
        assert "^" in str(caught.value)
    if hint is not None:
        assert caught.match(f"Hint: .*{hint}")
    assert str(caught.value).encode()


@pytest.mark.parametrize(
    "by", ["(" * 100 + "price" + ")" * 100, "- " * 100 + "price", "+".join(["price"] * 100), "1" * 20_000]
)
def test_what_would_cost_too_much_is_refused(by: str) -> None:
    with pytest.raises(LimitError):
        read_expression(by, SCHEMA)


def test_an_open_schema_learns_the_type_from_the_constraints() -> None:
    free = Schema.of({}, closed=False)
    assert scored("lot", "lot > 3", "lot < 9", free) == 4
    assert math.isnan(scored("weight", "lot > 3", "lot < 9", free))
    with pytest.raises(FilterError, match="topic is string"):
        scored("topic", "topic = 'a'", "topic = 'a'", free)
