"""Value constraints: comparisons, tests and arithmetic over what operators bind."""

from __future__ import annotations

import datetime as dt
import decimal
import ipaddress
import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from vedette.errors import FilterError, SchemaError
from vedette.language.ast import Comparator, Filter, Not
from vedette.language.check import check
from vedette.language.checked_tree import AndPart, Residual
from vedette.language.parser import parse
from vedette.language.three_valued import compared, every
from vedette.operators.values import calculated, compare, key
from vedette.operators.variable_constraints import VariableConstraint, constraint, evaluated

INT_MAX = 2**63 - 1


def read(text: str) -> list[VariableConstraint]:
    """The constraints that a text is, a range being two."""
    whole = f"bind(?x, ?y, ?z) and ({text})"
    expression = parse(whole)
    root = check(expression, None, whole).root
    assert isinstance(root, AndPart)
    node: Filter = root.parts[1].node
    positive = not isinstance(node, Not)
    part = root.parts[1] if positive else root.parts[1].part  # type: ignore[union-attr]
    nodes = [each.node for each in part.parts] if isinstance(part, AndPart) else [part.node]
    assert all(isinstance(each, Residual) for each in getattr(part, "parts", [part]))
    return [constraint(each, positive, whole) for each in nodes]  # type: ignore[arg-type]


def holds(text: str, bindings: dict[str, Any], **attributes: Any) -> bool | None:
    return every(each.holds(bindings, attributes.get) for each in read(text))


@pytest.mark.parametrize(
    ("text", "x", "expected"),
    [
        ("?x > 50", 51, True),
        ("?x > 50", 50.0, False),
        ("50 < ?x", 51, True),
        ("?x > 50", None, None),
        ("?x > 50", "many", None),
        ("?x > 50", True, None),
        ("?x = 1", 1.0, True),
        ("?x = true", True, True),
        ("?x = true", 1, None),
        ("?x > 5", math.nan, True),
        ("?x < 5", decimal.Decimal("4.5"), True),
        ("not ?x > 50", 51, False),
        ("not ?x > 50", 7, True),
        ("not ?x > 50", "many", None),
        ("?x between 1 and 5", 5, True),
        ("?x between 1 and 5", 6, False),
        ("?x in [1 .. 5)", 5, False),
        ("?x in (1, 2)", 2, True),
        ("?x in (1, 2)", 3, False),
        ("?x in (1, null)", 3, None),
        ("?x in (1, 'a')", "a", True),
        ("?x is null", None, True),
        ("?x is null", 0, False),
        ("?x <=> null", None, True),
        ("?x like 'a%'", "abc", True),
        ("?x like 'a%'", 5, None),
        ("?x contains 'b'", "abc", True),
        ("?x matches '^a.c$'", "abc", True),
        ("?x = 'abc'", "abc", True),
        ("?x in cidr '10.0.0.0/8'", "10.1.2.3", True),
        ("?x in cidr '10.0.0.0/8'", ipaddress.ip_address("11.0.0.1"), False),
        ("?x in cidr '10.0.0.0/8'", "nowhere", None),
        ("?x within 1 km of point(0, 0)", (0.001, 0.001), True),
        ("?x within 1 km of point(0, 0)", {"lon": 1.0, "lat": 1.0}, False),
        ("?x within 1 km of point(0, 0)", "here", None),
        ("?x within region box(0, 0, 1, 1)", [0.5, 0.5], True),
        ("?x within region box(0, 0, 1, 1)", "POLYGON((2 2, 3 2, 3 3, 2 2))", False),
        ("?x = '10.0.0.1'", ipaddress.ip_address("::ffff:10.0.0.1"), True),
        ("?x = '10.0.0.1'", 10, None),
        ("?x >= '2024-05-01'", dt.datetime(2024, 5, 1, tzinfo=dt.UTC), True),
        ("?x >= '2024-05-01'", dt.date(2024, 4, 30), False),
        ("?x >= 'soon'", dt.date(2024, 4, 30), None),
        ("?x > date '2024-05-01'", "2024-05-01T00:00:01Z", True),
        ("?x > ?x - 1", 3, True),
        ("?x * 2 = 6", 3, True),
        ("-?x < 0", 3, True),
        ("?x / 2 = 1.5", 3, True),
        ("?x % 2 = 1", 3, True),
        ("?x % 2 = -1", -3, True),
        ("?x / 0 is null", 3, True),
        ("?x + 1 > 0", "3", None),
        ("?x + 1 > 0", True, None),
        ("?x + 1 is null", INT_MAX, True),
        ("?x + 1 in (4, 5)", 3, True),
    ],
)
def test_one_variable(text: str, x: Any, expected: bool | None) -> None:
    assert holds(text, {"x": x}) is expected


def test_several_variables_and_attributes() -> None:
    assert holds("?y > 2 * ?z", {"y": 5, "z": 2}) is True
    assert holds("?y > 2 * ?z", {"y": 4, "z": 2}) is False
    assert holds("?y > 2 * ?z - order.total", {"y": 3, "z": 2}, **{"order.total": 2}) is True
    assert holds("?y > speed", {"y": 3}) is None
    assert holds("?x between ?y and ?z", {"x": 2, "y": 1, "z": 3}) is True


def test_elements_of_a_list() -> None:
    assert holds("any(tags) = ?x", {"x": "a"}, tags=["b", "a"]) is True
    assert holds("?x > all(marks)", {"x": 3}, marks=[1, 2]) is True
    assert holds("?x > all(marks)", {"x": 2}, marks=[1, 2]) is False
    assert holds("any(tags) = ?x", {"x": "a"}) is None
    with pytest.raises(FilterError, match="without arithmetic"):
        read("any(marks) + 1 = ?x")


def test_it_knows_what_it_speaks_of() -> None:
    (found,) = read("?y > 2 * ?z - order.total")
    assert found.variables == {"y", "z"}
    assert found.paths == {"order.total"}
    (found,) = read("any(tags) = ?x")
    assert found.paths == {"tags"}


def test_it_is_known_by_its_text() -> None:
    assert read("?x > 1") == read("?x>1")
    assert read("?x > 1") != read("not ?x > 1")
    assert read("?x = 1") != read("?x = true")
    (found,), (other,) = (
        read("?y > 2 * ?z - total"),
        read("?a > 2 * ?b - total".replace("?a", "?x").replace("?b", "?y")),
    )
    assert found.renamed({"y": "x", "z": "y"}) == other
    (negative,) = read("not ?x in (1, 2)")
    again = negative.renamed({"x": "0"})
    assert again.holds({"0": 3}, dict[str, Any]().get) is True
    assert again.variables == {"0"}


@pytest.mark.parametrize(
    "text", ["?x matches '('", "?x in cidr '10.0.0.0/99'", "?x within region 'POLYGON((0 0))'", "?x like 'a\\'"]
)
def test_what_no_attribute_may_be_asked_is_refused_at_its_place(text: str) -> None:
    with pytest.raises(FilterError) as error:
        read(text)
    assert "line 1, column " in str(error.value)
    assert error.value.start >= len("bind(?x, ?y, ?z) and (")


# ---------------------------------------------------------------- arithmetic


@pytest.mark.parametrize(
    ("left", "op", "right", "expected"),
    [
        (2, "+", 3, 5),
        (2, "-", 3.0, -1.0),
        (2, "*", 3, 6),
        (3, "/", 2, 1.5),
        (4, "/", 2, 2.0),
        (7, "%", 3, 1),
        (-7, "%", 3, -1),
        (7, "%", -3, 1),
        (-7.5, "%", 2, -1.5),
        (1, "/", 0, None),
        (1.0, "/", 0.0, None),
        (1, "%", 0, None),
        (INT_MAX, "+", 1, None),
        (INT_MAX, "+", 1.0, float(2**63)),
        (-(2**63), "*", -1, None),
        (2**63, "-", 1, None),
        (1e308, "*", 10, math.inf),
        (None, "+", 1, None),
        ("1", "+", 1, None),
        (True, "+", 1, None),
        (decimal.Decimal(2), "*", 3, 6),
    ],
)
def test_arithmetic(left: Any, op: str, right: Any, expected: Any) -> None:
    found = calculated(op, left, right)
    assert found == expected
    assert type(found) is type(expected)


def test_the_rest_of_infinity_is_no_number() -> None:
    assert math.isnan(calculated("%", math.inf, 3) or 0.0)
    assert calculated("%", 3.0, math.inf) == 3.0


def test_operands() -> None:
    root = parse("bind(?x) and (?x + speed) * 2 > 0")
    operand = root.parts[1].left  # type: ignore[union-attr]
    assert evaluated(operand, {"x": 3}, {"speed": 4}.get) == 14
    assert evaluated(operand, {"x": 3}, dict[str, Any]().get) is None


# ---------------------------------------------------------------- values

ADDRESSES = st.ip_addresses().filter(lambda each: each.version == 4 or each.scope_id is None)
SIMPLE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.0, -0.0, 1.0, 0.5, math.nan, math.inf]),
    st.sampled_from(["", "a", "1", "true"]),
    st.sampled_from([dt.date(2024, 5, 1), dt.datetime(2024, 5, 1), dt.datetime(2024, 5, 1, tzinfo=dt.UTC)]),
    st.sampled_from([ipaddress.ip_address("10.0.0.1"), ipaddress.ip_address("::ffff:10.0.0.1")]),
)
VALUES = st.one_of(
    SIMPLE, ADDRESSES, st.lists(SIMPLE, max_size=2), st.dictionaries(st.sampled_from("ab"), SIMPLE, max_size=1)
)


@given(VALUES, VALUES)
def test_keys_are_equal_where_values_are(left: Any, right: Any) -> None:
    truth = compare(left, Comparator.EQ, right)
    if key(left) is None or key(right) is None:
        assert truth is None
    elif not isinstance(left, str) and not isinstance(right, str):  # a text may be read as something else
        assert (key(left) == key(right)) is (truth is True)


@given(VALUES, VALUES)
def test_comparisons_agree_with_each_other(left: Any, right: Any) -> None:
    equal, different = compare(left, Comparator.EQ, right), compare(left, Comparator.NE, right)
    assert (equal is None) is (different is None)
    assert equal is None or equal is not different
    assert compare(right, Comparator.EQ, left) is equal
    below, above = compare(left, Comparator.LT, right), compare(right, Comparator.GT, left)
    assert below is above
    if below is not None:
        assert [below, equal, compare(left, Comparator.GT, right)].count(True) == 1


@given(VALUES, VALUES, st.sampled_from(Comparator))
def test_what_filters_compare_is_compared_as_there(left: Any, right: Any, op: Comparator) -> None:
    for each in (left, right):
        assume(not isinstance(each, list | dict))
    try:
        expected = compared(left, op, right)
    except SchemaError:  # of different types
        expected = None
    assert compare(left, op, right) is expected


def test_what_cannot_be_hashed_equals_nothing() -> None:
    assert compare({1}, Comparator.EQ, {1}) is None
    assert compare([{1}], Comparator.EQ, [{2}]) is None
    assert compare((1, 2), Comparator.EQ, [1.0, 2]) is True
    assert compare([None], Comparator.EQ, [None]) is True
